// The laws of ops: each agrees with its reference in every layout, gives the same bits on any executor and in place,
// and writes nothing but its output.
#pragma once

#include "../quick.hpp"
#include "../tensor/orders.hpp"
#include "../threads.hpp"
#include "../worse.hpp"
#include "reference.hpp"

#include <doctest/doctest.h>
#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/kernels/compiled.hpp>
#include <primsel/kernels/make_kernels.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/hwc_u8.hpp>
#include <primsel/tensor/layout.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#ifdef PRIMSEL_EXTERN_KERNELS
namespace primsel::inline PRIMSEL_ABI {
extern template OpTable const& kernels::ops_in<default_arch, chw, CompileTraining>();
extern template OpTable const& kernels::ops_in<default_arch, hcw, CompileTraining>();
extern template OpTable const& kernels::ops_in<default_arch, hwc, CompileTraining>();
extern template OpTable const& kernels::ops_in<default_arch, hwc_u8, CompileAll>();
extern template OpTable const& kernels::ops_in<default_arch, hwc_bf16, CompileAll>();
}  // namespace primsel::inline PRIMSEL_ABI
#endif

namespace laws {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

namespace ps = primsel;
using reference::Image;
using reference::Images;

/// 1-pixel images, one channel, primes, channels and columns around the width of vectors, and one of several blocks
/// (not in a quick run).
inline std::vector<ps::Shape> odd_shapes() {
    if (quick())
        return {{1, 1, 1}, {67, 1, 1}, {1, 5, 37}, {7, 11, 13}, {17, 5, 8}, {33, 4, 3}, {130, 2, 3}, {24, 13, 17}};
    return {{1, 1, 1},  {3, 1, 1},   {67, 1, 1},  {1, 1, 7},  {1, 13, 1},  {2, 3, 1},  {3, 7, 5},   {1, 5, 37},
            {4, 6, 33}, {7, 11, 13}, {16, 8, 16}, {17, 5, 8}, {31, 3, 17}, {33, 4, 3}, {130, 2, 3}, {24, 29, 31}};
}

class Random {
public:
    explicit Random(unsigned seed) : engine_(seed) {}
    /// In [-range, range), exact in float.
    float operator()(float range = 2.0F) {
        return range * (static_cast<float>(engine_() >> 8U) / static_cast<float>(1U << 23U) - 1.0F);
    }
    Image image(ps::Shape shape, float range = 2.0F) {
        Image result(shape);
        for (double& value : result.data) value = (*this)(range);
        return result;
    }
    std::vector<float> floats(std::size_t count, float range = 2.0F) {
        std::vector<float> result(count);
        for (float& value : result) value = (*this)(range);
        return result;
    }

private:
    std::mt19937 engine_;
};

/// A layout as a value: the laws are compiled once for all of them.
struct Order {
    std::string_view name;
    std::size_t (*size)(ps::Shape);
    std::size_t (*offset)(ps::Shape, ps::Coord);
    /// Null where the layout has none.
    ps::Strides (*strides)(ps::Shape);
};
template <class L>
inline constexpr Order order_of = [] {
    Order order{L::name, [](ps::Shape shape) -> std::size_t { return L::size(shape); },
                [](ps::Shape shape, ps::Coord at) -> std::size_t { return L::offset(shape, at); }, nullptr};
    if constexpr (ps::StridedLayout<L>) order.strides = &L::strides;
    return order;
}();

/// Calls f(offset) for every element of an image, in the order of chw.
template <class F>
void for_each_offset(Order const& order, ps::Shape shape, F const& f) {
    if (order.strides == nullptr) {
        for (int c = 0; c < shape.c; ++c) {
            for (int h = 0; h < shape.h; ++h) {
                for (int w = 0; w < shape.w; ++w) f(order.offset(shape, {c, h, w}));
            }
        }
        return;
    }
    const ps::Strides strides = order.strides(shape);
    const auto rows = static_cast<std::size_t>(shape.h), columns = static_cast<std::size_t>(shape.w);
    for (std::size_t c = 0; c < static_cast<std::size_t>(shape.c); ++c) {
        for (std::size_t h = 0; h < rows; ++h) {
            std::size_t at = c * strides.c + h * strides.h;
            for (std::size_t w = 0; w < columns; ++w, at += strides.w) f(at);
        }
    }
}

/// A batch of images, each in the layout.
inline std::vector<float> lay_out(Order const& order, Images const& batch) {
    std::vector<float> result;
    for (Image const& image : batch) {
        const std::size_t start = result.size();
        result.resize(start + order.size(image.shape));
        float* to = result.data() + start;
        const double* from = image.data.data();
        for_each_offset(order, image.shape, [&](std::size_t at) { to[at] = static_cast<float>(*from++); });
    }
    return result;
}
template <class L>
std::vector<float> lay_out(Images const& batch) {
    return lay_out(order_of<L>, batch);
}

#ifndef PRIMSEL_EXTERN_KERNELS
/// Compiles the op of one layer.
template <class Params>
struct CompileOne {
    [[nodiscard]] static constexpr bool layer(std::size_t kind) {
        return []<class... P>(std::size_t at, std::variant<P...> const*) {
            std::size_t i = 0;
            return ((i++ == at && std::same_as<P, Params>) || ...);
        }(kind, static_cast<ps::AnyLayer const*>(nullptr));
    }
};
#endif

/// The op of a layer in layout L. Programs that link the kernels' object test those of the library's layouts, and
/// compile only those of a user's.
template <class L, class Params>
ps::OpEntry const& entry_of(Params const& params) {
#ifdef PRIMSEL_EXTERN_KERNELS
    using Compiled = std::conditional_t<ps::StridedLayout<L>, ps::CompileTraining, ps::CompileAll>;
#else
    using Compiled = CompileOne<Params>;
#endif
    return ps::kernels::ops_in<ps::default_arch, L, Compiled>()[ps::AnyLayer(params).index()];
}

inline bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The inputs of an op in a layout.
struct Sources {
    std::vector<std::vector<float>> data;
    std::vector<ps::Shape> shapes;
    int batch = 0;
};
/// inputs[i][n]: input i of image n.
inline Sources sources_of(Order const& order, std::vector<Images> const& inputs) {
    Sources sources;
    sources.batch = static_cast<int>(inputs[0].size());
    for (Images const& input : inputs) {
        sources.data.push_back(lay_out(order, input));
        sources.shapes.push_back(input[0].shape);
    }
    return sources;
}

/// Runs the op of a layer.
inline std::vector<float> run_on(ps::OpEntry const& op, ps::AnyLayer const& layer, Sources const& sources,
                                 ps::Shape output, ps::OpWeights const& weights, ps::ExecutorRef executor,
                                 bool in_place = false, ps::Clamp clamp = {}) {
    const bool runs = op.run != nullptr;
    REQUIRE(runs);
    std::vector<const float*> src;
    for (std::vector<float> const& source : sources.data) src.push_back(source.data());
    std::vector<ps::Shape> const& shapes = sources.shapes;

    std::vector<float> packed;
    if (op.pack != nullptr) {
        packed.assign(op.packed_bytes(layer, shapes[0]) / sizeof(float), std::nanf(""));
        op.pack(layer, shapes[0], weights, packed.data());
        CHECK(std::ranges::none_of(packed, [](float x) { return std::isnan(x); }));
    }
    std::vector<float> scratch;
    if (op.scratch_bytes != nullptr) {
        scratch.assign(op.scratch_bytes(layer, shapes, executor.concurrency()) / sizeof(float), std::nanf(""));
    }
    // Guards on both sides, which no op may write.
    constexpr std::size_t guard = 32;
    constexpr float untouched = 12345.0F;
    const std::size_t size = output.size() * static_cast<std::size_t>(sources.batch);
    std::vector<float> room(guard + size + guard, untouched);
    float* dst = room.data() + guard;
    if (in_place) {
        std::ranges::copy(sources.data[0], dst);
        src[0] = dst;
    }
    op.run(layer, {.src = src,
                   .src_shape = shapes,
                   .dst = dst,
                   .dst_shape = output,
                   .batch = sources.batch,
                   .weights = packed.empty() ? nullptr : packed.data(),
                   .clamp = clamp,
                   .scratch = scratch.empty() ? nullptr : scratch.data(),
                   .executor = executor});
    const auto is_untouched = [](float x) { return x == untouched; };
    CHECK(std::all_of(room.begin(), room.begin() + guard, is_untouched));
    CHECK(std::all_of(room.end() - guard, room.end(), is_untouched));
    return {dst, dst + size};
}

template <class L, class Params>
std::vector<float> run(Params const& params, std::vector<Images> const& inputs, ps::OpWeights const& weights,
                       ps::ExecutorRef executor, bool in_place = false, ps::Clamp clamp = {}) {
    const Sources sources = sources_of(order_of<L>, inputs);
    return run_on(entry_of<L>(params), params, sources, params.output(sources.shapes), weights, executor, in_place,
                  clamp);
}

/// The amount that image n of the batch adds to a result that the reference gives for it alone.
template <class Params>
double whole_batch(Params const&, ps::Shape, std::size_t) {
    return 0;
}
inline double whole_batch(ps::MaxPoolIndicesParams const&, ps::Shape input, std::size_t n) {
    return static_cast<double>(n * input.size());
}

/// The images of a batch that the reference expects, each alone.
template <class Params>
Images expectation(Params const& params, std::vector<Images> const& inputs, ps::OpWeights const& weights,
                   ps::Clamp clamp) {
    std::vector<ps::Shape> shapes;
    for (Images const& input : inputs) shapes.push_back(input[0].shape);
    REQUIRE(params.check(shapes) == ps::Fault::none);
    Images result;
    for (std::size_t n = 0; n < inputs[0].size(); ++n) {
        Images one;
        for (Images const& input : inputs) one.push_back(input[n]);
        result.push_back(reference::run(params, one, weights, params.output(shapes)));
        for (double& value : result.back().data) {
            value = reference::held(value, clamp) + whole_batch(params, shapes[0], n);
        }
    }
    return result;
}

/// error <= tolerance * max(1, |expected|); a tolerance of 0 means equal.
inline void check_layout(Order const& order, ps::OpEntry const& op, ps::AnyLayer const& layer,
                         std::vector<Images> const& inputs, ps::OpWeights const& weights, Images const& expected,
                         double tolerance, ps::Clamp clamp) {
    CAPTURE(order.name);
    const Sources sources = sources_of(order, inputs);
    const ps::Shape output = expected[0].shape;
    const auto run = [&](ps::ExecutorRef executor, bool in_place) {
        return run_on(op, layer, sources, output, weights, executor, in_place, clamp);
    };
    ps::Sequential sequential;
    const std::vector<float> actual = run(sequential, false);
    const float* of_image = actual.data();
    for (Image const& image : expected) {
        REQUIRE(image.shape == output);
        double worst = 0;
        const double* next = image.data.data();
        for_each_offset(order, output, [&](std::size_t at) {
            const double want = *next++, got = static_cast<double>(of_image[at]);
            if (got == want || (got != got && want != want)) return;  // infinities and NaN, too
            const double error = std::abs(got - want) / std::max(1.0, std::abs(want));
            worst = worse(worst, error);
        });
        CHECK(worst <= tolerance);
        of_image += output.size();
    }
    ps::CallerPool pool(3, Threads{});
    CHECK(same_bits(actual, run(pool, false)));
    if (op.in_place && sources.shapes[0].size() == output.size()) CHECK(same_bits(actual, run(sequential, true)));
}

template <class Params>
void check(Params const& params, std::vector<Images> const& inputs, ps::OpWeights const& weights, double tolerance,
           ps::Clamp clamp = {}) {
    CAPTURE(params.name());
    CAPTURE(ps::to_string(inputs[0][0].shape));
    CAPTURE(inputs[0].size());
    const Images expected = expectation(params, inputs, weights, clamp);
    for_each_order_of_ops([&]<class L>(L) {
        if constexpr (std::same_as<L, ps::chw> || ps::runs_in<Params, ps::default_arch, L>) {
            check_layout(order_of<L>, entry_of<L>(params), params, inputs, weights, expected, tolerance, clamp);
        }
    });
}

/// The batches of a law: one and several images; in a quick run one of the two, drawn.
inline std::vector<std::size_t> batches(std::size_t several) {
    static std::mt19937 draws;
    if (quick()) return {draws() % 2 == 0 ? 1 : several};
    return {1, several};
}

/// The law on random inputs of one shape, for batches of 1 and 3.
template <class Params>
void check(Params const& params, ps::Shape shape, double tolerance, ps::OpWeights const& weights = {},
           std::size_t input_count = 1, float range = 2.0F, ps::Clamp clamp = {}) {
    Random random(static_cast<unsigned>(shape.c * 1000 + shape.h * 100 + shape.w));
    for (const std::size_t batch : batches(quick() ? 2 : 3)) {
        std::vector<Images> inputs(input_count);
        for (Images& input : inputs) {
            for (std::size_t n = 0; n < batch; ++n) input.push_back(random.image(shape, range));
        }
        check(params, inputs, weights, tolerance, clamp);
    }
}

/// The law on random inputs, one of each of the shapes, for batches of 1 and 2.
template <class Params>
void check(Params const& params, std::vector<ps::Shape> const& shapes, double tolerance,
           ps::OpWeights const& weights = {}, float range = 2.0F) {
    Random random(static_cast<unsigned>(shapes[0].c * 1000 + shapes[0].h * 100 + shapes[0].w));
    for (const std::size_t batch : batches(2)) {
        std::vector<Images> inputs(shapes.size());
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            for (std::size_t n = 0; n < batch; ++n) inputs[i].push_back(random.image(shapes[i], range));
        }
        check(params, inputs, weights, tolerance);
    }
}

/// One image with the given elements in layout L, through the op.
template <class L, class Params>
std::vector<float> run_one(Params const& params, ps::Shape shape, std::vector<float> const& elements,
                           ps::OpWeights const& weights = {}, ps::Clamp clamp = {}) {
    Image image(shape);
    std::ranges::copy(elements, image.data.begin());
    ps::Sequential sequential;
    return run<L>(params, {{image}}, weights, sequential, false, clamp);
}

}  // namespace laws
