// Predictions of models for datasets: laws of log_predictions and of how models are judged by datasets.
#include <primsel/cost/analytical.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/evaluate_model.hpp>
#include <primsel/learn/recorded.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "machines.hpp"

namespace evaluating_models {

namespace ps = primsel;

namespace {

using machines::kernels;

/// Says of each subject, by its position, what was measured times a factor: nothing of others.
struct Told {
    ps::learn::Dataset data;
    double factor;

    [[nodiscard]] ps::FloatTable predict(ps::FloatTable const&) const {
        ps::FloatTable result = ps::learn::log_times(data);
        for (float& value : result.values) value += static_cast<float>(std::log(factor));
        return result;
    }
};

}  // namespace

TEST_CASE("subjects are known by the names of primitives and of pairs of layouts") {
    const ps::Kernels all = kernels();
    const ps::learn::Dataset primitives = machines::primitives(1, 1), layouts = machines::layouts(1, 1);
    for (ps::PrimitiveEntry const& primitive : all.primitives) {
        CHECK(ps::learn::is_subject(all, primitives, primitive.id));
        CHECK_FALSE(ps::learn::is_subject(all, layouts, primitive.id));
    }
    for (auto const& from : all.layouts) {
        for (auto const& to : all.layouts) {
            CHECK(ps::learn::is_subject(all, layouts, ps::join(from.name, "-to-", to.name)));
            CHECK_FALSE(ps::learn::is_subject(all, primitives, ps::join(from.name, "-to-", to.name)));
        }
    }
    CHECK_FALSE(ps::learn::is_subject(all, primitives, "never"));
    CHECK_FALSE(ps::learn::is_subject(all, layouts, "chw-to-"));
}

TEST_CASE("a model that repeats what was measured predicts it, and is not asked for what was not") {
    const ps::Kernels all = kernels();
    const ps::learn::Dataset primitives = machines::primitives(20, 1), layouts = machines::layouts(20, 1);
    ps::learn::Recorded recorded(primitives, layouts);
    for (ps::learn::Dataset const* data : {&primitives, &layouts}) {
        const ps::FloatTable predicted = ps::learn::log_predictions(*data, all, recorded),
                             measured = ps::learn::log_times(*data);
        REQUIRE(predicted.rows() == data->rows());
        REQUIRE(predicted.columns == data->subjects.size());
        for (std::size_t i = 0; i < measured.values.size(); ++i) {
            CHECK(std::isnan(predicted.values[i]) == std::isnan(measured.values[i]));
            if (!std::isnan(measured.values[i])) CHECK(predicted.values[i] == doctest::Approx(measured.values[i]));
        }
        const ps::learn::ModelEvaluation result =
            ps::learn::evaluate(ps::learn::NamedDataset{"d.csv", *data}, all, recorded);
        CHECK(result.errors.all.median < 1e-5);
        CHECK(result.errors.not_predicted == 0);
        CHECK(result.unknown.empty());
    }
}

TEST_CASE("a cost model is judged by the subjects that are kernels; the others are named") {
    const ps::Kernels all = kernels();
    ps::Analytical analytical(ps::Machine{});
    ps::learn::NamedDataset measured{"d.csv", machines::primitives(9, 1)};
    measured.data.subjects[1] = "sundial";
    const ps::learn::ModelEvaluation result = ps::learn::evaluate(measured, all, analytical);
    CHECK(result.unknown == std::vector<std::string>{"sundial"});
    CHECK(result.errors.subjects.size() == 2);
    CHECK(result.errors.rows == 9);
    measured.data.subjects = {"a", "b", "c", "d"};
    CHECK(machines::error_of([&] { (void)ps::learn::evaluate(measured, all, analytical); }) ==
          "d.csv: of none of its primitives do these costs know anything");
}

TEST_CASE("what was learned is judged by its subjects wherever they stand") {
    for (const bool layouts : {false, true}) {
        const ps::learn::Dataset data = layouts ? machines::layouts(9, 1) : machines::primitives(9, 1);
        std::vector<std::string> rotated = ps::learn::without_idle(data).subjects;
        rotated.front().swap(rotated.back());
        const ps::Trained<Told> trained{rotated, {ps::learn::with_subjects(data, rotated), 1.25}};
        const ps::learn::NamedDataset measured{"d.csv", data};
        const ps::learn::ModelEvaluation result = ps::learn::evaluate(measured, trained);
        CHECK(result.unknown.empty());
        CHECK(result.errors.subjects.size() == rotated.size());
        for (ps::learn::RelativeError const& error : result.errors.subjects) {
            CHECK(error.median == doctest::Approx(0.25).epsilon(1e-4));
        }
        const ps::Trained<Told> other{{rotated[0]}, {ps::learn::with_subjects(data, {rotated[0]}), 1}};
        CHECK(ps::learn::evaluate(measured, other).unknown.size() == rotated.size() - 1);
        CHECK_FALSE(machines::error_of([&] { (void)ps::learn::evaluate(measured, ps::Trained<Told>{}); }).empty());
    }
}

}  // namespace evaluating_models
