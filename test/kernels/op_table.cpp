#include "../op/laws.hpp"

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/kernels/op_table.hpp>

namespace {

namespace ps = primsel;

bool has(auto* function) { return function != nullptr; }

template <class L>
void check_table() {
    const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();
    ps::OpTable const& table = kernels.layouts[ps::AllLayouts::index_of<L>].ops();
    CAPTURE(L::name);
    const auto entry = [&](auto params) -> ps::OpEntry const& { return table[ps::AnyLayer(params).index()]; };
    for (std::size_t i = 0; i < table.size(); ++i) {
        CAPTURE(i);
        const auto is = [i](auto... params) { return ((ps::AnyLayer(params).index() == i) || ...); };
        const bool trains = ps::kernels::detail::layer_trains[i];
        const bool own = i + 1 == table.size();  // the last kind, a user's, brings its own op
        const bool none = trains || own || is(ps::InputParams{}, ps::ConstantParams{}, ps::ConvParams{});
        const bool chw_only =
            is(ps::ReshapeParams{}, ps::AsStridedParams{}, ps::MatMulParams{}, ps::MaxPoolIndicesParams{},
               ps::ConvTransposeParams{}, ps::TopKParams{}, ps::NonMaxSuppressionParams{}, ps::GatherParams{},
               ps::GridSampleParams{}, ps::RoiAlignParams{}, ps::ScatterParams{}, ps::DenseRowsParams{},
               ps::RecurrentParams{});
        CHECK(has(table[i].run) == (!none && (!chw_only || std::same_as<L, ps::chw>)));
        CHECK(has(table[i].work) == has(table[i].run));
        CHECK(has(table[i].pack) == has(table[i].packed_bytes));
        ps::OpEntry const& training = ps::kernels::ops_in<ps::default_arch, L, ps::CompileTraining>()[i];
        if (trains) {
            const bool elsewhere =
                is(ps::ParameterParams{}, ps::ConvInputGradientParams{}, ps::ConvWeightGradientParams{});
            const bool in_chw = is(ps::AsStridedGradientParams{}, ps::ResizeGradientParams{},
                                   ps::PlacedGradientParams{}, ps::RecurrentGradientParams{});
            CHECK(has(training.run) == (!elsewhere && (!in_chw || std::same_as<L, ps::chw>)));
        }
    }
    CHECK(has(entry(ps::DenseParams{}).pack));
    CHECK(has(entry(ps::BatchNormParams{}).pack));
    CHECK(has(entry(ps::ScaleParams{}).pack));
    CHECK_FALSE(has(entry(ps::AddParams{}).pack));
    CHECK(entry(ps::AddParams{}).in_place);
    CHECK_FALSE(entry(ps::ConcatParams{}).in_place);

    // One run through the table, as through Op.
    const ps::Shape shape{19, 1, 1};
    const ps::DenseParams params{.k = 21};
    laws::Random random(1);
    const laws::Image image = random.image(shape);
    const std::vector<float> kernel = random.floats(21 * 19), bias = random.floats(21), src = laws::lay_out<L>({image});
    const ps::OpWeights weights{kernel, bias};
    ps::Sequential sequential;
    std::vector<float> packed(entry(params).packed_bytes(params, shape) / sizeof(float)), dst(21);
    entry(params).pack(params, shape, weights, packed.data());
    const float* sources[] = {src.data()};
    entry(params).run(params, {.src = sources,
                               .src_shape = {&shape, 1},
                               .dst = dst.data(),
                               .dst_shape = {21, 1, 1},
                               .batch = 1,
                               .weights = packed.data(),
                               .executor = sequential});
    CHECK(dst == laws::run<L>(params, {{image}}, weights, sequential));
    CHECK(entry(params).work(params, {&shape, 1}, {21, 1, 1}).operations == 2 * 19 * 21);
}

TEST_CASE("the table has an op for every layer but inputs, constants, convolutions and the user's own") {
    check_table<ps::chw>();
    check_table<ps::hcw>();
    check_table<ps::hwc>();
}

struct Other {
    static constexpr std::string_view name = "other";
    static constexpr std::size_t size(ps::Shape shape) { return shape.size(); }
    static constexpr std::size_t offset(ps::Shape, ps::Coord) { return 0; }
};

TEST_CASE("no op runs in a layout that is not strided") {
    for (ps::OpEntry const& entry : ps::op_table<ps::default_arch, Other>) CHECK_FALSE(has(entry.run));
}

}  // namespace
