// Laws of distillation: a profile becomes a perceptron that predicts it, relative to Analytical.
#include <primsel/core/thread_pool.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/distill.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "machines.hpp"

namespace distilling {

namespace ps = primsel;

namespace {

using machines::executor;
using machines::kernels;

/// As if measured with this program's instruction set.
ps::NamedDataset here(ps::Dataset data) {
    data.about = {{"arch", std::string(kernels().arch)}};
    ps::add_about(data.about, ps::Machine{});
    return {"d.csv", std::move(data)};
}

}  // namespace

TEST_CASE("what was distilled has the subjects of the profile and predicts rows that it never saw") {
    for (const bool layouts : {false, true}) {
        const ps::NamedDataset measured = here(layouts ? machines::layouts(40, 1) : machines::primitives(60, 1));
        const ps::Distillation distillation(measured, kernels(), {.epochs = 1});
        const ps::Distilled distilled = distillation.learn(executor);
        CHECK(distilled.subjects == ps::without_idle(measured.data).subjects);
        const ps::Table predicted = distilled.model.predict(ps::features_of(measured.data));
        CHECK(predicted.columns == distilled.subjects.size());
        CHECK(ps::CompactMlp::parse("again", distilled.model.text()).predict(ps::features_of(measured.data)).values ==
              predicted.values);
        if (!layouts) continue;  // perceptrons of primitives are large
        const ps::Evaluation judged = distillation.judge(executor);
        CHECK(judged.rows == measured.data.rows() / 10);
        CHECK(judged.not_predicted == 0);
        CHECK(judged.all.median < 0.6);
        ps::ThreadPool pool(3);
        CHECK(distillation.learn(pool).model.text() == distilled.model.text());
    }
}

TEST_CASE("configurations that are drawn are like those of the profile: convolutions, or tensors") {
    for (const bool layouts : {false, true}) {
        const ps::Dataset data = layouts ? machines::layouts(20, 1) : machines::primitives(20, 1);
        const ps::Dataset drawn = ps::detail::configurations_like(data, 500, 1);
        REQUIRE(drawn.rows() == 500);
        CHECK(drawn.configurations == ps::detail::configurations_like(data, 500, 1).configurations);
        CHECK(drawn.configurations != ps::detail::configurations_like(data, 500, 2).configurations);
        for (std::size_t row = 0; row < drawn.rows(); ++row) {
            for (const int number : drawn.configuration(row)) CHECK(number >= 1);
            if (!layouts) CHECK(drawn.conv(row).valid());
        }
    }
}

TEST_CASE("a profile of a machine that is not known, of other kernels or of few rows is refused") {
    const auto error = [](ps::NamedDataset const& measured) {
        return machines::error_of([&] { const ps::Distillation distillation(measured, kernels()); });
    };
    CHECK(error(here(machines::primitives(19, 1))) == "d.csv: 19 rows are too few to learn from and to judge by");
    ps::NamedDataset measured = here(machines::primitives(20, 1));
    measured.data.about.erase("product_flops");
    CHECK(error(measured) == "d.csv: it does not say the machine's product_flops");
    measured.data.about.erase("arch");
    CHECK(error(measured).starts_with("d.csv: its arch is not known; this program's is "));
    measured = here(machines::primitives(20, 1));
    measured.data.subjects[0] = "sundial";
    CHECK(error(measured) == "d.csv: this program has no sundial");
}

}  // namespace distilling
