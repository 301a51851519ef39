#include "shapes.hpp"

#include <primsel/layer/recurrent.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace layer_recurrent {
namespace {

namespace ps = primsel;
using laws::check;
using laws::output;
using ps::Fault;
using ps::RecurrentKind;
using ps::RecurrentParams;

static_assert(ps::LayerParams<RecurrentParams>);

TEST_CASE("a recurrent layer has a row of hidden units for each sequence and step") {
    CHECK(RecurrentParams{}.name() == "lstm");
    CHECK(RecurrentParams{.kind = RecurrentKind::gru}.name() == "gru");
    CHECK(RecurrentParams{.kind = RecurrentKind::rnn}.name() == "rnn");
    CHECK(output(RecurrentParams{}, {{7, 3, 20}}) == ps::Shape{7, 3, 5});
    CHECK(output(RecurrentParams{.kind = RecurrentKind::gru}, {{7, 3, 15}}) == ps::Shape{7, 3, 5});
    CHECK(output(RecurrentParams{.kind = RecurrentKind::rnn}, {{7, 3, 5}}) == ps::Shape{7, 3, 5});
    CHECK(output(RecurrentParams{.gives_last = true, .gives_cell = true}, {{7, 3, 20}}) == ps::Shape{9, 3, 5});
    CHECK(output(RecurrentParams{.gives_all = false, .gives_cell = true}, {{7, 3, 20}}) == ps::Shape{1, 3, 5});
}

TEST_CASE("the inputs of a recurrent layer fit each other") {
    CHECK(check(RecurrentParams{}, {{7, 3, 20}}) == Fault::none);
    CHECK(check(RecurrentParams{}, {}) == Fault::wrong_input_count);
    CHECK(check(RecurrentParams{}, {{7, 3, 20}, {1, 3, 5}}) == Fault::wrong_input_count);
    CHECK(check(RecurrentParams{}, {{7, 3, 21}}) == Fault::groups_do_not_divide);
    CHECK(check(RecurrentParams{}, {{1 << 12, 1 << 12, 1 << 6}}) == Fault::too_large);
    const RecurrentParams all{.starts_h = true, .starts_cell = true, .has_lengths = true, .has_peepholes = true};
    const std::vector<ps::Shape> right{{7, 3, 20}, {1, 3, 5}, {3, 1, 5}, {3, 1, 1}, {1, 1, 15}};
    CHECK(check(all, right) == Fault::none);
    for (std::size_t i = 1; i < right.size(); ++i) {
        std::vector<ps::Shape> wrong = right;
        ++wrong[i].w;
        CHECK(check(all, wrong) == Fault::shapes_differ);
    }
}

TEST_CASE("impossible recurrent layers say why") {
    const auto reason = [](RecurrentParams const& params) {
        CHECK(check(params, std::vector<ps::Shape>(params.input_count(), {7, 3, 12})) == Fault::impossible_parameter);
        return params.impossible();
    };
    for (const RecurrentKind kind : {RecurrentKind::gru, RecurrentKind::rnn}) {
        const std::string_view cell = "only an lstm has a cell, peepholes and gates that may be coupled";
        CHECK(reason({.kind = kind, .couples_gates = true}) == cell);
        CHECK(reason({.kind = kind, .starts_cell = true}) == cell);
        CHECK(reason({.kind = kind, .has_peepholes = true}) == cell);
        CHECK(reason({.kind = kind, .gives_cell = true}) == cell);
    }
    CHECK(reason({.resets_product = true}) == "only a gru resets a product");
    CHECK(reason({.clip = 0}) == "the clip must be above 0");
    CHECK(reason({.clip = NAN}) == "the clip must be above 0");
    CHECK(reason({.alpha = {0, 0, NAN}}) == "alpha and beta must be finite");
    CHECK(reason({.beta = {INFINITY, 0, 0}}) == "alpha and beta must be finite");
    CHECK(reason({.gives_all = false}) == "there must be a result");
}

}  // namespace
}  // namespace layer_recurrent
