#pragma once

#include <primsel/tensor/shape.hpp>

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
    padding_exceeds_input,
};

[[nodiscard]] constexpr std::string_view message(Fault fault) {
    switch (fault) {
        case Fault::none:
            return "";
        case Fault::wrong_input_count:
            return "wrong number of inputs";
        case Fault::impossible_parameter:
            return "a parameter is impossible (a size below 1, a negative padding, ...)";
        case Fault::kernel_exceeds_input:
            return "the kernel is larger than the padded input";
        case Fault::groups_do_not_divide:
            return "the groups do not divide the channels";
        case Fault::shapes_differ:
            return "the inputs differ in shape";
        case Fault::sizes_differ:
            return "the inputs differ in size along another axis than that of the concatenation";
        case Fault::slice_outside:
            return "the slice lies outside the input";
        case Fault::padding_exceeds_kernel:
            return "the padding is larger than the pooling window";
        case Fault::padding_exceeds_input:
            return "the padding mirrors more than the input has";
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
