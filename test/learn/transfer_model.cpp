// Laws of models that a few samples of another machine correct, for each method.
#include <primsel/core/thread_pool.hpp>
#include <primsel/learn/evaluate_model.hpp>
#include <primsel/learn/fit_model.hpp>
#include <primsel/learn/transfer_model.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "machines.hpp"

namespace ps = primsel;

namespace {

using machines::executor;

/// The methods for any model.
constexpr std::string_view corrections[] = {"transferred", "factor", "chosen"};

ps::learn::TrainedModel const& source() {
    static const ps::learn::TrainedModel model =
        ps::learn::fit_model(machines::profile(150, 1), {.regression = "gp"}, executor).model;
    return model;
}
/// A perceptron of the same machine that sees c, k, im, f and s alone.
ps::learn::TrainedModel const& perceptron() {
    static const ps::learn::TrainedModel model = [] {
        const auto train = [](ps::learn::Dataset const& data, std::size_t features) {
            const ps::FloatTable x = ps::learn::features_of(data), y = ps::learn::log_times(data);
            ps::learn::MlpOptions options;
            options.features = features;
            options.hidden = {16, 16};
            options.learning_rate = 1e-2;
            options.most_epochs = 150;
            return ps::Trained<ps::learn::AnyRegression>{data.subjects,
                                                         ps::learn::Mlp::fit(x, y, x, y, options, executor)};
        };
        const ps::learn::Profile profile = machines::profile(150, 1);
        return ps::learn::TrainedModel{
            .about = profile.primitives.data.about,
            .primitives = train(ps::learn::without_idle(profile.primitives.data), ps::ConvFeatures::raw),
            .layouts = train(ps::learn::without_idle(profile.layouts->data), ps::LayoutFeatures::raw)};
    }();
    return model;
}
ps::learn::TransferredModel transfer(ps::learn::Profile const& profile, std::string_view method,
                                     ps::ExecutorRef by = executor) {
    return ps::learn::transfer_model(source(), "there", profile, {.method = method}, by);
}
double error_on(ps::learn::TrainedModel const& model, ps::learn::Dataset const& data) {
    return ps::learn::evaluate(ps::learn::NamedDataset{"d", data}, data.of_layouts() ? model.layouts : model.primitives)
        .errors.all.median;
}

}  // namespace

TEST_CASE("each method finds how much slower another machine is; of few rows none are held back") {
    const ps::learn::Dataset primitives = machines::primitives(100, 9, 3), layouts = machines::layouts(100, 9, 3);
    CHECK(error_on(source(), primitives) > 0.5);
    for (const std::string_view method : corrections) {
        for (const std::size_t rows : {9U, 49U, 50U}) {
            CAPTURE(method);
            CAPTURE(rows);
            const auto [model, parts] = transfer(machines::profile(rows, 3, 3), method);
            CHECK(error_on(model, primitives) < 0.1);
            CHECK(error_on(model, layouts) < 0.1);
            REQUIRE(parts.size() == 2);
            for (ps::learn::TransferReport const& part : parts) {
                CHECK(part.rows == (rows < 50 ? rows : rows - rows / 10));
                CHECK(part.test.has_value() == (rows >= 50));
                CHECK(part.direct.has_value() == (rows >= 50));
                if (part.test) CHECK(part.test->all.median < part.direct->all.median);
                CHECK(part.unknown.empty());
                CHECK(part.method == (part.what == "layouts" && rows < 10 ? "factor" : method));
                CHECK(model.about_of(part.what + "_data").empty() == (rows < 50));
            }
            CHECK(parts[0].what == "primitives");
            CHECK(parts[1].name == "l.csv");
            CHECK(model.about_of("source_cpu") == "wooden");
            CHECK(model.about_of("method") == method);
        }
    }
}

TEST_CASE("a perceptron is fine-tuned unless another method is asked for, and may be again") {
    const ps::learn::Dataset primitives = machines::primitives(100, 9, 3), layouts = machines::layouts(100, 9, 3);
    ps::ThreadPool pool(3);
    for (const std::size_t rows : {20U, 60U}) {
        CAPTURE(rows);
        const ps::learn::Profile profile = machines::profile(rows, 3, 3);
        const auto [model, parts] = ps::learn::transfer_model(perceptron(), "there", profile, {}, executor);
        CHECK(model.about_of("method") == "fine-tuned");
        CHECK(error_on(model, primitives) < 0.5 * error_on(perceptron(), primitives));
        CHECK(error_on(model, layouts) < 0.5 * error_on(perceptron(), layouts));
        for (ps::learn::TransferReport const& part : parts) CHECK(part.method == "fine-tuned");
        CHECK(ps::learn::to_bytes("m", model) ==
              ps::learn::to_bytes("m", ps::learn::transfer_model(perceptron(), "there", profile, {}, pool).model));
        CHECK_NOTHROW((void)ps::learn::transfer_model(model, "here", machines::profile(20, 5), {}, executor));
    }
    const auto by_factor =
        ps::learn::transfer_model(perceptron(), "there", machines::profile(30, 3, 3), {.method = "factor"}, executor);
    CHECK(by_factor.model.about_of("method") == "factor");
    CHECK(by_factor.parts[0].method == "factor");
}

TEST_CASE("what is corrected is the same for any number of threads, and judged by the same rows again") {
    const ps::learn::Profile profile = machines::profile(60, 3, 2);
    ps::ThreadPool pool(3);
    const auto [model, parts] = transfer(profile, "transferred");
    CHECK(ps::learn::to_bytes("m", model) == ps::learn::to_bytes("m", transfer(profile, "transferred", pool).model));
    const auto test = ps::learn::held_back(model, profile.primitives.data);
    REQUIRE(test);
    CHECK(error_on(model, *test) == parts[0].test->all.median);
}

TEST_CASE("primitives that only the source knows are corrected too; those that only the samples have are named") {
    ps::learn::Profile profile = machines::profile(30, 3, 3);
    profile.primitives.data.subjects[1] = "sundial";
    profile.layouts.reset();
    for (const std::string_view method : corrections) {
        const auto [model, parts] = transfer(profile, method);
        CHECK(parts.size() == 1);
        CHECK(parts[0].unknown == std::vector<std::string>{"sundial"});
        CHECK(model.primitives.subjects == source().primitives.subjects);
        CHECK(error_on(model, ps::learn::with_subjects(machines::primitives(50, 8, 3), {"kn2row"})) < 0.2);
        CHECK(model.layouts.subjects.empty());
    }
}

TEST_CASE("what cannot be transferred is refused, by the names of model and dataset") {
    const auto error = [](ps::learn::TrainedModel const& from, ps::learn::Profile const& profile,
                          std::string_view method = "factor") {
        return machines::error_of(
            [&] { (void)ps::learn::transfer_model(from, "there", profile, {.method = method}, executor); });
    };
    ps::learn::Profile profile = machines::profile(30, 3, 3);
    profile.layouts.reset();
    CHECK(error(source(), profile, "guess") ==
          "transfer_model: no method is named guess; there are transferred, factor, chosen and fine-tuned");
    CHECK(error(source(), profile, "fine-tuned") ==
          "there: is no perceptron (nn1, nn2, mlp), and cannot be fine-tuned");
    CHECK(error(transfer(profile, "factor").model, profile) ==
          "there: its primitives were transferred already; transfer what they came from");
    CHECK(error(source(), machines::profile(150, 1)) == "l.csv: is what there was learned from");
    CHECK(error(transfer(profile, "factor").model, machines::profile(20, 5)) == "there: has learned no layouts");
    profile.primitives.data.subjects = {"a", "b", "c", "d"};
    CHECK(error(source(), profile) == "p.csv: of none of its primitives does there know anything");
    profile.primitives.data = machines::primitives(0, 1);
    CHECK(error(source(), profile) == "p.csv: has no rows");
    profile = machines::profile(20, 1);
    profile.layouts->data.about["arch"] = "slate";
    CHECK(error(source(), profile) == "l.csv: its arch is slate, that of p.csv is abacus");
}
