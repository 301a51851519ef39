// Arithmetic on what is known when a model is loaded: chains such as Shape, Gather, Concat fold to constants.
#pragma once

#include <primsel/onnx/detail/sizes.hpp>
#include <primsel/onnx/detail/tensor.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// Where constants are made that are not in the file. Their bytes are counted: a small file can ask for huge ones.
class Constants {
public:
    explicit Constants(std::size_t limit) : limit_(limit), left_(limit) {}

    /// Throws error when that is more than is left.
    void take(std::size_t count, std::size_t element_bytes) {
        if (count > left_ / element_bytes) {
            fail("its constants take more than the ", limit_, " bytes allowed for those that are not in the file");
        }
        left_ -= count * element_bytes;
    }
    template <class T>
    [[nodiscard]] std::vector<T> make(std::size_t count) {
        take(count, sizeof(T));
        return std::vector<T>(count);
    }
    /// A value everywhere. Tensors of one value share their elements.
    [[nodiscard]] OnnxTensor splat(Sizes dims, OnnxType type, float value) {
        require_kind(onnx::is_float(type), dims, type);
        const std::size_t count = count_of(dims);
        auto& shared = floats_[std::bit_cast<std::uint32_t>(value)];
        grow(shared, count, value);
        return {.name = {},
                .dims = std::move(dims),
                .type = type,
                .floats = std::span(*shared).first(count),
                .integers = {},
                .owner = shared};
    }
    [[nodiscard]] OnnxTensor splat(Sizes dims, OnnxType type, std::int64_t value) {
        require_kind(!onnx::is_float(type), dims, type);
        const std::size_t count = count_of(dims);
        auto& shared = integers_[value];
        grow(shared, count, value);
        return {.name = {},
                .dims = std::move(dims),
                .type = type,
                .floats = {},
                .integers = std::span(*shared).first(count),
                .owner = shared};
    }

    /// Zero, of the tensor's type.
    [[nodiscard]] OnnxTensor zero_like(OnnxTensor const& tensor) {
        return tensor.is_float() ? splat({}, tensor.type, 0.0F) : splat({}, tensor.type, std::int64_t{0});
    }

private:
    /// Floats have elements of one kind, all other types those of the other.
    static void require_kind(bool is_right, Sizes const& dims, OnnxType type) {
        if (!is_right) fail("a constant of ", to_string(dims), " ", to_string(type), " from a value of another type");
    }
    template <class T>
    void grow(std::shared_ptr<const std::vector<T>>& shared, std::size_t count, T value) {
        if (shared != nullptr && shared->size() >= count) return;
        take(count, sizeof(T));
        shared = std::make_shared<const std::vector<T>>(count, value);
    }

    std::size_t limit_, left_;
    std::map<std::uint32_t, std::shared_ptr<const std::vector<float>>> floats_;
    std::map<std::int64_t, std::shared_ptr<const std::vector<std::int64_t>>> integers_;
};

/// The same elements under other extents, of which there are as many.
[[nodiscard]] inline OnnxTensor with_dims(OnnxTensor tensor, Sizes dims) {
    if (count_of(dims) != tensor.size()) {
        fail("a tensor of ", to_string(tensor.dims), " cannot be reshaped to ", to_string(dims));
    }
    tensor.dims = std::move(dims);
    return tensor;
}

/// Calls f with the elements, floats or integers; a tensor of the vector that it gives back.
template <class F>
[[nodiscard]] OnnxTensor map_elements(OnnxTensor const& tensor, Sizes dims, F const& f) {
    return tensor.is_float()
               ? own_elements(std::move(dims), tensor.type, f(std::span<const float>(tensor.floats)))
               : own_elements(std::move(dims), tensor.type, f(std::span<const std::int64_t>(tensor.integers)));
}

/// Calls f(offset of a, offset of b) for each element of a result, in its order.
template <class F>
void walk(Strided const& a, Strided const& b, F const& f) {
    const std::size_t count = count_of(a.dims), rank = a.dims.size();
    Sizes place(rank, 0);
    std::int64_t at_a = a.offset, at_b = b.offset;
    for (std::size_t i = 0; i < count; ++i) {
        f(static_cast<std::size_t>(at_a), static_cast<std::size_t>(at_b));
        for (std::size_t axis = rank; axis-- > 0;) {
            at_a += a.strides[axis];
            at_b += b.strides[axis];
            if (++place[axis] < a.dims[axis]) break;
            at_a -= a.dims[axis] * a.strides[axis];
            at_b -= a.dims[axis] * b.strides[axis];
            place[axis] = 0;
        }
    }
}

[[nodiscard]] inline OnnxTensor pick(OnnxTensor const& tensor, Strided const& places, Constants& constants) {
    return map_elements(tensor, places.dims, [&]<class T>(std::span<const T> src) {
        std::vector<T> dst = constants.make<T>(count_of(places.dims));
        std::size_t i = 0;
        walk(places, places, [&](std::size_t at, std::size_t) { dst[i++] = src[at]; });
        return dst;
    });
}

/// A tensor with these values at positions that count its elements, or have an index for each axis, and zeros
/// elsewhere.
[[nodiscard]] inline OnnxTensor with_zeros(OnnxTensor const& values, OnnxTensor const& positions, Sizes dims,
                                           Constants& constants) {
    const std::size_t count = count_of(dims), rank = dims.size();
    const bool counts = positions.dims.size() == 1;
    const std::size_t each = counts ? 1 : rank;
    if (positions.is_float() || (!counts && positions.dims.size() != 2) || positions.size() != values.size() * each) {
        fail("a sparse tensor of ", to_string(dims), " with ", to_string(values.dims), " values and positions of ",
             to_string(positions.dims), " ", to_string(positions.type));
    }
    const Sizes strides = row_major(dims);
    OnnxTensor result = map_elements(values, dims, [&]<class T>(std::span<const T> src) {
        std::vector<T> dst = constants.make<T>(count);
        for (std::size_t i = 0; i < src.size(); ++i) {
            std::int64_t at = counts ? positions.integers[i] : 0;
            for (std::size_t axis = 0; axis < rank && !counts; ++axis) {
                const std::int64_t index = positions.integers[i * rank + axis];
                if (index < 0 || index >= dims[axis]) fail("a sparse tensor has a value outside of ", to_string(dims));
                at += index * strides[axis];
            }
            if (at < 0 || static_cast<std::size_t>(at) >= count) {
                fail("a sparse tensor has a value outside of ", to_string(dims));
            }
            dst[static_cast<std::size_t>(at)] = src[i];
        }
        return dst;
    });
    result.name = values.name;
    return result;
}

/// f of the elements of two tensors of the same kind, broadcast.
template <class F>
[[nodiscard]] OnnxTensor combine(OnnxTensor const& a, OnnxTensor const& b, Constants& constants, F const& f) {
    if (a.is_float() != b.is_float()) fail("tensors of ", to_string(a.type), " and ", to_string(b.type));
    const Sizes dims = broadcast(a.dims, b.dims);
    const Strided of_a = expansion(a.dims, dims), of_b = expansion(b.dims, dims);
    return map_elements(a, dims, [&]<class T>(std::span<const T> left) {
        std::span<const T> right;
        if constexpr (std::is_same_v<T, float>)
            right = b.floats;
        else
            right = b.integers;
        if (left.size() != count_of(a.dims) || right.size() != count_of(b.dims)) fail("a constant lacks its elements");
        std::vector<T> dst = constants.make<T>(count_of(dims));
        std::size_t i = 0;
        walk(of_a, of_b, [&](std::size_t at_a, std::size_t at_b) { dst[i++] = f(left[at_a], right[at_b]); });
        return dst;
    });
}

/// The floats of a float tensor; integers and booleans as floats.
[[nodiscard]] inline OnnxTensor to_floats(OnnxTensor const& tensor, Constants& constants) {
    if (tensor.is_float()) return tensor;
    std::vector<float> values = constants.make<float>(tensor.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(tensor.integers[i]);
    return own_elements(tensor.dims, OnnxType::float32, std::move(values));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
