#include <primsel/kernels/make_kernels.hpp>

#include "../cost/laws.hpp"
#include "../tensor/chw8c.hpp"

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primitive/all.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kernels_kernels {

namespace ps = primsel;

namespace {

ps::Kernels all() { return ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>(); }

/// A user's choice: another order, a layout of the user's own, two primitives.
using Layouts = ps::TypeList<ps::hwc, chw8c, ps::chw>;
using Primitives = ps::TypeList<ps::DirectHwc, ps::Conv1x1Gemm<ps::GemmForm::ab, ps::GemmOut::ki>>;
ps::Kernels chosen() { return ps::make_kernels<Primitives, ps::default_arch, Layouts>(); }

std::vector<std::string> layout_names(ps::Kernels const& kernels) {
    std::vector<std::string> names;
    for (ps::LayoutEntry const& layout : kernels.layouts) names.emplace_back(layout.name);
    return names;
}

template <class L>
std::vector<float> place(ps::Shape shape) {
    std::vector<float> data(L::size(shape), 0.0F);
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w)
                data[L::offset(shape, {c, h, w})] = static_cast<float>(100 * c + 10 * h + w);
        }
    }
    return data;
}

}  // namespace

TEST_CASE("kernels: lists have their order, and entries their places in it") {
    const ps::Kernels kernels = all();
    CHECK(kernels.primitives.size() == ps::AllPrimitives::size);
    CHECK(layout_names(kernels) == std::vector<std::string>{"chw", "hcw", "hwc"});
    CHECK(kernels.transforms.size() == 9);
    CHECK(kernels.arch == ps::default_arch::name());
    std::set<std::string_view> ids;
    for (ps::PrimitiveEntry const& primitive : kernels.primitives) {
        CAPTURE(primitive.id);
        CHECK(ids.insert(primitive.id).second);
        CHECK(primitive.in_layout < 3);
        CHECK(primitive.out_layout < 3);
        CHECK((primitive.supports != nullptr));
        CHECK((primitive.run != nullptr));
    }
    CHECK(kernels.primitives[0].id == ps::DirectSum2d::id);
    CHECK((kernels.primitives.back().id == ps::WinogradStem<4, 11, 4>::id));

    CHECK(layout_names(chosen()) == std::vector<std::string>{"hwc", "chw8c", "chw"});
    REQUIRE(chosen().primitives.size() == 2);
    CHECK(chosen().primitives[0].id == ps::DirectHwc::id);
    CHECK(chosen().primitives[0].in_layout == 0);
    CHECK(chosen().primitives[0].out_layout == 0);
    CHECK(chosen().primitives[1].in_layout == 2);
    CHECK(chosen().primitives[1].out_layout == 2);
}

TEST_CASE("kernels: primitives and layouts are found by their names") {
    for (std::size_t i = 0; i < all().primitives.size(); ++i) {
        CHECK(all().find(all().primitives[i].id) == i);
        CHECK(all().find_if_any(all().primitives[i].id) == i);
    }
    for (std::size_t i = 0; i < all().layouts.size(); ++i) CHECK(all().find_layout(all().layouts[i].name) == i);
    CHECK_FALSE(chosen().find_if_any("never").has_value());
    CHECK_THROWS_WITH_AS(
        (void)chosen().find("never"),
        ps::join("kernels: no primitive is named never; there are ", ps::DirectHwc::id, ", ", chosen().primitives[1].id)
            .c_str(),
        ps::error);
    CHECK_THROWS_WITH_AS((void)chosen().find_layout("cwh"),
                         "kernels: no layout is named cwh; there are hwc, chw8c, chw", ps::error);
}

TEST_CASE("kernels: every layout takes as much room as it says") {
    for (const ps::Shape shape : {ps::Shape{1, 1, 1}, ps::Shape{3, 5, 7}, ps::Shape{16, 4, 4}}) {
        for (ps::LayoutEntry const& layout : all().layouts) CHECK(layout.image_bytes(shape) == 4 * shape.size());
        CHECK(chosen().layouts[1].size(shape) == chw8c::size(shape));
    }
}

TEST_CASE("kernels: the change of every pair of layouts, by position") {
    const ps::Shape shape{11, 3, 5};
    const auto check = [&](ps::Kernels const& kernels, std::vector<std::vector<float>> const& placed) {
        ps::Sequential executor;
        for (std::size_t from = 0; from < placed.size(); ++from) {
            for (std::size_t to = 0; to < placed.size(); ++to) {
                CAPTURE(kernels.layouts[from].name);
                CAPTURE(kernels.layouts[to].name);
                std::vector<float> dst(placed[to].size(), 0.0F);
                kernels.transform(from, to).run(shape, placed[from].data(), dst.data(), executor, {});
                CHECK(dst == placed[to]);
            }
        }
    };
    check(all(), {place<ps::chw>(shape), place<ps::hcw>(shape), place<ps::hwc>(shape)});
    check(chosen(), {place<ps::hwc>(shape), place<chw8c>(shape), place<ps::chw>(shape)});
}

TEST_CASE("kernels: which changes of layout are free") {
    const ps::Kernels kernels = all();
    for (std::size_t from = 0; from < 3; ++from) {
        for (std::size_t to = 0; to < 3; ++to) {
            CAPTURE(from);
            CAPTURE(to);
            CHECK(kernels.same_placement({1000, 1, 1}, from, to));
            CHECK(kernels.same_placement({1, 1, 9}, from, to));
            CHECK(kernels.same_placement({6, 4, 5}, from, to) == (from == to));
        }
    }
    // One row: chw and hcw differ in nothing else.
    CHECK(kernels.same_placement({6, 1, 5}, 0, 1));
    CHECK_FALSE(kernels.same_placement({6, 1, 5}, 0, 2));
    // The blocked layout has room that the others have not.
    CHECK(chosen().same_placement({3, 1, 1}, 1, 1));
    CHECK_FALSE(chosen().same_placement({3, 1, 1}, 0, 1));
}

TEST_CASE("kernels: every kind of layer has its op in every strided layout, or in chw") {
    const auto layers = laws::layers({6, 8, 8});
    for (ps::Kernels const& kernels : {all(), chosen()}) {
        for (std::size_t layout = 0; layout < kernels.layouts.size(); ++layout) {
            CAPTURE(kernels.layouts[layout].name);
            const bool strided = kernels.layouts[layout].name != "chw8c";
            CHECK((kernels.layouts[layout].epilogue != nullptr));  // all of these are of floats
            for (laws::Layer const& layer : layers) {
                CAPTURE(layer.params.index());
                const auto is_one_of = [&layer]<class... Params>(ps::TypeList<Params...>) {
                    return (std::holds_alternative<Params>(layer.params) || ...);
                };
                const bool chw_only = is_one_of(
                    ps::TypeList<ps::ReshapeParams, ps::AsStridedParams, ps::MatMulParams, ps::MaxPoolIndicesParams,
                                 ps::ConvTransposeParams, ps::TopKParams, ps::NonMaxSuppressionParams, ps::GatherParams,
                                 ps::GridSampleParams, ps::RoiAlignParams, ps::ScatterParams, ps::DenseRowsParams,
                                 ps::RecurrentParams>{});
                const bool trains =
                    std::visit([]<class Params>(Params const&) { return ps::trains<Params>; }, layer.params);
                const bool runs = strided && !trains && (!chw_only || kernels.layouts[layout].name == "chw") &&
                                  !is_one_of(ps::TypeList<ps::InputParams, ps::ConstantParams, ps::ConvParams>{});
                const bool weighs = std::holds_alternative<ps::DenseParams>(layer.params) ||
                                    std::holds_alternative<ps::DenseRowsParams>(layer.params) ||
                                    std::holds_alternative<ps::RecurrentParams>(layer.params) ||
                                    std::holds_alternative<ps::ConvTransposeParams>(layer.params) ||
                                    std::holds_alternative<ps::BatchNormParams>(layer.params) ||
                                    std::holds_alternative<ps::ScaleParams>(layer.params) ||
                                    std::holds_alternative<ps::StandardizeParams>(layer.params);
                ps::OpEntry const& op = kernels.op(layer.params, layout);
                CHECK((op.run != nullptr) == runs);
                CHECK((op.work != nullptr) == runs);
                CHECK((op.pack != nullptr) == (runs && weighs));
                CHECK((op.packed_bytes != nullptr) == (runs && weighs));
                if (runs) {
                    const ps::OpCounts counts = op.work(layer.params, layer.inputs, layer.output);
                    for (const double count : {counts.operations, counts.scalars, counts.rows, counts.bytes})
                        CHECK((count >= 0 && count < 1e12));
                }
                if (runs && weighs) CHECK(op.packed_bytes(layer.params, layer.inputs[0]) > 0);
            }
        }
    }
}

TEST_CASE("kernels: an op is that of its layer and layout") {
    // Softmax over channels, which lie apart in chw and together in hwc.
    const ps::Shape shape{2, 1, 2};
    const std::vector<float> chw{0, 0, 0, 1}, hwc{0, 0, 0, 1};
    const ps::AnyLayer softmax = ps::SoftmaxParams{};
    const std::vector<ps::Shape> shapes{shape};
    ps::Sequential executor;
    const auto run = [&](std::size_t layout, std::vector<float> const& in) {
        std::vector<float> out(4);
        const float* src[] = {in.data()};
        all()
            .op(softmax, layout)
            .run(softmax,
                 {.src = src, .src_shape = shapes, .dst = out.data(), .dst_shape = shape, .executor = executor});
        return out;
    };
    const float small = 1 / (1 + std::exp(1.0F)), big = 1 - small;
    const auto by_chw = run(0, chw), by_hwc = run(2, hwc);
    const float expected_chw[] = {0.5F, small, 0.5F, big}, expected_hwc[] = {0.5F, 0.5F, small, big};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(by_chw[i] == doctest::Approx(expected_chw[i]).epsilon(1e-5));
        CHECK(by_hwc[i] == doctest::Approx(expected_hwc[i]).epsilon(1e-5));
    }
}

}  // namespace kernels_kernels
