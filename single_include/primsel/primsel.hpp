// primsel in one header, generated from include/primsel/ by scripts/amalgamate.py: do not edit.
// SPDX-License-Identifier: MIT
#pragma once
// primsel/primsel.hpp
// The whole library but for the opt-in headers (core/openmp.hpp, primitive/gemm_eigen.hpp, network/boost_graph.hpp).

// primsel/core/error.hpp

// primsel/core/config.hpp
// All of primsel's macros live here.

#define PRIMSEL_VERSION_MAJOR 0
#define PRIMSEL_VERSION_MINOR 1
#define PRIMSEL_VERSION_PATCH 0
#define PRIMSEL_VERSION "0.1.0"

// The instruction set that this translation unit is compiled for, as a name. It becomes part of every symbol (see
// PRIMSEL_ABI), so that translation units compiled for different instruction sets may be linked into one program.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define PRIMSEL_ARCH_NAME avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define PRIMSEL_ARCH_NAME avx2
#elif defined(__AVX__)
#define PRIMSEL_ARCH_NAME avx
#elif defined(__SSE4_2__)
#define PRIMSEL_ARCH_NAME sse4_2
#elif defined(__SSE2__)
#define PRIMSEL_ARCH_NAME sse2
#elif defined(__aarch64__)
#define PRIMSEL_ARCH_NAME neon64
#else
#error "primsel: this instruction set is not supported yet (x86-64 and aarch64 are)"
#endif

#define PRIMSEL_DETAIL_PASTE(a, b, c, d) v##a##_##b##_##c##_##d
#define PRIMSEL_DETAIL_ABI(a, b, c, d) PRIMSEL_DETAIL_PASTE(a, b, c, d)
// The inline namespace of everything: the version and the instruction set, e.g. v0_1_0_avx512.
#define PRIMSEL_ABI \
    PRIMSEL_DETAIL_ABI(PRIMSEL_VERSION_MAJOR, PRIMSEL_VERSION_MINOR, PRIMSEL_VERSION_PATCH, PRIMSEL_ARCH_NAME)

// Unroll the following loop completely: register tiles live in registers only if every index is a constant.
#if defined(__clang__)
#define PRIMSEL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PRIMSEL_UNROLL _Pragma("GCC unroll 64")
#endif

#define PRIMSEL_INLINE inline __attribute__((always_inline))
#define PRIMSEL_RESTRICT __restrict__

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Everything that set-up throws: the message names the file, the layer and the shapes involved. run() never throws.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

namespace detail {
inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, char part) { text += part; }
template <std::integral T>
void append(std::string& text, T part) { text += std::to_string(part); }
template <std::floating_point T>
void append(std::string& text, T part) { text += std::to_string(part); }
template <class T>
    requires requires(T const& part) { { to_string(part) } -> std::convertible_to<std::string>; }
void append(std::string& text, T const& part) { text += to_string(part); }
}  // namespace detail

/// The parts, one after the other, as text: strings, characters, numbers and whatever has a to_string.
template <class... Parts>
[[nodiscard]] std::string join(Parts const&... parts) {
    std::string text;
    (detail::append(text, parts), ...);
    return text;
}

/// Throws an error whose message is the joined parts.
template <class... Parts>
[[noreturn]] void fail(Parts const&... parts) {
    throw error(join(parts...));
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/all.hpp
// Every kind of layer, and the variant that holds any of them.

// primsel/layer/activation.hpp

// primsel/core/clamp.hpp

#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// What a layer may do to its result before storing it: hold it between two bounds. ReLU is [0, inf), ReLU6 [0, 6];
/// without an activation the bounds are infinite and the value passes unchanged.
struct Clamp {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    friend constexpr bool operator==(Clamp const&, Clamp const&) = default;
};
inline constexpr Clamp relu_clamp{0.0F, std::numeric_limits<float>::infinity()};
inline constexpr Clamp relu6_clamp{0.0F, 6.0F};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/layer.hpp

// primsel/tensor/shape.hpp

#include <cstddef>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// The extents of one image: channels, height, width.
struct Shape {
    int c = 1, h = 1, w = 1;

    [[nodiscard]] constexpr std::size_t size() const {
        return static_cast<std::size_t>(c) * static_cast<std::size_t>(h) * static_cast<std::size_t>(w);
    }
    [[nodiscard]] constexpr std::size_t pixels() const {
        return static_cast<std::size_t>(h) * static_cast<std::size_t>(w);
    }
    friend constexpr bool operator==(Shape const&, Shape const&) = default;
};

/// A place in a Shape.
struct Coord {
    int c = 0, h = 0, w = 0;
    friend constexpr bool operator==(Coord const&, Coord const&) = default;
};

/// "3x224x224": channels x height x width.
[[nodiscard]] inline std::string to_string(Shape const& shape) {
    return std::to_string(shape.c) + 'x' + std::to_string(shape.h) + 'x' + std::to_string(shape.w);
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <concepts>
#include <ratio>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// What can be wrong with a layer on its inputs. One enumeration, so that a Network<...> can say it with static_assert
/// and a graph from a file with an error.
enum class Fault {
    none,
    wrong_input_count,
    impossible_parameter,
    kernel_exceeds_input,
    groups_do_not_divide,
    shapes_differ,
    sizes_differ,
    slice_outside,
    padding_exceeds_kernel,
};

[[nodiscard]] constexpr std::string_view message(Fault fault) {
    switch (fault) {
        case Fault::none: return "";
        case Fault::wrong_input_count: return "wrong number of inputs";
        case Fault::impossible_parameter: return "a parameter is impossible (a size below 1, a negative padding, ...)";
        case Fault::kernel_exceeds_input: return "the kernel is larger than the padded input";
        case Fault::groups_do_not_divide: return "the groups do not divide the channels";
        case Fault::shapes_differ: return "the inputs differ in shape";
        case Fault::sizes_differ: return "the inputs differ in height or width";
        case Fault::slice_outside: return "the slice lies outside the channels";
        case Fault::padding_exceeds_kernel: return "the padding is larger than the pooling window";
    }
    return "";
}

/// The run-time parameters of a kind of layer: a plain constexpr value.
/// - name: the kind, in the field's lower-case term ("conv", "max_pool");
/// - check(inputs): what is wrong with these input shapes;
/// - output(inputs): the output shape, where check found nothing.
template <class P>
concept LayerParams = std::equality_comparable<P> && requires(P const& params, std::span<const Shape> inputs) {
    { params.name() } -> std::convertible_to<std::string_view>;
    { params.check(inputs) } -> std::same_as<Fault>;
    { params.output(inputs) } -> std::same_as<Shape>;
};

/// A std::ratio as a number: clang 15 to 17 take no float as a template argument.
template <class Ratio>
inline constexpr float as_float = static_cast<float>(static_cast<double>(Ratio::num) / static_cast<double>(Ratio::den));

/// Height and width of a kernel, window, stride or dilation: 3 means 3x3.
struct Extent {
    int h = 1, w = 1;
    constexpr Extent() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): Conv<64, 3> reads better than Conv<64, Extent{3, 3}>
    constexpr Extent(int both) : h(both), w(both) {}
    constexpr Extent(int height, int width) : h(height), w(width) {}
    friend constexpr bool operator==(Extent const&, Extent const&) = default;
};

/// Zeros around an image: one number for all sides, two for top-and-bottom and left-and-right, or all four.
struct Padding {
    int top = 0, bottom = 0, left = 0, right = 0;
    constexpr Padding() = default;
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr Padding(int all) : top(all), bottom(all), left(all), right(all) {}
    constexpr Padding(int vertical, int horizontal)
        : top(vertical), bottom(vertical), left(horizontal), right(horizontal) {}
    constexpr Padding(int t, int b, int l, int r) : top(t), bottom(b), left(l), right(r) {}
    friend constexpr bool operator==(Padding const&, Padding const&) = default;
    [[nodiscard]] constexpr bool negative() const { return top < 0 || bottom < 0 || left < 0 || right < 0; }
};

}  // namespace primsel::inline PRIMSEL_ABI

namespace primsel::inline PRIMSEL_ABI {

enum class ActivationKind { relu, relu6, leaky_relu, sigmoid, hard_swish };

/// An elementwise function. alpha: the slope of leaky_relu below zero.
struct ActivationParams {
    ActivationKind kind = ActivationKind::relu;
    float alpha = 0.0F;

    [[nodiscard]] constexpr std::string_view name() const {
        switch (kind) {
            case ActivationKind::relu: return "relu";
            case ActivationKind::relu6: return "relu6";
            case ActivationKind::leaky_relu: return "leaky_relu";
            case ActivationKind::sigmoid: return "sigmoid";
            case ActivationKind::hard_swish: return "hard_swish";
        }
        return "";
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ActivationParams const&, ActivationParams const&) = default;
};

namespace layer {
struct Relu {
    static constexpr ActivationParams params{ActivationKind::relu};
};
struct Relu6 {
    static constexpr ActivationParams params{ActivationKind::relu6};
};
struct Sigmoid {
    static constexpr ActivationParams params{ActivationKind::sigmoid};
};
/// x * min(max(x + 3, 0), 6) / 6
struct HardSwish {
    static constexpr ActivationParams params{ActivationKind::hard_swish};
};
/// Slope * x below zero; Slope is a std::ratio.
template <class Slope = std::ratio<1, 100>>
struct LeakyRelu {
    static constexpr ActivationParams params{ActivationKind::leaky_relu, as_float<Slope>};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/combine.hpp

namespace primsel::inline PRIMSEL_ABI {

/// The sum of two or more inputs of one shape.
struct AddParams {
    /// Set by simplify.
    Clamp clamp{};

    [[nodiscard]] static constexpr std::string_view name() { return "add"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() < 2) return Fault::wrong_input_count;
        for (Shape const& shape : inputs) {
            if (shape != inputs[0]) return Fault::shapes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(AddParams const&, AddParams const&) = default;
};

/// The channels of the inputs, one input after the other.
struct ConcatParams {
    [[nodiscard]] static constexpr std::string_view name() { return "concat"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.empty()) return Fault::wrong_input_count;
        for (Shape const& shape : inputs) {
            if (shape.h != inputs[0].h || shape.w != inputs[0].w) return Fault::sizes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape sum = inputs[0];
        for (Shape const& shape : inputs.subspan(1)) sum.c += shape.c;
        return sum;
    }
    friend constexpr bool operator==(ConcatParams const&, ConcatParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/conv.hpp

// primsel/layer/option.hpp
// The options of layer types: Conv<64, 3, Stride<2>, NoBias>.

namespace primsel::inline PRIMSEL_ABI::layer {

template <Extent value>
struct Stride {};
template <Padding value>
struct Pad {};
template <Extent value>
struct Dilation {};
template <int value>
struct Groups {};
/// No bias: a batch norm follows.
struct NoBias {};
/// Pooling rounds its output size up.
struct CeilMode {};
/// Average pooling divides by the pixels inside the image only.
struct ExcludePad {};

}  // namespace primsel::inline PRIMSEL_ABI::layer

namespace primsel::inline PRIMSEL_ABI {

/// A two-dimensional convolution of k kernels (cross-correlation, as in every framework). Weights: `<name>.weight`, of
/// k x c/groups x h x w, and `<name>.bias`, of k.
struct ConvParams {
    int k = 1;
    Extent kernel{1};
    Extent stride{1};
    Padding padding{};
    Extent dilation{1};
    int groups = 1;
    bool bias = true;
    /// Set by simplify: a second input is added to the result, then it is clamped.
    bool residual = false;
    Clamp clamp{};

    [[nodiscard]] static constexpr std::string_view name() { return "conv"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != (residual ? 2U : 1U)) return Fault::wrong_input_count;
        if (k < 1 || kernel.h < 1 || kernel.w < 1 || stride.h < 1 || stride.w < 1 || dilation.h < 1 || dilation.w < 1 ||
            groups < 1 || padding.negative()) {
            return Fault::impossible_parameter;
        }
        if (inputs[0].c % groups != 0 || k % groups != 0) return Fault::groups_do_not_divide;
        if (span_h() > inputs[0].h + padding.top + padding.bottom) return Fault::kernel_exceeds_input;
        if (span_w() > inputs[0].w + padding.left + padding.right) return Fault::kernel_exceeds_input;
        if (residual && inputs[1] != output(inputs)) return Fault::shapes_differ;
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = k,
                .h = (inputs[0].h + padding.top + padding.bottom - span_h()) / stride.h + 1,
                .w = (inputs[0].w + padding.left + padding.right - span_w()) / stride.w + 1};
    }
    friend constexpr bool operator==(ConvParams const&, ConvParams const&) = default;

private:
    [[nodiscard]] constexpr int span_h() const { return (kernel.h - 1) * dilation.h + 1; }
    [[nodiscard]] constexpr int span_w() const { return (kernel.w - 1) * dilation.w + 1; }
};

namespace layer {

/// K kernels of the given size. Options: Stride<2>, Pad<1>, Dilation<2>, Groups<32>, NoBias. Without Pad, the padding
/// is half the (dilated) kernel, so that an odd kernel at stride 1 keeps the image size.
template <int K, Extent kernel, class... Options>
struct Conv {
private:
    template <Extent value>
    static constexpr void apply(ConvParams& params, bool&, Stride<value>) { params.stride = value; }
    template <Padding value>
    static constexpr void apply(ConvParams& params, bool& padded, Pad<value>) { params.padding = value, padded = true; }
    template <Extent value>
    static constexpr void apply(ConvParams& params, bool&, Dilation<value>) { params.dilation = value; }
    template <int value>
    static constexpr void apply(ConvParams& params, bool&, Groups<value>) { params.groups = value; }
    static constexpr void apply(ConvParams& params, bool&, NoBias) { params.bias = false; }

public:
    static constexpr ConvParams params = [] {
        ConvParams result{.k = K, .kernel = kernel};
        bool padded = false;
        (apply(result, padded, Options{}), ...);
        if (!padded) {
            result.padding = Padding{(kernel.h - 1) * result.dilation.h / 2, (kernel.w - 1) * result.dilation.w / 2};
        }
        return result;
    }();
};

}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/dense.hpp

namespace primsel::inline PRIMSEL_ABI {

/// A fully connected layer of k outputs. Weights: `<name>.weight`, of k x (c * h * w) in chw order, and `<name>.bias`,
/// of k. An image is read as it is: no flatten is needed before it.
struct DenseParams {
    int k = 1;
    bool bias = true;
    /// Set by simplify.
    Clamp clamp{};

    [[nodiscard]] static constexpr std::string_view name() { return "dense"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (k < 1) return Fault::impossible_parameter;
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return {.c = k, .h = 1, .w = 1}; }
    friend constexpr bool operator==(DenseParams const&, DenseParams const&) = default;
};

namespace layer {
/// Options: NoBias.
template <int K, class... Options>
struct Dense {
    static constexpr DenseParams params = [] {
        DenseParams result{.k = K};
        ((void)(std::same_as<Options, NoBias> && (result.bias = false, true)), ...);
        return result;
    }();
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/input.hpp

namespace primsel::inline PRIMSEL_ABI {

struct InputParams {
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "input"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!inputs.empty()) return Fault::wrong_input_count;
        return shape.c < 1 || shape.h < 1 || shape.w < 1 ? Fault::impossible_parameter : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(InputParams const&, InputParams const&) = default;
};

namespace layer {
/// The image: channels, height, width.
template <int C, int H, int W>
struct Input {
    static constexpr InputParams params{Shape{.c = C, .h = H, .w = W}};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/norm.hpp

namespace primsel::inline PRIMSEL_ABI {

/// Batch normalisation with running statistics: (x - mean) / sqrt(variance + epsilon) * weight + bias, per channel.
/// Weights: `<name>.weight`, `.bias`, `.running_mean`, `.running_var`, each of c.
struct BatchNormParams {
    float epsilon = 1e-5F;

    [[nodiscard]] static constexpr std::string_view name() { return "batch_norm"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!(epsilon >= 0.0F)) return Fault::impossible_parameter;
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(BatchNormParams const&, BatchNormParams const&) = default;
};

/// x * weight + bias, per channel. Weights: `<name>.weight` and `<name>.bias`, each of c.
struct ScaleParams {
    [[nodiscard]] static constexpr std::string_view name() { return "scale"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ScaleParams const&, ScaleParams const&) = default;
};

/// Local response normalisation across channels (Krizhevsky et al. 2012, section 3.3, with alpha divided by size as in
/// every framework): x / (k + alpha / size * sum of squares over `size` neighbouring channels) ^ beta. The window
/// reaches size / 2 channels back and (size - 1) / 2 ahead, as in PyTorch.
struct LrnParams {
    int size = 5;
    float alpha = 1e-4F;
    float beta = 0.75F;
    float k = 1.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "lrn"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (size < 1) return Fault::impossible_parameter;
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(LrnParams const&, LrnParams const&) = default;
};

/// exp(x) over its sum across the channels of each pixel.
struct SoftmaxParams {
    [[nodiscard]] static constexpr std::string_view name() { return "softmax"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(SoftmaxParams const&, SoftmaxParams const&) = default;
};

namespace layer {
/// Epsilon is a std::ratio.
template <class Epsilon>
struct BatchNormWith {
    static constexpr BatchNormParams params{as_float<Epsilon>};
};
using BatchNorm = BatchNormWith<std::ratio<1, 100'000>>;
struct Scale {
    static constexpr ScaleParams params{};
};
template <int size = 5, class Alpha = std::ratio<1, 10'000>, class Beta = std::ratio<3, 4>, class K = std::ratio<1>>
struct Lrn {
    static constexpr LrnParams params{size, as_float<Alpha>, as_float<Beta>, as_float<K>};
};
struct Softmax {
    static constexpr SoftmaxParams params{};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/pool.hpp

namespace primsel::inline PRIMSEL_ABI {

enum class PoolKind { max, average };

/// Pooling over a window of each channel. Padding counts as minus infinity for max, and as zeros for average (which
/// divides by the whole window, or by its pixels inside the image where count_include_pad is false; what ceil_mode
/// adds beyond the padding is never counted). As PyTorch's MaxPool2d and AvgPool2d.
struct PoolParams {
    PoolKind kind = PoolKind::max;
    Extent window{2};
    Extent stride{2};
    Padding padding{};
    bool ceil_mode = false;
    bool count_include_pad = true;

    [[nodiscard]] constexpr std::string_view name() const { return kind == PoolKind::max ? "max_pool" : "average_pool"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (window.h < 1 || window.w < 1 || stride.h < 1 || stride.w < 1 || padding.negative()) {
            return Fault::impossible_parameter;
        }
        // A window wholly in the padding would have no maximum.
        if (padding.top >= window.h || padding.bottom >= window.h || padding.left >= window.w ||
            padding.right >= window.w) {
            return Fault::padding_exceeds_kernel;
        }
        if (window.h > inputs[0].h + padding.top + padding.bottom) return Fault::kernel_exceeds_input;
        if (window.w > inputs[0].w + padding.left + padding.right) return Fault::kernel_exceeds_input;
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c,
                .h = extent(inputs[0].h, window.h, stride.h, padding.top, padding.bottom),
                .w = extent(inputs[0].w, window.w, stride.w, padding.left, padding.right)};
    }
    friend constexpr bool operator==(PoolParams const&, PoolParams const&) = default;

private:
    [[nodiscard]] constexpr int extent(int in, int size, int step, int before, int after) const {
        const int room = in + before + after - size;
        int out = (ceil_mode ? room + step - 1 : room) / step + 1;
        // The last window must start inside the image or its leading padding.
        if (ceil_mode && (out - 1) * step >= in + before) --out;
        return out;
    }
};

/// Pooling over the whole image: one value a channel.
struct GlobalPoolParams {
    PoolKind kind = PoolKind::average;

    [[nodiscard]] constexpr std::string_view name() const {
        return kind == PoolKind::max ? "global_max_pool" : "global_average_pool";
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(GlobalPoolParams const&, GlobalPoolParams const&) = default;
};

namespace layer {

namespace detail {
template <PoolKind kind, Extent window, class... Options>
struct Pool {
private:
    template <Extent value>
    static constexpr void apply(PoolParams& params, Stride<value>) { params.stride = value; }
    template <Padding value>
    static constexpr void apply(PoolParams& params, Pad<value>) { params.padding = value; }
    static constexpr void apply(PoolParams& params, CeilMode) { params.ceil_mode = true; }
    static constexpr void apply(PoolParams& params, ExcludePad) { params.count_include_pad = false; }

public:
    static constexpr PoolParams params = [] {
        PoolParams result{.kind = kind, .window = window, .stride = window};
        (apply(result, Options{}), ...);
        return result;
    }();
};
}  // namespace detail

/// Options: Stride<...> (default: the window), Pad<...> (default: 0), CeilMode.
template <Extent window, class... Options>
struct MaxPool : detail::Pool<PoolKind::max, window, Options...> {};
/// Options: as MaxPool, and ExcludePad.
template <Extent window, class... Options>
struct AveragePool : detail::Pool<PoolKind::average, window, Options...> {};
struct GlobalAvgPool {
    static constexpr GlobalPoolParams params{PoolKind::average};
};
struct GlobalMaxPool {
    static constexpr GlobalPoolParams params{PoolKind::max};
};

}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/reshape.hpp

namespace primsel::inline PRIMSEL_ABI {

/// The image as one vector of channels, in chw order.
struct FlattenParams {
    [[nodiscard]] static constexpr std::string_view name() { return "flatten"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c * inputs[0].h * inputs[0].w, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(FlattenParams const&, FlattenParams const&) = default;
};

/// Does nothing when a trained network runs.
struct DropoutParams {
    [[nodiscard]] static constexpr std::string_view name() { return "dropout"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(DropoutParams const&, DropoutParams const&) = default;
};

/// A constant border.
struct PadParams {
    Padding padding{};
    float value = 0.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "pad"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return padding.negative() ? Fault::impossible_parameter : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c,
                .h = inputs[0].h + padding.top + padding.bottom,
                .w = inputs[0].w + padding.left + padding.right};
    }
    friend constexpr bool operator==(PadParams const&, PadParams const&) = default;
};

/// Channel shuffle of ShuffleNet (Zhang et al. 2018): channels as groups x rest, transposed.
struct ChannelShuffleParams {
    int groups = 2;

    [[nodiscard]] static constexpr std::string_view name() { return "channel_shuffle"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (groups < 1) return Fault::impossible_parameter;
        return inputs[0].c % groups != 0 ? Fault::groups_do_not_divide : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ChannelShuffleParams const&, ChannelShuffleParams const&) = default;
};

/// The channels [first, last).
struct SliceParams {
    int first = 0, last = 1;

    [[nodiscard]] static constexpr std::string_view name() { return "slice"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return first < 0 || last <= first || last > inputs[0].c ? Fault::slice_outside : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = last - first, .h = inputs[0].h, .w = inputs[0].w};
    }
    friend constexpr bool operator==(SliceParams const&, SliceParams const&) = default;
};

namespace layer {
struct Flatten {
    static constexpr FlattenParams params{};
};
struct Dropout {
    static constexpr DropoutParams params{};
};
template <Padding padding>
struct ZeroPad {
    static constexpr PadParams params{padding, 0.0F};
};
template <int groups>
struct ChannelShuffle {
    static constexpr ChannelShuffleParams params{groups};
};
template <int first, int last>
struct Slice {
    static constexpr SliceParams params{first, last};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI

#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// The parameters of any layer.
using AnyLayer = std::variant<InputParams, ConvParams, PoolParams, GlobalPoolParams, ActivationParams, LrnParams,
                              BatchNormParams, ScaleParams, DenseParams, SoftmaxParams, AddParams, ConcatParams,
                              FlattenParams, DropoutParams, PadParams, ChannelShuffleParams, SliceParams>;

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/tensor/tensor.hpp

// primsel/core/aligned_buffer.hpp

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

/// A cache line, and the widest vector there is.
inline constexpr std::size_t alignment = 64;

/// Floats rounded up to whole cache lines.
[[nodiscard]] constexpr std::size_t round_up_floats(std::size_t floats) {
    constexpr std::size_t line = alignment / sizeof(float);
    return (floats + line - 1) / line * line;
}

/// Owns uninitialised floats, aligned to a cache line. Buffers of 2 MiB and more are aligned to a huge page and ask
/// the kernel for huge pages: the kernels walk them with long strides, and a TLB miss costs as much as ten FMAs.
class AlignedBuffer {
public:
    AlignedBuffer() = default;
    /// Throws std::bad_alloc, also when the size in bytes does not fit size_t.
    explicit AlignedBuffer(std::size_t floats) : floats_(floats), align_(alignment) {
        if (floats == 0) return;
        if (floats > std::numeric_limits<std::size_t>::max() / (2 * sizeof(float))) throw std::bad_alloc();
        constexpr std::size_t huge_page = std::size_t{2} << 20;
        const std::size_t bytes = round_up_floats(floats) * sizeof(float);
        if (bytes >= huge_page) align_ = huge_page;
        data_ = static_cast<float*>(::operator new(bytes, std::align_val_t{align_}));
#if defined(__linux__)
        if (bytes >= huge_page) madvise(data_, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    }
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), floats_(std::exchange(other.floats_, 0)), align_(other.align_) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(floats_, other.floats_);
        std::swap(align_, other.align_);
        return *this;
    }
    ~AlignedBuffer() {
        if (data_ != nullptr) ::operator delete(data_, std::align_val_t{align_});
    }

    [[nodiscard]] float* data() noexcept { return data_; }
    [[nodiscard]] const float* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return floats_; }
    [[nodiscard]] std::span<float> span() noexcept { return {data_, floats_}; }
    [[nodiscard]] std::span<const float> span() const noexcept { return {data_, floats_}; }

private:
    float* data_ = nullptr;
    std::size_t floats_ = 0;
    std::size_t align_ = alignment;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/tensor/view.hpp

// primsel/tensor/layout.hpp

// primsel/core/type_list.hpp

#include <cstddef>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// A list of types, as a value of its own: `with` appends, `without` removes, `index_of` finds.
template <class... Ts>
struct TypeList {
    static constexpr std::size_t size = sizeof...(Ts);

    template <class... More>
    using with = TypeList<Ts..., More...>;

    template <class T>
    static constexpr bool contains = (std::is_same_v<T, Ts> || ...);

    /// Position of the first T; size when there is none.
    template <class T>
    static constexpr std::size_t index_of = [] {
        std::size_t index = 0;
        (void)((std::is_same_v<T, Ts> || (++index, false)) || ...);
        return index;
    }();

    template <template <class...> class To>
    using apply = To<Ts...>;

private:
    template <class... Kept>
    struct Filter {
        template <class T, bool keep>
        using add = std::conditional_t<keep, Filter<Kept..., T>, Filter>;
        using list = TypeList<Kept...>;
    };
    template <class Kept, class Removed, class... Rest>
    struct Without {
        using type = Kept;
    };
    template <class Kept, class Removed, class First, class... Rest>
    struct Without<Kept, Removed, First, Rest...>
        : Without<typename Kept::template add<First, !Removed::template contains<First>>, Removed, Rest...> {};

public:
    template <class... Removed>
    using without = typename Without<Filter<>, TypeList<Removed...>, Ts...>::type::list;
};

/// The lists, one after the other.
template <class... Lists>
struct Concatenate;
template <class... Ts>
struct Concatenate<TypeList<Ts...>> {
    using type = TypeList<Ts...>;
};
template <class... Ts, class... Us, class... Rest>
struct Concatenate<TypeList<Ts...>, TypeList<Us...>, Rest...> : Concatenate<TypeList<Ts..., Us...>, Rest...> {};
template <class... Lists>
using concatenate = typename Concatenate<Lists...>::type;

}  // namespace primsel::inline PRIMSEL_ABI

#include <concepts>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Where the element (c, h, w) of an image of a Shape lies. A layout is an empty type:
/// - name: unique among the layouts used together;
/// - size(shape): floats that an image occupies, padding included;
/// - offset(shape, coord): injective into [0, size(shape)).
///
/// chw, hcw and hwc below model it; so may a blocked layout of the user's (examples/blocked_layout.cpp).
template <class L>
concept Layout = requires(Shape shape, Coord coord) {
    { L::name } -> std::convertible_to<std::string_view>;
    { L::size(shape) } -> std::same_as<std::size_t>;
    { L::offset(shape, coord) } -> std::same_as<std::size_t>;
};

/// Floats between neighbours along each axis.
struct Strides {
    std::size_t c = 0, h = 0, w = 0;
    friend constexpr bool operator==(Strides const&, Strides const&) = default;
};

/// A layout without padding whose offset is linear in c, h and w. The non-convolution layers run in these.
template <class L>
concept StridedLayout = Layout<L> && requires(Shape shape) {
    { L::strides(shape) } -> std::same_as<Strides>;
};

namespace detail {
template <class L>
struct Strided {
    [[nodiscard]] static constexpr std::size_t size(Shape shape) { return shape.size(); }
    [[nodiscard]] static constexpr std::size_t offset(Shape shape, Coord at) {
        const Strides s = L::strides(shape);
        return static_cast<std::size_t>(at.c) * s.c + static_cast<std::size_t>(at.h) * s.h +
               static_cast<std::size_t>(at.w) * s.w;
    }
};
}  // namespace detail

/// Channels, then rows, then columns: PyTorch's contiguous format.
struct chw : detail::Strided<chw> {
    static constexpr std::string_view name = "chw";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        return {shape.pixels(), static_cast<std::size_t>(shape.w), 1};
    }
};

/// Rows of channels of columns.
struct hcw : detail::Strided<hcw> {
    static constexpr std::string_view name = "hcw";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        const auto w = static_cast<std::size_t>(shape.w);
        return {w, w * static_cast<std::size_t>(shape.c), 1};
    }
};

/// Pixels of channels: PyTorch's channels-last format.
struct hwc : detail::Strided<hwc> {
    static constexpr std::string_view name = "hwc";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        const auto c = static_cast<std::size_t>(shape.c);
        return {1, c * static_cast<std::size_t>(shape.w), c};
    }
};

using AllLayouts = TypeList<chw, hcw, hwc>;

/// Whether two layouts place every element of the shape alike, as all do for 1x1 images: changing from one to the other
/// is then free.
template <Layout From, Layout To>
[[nodiscard]] constexpr bool same_placement(Shape shape) {
    if constexpr (std::same_as<From, To>) return true;
    if constexpr (StridedLayout<From> && StridedLayout<To>) {
        const Strides a = From::strides(shape), b = To::strides(shape);
        return (shape.c == 1 || a.c == b.c) && (shape.h == 1 || a.h == b.h) && (shape.w == 1 || a.w == b.w);
    }
    return false;
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// A batch of images that somebody else owns: image after image, each in layout L. T is float or const float.
template <class T, Layout L = chw>
class TensorView {
public:
    constexpr TensorView(T* data, Shape shape, int batch = 1) : data_(data), shape_(shape), batch_(batch) {}
    template <class U>
        requires std::is_same_v<const U, T>
    // NOLINTNEXTLINE(google-explicit-constructor): float to const float
    constexpr TensorView(TensorView<U, L> const& other) : TensorView(other.data(), other.shape(), other.batch()) {}

    [[nodiscard]] constexpr T* data() const { return data_; }
    [[nodiscard]] constexpr Shape shape() const { return shape_; }
    [[nodiscard]] constexpr int batch() const { return batch_; }
    /// Floats, padding of the layout included.
    [[nodiscard]] constexpr std::size_t size() const { return image_size() * static_cast<std::size_t>(batch_); }
    [[nodiscard]] constexpr std::size_t image_size() const { return L::size(shape_); }
    [[nodiscard]] constexpr T* image(int n) const { return data_ + static_cast<std::size_t>(n) * image_size(); }
    [[nodiscard]] constexpr T& operator()(int c, int h, int w) const {
        return data_[L::offset(shape_, Coord{c, h, w})];
    }
    [[nodiscard]] constexpr T& operator()(int n, int c, int h, int w) const {
        return image(n)[L::offset(shape_, Coord{c, h, w})];
    }

private:
    T* data_;
    Shape shape_;
    int batch_;
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// An owning batch of images in layout L, aligned to a cache line, zero at first.
template <Layout L = chw>
class Tensor {
public:
    /// Throws error for a shape or batch below 1.
    explicit Tensor(Shape shape, int batch = 1) : shape_(shape), batch_(batch) {
        if (shape.c < 1 || shape.h < 1 || shape.w < 1 || batch < 1) {
            fail("tensor: impossible shape ", batch, "x", to_string(shape));
        }
        buffer_ = AlignedBuffer(L::size(shape) * static_cast<std::size_t>(batch));
        std::ranges::fill(buffer_.span(), 0.0F);
    }

    [[nodiscard]] Shape shape() const { return shape_; }
    [[nodiscard]] int batch() const { return batch_; }
    [[nodiscard]] std::size_t size() const { return buffer_.size(); }
    [[nodiscard]] float* data() { return buffer_.data(); }
    [[nodiscard]] const float* data() const { return buffer_.data(); }
    [[nodiscard]] TensorView<float, L> view() { return {data(), shape_, batch_}; }
    [[nodiscard]] TensorView<const float, L> view() const { return {data(), shape_, batch_}; }
    [[nodiscard]] float* begin() { return data(); }
    [[nodiscard]] float* end() { return data() + size(); }
    [[nodiscard]] const float* begin() const { return data(); }
    [[nodiscard]] const float* end() const { return data() + size(); }
    [[nodiscard]] float& operator()(int c, int h, int w) { return view()(c, h, w); }
    [[nodiscard]] float operator()(int c, int h, int w) const { return view()(c, h, w); }

private:
    Shape shape_;
    int batch_;
    AlignedBuffer buffer_;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/tensor/transform.hpp

// primsel/core/executor.hpp

#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// A reference to a callable `void(std::size_t block, std::size_t worker)`: two pointers, no allocation. The callable
/// must outlive it.
class BlockFunction {
public:
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, BlockFunction> && std::invocable<F&, std::size_t, std::size_t>)
    // NOLINTNEXTLINE(google-explicit-constructor): a lambda is meant to convert
    BlockFunction(F&& function)
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
          call_([](void* object, std::size_t block, std::size_t worker) {
              (*static_cast<std::remove_reference_t<F>*>(object))(block, worker);
          }) {}
    void operator()(std::size_t block, std::size_t worker) const { call_(object_, block, worker); }

private:
    void* object_;
    void (*call_)(void*, std::size_t, std::size_t);
};

/// Runs independent blocks of work. `parallel_for(n, f)` calls f(block, worker) exactly once for each block < n, in any
/// order and on any thread, and returns when all are done; two calls that overlap in time have different workers, and
/// worker < concurrency(). Neither may throw or allocate: run() calls them.
///
/// A minimal model:
///     struct Mine {
///         std::size_t concurrency() const noexcept { return 1; }
///         void parallel_for(std::size_t n, primsel::BlockFunction f) noexcept { while (n-- > 0) f(n, 0); }
///     };
template <class E>
concept Executor = requires(E executor, std::size_t blocks, BlockFunction function) {
    { executor.concurrency() } noexcept -> std::convertible_to<std::size_t>;
    { executor.parallel_for(blocks, function) } noexcept;
};

/// Everything on the calling thread, in order.
struct Sequential {
    [[nodiscard]] std::size_t concurrency() const noexcept { return 1; }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        for (std::size_t block = 0; block < blocks; ++block) function(block, 0);
    }
};

/// The caller's thread pool: `bulk(n, task)` calls task(0), ..., task(n - 1), on threads of its choice, and returns
/// when all have returned. Blocks are handed out one by one, so that a slow thread takes fewer.
template <class Bulk>
class CallerPool {
public:
    CallerPool(std::size_t threads, Bulk bulk) : threads_(threads == 0 ? 1 : threads), bulk_(std::move(bulk)) {}

    [[nodiscard]] std::size_t concurrency() const noexcept { return threads_; }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        if (threads_ == 1 || blocks <= 1) return Sequential{}.parallel_for(blocks, function);
        std::atomic<std::size_t> next = 0;
        bulk_(threads_ < blocks ? threads_ : blocks, [&next, blocks, function](std::size_t worker) {
            for (std::size_t block = next++; block < blocks; block = next++) function(block, worker);
        });
    }

private:
    std::size_t threads_;
    Bulk bulk_;
};

/// A reference to any executor, so that a kernel is compiled once and not once per executor.
class ExecutorRef {
public:
    template <Executor E>
        requires(!std::same_as<E, ExecutorRef>)
    // NOLINTNEXTLINE(google-explicit-constructor): an executor is meant to convert
    ExecutorRef(E& executor) noexcept
        : object_(std::addressof(executor)),
          concurrency_(executor.concurrency()),
          parallel_for_([](void* object, std::size_t blocks, BlockFunction function) noexcept {
              static_cast<E*>(object)->parallel_for(blocks, function);
          }) {}

    [[nodiscard]] std::size_t concurrency() const noexcept { return concurrency_; }
    void parallel_for(std::size_t blocks, BlockFunction function) const noexcept {
        parallel_for_(object_, blocks, function);
    }

private:
    void* object_;
    std::size_t concurrency_;
    void (*parallel_for_)(void*, std::size_t, BlockFunction) noexcept;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/tensor/transpose.hpp

// primsel/core/simd.hpp
// The door to xsimd: everything else takes its vectors from here.

#include <cstddef>
#include <type_traits>
#include <xsimd/xsimd.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The instruction set of this translation unit.
using default_arch = xsimd::default_arch;

/// A vector of floats of the Arch.
template <class Arch>
using Floats = xsimd::batch<float, Arch>;

template <class Arch>
inline constexpr int lanes = static_cast<int>(Floats<Arch>::size);

/// How many vector registers the Arch has.
template <class Arch>
inline constexpr int registers =
#if defined(__aarch64__)
    32;
#else
    lanes<Arch> == 16 ? 32 : 16;
#endif

/// a * b + c with one rounding, where the hardware has it.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> fma(Floats<Arch> const& a, Floats<Arch> const& b, Floats<Arch> const& c) {
#if defined(__AVX512F__)
    // xsimd 8.1 multiplies and adds here, and clang does not contract that.
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_fmadd_ps(a, b, c));
#endif
    return xsimd::fma(a, b, c);
}

/// The larger of the two; b where one is NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> max(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__AVX512F__)
    // The unmasked intrinsics make g++ 12 warn of an uninitialised value at every use.
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_maskz_max_ps(0xffff, a, b));
#endif
    return xsimd::max(a, b);
}
/// The smaller of the two; b where one is NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> min(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_maskz_min_ps(0xffff, a, b));
#endif
    return xsimd::min(a, b);
}

template <class Arch>
PRIMSEL_INLINE Floats<Arch> load(const float* src) {
    return Floats<Arch>::load_unaligned(src);
}
template <class Arch>
PRIMSEL_INLINE void store(float* dst, Floats<Arch> const& value) {
    value.store_unaligned(dst);
}
template <class Arch>
PRIMSEL_INLINE Floats<Arch> broadcast(float value) {
    return Floats<Arch>(value);
}

/// value held between low and high; NaN stays NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> clamp(Floats<Arch> const& value, Floats<Arch> const& low, Floats<Arch> const& high) {
    return min<Arch>(high, max<Arch>(low, value));
}
PRIMSEL_INLINE float clamp(float value, float low, float high) {
    const float raised = value < low ? low : value;
    return raised > high ? high : raised;
}

/// The four-lane vector that every supported instruction set has.
using FourFloats = xsimd::make_sized_batch_t<float, 4>;

/// Four rows become four columns.
PRIMSEL_INLINE void transpose(FourFloats& r0, FourFloats& r1, FourFloats& r2, FourFloats& r3) {
    const FourFloats a = xsimd::zip_lo(r0, r2), b = xsimd::zip_hi(r0, r2);
    const FourFloats c = xsimd::zip_lo(r1, r3), d = xsimd::zip_hi(r1, r3);
    r0 = xsimd::zip_lo(a, c), r1 = xsimd::zip_hi(a, c);
    r2 = xsimd::zip_lo(b, d), r3 = xsimd::zip_hi(b, d);
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// dst[column][row] = src[row][column] for columns [first, last): a matrix of `rows` rows, src_stride and dst_stride
/// floats apart. Four by four in registers; blocks of 16 columns, so that the lines of dst being written stay in L1.
inline void transpose_columns(const float* PRIMSEL_RESTRICT src, std::size_t src_stride, float* PRIMSEL_RESTRICT dst,
                              std::size_t dst_stride, std::size_t rows, std::size_t first, std::size_t last) {
    constexpr std::size_t block = 16;
    for (std::size_t begin = first; begin < last; begin += block) {
        const std::size_t end = std::min(begin + block, last);
        std::size_t row = 0;
        for (; row + 4 <= rows; row += 4) {
            const float* s = src + row * src_stride;
            std::size_t column = begin;
            for (; column + 4 <= end; column += 4) {
                FourFloats r0 = FourFloats::load_unaligned(s + column);
                FourFloats r1 = FourFloats::load_unaligned(s + src_stride + column);
                FourFloats r2 = FourFloats::load_unaligned(s + 2 * src_stride + column);
                FourFloats r3 = FourFloats::load_unaligned(s + 3 * src_stride + column);
                transpose(r0, r1, r2, r3);
                float* d = dst + column * dst_stride + row;
                r0.store_unaligned(d);
                r1.store_unaligned(d + dst_stride);
                r2.store_unaligned(d + 2 * dst_stride);
                r3.store_unaligned(d + 3 * dst_stride);
            }
            for (; column < end; ++column) {
                for (std::size_t i = 0; i < 4; ++i) dst[column * dst_stride + row + i] = s[i * src_stride + column];
            }
        }
        for (; row < rows; ++row) {
            for (std::size_t column = begin; column < end; ++column) {
                dst[column * dst_stride + row] = src[row * src_stride + column];
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// chw <-> hcw: the rows of w keep together and change places.
template <StridedLayout From, StridedLayout To>
void move_rows(Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
    executor.parallel_for(static_cast<std::size_t>(shape.h), [=](std::size_t h, std::size_t) {
        for (int c = 0; c < shape.c; ++c) {
            const Coord at{c, static_cast<int>(h), 0};
            std::memcpy(dst + To::offset(shape, at), src + From::offset(shape, at),
                        static_cast<std::size_t>(shape.w) * sizeof(float));
        }
    });
}

/// chw or hcw -> hwc and back: transposes matrices of channels by pixels.
inline void transpose_matrix(std::size_t rows, std::size_t columns, const float* src, std::size_t src_stride, float* dst,
                             std::size_t dst_stride, ExecutorRef executor) noexcept {
    constexpr std::size_t block = 256;
    executor.parallel_for((columns + block - 1) / block, [=](std::size_t i, std::size_t) {
        transpose_columns(src, src_stride, dst, dst_stride, rows, i * block, std::min((i + 1) * block, columns));
    });
}

template <Layout From, Layout To>
void transform_any(Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
    executor.parallel_for(static_cast<std::size_t>(shape.h), [=](std::size_t h, std::size_t) {
        for (int w = 0; w < shape.w; ++w) {
            for (int c = 0; c < shape.c; ++c) {
                const Coord at{c, static_cast<int>(h), w};
                dst[To::offset(shape, at)] = src[From::offset(shape, at)];
            }
        }
    });
}

}  // namespace detail

/// Copies one image of the shape from layout From at src to layout To at dst; they must not overlap. Where To has
/// padding, dst's padding is zeroed. The result does not depend on the executor.
template <Layout From, Layout To>
void transform(Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
    const auto c = static_cast<std::size_t>(shape.c), h = static_cast<std::size_t>(shape.h),
               w = static_cast<std::size_t>(shape.w), pixels = shape.pixels();
    constexpr bool rows_only =
        (std::same_as<From, chw> && std::same_as<To, hcw>) || (std::same_as<From, hcw> && std::same_as<To, chw>);
    if (same_placement<From, To>(shape)) {
        std::memcpy(dst, src, From::size(shape) * sizeof(float));
    } else if constexpr (rows_only) {
        detail::move_rows<From, To>(shape, src, dst, executor);
    } else if constexpr (std::same_as<From, chw> && std::same_as<To, hwc>) {
        detail::transpose_matrix(c, pixels, src, pixels, dst, c, executor);
    } else if constexpr (std::same_as<From, hwc> && std::same_as<To, chw>) {
        detail::transpose_matrix(pixels, c, src, c, dst, pixels, executor);
    } else if constexpr (std::same_as<From, hcw> && std::same_as<To, hwc>) {
        executor.parallel_for(h, [=](std::size_t row, std::size_t) {
            transpose_columns(src + row * c * w, w, dst + row * c * w, c, c, 0, w);
        });
    } else if constexpr (std::same_as<From, hwc> && std::same_as<To, hcw>) {
        executor.parallel_for(h, [=](std::size_t row, std::size_t) {
            transpose_columns(src + row * c * w, c, dst + row * c * w, w, w, 0, c);
        });
    } else {
        if constexpr (!StridedLayout<To>) std::fill_n(dst, To::size(shape), 0.0F);
        detail::transform_any<From, To>(shape, src, dst, executor);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/version.hpp

#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// "major.minor.patch"
inline constexpr std::string_view version = PRIMSEL_VERSION;

}  // namespace primsel::inline PRIMSEL_ABI
