// Parts of network types: layers one after the other, beside each other, and under a name.
#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/layer/combine.hpp>

namespace primsel::inline PRIMSEL_ABI::layer {

/// Layers one after the other.
template <class... Layers>
struct Path {};
/// The sum of branches that all read the same input; each is a layer or a Path. An empty Path is the input itself.
template <class... Branches>
struct Sum {};
/// The branches' results, concatenated along the channels. All branches read the same input.
template <class... Branches>
struct Concat {};
/// An elementwise function of two branches. Along each of c, h and w their extents are equal, or one of them is 1 and
/// is broadcast.
template <BinaryKind kind, class... Branches>
struct Binary {};
/// The product of two branches.
template <class... Branches>
using Product = Binary<BinaryKind::multiply, Branches...>;
/// The layers' result plus their input (He et al. 2016).
template <class... Layers>
using Residual = Sum<Path<Layers...>, Path<>>;
/// The input times the layers' result, which is broadcast along axes of extent 1: squeeze-and-excite (Hu et al. 2018),
/// and functions such as x * sigmoid(x).
template <class... Layers>
using Gated = Product<Path<>, Path<Layers...>>;
/// A name for a layer, or a prefix for the names of the layers in a Path, Sum, Concat or Product: `stem`,
/// `block.conv1`. Without one, layers are named by their kind and count: `conv1`, `conv2`; so are sums: `sum1.conv1`.
/// An empty name is no prefix: the layers inside are named as those around them.
template <FixedString name, class Layer>
struct Named {};
/// Several layers that count as one layer of the given kind. The last layer takes the name of the whole; the name is
/// the prefix of those before it: `norm`, `norm.reduce_mean1`. Without a name, the whole is named by its kind and
/// count.
template <FixedString kind, class Last, class... Before>
struct Whole {};

}  // namespace primsel::inline PRIMSEL_ABI::layer
