// Plans that measurements corrected, and engines that make them.
#include <primsel/engine/engine.hpp>
#include <primsel/measure/calibrate.hpp>
#include <primsel/measure/calibration_file.hpp>

#include <doctest/doctest.h>
#include <primsel/network/prepare.hpp>
#include <primsel/primitive/direct.hpp>
#include <primsel/primitive/im2.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace calibrating {

namespace ps = primsel;
namespace fs = std::filesystem;
using namespace ps::layer;

namespace {

struct Small : ps::Network<Input<3, 24, 24>, Conv<16, 3>, Relu, MaxPool<2>, Conv<16, 3>, Relu, Conv<8, 1>> {};
struct Few : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d, ps::DirectHwc>;
};
const ps::Kernels kernels = ps::Engine<Small, Few>::kernels();

/// Says that what is slow by far costs nothing: only measurements can tell.
struct Wrong {
    static constexpr std::string_view name = "wrong";
    void predict(ps::Kernels const& with, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = with.primitives[queries[i].primitive].id == ps::DirectSum2d::id ? 1e-5 : 1.2e-5;
        }
    }
    void predict(ps::Kernels const&, auto, std::span<double> seconds) const {
        for (double& one : seconds) one = 1e-8;
    }
};

struct Deceived : Few {
    using cost_model = Wrong;
};

/// The user's cache, for the time of a test.
struct Cache {
    fs::path path = fs::temp_directory_path() / ps::join("primsel-calibrate-", ::getpid());
    Cache() {
        fs::remove_all(path);
        ::setenv("XDG_CACHE_HOME", path.c_str(), 1);
    }
    ~Cache() {
        ::unsetenv("XDG_CACHE_HOME");
        fs::remove_all(path);
    }
};

ps::measure::CalibratedPlan calibrate(double seconds) {
    Wrong model;
    ps::measure::CalibrationFile calibration(kernels);
    ps::measure::CalibratedPlan result = ps::measure::make_calibrated_plan(
        ps::simplify(Small::graph()), kernels, model, ps::ExactPbqp{}, calibration, {.seconds = seconds});
    calibration.write();
    return result;
}

}  // namespace

TEST_CASE("measurements overrule a model that is wrong, and serve the next time") {
    const Cache cache;
    const ps::measure::CalibratedPlan first = calibrate(600);
    CHECK(first.known == 0);
    CHECK(first.settled);
    CHECK(first.steps.back().measurements > 0);
    CHECK(first.plan.cost_model == "wrong, calibrated");
    // The second plan is the first's, without as much as one more measurement.
    const ps::measure::CalibratedPlan second = calibrate(600);
    CHECK(second.known == first.steps.back().measurements);
    CHECK(second.steps.back().measurements == 0);
    CHECK(second.settled);
    REQUIRE(second.plan.layers.size() == first.plan.layers.size());
    for (std::size_t i = 0; i < first.plan.layers.size(); ++i) {
        CHECK(second.plan.layers[i].primitive == first.plan.layers[i].primitive);
    }
}

TEST_CASE("other layers are timed, the quickest first, and the rest corrected alike") {
    const ps::Shape shape{16, 12, 12};
    const ps::AnyLayer relu = ps::ActivationParams{};
    Wrong model;
    ps::measure::Profiler<> profiler(kernels, {.learn_seconds = 0.01});
    ps::measure::Calibration calibration(kernels);
    std::vector<ps::OpQuery> ops;
    for (std::size_t layout = 0; layout < 3; ++layout) ops.push_back({&relu, std::span(&shape, 1), shape, layout});
    std::vector<double> first(ops.size()), second(ops.size()), none(ops.size());
    const auto predict = [&](double time, std::vector<double>& seconds) {
        ps::measure::detail::WithMeasuredLayers<Wrong> timed(model, profiler, calibration, time);
        timed.predict(kernels, std::span<const ps::OpQuery>(ops), std::span(seconds));
    };
    predict(0, none);
    CHECK(none == std::vector<double>(3, 1e-8));
    predict(600, first);
    predict(0, second);
    CHECK(second == first);  // from memory
    for (const double seconds : first) CHECK(seconds != 1e-8);
    // Three that are known, and a larger one that there is no time for.
    const ps::Shape larger{16, 24, 24};
    ops.push_back({&relu, std::span(&larger, 1), larger, 0});
    second.resize(4);
    predict(0, second);
    std::vector<double> sorted = first;
    std::ranges::sort(sorted);
    CHECK(second[3] == doctest::Approx(sorted[1]));
    // Another batch, another layer or another layout is another question.
    const ps::AnyLayer leaky = ps::ActivationParams{.alpha = 0.5F};
    for (const ps::OpQuery& other :
         {ps::OpQuery{&relu, ops[0].inputs, shape, 0, {.batch = 2}}, {&leaky, ops[0].inputs, shape, 0}}) {
        CHECK(ps::measure::detail::name_of(kernels, other) != ps::measure::detail::name_of(kernels, ops[0]));
    }
    CHECK(ps::measure::detail::name_of(kernels, ops[1]) != ps::measure::detail::name_of(kernels, ops[0]));
}

TEST_CASE("what is known of a network's own layers comes before what was measured last") {
    const ps::Graph graph = ps::simplify(Small::graph());
    const ps::ConvShape own{.c = 16, .k = 8, .h = 12, .w = 12};
    std::vector<ps::learn::Sample> samples(1000, {{.c = 5, .k = 5, .h = 5, .w = 5}, "other", 1});
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i].seconds = static_cast<double>(i);
    samples[3].shape = own;
    const auto relevant = ps::measure::detail::relevant_samples(samples, graph);
    REQUIRE(relevant.size() == 400);
    CHECK(relevant[0].shape == own);
    CHECK(relevant[1].seconds == 999);
    CHECK(relevant[2].seconds == 998);
}

TEST_CASE("an engine calibrates only when it is asked to, and computes the same") {
    const Cache cache;
    const ps::Weights weights = ps::random_weights(Small::graph(), 1);
    std::vector<float> image(3 * 24 * 24);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::sin(static_cast<float>(i));
    ps::Engine<Small, Few> plain(weights);
    CHECK_FALSE(fs::exists(cache.path));
    ps::Engine<Small, Deceived> calibrated(weights,
                                           ps::measure::Calibrate<ps::measure::CalibrationFile>{.seconds = 0.2});
    CHECK(fs::exists(cache.path));
    std::vector<float> wanted(plain.out_shape().size()), found(wanted.size());
    plain.run(image, wanted);
    calibrated.run(image, found);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(found[i] == doctest::Approx(wanted[i]).scale(1).epsilon(1e-4));
    }
}

}  // namespace calibrating
