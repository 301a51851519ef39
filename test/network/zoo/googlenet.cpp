#include <primsel/network/zoo/googlenet.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace ps = primsel;

static_assert(ps::zoo::GoogLeNet::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::GoogLeNet::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::GoogLeNetOf<32, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::GoogLeNetBn::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::GoogLeNetBn::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::GoogLeNetBnOf<32, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: GoogLeNet's modules have the published shapes") {
    for (ps::Graph const& graph : {ps::zoo::GoogLeNet::graph(), ps::zoo::GoogLeNetBn::graph()}) {
        const auto shape = [&](std::string const& module) { return graph[graph.find(module + ".concat")].shape; };
        CHECK(shape("inception3a") == ps::Shape{256, 28, 28});
        CHECK(shape("inception3b") == ps::Shape{480, 28, 28});
        CHECK(shape("inception4a") == ps::Shape{512, 14, 14});
        CHECK(shape("inception4b") == ps::Shape{512, 14, 14});
        CHECK(shape("inception4c") == ps::Shape{512, 14, 14});
        CHECK(shape("inception4d") == ps::Shape{528, 14, 14});
        CHECK(shape("inception4e") == ps::Shape{832, 14, 14});
        CHECK(shape("inception5a") == ps::Shape{832, 7, 7});
        CHECK(shape("inception5b") == ps::Shape{1024, 7, 7});
    }
}

TEST_CASE("zoo: GoogLeNet does the published work") {
    const ps::Graph graph = ps::zoo::GoogLeNet::graph();
    // Szegedy et al. 2015, table 1, column ops, in millions. Left out are two rows that their own columns contradict:
    // the first convolution (34 there; 7x7 on 3 channels to 64 of 112x112 is 118) and inception 5a (54; its six
    // convolutions are 51).
    struct Row {
        std::string prefix;
        double millions;
    };
    for (Row const& row : {Row{"inception3a.", 128}, Row{"inception3b.", 304}, Row{"inception4a.", 73},
                           Row{"inception4b.", 88}, Row{"inception4c.", 100}, Row{"inception4d.", 119},
                           Row{"inception4e.", 170}, Row{"inception5b.", 71}, Row{"fc", 1}}) {
        CAPTURE(row.prefix);
        CHECK(std::abs(static_cast<double>(counts::multiply_adds(graph, row.prefix)) / 1e6 - row.millions) < 1);
    }
    const std::int64_t second = counts::multiply_adds(graph, "conv2") + counts::multiply_adds(graph, "conv3");
    CHECK(std::abs(static_cast<double>(second) / 1e6 - 360) < 1);
    // Its rows' params sum up to 6798 K. The authors' network without auxiliary classifiers, as released with Caffe,
    // has exactly so many.
    CHECK(counts::parameters(graph) == 6'998'552);
    CHECK(std::abs(static_cast<double>(counts::parameters(graph)) / 1024 / 6798 - 1) < 0.01);
}
