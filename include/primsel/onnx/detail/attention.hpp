// Attention: the products of matrices and the softmax of which it consists.
#pragma once

#include <primsel/onnx/detail/join.hpp>
#include <primsel/onnx/detail/logic.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/positions.hpp>
#include <primsel/onnx/detail/reshape.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// Emits the layers of a node of Attention. Tensors are heads x length x depth, with an axis of the images before these
/// if the graph has all images as one.
class Attention {
public:
    explicit Attention(Call& call) : call_(call), build_(call.build), has_past_(call.has(4)) {
        if (has_past_ != call.has(5)) fail("it has a past key or a past value without the other");
        if (has_past_ && call.has(6)) fail("it has both a past and the numbers of keys");
        query_ = heads_of(0, "q_num_heads");
        key_ = with_past(4, heads_of(1, "kv_num_heads"));
        value_ = with_past(5, heads_of(2, "kv_num_heads"));
        heads_ = extent(query_, 3), groups_ = extent(key_, 3), rows_ = extent(query_, 2), keys_ = extent(key_, 2);
        const bool fits = extent(value_, 3) == groups_ && extent(value_, 2) == keys_;
        if (!fits || heads_ % groups_ != 0 || extent(query_, 1) != extent(key_, 1)) {
            fail("queries, keys and values of ", to_string(query_.dims), ", ", to_string(key_.dims), " and ",
                 to_string(value_.dims));
        }
        scores_dims_ = query_.dims;
        scores_dims_.back() = keys_;
    }

    void translate() {
        if (call_.wants(1)) call_.give(key_, 1);
        if (call_.wants(2)) call_.give(value_, 2);
        if (call_.has(3)) add(mask());
        const bool is_causal = call_.integer("is_causal", call_.integer("unidirectional", 0)) != 0;
        if (call_.has(6))
            add(minus_infinity_where(behind_length(is_causal)));
        else if (is_causal)
            add(minus_infinity_where(in_future(has_past_ ? call_.dims(4)[2] : 0)));
        give_result();
    }

private:
    /// An axis counted from the end: the heads are 3, the length 2, the depth 1.
    [[nodiscard]] static std::int64_t extent(Operand const& x, std::ptrdiff_t from_end) {
        return *(x.dims.end() - from_end);
    }
    [[nodiscard]] Operand swapped(Operand const& x, std::ptrdiff_t first, std::ptrdiff_t second) const {
        std::vector<std::size_t> order(x.dims.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::swap(*(order.end() - first), *(order.end() - second));
        return transposed(build_, x, order);
    }
    [[nodiscard]] static Sizes with_last(Sizes dims, Sizes const& last) {
        std::ranges::copy(last, dims.end() - std::ssize(last));
        return dims;
    }

    [[nodiscard]] Operand heads_of(std::size_t i, std::string_view attribute) const {
        const Operand x = call_.operand(i);
        if (call_.rank(i) == 4) return x;
        if (call_.rank(i) != 3) fail("its input ", i, " has ", call_.rank(i), " dimensions, neither 3 nor 4");
        // QAttention has one number of heads.
        const std::int64_t heads = call_.integer(attribute, call_.integer("num_heads", 0)), all = x.dims.back();
        if (heads < 1 || all % heads != 0) fail("its ", attribute, " is ", heads, " for ", all, " elements");
        Sizes dims = x.dims;
        dims.push_back(0);
        return swapped(build_.reshape(x, with_last(dims, {heads, all / heads})), 2, 3);
    }
    [[nodiscard]] Operand with_past(std::size_t i, Operand const& x) const {
        if (!call_.has(i) || count_of(call_.dims(i)) == 0) return x;
        const Operand past = call_.operand(i);
        Sizes dims = x.dims;
        if (past.dims.size() == dims.size()) dims.end()[-2] = extent(past, 2);
        if (past.dims != dims) fail("a past of ", to_string(past.dims), " before ", to_string(x.dims));
        return emit_concat(build_, {past, x}, x.dims.size() - 2);
    }

    /// Adds to what is added to the scores.
    void add(Operand bias) {
        if (!bias_) {
            bias_ = std::move(bias);
        } else if (bias_->node || bias.node) {
            bias_ = emit_binary(build_, BinaryKind::add, std::move(*bias_), std::move(bias));
        } else {
            OnnxTensor sum = fold_binary(build_, BinaryKind::add, bias_->constant, bias.constant);
            bias_ = Operand{sum.dims, std::nullopt, sum};
        }
    }
    [[nodiscard]] Operand minus_infinity_where(Operand const& condition) const {
        return emit_keep(build_, condition, scalar_operand(build_, -std::numeric_limits<float>::infinity()));
    }
    [[nodiscard]] Operand mask() const {
        const Operand mask = call_.broadcast_operand(3, 4);
        const Sizes dims = padded_to(mask.dims, scores_dims_.size());
        bool fits = dims.size() == scores_dims_.size();
        for (std::size_t axis = 0; axis < dims.size() && fits; ++axis) {
            fits = dims[axis] == 1 || dims[axis] == scores_dims_[axis];
        }
        if (!fits) {
            fail("a mask of ", to_string(mask.dims), " for scores of ", to_string(scores_dims_));
        }
        if (call_.input(3).type != OnnxType::boolean) return mask;
        return minus_infinity_where(emit_not(build_, mask));
    }
    /// A matrix with f of the positions of each query and key.
    template <class F>
    [[nodiscard]] Operand by_positions(F const& f) const {
        (void)elements({rows_, keys_});
        std::vector<float> values = build_.constants.make<float>(static_cast<std::size_t>(rows_ * keys_));
        for (std::int64_t i = 0; i < rows_; ++i) {
            for (std::int64_t j = 0; j < keys_; ++j) values[static_cast<std::size_t>(i * keys_ + j)] = f(i, j);
        }
        return {{rows_, keys_}, std::nullopt, own_elements(Sizes{rows_, keys_}, OnnxType::float32, std::move(values))};
    }
    /// Query i sees the keys up to i, and those of the past.
    [[nodiscard]] Operand in_future(std::int64_t past) const {
        return by_positions([past](std::int64_t i, std::int64_t j) { return j > i + past ? 1.0F : 0.0F; });
    }
    /// Whether a key is behind those that there are; if causal, also behind the query, of which the last is that of the
    /// last key.
    [[nodiscard]] Operand behind_length(bool is_causal) const {
        Sizes each(scores_dims_.size(), 1);
        if (build_.is_whole()) each[0] = scores_dims_[0];
        const Operand length = build_.reshape(call_.operand(6), each);
        const Operand needed = by_positions(
            [&](std::int64_t i, std::int64_t j) { return static_cast<float>(is_causal ? j - i + rows_ : j + 1); });
        return emit_binary(build_, BinaryKind::greater, is_causal ? needed : first_row(needed), length);
    }
    [[nodiscard]] Operand first_row(Operand const& x) const { return build_.strided(x, {{1, keys_}, {0, 1}, 0}); }
    /// Whether a query may see no key at all.
    [[nodiscard]] bool may_mask_all() const {
        if (!bias_) return false;
        if (bias_->node) return true;
        const std::span<const float> values(bias_->constant.floats);
        const std::size_t row = bias_->dims.empty() ? 1 : static_cast<std::size_t>(bias_->dims.back());
        for (std::size_t first = 0; first < values.size(); first += row) {
            const auto is_masked = [](float value) { return value == -std::numeric_limits<float>::infinity(); };
            if (std::ranges::all_of(values.subspan(first, row), is_masked)) return true;
        }
        return false;
    }

    void give_result() const {
        const int mode = bounded(call_.integer("qk_matmul_output_mode", 0), 0, 3, "a qk_matmul_output_mode");
        const float scale = call_.real("scale", 1.0F / std::sqrt(static_cast<float>(extent(query_, 1)))),
                    cap = call_.real("softcap", 0.0F);
        // The queries whose heads share keys are the rows of one matrix.
        const auto grouped = [&](Operand const& x) {
            return build_.reshape(x, with_last(x.dims, {groups_, heads_ / groups_ * rows_, extent(x, 1)}));
        };
        const Operand query = scale == 1.0F ? query_ : build_.scale(query_, scale, 0.0F);
        Operand scores = emit_matmul(build_, grouped(query), swapped(key_, 1, 2));
        scores = build_.reshape(scores, scores_dims_);
        const auto give_scores = [&](int now) {
            if (mode == now && call_.wants(3)) call_.give(scores, 3);
        };
        give_scores(0);
        if (cap != 0.0F) {
            const Operand part = emit_unary(build_, ActivationKind::tanh, build_.scale(scores, 1.0F / cap, 0.0F));
            scores = build_.scale(part, cap, 0.0F);
        }
        give_scores(1);
        if (bias_) scores = emit_binary(build_, BinaryKind::add, scores, *bias_);
        give_scores(2);
        const std::size_t last = scores_dims_.size() - 1;
        std::optional<Operand> sees;
        if (may_mask_all()) {
            const Operand best = emit_reduce(build_, ReduceKind::max, scores, {last}),
                          none = scalar_operand(build_, -std::numeric_limits<float>::infinity());
            sees = emit_not(build_, emit_binary(build_, BinaryKind::equal, best, none));
        }
        const AxisView along = build_.view_along(scores_dims_, last);
        scores =
            build_.operand(build_.emit(SoftmaxParams{along.axis}, {build_.view(scores, along.shape)}), scores_dims_);
        // A query without keys gives zeros.
        if (sees) scores = emit_keep(build_, *sees, scores);
        give_scores(3);
        Operand result = emit_matmul(build_, grouped(scores), value_);
        result = build_.reshape(result, with_last(query_.dims, {heads_, rows_, extent(value_, 1)}));
        if (call_.rank(0) == 3) {
            Sizes dims = query_.dims;
            dims.pop_back();
            result = build_.reshape(swapped(result, 2, 3), with_last(dims, {rows_, heads_ * extent(value_, 1)}));
        }
        call_.give(std::move(result));
    }

    Call& call_;
    Builder& build_;
    bool has_past_;
    Operand query_, key_, value_;
    std::int64_t heads_ = 0, groups_ = 0, rows_ = 0, keys_ = 0;
    Sizes scores_dims_;
    std::optional<Operand> bias_;
};

}  // namespace detail

/// softmax(query * key^T * scale + mask) * value, for each head.
inline void translate_attention(Call& call) { detail::Attention(call).translate(); }

}  // namespace primsel::inline PRIMSEL_ABI::onnx
