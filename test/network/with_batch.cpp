#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/network/with_batch.hpp>
#include <primsel/network/zoo.hpp>

namespace batches_of_graphs {

namespace ps = primsel;

TEST_CASE("a graph for another number of images is the one that is made for it") {
    CHECK(ps::with_batch(ps::zoo::ResNet56::graph(1), 5) == ps::zoo::ResNet56::graph(5));
    CHECK(ps::with_batch(ps::simplify(ps::zoo::ResNet56::graph(4)), 1) == ps::simplify(ps::zoo::ResNet56::graph(1)));
    ps::Graph graph;
    graph.add("image", ps::InputParams{{2, 3, 4}}, {});
    graph.add("a", ps::ActivationParams{}, {0});
    graph.add("b", ps::ConvParams{.k = 3}, {1});
    graph.set_outputs({2, 1});
    graph.set_trainable({"b.weight"});
    graph.set_shared({{"b.weight", {"kernel"}}});
    graph.set_range(1, ps::TensorRange{.scale = 0.5F, .zero_point = 3});
    const ps::Graph seven = ps::with_batch(graph, 7);
    CHECK(seven.batch() == 7);
    CHECK(ps::with_batch(seven, 1) == graph);
    CHECK_THROWS_AS((void)ps::with_batch(graph, 0), ps::error);
    CHECK_THROWS_AS((void)ps::with_batch(ps::zoo::ResNet18::graph(1), 1 << 30), ps::error);
}

}  // namespace batches_of_graphs
