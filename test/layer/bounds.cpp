#include "shapes.hpp"

#include <primsel/network/graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace {

namespace ps = primsel;
using laws::check;
using ps::Fault;

constexpr int int_max = std::numeric_limits<int>::max();

/// The error of adding a layer to an image of that shape.
std::string message(ps::AnyLayer const& layer, ps::Shape image = {4, 6, 6}, int batch = 1) {
    ps::Graph graph(batch);
    try {
        const std::size_t input = graph.add("image", ps::InputParams{image}, {});
        graph.add("layer", layer, {input});
    } catch (ps::error const& error) {
        return error.what();
    }
    return "";
}
std::string impossible(ps::AnyLayer const& layer) {
    const std::string text = message(layer),
                      head = "graph: layer layer (" + std::string(ps::layer_kind(layer)) + ") on 4x6x6: ";
    return text.starts_with(head) ? text.substr(head.size()) : "another error: " + text;
}

TEST_CASE("bounds: an error names the impossible parameter") {
    CHECK(impossible(ps::ConvParams{.k = 0}).starts_with("k, the number of kernels, must be"));
    CHECK(impossible(ps::ConvParams{.kernel = {1, 0}}).starts_with("the kernel's height and width must be"));
    CHECK(impossible(ps::ConvParams{.stride = {0, 1}}).starts_with("the stride must be"));
    CHECK(impossible(ps::ConvParams{.padding = {0, 0, 0, -1}}).starts_with("the padding must be"));
    CHECK(impossible(ps::ConvParams{.dilation = -1}).starts_with("the dilation must be"));
    CHECK(impossible(ps::ConvParams{.groups = 0}).starts_with("the groups must be"));
    CHECK(impossible(ps::ConvTransposeParams{.stride = 0}).starts_with("the stride must be"));
    CHECK(impossible(ps::ConvTransposeParams{.extra_w = -1}).starts_with("the extra rows and columns must be"));
    CHECK(impossible(ps::PoolParams{.window = 0}).starts_with("the window's height and width must be"));
    CHECK(impossible(ps::PoolParams{.stride = 0}).starts_with("the stride must be"));
    CHECK(impossible(ps::MaxPoolIndicesParams{{.kind = ps::PoolKind::average}}).starts_with("the pooling must be max"));
    CHECK(impossible(ps::DenseParams{.k = -1}).starts_with("k, the number of outputs, must be"));
    CHECK(impossible(ps::BatchNormParams{.epsilon = -1}).starts_with("epsilon must be"));
    for (const float momentum : {-0.1F, 1.1F, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK(impossible(ps::BatchNormParams{.momentum = momentum}) == "the momentum must be from 0 to 1");
    }
    for (const float momentum : {0.0F, 1.0F}) CHECK(ps::BatchNormParams{.momentum = momentum}.impossible().empty());
    CHECK(impossible(ps::BatchNormParams{.epsilon = INFINITY}).starts_with("epsilon must be"));
    CHECK(impossible(ps::LrnParams{.size = 0}).starts_with("the size must be"));
    CHECK(impossible(ps::LrnParams{.alpha = NAN}).starts_with("alpha, beta and k must be"));
    CHECK(impossible(ps::ReshapeParams{{0, 1, 2}}).ends_with("must be from 1 to 2^29; the shape is 0x1x2"));
    CHECK(impossible(ps::AsStridedParams{.dims = {0}, .shape = {1, 1, 1}}).starts_with("each of the dims must be"));
    CHECK(impossible(ps::PadParams{.padding = -1}).starts_with("the padding must be"));
    CHECK(impossible(ps::PadParams{.back = -1}).starts_with("the channels in front and at the back must be"));
    CHECK(impossible(ps::PadParams{.mode = ps::PadMode::edge, .back = 1}).starts_with("channels in front"));
    CHECK(impossible(ps::ChannelShuffleParams{0}).starts_with("the groups must be"));
    CHECK(impossible(ps::ResizeParams{.size = 0}).starts_with("the height and width of the result must be"));
    CHECK(impossible(ps::ResizeParams{.size = 1, .scale_h = INFINITY}).starts_with("the scales must be"));
    CHECK(impossible(ps::ResizeParams{.size = 1, .offset_w = INFINITY}).starts_with("the offsets must be"));
    CHECK(impossible(ps::ResizeParams{.size = 1, .antialias = true}).starts_with("antialiasing needs"));
    CHECK(impossible(ps::ResizeParams{.size = 1, .cubic_coefficient = INFINITY}).starts_with("the cubic coefficient"));
    CHECK(ps::ActivationGradientParams{{ps::ActivationKind::floor}}.impossible() ==
          "a function of steps has no gradient");
    CHECK(impossible(ps::NormalizeParams{.epsilon = NAN}).starts_with("epsilon must be"));
    CHECK(ps::RandomDropoutParams{.rate = 1.5F}.impossible() == "the rate must be from 0 to 1");
    CHECK(message(ps::InputParams{}, {3, 0, 7}) ==
          "graph: layer image (input) on nothing: each extent of the shape must be from 1 to 2^29; the shape is 3x0x7");
}

TEST_CASE("bounds: sizes whose arithmetic would overflow are refused, by name and shape") {
    const std::string too_large = message(ps::DropoutParams{}, {1 << 29, 1 << 20, 1 << 20});
    CHECK(too_large.starts_with("graph: layer image (input) on nothing: a size is beyond the library's bounds"));
    CHECK(too_large.ends_with("the shape is 536870912x1048576x1048576"));
    CHECK(message(ps::DropoutParams{}, {1 << 30, 1 << 20, 1 << 20}).find("must be from 1 to 2^29") !=
          std::string::npos);
    CHECK(message(ps::ConvParams{.kernel = 3, .padding = 2}, {1, 1 << 29, 1})
              .starts_with("graph: layer layer (conv) on 1x536870912x1: a size is beyond"));
    // On shapes that no graph has.
    CHECK(check(ps::ConvParams{.kernel = 3, .padding = 2}, {{1, int_max, 1}}) == Fault::too_large);
    CHECK(check(ps::PoolParams{.window = 3, .padding = 2}, {{1, int_max, 1}}) == Fault::too_large);
    CHECK(check(ps::PadParams{.padding = 2}, {{1, int_max, 1}}) == Fault::too_large);
    // 4 * 2147483641^2 is small modulo 2^64.
    CHECK(check(ps::ReshapeParams{{1, 1, 1}}, {{4, 2147483641, 2147483641}}) == Fault::shapes_differ);
    CHECK(message(ps::FlattenParams{}, {1024, 1024, 1024}).find("a size is beyond") != std::string::npos);
    CHECK(message(ps::DenseParams{1 << 29}, {1 << 20, 1, 1}).find("a size is beyond") != std::string::npos);
    CHECK(message(ps::PadParams{.front = 1 << 29}, {1, 1, 1}).find("a size is beyond") != std::string::npos);
    CHECK(message(ps::DropoutParams{}, {1 << 15, 1 << 15, 1 << 14}, 3).ends_with(", in a batch of 3"));
    CHECK(message(ps::DropoutParams{}, {1 << 15, 1 << 15, 1 << 14}, 2).empty());
    CHECK(message(ps::ConvTransposeParams{.stride = 1 << 20}, {1, 1 << 20, 1}).find("a size is beyond") !=
          std::string::npos);
    CHECK(message(ps::ConvTransposeParams{.kernel = 2, .stride = 1 << 29, .dilation = 1 << 29}, {1, 1 << 29, 1})
              .find("a size is beyond") != std::string::npos);
    CHECK(check(ps::ConcatParams{}, {{1 << 29, 1, 1}, {1, 1, 1}}) == Fault::too_large);
    CHECK(check(ps::ConcatParams{}, {{int_max, 1, 1}, {int_max, 1, 1}}) == Fault::too_large);
    CHECK(check(ps::BinaryParams{}, {{1 << 29, 1, 1}, {1, 1 << 29, 1}}) == Fault::too_large);
    CHECK(check(ps::MatMulParams{}, {{1, 1 << 29, 1}, {1, 1, 1 << 29}}) == Fault::too_large);
    CHECK(check(ps::ResizeParams{.size = 1 << 29}, {{1, 1, 1}}) == Fault::too_large);
    // A kernel of 2^46 weights; one of 2^28; a product of 2^46 for every tap and pixel.
    CHECK(check(ps::ConvParams{.k = 1 << 23}, {{1 << 23, 1, 1}}) == Fault::too_large);
    CHECK(check(ps::ConvParams{.k = 1 << 14}, {{1 << 14, 1, 1}}) == Fault::none);
    CHECK(check(ps::ConvParams{.kernel = {1 << 15, 1}}, {{1 << 10, 1 << 21, 1}}) == Fault::too_large);
}

TEST_CASE("bounds: strides that reach beyond any tensor") {
    constexpr std::ptrdiff_t far = std::numeric_limits<std::ptrdiff_t>::max();
    CHECK(check(ps::AsStridedParams{.dims = {3}, .strides = {far}, .shape = {3, 1, 1}}, {{4, 1, 1}}) ==
          Fault::slice_outside);
    CHECK(check(ps::AsStridedParams{.dims = {3}, .strides = {-far}, .offset = far, .shape = {3, 1, 1}}, {{4, 1, 1}}) ==
          Fault::slice_outside);
    CHECK(check(ps::AsStridedParams{.dims = {1}, .strides = {far}, .shape = {1, 1, 1}}, {{4, 1, 1}}) == Fault::none);
    // 2^16 in each of four dims: 2^64 elements, which is 0.
    CHECK(check(ps::AsStridedParams{.dims = {1 << 16, 1 << 16, 1 << 16, 1 << 16}, .shape = {1, 1, 1}}, {{4, 1, 1}}) ==
          Fault::shapes_differ);
}

/// Sizes near the powers of two, where sums and products wrap around, and small ones.
class Sizes {
public:
    explicit Sizes(unsigned seed) : bits_(seed) {}
    [[nodiscard]] int operator()() {
        const auto kind = bits_() % 8;
        if (kind < 3) return static_cast<int>(bits_() % 4) + 1;
        if (kind == 3) return static_cast<int>(bits_() % 6) - 3;
        const std::int64_t power = std::int64_t{1} << (bits_() % 32);
        return static_cast<int>(std::clamp<std::int64_t>(power + static_cast<int>(bits_() % 7) - 3,
                                                         std::numeric_limits<int>::min(), int_max));
    }
    [[nodiscard]] ps::Shape shape() { return {(*this)(), (*this)(), (*this)()}; }
    [[nodiscard]] ps::Extent extent() { return {(*this)(), (*this)()}; }
    [[nodiscard]] ps::Padding padding() {
        return bits_() % 2 == 0 ? ps::Padding() : ps::Padding((*this)(), (*this)(), (*this)(), (*this)());
    }
    [[nodiscard]] std::ptrdiff_t stride() { return std::ptrdiff_t{(*this)()} * (*this)(); }
    [[nodiscard]] ps::AnyLayer layer() {
        switch (bits_() % 14) {
            case 0:
                return ps::ConvParams{(*this)(), extent(), extent(), padding(), extent(), (*this)()};
            case 1:
                return ps::ConvTransposeParams{(*this)(), extent(),  extent(),  padding(),
                                               extent(),  (*this)(), (*this)(), (*this)()};
            case 2:
                return ps::PoolParams{ps::PoolKind::max, extent(), extent(), padding(),
                                      bits_() % 2 == 0,  true,     extent()};
            case 3:
                return ps::DenseParams{(*this)()};
            case 4:
                return ps::FlattenParams{};
            case 5:
                return ps::PadParams{padding(), 0, ps::PadMode::constant, (*this)(), (*this)()};
            case 6:
                return ps::ReshapeParams{shape()};
            case 7:
                return ps::AsStridedParams{{(*this)(), (*this)()}, {stride(), stride()}, stride(), shape()};
            case 8:
                return ps::ConcatParams{static_cast<ps::Axis>(bits_() % 3)};
            case 9:
                return ps::BinaryParams{};
            case 10:
                return ps::MatMulParams{};
            case 11:
                return ps::ResizeParams{extent()};
            case 12:
                return ps::SliceParams{(*this)(), (*this)(), static_cast<ps::Axis>(bits_() % 3)};
            default:
                return ps::ChannelShuffleParams{(*this)()};
        }
    }

private:
    std::mt19937 bits_;
};

TEST_CASE("bounds: no layer on whatever shapes overflows, and what is accepted keeps to the bounds") {
    Sizes sizes(7);
    int accepted = 0;
    for (int i = 0; i < 200'000; ++i) {
        const ps::AnyLayer layer = sizes.layer();
        const std::vector<ps::Shape> inputs(i % 5 < 3 ? 1 : 2, sizes.shape());
        bool possible = true, within = true;
        for (ps::Shape const& input : inputs) {
            possible = possible && input.c > 0 && input.h > 0 && input.w > 0;
            within = within && ps::within_bounds(input);
        }
        if (!possible || ps::check(layer, inputs) != Fault::none || !within) continue;
        ++accepted;
        const ps::Shape shape = ps::output(layer, inputs);
        if (!ps::layer::detail::is_size(shape) || !ps::within_bounds(shape)) {
            FAIL(ps::join(ps::layer_kind(layer), " on ", inputs[0], ": ", shape));
        }
    }
    CHECK(accepted > 1000);
}

TEST_CASE("bounds: products that would wrap around") {
    CHECK(ps::bounded_product({}) == 1);
    CHECK(ps::bounded_product({3, 5, 7}) == 105);
    CHECK(ps::bounded_product({0, ps::max_floats, ps::max_floats}) == 0);
    CHECK(ps::bounded_product({ps::max_floats, ps::max_floats, 0}) == 0);
    CHECK(ps::bounded_product({ps::max_floats, 1}) == ps::max_floats);
    CHECK(ps::bounded_product({ps::max_floats, 2}) == ps::max_floats + 1);
    CHECK(ps::bounded_product({std::int64_t{1} << 32, std::int64_t{1} << 32}) == ps::max_floats + 1);
}

}  // namespace
