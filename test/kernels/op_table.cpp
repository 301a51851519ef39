#include "../op/laws.hpp"

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/kernels/op_table.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

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

/// Packs the weights of a layer for images of many sizes. Where packed_for says the same, so do the bytes. Returns how
/// many different shapes it says.
template <class L>
std::size_t shapes_packed_for(auto const& params, std::vector<ps::Shape> const& inputs) {
    ps::OpEntry const& op = laws::entry_of<L>(params);
    REQUIRE(has(op.packed_for));
    laws::Random random(1);
    const std::vector<float> kernel = random.floats(1 << 14), bias = random.floats(1 << 8);
    std::map<std::array<int, 3>, std::vector<float>> known;
    for (ps::Shape const& input : inputs) {
        std::array<std::size_t, 2> sizes{};
        std::size_t count = 0;
        params.each_weight(input, [&](auto const&, ps::WeightDims const& dims, auto...) {
            sizes[count] = 1;
            for (const std::int64_t dim : dims) sizes[count] *= static_cast<std::size_t>(dim);
            ++count;
        });
        std::vector<float> packed(op.packed_bytes(params, input) / sizeof(float), std::nanf(""));
        op.pack(params, input, {std::span(kernel).first(sizes[0]), std::span(bias).first(sizes[1])}, packed.data());
        const ps::Shape key = op.packed_for(params, input);
        const auto found = known.try_emplace({key.c, key.h, key.w}, packed).first;
        CHECK(laws::same_bits(found->second, packed));
    }
    return known.size();
}

TEST_CASE("packed weights depend on no more of the input than packed_for says") {
    std::vector<ps::Shape> images, sequences;
    for (const int h : {1, 2, 3, 8, 17, 60}) {
        for (const int w : {1, 2, 3, 8, 17, 60}) images.push_back({16, h, w});
        for (const int steps : {1, 5}) sequences.push_back({steps, h, 24});
    }
    for (const int groups : {1, 2, 16}) {
        for (const int stride : {1, 2, 3}) {
            const ps::ConvTransposeParams params{.k = 16, .kernel = {4, 3}, .stride = stride, .groups = groups};
            const std::size_t forms = shapes_packed_for<ps::chw>(params, images);
            CHECK(forms >= 2);  // some images are transposed
            CHECK(forms <= 4);
            CHECK(shapes_packed_for<ps::hwc_u8>(params, images) == 1);
            CHECK(shapes_packed_for<ps::hwc_bf16>(params, images) == 1);
        }
    }
    for (const auto kind : {ps::RecurrentKind::lstm, ps::RecurrentKind::gru, ps::RecurrentKind::rnn}) {
        CHECK(shapes_packed_for<ps::chw>(ps::RecurrentParams{.kind = kind}, sequences) == 1);
    }
    CHECK(shapes_packed_for<ps::chw>(ps::DenseRowsParams{.k = 9}, sequences) == 1);
    CHECK(shapes_packed_for<ps::hwc_u8>(ps::DenseRowsParams{.k = 9}, sequences) == 1);
    CHECK(shapes_packed_for<ps::hwc_bf16>(ps::DenseRowsParams{.k = 9}, sequences) == 1);
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
