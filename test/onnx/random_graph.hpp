// Small graphs of every kind of layer, drawn at random.
#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace random_graph {

namespace ps = primsel;

class Drawing {
public:
    explicit Drawing(unsigned seed, int batch) : bits_(seed), graph_(batch) {
        const int inputs = pick(1, 2);
        for (int i = 0; i < inputs; ++i) add(ps::InputParams{shape()}, {});
    }

    ps::Graph draw(int layers) {
        while (static_cast<int>(graph_.size()) < layers) grow();
        std::vector<std::size_t> outputs;
        const std::vector<std::size_t> uses = graph_.uses();
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            // The last counts as a result until there are others.
            if (uses[i] == 0 || i + 1 == graph_.size()) outputs.push_back(i);
        }
        while (pick(0, 1) == 1) outputs.push_back(any());
        graph_.set_outputs(outputs);
        return graph_;
    }

private:
    static constexpr std::size_t largest = 3000;  // floats of a layer's result
    static constexpr std::size_t none = ~std::size_t{0};

    int pick(int low, int high) { return std::uniform_int_distribution(low, high)(bits_); }
    float real(float low, float high) { return std::uniform_real_distribution(low, high)(bits_); }
    ps::Shape shape() { return {.c = pick(1, 6), .h = pick(1, 8), .w = pick(1, 8)}; }
    ps::Extent extent(int high) { return {pick(1, high), pick(1, high)}; }
    ps::Padding padding(int high) { return {pick(0, high), pick(0, high), pick(0, high), pick(0, high)}; }
    ps::Axis axis() { return static_cast<ps::Axis>(pick(0, 2)); }
    std::size_t any() { return static_cast<std::size_t>(pick(0, static_cast<int>(graph_.size()) - 1)); }
    ps::Shape shape_of(std::size_t at) const { return graph_[at].shape; }

    /// The new layer's position; none where it does not fit its inputs, or one of these did not fit its own.
    std::size_t add(ps::AnyLayer layer, std::vector<std::size_t> inputs, ps::Epilogue epilogue = {}) {
        std::vector<ps::Shape> shapes;
        for (const std::size_t input : inputs) {
            if (input == none) return none;
            shapes.push_back(shape_of(input));
        }
        if (epilogue.residual) shapes.pop_back();
        if (ps::check(layer, shapes) != ps::Fault::none || ps::output(layer, shapes).size() > largest) return none;
        const std::string name = std::string(ps::layer_kind(layer)) + std::to_string(graph_.size());
        return graph_.add(name, std::move(layer), std::move(inputs), std::move(epilogue));
    }
    /// A layer of one shape: one that is there, or a constant.
    std::size_t alike(ps::Shape shape) {
        for (int attempt = 0; attempt < 4; ++attempt) {
            const std::size_t at = any();
            if (shape_of(at) == shape) return at;
        }
        return add(ps::ConstantParams{shape}, {});
    }
    std::size_t positive(std::size_t x) { return add(ps::ActivationParams{ps::ActivationKind::sigmoid}, {x}); }

    void grow() {
        const std::size_t x = any();
        const ps::Shape in = shape_of(x);
        const int divisor = in.c % 2 == 0 ? pick(1, 2) : 1;
        const ps::Clamp clamps[] = {{}, ps::relu_clamp, ps::relu6_clamp, {-0.5F, 0.75F}, {-1.0F, HUGE_VALF}};
        switch (pick(0, 26)) {
            case 0: {
                ps::ConvParams p{.k = divisor * pick(1, 4),
                                 .kernel = extent(3),
                                 .stride = extent(2),
                                 .padding = padding(2),
                                 .dilation = extent(2),
                                 .groups = divisor,
                                 .bias = pick(0, 1) == 1};
                const ps::Clamp clamp = clamps[pick(0, 4)];
                if (pick(0, 1) == 1 && p.check(std::vector{in}) == ps::Fault::none) {
                    const std::size_t other = alike(p.output(std::vector{in}));
                    add(p, {x, other}, {.residual = true, .clamp = clamp});
                    return;
                }
                add(p, {x}, {.clamp = clamp});
                return;
            }
            case 1:
                add(pool(), {x});
                return;
            case 2: {
                ps::MaxPoolIndicesParams p{pool()};
                p.pool.kind = ps::PoolKind::max, p.pool.count_include_pad = true;
                if (pick(0, 1) == 1) add(p.pool, {x});
                add(p, {x});
                if (pick(0, 1) == 1) add(p.pool, {x});
                return;
            }
            case 3:
                add(ps::GlobalPoolParams{pick(0, 1) == 1 ? ps::PoolKind::max : ps::PoolKind::average}, {x});
                return;
            case 4: {
                using enum ps::ActivationKind;
                ps::ActivationParams p{static_cast<ps::ActivationKind>(pick(0, 31))};
                if (p.kind == leaky_relu || p.kind == elu) p.alpha = real(0.0F, 1.0F);
                if (p.kind == hard_sigmoid || p.kind == clip) p.alpha = real(-1.0F, 0.0F), p.beta = real(0.0F, 1.0F);
                if (p.kind == power) p.alpha = real(-2.0F, 3.0F);
                add(p, {p.kind == sqrt ? positive(x) : x});
                return;
            }
            case 5:
                add(ps::LrnParams{pick(1, 5), real(0.1F, 1.0F), pick(0, 1) == 1 ? 0.75F : 0.5F, 1.0F}, {x});
                return;
            case 6:
                add(ps::BatchNormParams{1e-3F}, {x});
                return;
            case 7:
                add(ps::ScaleParams{}, {x});
                return;
            case 8:
                add(ps::DenseParams{pick(1, 8), pick(0, 1) == 1}, {x}, {.clamp = clamps[pick(0, 4)]});
                return;
            case 9:
                add(ps::SoftmaxParams{axis()}, {x});
                return;
            case 10: {
                const std::size_t y = alike(in);
                if (pick(0, 1) == 1)
                    add(ps::AddParams{}, {x, y}, {.clamp = clamps[pick(0, 4)]});
                else
                    add(ps::AddParams{}, {y, x, x}, {.clamp = clamps[pick(0, 4)]});
                return;
            }
            case 11: {
                const ps::Axis along = axis();
                ps::Shape other = in;
                ps::extent(other, along) = pick(1, 3);
                const std::size_t y = alike(other);
                add(ps::ConcatParams{along}, pick(0, 3) == 0 ? std::vector{x} : std::vector{y, x, y});
                return;
            }
            case 12:
                add(ps::FlattenParams{}, {x});
                return;
            case 13:
                add(ps::DropoutParams{}, {x});
                return;
            case 14: {
                ps::PadParams p{padding(2), real(-1.0F, 1.0F), static_cast<ps::PadMode>(pick(0, 2))};
                if (p.mode == ps::PadMode::constant && pick(0, 1) == 1) p.front = pick(0, 2), p.back = pick(0, 2);
                if (p.mode != ps::PadMode::constant) p.value = 0.0F;
                add(p, {x});
                return;
            }
            case 15:
                add(ps::ChannelShuffleParams{divisor}, {x});
                return;
            case 16: {
                const ps::Axis along = axis();
                const int first = pick(0, ps::extent(in, along) - 1);
                add(ps::SliceParams{first, pick(first + 1, ps::extent(in, along)), along}, {x});
                return;
            }
            case 17:
                add(ps::ReshapeParams{{.c = in.h, .h = in.w, .w = in.c}}, {x});
                return;
            case 18:
            case 19:
                add(strided(in), {x});
                return;
            case 20: {
                const auto kind = static_cast<ps::BinaryKind>(pick(0, 13));
                ps::Shape other = in;
                for (const ps::Axis a : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
                    if (ps::extent(in, a) == 1) ps::extent(other, a) = pick(1, 3);
                    if (pick(0, 1) == 1) ps::extent(other, a) = 1;
                }
                std::size_t y = alike(other);
                if (kind == ps::BinaryKind::divide) y = positive(y);
                const bool swapped = kind != ps::BinaryKind::divide && pick(0, 1) == 1;
                add(ps::BinaryParams{kind}, swapped ? std::vector{y, x} : std::vector{x, y});
                return;
            }
            case 21:
                add(ps::MatMulParams{}, {x, alike({.c = pick(0, 1) == 1 ? in.c : 1, .h = in.w, .w = pick(1, 4)})});
                return;
            case 22:
                add(ps::ReduceParams{static_cast<ps::ReduceKind>(pick(0, 3)), axis()}, {x});
                return;
            case 23:
                add(ps::ResizeParams{.size = extent(9),
                                     .mode = static_cast<ps::ResizeMode>(pick(0, 2)),
                                     .coordinates = static_cast<ps::ResizeCoordinates>(pick(0, 3)),
                                     .rounding = static_cast<ps::ResizeRounding>(pick(0, 3))},
                    {x});
                return;
            case 24: {
                ps::ConvTransposeParams p{.k = divisor * pick(1, 3),
                                          .kernel = extent(3),
                                          .stride = extent(3),
                                          .padding = padding(1),
                                          .dilation = extent(2),
                                          .groups = divisor,
                                          .bias = pick(0, 1) == 1};
                p.extra_h = pick(0, p.stride.h - 1), p.extra_w = pick(0, p.stride.w - 1);
                add(p, {x});
                return;
            }
            case 25:
                add(ps::TopKParams{pick(1, in.w), pick(0, 1) == 1, pick(0, 1) == 1}, {x});
                return;
            default:
                if (pick(0, 5) == 0) add(ps::ConstantParams{shape()}, {});
                return;
        }
    }

    ps::PoolParams pool() {
        const bool max = pick(0, 1) == 1, dilated = max && pick(0, 1) == 1;
        // A dilated window could step over the image: nothing would be its maximum.
        return {.kind = max ? ps::PoolKind::max : ps::PoolKind::average,
                .window = extent(3),
                .stride = extent(3),
                .padding = dilated ? ps::Padding() : padding(1),
                .ceil_mode = pick(0, 1) == 1,
                .count_include_pad = max || pick(0, 1) == 1,
                .dilation = dilated ? ps::Extent(2) : ps::Extent(1)};
    }

    /// A permutation, a flip, a slice with steps, a repetition, or overlapping windows.
    ps::AsStridedParams strided(ps::Shape in) {
        const int extents[] = {in.c, in.h, in.w};
        const std::ptrdiff_t strides[] = {std::ptrdiff_t{in.h} * in.w, in.w, 1};
        std::vector<int> order{0, 1, 2};
        std::shuffle(order.begin(), order.end(), bits_);
        ps::AsStridedParams p;
        const int what = pick(0, 4);
        if (what == 4) {
            const int size = static_cast<int>(in.size()), window = std::min(size, 3);
            p.dims = {size - window + 1, window};
            p.strides[0] = p.strides[1] = 1;
        } else {
            for (std::size_t i = 0; i < 3; ++i) {
                const auto axis = static_cast<std::size_t>(order[i]);
                int step = what == 1 ? pick(1, 2) : 1, first = what >= 1 ? pick(0, extents[axis] - 1) : 0;
                const int count = (extents[axis] - first + step - 1) / step;
                if (what == 2 && pick(0, 1) == 1) first += (count - 1) * step, step = -step;
                p.dims.push_back(count);
                p.strides[i] = step * strides[axis];
                p.offset += first * strides[axis];
            }
            if (what == 3) p.dims.push_back(pick(1, 3));
        }
        int rest = static_cast<int>(p.dims.size());
        p.shape.c = p.dims[0];
        rest /= p.shape.c;
        p.shape.h = p.dims[1];
        p.shape.w = rest / p.shape.h;
        return p;
    }

    std::mt19937 bits_;
    ps::Graph graph_;
};

/// The same for the same seed.
inline ps::Graph draw(unsigned seed, int layers, int batch = 1) { return Drawing(seed, batch).draw(layers); }

}  // namespace random_graph
