// Every policy exchanged at once: a primitive, a layout, learned costs, a solver, a matrix product and an executor of
// the user's. Each must be what the engine really uses.
#include "../network/evaluate.hpp"

#include <primsel/cost/learned_cost.hpp>
#include <primsel/gemm/gemm_eigen.hpp>
#include <primsel/learn/forest.hpp>
#include <primsel/learn/learn.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

using namespace ps::layer;

/// Blocks of four channels, [c / 4][h][w][4].
struct chw4c {
    static constexpr std::string_view name = "chw4c";
    static constexpr std::size_t size(ps::Shape shape) {
        return (static_cast<std::size_t>(shape.c) + 3) / 4 * 4 * shape.pixels();
    }
    static constexpr std::size_t offset(ps::Shape shape, ps::Coord at) {
        const auto c = static_cast<std::size_t>(at.c);
        const std::size_t pixel =
            static_cast<std::size_t>(at.h) * static_cast<std::size_t>(shape.w) + static_cast<std::size_t>(at.w);
        return (c / 4 * shape.pixels() + pixel) * 4 + c % 4;
    }
};

std::atomic<int> runs = 0, solved = 0, predicted = 0, blocks = 0;

/// The definition, in the user's layout.
struct Definition {
    static constexpr std::string_view id = "definition";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = chw4c;
    using out_layout = chw4c;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr ps::Support supports(ps::ConvShape const& s) {
        return s.groups == 1 ? ps::Support::yes() : ps::Support::no("needs one group");
    }
    template <class Arch>
    static void run(ps::ConvShape const& s, ps::ConvArgs const& args) noexcept {
        ++runs;
        std::fill_n(args.dst, chw4c::size(s.out_shape()), 0.0F);
        for (int k = 0; k < s.k; ++k) {
            for (int y = 0; y < s.out_h(); ++y) {
                for (int x = 0; x < s.out_w(); ++x)
                    args.dst[chw4c::offset(s.out_shape(), {k, y, x})] = at(s, args, k, y, x);
            }
        }
    }

private:
    static float at(ps::ConvShape const& s, ps::ConvArgs const& args, int k, int y, int x) noexcept {
        double sum = args.bias == nullptr ? 0.0 : static_cast<double>(args.bias[k]);
        if (args.residual != nullptr)
            sum += static_cast<double>(args.residual[chw4c::offset(s.out_shape(), {k, y, x})]);
        for (int c = 0; c < s.c; ++c) {
            for (int i = 0; i < s.fh; ++i) {
                for (int j = 0; j < s.fw; ++j) {
                    const int h = y * s.stride_h - s.pad_top + i * s.dilation_h;
                    const int w = x * s.stride_w - s.pad_left + j * s.dilation_w;
                    if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
                    const int tap = ((k * s.c + c) * s.fh + i) * s.fw + j;
                    sum += static_cast<double>(args.weights[tap]) *
                           static_cast<double>(args.src[chw4c::offset(s.in_shape(), {c, h, w})]);
                }
            }
        }
        return std::clamp(static_cast<float>(sum), args.clamp.low, args.clamp.high);
    }
};

struct CountingSolver {
    static constexpr std::string_view name = "counting";
    [[nodiscard]] ps::PbqpSolution solve(ps::PbqpProblem const& problem) const {
        ++solved;
        return ps::ReductionPbqp{}.solve(problem);
    }
};

/// Says what the forest in it says.
struct CountingForest {
    ps::learn::Forest forest;
    [[nodiscard]] ps::FloatTable predict(ps::FloatTable const& features) const {
        ++predicted;
        return forest.predict(features);
    }
};

struct CountingExecutor {
    [[nodiscard]] static std::size_t concurrency() noexcept { return 2; }
    template <class Task>
    void parallel_for(std::size_t count, Task const& task) const noexcept {
        blocks += static_cast<int>(count);
        for (std::size_t i = count; i-- > 0;) task(i, i % 2);
    }
};
static_assert(ps::Executor<CountingExecutor>);

struct Net : ps::Network<Input<3, 12, 10>, Named<"first", Conv<8, 3>>, Relu, MaxPool<2>, Named<"second", Conv<6, 1>>,
                         Relu, Named<"third", Conv<8, 3>>, GlobalAvgPool, Dense<5>> {};

struct Everything : ps::DefaultPolicies {
    using primitives = ps::TypeList<Definition, ps::Kn2Row<>, ps::Conv1x1Gemm<ps::GemmForm::ab, ps::GemmOut::ki>>;
    using gemm = ps::EigenGemm;
    using layouts = ps::TypeList<ps::chw, ps::hwc, chw4c>;
    using cost_model = ps::LearnedCost<CountingForest>;
    using solver = CountingSolver;
    using executor = CountingExecutor;
};

/// Times by which each primitive is the cheapest somewhere: the definition for few channels, the pointwise one for 1x1.
ps::learn::Dataset times() {
    ps::learn::Dataset data;
    data.inputs = {"c", "k", "im", "f", "s"};
    data.subjects = {"definition", "kn2row-eigen", "conv-1x1-gemm-ab-ki-eigen"};
    for (const int c : {3, 6, 8}) {
        for (const int f : {1, 3}) {
            for (const int im : {5, 6, 10, 12}) {
                data.add(std::vector{c, 8, im, f, 1},
                         std::vector{c == 3 ? 1e-6 : 1.0, 1e-2, f == 1 ? 1e-6 : std::nan("")});
            }
        }
    }
    return data;
}

}  // namespace

TEST_CASE("compose: every policy at once") {
    const ps::Weights weights = ps::random_weights(Net::graph());
    ps::Sequential sequential;
    const ps::LearnedCost costs(ps::learn::fit_costs(times(), [&](ps::FloatTable const& x, ps::FloatTable const& y) {
        return CountingForest{ps::learn::Forest::fit(x, y, {.trees = 8}, sequential)};
    }));
    ps::Engine<Net, Everything> engine{weights, ps::Predict{costs}};
    CHECK(predicted > 0);
    CHECK(solved > 0);
    CHECK(engine.plan().solver == "counting");
    CHECK(engine.plan().cost_model == "learned");
    CHECK(engine.plan().layer("first").primitive == "definition");
    CHECK(engine.plan().layer("first").out_layout == "chw4c");
    CHECK(engine.plan().layer("second").primitive == "conv-1x1-gemm-ab-ki-eigen");
    CHECK(engine.plan().layer("third").primitive == "kn2row-eigen");

    ps::Tensor<> image(Net::input_shape), scores(Net::output_shape);
    float value = 0;
    for (float& pixel : image) pixel = std::sin(value += 0.7F);
    engine.run(image.span(), scores.span());
    CHECK(runs == 1);
    CHECK(blocks > 0);
    evaluate::Image exact_image(Net::input_shape);
    std::ranges::copy(image, exact_image.data.begin());
    const std::vector<double> exact = evaluate::graph(Net::graph(), exact_image, weights).data;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        CHECK(static_cast<double>(scores.span()[i]) == doctest::Approx(exact[i]).epsilon(1e-4));
    }
}

// An engine for an older instruction set than the translation unit's: its kernels, and the machine's speeds with them.
template <class Arch>
struct Older : ps::DefaultPolicies {
    using arch = Arch;
    using primitives = ps::TypeList<ps::Kn2Row<>, ps::DirectHwc, ps::Winograd<2, 3, 16>>;
};

template <class Arch>
void check_older() {
    if constexpr (ps::InstructionSet<Arch>) {
        // The kernels that engines of this network compile where kernels are not extern.
        using Compiled = ps::engine::CompileFor<Net>;
        const ps::Kernels kernels = ps::policy_kernels<Older<Arch>, Compiled>();
        CHECK(kernels.arch == Arch::name());
        CHECK(&kernels.machine(1) == &ps::this_machine<Arch>());
        const ps::Weights weights = ps::random_weights(Net::graph());
        ps::engine::detail::EngineOf<Older<Arch>, Compiled> older{Net::graph(), weights, ps::PlanOptions{},
                                                                  ps::Sequential{}};
        ps::Engine<Net> own{weights};
        ps::Tensor<> image(Net::input_shape), scores(Net::output_shape), expected(Net::output_shape);
        float value = 0;
        for (float& pixel : image) pixel = std::sin(value += 0.7F);
        const std::span<const float> src = image.span();
        const std::span<float> dst = scores.span();
        older.run(std::span(&src, 1), std::span(&dst, 1));
        own.run(image.span(), expected.span());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            CHECK(static_cast<double>(scores.span()[i]) ==
                  doctest::Approx(static_cast<double>(expected.span()[i])).epsilon(1e-4));
        }
    }
}

TEST_CASE("compose: an instruction set that is older than the translation unit's") {
#if defined(__x86_64__)
    check_older<xsimd::sse4_2>();
    check_older<xsimd::fma3<xsimd::avx2>>();
#endif
}
