// Layers of a user's own, one for each thing that such a layer may have.
#pragma once

#include <primsel/kernels/own_layer.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace own {

namespace ps = primsel;

/// Mirrors each row, then adds a constant. Runs in every strided layout.
struct Mirror {
    static constexpr std::string_view name = "mirror";
    static constexpr bool channel_wise = true;
    int shift = 0;

    constexpr void each_field(auto const& visit) const { visit("shift", shift); }
    [[nodiscard]] static constexpr ps::Support supports(std::span<const ps::Shape> inputs) {
        if (inputs.size() != 1) return ps::Support::no("mirrors one input");
        return inputs[0].w > 1 ? ps::Support::yes() : ps::Support::no("needs rows of two pixels or more");
    }
    [[nodiscard]] static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    template <class Arch, ps::StridedLayout L>
    void run(ps::OpArgs const& args) const noexcept {
        const ps::Shape shape = args.dst_shape;
        for (std::size_t image = 0; image < static_cast<std::size_t>(args.batch); ++image) {
            const float* src = args.src[0] + image * shape.size();
            float* dst = args.dst + image * shape.size();
            for (int c = 0; c < shape.c; ++c) {
                for (int h = 0; h < shape.h; ++h) {
                    for (int w = 0; w < shape.w; ++w) {
                        dst[L::offset(shape, {c, h, w})] =
                            src[L::offset(shape, {c, h, shape.w - 1 - w})] + static_cast<float>(shift);
                    }
                }
            }
        }
    }
    friend bool operator==(Mirror const&, Mirror const&) = default;
};

/// a * gain[c] + b, in hwc alone; has weights, two inputs, scratch and a price.
struct Gate {
    static constexpr std::string_view name = "gate";
    static constexpr bool channel_wise = true;
    using layouts = ps::TypeList<ps::hwc>;

    [[nodiscard]] static constexpr ps::Support supports(std::span<const ps::Shape> inputs) {
        const bool fit = inputs.size() == 2 && inputs[0] == inputs[1];
        return fit ? ps::Support::yes() : ps::Support::no("needs two inputs of one shape");
    }
    [[nodiscard]] static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    [[nodiscard]] static ps::LayerWork work(std::span<const ps::Shape> inputs) {
        const auto size = static_cast<double>(inputs[0].size());
        return {.operations = 2 * size, .bytes = 20 * size};
    }
    [[nodiscard]] static std::size_t scratch_floats(std::span<const ps::Shape> inputs, std::size_t) {
        return inputs[0].size();
    }
    static void each_weight(ps::Shape input, auto const& visit) {
        visit("gain", ps::WeightDims{input.c}, ps::WeightValues::finite);
        visit("shift", ps::WeightDims{input.c}, ps::WeightValues::finite);
    }
    template <class Arch, ps::StridedLayout L>
    void run(ps::OpArgs const& args) const noexcept {
        const std::size_t size = args.dst_shape.size(), c = static_cast<std::size_t>(args.dst_shape.c);
        for (std::size_t image = 0; image < static_cast<std::size_t>(args.batch); ++image) {
            const std::size_t first = image * size;
            for (std::size_t i = 0; i < size; ++i) args.scratch[i] = args.src[0][first + i] * args.weights[i % c];
            for (std::size_t i = 0; i < size; ++i)
                args.dst[first + i] = args.scratch[i] + args.src[1][first + i] + args.weights[c + i % c];
        }
    }
};

/// x * factor, in place.
struct Times {
    static constexpr std::string_view name = "times";
    static constexpr bool in_place = true;
    float factor = 2.0F;

    constexpr void each_field(auto const& visit) const { visit("factor", factor); }
    [[nodiscard]] static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    template <class Arch, class L>
    void run(ps::OpArgs const& args) const noexcept {
        const std::size_t size = args.dst_shape.size() * static_cast<std::size_t>(args.batch);
        for (std::size_t i = 0; i < size; ++i) args.dst[i] = args.src[0][i] * factor;
    }
    friend bool operator==(Times const&, Times const&) = default;
};

}  // namespace own
