// Programs of several inputs and results, constants, and results in places that want a copy.
#include "../instrumented.hpp"

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;

namespace {

std::vector<float> ramp(std::size_t size, float first) {
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = first + static_cast<float>(i);
    return values;
}

/// All results of a graph.
std::vector<std::vector<float>> results_of(ps::Graph const& graph, ps::Weights const& weights,
                                           std::vector<std::vector<float>> const& inputs) {
    ps::Engine<ps::Graph> engine(graph, weights);
    std::vector<std::span<const float>> srcs(inputs.begin(), inputs.end());
    std::vector<std::vector<float>> results;
    for (ps::Shape const& shape : engine.out_shapes()) {
        results.emplace_back(static_cast<std::size_t>(engine.batch()) * shape.size(), -1.0F);
    }
    std::vector<std::span<float>> dsts(results.begin(), results.end());
    engine.run(srcs, dsts);
    return results;
}

/// chw of two bytes an element: the upper half of a float.
struct chw16 {
    using element = std::uint16_t;
    static constexpr std::string_view name = "chw16";
    static constexpr std::size_t size(ps::Shape shape) { return ps::chw::size(shape); }
    static constexpr std::size_t offset(ps::Shape shape, ps::Coord at) { return ps::chw::offset(shape, at); }

    static element narrow(float value) { return static_cast<element>(std::bit_cast<std::uint32_t>(value) >> 16); }
    static float widen(element value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }
    template <class Other>
    static void transform_from(Other, ps::Shape shape, const float* src, float* dst, ps::ExecutorRef) noexcept {
        auto* const elements = reinterpret_cast<element*>(dst);
        each(shape, [=](ps::Coord at) { elements[offset(shape, at)] = narrow(src[Other::offset(shape, at)]); });
    }
    template <class Other>
    static void transform_to(Other, ps::Shape shape, const float* src, float* dst, ps::ExecutorRef) noexcept {
        const auto* const elements = reinterpret_cast<const element*>(src);
        each(shape, [=](ps::Coord at) { dst[Other::offset(shape, at)] = widen(elements[offset(shape, at)]); });
    }

private:
    template <class Use>
    static void each(ps::Shape shape, Use const& use) {
        for (int c = 0; c < shape.c; ++c) {
            for (int h = 0; h < shape.h; ++h) {
                for (int w = 0; w < shape.w; ++w) use(ps::Coord{c, h, w});
            }
        }
    }
};
static_assert(ps::Layout<chw16> && !ps::StridedLayout<chw16>);

struct Pointwise16 {
    static constexpr std::string_view id = "pointwise-16";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = chw16;
    using out_layout = chw16;
    static ps::Support supports(ps::ConvShape const& s) {
        return s.taps() == 1 && s.groups == 1 && !s.strided() && !s.padded() ? ps::Support::yes()
                                                                             : ps::Support::no("needs a plain 1x1");
    }
    template <class Arch>
    static void run(ps::ConvShape const& s, ps::ConvArgs const& args) noexcept {
        const auto* const src = reinterpret_cast<const std::uint16_t*>(args.src);
        auto* const dst = reinterpret_cast<std::uint16_t*>(args.dst);
        const std::size_t pixels = s.out_pixels(), channels = static_cast<std::size_t>(s.c);
        for (std::size_t i = 0; i < s.out_shape().size(); ++i) {
            float sum = 0;
            for (std::size_t c = 0; c < channels; ++c) {
                sum += args.weights[i / pixels * channels + c] * chw16::widen(src[c * pixels + i % pixels]);
            }
            dst[i] = chw16::narrow(sum);
        }
    }
};

}  // namespace

TEST_CASE("several inputs, each read where it belongs, and several results in their order") {
    for (const int batch : {1, 3}) {
        ps::Graph graph(batch);
        const ps::Shape shape{.c = 5, .h = 3, .w = 4};
        const std::size_t a = graph.add("a", ps::InputParams{shape}, {});
        const std::size_t b = graph.add("b", ps::InputParams{shape}, {});
        const std::size_t difference = graph.add("difference", ps::BinaryParams{ps::BinaryKind::subtract}, {a, b});
        const std::size_t relu = graph.add("relu", ps::ActivationParams{}, {difference});
        graph.set_outputs({relu, difference});
        const auto size = static_cast<std::size_t>(batch) * shape.size();
        const std::vector<float> left = ramp(size, 0.0F), right(size, 7.0F);
        const auto results = results_of(graph, {}, {left, right});
        REQUIRE(results.size() == 2);
        for (std::size_t i = 0; i < size; ++i) {
            CHECK(results[0][i] == std::max(left[i] - 7.0F, 0.0F));
            CHECK(results[1][i] == left[i] - 7.0F);  // not overwritten by the activation in place
        }
    }
}

TEST_CASE("a result may be an input, a constant, and the same as another") {
    ps::Graph graph(2);
    const ps::Shape shape{.c = 2, .h = 2, .w = 3};
    const std::size_t image = graph.add("image", ps::InputParams{shape}, {});
    const std::size_t constant = graph.add("constant", ps::ConstantParams{shape}, {});
    const std::size_t sum = graph.add("sum", ps::AddParams{}, {image, constant});
    graph.set_outputs({image, constant, sum, sum});
    ps::Weights weights;
    weights.add("constant.value", {2, 2, 3}, ramp(12, 100.0F));
    const std::vector<float> values = ramp(24, 1.0F);
    const auto results = results_of(graph, weights, {values});
    REQUIRE(results.size() == 4);
    CHECK(results[0] == values);
    for (std::size_t i = 0; i < 24; ++i) {
        CHECK(results[1][i] == 100.0F + static_cast<float>(i % 12));
        CHECK(results[2][i] == values[i] + results[1][i]);
    }
    CHECK(results[3] == results[2]);
}

TEST_CASE("a convolution's result that leaves and is read on, by readers that want other layouts") {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{ps::Shape{.c = 16, .h = 9, .w = 7}}, {});
    const std::size_t conv = graph.add("conv", ps::ConvParams{.k = 24, .kernel = {3, 3}, .padding = {1}}, {image});
    const std::size_t next = graph.add("next", ps::ConvParams{.k = 8, .bias = false}, {conv});
    graph.set_outputs({conv, next});
    const ps::Weights weights = ps::random_weights(graph);
    std::vector<float> values(16 * 9 * 7);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 8.0F;
    const auto both = results_of(graph, weights, {values});

    ps::Graph alone;
    alone.add("image", ps::InputParams{ps::Shape{.c = 16, .h = 9, .w = 7}}, {});
    alone.add("conv", ps::ConvParams{.k = 24, .kernel = {3, 3}, .padding = {1}}, {0});
    ps::Weights own;
    for (auto const& [name, tensor] : weights) {
        if (name.starts_with("conv.")) own.add(name, tensor);
    }
    const auto one = results_of(alone, own, {values});
    for (std::size_t i = 0; i < one[0].size(); ++i) CHECK(both[0][i] == doctest::Approx(one[0][i]).epsilon(1e-4));
    CHECK(both[1].size() == 8 * 9 * 7);
}

TEST_CASE("a reshape costs nothing and an image that is reshaped is read in chw order") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{ps::Shape{.c = 2, .h = 3, .w = 4}}, {});
    graph.add("reshape", ps::ReshapeParams{ps::Shape{.c = 4, .h = 2, .w = 3}}, {0});
    graph.add("transpose",
              ps::AsStridedParams{.dims = {3, 8}, .strides = {1, 3}, .offset = 0, .shape = {.c = 3, .h = 8, .w = 1}},
              {1});
    const std::vector<float> values = ramp(24, 0.0F);
    const auto results = results_of(graph, {}, {values});
    for (std::size_t i = 0; i < 24; ++i) CHECK(results[0][i] == static_cast<float>(i % 8 * 3 + i / 8));
}

TEST_CASE("a reshaped image stays as the caller made it, whoever reads it") {
    ps::Graph graph(2);
    const std::size_t image = graph.add("image", ps::InputParams{ps::Shape{.c = 2, .h = 3, .w = 4}}, {});
    const std::size_t reshape = graph.add("reshape", ps::ReshapeParams{ps::Shape{.c = 4, .h = 2, .w = 3}}, {image});
    const std::size_t positive = graph.add("positive", ps::ActivationParams{ps::ActivationKind::abs}, {reshape});
    const std::size_t sum = graph.add("sum", ps::AddParams{}, {positive, reshape});
    const std::size_t again = graph.add("again", ps::ReshapeParams{ps::Shape{.c = 1, .h = 1, .w = 24}}, {reshape});
    graph.set_outputs({sum, again});
    const std::vector<float> values = ramp(48, -30.0F);
    const std::vector<std::vector<float>> images{values};
    const auto results = results_of(graph, {}, images);
    CHECK(images[0] == values);
    CHECK(results[1] == values);
    for (std::size_t i = 0; i < 48; ++i) CHECK(results[0][i] == std::max(0.0F, 2 * values[i]));
}

TEST_CASE("a batch gives each image's bits, whichever steps take one image and whichever all") {
    const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();
    // Large images and small weights first, then the other way round; what the first part made is read in the last.
    const auto make = [](int batch) {
        ps::Graph graph(batch);
        const std::size_t image = graph.add("image", ps::InputParams{{3, 40, 40}}, {});
        const std::size_t stem =
            graph.add("stem", ps::ConvParams{.k = 16, .kernel = 3, .padding = 1, .bias = true}, {image});
        const std::size_t small = graph.add("small", ps::PoolParams{.window = 8, .stride = 8}, {stem});
        const std::size_t wide = graph.add("wide", ps::ConvParams{.k = 96, .kernel = 3, .padding = 1}, {small});
        const std::size_t back = graph.add("back", ps::ConvParams{.k = 16, .kernel = 3, .padding = 1}, {wide});
        const std::size_t sum = graph.add("sum", ps::AddParams{}, {back, small});
        const std::size_t scores = graph.add("scores", ps::DenseParams{.k = 10, .bias = true}, {sum});
        graph.set_outputs({scores, small});
        return graph;
    };
    const ps::Graph one = make(1);
    const ps::Weights weights = ps::random_weights(one);
    ps::Analytical model(ps::Machine{});
    const ps::Plan plan = ps::make_plan(one, kernels, model, ps::ExactPbqp{}, {.primitive = "direct-hwc"});
    ps::Sequential executor;
    for (const int batch : {2, 5}) {
        const ps::Graph many = make(batch);
        ps::Plan same = plan;
        same.key = ps::make_key(many, kernels);
        ps::Program single(one, kernels, plan, weights, 1), all(many, kernels, same, weights, 1);
        CHECK(all.steps() > single.steps());                                    // some one by one
        CHECK(all.steps() < static_cast<std::size_t>(batch) * single.steps());  // and some together
        CHECK(all.arena_bytes() < static_cast<std::size_t>(batch) * single.arena_bytes());

        std::vector<float> src(all.in_floats());
        for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i % 29) / 14.0F - 1.0F;
        std::vector<float> scores(all.out_floats(0)), pooled(all.out_floats(1));
        const float* srcs[] = {src.data()};
        float* dsts[] = {scores.data(), pooled.data()};
        all.run(srcs, dsts, executor);
        for (std::size_t image = 0; image < static_cast<std::size_t>(batch); ++image) {
            std::vector<float> its_scores(single.out_floats(0)), its_small(single.out_floats(1));
            const float* its[] = {src.data() + image * single.in_floats()};
            float* results[] = {its_scores.data(), its_small.data()};
            single.run(its, results, executor);
            CHECK(std::ranges::equal(its_scores,
                                     std::span(scores).subspan(image * its_scores.size(), its_scores.size())));
            CHECK(std::ranges::equal(its_small, std::span(pooled).subspan(image * its_small.size(), its_small.size())));
        }
    }
}

TEST_CASE("indices of maxima count over the whole batch, whichever steps take one image") {
    // Enough around it that the batch would not stay in a cache.
    for (const int size : {4, 256}) {
        ps::Graph graph(3);
        const ps::Shape shape{.c = 2, .h = size, .w = size};
        const std::size_t x = graph.add("x", ps::InputParams{shape}, {});
        const std::size_t relu = graph.add("relu", ps::ActivationParams{}, {x});
        const std::size_t indices = graph.add("indices", ps::MaxPoolIndicesParams{}, {relu});
        graph.set_outputs({indices});
        const std::vector<float> elements = ramp(3 * shape.size(), 0.0F);
        const std::vector<float> found = results_of(graph, {}, {elements})[0];
        // They ascend: the last of each window is the largest, and is its own index.
        const auto pixels = static_cast<std::size_t>(size);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const std::size_t row = i / (pixels / 2), column = i % (pixels / 2);
            REQUIRE(found[i] == static_cast<float>((2 * row + 1) * pixels + 2 * column + 1));
        }
    }
}

TEST_CASE("convolutions write their parts of a concatenation, where nobody else reads them") {
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    for (const bool shared : {false, true}) {
        for (const int batch : {1, 3}) {
            ps::Graph graph(batch);
            const std::size_t image = graph.add("image", ps::InputParams{{16, 9, 11}}, {});
            const std::size_t stem = graph.add("stem", ps::ConvParams{.k = 20, .kernel = 1}, {image});
            const std::size_t a =
                graph.add("a", ps::ConvParams{.k = 24, .kernel = 3, .padding = 1, .bias = true}, {stem});
            const std::size_t b = graph.add("b", ps::ConvParams{.k = 8, .kernel = 1}, {stem});
            const std::size_t c = graph.add("c", ps::ConvParams{.k = 17, .kernel = 5, .padding = 2}, {stem});
            const std::size_t joined = graph.add("joined", ps::ConcatParams{}, {a, b, c});
            std::size_t last = graph.add("last", ps::ConvParams{.k = 5, .kernel = 1}, {joined});
            if (shared) graph.set_outputs({last, b});  // b leaves the network too
            const ps::Weights weights = ps::random_weights(graph);
            std::vector<float> src(static_cast<std::size_t>(batch) * 16 * 9 * 11);
            for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i % 23) / 11.0F - 1.0F;

            ps::Analytical model(ps::Machine{});
            ps::Sequential executor;
            std::vector<std::vector<float>> results;
            for (const std::string primitive : {"direct-hwc", "winograd-2x2-3x3-vec-16", "im2row-copy-short-ab-ik"}) {
                CAPTURE(primitive);
                const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.primitive = primitive});
                ps::Program program(graph, kernels, plan, weights, 1);
                bool copied = false;
                for (std::size_t step = 0; step < program.steps(); ++step)
                    copied |= program.step_name(step) == "joined";
                CHECK(copied == (shared || primitive != "direct-hwc"));  // others stand aside for the 1x1
                std::vector<float> dst(program.out_floats(0)), other(shared ? program.out_floats(1) : 0);
                const float* srcs[] = {src.data()};
                float* dsts[] = {dst.data(), other.data()};
                program.run(srcs, std::span(dsts, shared ? 2 : 1), executor);
                results.push_back(std::move(dst));
            }
            for (std::size_t i = 0; i < results[0].size(); ++i) {
                CHECK(results[0][i] == doctest::Approx(results[2][i]).epsilon(1e-4).scale(1));
                CHECK(results[1][i] == doctest::Approx(results[2][i]).epsilon(1e-4).scale(1));
            }
        }
    }
}

TEST_CASE("images of elements that are not floats take their own room") {
    using Layouts = ps::AllLayouts::with<chw16>;
    const ps::Kernels kernels = ps::make_kernels<ps::TypeList<Pointwise16>, ps::default_arch, Layouts>();
    CHECK(kernels.layouts[3].element_bytes == 2);
    CHECK(kernels.layouts[3].image_bytes({3, 5, 7}) == 210);
    CHECK((kernels.layouts[3].epilogue == nullptr));
    ps::Analytical model(ps::Machine{});
    ps::Sequential executor;
    for (const int batch : {1, 3}) {
        ps::Graph graph(batch);
        const std::size_t image = graph.add("image", ps::InputParams{{3, 5, 7}}, {});
        const std::size_t wide = graph.add("wide", ps::ConvParams{.k = 4, .kernel = 1, .bias = false}, {image});
        const std::size_t sum = graph.add("sum", ps::ConvParams{.k = 1, .kernel = 1, .bias = false}, {wide});
        const std::size_t constant = graph.add("constant", ps::ConstantParams{{4, 5, 7}}, {});
        const std::size_t other = graph.add("other", ps::ConvParams{.k = 1, .kernel = 1, .bias = false}, {constant});
        graph.set_outputs({sum, other});
        ps::Weights weights;
        weights.add("wide.weight", {4, 3, 1, 1}, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
        weights.add("sum.weight", {1, 4, 1, 1}, {1, 1, 1, 1});
        weights.add("other.weight", {1, 4, 1, 1}, {0, 0, 0, 1});
        weights.add("constant.value", {4, 5, 7}, ramp(140, 0.0F));

        const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{});
        ps::Program program(graph, kernels, plan, weights, 1);
        // The image and `wide` at a time, in whole cache lines.
        if (batch == 1) CHECK(program.arena_bytes() == 256 + 320);
        std::vector<float> src(program.in_floats()), sums(program.out_floats(0)), others(program.out_floats(1));
        for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i % 4);
        const float* srcs[] = {src.data()};
        float* dsts[] = {sums.data(), others.data()};
        program.run(srcs, dsts, executor);
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const float* const pixel = src.data() + i / 35 * 105 + i % 35;
            CHECK(sums[i] == 10 * (pixel[0] + pixel[35] + pixel[70]));
            CHECK(others[i] == static_cast<float>(105 + i % 35));
        }
    }
}

TEST_CASE("sizes that a layout or primitive cannot mean are refused before anything is booked") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{3, 8, 8}}, {});
    graph.add("conv", ps::ConvParams{.k = 4, .kernel = 3}, {0});
    ps::Kernels kernels = ps::Engine<ps::Graph>::kernels();
    ps::Analytical model(ps::Machine{});
    const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.primitive = "direct-sum2d"});
    std::vector<ps::LayoutEntry> layouts(kernels.layouts.begin(), kernels.layouts.end());
    layouts[0].size = [](ps::Shape) { return std::size_t{5}; };
    ps::Kernels small = kernels;
    small.layouts = layouts;
    CHECK_THROWS_WITH_AS((void)ps::make_schedule(graph, small, plan, 1),
                         "plan: layout chw keeps 3x8x8, the result of layer image, in 5 elements", ps::error);

    std::vector<ps::PrimitiveEntry> primitives(kernels.primitives.begin(), kernels.primitives.end());
    for (ps::PrimitiveEntry& entry : primitives) {
        entry.scratch_bytes = [](ps::ConvShape const&, std::size_t, int) { return ~std::size_t{0}; };
    }
    kernels.primitives = primitives;
    CHECK_THROWS_WITH_AS((void)ps::make_schedule(graph, kernels, plan, 1),
                         "plan: layer conv: primitive direct-sum2d asks for 18446744073709551615 bytes of scratch to "
                         "compute 3x8x8 -> 4x6x6, 3x3",
                         ps::error);
}

TEST_CASE("an engine refuses whatever check_weights does, though it checks values as it packs them") {
    ps::Graph graph;
    std::size_t at = graph.add("image", ps::InputParams{{3, 6, 5}}, {});
    at = graph.add("conv", ps::ConvParams{.k = 4, .kernel = 3, .padding = 1, .bias = false}, {at});
    at = graph.add("norm", ps::BatchNormParams{}, {at});
    at = graph.add("relu", ps::ActivationParams{}, {at});
    at = graph.add("pool", ps::PoolParams{.window = 2, .stride = 2}, {at});
    at = graph.add("scale", ps::ScaleParams{}, {at});
    graph.add("dense", ps::DenseParams{70}, {at});  // three parts, the last of six outputs
    const ps::Weights good = ps::random_weights(graph);
    const ps::Engine<ps::Graph> engine(graph, good);
    for (auto const& [name, tensor] : good) {
        for (const std::size_t place : {std::size_t{0}, tensor.values.size() - 1}) {
            ps::Weights bad("w");
            for (auto const& [other, kept] : good) {
                std::vector<float> values(kept.values.begin(), kept.values.end());
                if (other == name) values[place] = std::nanf("");
                bad.add(other, kept.dims, std::move(values));
            }
            std::string expected;
            try {
                ps::check_weights(ps::simplify(graph), bad);
            } catch (ps::error const& fault) {
                expected = fault.what();
            }
            CHECK(expected.find(name) != std::string::npos);
            CHECK_THROWS_WITH_AS(ps::Engine<ps::Graph>(graph, bad), expected.c_str(), ps::error);
        }
    }
}

namespace {
/// The same weights, their bytes at addresses with this remainder modulo 4.
ps::Weights moved(ps::Weights const& weights, std::size_t remainder) {
    ps::Weights result;
    for (auto const& [name, tensor] : weights) {
        auto bytes = std::make_shared<std::vector<std::byte>>(tensor.values.size_bytes() + 2 * sizeof(float));
        const auto at = reinterpret_cast<std::uintptr_t>(bytes->data()) % sizeof(float);
        const auto begin = (sizeof(float) - at) % sizeof(float) + remainder;
        std::ranges::copy(tensor.values.bytes(), bytes->begin() + static_cast<std::ptrdiff_t>(begin));
        const auto floats = std::span<const std::byte>(*bytes).subspan(begin, tensor.values.size_bytes());
        result.add(name, {tensor.dims, ps::StoredFloats::of_bytes(floats), bytes});
    }
    return result;
}
/// A file in memory, which is cut while it is read: after so many reads.
struct CutFile final : ps::ValueFile {
    std::vector<std::byte> content;
    mutable std::atomic<int> reads = 0;
    int most = std::numeric_limits<int>::max();
    void read(std::size_t offset, std::span<std::byte> dst) const override {
        if (++reads > most) ps::fail("f.safetensors: was changed");
        std::ranges::copy(std::span(content).subspan(offset, dst.size()), dst.begin());
    }
};
/// The same weights, in a file.
ps::Weights in_file(ps::Weights const& weights, std::shared_ptr<CutFile> const& file) {
    ps::Weights result;
    for (auto const& [name, tensor] : weights) {
        const std::size_t begin = file->content.size();
        const auto bytes = tensor.values.bytes();
        file->content.insert(file->content.end(), bytes.begin(), bytes.end());
        result.add(name, {tensor.dims, ps::StoredFloats::of_file(file, begin, tensor.values.size()), {}});
    }
    return result;
}
}  // namespace

TEST_CASE("wherever weights lie, and on however many threads they are packed, the results have the same bits") {
    ps::Graph graph;
    std::size_t at = graph.add("image", ps::InputParams{{5, 12, 12}}, {});
    at = graph.add("conv", ps::ConvParams{.k = 36, .kernel = {3, 3}, .padding = {1, 1, 1, 1}, .bias = false}, {at});
    at = graph.add("norm", ps::BatchNormParams{}, {at});
    at = graph.add("depthwise", ps::ConvParams{.k = 36, .kernel = {3, 3}, .groups = 36}, {at});
    at = graph.add("sum", ps::AddParams{}, {at, graph.add("shift", ps::ConstantParams{{36, 10, 10}}, {})});
    at = graph.add("wide", ps::DenseParams{100, true}, {at});
    at = graph.add("narrow", ps::DenseParams{7, false}, {at});
    const ps::Weights weights = ps::random_weights(graph);
    ps::Engine<ps::Graph> engine(graph, weights);
    std::vector<float> image(engine.in_shape().size()), wanted(7), scores(7);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 11) - 5.0F;
    engine.run(image, wanted);
    for (const std::size_t remainder : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
        for (const std::size_t threads : {std::size_t{1}, std::size_t{3}}) {
            CAPTURE(remainder);
            CAPTURE(threads);
            const ps::Weights others = moved(weights, remainder);
            ps::ThreadPool executor(threads);
            ps::Program program(engine.graph(), ps::Engine<ps::Graph>::kernels(), engine.plan(), others, threads,
                                executor);
            program.run(image.data(), scores.data(), executor);
            CHECK(std::memcmp(scores.data(), wanted.data(), 7 * sizeof(float)) == 0);
        }
    }

    // In a file; and in one that is cut at any moment.
    for (const std::size_t threads : {std::size_t{1}, std::size_t{3}}) {
        CAPTURE(threads);
        int reads = std::numeric_limits<int>::max();
        for (int most = reads; most >= 0; most = std::min(most, reads) - 1) {
            CAPTURE(most);
            const auto file = std::make_shared<CutFile>();
            file->most = most;
            const ps::Weights others = in_file(weights, file);
            ps::ThreadPool executor(threads);
            const auto program = [&] {
                return ps::Program(engine.graph(), ps::Engine<ps::Graph>::kernels(), engine.plan(), others, threads,
                                   executor);
            };
            if (most < reads) {
                CHECK_THROWS_WITH_AS((void)program(), "f.safetensors: was changed", ps::error);
                continue;
            }
            ps::Program whole = program();
            reads = file->reads;
            REQUIRE(reads > 6);
            whole.run(image.data(), scores.data(), executor);
            CHECK(std::memcmp(scores.data(), wanted.data(), 7 * sizeof(float)) == 0);
        }
    }
}

TEST_CASE("a weight that layers share is packed once, for images of any size, and the results are as before") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{16, 24, 24}}, {});
    const ps::ConvParams conv{.k = 16, .kernel = {3, 3}, .padding = {1, 1, 1, 1}, .bias = false};
    graph.add("a", conv, {0});
    graph.add("n", ps::BatchNormParams{}, {1});
    graph.add("b", conv, {2});
    graph.add("m", ps::BatchNormParams{}, {3});
    graph.add("pool", ps::PoolParams{.window = {2, 2}, .stride = {2, 2}}, {4});
    graph.add("c", conv, {5});
    graph.add("norm", ps::BatchNormParams{}, {6});
    graph.add("d", ps::DenseParams{.k = 50}, {7});
    graph.add("e", ps::DenseParams{.k = 50}, {8});
    graph.add("f", ps::DenseParams{.k = 50}, {9});
    ps::Weights own = ps::random_weights(graph), shared;
    const auto value_of = [](std::string const& name) {
        if (name == "e.weight" || name == "f.weight") return std::string("e.weight");
        if (name == "e.bias" || name == "f.bias") return std::string("e.bias");
        for (const std::string layer : {"b", "c"}) {
            if (name == layer + ".weight") return std::string("a.weight");
        }
        for (const std::string layer : {"m.", "norm."}) {
            if (name.starts_with(layer)) return "n." + name.substr(layer.size());
        }
        return name;
    };
    // As a copy of its own, and as one that is shared.
    ps::Weights copies;
    for (auto const& [name, tensor] : own) {
        ps::WeightTensor const& of = own.at(value_of(name));
        copies.add(name, of.dims, std::vector<float>(of.values.begin(), of.values.end()));
        shared.add(name, of);
    }
    const std::vector<float> image = ramp(16 * 24 * 24, -3.0F);
    ps::Engine<ps::Graph> many(graph, copies), one(graph, shared, many.plan());
    std::vector<float> wanted(50), scores(50);
    many.run(image, wanted);
    one.run(image, scores);
    CHECK(std::memcmp(scores.data(), wanted.data(), 50 * sizeof(float)) == 0);
    // At least the convolutions of one image size are packed alike, and the two dense layers.
    const std::size_t kernel = 16 * 16 * 9 * sizeof(float), matrix = 50 * 50 * sizeof(float);
    CHECK(many.program().weight_bytes() - one.program().weight_bytes() >= kernel + matrix);
}

#if !defined(PRIMSEL_TEST_INSTRUMENTED)  // sanitizers' allocators end the program
TEST_CASE("an arena for which there is no memory is an error that says how large it is") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{1, 1 << 29, 1 << 16}}, {});
    graph.add("softmax", ps::SoftmaxParams{}, {0});
    graph.add("relu", ps::ActivationParams{}, {1});
    graph.add("sum", ps::AddParams{}, {1, 2});
    CHECK_THROWS_WITH_AS(ps::Engine<ps::Graph>(graph, {}), doctest::Contains("engine: no memory for the arena, "),
                         ps::error);
}
#endif
