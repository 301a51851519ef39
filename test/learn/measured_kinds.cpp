// No price rests on a kernel size and stride that was never measured.
#include <primsel/learn/evaluate_model.hpp>
#include <primsel/learn/fit_model.hpp>
#include <primsel/learn/measured_kinds.hpp>
#include <primsel/learn/transfer_model.hpp>

#include "machines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ps = primsel;

namespace {

using machines::executor;

/// Another model of costs, whose answers are recognised.
struct Others {
    static constexpr std::string_view name = "others";
    static constexpr double seconds = 42;

    template <class Query>
    void predict(ps::Kernels const&, std::span<const Query>, std::span<double> answers) const {
        for (double& answer : answers) answer = seconds;
    }
};

}  // namespace

TEST_CASE("a kernel size and stride that a primitive was never measured by is left to other costs") {
    ps::learn::Profile profile = machines::profile(120, 1);
    profile.layouts.reset();
    ps::learn::Dataset& data = profile.primitives.data;
    std::vector<std::size_t> without_strides;
    for (std::size_t row = 0; row < data.rows(); ++row) {
        if (data.conv(row).stride_h == 1) without_strides.push_back(row);
    }
    const ps::learn::Profile few{{"few", data.select(without_strides)}, std::nullopt};
    const ps::Kernels kernels = machines::kernels();
    const auto found = std::ranges::find(kernels.primitives, "direct-hwc", &ps::PrimitiveEntry::id);
    const auto price = [&](ps::learn::TrainedModel const& model, int f, int s) {
        const ps::ConvQuery query{ps::learn::ConvConfiguration{.c = 32, .k = 64, .im = 28, .f = f, .s = s}.shape(),
                                  static_cast<std::size_t>(found - kernels.primitives.begin())};
        ps::LearnedCost<ps::learn::AnyRegression, Others> costs(model.primitives);
        double seconds = 0;
        costs.predict(kernels, std::span(&query, 1), std::span(&seconds, 1));
        return seconds;
    };
    for (const std::string_view name : {"gp", "boosted", "forest", "linear"}) {
        CAPTURE(name);
        const auto fit = [&](ps::learn::Profile const& from) {
            return ps::learn::fit_model(from, {.regression = name}, executor).model;
        };
        const ps::learn::TrainedModel model = fit(few);
        CHECK(price(model, 3, 1) < 1);
        for (auto const& [f, s] : {std::pair{3, 2}, std::pair{1, 2}, std::pair{5, 1}}) {
            CHECK(price(model, f, s) == Others::seconds);
        }
        CHECK(price(fit(profile), 3, 2) < 1);
        // Files know it, and so does a judgement: rows of other kinds are not predicted.
        const std::string bytes = ps::learn::to_bytes("m", model);
        const auto read = ps::learn::parse_model("m", std::as_bytes(std::span(bytes)));
        CHECK(price(read, 3, 2) == Others::seconds);
        CHECK(price(read, 3, 1) == price(model, 3, 1));
        const auto judged = ps::learn::evaluate(profile.primitives, model.primitives);
        CHECK(judged.errors.not_predicted == data.rows() - without_strides.size());  // direct-hwc's
    }
    // Rows of another machine add the strides that they have.
    ps::learn::Profile there = machines::profile(30, 3);
    there.layouts.reset();
    const ps::learn::TrainedModel source = ps::learn::fit_model(few, {.regression = "linear"}, executor).model;
    const auto transferred = ps::learn::transfer_model(source, "m", there, {.method = "factor"}, executor).model;
    CHECK(price(transferred, 3, 2) < 1);
    CHECK(price(transferred, 5, 1) == Others::seconds);
}
