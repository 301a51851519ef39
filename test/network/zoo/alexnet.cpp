#include <primsel/network/zoo/alexnet.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace ps = primsel;

// 63 is the smallest image whose last pooling has a window.
static_assert(ps::zoo::AlexNet::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::AlexNet::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::AlexNetOf<63, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::AlexNetCifar::input_shape == ps::Shape{3, 32, 32});
static_assert(ps::zoo::AlexNetCifar::output_shape == ps::Shape{10, 1, 1});
static_assert(ps::zoo::AlexNetCifarOf<40, 7, std::ratio<2>, 2>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: AlexNet for CIFAR has the published sizes") {
    // Xun et al. 2019, table II.
    const ps::Graph graph = ps::zoo::AlexNetCifar::graph();
    const auto shape = [&](std::string const& layer) { return graph[graph.find(layer)].shape; };
    for (std::string group : {"group1.", "group2.", "group3.", "group4."}) {
        CAPTURE(group);
        CHECK(shape(group + "conv1") == ps::Shape{16, 30, 30});
        CHECK(shape(group + "lrn1") == ps::Shape{16, 30, 30});
        CHECK(shape(group + "max_pool1") == ps::Shape{16, 27, 27});
        CHECK(shape(group + "conv2") == ps::Shape{16, 27, 27});
        CHECK(shape(group + "lrn2") == ps::Shape{16, 27, 27});
        CHECK(shape(group + "max_pool2") == ps::Shape{16, 13, 13});
        for (const char* layer : {"conv3", "conv4", "conv5"}) CHECK(shape(group + layer) == ps::Shape{16, 13, 13});
        CHECK(shape(group + "max_pool3") == ps::Shape{16, 6, 6});
        const auto lrn = std::get<ps::LrnParams>(graph[graph.find(group + "lrn1")].layer);
        CHECK(lrn == ps::LrnParams{.size = 5, .alpha = 0.0001F, .beta = 0.75F});
    }
    CHECK(shape("concat1") == ps::Shape{64, 6, 6});
    CHECK(shape("fc6") == ps::Shape{10, 1, 1});
    CHECK(counts::layers<ps::ConcatParams>(graph) == 1);
    CHECK(counts::layers<ps::SoftmaxParams>(graph) == 1);
}

TEST_CASE("zoo: AlexNet for CIFAR is as much smaller as published") {
    // Xun et al. 2019, abstract: 2.4 times smaller than a network whose groups also read all groups before their own.
    const auto weights = [](std::int64_t groups_read, std::int64_t kernel) { return groups_read * 16 * 16 * kernel; };
    const std::int64_t incremental =
        4 * (3 * 9 * 16) + weights(1 + 2 + 3 + 4, 25) + 3 * weights(1 + 2 + 3 + 4, 9) + 5 * 64;
    const std::int64_t dense = 64 * 6 * 6 * 10 + 10;
    const std::int64_t grouped = counts::parameters(ps::zoo::AlexNetCifar::graph()) - dense;
    CHECK(grouped == 4 * (3 * 9 * 16) + weights(4, 25) + 3 * weights(4, 9) + 5 * 64);
    CHECK(std::abs(static_cast<double>(incremental) / static_cast<double>(grouped) - 2.4) < 0.05);

    // Fewer groups: so much less of everything.
    const ps::Graph one = ps::zoo::AlexNetCifarOf<32, 10, std::ratio<1>, 1>::graph();
    CHECK(4 * counts::multiply_adds(one) == counts::multiply_adds(ps::zoo::AlexNetCifar::graph()));
}
