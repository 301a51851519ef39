#pragma once

#include <primsel/network/detail/simplifier.hpp>
#include <primsel/network/graph.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

namespace network {

/// Whether simplify may turn a layer of one kind into another kind; both are positions in AnyLayer.
[[nodiscard]] constexpr bool simplify_makes(std::size_t from, std::size_t to) {
    constexpr std::size_t pool = AnyLayer(PoolParams{}).index(), global_pool = AnyLayer(GlobalPoolParams{}).index(),
                          strided = AnyLayer(AsStridedParams{}).index(), reshape = AnyLayer(ReshapeParams{}).index(),
                          shuffle = AnyLayer(ChannelShuffleParams{}).index(), concat = AnyLayer(ConcatParams{}).index(),
                          binary = AnyLayer(BinaryParams{}).index(),
                          standardize = AnyLayer(StandardizeParams{}).index();
    return (from == pool && to == global_pool) || (from == concat && to == strided) ||
           ((from == strided || from == concat) && (to == reshape || to == shuffle)) ||
           (from == binary && to == standardize);
}

/// The same function after passes over it: once one layer is gone, another may have become an identity; each pass but
/// the last removes some.
[[nodiscard]] Graph until_nothing_goes(Graph graph, auto const& pass) {
    for (std::size_t before = graph.size() + 1; graph.size() < before;) {
        before = graph.size();
        graph = pass(graph);
    }
    return graph;
}

}  // namespace network

/// The same function in fewer layers: identities are dropped (dropout, a flatten that only dense layers read, ...),
/// reorderings of elements, and concatenations of those, are joined and known again as reshape or channel shuffle,
/// batch norm and scale fold into the convolution or dense layer before them, and zero padding becomes that of the
/// convolution or average pooling. Taps of a convolution that only ever meet padding are left out where no weight is
/// trainable. A concatenation of concatenations is taken apart or shared, and convolutions that only it reads have its
/// range. The sum of a convolution with something else,
/// as well as ReLU, ReLU6 and clip, become part of the layer before them, and an activation of several layers becomes
/// one. So does an instance, group, layer or RMS normalisation where no weight is trainable, with the factors and
/// summands behind it. Needs no weights.
[[nodiscard]] inline Graph simplify(Graph const& graph) {
    return network::until_nothing_goes(graph,
                                       [](Graph const& each) { return network::detail::Simplifier(each).run(); });
}
/// Simplifies reorderings of elements alone: a reshape, a transpose and a reshape become one layer, such as
/// a channel shuffle. Other layers, their names and their weights stay as they are.
[[nodiscard]] inline Graph join_reorderings(Graph const& graph) {
    return network::until_nothing_goes(
        graph, [](Graph const& each) { return network::detail::Simplifier(each).run_reorderings(); });
}

}  // namespace primsel::inline PRIMSEL_ABI
