// Activations that exporters write as several layers.
#include "simplified.hpp"

#include <doctest/doctest.h>

#include <primsel/network/simplify.hpp>

#include <string>

namespace simplify_gates {

namespace ps = primsel;
using namespace simplified_graph;
using Kind = ps::ActivationKind;

const ps::BinaryParams times{ps::BinaryKind::multiply};

ps::AnyLayer linear(float factor, float shift = 0.0F) {
    return ps::ScaleParams{.known = true, .factor = factor, .shift = shift};
}
ps::AnyLayer activation(ps::ActivationKind kind, float alpha = 0.0F, float beta = 0.0F) {
    return ps::ActivationParams{kind, alpha, beta};
}

/// The one layer that the graph becomes, or all of its layers' names.
std::string joined(Builder const& builder, double tolerance = 1e-9) {
    const ps::Graph result = ps::simplify(builder.graph());
    check_same(builder.graph(), result, 1, tolerance);
    if (result.size() != 2) return text(result);
    return std::string(params<ps::ActivationParams>(result, result[1].name).name());
}

TEST_CASE("simplify: a product of a tensor and a function of it becomes one activation") {
    CHECK(joined(Builder().add("s", sigmoid_layer).add("m", times, {"image", "s"})) == "silu");
    CHECK(joined(Builder().add("s", sigmoid_layer).add("m", times, {"s", "image"})) == "silu");
    CHECK(joined(Builder().add("h", activation(Kind::hard_sigmoid, 1.0F / 6, 0.5F)).add("m", times, {"image", "h"}),
                 1e-6) == "hard_swish");
    CHECK(
        joined(
            Builder().add("p", linear(1, 3)).add("r", relu6).add("m", times, {"image", "r"}).add("d", linear(1.0F / 6)),
            1e-6) == "hard_swish");
    CHECK(
        joined(
            Builder().add("p", linear(1, 3)).add("r", relu6).add("d", linear(1.0F / 6)).add("m", times, {"image", "d"}),
            1e-6) == "hard_swish");
    CHECK(joined(Builder()
                     .add("p", activation(Kind::softplus))
                     .add("t", activation(Kind::tanh))
                     .add("m", times, {"image", "t"})) == "mish");
}

TEST_CASE("simplify: activations that are no products become one layer") {
    CHECK(joined(Builder().add("f", linear(1.702F)).add("s", sigmoid_layer).add("m", times, {"image", "s"})) ==
          "swish");
    const ps::BinaryParams over{ps::BinaryKind::divide};
    CHECK(joined(Builder().add("a", activation(Kind::abs)).add("s", linear(1, 1)).add("d", over, {"image", "s"})) ==
          "softsign");
    CHECK(joined(Builder().add("a", activation(Kind::abs)).add("s", linear(1, 2)).add("d", over, {"image", "s"})) ==
          "a(image) s(a) d(image, s)");
    CHECK(joined(Builder().add("s", sigmoid_layer).add("l", activation(Kind::log))) == "log_sigmoid");
    CHECK(joined(Builder().add("n", linear(-1)).add("p", activation(Kind::softplus)).add("m", linear(-1))) ==
          "log_sigmoid");
    CHECK(joined(Builder().add("n", linear(-2)).add("p", activation(Kind::softplus)).add("m", linear(-1))) ==
          "n(image) p(n) m(p)");
}

TEST_CASE("simplify: GELU by the error function or a tanh, wherever its factors stand") {
    const auto by_erf = [] { return Builder().add("d", linear(0.70710678F)).add("e", activation(Kind::erf)); };
    CHECK(joined(by_erf().add("a", linear(1, 1)).add("m", times, {"image", "a"}).add("h", linear(0.5F)), 1e-6) ==
          "gelu");
    CHECK(joined(by_erf().add("a", linear(0.5F, 0.5F)).add("m", times, {"image", "a"}), 1e-6) == "gelu");
    CHECK(joined(by_erf().add("a", linear(1, 1)).add("h", linear(0.5F), {"image"}).add("m", times, {"h", "a"}), 1e-6) ==
          "gelu");
    const auto by_tanh = [](ps::AnyLayer const& sum) {
        return Builder()
            .add("p", activation(Kind::power, 3.0F))
            .add("c", linear(0.044715F))
            .add("s", sum, {"image", "c"})
            .add("u", linear(0.7978846F))
            .add("t", activation(Kind::tanh))
            .add("a", linear(1, 1))
            .add("h", linear(0.5F), {"image"})
            .add("m", times, {"h", "a"});
    };
    CHECK(joined(by_tanh(ps::AddParams{}), 1e-6) == "gelu_tanh");
    CHECK(joined(by_tanh(ps::BinaryParams{ps::BinaryKind::add}), 1e-6) == "gelu_tanh");
}

TEST_CASE("simplify: a product stays where it is no activation or others read what is between") {
    CHECK(joined(Builder().add("s", sigmoid_layer).add("m", times, {"s", "s"})) == "s(image) m(s, s)");
    CHECK(joined(Builder()
                     .add("s", sigmoid_layer)
                     .add("m", times, {"image", "s"})
                     .add("j", ps::ConcatParams{}, {"s", "m"})) == "s(image) m(image, s) j(s, m)");
    CHECK(joined(Builder().add("h", activation(Kind::hard_sigmoid, 0.2F, 0.5F)).add("m", times, {"image", "h"})) ==
          "h(image) m(image, h)");
    CHECK(joined(Builder()
                     .add("p", linear(1, 2))
                     .add("r", relu6)
                     .add("m", times, {"image", "r"})
                     .add("d", linear(1.0F / 6))) == "p(image) r(p) m(image, r) d(m)");
    CHECK(joined(
              Builder().add("e", activation(Kind::erf)).add("a", linear(0.5F, 0.5F)).add("m", times, {"image", "a"})) ==
          "e(image) a(e) m(image, a)");
    // One gate for all pixels.
    CHECK(joined(Builder().add("p", ps::GlobalPoolParams{}).add("s", sigmoid_layer).add("m", times, {"image", "s"})) ==
          "p(image) s(p) m(image, s)");
}

}  // namespace simplify_gates
