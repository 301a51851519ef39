// The model that is chosen is the best in cross-validation, and samples of one network choose the first.
#include <primsel/forecast/forecaster.hpp>
#include <primsel/network/zoo.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace forecast_chosen {
namespace {

namespace ps = primsel;
namespace fc = ps::forecast;
using Model = fc::ChosenModel<fc::LayerMemory, fc::NonNegativeSum, fc::NetworkForest>;

struct Samples {
    std::vector<fc::NetworkLoad> loads;
    std::vector<double> values;
};
Samples samples(std::vector<ps::Graph> const& graphs, bool computed) {
    Samples result;
    for (ps::Graph const& graph : graphs) {
        for (const int batch : {1, 4, 16, 64}) {
            result.loads.push_back(fc::network_load(graph, batch));
            fc::NetworkLoad const& load = result.loads.back();
            result.values.push_back(computed ? 5e7 + fc::computed_memory(load, batch).tensors
                                             : 1e6 + 1e-3 * load.features(13));
        }
    }
    return result;
}

TEST_CASE("the model is chosen that cross-validation finds best") {
    const std::vector<ps::Graph> graphs{ps::zoo::ResNet18::graph(), ps::zoo::SqueezeNet11::graph(),
                                        ps::zoo::MobileNetV2::graph()};
    for (const bool computed : {true, false}) {
        const Samples of = samples(graphs, computed);
        const Model model = Model::fit(of.loads, of.values);
        CHECK(model.chosen() == (computed ? fc::LayerMemory::kind : fc::NonNegativeSum::kind));
        REQUIRE(model.errors().size() == 3);
        for (fc::ValidatedError const& error : model.errors()) {
            CHECK(error.other_networks >= 0);
            CHECK(error.other_widths >= 0);
            if (error.kind != model.chosen()) CHECK(error.mean() > 0.01);
        }
    }
}

TEST_CASE("of one network nothing can be compared, and one kind can be asked for") {
    const Samples of = samples({ps::zoo::ResNet18::graph()}, true);
    const Model model = Model::fit(of.loads, of.values);
    CHECK(model.chosen() == fc::LayerMemory::kind);
    CHECK(ps::is_nan(model.errors()[0].mean()));
    CHECK(Model::fit_only<fc::NetworkForest>(of.loads, of.values).chosen() == fc::NetworkForest::kind);
}

TEST_CASE("measurements of training and of runs are not learned together") {
    std::vector<fc::ProfiledNetwork> profile{{fc::network_load(ps::zoo::ResNet18::graph(), 1), 1, 1},
                                             {fc::network_load(ps::zoo::ResNet18::graph(), 1, false), 1, 1}};
    CHECK_THROWS_AS((void)fc::Forecaster<fc::ForestForecast>::fit(profile), ps::error);
}

}  // namespace
}  // namespace forecast_chosen
