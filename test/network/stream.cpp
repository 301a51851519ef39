#include <primsel/network/stream.hpp>

#include "../error_of.hpp"

#include <primsel/network/simplify.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace network_stream_tests {

namespace ps = primsel;

namespace {

using tests::error_of;

TEST_CASE("stream: networks that need what is not there yet are refused by name") {
    const auto message = [](auto const& layer, ps::Shape input = {4, 1, 100}, ps::Axis time = ps::Axis::w) {
        ps::Graph graph;
        graph.add("image", ps::InputParams{input}, {});
        graph.add("it", layer, {0});
        return error_of([&] { (void)ps::stream(graph, 8, time); });
    };
    CHECK(
        message(ps::ConvParams{.k = 2, .kernel = {1, 3}, .padding = {0, 0, 1, 1}}) ==
        "stream: layer it (conv) is not causal: its last results read 1 samples after the signal's end, which no later "
        "layer crops");
    CHECK(message(ps::ConvParams{.k = 2, .kernel = {1, 3}, .padding = {0, 0, 3, 0}}) ==
          "stream: layer it (conv) has 3 columns of padding before the signal, and reaches back 2");
    CHECK(message(ps::ConvParams{.k = 2, .kernel = {1, 3}, .stride = {1, 2}}) ==
          "stream: layer it (conv) has a stride of 2, fewer results than samples");
    CHECK(message(ps::ConvParams{.k = 2, .kernel = {1, 3}}, {4, 2, 100}) ==
          "stream: layer it (conv) reads an image of 2 rows; the past has one");
    CHECK(message(ps::GlobalPoolParams{}) ==
          "stream: layer it (global_average_pool) cannot run on a block of a signal");
    CHECK(message(ps::SoftmaxParams{ps::Axis::w}) ==
          "stream: layer it (softmax) computes across the times of the signal");
    CHECK(message(ps::RecurrentParams{.reverse = true}, {100, 1, 8}, ps::Axis::c) ==
          "stream: layer it (lstm) begins at the end of the signal");
    CHECK(message(ps::RecurrentParams{}, {4, 1, 100}) ==
          "stream: layer it (lstm) takes steps that are no times of the signal");
    CHECK(message(ps::DenseParams{.k = 3}) == "stream: layer it (dense) cannot run on a block of a signal");
    CHECK(message(ps::ReshapeParams{{1, 20, 20}}) ==
          "stream: layer it (reshape) mixes the signal's times with other elements");

    ps::Graph delayed;
    delayed.add("image", ps::InputParams{{4, 1, 100}}, {});
    delayed.add("conv", ps::ConvParams{.k = 4, .kernel = {1, 3}}, {0});
    delayed.add("first", ps::SliceParams{0, 98, ps::Axis::w}, {0});
    delayed.add("sum", ps::AddParams{}, {1, 2});
    CHECK(
        error_of([&] { (void)ps::stream(delayed, 8); }) ==
        "stream: layer sum (add) reads results of different times: those of first are from 0 to before 98, of another "
        "input from 2 to before 100");
    CHECK(error_of([&] { (void)ps::stream(delayed, 0); }) == "stream: a block of 0 samples");

    ps::Graph narrow;
    narrow.add("image", ps::InputParams{{4, 1, 6}}, {});
    narrow.add("conv", ps::ConvParams{.k = 4, .kernel = {1, 3}, .padding = {0, 0, 16, 0}, .dilation = {1, 8}}, {0});
    CHECK(error_of([&] {
              (void)ps::stream(ps::simplify(narrow), 4);
          }).starts_with("stream: layer conv (conv) reads a part of its kernel only"));
    CHECK(ps::stream(narrow, 4).windows.at(0).past == 16);
}

}  // namespace

}  // namespace network_stream_tests
