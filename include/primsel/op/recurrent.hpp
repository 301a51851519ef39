#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/layer/recurrent.hpp>
#include <primsel/op/detail/dense_panels.hpp>
#include <primsel/op/detail/gates.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// Returns the function of a gate at x.
template <class Arch>
[[nodiscard]] Floats<Arch> apply_gate(GateFunction function, float a, float b, Floats<Arch> const& x) noexcept {
    using V = Floats<Arch>;
    const V alpha(a), beta(b);
    switch (function) {
        case GateFunction::sigmoid:
            return quotient<Arch>(V(1.0F), V(1.0F) + exp<Arch>(-x));
        case GateFunction::tanh:
            return hyperbolic_tangent<Arch>(x);
        case GateFunction::relu:
            return clamp<Arch>(x, V(relu_clamp.low), V(relu_clamp.high));
        case GateFunction::affine:
            return fma<Arch>(alpha, x, beta);
        case GateFunction::leaky_relu:
            return xsimd::select(x < V(0.0F), alpha * x, x);
        case GateFunction::thresholded_relu:
            return xsimd::select(x < alpha, V(0.0F), x);
        case GateFunction::scaled_tanh:
            return alpha * hyperbolic_tangent<Arch>(beta * x);
        case GateFunction::hard_sigmoid:
            return clamp<Arch>(fma<Arch>(alpha, x, beta), V(0.0F), V(1.0F));
        case GateFunction::elu:
            return xsimd::select(x < V(0.0F), alpha * exp_minus_one<Arch>(min<Arch>(V(0.0F), x)), x);
        case GateFunction::softsign:
            return quotient<Arch>(x, V(1.0F) + xsimd::abs(x));
        default:
            return softplus<Arch>(x);
    }
}

}  // namespace op::detail

/// Step by step, h of some sequences meets the packed weights as images meet those of a dense layer; then gates are
/// computed sequence by sequence. No sum depends on how many steps or sequences there are, so a sequence that is given
/// step by step has the same results.
template <>
struct Op<RecurrentParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(RecurrentParams const& params, std::span<const Shape> inputs, Shape output) {
        const Extents e(params, inputs[0]);
        // A function takes some 18 operations.
        const double of_gates = params.kind == RecurrentKind::lstm  ? 5 * 18 + 16
                                : params.kind == RecurrentKind::gru ? 3 * 18 + 12
                                                                    : 18 + 4;
        const auto columns = static_cast<double>((e.hidden + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>);
        OpCounts counts = e.sequences == 1 ? Panels::work<Arch>(e.width, e.hidden)
                                           : Panels::work_of_batch<Arch>(e.width, e.hidden, e.sequences);
        const auto steps = static_cast<double>(e.steps), sequences = static_cast<double>(e.sequences);
        counts.operations = steps * (counts.operations + sequences * of_gates * columns);
        counts.rows = steps * (counts.rows + sequences);
        counts.bytes = sizeof(float) * static_cast<double>(inputs[0].size() + output.size());
        // Weights that L2 does not keep are read again in every step.
        const double weights = sizeof(float) * static_cast<double>(e.width * e.hidden);
        if (e.width * e.hidden > static_cast<std::size_t>(l2_floats)) counts.bytes += (steps - 1) * weights;
        return counts;
    }
    [[nodiscard]] static std::size_t packed_floats(RecurrentParams const& params, Shape input) {
        return params.reads_weights ? 0 : floats_of_parts(params, Extents(params, input));
    }
    /// Every step of every sequence meets the same weights.
    [[nodiscard]] static Shape packed_for(RecurrentParams const&, Shape input) {
        return {.c = 1, .h = 1, .w = input.w};
    }
    template <StridedLayout L>
        requires std::same_as<L, chw>
    static void pack(RecurrentParams const& params, Shape input, OpWeights const& weights, float* dst) {
        const Extents e(params, input);
        for (const Part part : parts(params, e)) {
            const OpWeights some{weights.kernel.subspan(part.first * e.hidden, part.outputs * e.hidden),
                                 weights.bias.empty() ? weights.bias : weights.bias.subspan(part.first, part.outputs)};
            std::fill_n(dst, part.packed, 0.0F);
            Panels::pack<chw>({.k = static_cast<int>(part.outputs)}, state_of(e), some, dst);
            dst += part.packed;
        }
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(RecurrentParams const& params, std::span<const Shape> inputs,
                                                    std::size_t workers) {
        const Extents e(params, inputs[0]);
        return (params.reads_weights ? floats_of_parts(params, e) : 0) + workers * worker_floats(e);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(RecurrentParams const& params, OpArgs const& given) noexcept {
        const Extents e(params, given.src_shape[0]);
        OpArgs args = given;
        if (params.reads_weights) {
            const std::size_t at = params.input_count() - (params.bias ? 2 : 1);
            const std::span<const float> kernel(args.src[at], e.width * e.hidden);
            pack<chw>(params, args.src_shape[0],
                      {kernel, params.bias ? std::span(args.src[at + 1], e.width) : std::span<const float>()},
                      args.scratch);
            args.weights = args.scratch;
            args.scratch += floats_of_parts(params, e);
        }
        const std::size_t count = static_cast<std::size_t>(args.batch) * e.sequences,
                          blocks = (count + together - 1) / together, each = (count + blocks - 1) / blocks;
        if (blocks == 1 && e.width * e.hidden * count >= enough) {
            return Sequences<Arch>(params, args, e, 0, count, args.scratch, args.executor).run();
        }
        args.executor.parallel_for(blocks, [&, each, count](std::size_t block, std::size_t worker) {
            Sequential alone;
            const std::size_t first = block * each;
            if (first >= count) return;
            Sequences<Arch>(params, args, e, first, std::min(each, count - first),
                            args.scratch + worker * worker_floats(e), alone)
                .run();
        });
    }

private:
    using Panels = op::detail::DensePanels<float>;
    /// The sequences that meet weights at a time: what tiles of dense layers take.
    static constexpr std::size_t together = 12;
    /// Panels of so many weights are work for several threads within a step.
    static constexpr std::size_t enough = std::size_t{1} << 18;

    struct Extents {
        std::size_t steps, sequences, width, hidden;
        Extents(RecurrentParams const& params, Shape input)
            : steps(static_cast<std::size_t>(input.c)),
              sequences(static_cast<std::size_t>(input.h)),
              width(static_cast<std::size_t>(input.w)),
              hidden(static_cast<std::size_t>(params.hidden(input))) {}
    };
    /// The products of h, the cells of an lstm or r * h of a gru, and h.
    [[nodiscard]] static std::size_t worker_floats(Extents const& e) {
        return round_up_floats(together * (e.width + 2 * e.hidden));
    }
    [[nodiscard]] static Shape state_of(Extents const& e) { return {.c = static_cast<int>(e.hidden), .h = 1, .w = 1}; }

    /// Rows of the weights that are packed as one matrix. What a gru multiplies by r * h is one of its own.
    struct Part {
        std::size_t first, outputs, packed;
    };
    [[nodiscard]] static std::array<Part, 2> parts(RecurrentParams const& params, Extents const& e) {
        const bool is_split = params.kind == RecurrentKind::gru && !params.resets_product;
        const std::size_t first = is_split ? 2 * e.hidden : e.width, rest = e.width - first;
        const auto floats = [&](std::size_t outputs) {
            return outputs == 0 ? 0 : floats_for_bytes(Panels::packed_bytes(outputs, e.hidden));
        };
        return {Part{0, first, floats(first)}, Part{first, rest, floats(rest)}};
    }

    [[nodiscard]] static std::size_t floats_of_parts(RecurrentParams const& params, Extents const& e) {
        std::size_t floats = 0;
        for (const Part part : parts(params, e)) floats += part.packed;
        return floats;
    }

    /// Some sequences of the batch, and their states.
    template <class Arch>
    class Sequences {
        using V = Floats<Arch>;
        static constexpr std::size_t width = lanes<Arch>;

    public:
        Sequences(RecurrentParams const& params, OpArgs const& args, Extents const& extents, std::size_t first,
                  std::size_t count, float* room, ExecutorRef executor) noexcept
            : p_(params),
              args_(args),
              e_(extents),
              count_(count),
              executor_(executor),
              products_(room),
              cells_(room + count * extents.width),
              h_(cells_ + count * extents.hidden) {
            std::size_t at = 1;
            const auto next = [&](bool is_there) { return is_there ? at++ : std::size_t{0}; };
            const std::size_t start = next(p_.starts_h), start_cell = next(p_.starts_cell),
                              length = next(p_.has_lengths), peephole = next(p_.has_peepholes);
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t image = (first + i) / e_.sequences, sequence = (first + i) % e_.sequences;
                const auto input = [&](std::size_t k, std::size_t offset) {
                    return args_.src[k] + image * args_.src_shape[k].size() + offset;
                };
                src_[i] = input(0, sequence * e_.width);
                dst_[i] = args_.dst + image * args_.dst_shape.size() + sequence * e_.hidden;
                peepholes_[i] = peephole == 0 ? nullptr : input(peephole, 0);
                steps_[i] = length == 0 ? e_.steps : steps_of(*input(length, sequence));
                longest_ = std::max(longest_, steps_[i]);
                const auto begin = [&](float* state, std::size_t k) {
                    if (k == 0) return std::fill_n(state, e_.hidden, 0.0F), void();
                    std::copy_n(input(k, sequence * e_.hidden), e_.hidden, state);
                };
                begin(h_ + i * e_.hidden, start);
                begin(cells_ + i * e_.hidden, start_cell);
            }
        }

        void run() noexcept {
            const bool usual = is_usual();
            for (std::size_t step = 0; step < longest_; ++step) {
                switch (p_.kind) {
                    case RecurrentKind::lstm:
                        multiply(0, h_, products_);
                        for_unfinished(step, [&](std::size_t i, const float* x, float* y) {
                            usual ? lstm<true>(i, x, y) : lstm<false>(i, x, y);
                        });
                        break;
                    case RecurrentKind::gru:
                        usual ? gru<true>(step) : gru<false>(step);
                        break;
                    case RecurrentKind::rnn:
                        multiply(0, h_, products_);
                        for_unfinished(step, [this](std::size_t i, const float* x, float* y) { rnn(i, x, y); });
                }
            }
            finish();
        }

    private:
        /// NaN is no step.
        [[nodiscard]] std::size_t steps_of(float length) const noexcept {
            const auto most = static_cast<float>(e_.steps);
            return length >= most ? e_.steps : length > 0.0F ? static_cast<std::size_t>(length) : 0;
        }
        [[nodiscard]] float* result(std::size_t i, std::size_t channel) const noexcept {
            return dst_[i] + channel * e_.sequences * e_.hidden;
        }
        /// Calls f(i, x, y) for each sequence that has that step: its products of the input, and where h goes, which
        /// may be nowhere.
        template <class F>
        void for_unfinished(std::size_t step, F const& f) const noexcept {
            for (std::size_t i = 0; i < count_; ++i) {
                if (step >= steps_[i]) continue;
                const std::size_t at = p_.reverse ? steps_[i] - 1 - step : step;
                f(i, src_[i] + at * e_.sequences * e_.width, p_.gives_all ? result(i, at) : nullptr);
            }
        }
        /// Multiplies the rows at src, one a sequence, by a part of the weights.
        void multiply(std::size_t part, const float* src, float* dst) const noexcept {
            const auto all = parts(p_, e_);
            const float* const weights = args_.weights + (part == 0 ? 0 : all[0].packed);
            if (count_ == 1 && e_.width * e_.hidden < enough) {
                return Panels::run_short<Arch>(all[part].outputs, e_.hidden, src, weights, dst);
            }
            const Shape state = state_of(e_);
            const int outputs = static_cast<int>(all[part].outputs);
            Panels::run<Arch>({.k = outputs}, {.src = {&src, 1},
                                               .src_shape = {&state, 1},
                                               .dst = dst,
                                               .dst_shape = {.c = outputs, .h = 1, .w = 1},
                                               .batch = static_cast<int>(count_),
                                               .weights = weights,
                                               .executor = executor_});
        }

        [[nodiscard]] PRIMSEL_INLINE V clipped(V const& x) const noexcept {
            return clamp<Arch>(x, V(-p_.clip), V(p_.clip));
        }
        template <bool usual>
        [[nodiscard]] PRIMSEL_INLINE V f(V const& x) const noexcept {
            if constexpr (usual) return op::detail::apply_gate<Arch>(GateFunction::sigmoid, 0, 0, x);
            return op::detail::apply_gate<Arch>(p_.f, p_.alpha[0], p_.beta[0], clipped(x));
        }
        template <bool usual>
        [[nodiscard]] PRIMSEL_INLINE V g(V const& x) const noexcept {
            if constexpr (usual) return op::detail::apply_gate<Arch>(GateFunction::tanh, 0, 0, x);
            return op::detail::apply_gate<Arch>(p_.g, p_.alpha[1], p_.beta[1], clipped(x));
        }
        template <bool usual>
        [[nodiscard]] PRIMSEL_INLINE V of_cell(V const& x) const noexcept {
            if constexpr (usual) return op::detail::apply_gate<Arch>(GateFunction::tanh, 0, 0, x);
            return op::detail::apply_gate<Arch>(p_.h, p_.alpha[2], p_.beta[2], x);
        }
        /// Whether gates have the functions that they have by default. Those are compiled without tests, which take as
        /// long as the functions of a few units.
        [[nodiscard]] bool is_usual() const noexcept {
            return p_.f == GateFunction::sigmoid && p_.g == GateFunction::tanh && p_.h == GateFunction::tanh &&
                   p_.clip == std::numeric_limits<float>::infinity();
        }

        /// Calls each(at, n) for vectors that cover the hidden units.
        template <class F>
        PRIMSEL_INLINE void for_units(F const& each) const noexcept {
            for (std::size_t at = 0; at < e_.hidden; at += width) each(at, e_.hidden - at);
        }
        [[nodiscard]] PRIMSEL_INLINE static V take(const float* src, std::size_t n) noexcept {
            return op::detail::load_up_to<Arch>(src, n);
        }
        PRIMSEL_INLINE static void give(float* state, float* y, std::size_t at, V const& value,
                                        std::size_t n) noexcept {
            op::detail::store_up_to<Arch>(state + at, value, n);
            if (y != nullptr) op::detail::store_up_to<Arch>(y + at, value, n);
        }

        template <bool usual>
        void lstm(std::size_t i, const float* x, float* y) const noexcept {
            const std::size_t size = e_.hidden;
            const float *const s = products_ + i * e_.width, *const peephole = peepholes_[i];
            float *const cells = cells_ + i * size, *const h = h_ + i * size;
            for_units([&](std::size_t at, std::size_t n) PRIMSEL_INLINE_LAMBDA {
                const auto sum = [&](std::size_t gate) PRIMSEL_INLINE_LAMBDA {
                    return take(x + gate * size + at, n) + take(s + gate * size + at, n);
                };
                const auto peeped = [&](std::size_t gate, V const& cell) PRIMSEL_INLINE_LAMBDA {
                    if (peephole == nullptr) return sum(gate);
                    return fma<Arch>(take(peephole + gate * size + at, n), cell, sum(gate));
                };
                const V old = take(cells + at, n), in = f<usual>(peeped(0, old)),
                        kept = p_.couples_gates ? V(1.0F) - in : f<usual>(peeped(2, old)),
                        cell = fma<Arch>(kept, old, in * g<usual>(sum(3))), out = f<usual>(peeped(1, cell));
                op::detail::store_up_to<Arch>(cells + at, cell, n);
                give(h, y, at, out * of_cell<usual>(cell), n);
            });
        }
        template <bool usual>
        void gru(std::size_t step) const noexcept {
            const std::size_t size = e_.hidden;
            multiply(0, h_, products_);
            if (!p_.resets_product) {
                // Behind z and r, row by row, lies what r * h is multiplied to.
                for_unfinished(step, [&](std::size_t i, const float* x, float*) {
                    const float* const s = products_ + i * 2 * size + size;
                    for_units([&](std::size_t at, std::size_t n) PRIMSEL_INLINE_LAMBDA {
                        const V r = f<usual>(take(x + size + at, n) + take(s + at, n));
                        op::detail::store_up_to<Arch>(cells_ + i * size + at, r * take(h_ + i * size + at, n), n);
                    });
                });
                multiply(1, cells_, products_ + count_ * 2 * size);
            }
            for_unfinished(step, [&](std::size_t i, const float* x, float* y) {
                const float* const s = products_ + i * (p_.resets_product ? 3 : 2) * size;
                const float* const of_h = p_.resets_product ? s + 2 * size : products_ + (count_ * 2 + i) * size;
                float* const h = h_ + i * size;
                for_units([&](std::size_t at, std::size_t n) PRIMSEL_INLINE_LAMBDA {
                    const V old = take(h + at, n), z = f<usual>(take(x + at, n) + take(s + at, n)),
                            x_h = take(x + 2 * size + at, n);
                    V sum = x_h + take(of_h + at, n);
                    if (p_.resets_product) {
                        const V r = f<usual>(take(x + size + at, n) + take(s + size + at, n));
                        sum = fma<Arch>(r, take(of_h + at, n), x_h);
                    }
                    const V entering = g<usual>(sum);
                    give(h, y, at, fma<Arch>(z, old - entering, entering), n);
                });
            });
        }
        void rnn(std::size_t i, const float* x, float* y) const noexcept {
            const float* const s = products_ + i * e_.width;
            for_units([&](std::size_t at, std::size_t n) PRIMSEL_INLINE_LAMBDA {
                give(h_ + i * e_.hidden, y, at, f<false>(take(x + at, n) + take(s + at, n)), n);
            });
        }

        /// Writes the last states, and zeros for the steps that a sequence does not have.
        void finish() const noexcept {
            for (std::size_t i = 0; i < count_; ++i) {
                std::size_t channel = 0;
                if (p_.gives_all) {
                    for (std::size_t step = steps_[i]; step < e_.steps; ++step) {
                        std::fill_n(result(i, step), e_.hidden, 0.0F);
                    }
                    channel = e_.steps;
                }
                const auto last = [&](const float* state) {
                    float* const to = result(i, channel++);
                    if (steps_[i] == 0) return std::fill_n(to, e_.hidden, 0.0F), void();
                    std::copy_n(state, e_.hidden, to);
                };
                if (p_.gives_last) last(h_ + i * e_.hidden);
                if (p_.gives_cell) last(cells_ + i * e_.hidden);
            }
        }

        RecurrentParams const& p_;
        OpArgs const& args_;
        Extents const e_;
        std::size_t count_, longest_ = 0;
        ExecutorRef executor_;
        float *products_, *cells_, *h_;
        const float *src_[together], *peepholes_[together];
        float* dst_[together];
        std::size_t steps_[together];
    };
};

}  // namespace primsel::inline PRIMSEL_ABI
