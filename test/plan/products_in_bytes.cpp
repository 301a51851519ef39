// Products of two tensors may be of bytes where the ranges of both are known.
#include <primsel/cost/analytical.hpp>
#include <primsel/kernels/make_kernels.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/op/matmul_int8.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/make_plan.hpp>
#include <primsel/primitive/direct.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <variant>

namespace products_in_bytes_tests {

namespace ps = primsel;

struct MatMulAlone {
    template <class Primitive>
    static constexpr bool primitive = false;
    [[nodiscard]] static constexpr bool layer(std::size_t kind) {
        return []<class... P>(std::size_t at, std::variant<P...> const*) {
            std::size_t i = 0;
            return ((i++ == at && std::same_as<P, ps::MatMulParams>) || ...);
        }(kind, static_cast<ps::AnyLayer const*>(nullptr));
    }
};

/// Keys times queries, of shape 12 x rows x 64 and 12 x 64 x rows.
ps::Graph graph_of(int rows, bool first, bool second) {
    ps::Graph graph;
    const std::size_t a = graph.add("a", ps::InputParams{{12, rows, 64}}, {}),
                      b = graph.add("b", ps::InputParams{{12, 64, rows}}, {});
    graph.add("product", ps::MatMulParams{}, {a, b});
    if (first) graph.set_range(a, ps::range_of(-1, 1));
    if (second) graph.set_range(b, ps::range_of(-2, 1));
    return graph;
}

std::string way_of(ps::Graph const& graph, ps::PlanOptions options) {
    using Layouts = ps::TypeList<ps::chw, ps::hwc_u8>;
    const ps::Kernels kernels =
        ps::make_kernels<ps::TypeList<ps::DirectSum2d>, ps::default_arch, Layouts, MatMulAlone>();
    ps::Machine machine;
    machine.int8_flops = 4 * machine.matmul_flops;
    ps::Analytical model(machine);
    const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, options);
    return std::string(plan.layers.back().primitive);
}

TEST_CASE("a product of two tensors is of bytes where allowed, faster, and both ranges are known") {
    const ps::PlanOptions bytes{.precision = ps::Precision::int8};
    CHECK(way_of(graph_of(128, true, true), bytes) == "matmul-int8");
    CHECK(way_of(graph_of(128, true, false), bytes).empty());
    CHECK(way_of(graph_of(128, false, true), bytes).empty());
    CHECK(way_of(graph_of(128, true, true), {}).empty());
    CHECK(way_of(graph_of(128, true, true), {.precision = ps::Precision::bf16}).empty());
    CHECK(way_of(graph_of(128, true, true), {.precision = ps::Precision::int8, .max_error = 0.01}).empty());
    CHECK(way_of(graph_of(1, true, true), bytes).empty());  // rounding takes longer than the product
    CHECK_THROWS_WITH_AS((void)way_of(graph_of(128, false, false), bytes),
                         doctest::Contains("precision int8 needs ranges of tensors"), ps::error);
}

}  // namespace products_in_bytes_tests
