#pragma once

#include <primsel/onnx/detail/elementwise.hpp>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// A dense layer on the only row of a matrix. weight: of k x n.
inline Operand emit_dense(Builder& build, Operand const& row, OnnxTensor const& weight,
                          std::optional<OnnxTensor> const& bias, Sizes dims) {
    const std::int64_t k = weight.dims[0], depth = weight.dims[1];
    const DenseParams params{.k = bounded(k, 1, largest_tensor, "a number of rows"), .bias = bias.has_value()};
    const std::size_t input = build.view(row), node = build.emit(params, {input});
    build.add_weight(node, ".weight", {k, depth}, weight);
    if (bias) build.add_weight(node, ".bias", {k}, *bias);
    return build.operand(node, std::move(dims));
}
[[nodiscard]] inline OnnxTensor times(OnnxTensor const& tensor, float factor, Constants& constants) {
    if (factor == 1.0F) return tensor;
    return map_elements(tensor, tensor.dims, [&]<class T>(std::span<const T> src) {
        std::vector<T> dst = constants.make<T>(src.size());
        for (std::size_t i = 0; i < src.size(); ++i) dst[i] = static_cast<T>(static_cast<float>(src[i]) * factor);
        return dst;
    });
}

/// A dense layer on each row of matrices. weight: of depth x n.
inline Operand emit_dense_rows(Builder& build, Operand const& matrices, OnnxTensor const& weight,
                               std::optional<OnnxTensor> const& bias, Sizes dims) {
    const std::int64_t depth = weight.dims[0], n = weight.dims[1];
    const DenseRowsParams params{.k = bounded(n, 1, largest_tensor, "a number of columns"), .bias = bias.has_value()};
    Shape rows = build.shape_of(matrices.dims);
    if (rows.w != depth)
        rows = {.c = 1, .h = static_cast<int>(elements(matrices.dims) / depth), .w = static_cast<int>(depth)};
    const std::size_t node = build.emit(params, {build.view(matrices, rows)});
    build.add_weight(node, ".weight", {depth, n}, weight);
    if (bias) build.add_weight(node, ".bias", {n}, *bias);
    return build.operand(node, std::move(dims));
}

/// Products of the matrices in the last two axes; the axes before these broadcast.
inline Operand emit_matmul(Builder& build, Operand a, Operand b) {
    const auto batch_of = [](Sizes const& dims) { return Sizes(dims.begin(), dims.end() - 2); };
    const std::int64_t m = a.dims.end()[-2], k = a.dims.end()[-1], n = b.dims.end()[-1];
    if (b.dims.end()[-2] != k) fail("matrices of ", to_string(a.dims), " and ", to_string(b.dims));
    const Sizes batch = broadcast(batch_of(a.dims), batch_of(b.dims));
    const std::int64_t count = elements(batch);
    const auto matrices = [&](Operand& operand, std::int64_t rows, std::int64_t columns) {
        const std::int64_t own = elements(batch_of(operand.dims));
        if (own != 1 && own != count) {
            Sizes dims = batch;
            dims.push_back(rows), dims.push_back(columns);
            operand = build.expand(operand, dims);
        }
        return build.view(
            operand,
            {.c = static_cast<int>(own == 1 ? 1 : count), .h = static_cast<int>(rows), .w = static_cast<int>(columns)});
    };
    Sizes dims = batch;
    dims.push_back(m), dims.push_back(n);
    (void)elements(dims);
    const bool is_constant = !b.node && !b.is_weight && b.constant.is_float() && elements(batch_of(b.dims)) == 1;
    if (is_constant && a.node && !build.trains() && elements(batch_of(a.dims)) == count) {
        return emit_dense_rows(build, a, with_dims(b.constant, {k, n}), std::nullopt, std::move(dims));
    }
    const std::size_t left = matrices(a, m, k), right = matrices(b, k, n);
    return build.operand(build.emit(MatMulParams{}, {left, right}), std::move(dims));
}

}  // namespace detail

/// alpha * A * B + beta * C, with A and B transposed before where their attributes say so.
inline void translate_gemm(Call& call) {
    Builder& build = call.build;
    Sizes a_dims = call.dims(0), b_dims = call.dims(1);
    if (a_dims.size() != 2 || b_dims.size() != 2) fail("matrices of ", to_string(a_dims), " and ", to_string(b_dims));
    (void)elements(a_dims), (void)elements(b_dims);
    const bool turn_a = call.integer("transA", 0) != 0, turn_b = call.integer("transB", 0) != 0;
    if (turn_a) std::swap(a_dims[0], a_dims[1]);
    if (turn_b) std::swap(b_dims[0], b_dims[1]);
    if (a_dims[1] != b_dims[0]) fail("matrices of ", to_string(a_dims), " and ", to_string(b_dims), " cannot multiply");
    const float alpha = call.real("alpha", 1.0F), beta = call.real("beta", 1.0F);
    const Sizes result{a_dims[0], b_dims[1]};
    if (call.has(2) && broadcast(call.dims(2), result) != result) {
        fail("a matrix of ", to_string(call.dims(2)), " cannot be added to one of ", to_string(result));
    }
    const bool is_row = !turn_a && (a_dims[0] == 1 || !build.is_whole());
    // A network that is to be trained keeps the matrix as the file has it, and shares it.
    const OnnxTensor* const b = call.known(1);
    const bool is_rows = !turn_a && !build.trains() && b != nullptr && b->is_float();
    if (b != nullptr && (is_row || is_rows) && call.known(0) == nullptr) {
        if (!b->is_float()) fail("its weight is of ", to_string(b->type));
        const Operand row = call.operand(0);
        const OnnxTensor weight = detail::times(turn_b == is_row ? *b : build.transposed(*b), alpha, build.constants);
        std::optional<OnnxTensor> bias;
        const OnnxTensor* const known = call.has(2) ? call.known(2) : nullptr;
        const auto is_one_row = [&] {
            const auto size = static_cast<std::int64_t>(known->size());
            return size == 1 || (size == result[1] && known->dims.back() == size);
        };
        if (known != nullptr && (is_row || (known->is_float() && is_one_row()))) {
            const OnnxTensor c = build.broadcast_image_of(call.floats(2, "bias"), 2);
            bias = detail::times(
                c.dims == Sizes{result[1]}
                    ? c
                    : pick(with_dims(c, {static_cast<std::int64_t>(c.size())}),
                           expansion({static_cast<std::int64_t>(c.size())}, {result[1]}), build.constants),
                beta, build.constants);
        }
        Operand product = is_row ? detail::emit_dense(build, row, weight, bias, build.image_dims(result))
                                 : detail::emit_dense_rows(build, row, weight, bias, result);
        if (call.has(2) && !bias) {
            Operand c = is_row ? call.broadcast_operand(2, 2) : call.operand(2);
            if (is_row || beta != 1.0F) c = build.scale(c, beta, 0.0F);
            product = emit_binary(build, BinaryKind::add, std::move(product), c);
        }
        return call.give(std::move(product));
    }
    if (!build.is_whole()) throw MixesImages{"its matrices are not one row an image"};
    const auto matrix = [&](std::size_t i, bool turn) {
        const Operand operand = build.trained(call.operand(i));
        return turn ? build.strided(operand, permutation(operand.dims, {1, 0})) : operand;
    };
    Operand product = detail::emit_matmul(build, matrix(0, turn_a), matrix(1, turn_b));
    if (alpha != 1.0F) product = build.scale(product, alpha, 0.0F);
    if (call.has(2)) {
        Operand c = build.trained(call.operand(2));
        if (beta != 1.0F) c = build.scale(c, beta, 0.0F);
        product = emit_binary(build, BinaryKind::add, std::move(product), std::move(c));
    }
    call.give(std::move(product));
}

namespace detail {
/// A factor of a matrix product. A constant of one or two axes is the same for all images.
[[nodiscard]] inline Operand factor(Call const& call, std::size_t i) {
    const OnnxTensor* known = call.known(i);
    if (known == nullptr) return call.operand(i);
    (void)elements(known->dims);
    OnnxTensor constant =
        known->dims.size() <= 2 ? *known : call.build.broadcast_image_of(*known, std::max(call.rank(0), call.rank(1)));
    return {constant.dims, std::nullopt, constant};
}
}  // namespace detail

namespace detail {
/// The product of matrices of which one has no elements: zeros, or none.
[[nodiscard]] inline OnnxTensor empty_product(Call const& call) {
    Sizes a = call.dims(0), b = call.dims(1);
    const bool is_row = a.size() == 1, is_column = b.size() == 1;
    if (is_row) a.insert(a.begin(), 1);
    if (is_column) b.push_back(1);
    if (a.back() != b.end()[-2]) fail("matrices of ", to_string(a), " and ", to_string(b));
    const Sizes ends{a.end()[-2], b.back()};
    a.resize(a.size() - 2), b.resize(b.size() - 2);
    Sizes dims = broadcast(a, b);
    if (!is_row) dims.push_back(ends[0]);
    if (!is_column) dims.push_back(ends[1]);
    return call.build.constants.splat(std::move(dims), OnnxType::float32, 0.0F);
}
}  // namespace detail

inline void translate_matmul(Call& call) {
    Builder& build = call.build;
    const std::size_t rank_a = call.rank(0), rank_b = call.rank(1);
    if (rank_a == 0 || rank_b == 0) fail("on a scalar");
    if (count_of(call.dims(0)) == 0 || count_of(call.dims(1)) == 0) return call.give(detail::empty_product(call));
    const OnnxTensor* known_b = call.known(1);
    const bool both_known = call.known(0) != nullptr && known_b != nullptr;
    const bool is_row = rank_a == 2 && (!build.is_whole() || call.dims(0)[0] == 1);
    if (known_b != nullptr && !both_known && rank_b == 2 && is_row && known_b->is_float()) {
        const Operand row = call.operand(0);
        if (call.dims(0)[1] != known_b->dims[0]) {
            fail("matrices of ", to_string(call.dims(0)), " and ", to_string(known_b->dims));
        }
        (void)elements(known_b->dims);
        const Sizes result{call.dims(0)[0], known_b->dims[1]};
        return call.give(
            detail::emit_dense(build, row, build.transposed(*known_b), std::nullopt, build.image_dims(result)));
    }
    if (!build.is_whole()) {
        const auto is_image = [&](std::size_t i) { return call.known(i) != nullptr || call.rank(i) >= 3; };
        const bool ranks_differ = call.known(0) == nullptr && known_b == nullptr && rank_a != rank_b;
        if (both_known || !is_image(0) || !is_image(1) || ranks_differ) {
            throw MixesImages{"its matrices are not those of one image each"};
        }
    }
    Operand a = build.trained(detail::factor(call, 0)), b = build.trained(detail::factor(call, 1));
    // A vector is a row on the left and a column on the right; what it adds is taken away again.
    const bool is_row_vector = a.dims.size() == 1, is_column_vector = b.dims.size() == 1;
    if (is_row_vector) a = build.reshape(a, {1, a.dims[0]});
    if (is_column_vector) b = build.reshape(b, {b.dims[0], 1});
    Operand product = detail::emit_matmul(build, std::move(a), std::move(b));
    if (!is_row_vector && !is_column_vector) return call.give(std::move(product));
    Sizes dims = product.dims;
    if (is_column_vector) dims.pop_back();
    if (is_row_vector) dims.erase(dims.end() - (is_column_vector ? 1 : 2));
    call.give(build.reshape(product, std::move(dims)));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
