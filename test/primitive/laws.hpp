#pragma once

#include "../quick.hpp"
#include "../threads.hpp"

#include <primsel/core/short_floats.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primitive/reference.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <span>
#include <string>
#include <vector>

#ifdef PRIMSEL_TEST_DEFINITION  // definition.cpp
extern template void primsel::reference_convolution<double>(primsel::ConvShape const&, const float*, const float*,
                                                            const float*, const float*, primsel::Clamp, double*);
#endif

/// Shared parts of the law tests of primitives: a convolution with its data, its exact result, and a primitive's.
namespace laws {

namespace ps = primsel;

struct LayoutFacts {
    std::string_view name;
    std::size_t (*size)(ps::Shape);
    std::size_t (*offset)(ps::Shape, ps::Coord);
    /// Null where the layout has none.
    ps::Strides (*strides)(ps::Shape);
    std::size_t element_bytes;
    void (*put)(float* image, std::size_t at, float);
    float (*get)(const float* image, std::size_t at);

    /// Room for an image.
    [[nodiscard]] std::size_t floats(ps::Shape shape) const {
        return (size(shape) * element_bytes + sizeof(float) - 1) / sizeof(float);
    }
};
template <class L>
[[nodiscard]] LayoutFacts facts_of() {
    using Element = ps::element_of<L>;
    ps::Strides (*strides)(ps::Shape) = nullptr;
    if constexpr (ps::StridedLayout<L>) strides = &L::strides;
    return {L::name,
            &L::size,
            &L::offset,
            strides,
            sizeof(Element),
            [](float* image, std::size_t at, float value) {
                if constexpr (std::same_as<Element, float>) {
                    image[at] = value;
                } else if constexpr (ps::ShortFloat<Element>) {
                    reinterpret_cast<Element*>(image)[at] = Element::nearest(value);
                }
            },
            [](const float* image, std::size_t at) {
                if constexpr (std::same_as<Element, float>) {
                    return image[at];
                } else if constexpr (ps::ShortFloat<Element>) {
                    return to_float(reinterpret_cast<const Element*>(image)[at]);
                } else {
                    return 0.0F;
                }
            }};
}

/// Primitives, and the layouts that their entries give by position.
struct List {
    std::span<const ps::PrimitiveEntry> primitives;
    std::vector<LayoutFacts> layouts;
};
template <class... L>
[[nodiscard]] List make_list(std::span<const ps::PrimitiveEntry> primitives, ps::TypeList<L...>) {
    return {primitives, {facts_of<L>()...}};
}
/// THE list.
[[nodiscard]] inline List all_primitives() {
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    return make_list(kernels.primitives, ps::AllLayouts{});
}

/// Those of a list of entries that are of the types.
template <class... P>
[[nodiscard]] std::vector<ps::PrimitiveEntry> chosen(std::span<const ps::PrimitiveEntry> entries, ps::TypeList<P...>) {
    std::vector<ps::PrimitiveEntry> result(entries.begin(), entries.end());
    std::erase_if(result, [](ps::PrimitiveEntry const& entry) { return ((entry.id != P::id) && ...); });
    return result;
}

/// Winograd's transforms round: integers do not stay integers.
[[nodiscard]] inline bool is_exact(ps::PrimitiveEntry const& entry) { return !entry.id.starts_with("winograd"); }

/// Three workers in turn, the last block first, on the calling thread: a kernel that relies on the order of its blocks
/// or shares a worker's scratch is found out, and always.
struct Backwards {
    [[nodiscard]] std::size_t concurrency() const noexcept { return 3; }
    void parallel_for(std::size_t blocks, ps::BlockFunction function) noexcept {
        while (blocks-- > 0) function(blocks, blocks % 3);
    }
};

/// How a buffer is watched: zones of NaNs on both sides, or a heap block that ends where the floats do, for the address
/// sanitizer to see reads as well.
enum class Watch { zones, heap };

/// Floats for a kernel to read or write, all NaN at first.
class Guarded {
public:
    /// `shift` floats off the alignment of a cache line.
    Guarded(std::size_t size, Watch watch, std::size_t shift)
        : zone_(watch == Watch::zones ? 64 : 0),
          front_(zone_ + shift),
          size_(size),
          block_(static_cast<float*>(
              ::operator new((front_ + size + zone_) * sizeof(float), std::align_val_t{ps::alignment}))) {
        std::fill_n(block_, front_ + size_ + zone_, std::bit_cast<float>(canary));
    }
    Guarded(Guarded const&) = delete;
    Guarded& operator=(Guarded const&) = delete;
    ~Guarded() { ::operator delete(block_, std::align_val_t{ps::alignment}); }

    [[nodiscard]] float* data() { return block_ + front_; }
    [[nodiscard]] std::span<float> span() { return {data(), size_}; }
    /// From now on the floats themselves may not change either.
    void seal() { sealed_.assign(data(), data() + size_); }
    [[nodiscard]] bool intact() const {
        return is_canary(block_, front_) && is_canary(block_ + front_ + size_, zone_) &&
               (sealed_.empty() || std::memcmp(sealed_.data(), block_ + front_, size_ * sizeof(float)) == 0);
    }

private:
    /// A quiet NaN of our own: what a kernel reads of it shows in its result.
    static constexpr std::uint32_t canary = 0x7fc5a5a5;
    [[nodiscard]] static bool is_canary(const float* data, std::size_t count) {
        static const std::vector<std::uint32_t> canaries(80, canary);
        return count <= canaries.size() && std::memcmp(data, canaries.data(), count * sizeof(float)) == 0;
    }

    std::size_t zone_, front_, size_;
    float* block_;
    std::vector<float> sealed_;
};

enum class Values { integers, normal };

/// Which parts of dst = clamp(conv + bias + residual) there are.
struct Epilogue {
    bool bias = false, residual = false;
    ps::Clamp clamp{};
    /// Only for primitives with bounds_summand.
    ps::Clamp summand{};
};
inline constexpr Epilogue epilogues[] = {{},
                                         {.bias = true, .residual = true, .clamp = {-40.0F, 55.0F}},
                                         {.bias = true},
                                         {.residual = true},
                                         {.bias = true, .clamp = ps::relu_clamp},
                                         {.clamp = ps::relu6_clamp},
                                         {.residual = true, .clamp = {-3.0F, 8.0F}},
                                         {.bias = true, .residual = true}};

/// One image in chw, and what the definition makes of it.
struct Problem {
    ps::ConvShape shape;
    std::vector<float> src, kernel, bias, residual;

    Problem(ps::ConvShape const& s, Values values, unsigned seed = 1, float (*rounded)(float) = nullptr)
        : shape(s),
          src(s.in_shape().size()),
          kernel(s.kernel_size()),
          bias(static_cast<std::size_t>(s.k)),
          residual(s.out_shape().size()),
          convolved_(residual.size()) {
        std::mt19937 bits(seed);
        std::normal_distribution<float> normal;
        for (auto* data : {&src, &kernel, &bias, &residual}) {
            for (float& value : *data) {
                value = values == Values::normal ? normal(bits) : static_cast<float>(static_cast<int>(bits() % 7) - 3);
                if (rounded != nullptr) value = rounded(value);
            }
        }
        ps::reference_convolution<double>(s, src.data(), kernel.data(), nullptr, nullptr, {}, convolved_.data());
    }

    [[nodiscard]] std::vector<double> exact(Epilogue const& epilogue) const {
        std::vector<double> dst = convolved_;
        const std::size_t pixels = shape.out_pixels();
        for (std::size_t i = 0; i < dst.size(); ++i) {
            if (epilogue.bias) dst[i] += static_cast<double>(bias[i / pixels]);
            if (epilogue.residual) dst[i] += static_cast<double>(residual[i]);
            dst[i] =
                std::clamp(dst[i], static_cast<double>(epilogue.clamp.low), static_cast<double>(epilogue.clamp.high));
        }
        return dst;
    }

private:
    std::vector<double> convolved_;
};

/// Calls f(index of the chw image, index in the layout) for every element.
template <class F>
void for_each_element(LayoutFacts const& layout, ps::Shape shape, F const& f) {
    std::size_t from = 0;
    if (layout.strides != nullptr) {
        const ps::Strides strides = layout.strides(shape);
        for (std::size_t c = 0; c < static_cast<std::size_t>(shape.c); ++c) {
            for (std::size_t h = 0; h < static_cast<std::size_t>(shape.h); ++h) {
                std::size_t at = c * strides.c + h * strides.h;
                for (int w = 0; w < shape.w; ++w, at += strides.w) f(from++, at);
            }
        }
        return;
    }
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w) f(from++, layout.offset(shape, {c, h, w}));
        }
    }
}

/// Zeros, as padding within an image is, where elements are smaller than floats.
inline void clear_padding(LayoutFacts const& layout, ps::Shape shape, float* image) {
    if (layout.element_bytes < sizeof(float)) std::fill_n(image, layout.floats(shape), 0.0F);
}

struct Outcome {
    /// In chw; NaN where nothing was written.
    std::vector<float> dst;
    /// Whether all inputs, and all around every buffer, is as it was.
    bool intact = true;
};

/// Packs and runs a primitive. All that it may write holds NaNs before. Only scratch is aligned, as ConvArgs says.
inline Outcome run(List const& list, ps::PrimitiveEntry const& entry, Problem const& p, Epilogue const& epilogue,
                   ps::ExecutorRef executor, Watch watch) {
    const ps::Shape in = p.shape.in_shape(), out = p.shape.out_shape();
    LayoutFacts const &from = list.layouts[entry.in_layout], &to = list.layouts[entry.out_layout];
    Guarded src(from.floats(in), watch, 1), kernel(p.kernel.size(), watch, 1), bias(p.bias.size(), watch, 3),
        residual(to.floats(out), watch, 5), packed(entry.packed_bytes(p.shape) / sizeof(float), watch, 1),
        dst(to.floats(out), watch, 7),
        scratch(entry.scratch_bytes(p.shape, executor.concurrency(), 1) / sizeof(float), watch, 0);
    clear_padding(from, in, src.data());
    clear_padding(to, out, residual.data());
    for_each_element(from, in, [&](std::size_t i, std::size_t at) { from.put(src.data(), at, p.src[i]); });
    for_each_element(to, out, [&](std::size_t i, std::size_t at) { to.put(residual.data(), at, p.residual[i]); });
    std::ranges::copy(p.kernel, kernel.data());
    std::ranges::copy(p.bias, bias.data());
    for (Guarded* input : {&src, &kernel, &bias, &residual}) input->seal();

    entry.pack(p.shape, kernel.data(), packed.data());
    packed.seal();
    entry.run(p.shape, {.src = src.data(),
                        .weights = packed.data(),
                        .bias = epilogue.bias ? bias.data() : nullptr,
                        .residual = epilogue.residual ? residual.data() : nullptr,
                        .clamp = epilogue.clamp,
                        .dst = dst.data(),
                        .scratch = scratch.data(),
                        .executor = executor});
    Outcome outcome{std::vector<float>(out.size())};
    for (Guarded const* buffer : {&src, &kernel, &bias, &residual, &packed, &dst, &scratch}) {
        outcome.intact = outcome.intact && buffer->intact();
    }
    for_each_element(to, out, [&](std::size_t i, std::size_t at) { outcome.dst[i] = to.get(dst.data(), at); });
    return outcome;
}

[[nodiscard]] inline bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
[[nodiscard]] inline bool equal(std::vector<float> const& values, std::vector<double> const& exact) {
    return std::equal(values.begin(), values.end(), exact.begin(), exact.end(),
                      [](float a, double b) { return static_cast<double>(a) == b; });
}
/// The largest difference, relative to the RMS of the exact result; infinite where there is a NaN.
[[nodiscard]] inline double error(std::vector<float> const& values, std::vector<double> const& exact) {
    double worst = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double difference = std::abs(static_cast<double>(values[i]) - exact[i]);
        worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(worst, difference);
        squares += exact[i] * exact[i];
    }
    return squares == 0 ? worst : worst / std::sqrt(squares / static_cast<double>(values.size()));
}

/// Stride 1 and a kernel of odd size, padded so that the output is as large as the image.
[[nodiscard]] inline ps::ConvShape same_shape(int c, int k, int h, int w, int f) {
    return {.c = c,
            .k = k,
            .h = h,
            .w = w,
            .fh = f,
            .fw = f,
            .pad_top = f / 2,
            .pad_bottom = f / 2,
            .pad_left = f / 2,
            .pad_right = f / 2};
}

/// Small odd shapes, drawn at random but always the same: 1-pixel images, single channels, primes, channels around
/// the width of vectors, strides to 4, even and rectangular kernels, kernels as large as the image, asymmetric padding
/// (wider than the kernel, too), dilation, groups, depthwise. Then every remainder of tiles and panels.
[[nodiscard]] inline std::vector<ps::ConvShape> odd_shapes() {
    std::mt19937 bits(2026);
    const auto one_in = [&](unsigned n) { return bits() % n == 0; };
    const auto pick = [&](std::initializer_list<int> values) {
        return values.begin()[static_cast<std::size_t>(bits()) % values.size()];
    };
    struct Kernel {
        int h, w;
    };
    constexpr Kernel kernels[] = {{1, 1}, {1, 1}, {3, 3}, {3, 3}, {3, 3}, {5, 5}, {5, 5}, {2, 3},
                                  {4, 4}, {1, 7}, {7, 1}, {1, 3}, {3, 1}, {2, 2}, {3, 5}, {7, 7}};
    const std::size_t drawn = quick() ? 110 : 800;
    std::vector<ps::ConvShape> shapes;
    while (shapes.size() < drawn) {
        ps::ConvShape s{.c = pick({1, 2, 3, 5, 8, 13, 15, 16, 17, 31, 32, 33}),
                        .k = pick({1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 67}),
                        .h = pick({1, 2, 3, 4, 5, 7, 8, 11, 13, 17, 23}),
                        .w = pick({1, 2, 3, 4, 5, 7, 8, 11, 14, 19, 37})};
        auto const& kernel = kernels[bits() % std::size(kernels)];
        s.fh = kernel.h, s.fw = kernel.w;
        if (one_in(3)) s.stride_h = pick({1, 2, 3, 4}), s.stride_w = pick({1, 2, 3, 4});
        if (one_in(5)) s.dilation_h = pick({1, 2, 3}), s.dilation_w = pick({1, 2, 3});
        if (one_in(3)) {
            s.pad_top = s.pad_bottom = s.fh / 2, s.pad_left = s.pad_right = s.fw / 2;
        } else if (one_in(2)) {
            s.pad_top = pick({0, 1, 2, 5}), s.pad_bottom = pick({0, 1, 3}), s.pad_left = pick({0, 1, 2, 6}),
            s.pad_right = pick({0, 1, 2, 3});
        }
        if (one_in(9)) s.h = s.span_h(), s.w = s.span_w();
        if (one_in(6)) {
            s.groups = pick({2, 3, 5, 16, 17});
            s.c = s.groups * pick({1, 1, 2, 5}), s.k = s.groups * pick({1, 1, 2, 3});
        }
        bits.discard(1);  // with it every primitive gets enough of the few shapes of a quick run
        if (s.valid() && s.operations() < 3e6) shapes.push_back(s);
    }
    const int step = quick() ? 4 : 1;
    for (const int f : {1, 3, 5}) {
        for (int i = 0; i < 9; i += step) shapes.push_back(same_shape(16 + i, 30 + 2 * i, 1 + i, 15 - i, f));
    }
    for (int i = 1; i <= 66; i += 3 * step) {
        shapes.push_back(same_shape(7, i, 6, 5, 1));
        shapes.push_back(same_shape(i, 9, 3, 7, 3));
    }
    // Padding so wide that every tap sees far fewer columns than the output has.
    for (const int w : {9, 17, 33}) {
        shapes.push_back({.c = 5, .k = w, .h = 2, .w = w, .fh = 1, .fw = 1, .pad_left = 6, .pad_right = 3});
    }
    // Groups that are a part of a vector, or a vector, or several.
    for (const int size : {2, 4, 8}) {
        for (const int c : {16, 24, 40, 56}) {
            for (const int f : {3, 5}) {
                ps::ConvShape s = same_shape(c, c, 5, 8, f);
                s.groups = c / size;
                if (c == 24) s.stride_h = s.stride_w = 2;
                if (c == 40) s.dilation_w = 2;
                shapes.push_back(s);
            }
        }
    }
    // A channel a group: blocks of pixels, with any padding on either side.
    for (const int f : {3, 5}) {
        for (const int w : {2, 3, 4, 6, 9, 16}) {
            for (int pad = 0; pad <= f / 2; ++pad) {
                for (const int stride : {1, 2}) {
                    ps::ConvShape s = same_shape(19, 19, 6, w, f);
                    s.groups = 19, s.pad_left = pad, s.pad_top = f / 2 - pad;
                    s.stride_h = s.stride_w = stride;
                    if (s.valid()) shapes.push_back(s);
                }
            }
        }
    }
    // A channel a group: planes of several strips, whose blocks share input rows, with several kernels a channel.
    for (const int f : {3, 5, 7}) {
        for (const int dilation : {1, 2}) {
            ps::ConvShape s = same_shape(2, 4, f == 7 ? 180 : 15, f == 7 ? 41 : 34, f);
            s.groups = 2, s.dilation_h = dilation, s.dilation_w = dilation;
            if (f == 7) s.stride_h = s.stride_w = 3 - dilation;
            shapes.push_back(s);
        }
    }
    shapes.push_back(
        {.c = 2, .k = 2, .h = 1, .w = 150, .fh = 1, .fw = 9, .pad_left = 20, .dilation_w = 3, .groups = 2});
    // A few channels a group: blocks of four rows or two share input lines, which may run on from row to row.
    for (const int f : {4, 7, 9}) {
        for (const int w : {3, 13, 31, 70}) {
            for (const int stride : {1, 2, 3}) {
                ps::ConvShape s = same_shape(2, 4, w == 31 ? 61 : 9 + w / 9, w, f);
                s.groups = w == 13 ? 1 : 2, s.c = w == 13 ? 1 : w == 31 ? 4 : 2;
                s.stride_h = s.stride_w = stride, s.pad_left = f == 9 ? 2 : f / 2;
                if (stride == 1) s.dilation_h = s.dilation_w = w == 3 ? 1 : w % 4 + 1;
                s.pad_top = s.pad_bottom = s.pad_right = s.span_w() / 2;
                if (s.valid() && (!quick() || (w + f + stride) % 3 == 0)) shapes.push_back(s);
            }
        }
    }
    // First layers, and others that a stride has primitives for: every remainder of tiles. Some have too many channels
    // or another stride.
    for (const int f : {3, 7, 11}) {
        for (int i = 0; i < 60; i += quick() ? 19 : 1) {
            const bool other = i % 5 == 4;
            ps::ConvShape s = same_shape(f == 3            ? 1 + i
                                         : f == 7 && other ? 5
                                                           : 1 + i % 4,
                                         1 + (i * 11) % 70, f + i % 11, f + i * 2 % 31, f);
            s.stride_h = s.stride_w = f != 11 ? 2 : other ? 3 : 4;
            s.pad_top = i % f, s.pad_right = i % 3;
            shapes.push_back(s);
        }
    }
    // Images of several blocks of tiles, rows and pixels.
    shapes.push_back({.c = 3, .k = 64, .h = 13, .w = 231, .fh = 7, .fw = 7, .stride_h = 2, .stride_w = 2});
    shapes.push_back({.c = 3, .k = 70, .h = 19, .w = 227, .fh = 11, .fw = 11, .stride_h = 4, .stride_w = 4});
    if (quick()) {
        shapes.push_back(same_shape(17, 18, 29, 31, 3));
        return shapes;
    }
    shapes.push_back(same_shape(33, 34, 29, 31, 3));
    shapes.push_back(same_shape(19, 35, 23, 44, 5));
    shapes.push_back(same_shape(40, 72, 37, 16, 1));
    shapes.push_back({.c = 3,
                      .k = 18,
                      .h = 61,
                      .w = 45,
                      .fh = 7,
                      .fw = 7,
                      .stride_h = 2,
                      .stride_w = 2,
                      .pad_top = 3,
                      .pad_left = 3,
                      .pad_right = 2});
    shapes.push_back(same_shape(2, 3, 140, 9, 3));
    return shapes;
}

}  // namespace laws
