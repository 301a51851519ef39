// The features of a network, by values worked by hand, and their laws: they add up over layers, none is negative, and
// all but those of weights grow in proportion to the batch.
#include <doctest/doctest.h>
#include <primsel/forecast/features.hpp>
#include <primsel/network/multiply_adds.hpp>
#include <primsel/network/zoo.hpp>

#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace forecast_features {
namespace {

namespace ps = primsel;

/// 6 filters over 4 channels in 2 groups, kernels of 3 x 3, 8 x 8 to 4 x 4 (stride 2, padding 1); batch 5.
constexpr ps::forecast::ConvSizes grouped{
    .n = 6, .m = 4, .kernel_h = 3, .kernel_w = 3, .groups = 2, .in_h = 8, .in_w = 8, .out_h = 4, .out_w = 4};

TEST_CASE("the features of a convolution are those worked by hand") {
    const ps::forecast::NetworkFeatures f = ps::forecast::network_features(grouped, 5);
    CHECK(f(1) == 108);     // 6 * 2 * 9
    CHECK(f(2) == 540);     // 5 * 108
    CHECK(f(3) == 1280);    // 5 * 4 * 64
    CHECK(f(4) == 480);     // 5 * 6 * 16
    CHECK(f(5) == 2408);    // 108 + 540 + 1280 + 480
    CHECK(f(6) == 2880);    // 5 * 16 * 9 * 4
    CHECK(f(7) == 1440);    // 5 * 16 * 9 * 2
    CHECK(f(8) == 80);      // 5 * 16
    CHECK(f(9) == 11520);   // 5 * 64 * 9 * 4
    CHECK(f(10) == 320);    // 5 * 64
    CHECK(f(11) == 15840);  // 2880 + 1440 + 11520
    CHECK(f(12) == 480);    // 2 * 80 + 320
    CHECK(f(13) == 8640);   // 5 * 6 * 16 * 9 * 2
    CHECK(f(14) == 69120);  // 5 * 4 * 64 * 9 * 6
    CHECK(f(15) == 86400);  // 2 * 8640 + 69120
    CHECK(f(16) == 864);    // 6 * 2 * 8 * 9
    CHECK(f(17) == 1440);   // 5 * 4 * 72
    CHECK(f(18) == 2160);   // 5 * 6 * 72
    CHECK(f(19) == 240);    // 6 * 2 * 4 * 5
    CHECK(f(20) == 600);    // 5 * 6 * 20
    CHECK(f(21) == 2304);   // 864 + 1440
    CHECK(f(22) == 2760);   // 600 + 2160
    CHECK(f(23) == 3600);   // 2160 + 1440
    CHECK(f(24) == 8664);   // 2304 + 2760 + 3600
    // Planes: 5 * (4 + 6) + 6 * 2 = 62. Pairs: 5 * 6 * 4 = 120.
    CHECK(f(25) == doctest::Approx(19584));  // 64 * 3 * 62 + 120 * 64 = 11904 + 7680
    CHECK(f(26) == doctest::Approx(3904));   // 16 * 2 * 62 + 120 * 16 = 1984 + 1920
    CHECK(f(27) == doctest::Approx(10656));  // 8 * 6 * 62 + 120 * 64 = 2976 + 7680
    CHECK(f(28) == doctest::Approx(34144));
}

TEST_CASE("the features of Winograd are those worked by hand, for both tiles") {
    const ps::forecast::NetworkFeatures f = ps::forecast::network_features(grouped, 5);
    // (4, 3): 36 products; tiles of 8: 2 * 2, of 4: 1; kernel: 1; of the gradient, 4 by 3: 2 * 2.
    CHECK(f(29) == 12960);   // 5 * 6 * 4 * 108
    CHECK(f(30) == 2160);    // 5 * 4 * 1 * 108
    CHECK(f(31) == 25920);   // 5 * 6 * 2 * 4 * 108
    CHECK(f(32) == 15120);   // 12960 + 2160
    CHECK(f(33) == 38880);   // 12960 + 25920
    CHECK(f(34) == 28080);   // 25920 + 2160
    CHECK(f(35) == 82080);   // 15120 + 38880 + 28080
    CHECK(f(36) == 8640);    // 5 * 6 * 2 * 4 * 1 * 36
    CHECK(f(37) == 4320);    // 5 * 4 * 6 * 1 * 1 * 36
    CHECK(f(38) == 69120);   // 5 * 6 * 2 * 2 * 4 * 4 * 36
    CHECK(f(39) == 12960);   // 8640 + 4320
    CHECK(f(40) == 77760);   // 8640 + 69120
    CHECK(f(41) == 73440);   // 4320 + 69120
    CHECK(f(42) == 164160);  // 12960 + 77760 + 73440
    // (3, 2): 16 products; tiles of 8: 3 * 3, of 4: 2 * 2; kernel, 3 by 2: 2 * 2; of the gradient, 4 by 2: 2 * 2.
    CHECK(f.small_tiles(29) == 12960);   // 5 * 6 * 9 * 48
    CHECK(f.small_tiles(30) == 3840);    // 5 * 4 * 4 * 48
    CHECK(f.small_tiles(31) == 25920);   // 5 * 6 * 2 * 9 * 48
    CHECK(f.small_tiles(35) == 85440);   // 2 * (12960 + 3840 + 25920)
    CHECK(f.small_tiles(36) == 34560);   // 5 * 6 * 2 * 9 * 4 * 16
    CHECK(f.small_tiles(37) == 30720);   // 5 * 4 * 6 * 4 * 4 * 16
    CHECK(f.small_tiles(38) == 69120);   // 5 * 6 * 2 * 2 * 9 * 4 * 16
    CHECK(f.small_tiles(42) == 268800);  // 2 * (34560 + 30720 + 69120)
}

TEST_CASE("features of images that are not square have areas in the place of squares") {
    // 2 filters of 1 x 3 over 3 channels, 4 x 16 to 4 x 14.
    const ps::forecast::NetworkFeatures f = ps::forecast::network_features(
        {.n = 2, .m = 3, .kernel_h = 1, .kernel_w = 3, .in_h = 4, .in_w = 16, .out_h = 4, .out_w = 14}, 1);
    CHECK(f(1) == 18);                      // 2 * 3 * 3
    CHECK(f(3) == 192);                     // 3 * 64
    CHECK(f(4) == 112);                     // 2 * 56
    CHECK(f(17) == 204);                    // 3 * 4 * 17
    CHECK(f(25) == doctest::Approx(2496));  // 64 * 3 * (3 + 2 + 6) + 6 * 64 = 2112 + 384
    CHECK(f(27) == doctest::Approx(912));   // 8 * 6 * 11 + 384
    CHECK(f(29) == 864);                    // 2 * (1 * 4) * 108
}

TEST_CASE("features add up over layers, none is negative, and they grow with the batch") {
    for (ps::Graph const& graph :
         {ps::zoo::ResNet18::graph(), ps::zoo::MobileNetV2::graph(), ps::zoo::SqueezeNet11::graph()}) {
        const std::vector<ps::forecast::ConvSizes> convolutions = ps::forecast::conv_sizes(graph);
        REQUIRE(convolutions.size() > 10);
        const ps::forecast::NetworkFeatures whole = ps::forecast::network_features(graph, 7),
                                            twice = ps::forecast::network_features(graph, 14),
                                            thrice = ps::forecast::network_features(graph, 21);
        ps::forecast::NetworkFeatures sum;
        for (ps::forecast::ConvSizes const& conv : convolutions) sum += ps::forecast::network_features(conv, 7);
        for (std::size_t i = 0; i < ps::forecast::NetworkFeatures::count; ++i) {
            CAPTURE(ps::forecast::network_feature_names[i]);
            CHECK(whole.values[i] == sum.values[i]);
            CHECK(whole.values[i] >= 0);
            CHECK(twice.values[i] >= whole.values[i]);
            // Linear in the batch.
            CHECK(thrice.values[i] - twice.values[i] == doctest::Approx(twice.values[i] - whole.values[i]));
        }
        for (const unsigned constant : {1U, 16U, 19U}) CHECK(twice(constant) == whole(constant));
        for (const unsigned proportional :
             {2U, 3U, 4U, 6U, 7U, 8U, 9U, 10U, 13U, 14U, 17U, 18U, 20U, 29U, 30U, 31U, 36U, 37U, 38U}) {
            CHECK(twice(proportional) == doctest::Approx(2 * whole(proportional)));
        }
    }
}

TEST_CASE("the sizes of a graph's convolutions are those of its layers") {
    const std::vector<ps::forecast::ConvSizes> of = ps::forecast::conv_sizes(ps::zoo::ResNet18::graph());
    REQUIRE(of.size() == 20);
    CHECK(of[0] ==
          ps::forecast::ConvSizes{
              .n = 64, .m = 3, .kernel_h = 7, .kernel_w = 7, .in_h = 224, .in_w = 224, .out_h = 112, .out_w = 112});
    CHECK(std::set<std::string_view>(ps::forecast::network_feature_names.begin(),
                                     ps::forecast::network_feature_names.end())
              .size() == ps::forecast::NetworkFeatures::count);
}

TEST_CASE("a graph's multiply-adds are in its features, those of transposed convolutions too") {
    ps::Graph graph(1);
    std::size_t at = graph.add("image", ps::InputParams{{.c = 3, .h = 10, .w = 8}}, {});
    at = graph.add("down", ps::ConvParams{.k = 8, .kernel = 3, .stride = 2, .padding = 1}, {at});
    for (const int groups : {1, 2, 8}) {
        at = graph.add("up" + std::to_string(groups),
                       ps::ConvTransposeParams{.k = 8, .kernel = {4, 3}, .stride = 2, .padding = 1, .groups = groups},
                       {at});
    }
    CHECK(ps::forecast::conv_sizes(graph).size() == 4);
    CHECK(ps::forecast::network_features(graph, 5)(13) == 5 * ps::multiply_adds(graph));
    CHECK(ps::forecast::network_features(graph, 1)(1) == 8 * 3 * 9 + (8 + 4 + 1) * 8 * 12);  // weights
}

TEST_CASE("impossible sizes are refused") {
    CHECK_THROWS_WITH_AS((void)ps::forecast::network_features(grouped, 0), "forecast: impossible batch 0", ps::error);
    ps::forecast::ConvSizes wrong = grouped;
    wrong.groups = 3;
    CHECK_THROWS_WITH_AS((void)ps::forecast::network_features(wrong, 1), "forecast: 3 groups do not divide 4 channels",
                         ps::error);
    wrong.groups = 0;
    CHECK_THROWS_WITH_AS((void)ps::forecast::network_features(wrong, 1), "forecast: a convolution with a size of 0",
                         ps::error);
}

}  // namespace
}  // namespace forecast_features
