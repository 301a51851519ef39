// Laws of every NetworkModel: the same samples give the same model, a file gives it back to the last bit, and what is
// no such file is refused. A sum finds the factors that made its samples, and never falls with the batch.
#include <doctest/doctest.h>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/network/zoo.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace forecast_models {
namespace {

namespace ps = primsel;

struct Samples {
    std::vector<ps::forecast::NetworkLoad> loads;
    std::vector<double> values;
};
/// 50, 3 a thousand million multiply-adds, and 40 a thousand million values of results.
double made_up(ps::forecast::NetworkLoad const& load) {
    return 50 + 3e-9 * load.features(13) + 40e-9 * load.features(4);
}
Samples samples() {
    Samples result;
    for (ps::Graph const& graph :
         {ps::zoo::ResNet18::graph(), ps::zoo::SqueezeNet11::graph(), ps::zoo::MobileNetV2::graph()}) {
        for (const int batch : {1, 2, 4, 8, 16, 32, 64, 100}) {
            result.loads.push_back(ps::forecast::network_load(graph, batch));
            result.values.push_back(made_up(result.loads.back()));
        }
    }
    return result;
}

template <class Model>
struct Only {
    using time_model = Model;
    using memory_model = Model;
};

TEST_CASE_TEMPLATE("predictions are in the unit of the values, whatever it is", Model, ps::forecast::NonNegativeSum,
                   ps::forecast::CorrectedSum, ps::forecast::NetworkForest) {
    const Samples of = samples();
    const Model model = Model::fit(of.loads, of.values);
    for (const int exponent : {-70, -30, 30}) {
        CAPTURE(exponent);
        std::vector<double> values = of.values;
        for (double& value : values) value = std::ldexp(value, exponent);
        const Model other = Model::fit(of.loads, values);
        for (ps::forecast::NetworkLoad const& load : of.loads) {
            const ps::forecast::Estimate expected = model.predict(load), actual = other.predict(load);
            CHECK(std::ldexp(actual.value, -exponent) == expected.value);
            CHECK(std::ldexp(actual.deviation, -exponent) == expected.deviation);
        }
    }
}

using LayersAtOnce = ps::forecast::LayerTime<true, true>;
using LayersInTurn = ps::forecast::LayerTime<false, false>;
using Chosen = ps::forecast::ChosenModel<ps::forecast::LayerMemory, ps::forecast::CorrectedSum>;

TEST_CASE_TEMPLATE("a model learns what it is shown, and a file keeps all of it", Model, ps::forecast::NonNegativeSum,
                   ps::forecast::CorrectedSum, ps::forecast::NetworkForest, ps::forecast::NetworkBoosting, LayersAtOnce,
                   LayersInTurn, ps::forecast::LayerMemory, Chosen) {
    const Samples of = samples();
    const Model model = Model::fit(of.loads, of.values), again = Model::fit(of.loads, of.values);
    double off = 0;
    for (std::size_t i = 0; i < of.loads.size(); ++i) {
        const ps::forecast::Estimate estimate = model.predict(of.loads[i]);
        CHECK(estimate.value == again.predict(of.loads[i]).value);
        CHECK(estimate.deviation >= 0);
        off += std::abs(estimate.value / of.values[i] - 1);
    }
    CHECK(off / static_cast<double>(of.loads.size()) < 0.25);

    using Policies = Only<Model>;
    ps::forecast::Forecaster<Policies> forecaster(model, std::nullopt);
    forecaster.about["device"] = "made up";
    const std::string bytes = ps::forecast::to_bytes("f", forecaster);
    const auto parsed = ps::forecast::parse_forecaster<Policies>("f", std::as_bytes(std::span(bytes)));
    CHECK(parsed.about.at("device") == "made up");
    for (ps::forecast::NetworkLoad const& load : of.loads) {
        const ps::forecast::NetworkForecast forecast = parsed.forecast(load);
        REQUIRE(forecast.seconds);
        CHECK(!forecast.bytes);
        CHECK(forecast.seconds->value == model.predict(load).value);
        CHECK(forecast.seconds->deviation == model.predict(load).deviation);
    }
}

TEST_CASE_TEMPLATE("files that are cut off or changed are refused", Model, LayersAtOnce, Chosen,
                   ps::forecast::NetworkForest) {
    const Samples of = samples();
    const ps::forecast::Forecaster<Only<Model>> forecaster(Model::fit(of.loads, of.values), std::nullopt);
    const std::string bytes = ps::forecast::to_bytes("f", forecaster);
    const auto parse = [](std::string const& text) {
        return ps::forecast::parse_forecaster<Only<Model>>("f", std::as_bytes(std::span(text)));
    };
    for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 97) {
        CHECK_THROWS_AS((void)parse(bytes.substr(0, size)), ps::error);
    }
    for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 97) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 0x41);
        CHECK_THROWS_AS((void)parse(changed), ps::error);
    }
    CHECK_THROWS_AS((void)parse(bytes + "x"), ps::error);
    // A forecaster of another kind.
    CHECK_THROWS_AS(
        (void)ps::forecast::parse_forecaster<Only<ps::forecast::NonNegativeSum>>("f", std::as_bytes(std::span(bytes))),
        ps::error);
}

TEST_CASE("damage behind a checksum that fits is refused, or leads to nothing but other numbers") {
    const Samples of = samples();
    ps::Archive written("f");
    ps::forecast::CorrectedSum model = ps::forecast::CorrectedSum::fit(of.loads, of.values);
    model.archive(written);
    const std::vector<std::byte> bytes(written.bytes().begin(), written.bytes().end());
    std::size_t refused = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::vector<std::byte> changed = bytes;
        changed[at] ^= std::byte{0x87};
        ps::forecast::CorrectedSum read;
        ps::Archive archive("f", changed);
        try {
            read.archive(archive);
            archive.finish();
            (void)read.predict(of.loads[0]);
        } catch (ps::error const&) {
            ++refused;
        }
    }
    CHECK(refused > 0);
}

TEST_CASE("a sum finds the factors, never falls with the batch, and stays within what a device has") {
    const Samples of = samples();
    const ps::forecast::NonNegativeSum sum =
        ps::forecast::NonNegativeSum::fit(of.loads, of.values, {.learned = {3, 12}});
    REQUIRE(sum.terms().size() == 2);
    CHECK(sum.constant() == doctest::Approx(50));
    CHECK(sum.terms()[0].factor == doctest::Approx(40e-9));
    CHECK(sum.terms()[1].factor == doctest::Approx(3e-9));
    // The known part is not learned.
    const ps::forecast::NonNegativeSum rest =
        ps::forecast::NonNegativeSum::fit(of.loads, of.values, {.learned = {12}, .known = {{3, 40e-9}}});
    CHECK(rest.terms().back().factor == doctest::Approx(3e-9));

    const ps::forecast::NonNegativeSum all = ps::forecast::NonNegativeSum::fit(of.loads, of.values, {.most = 60});
    const std::vector<ps::forecast::ConvSizes> net = ps::forecast::conv_sizes(ps::zoo::GoogLeNet::graph());
    double before = 0, step = -1;
    for (int batch = 1; batch <= 400; ++batch) {
        const double value = all.predict(ps::forecast::network_load(net, batch)).value;
        CHECK(value >= before);
        CHECK(value <= 60);
        if (batch > 1 && step >= 0 && value < 60) CHECK(value - before == doctest::Approx(step));
        if (batch > 1) step = value - before;
        before = value;
    }
    CHECK(before == 60);
}

TEST_CASE("a forecaster is taught by what was measured, each attribute by itself") {
    const Samples of = samples();
    std::vector<ps::forecast::ProfiledNetwork> profile;
    const double none = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < of.loads.size(); ++i) {
        profile.push_back({of.loads[i], i % 2 == 0 ? of.values[i] : none, i % 2 == 1 ? 1e6 * of.values[i] : none});
    }
    const ps::forecast::NetworkForecast forecast =
        ps::forecast::Forecaster<>::fit(profile).forecast(ps::zoo::ResNet18::graph(), 24);
    const double truth = made_up(ps::forecast::network_load(ps::zoo::ResNet18::graph(), 24));
    CHECK(forecast.seconds->value == doctest::Approx(truth).epsilon(0.03));
    CHECK(forecast.bytes->value == doctest::Approx(1e6 * truth).epsilon(0.03));
    CHECK_THROWS_AS((void)ps::forecast::Forecaster<>::fit({}), ps::error);
    profile[0].seconds = 0;
    CHECK_THROWS_AS((void)ps::forecast::Forecaster<>::fit(profile), ps::error);
}

}  // namespace
}  // namespace forecast_models
