#include <primsel/measure/measured.hpp>
#include <primsel/primitive/training.hpp>

#include "../cost/laws.hpp"

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

namespace profile_measured {

namespace ps = primsel;
using laws::conv;

namespace {

ps::Kernels kernels() { return ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>(); }

/// Counts its runs, each of which takes about so many microseconds.
template <int number, int microseconds = 0>
struct Counted {
    static constexpr std::string_view id = number == 0 ? "counted-0" : "counted-1";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = ps::chw;
    using out_layout = ps::chw;
    static ps::Support supports(ps::ConvShape const&) { return ps::Support::yes(); }
    template <class Arch>
    static void run(ps::ConvShape const& shape, ps::ConvArgs const& args) noexcept {
        ++runs;
        std::fill_n(args.dst, shape.out_shape().size(), 1.0F);
        if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    }
    static inline int runs = 0;
};
template <class... Primitives>
ps::Kernels kernels_of() {
    return ps::make_kernels<ps::TypeList<Primitives...>, ps::default_arch, ps::AllLayouts>();
}

std::vector<double> ask(ps::measure::Measured& measured, ps::Kernels const& from,
                        std::vector<ps::ConvQuery> const& queries) {
    return laws::predict(measured, from, queries);
}

}  // namespace

TEST_CASE("measured: every candidate that can run takes time, and is timed once") {
    ps::measure::Measured measured(1);
    std::vector<ps::ConvShape> shapes{conv(1, 1, 1, 1), conv(6, 4, 5, 3), conv(8, 3, 4, 5), conv(5, 8, 8, 1)};
    shapes.push_back({.c = 4, .k = 6, .h = 9, .w = 7, .fh = 3, .fw = 2, .stride_h = 2, .pad_left = 1, .groups = 2});
    auto convs = laws::convs(kernels(), shapes);
    for (ps::ConvQuery const& query : laws::convs(kernels(), {conv(6, 4, 4, 3)}, 3)) convs.push_back(query);
    for (const double seconds : ask(measured, kernels(), convs)) CHECK(seconds > 0);
    laws::check_independent(measured, kernels(), convs);

    for (const int batch : {1, 3}) {
        const auto transforms = laws::transforms(kernels(), {4, 6, 5}, batch);
        for (const double seconds : laws::predict(measured, kernels(), transforms)) CHECK(seconds > 0);
        laws::check_independent(measured, kernels(), transforms);
    }
}

TEST_CASE("measured: the gradients of convolutions take time") {
    const ps::Kernels training = ps::make_kernels<ps::GradientPrimitives, ps::default_arch, ps::AllLayouts>();
    const auto convs = laws::convs(training, {conv(6, 4, 4, 3)}, 3);
    CHECK(convs.size() >= 3);
    ps::measure::Measured measured(1);
    for (const double seconds : ask(measured, training, convs)) CHECK(seconds > 0);
}

TEST_CASE("measured: layers other than convolutions, and what follows a convolution, take time") {
    ps::measure::Measured measured(1);
    const auto layers = laws::layers({6, 8, 8});
    for (const int batch : {1, 3}) {
        const auto ops = laws::ops(kernels(), layers, batch);
        const auto seconds = laws::predict(measured, kernels(), ops);
        laws::check_answers(seconds);
        CHECK(laws::predict(measured, kernels(), ops) == seconds);
        for (std::size_t i = 0; i < ops.size(); ++i) {
            CAPTURE(ops[i].layer->index());
            // Inputs and constants are there already; some layers run in chw alone.
            const bool runs = std::holds_alternative<ps::ConvParams>(*ops[i].layer) ||
                              kernels().op(*ops[i].layer, ops[i].layout).run != nullptr;
            CHECK((seconds[i] > 0) == runs);
        }
    }
}

TEST_CASE("measured: a run to warm up and so many more, for each image of the batch") {
    using One = Counted<0>;
    const ps::ConvShape shape = conv(4, 2, 2, 3);
    for (const std::size_t runs : {1U, 5U}) {
        ps::measure::Measured measured(runs);
        One::runs = 0;
        const auto first = ask(measured, kernels_of<One>(), {{shape, 0}});
        CHECK(One::runs == static_cast<int>(runs) + 1);
        CHECK(ask(measured, kernels_of<One>(), {{shape, 0}, {shape, 0}}) == std::vector{first[0], first[0]});
        CHECK(One::runs == static_cast<int>(runs) + 1);
        (void)ask(measured, kernels_of<One>(), {{shape, 0, {.batch = 4}}});
        CHECK(One::runs == 5 * (static_cast<int>(runs) + 1));
    }
    // No runs at all would be no answer.
    ps::measure::Measured none(0);
    One::runs = 0;
    CHECK(ask(none, kernels_of<One>(), {{shape, 0}})[0] > 0);
    CHECK(One::runs == 2);
}

TEST_CASE("measured: remembers a primitive, not its place in a list") {
    using One = Counted<0>;
    using Other = Counted<1>;
    ps::measure::Measured measured(1);
    const ps::ConvShape shape = conv(4, 2, 2, 3);
    One::runs = Other::runs = 0;
    const double one = ask(measured, kernels_of<One>(), {{shape, 0}})[0];
    CHECK(One::runs == 2);
    (void)ask(measured, kernels_of<Other, One>(), {{shape, 0}});
    CHECK(Other::runs > 0);  // once, should it seem hopeless
    CHECK(ask(measured, kernels_of<Other, One>(), {{shape, 1}})[0] == one);
    CHECK(One::runs == 2);
}

TEST_CASE("measured: what is hopeless is not run again") {
    using Fast = Counted<0>;
    using Slow = Counted<1, 100'000>;
    ps::measure::Measured measured(5);
    Fast::runs = Slow::runs = 0;
    const ps::ConvShape shape = conv(4, 2, 2, 3);
    const auto seconds = ask(measured, kernels_of<Fast, Slow>(), {{shape, 0}, {shape, 1}});
    CHECK(Fast::runs == 6);
    CHECK(Slow::runs == 1);
    CHECK(seconds[1] >= 0.1);
    CHECK(seconds[0] < seconds[1]);
    // Alone, or first, it is: nothing else is known of the layer.
    Slow::runs = 0;
    (void)ask(measured, kernels_of<Fast, Slow>(), {{conv(5, 2, 2, 3), 1}});
    CHECK(Slow::runs == 6);
}

}  // namespace profile_measured
