// Transposed convolutions in hwc_u8 and hwc_bf16.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/bfloat16.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>
#include <primsel/gemm/bf16_rows.hpp>
#include <primsel/gemm/int8_weights.hpp>
#include <primsel/gemm/u8s8_rows.hpp>
#include <primsel/layer/conv.hpp>
#include <primsel/op/conv_transpose.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/narrow.hpp>
#include <primsel/op/detail/narrow_elements.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// For each row of the result and 32 of its channels: every tap that reaches the row multiplies a row of the input, and
/// the products of each pixel are added where they belong. If every channel is a group of its own, the taps of a pixel
/// are summed for some channels at a time; its weights then are whole numbers in hwc_u8 and otherwise floats.
/// In hwc_u8, sums are exact; weights, factor and bias are those of the convolutions in 8 bits:
///   result = rint(clamp(sum * factor + bias)) + zero_point, all over the result's scale.
/// Packed weights: for each panel of 32 outputs of a group and each tap the words of its channels, then the biases; for
/// bytes also the weights' scales and the sums of each tap. Those of single channels: the biases, and for bytes the
/// scales, then the weights of each tap.
template <op::detail::NarrowLayout L>
struct OpIn<ConvTransposeParams, L> {
    static constexpr Precision precision = L::precision;
    /// As those of convolutions.
    static constexpr double error_bound = std::same_as<L, hwc_u8> ? 0.1 : 7.68 * bfloat16::rounding;

    template <class Arch>
    [[nodiscard]] static OpCounts work(ConvTransposeParams const& params, std::span<const Shape> inputs, Shape output) {
        const Sizes sizes(params, inputs[0]);
        OpCounts counts = op::detail::narrow_counts<L>(0, inputs, output);
        // Taps of every pixel of the input, as far as they lie in the result.
        const double taps =
            std::min(static_cast<double>(sizes.taps) * static_cast<double>(inputs[0].pixels()),
                     static_cast<double>(sizes.taps * output.pixels()) / params.stride.h / params.stride.w);
        if (sizes.is_single()) {
            counts.operations = 3 * taps * static_cast<double>(L::pixel(output.c));
            counts.form = "depthwise";
        } else {
            // Instructions add two products of numbers of half the size at a time.
            const double columns = static_cast<double>(sizes.panels() * panel);
            counts.operations = columns * taps * (2 * static_cast<double>(sizes.run(0)) * products_at_once + 2);
        }
        // The integers of larger sums would overflow.
        if (of_bytes && sizes.taps * sizes.c > deepest) counts.operations = std::numeric_limits<double>::infinity();
        return counts;
    }

    [[nodiscard]] static std::size_t packed_bytes(ConvTransposeParams const& params, Shape input) {
        const Sizes sizes(params, input);
        const std::size_t rows = of_bytes ? 2 : 1;  // biases and scales
        if (sizes.is_single()) return bytes_of_floats((rows + sizes.taps) * L::pixel(params.k));
        return bytes_of_floats(sizes.tail() + sizes.panels() * panel * (rows + (of_bytes ? sizes.taps : 0)));
    }

    [[nodiscard]] static Shape packed_for(ConvTransposeParams const&, Shape input) {
        return {.c = input.c, .h = 1, .w = 1};
    }

    template <Layout>
    static void pack(ConvTransposeParams const& params, Shape input, OpWeights const& weights, float* dst) {
        const Sizes sizes(params, input);
        std::fill_n(reinterpret_cast<std::byte*>(dst), packed_bytes(params, input), std::byte{});
        std::vector<float> of_output(sizes.taps * sizes.c);
        for (std::size_t k = 0; k < sizes.groups * sizes.k; ++k) {
            const std::size_t group = k / sizes.k, own = k % sizes.k;
            for (std::size_t c = 0; c < sizes.c; ++c) {
                for (std::size_t tap = 0; tap < sizes.taps; ++tap) {
                    of_output[tap * sizes.c + c] =
                        weights.kernel[((group * sizes.c + c) * sizes.k + own) * sizes.taps + tap];
                }
            }
            pack_output(sizes, group, own, of_output, weights.bias.empty() ? 0.0F : weights.bias[k], dst);
        }
    }

    template <class Arch>
    static void run(ConvTransposeParams const& params, OpArgs const& args) noexcept {
        const Sizes sizes(params, args.src_shape[0]);
        const auto rows = static_cast<std::size_t>(args.dst_shape.h);
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * rows,
                               static_cast<std::size_t>(args.dst_shape.w) * sizes.panels() * panel * sizes.c,
                               [&](std::size_t first, std::size_t last) {
                                   for (std::size_t row = first; row < last; ++row) {
                                       const Row of{params, args, sizes, row / rows, static_cast<int>(row % rows)};
                                       if (sizes.is_single()) {
                                           single_row<Arch>(of);
                                       } else {
                                           panel_row<Arch>(of);
                                       }
                                   }
                               });
        op::detail::write_zeros_behind<L>(args);
    }

private:
    static constexpr bool of_bytes = std::same_as<L, hwc_u8>;
    using Element = element_of<L>;
    using Rows = std::conditional_t<of_bytes, gemm::U8S8Rows, gemm::Bf16Rows>;
    using Weight = std::remove_cvref_t<decltype(*Rows{}.b)>;
    using Factor = std::remove_cvref_t<decltype(*Rows{}.a)>;  // wider than the elements without dot products of four
    using Sum = typename Rows::Sum;
    using Images = op::detail::NarrowImages<L>;
    using Taps = Op<ConvTransposeParams>::Taps;
    static constexpr std::size_t panel = gemm::dot_columns, word = Rows::word;
    static constexpr double products_at_once = of_bytes ? 0.5 : 1;
    /// Sums of this many products fit 32 bits, and as floats those of single channels are exact.
    static constexpr std::size_t deepest = 32768;

    /// The channels and outputs of a group. A group's channels begin within a word and end within one.
    struct Sizes {
        std::size_t groups, c, k, taps;
        Sizes(ConvTransposeParams const& params, Shape input)
            : groups(static_cast<std::size_t>(params.groups)),
              c(static_cast<std::size_t>(input.c) / groups),
              k(static_cast<std::size_t>(params.k) / groups),
              taps(static_cast<std::size_t>(params.kernel.h) * static_cast<std::size_t>(params.kernel.w)) {}
        /// Sums in floats of up to 512 bytes times weights are exact.
        [[nodiscard]] bool is_single() const { return c == 1 && k == 1 && groups > 1 && taps <= 512; }
        [[nodiscard]] std::size_t panels_of_group() const { return (k + panel - 1) / panel; }
        [[nodiscard]] std::size_t panels() const { return groups * panels_of_group(); }
        [[nodiscard]] std::size_t lead(std::size_t group) const { return group * c % word; }
        [[nodiscard]] std::size_t run(std::size_t group) const { return (lead(group) + c + word - 1) / word * word; }
        /// The words of the longest run.
        [[nodiscard]] std::size_t tap_words() const {
            return c % word == 0 || groups == 1 ? run(0) / word : (c + 2 * word - 2) / word;
        }
        [[nodiscard]] std::size_t tap_weights() const { return tap_words() * word * panel; }
        /// Where the biases are, behind the weights of all panels.
        [[nodiscard]] std::size_t tail() const {
            return panels() * taps * tap_weights() * sizeof(Weight) / sizeof(float);
        }
    };
    /// A row of the result.
    struct Row {
        ConvTransposeParams const& params;
        OpArgs const& args;
        Sizes const& sizes;
        std::size_t image;
        int y;

        [[nodiscard]] Taps down() const {
            return {y + params.padding.top, params.kernel.h, params.stride.h, params.dilation.h};
        }
    };

    static void pack_output(Sizes const& sizes, std::size_t group, std::size_t own, std::vector<float> const& kernel,
                            float bias, float* dst) {
        if (sizes.is_single()) {
            const std::size_t pixel = L::pixel(static_cast<int>(sizes.groups));
            float* to = dst + group;
            *to = bias, to += pixel;
            if constexpr (of_bytes) {
                gemm::Int8Weights rounded(kernel.data(), kernel.size());
                *to = rounded.scale(), to += pixel;
                for (const float weight : kernel) *to = rounded.rounded(weight), to += pixel;
            } else {
                for (const float weight : kernel) *to = weight, to += pixel;
            }
            return;
        }
        const std::size_t of_panel = group * sizes.panels_of_group() + own / panel, column = own % panel;
        Weight* const to = reinterpret_cast<Weight*>(dst) + of_panel * sizes.taps * sizes.tap_weights();
        const auto place = [&](std::size_t i) -> Weight& {
            const std::size_t c = sizes.lead(group) + i % sizes.c;
            return to[i / sizes.c * sizes.tap_weights() + c / word * panel * word + column * word + c % word];
        };
        float* const tail = dst + sizes.tail();
        tail[of_panel * panel + column] = bias;
        if constexpr (of_bytes) {
            float* const scales = tail + sizes.panels() * panel;
            gemm::Int8Weights rounded(kernel.data(), kernel.size());
            scales[of_panel * panel + column] = rounded.scale();
            auto* const sums = reinterpret_cast<std::int32_t*>(scales + sizes.panels() * panel);
            for (std::size_t i = 0; i < kernel.size(); ++i) {
                const std::int8_t weight = rounded.rounded(kernel[i]);
                place(i) = weight;
                sums[(of_panel * sizes.taps + i / sizes.c) * panel + column] += weight;
            }
        } else {
            for (std::size_t i = 0; i < kernel.size(); ++i) place(i) = Weight::nearest(kernel[i]);
        }
    }

    /// Ends the sums of neighbouring outputs, to which `biases` and `scales` belong.
    template <class Arch>
    class Finish {
    public:
        explicit Finish(OpArgs const& args) : store_(ToBytes(args.dst_range)) {
            over_scale_ = 1.0F / args.dst_range.scale;
            factor_ = args.src_range[0].scale * over_scale_;
        }
        PRIMSEL_INLINE void operator()(Floats<Arch> const& sum, const float* biases, const float* scales, Element* dst,
                                       std::size_t n) const {
            const auto factor = op::detail::load_up_to<Arch>(scales, n) * broadcast<Arch>(factor_);
            op::detail::store_some<Arch>(
                store_, dst,
                rounded_product<Arch>(sum, factor) +
                    rounded_product<Arch>(op::detail::load_up_to<Arch>(biases, n), broadcast<Arch>(over_scale_)),
                n);
        }

    private:
        ByteStore<Arch> store_;
        float over_scale_, factor_;
    };
    template <class Arch>
    struct FinishFloats {
        explicit FinishFloats(OpArgs const&) {}
        PRIMSEL_INLINE void operator()(Floats<Arch> const& sum, const float* biases, const float*, Element* dst,
                                       std::size_t n) const {
            op::detail::store_some<Arch>(dst, sum + op::detail::load_up_to<Arch>(biases, n), n);
        }
    };
    template <class Arch>
    using FinishOf = std::conditional_t<of_bytes, Finish<Arch>, FinishFloats<Arch>>;

    /// The columns of the result that are computed at a time: those of 32 pixels of the input, or a part of them.
    static constexpr int most_columns = 128;

    template <class Arch>
    static void panel_row(Row const& row) noexcept {
        const Images src(row.args.src[0], row.args.src_shape[0]), dst(row.args.dst, row.args.dst_shape);
        Sizes const& sizes = row.sizes;
        const int columns = std::min(32 * row.params.stride.w, most_columns);
        alignas(alignment) Sum sums[static_cast<std::size_t>(most_columns) * panel];
        const FinishOf<Arch> finish(row.args);
        const float* const biases = row.args.weights + sizes.tail();
        for (std::size_t of_panel = 0; of_panel < sizes.panels(); ++of_panel) {
            const std::size_t group = of_panel / sizes.panels_of_group(),
                              first = of_panel % sizes.panels_of_group() * panel,
                              outputs = std::min(panel, sizes.k - first);
            for (int begin = 0; begin < dst.shape.w; begin += columns) {
                const int count = std::min(columns, dst.shape.w - begin);
                std::fill_n(sums, static_cast<std::size_t>(count) * panel, Sum{});
                add_taps<Arch>(row, src, of_panel, group, static_cast<int>(outputs), begin, count, sums);
                for (int x = 0; x < count; ++x) {
                    const Sum* const of_pixel = sums + static_cast<std::size_t>(x) * panel;
                    Element* const to = dst.at(row.image, row.y, begin + x) + group * sizes.k + first;
                    for (std::size_t k = 0; k < outputs; k += lanes<Arch>) {
                        const std::size_t at = of_panel * panel + k;
                        finish(floats_of<Arch>(of_pixel + k), biases + at, biases + sizes.panels() * panel + at, to + k,
                               outputs - k);
                    }
                }
            }
        }
    }
    template <class Arch>
    PRIMSEL_INLINE static Floats<Arch> floats_of(const Sum* sums) {
        if constexpr (of_bytes) {
            return load_integers<Arch>(sums);
        } else {
            return load<Arch>(sums);
        }
    }

    /// Adds the products of a panel that belong to columns [begin, begin + count) of the row.
    template <class Arch>
    static void add_taps(Row const& row, Images const& src, std::size_t of_panel, std::size_t group, int outputs,
                         int begin, int count, Sum* sums) noexcept {
        Sizes const& sizes = row.sizes;
        ConvTransposeParams const& p = row.params;
        alignas(alignment) Sum start[gemm::dot_columns]{};
        Rows rows{.run = static_cast<int>(sizes.run(group)), .columns = outputs};
        const auto* const weights = reinterpret_cast<const Weight*>(row.args.weights);
        if constexpr (of_bytes) rows.start = start;
        Taps down = row.down();
        for (int i = down.first; i < p.kernel.h; i += down.step, down.at -= down.back) {
            if (down.at < 0 || down.at >= src.shape.h) continue;
            for (int j = 0; j < p.kernel.w; ++j) {
                // Column x is that of the input's pixel (x + shift) / stride.
                const int shift = p.padding.left - j * p.dilation.w, from = begin + shift, to = from + count - 1;
                int pixel = from <= 0 ? 0 : (from + p.stride.w - 1) / p.stride.w;
                const int end = to < 0 ? 0 : std::min(to / p.stride.w + 1, src.shape.w);
                const std::size_t tap = of_panel * sizes.taps + static_cast<std::size_t>(i * p.kernel.w + j);
                if (pixel < end) set_start(row, tap, start);
                rows.b = weights + tap * sizes.tap_weights();
                for (; pixel < end; pixel += gemm::dot_rows) {
                    const int some = std::min(gemm::dot_rows, end - pixel);
                    const Element* const from_pixel =
                        src.at(row.image, down.at, pixel) + group * sizes.c - sizes.lead(group);
                    Sum* const of_column = sums + static_cast<std::size_t>(pixel * p.stride.w - from) * panel;
                    multiply<Arch>(rows, from_pixel, src.pixel, some, of_column,
                                   static_cast<std::size_t>(p.stride.w) * panel);
                }
            }
        }
    }
    /// Adds the products of so many pixels to sums that lie a step apart.
    template <class Arch>
    static void multiply(Rows rows, const Element* src, std::size_t pixel, int pixels, Sum* sums,
                         std::size_t step) noexcept {
        alignas(alignment) Sum products[gemm::dot_rows * gemm::dot_columns];
        const auto add = [&] {
            gemm::multiply<Arch>(rows, pixels, {}, products);
            for (int i = 0; i < pixels; ++i) {
                const Sum* const of_pixel = products + static_cast<std::size_t>(i) * panel;
                Sum* const to = sums + static_cast<std::size_t>(i) * step;
                for (int column = 0; column < rows.columns; ++column) to[column] += of_pixel[column];
            }
        };
        if constexpr (std::same_as<Factor, Element>) {
            rows.a = src, rows.a_stride = pixel;
            add();
        } else {
            // Some channels at a time are widened.
            constexpr std::size_t most = 256;
            alignas(alignment) Factor wide[gemm::dot_rows * most];
            const auto run = static_cast<std::size_t>(rows.run);
            rows.a = wide, rows.a_stride = most;
            for (std::size_t c = 0; c < run; c += most, rows.b += most * panel, rows.start = nullptr) {
                const std::size_t count = std::min(most, run - c);
                for (std::size_t i = 0; i < static_cast<std::size_t>(pixels); ++i) {
                    if constexpr (of_bytes) {
                        std::copy_n(src + i * pixel + c, count, wide + i * most);
                    } else {
                        widen(src + i * pixel + c, count, wide + i * most);
                    }
                }
                rows.run = static_cast<int>(count);
                add();
            }
        }
    }
    /// Sums start from what the zero point adds to them, negated.
    static void set_start(Row const& row, std::size_t tap, Sum* start) noexcept {
        if constexpr (of_bytes) {
            Sizes const& sizes = row.sizes;
            std::memcpy(start, row.args.weights + sizes.tail() + 2 * sizes.panels() * panel + tap * panel,
                        panel * sizeof(Sum));
            for (std::size_t i = 0; i < panel; ++i) start[i] *= -row.args.src_range[0].zero_point;
        }
    }

    template <class Arch>
    static void single_row(Row const& row) noexcept {
        const Images src(row.args.src[0], row.args.src_shape[0]), dst(row.args.dst, row.args.dst_shape);
        ConvTransposeParams const& p = row.params;
        const auto elements = op::detail::elements_in<Arch>(L{}, row.args, 1);
        const FinishOf<Arch> finish(row.args);
        const float *const biases = row.args.weights, *const weights = biases + (of_bytes ? 2 : 1) * dst.pixel;
        for (int x = 0; x < dst.shape.w; ++x) {
            const Taps across(x + p.padding.left, p.kernel.w, p.stride.w, p.dilation.w);
            Element* const to = dst.at(row.image, row.y, x);
            for (std::size_t c = 0; c < dst.pixel; c += lanes<Arch>) {
                const std::size_t n = dst.pixel - c;
                auto sum = broadcast<Arch>(0.0F);
                Taps down = row.down();
                for (int i = down.first; i < p.kernel.h; i += down.step, down.at -= down.back) {
                    if (down.at < 0 || down.at >= src.shape.h) continue;
                    int at = across.at;
                    for (int j = across.first; j < p.kernel.w; j += across.step, at -= across.back) {
                        if (at < 0 || at >= src.shape.w) continue;
                        const float* const weight = weights + static_cast<std::size_t>(i * p.kernel.w + j) * dst.pixel;
                        sum = fma<Arch>(elements.load(0, src.at(row.image, down.at, at) + c, n),
                                        op::detail::load_up_to<Arch>(weight + c, n), sum);
                    }
                }
                finish(sum, biases + c, biases + dst.pixel + c, to + c, n);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
