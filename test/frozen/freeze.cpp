// Networks that can be frozen, and the refusals of others. test/build/frozen.py compiles and runs what is written.
#include "../error_of.hpp"
#include "../layer/own_layers.hpp"

#include <primsel/engine/low_precision.hpp>
#include <primsel/frozen/detail/cpp_text.hpp>
#include <primsel/frozen/detail/headers.hpp>
#include <primsel/frozen/detail/tiles.hpp>
#include <primsel/frozen/freeze.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/kernels/op_table.hpp>
#include <primsel/kernels/own_layer.hpp>
#include <primsel/primsel.hpp>
#include <primsel/train/differentiate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace frozen_freeze {

namespace ps = primsel;
namespace detail = ps::frozen::detail;

std::string_view template_name(std::string_view type) {
    type = type.substr(0, type.find('<'));
    return type.substr(type.rfind("::") + 2);
}

TEST_CASE("the header of every primitive of the library is known") {
    const ps::frozen::KernelTypes types = ps::frozen::kernel_types<ps::EveryPrimitive, ps::EveryLayout>();
    for (auto const& primitive : types.primitives) {
        std::string const& type = primitive.second;
        CAPTURE(type);
        CHECK(std::ranges::count(detail::primitive_headers, template_name(type), &detail::Declared::type) == 1);
    }
}

template <class Params, class L>
inline constexpr bool runs_in_narrow = requires(Params const& params, ps::OpArgs const& args) {
    ps::OpIn<Params, L>::template run<ps::default_arch>(params, args);
};
template <class Params>
void check_op() {
    const std::string type = ps::frozen::type_text<Params>();
    CAPTURE(type);
    const auto found = std::ranges::find(detail::op_headers, template_name(type), &detail::DeclaredOp::type);
    const bool known = found != std::end(detail::op_headers);
    CHECK((ps::runs_in<Params, ps::default_arch, ps::chw>) == (known && !found->strided.empty()));
    CHECK(runs_in_narrow<Params, ps::hwc_bf16> == (known && !found->short_floats.empty()));
    CHECK(runs_in_narrow<Params, ps::hwc_f16> == (known && found->short_floats == "dense_narrow"));
    CHECK(runs_in_narrow<Params, ps::hwc_u8> == (known && !found->int8.empty()));
}
template <class... Params>
void check_ops(std::variant<Params...>*) {
    const auto check = []<class P>(P*) {
        if constexpr (!ps::trains<P> && !std::same_as<P, ps::OwnLayerParams>) check_op<P>();
    };
    (check(static_cast<Params*>(nullptr)), ...);
}
TEST_CASE("the header of every op that networks run is known, in every layout where it runs") {
    check_ops(static_cast<ps::AnyLayer*>(nullptr));
}

TEST_CASE("values are written as C++ that reads back as the same") {
    CHECK(detail::cpp_text(true) == "true");
    CHECK(detail::cpp_text(-7) == "-7");
    CHECK(detail::cpp_text(ps::no_tensor) == "primsel::no_tensor");
    CHECK(detail::cpp_text(-1.5F) == "-0x1.8p+0F");
    CHECK(detail::cpp_text(-std::numeric_limits<float>::infinity()) == "-std::numeric_limits<float>::infinity()");
    CHECK(detail::cpp_text(std::numeric_limits<float>::quiet_NaN()).starts_with("std::bit_cast<float>("));
    CHECK(detail::cpp_text(ps::Dims{2, 3}) == "{2, 3}");
    CHECK(detail::cpp_text(ps::GlobalPoolParams{ps::PoolKind::max}) == "{.kind = primsel::PoolKind(0)}");
    CHECK(detail::cpp_text(ps::ReshapeParams{{1, 2, 3}}) == "{.shape = {1, 2, 3}}");
    CHECK(detail::cpp_string("a\"b\\") == "\"a\\\"b\\\\\"");
}

TEST_CASE("a frozen network has the register tiles that its convolutions take, and all for a primitive unknown here") {
    namespace gemm = ps::gemm;
    constexpr int vector = ps::lanes<ps::default_arch>, panel = gemm::panel_vectors<ps::default_arch>;
    ps::ConvShape s{.c = 64, .k = 2 * panel * vector + 1, .h = 8, .w = 8, .fh = 3, .fw = 3};
    CHECK(detail::tiles_of("primsel::Winograd<4, 3, 16>", s, true).widths == (1U << (panel - 1) | 1U));
    CHECK_FALSE(detail::tiles_of("primsel::Winograd<4, 3, 16>", s, true).residual);
    s.k = 2 * vector;
    const gemm::TileSet direct = detail::tiles_of("primsel::DirectHwc", s, true);
    CHECK(direct.widths == 2U);
    CHECK((direct.residual && direct.walks && !direct.places));
    s.c = 3;
    CHECK(detail::tiles_of("primsel::DirectChwHwc", s, false).places);
    s.fh = s.fw = 1;  // 64 pixels
    const gemm::TileSet im2 = detail::tiles_of(
        "primsel::Im2<primsel::Patch::row, primsel::PatchCopy::copy_short, primsel::GemmForm::abt, "
        "primsel::GemmOut::ki>",
        s, false);
    CHECK(im2.widths == detail::tiles_of("primsel::DirectHwc", {.c = 1, .k = 64}, false).widths);
    CHECK((im2.row_bias && !im2.transposed));
    CHECK(detail::tiles_of("primsel::Conv1x1Gemm<primsel::GemmForm::atb, primsel::GemmOut::ik>", s, false).transposed);
    CHECK(detail::tiles_of("primsel::DepthwiseHwc", s, true) == gemm::no_tile);
    unsigned blocks = 0;
    for (const int size : {3, 5}) {
        for (const int width : {2, 5, 14}) {
            for (const int stride : {1, 2}) {
                const int channels = 2 * vector, in = width * stride, side = size / 2;
                const ps::ConvShape depthwise{.c = channels,
                                              .k = channels,
                                              .h = in,
                                              .w = in,
                                              .fh = size,
                                              .fw = size,
                                              .stride_h = stride,
                                              .stride_w = stride,
                                              .pad_top = side,
                                              .pad_bottom = side,
                                              .pad_left = side,
                                              .pad_right = side,
                                              .groups = channels};
                const gemm::TileSet tiles = detail::tiles_of("primsel::DepthwiseHwc", depthwise, true);
                CHECK(std::has_single_bit(tiles.depthwise));
                CHECK((blocks & tiles.depthwise) == 0);
                CHECK(tiles.widths == 0);
                blocks |= tiles.depthwise;
            }
        }
    }
    CHECK(detail::tiles_of("primsel::DirectHwcBf16", s, true) == gemm::no_tile);
    CHECK(detail::tiles_of("primsel::DirectChw", s, true) == gemm::every_tile);
    CHECK(detail::tiles_of("Mine", s, true) == gemm::every_tile);
}

ps::Plan plan_of(ps::Graph const& graph, ps::Kernels const& kernels) {
    ps::Analytical costs;
    return ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
}
struct Frozen {
    ps::Graph graph;
    ps::Weights weights;

    [[nodiscard]] ps::FrozenFiles freeze(ps::FreezeOptions const& options = {}) const {
        const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();
        const ps::Plan plan = plan_of(graph, kernels);
        ps::Sequential here;
        return ps::freeze(graph, kernels, plan, weights,
                          ps::frozen::kernel_types<ps::DefaultPrimitives, ps::AllLayouts>(), options, here);
    }
};
ps::Graph small() {
    ps::Graph graph(1);
    graph.add("image", ps::InputParams{{3, 8, 8}}, {});
    graph.add("conv", ps::ConvParams{.k = 5, .kernel = 3, .padding = 1}, {0});
    graph.add("pool", ps::PoolParams{}, {1});
    graph.add("scores", ps::DenseParams{.k = 4}, {2});
    return graph;
}

TEST_CASE("the weights are packed with a header that their reader takes") {
    const Frozen frozen{small(), ps::random_weights(small())};
    const ps::FrozenFiles files = frozen.freeze({.name = "small"});
    const std::vector<ps::frozen::PackedPlan> plans = ps::frozen::packed_plans(files.weights);
    REQUIRE(plans.size() == 1);
    CHECK(plans[0].arch == ps::frozen::arch_name);
    CHECK(files.header.find("struct small {") != std::string::npos);
    CHECK(files.header.find(ps::join(ps::frozen::checksum_of(plans[0]))) != std::string::npos);
    CHECK(files.header.find("#include <primsel/op/pool.hpp>") != std::string::npos);
    CHECK(files.header.find("#include <primsel/op/softmax.hpp>") == std::string::npos);
    CHECK(frozen.freeze().weights == files.weights);  // nothing random
    CHECK(frozen.freeze({.name = "small", .embed = "/there/small.bin"}).header.find("/there/small.bin") !=
          std::string::npos);
}

TEST_CASE("layers of the user's own cannot be frozen, nor steps of training, nor unknown primitives") {
    const auto refusal_of = [](ps::Graph const& graph, ps::frozen::KernelTypes const& types) {
        return tests::error_of([&] {
            const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();
            const ps::Plan plan = graph.trainable().empty() ? plan_of(graph, kernels) : ps::Plan{};
            ps::Sequential here;
            (void)ps::freeze(graph, kernels, plan, ps::random_weights(graph), types, {}, here);
        });
    };
    ps::Graph own = small();
    own.add("mirrored", ps::OwnLayerParams(own::Mirror{}), {1});
    const std::string of_own = refusal_of(own, ps::frozen::kernel_types<ps::DefaultPrimitives, ps::AllLayouts>());
    CHECK(of_own.find("layer mirrored") != std::string::npos);
    CHECK(of_own.find("user's own") != std::string::npos);
    CHECK(refusal_of(ps::differentiate(small()).graph, {}).find("a step of training") != std::string::npos);
    CHECK(refusal_of(small(), {}).find("layer conv: primitive ") != std::string::npos);
}

}  // namespace frozen_freeze
