// Laws of models that are fitted to profiles, for each regression by its name.
#include <primsel/core/thread_pool.hpp>
#include <primsel/learn/evaluate_model.hpp>
#include <primsel/learn/fit_model.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "machines.hpp"

namespace ps = primsel;

namespace {

using machines::executor;

/// Perceptrons are trained for a minute: test/cli/models.py does that.
bool is_quick(std::string_view name) { return name != "nn1" && name != "nn2" && name != "mlp"; }

}  // namespace

TEST_CASE("each regression by its name learns a profile, says how well, and where from") {
    const ps::learn::Profile profile = machines::profile(90, 1);
    for (const std::string_view name : ps::learn::regression_names) {
        if (!is_quick(name)) continue;
        CAPTURE(name);
        const auto [model, parts] = ps::learn::fit_model(profile, {.regression = name}, executor);
        CHECK(model.primitives.subjects == ps::learn::without_idle(profile.primitives.data).subjects);
        CHECK(model.layouts.subjects == ps::learn::without_idle(profile.layouts->data).subjects);
        REQUIRE(parts.size() == 2);
        for (std::size_t i = 0; i < 2; ++i) {
            ps::learn::NamedDataset const& measured = i == 0 ? profile.primitives : *profile.layouts;
            ps::learn::FitReport const& part = parts[i];
            CHECK(part.what == (i == 0 ? "primitives" : "layouts"));
            CHECK(part.name == measured.name);
            CHECK(part.rows == 72);
            CHECK(part.test.rows == 9);
            CHECK(part.test.not_predicted + part.test.all.samples > 9);
            CHECK(part.test.all.median < 0.9);
            // The model and the rows give the same again.
            const auto test = ps::learn::held_back(model, measured.data);
            REQUIRE(test);
            const auto again = ps::learn::evaluate(ps::learn::NamedDataset{measured.name, *test},
                                                   i == 0 ? model.primitives : model.layouts);
            CHECK(again.errors.all.median == part.test.all.median);
            CHECK(again.errors.all.samples == part.test.all.samples);
            CHECK(model.about_of(part.what + "_rows") == "72");
            CHECK_FALSE(model.about_of(part.what + "_mdrae").empty());
        }
        CHECK(model.about_of("arch") == "abacus");
        CHECK(model.about_of("seed") == "1");
    }
}

TEST_CASE("a model is the same for any number of threads, and another for another seed") {
    const ps::learn::Profile profile = machines::profile(60, 1);
    ps::ThreadPool pool(3);
    for (const std::string_view name : {"gp", "boosted", "forest"}) {
        CAPTURE(name);
        const auto bytes = [&](std::uint64_t seed, ps::ExecutorRef by) {
            return ps::learn::to_bytes("model",
                                       ps::learn::fit_model(profile, {.regression = name, .seed = seed}, by).model);
        };
        CHECK(bytes(1, executor) == bytes(1, pool));
        CHECK(bytes(1, executor) != bytes(2, executor));
    }
}

TEST_CASE("without changes of layout nothing is said of them") {
    ps::learn::Profile profile = machines::profile(30, 1);
    profile.layouts.reset();
    const auto [model, parts] = ps::learn::fit_model(profile, {.regression = "linear"}, executor);
    CHECK(parts.size() == 1);
    CHECK(model.layouts.subjects.empty());
    CHECK(model.about_of("layouts_rows").empty());
}

TEST_CASE("rows are held back from the model that they made, and from no other") {
    const ps::learn::Profile profile = machines::profile(40, 1);
    ps::learn::TrainedModel model = ps::learn::fit_model(profile, {.regression = "linear", .seed = 7}, executor).model;
    CHECK(ps::learn::held_back(model, profile.primitives.data)->configurations ==
          profile.primitives.data.select(ps::learn::split_rows(40, 7).test).configurations);
    CHECK_FALSE(ps::learn::held_back(model, machines::primitives(40, 2)));
    CHECK_FALSE(ps::learn::held_back(model, machines::layouts(40, 2)));
    model.about.erase("seed");
    CHECK_FALSE(ps::learn::held_back(model, profile.primitives.data));
}

TEST_CASE("what cannot be fitted is refused, by the name of the dataset") {
    const auto error = [](ps::learn::Profile const& profile, std::string_view name) {
        return machines::error_of([&] { (void)ps::learn::fit_model(profile, {.regression = name}, executor); });
    };
    CHECK(error(machines::profile(9, 1), "linear") == "p.csv: 9 rows are too few to learn from and to judge by");
    CHECK(error(machines::profile(20, 1), "oracle") ==
          "fit_model: no regression is named oracle; there are gp, boosted, forest, mlp, nn1, nn2, linear");
    ps::learn::Profile mixed = machines::profile(20, 1);
    mixed.layouts->data.about["arch"] = "slate";
    CHECK(error(mixed, "linear") == "l.csv: its arch is slate, that of p.csv is abacus");
}
