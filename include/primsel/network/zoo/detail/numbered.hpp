#pragma once

#include <primsel/network/network.hpp>

#include <utility>

namespace primsel::inline PRIMSEL_ABI::zoo::detail {

template <template <class...> class Whole, FixedString prefix, unsigned first, class Layer, class Indices>
struct NumberedOf;
template <template <class...> class Whole, FixedString prefix, unsigned first, class Layer, unsigned... index>
struct NumberedOf<Whole, prefix, first, Layer, std::integer_sequence<unsigned, index...>> {
    using type = Whole<layer::Named<prefix + fixed_decimal<first + index>(), Layer>...>;
};

/// `count` of a layer in a row, named by the numbers from `first` on, as in PyTorch's Sequential.
template <unsigned first, unsigned count, class Layer, FixedString prefix = "">
using Numbered =
    typename NumberedOf<layer::Path, prefix, first, Layer, std::make_integer_sequence<unsigned, count>>::type;

/// `count` of a layer beside each other, named by the numbers from 1 on.
template <unsigned count, class Layer, FixedString prefix>
using NumberedConcat =
    typename NumberedOf<layer::Concat, prefix, 1, Layer, std::make_integer_sequence<unsigned, count>>::type;

}  // namespace primsel::inline PRIMSEL_ABI::zoo::detail
