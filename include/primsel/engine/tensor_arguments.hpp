// Images and results of a run as tensors, which know their layout and shape.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/tensor/tensor.hpp>
#include <primsel/tensor/view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

namespace engine {

template <class T>
struct LayoutOf {};
template <Layout L>
struct LayoutOf<Tensor<L>> {
    using type = L;
};
template <class T, Layout L>
struct LayoutOf<TensorView<T, L>> {
    using type = L;
};

}  // namespace engine

/// A Tensor or a TensorView, in any layout:
///     static_assert(AnyTensor<Tensor<hwc>&> && AnyTensor<TensorView<const float>>);
///     static_assert(!AnyTensor<std::span<float>>);
template <class T>
concept AnyTensor = requires { typename engine::LayoutOf<std::remove_cvref_t<T>>::type; };

/// Image and result of a run, of which at least one is a tensor; the other may be a span of floats.
template <class Src, class Dst>
concept TensorArguments =
    (AnyTensor<Src> || AnyTensor<Dst>)&&(AnyTensor<Src> || std::convertible_to<Src, std::span<const float>>)&&(
        AnyTensor<Dst> || std::convertible_to<Dst, std::span<float>>);

namespace engine {

template <class List>
struct FirstLayout;
template <class First, class... Rest>
struct FirstLayout<TypeList<First, Rest...>> {
    using type = First;
};

/// Says at compile time that a tensor is in another layout than the images and results of an engine, Wanted.
template <class Wanted, class T>
consteval bool check_layout() {
    if constexpr (AnyTensor<T>) {
        static_assert(std::same_as<Wanted, typename LayoutOf<std::remove_cvref_t<T>>::type>,
                      "primsel: this tensor is not in the layout of the engine's images and results, the first of "
                      "Policies::layouts; see docs/engine/engine.md");
    }
    return true;
}
/// Says at compile time that a result cannot be written.
template <class T>
consteval bool check_writable() {
    if constexpr (AnyTensor<T>) {
        static_assert(std::same_as<decltype(std::declval<T&>().data()), float*>,
                      "primsel: this tensor is const, but a run writes its result to it");
    }
    return true;
}

template <class Wanted, class Src, class Dst>
consteval bool check_arguments() {
    return check_layout<Wanted, Src>() && check_layout<Wanted, Dst>() && check_writable<Dst>();
}

/// The floats of an argument. Those of a tensor come with its padding.
template <class T>
[[nodiscard]] std::span<const float> floats_of_src(T const& src) noexcept {
    if constexpr (AnyTensor<T>)
        return {src.data(), src.size()};
    else
        return src;
}
template <class T>
[[nodiscard]] std::span<float> floats_of_dst(T&& dst) noexcept {
    // A const tensor has been refused already.
    if constexpr (AnyTensor<T>)
        return {const_cast<float*>(dst.data()), dst.size()};
    else
        return dst;
}

/// An image or a result as a run takes it.
struct WantedTensor {
    const char* what;  ///< "input" or "result"
    std::size_t position;
    Shape shape;
    std::size_t floats;  ///< of the whole batch

    /// Throws error for a tensor of another shape or batch, and for a span of another size.
    template <class T>
    void check(T const& tensor) const {
        if constexpr (AnyTensor<T>) {
            if (fits(tensor)) return;
            fail("engine: ", what, ' ', position, " has ", tensor.size(), " floats, a batch of ", tensor.batch(),
                 " of ", tensor.shape(), "; run() takes ", floats, " floats, images of ", shape);
        } else if (std::size(tensor) != floats) {
            fail("engine: ", what, ' ', position, " has ", std::size(tensor), " floats; run() takes ", floats);
        }
    }
    /// Stops the program for a tensor of another shape or batch; run() checks the size of spans.
    template <class T>
    void demand(T const& tensor) const noexcept {
        if constexpr (AnyTensor<T>) {
            if (fits(tensor)) [[likely]]
                return;
            const Shape its = tensor.shape();
            std::fprintf(stderr,
                         "primsel: run() was called with %zu floats of shape %dx%dx%d as %s %zu; it takes %zu "
                         "of shape %dx%dx%d\n",
                         tensor.size(), its.c, its.h, its.w, what, position, floats, shape.c, shape.h, shape.w);
            std::abort();
        }
    }

private:
    template <class T>
    [[nodiscard]] bool fits(T const& tensor) const noexcept {
        return tensor.shape() == shape && tensor.size() == floats;
    }
};

}  // namespace engine

}  // namespace primsel::inline PRIMSEL_ABI
