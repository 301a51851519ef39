#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/layer/gradient.hpp>
#include <primsel/op/matmul.hpp>
#include <primsel/op/op.hpp>
#include <primsel/op/recurrent.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Recomputes the inputs of the gates step by step, then runs backpropagation through time from the last step (Werbos
/// 1990). Some sequences at a time are the rows of each matrix product.
template <>
struct Op<RecurrentGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(RecurrentGradientParams const& params, std::span<const Shape> inputs,
                                       Shape output) {
        const Extents e(params.recurrent, inputs[0]);
        const std::array<Shape, 2> forward{rows(e.sequences, e.hidden), rows(e.hidden, e.width)},
            back{rows(e.sequences, e.width), rows(e.width, e.hidden)};
        const OpCounts first = Op<MatMulParams>::work<Arch, L>({}, forward, rows(e.sequences, e.width)),
                       second = Op<MatMulParams>::work<Arch, L>({}, back, rows(e.sequences, e.hidden));
        const auto steps = static_cast<double>(e.steps), units = static_cast<double>(e.sequences * e.width);
        return {.operations = steps * (first.operations + second.operations + 60 * units),
                .rows = steps * (first.rows + second.rows + 4 * static_cast<double>(e.sequences)),
                .bytes = sizeof(float) * static_cast<double>(2 * inputs[0].size() + 3 * output.size())};
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(RecurrentGradientParams const& params,
                                                    std::span<const Shape> inputs, std::size_t workers) {
        const Extents e(params.recurrent, inputs[0]);
        return e.transposed() + workers * e.template of_worker<Arch>();
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(RecurrentGradientParams const& params, OpArgs const& args) noexcept {
        RecurrentParams const& p = params.recurrent;
        const Extents e(p, args.src_shape[0]);
        const float* const kernel = args.src[p.input_count() - (p.bias ? 2 : 1)];
        // A gru multiplies r * h by a matrix of its own.
        const std::size_t first = e.of_h(p);
        const auto transpose = [&](std::size_t begin, std::size_t count) {
            transpose_columns(kernel + begin * e.hidden, e.hidden, args.scratch + begin * e.hidden, count, count, 0,
                              e.hidden);
        };
        transpose(0, first);
        if (first < e.width) transpose(first, e.width - first);
        const std::size_t count = static_cast<std::size_t>(args.batch) * e.sequences,
                          blocks = (count + together - 1) / together, each = (count + blocks - 1) / blocks;
        args.executor.parallel_for(blocks, [&, each, count](std::size_t block, std::size_t worker) {
            const std::size_t begin = block * each;
            if (begin >= count) return;
            float* const room = args.scratch + e.transposed() + worker * e.template of_worker<Arch>();
            Sequences<Arch>(p, args, e, begin, std::min(each, count - begin), room).run();
        });
    }

private:
    /// The sequences that meet weights at a time.
    static constexpr std::size_t together = 18;

    [[nodiscard]] static Shape rows(std::size_t count, std::size_t width) {
        return {.c = 1, .h = static_cast<int>(count), .w = static_cast<int>(width)};
    }

    struct Extents {
        std::size_t steps, sequences, width, hidden, row;
        bool has_cell;
        Extents(RecurrentParams const& params, Shape input)
            : steps(static_cast<std::size_t>(input.c)),
              sequences(static_cast<std::size_t>(input.h)),
              width(static_cast<std::size_t>(input.w)),
              hidden(static_cast<std::size_t>(params.hidden(input))),
              row(width + (params.kind == RecurrentKind::gru ? 2 : 1) * hidden),
              has_cell(params.kind == RecurrentKind::lstm) {}

        [[nodiscard]] std::size_t transposed() const { return round_up_floats(width * hidden); }
        /// The columns of the gates whose weights multiply h; those after them multiply r * h.
        [[nodiscard]] std::size_t of_h(RecurrentParams const& params) const {
            return params.kind == RecurrentKind::gru && !params.resets_product ? 2 * hidden : width;
        }
        [[nodiscard]] std::size_t cells() const { return has_cell ? (steps + 1) * together * hidden : 0; }
        template <class Arch>
        [[nodiscard]] std::size_t of_matmul() const {
            const std::array<Shape, 2> forward{rows(together, hidden), rows(hidden, width)},
                back{rows(together, width), rows(width, hidden)};
            return std::max(Op<MatMulParams>::scratch_floats<Arch>({}, forward, 1),
                            Op<MatMulParams>::scratch_floats<Arch>({}, back, 1));
        }
        /// h, its gradient, that of the cell, the part of it that bypasses the weights, two products of n columns, the
        /// products of the gates, all cells.
        template <class Arch>
        [[nodiscard]] std::size_t of_worker() const {
            return round_up_floats(together * (6 * hidden + width) + cells()) + of_matmul<Arch>();
        }
    };

    /// Returns the slope of a gate's function at x, where its value is y.
    template <class Arch>
    [[nodiscard]] static Floats<Arch> slope(GateFunction function, float a, float b, Floats<Arch> const& x,
                                            Floats<Arch> const& y) noexcept {
        using V = Floats<Arch>;
        const V alpha(a), one(1.0F), zero(0.0F);
        switch (function) {
            case GateFunction::sigmoid:
                return y * (one - y);
            case GateFunction::tanh:
                return fma<Arch>(-y, y, one);
            case GateFunction::relu:
                return xsimd::select(x > zero, one, zero);
            case GateFunction::affine:
                return alpha;
            case GateFunction::leaky_relu:
                return xsimd::select(x < zero, alpha, one);
            case GateFunction::thresholded_relu:
                return xsimd::select(x < alpha, zero, one);
            case GateFunction::scaled_tanh: {
                const V tanh = op::detail::hyperbolic_tangent<Arch>(V(b) * x);
                return alpha * V(b) * fma<Arch>(-tanh, tanh, one);
            }
            case GateFunction::hard_sigmoid:
                return xsimd::select(y > zero && y < one, alpha, zero);
            case GateFunction::elu:
                return xsimd::select(x < zero, y + alpha, one);
            case GateFunction::softsign: {
                const V inverse = quotient<Arch>(one, one + xsimd::abs(x));
                return inverse * inverse;
            }
            default:
                return quotient<Arch>(one, one + exp<Arch>(-x));
        }
    }

    /// Some sequences of the batch.
    template <class Arch>
    class Sequences {
        using V = Floats<Arch>;

    public:
        Sequences(RecurrentParams const& params, OpArgs const& args, Extents const& extents, std::size_t first,
                  std::size_t count, float* room) noexcept
            : p_(params), args_(args), e_(extents), count_(count), n_(extents.hidden) {
            const auto next_room = [&](std::size_t columns) { return std::exchange(room, room + columns * together); };
            h_ = next_room(n_), dh_ = next_room(n_), dcell_ = next_room(n_), kept_ = next_room(n_);
            product_ = next_room(n_), reset_ = next_room(n_), of_weights_ = next_room(e_.width);
            cells_ = std::exchange(room, room + e_.cells());
            matmul_ = room;
            std::size_t at = 1;
            const auto next = [&](bool is_there) { return is_there ? at++ : std::size_t{0}; };
            const std::size_t start = next(p_.starts_h), start_cell = next(p_.starts_cell),
                              length = next(p_.has_lengths), peephole = next(p_.has_peepholes);
            kernel_ = args_.src[at];
            bias_ = p_.bias ? args_.src[at + 1] : nullptr;
            const std::size_t dy = p_.input_count();
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t image = (first + i) / e_.sequences, sequence = (first + i) % e_.sequences;
                const auto input = [&](std::size_t k, std::size_t offset) {
                    return args_.src[k] + image * args_.src_shape[k].size() + offset;
                };
                x_[i] = input(0, sequence * e_.width);
                dy_[i] = input(dy, sequence * n_);
                dst_[i] = args_.dst + image * args_.dst_shape.size() + sequence * e_.row;
                peepholes_[i] = peephole == 0 ? nullptr : input(peephole, 0);
                steps_[i] = length == 0 ? e_.steps : steps_of(*input(length, sequence));
                longest_ = std::max(longest_, steps_[i]);
                const auto begin = [&](float* state, std::size_t k) {
                    if (k == 0) return std::fill_n(state, n_, 0.0F), void();
                    std::copy_n(input(k, sequence * n_), n_, state);
                };
                begin(h_ + i * n_, start);
                if (e_.has_cell) begin(cell(i, 0), start_cell);
            }
        }

        void run() noexcept {
            for (std::size_t step = 0; step < longest_; ++step) forward(step);
            std::fill_n(dh_, count_ * n_, 0.0F);
            std::fill_n(dcell_, count_ * n_, 0.0F);
            for (std::size_t i = 0; i < count_; ++i) {
                for (std::size_t step = steps_[i]; step < e_.steps; ++step) std::fill_n(row(i, step), e_.row, 0.0F);
                std::fill_n(row(i, e_.steps), e_.row, 0.0F);
            }
            for (std::size_t step = longest_; step-- > 0;) back(step);
            for (std::size_t i = 0; i < count_; ++i) {
                float* const to = row(i, e_.steps);
                std::copy_n(dh_ + i * n_, n_, to);
                if (e_.has_cell) std::copy_n(dcell_ + i * n_, n_, to + n_);
            }
        }

    private:
        [[nodiscard]] std::size_t steps_of(float length) const noexcept {
            const auto most = static_cast<float>(e_.steps);
            return length >= most ? e_.steps : length > 0.0F ? static_cast<std::size_t>(length) : 0;
        }
        [[nodiscard]] std::size_t time(std::size_t i, std::size_t step) const noexcept {
            return p_.reverse ? steps_[i] - 1 - step : step;
        }
        /// The row of the result; that after the last step has the gradients of states.
        [[nodiscard]] float* row(std::size_t i, std::size_t time) const noexcept {
            return dst_[i] + time * e_.sequences * e_.row;
        }
        [[nodiscard]] float* cell(std::size_t i, std::size_t step) const noexcept {
            return cells_ + (step * count_ + i) * n_;
        }
        /// The columns of a row that h before the step, and what a gru has beside, take.
        [[nodiscard]] float* before(float* row) const noexcept { return row + e_.row - n_; }
        [[nodiscard]] float* beside(float* row) const noexcept { return row + e_.width; }

        /// The products of the sequences' rows and some columns of a matrix of `width` columns.
        void multiply(const float* src, std::size_t depth, const float* matrix, std::size_t width,
                      float* dst) noexcept {
            Sequential alone;
            const std::array<const float*, 2> factors{src, matrix};
            const std::array<Shape, 2> shapes{rows(count_, depth), rows(depth, width)};
            Op<MatMulParams>::run<Arch, chw>({}, {.src = factors,
                                                  .src_shape = shapes,
                                                  .dst = dst,
                                                  .dst_shape = rows(count_, width),
                                                  .batch = 1,
                                                  .scratch = matmul_,
                                                  .executor = alone});
        }
        template <class F>
        PRIMSEL_INLINE void for_units(F const& each) const noexcept {
            for (std::size_t at = 0; at < n_; at += lanes<Arch>) each(at, n_ - at);
        }
        template <class F>
        void for_unfinished(std::size_t step, F const& each) const noexcept {
            for (std::size_t i = 0; i < count_; ++i) {
                if (step < steps_[i]) each(i, row(i, time(i, step)));
            }
        }
        [[nodiscard]] PRIMSEL_INLINE static V take(const float* src, std::size_t n) noexcept {
            return op::detail::load_up_to<Arch>(src, n);
        }
        PRIMSEL_INLINE static void give(float* dst, V const& value, std::size_t n) noexcept {
            op::detail::store_up_to<Arch>(dst, value, n);
        }

        /// The value of a gate and its slope.
        struct Gate {
            V value, slope;
        };
        [[nodiscard]] static Gate gate_of(GateFunction function, float alpha, float beta, V const& x) noexcept {
            const V value = op::detail::apply_gate<Arch>(function, alpha, beta, x);
            return {value, slope<Arch>(function, alpha, beta, x, value)};
        }
        [[nodiscard]] Gate clipped(GateFunction function, std::size_t place, V const& x) const noexcept {
            const V bound(p_.clip);
            Gate gate = gate_of(function, p_.alpha[place], p_.beta[place], clamp<Arch>(x, -bound, bound));
            gate.slope = xsimd::select(xsimd::abs(x) <= bound, gate.slope, V(0.0F));
            return gate;
        }
        [[nodiscard]] Gate f(V const& x) const noexcept { return clipped(p_.f, 0, x); }
        [[nodiscard]] Gate g(V const& x) const noexcept { return clipped(p_.g, 1, x); }

        /// Writes what the gates get and h before the step; afterwards h_ is that of the step.
        void forward(std::size_t step) noexcept {
            const std::size_t of_h = e_.of_h(p_);
            multiply(h_, n_, args_.scratch, of_h, of_weights_);
            for_unfinished(step, [&](std::size_t i, float* to) {
                const float *const s = of_weights_ + i * of_h, *const x = x_of(i, step);
                std::copy_n(h_ + i * n_, n_, before(to));
                const std::size_t sums = p_.kind == RecurrentKind::gru ? 2 * n_ : e_.width;
                for (std::size_t at = 0; at < sums; at += lanes<Arch>) {
                    const std::size_t left = sums - at;
                    give(to + at, take(x + at, left) + take(s + at, left) + bias(at, left), left);
                }
                if (p_.kind == RecurrentKind::lstm) return step_lstm(i, step, to);
                for_units([&](std::size_t at, std::size_t n) {
                    const V h = take(h_ + i * n_ + at, n);
                    if (p_.kind == RecurrentKind::rnn) return give(h_ + i * n_ + at, f(take(to + at, n)).value, n);
                    if (p_.resets_product) {
                        const V sum = take(s + 2 * n_ + at, n) + bias(2 * n_ + at, n);
                        give(beside(to) + at, sum, n);
                        return step_gru(i, at, n, to,
                                        fma<Arch>(f(take(to + n_ + at, n)).value, sum, take(x + 2 * n_ + at, n)));
                    }
                    const V reset = f(take(to + n_ + at, n)).value * h;
                    give(beside(to) + at, reset, n), give(reset_ + i * n_ + at, reset, n);
                });
            });
            if (p_.kind != RecurrentKind::gru || p_.resets_product) return;
            multiply(reset_, n_, args_.scratch + of_h * n_, n_, product_);
            for_unfinished(step, [&](std::size_t i, float* to) {
                const float* const x = x_of(i, step);
                for_units([&](std::size_t at, std::size_t n) {
                    step_gru(i, at, n, to,
                             take(x + 2 * n_ + at, n) + take(product_ + i * n_ + at, n) + bias(2 * n_ + at, n));
                });
            });
        }
        [[nodiscard]] const float* x_of(std::size_t i, std::size_t step) const noexcept {
            return x_[i] + time(i, step) * e_.sequences * e_.width;
        }
        [[nodiscard]] V bias(std::size_t at, std::size_t n) const noexcept {
            return bias_ == nullptr ? V(0.0F) : take(bias_ + at, n);
        }
        void step_gru(std::size_t i, std::size_t at, std::size_t n, float* to, V const& sum) noexcept {
            give(to + 2 * n_ + at, sum, n);
            const V z = f(take(to + at, n)).value, entering = g(sum).value, h = take(h_ + i * n_ + at, n);
            give(h_ + i * n_ + at, fma<Arch>(z, h - entering, entering), n);
        }
        void step_lstm(std::size_t i, std::size_t step, float* to) noexcept {
            for_units([&](std::size_t at, std::size_t n) {
                const V old = take(cell(i, step) + at, n);
                const auto add_peephole = [&](std::size_t input, std::size_t gate, V const& of) {
                    if (peepholes_[i] == nullptr) return;
                    float* const sum = to + gate * n_ + at;
                    give(sum, fma<Arch>(take(peepholes_[i] + input * n_ + at, n), of, take(sum, n)), n);
                };
                add_peephole(0, 0, old), add_peephole(2, 2, old);
                const V in = f(take(to + at, n)).value,
                        kept = p_.couples_gates ? V(1.0F) - in : f(take(to + 2 * n_ + at, n)).value,
                        now = fma<Arch>(kept, old, in * g(take(to + 3 * n_ + at, n)).value);
                add_peephole(1, 1, now);
                const V out = f(take(to + n_ + at, n)).value;
                give(cell(i, step + 1) + at, now, n);
                give(h_ + i * n_ + at, out * op::detail::apply_gate<Arch>(p_.h, p_.alpha[2], p_.beta[2], now), n);
            });
        }

        /// Adds dy to dh_ and dcell_, and makes them those before the step. What the gates get becomes its gradient.
        void back(std::size_t step) noexcept {
            const std::size_t of_h = e_.of_h(p_);
            std::fill_n(of_weights_, count_ * of_h, 0.0F);
            std::fill_n(kept_, count_ * n_, 0.0F);
            std::fill_n(reset_, count_ * n_, 0.0F);
            for_unfinished(step, [&](std::size_t i, float* to) {
                add_results(i, step);
                for_units([&](std::size_t at, std::size_t n) {
                    float* const meets = of_weights_ + i * of_h + at;
                    switch (p_.kind) {
                        case RecurrentKind::lstm:
                            return back_lstm(i, step, at, n, to, meets);
                        case RecurrentKind::gru:
                            return back_gru(i, at, n, to, meets);
                        case RecurrentKind::rnn:
                            give_both(to + at, meets, take(dh_ + i * n_ + at, n) * f(take(to + at, n)).slope, n);
                    }
                });
            });
            if (p_.kind == RecurrentKind::gru && !p_.resets_product) back_reset(step);
            multiply(of_weights_, of_h, kernel_, n_, dh_);
            for_unfinished(step, [&](std::size_t i, float*) {
                for (std::size_t at = i * n_; at < (i + 1) * n_; ++at) dh_[at] += kept_[at];
            });
        }
        static void give_both(float* to, float* meets, V const& value, std::size_t n) noexcept {
            give(to, value, n), give(meets, value, n);
        }
        /// Adds the gradients of what the layer has as results in this step.
        void add_results(std::size_t i, std::size_t step) const noexcept {
            const auto add = [&](std::size_t channel, float* to) {
                const float* const dy = dy_[i] + channel * e_.sequences * n_;
                for (std::size_t at = 0; at < n_; ++at) to[i * n_ + at] += dy[at];
            };
            if (p_.gives_all) add(time(i, step), dh_);
            if (step + 1 < steps_[i]) return;
            std::size_t channel = p_.gives_all ? e_.steps : 0;
            if (p_.gives_last) add(channel++, dh_);
            if (p_.gives_cell) add(channel, dcell_);
        }
        void back_lstm(std::size_t i, std::size_t step, std::size_t at, std::size_t n, float* to,
                       float* meets) const noexcept {
            const V old = take(cell(i, step) + at, n), now = take(cell(i, step + 1) + at, n),
                    dh = take(dh_ + i * n_ + at, n);
            const Gate in = f(take(to + at, n)), out = f(take(to + n_ + at, n)),
                       entering = g(take(to + 3 * n_ + at, n)), of_cell = gate_of(p_.h, p_.alpha[2], p_.beta[2], now);
            const auto peephole = [&](std::size_t input) {
                return peepholes_[i] == nullptr ? V(0.0F) : take(peepholes_[i] + input * n_ + at, n);
            };
            const auto set = [&](std::size_t gate, V const& value) {
                give_both(to + gate * n_ + at, meets + gate * n_, value, n);
                return value;
            };
            const V d_out = set(1, dh * of_cell.value * out.slope);
            const V dcell =
                fma<Arch>(peephole(1), d_out, fma<Arch>(dh * out.value, of_cell.slope, take(dcell_ + i * n_ + at, n)));
            set(3, dcell * in.value * entering.slope);
            V d_in, d_kept, kept;
            if (p_.couples_gates) {
                kept = V(1.0F) - in.value;
                d_in = set(0, dcell * (entering.value - old) * in.slope), d_kept = set(2, V(0.0F));
            } else {
                const Gate keeps = f(take(to + 2 * n_ + at, n));
                kept = keeps.value;
                d_in = set(0, dcell * entering.value * in.slope), d_kept = set(2, dcell * old * keeps.slope);
            }
            give(dcell_ + i * n_ + at, fma<Arch>(peephole(0), d_in, fma<Arch>(peephole(2), d_kept, dcell * kept)), n);
            if (peepholes_[i] == nullptr) return;
            float* const sums = row(i, e_.steps) + 2 * n_ + at;
            give(sums, fma<Arch>(d_in, old, take(sums, n)), n);
            give(sums + n_, fma<Arch>(d_out, now, take(sums + n_, n)), n);
            give(sums + 2 * n_, fma<Arch>(d_kept, old, take(sums + 2 * n_, n)), n);
        }
        void back_gru(std::size_t i, std::size_t at, std::size_t n, float* to, float* meets) const noexcept {
            const V h = take(before(to) + at, n), dh = take(dh_ + i * n_ + at, n);
            const Gate z = f(take(to + at, n)), entering = g(take(to + 2 * n_ + at, n));
            give_both(to + at, meets, dh * (h - entering.value) * z.slope, n);
            give(kept_ + i * n_ + at, dh * z.value, n);
            const V d_sum = dh * (V(1.0F) - z.value) * entering.slope;
            give(to + 2 * n_ + at, d_sum, n);
            if (!p_.resets_product) return give(reset_ + i * n_ + at, d_sum, n);
            const Gate r = f(take(to + n_ + at, n));
            give_both(to + n_ + at, meets + n_, d_sum * take(beside(to) + at, n) * r.slope, n);
            give_both(beside(to) + at, meets + 2 * n_, d_sum * r.value, n);
        }
        /// The gradient of r, where r * h meets weights.
        void back_reset(std::size_t step) noexcept {
            multiply(reset_, n_, kernel_ + 2 * n_ * n_, n_, product_);
            for_unfinished(step, [&](std::size_t i, float* to) {
                for_units([&](std::size_t at, std::size_t n) {
                    const Gate r = f(take(to + n_ + at, n));
                    const V d_reset = take(product_ + i * n_ + at, n);
                    give_both(to + n_ + at, of_weights_ + i * 2 * n_ + n_ + at,
                              d_reset * take(before(to) + at, n) * r.slope, n);
                    float* const kept = kept_ + i * n_ + at;
                    give(kept, fma<Arch>(d_reset, r.value, take(kept, n)), n);
                });
            });
        }

        RecurrentParams const& p_;
        OpArgs const& args_;
        Extents const e_;
        std::size_t count_, n_, longest_ = 0;
        const float *kernel_, *bias_;
        float *h_, *dh_, *dcell_, *kept_, *product_, *reset_, *of_weights_, *cells_, *matmul_;
        const float *x_[together], *dy_[together], *peepholes_[together];
        float* dst_[together];
        std::size_t steps_[together];
    };
};

}  // namespace primsel::inline PRIMSEL_ABI
