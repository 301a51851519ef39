#include <primsel/cost/analytical.hpp>

#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>

#include <algorithm>
#include <vector>

namespace cost_analytical {

namespace ps = primsel;
using laws::conv;

namespace {

using laws::all_kernels;

std::vector<ps::Analytical> models() {
    std::vector<ps::Analytical> models;
    for (ps::Machine const& machine : fixed::machines()) models.emplace_back(machine);
    return models;
}

double seconds_of(ps::Analytical& model, std::size_t primitive, ps::ConvShape const& shape, int batch = 1) {
    return laws::predict(model, all_kernels, std::vector{ps::ConvQuery{shape, primitive, {.batch = batch}}})[0];
}

/// Whether the primitive does both with the same kinds of arithmetic. (A row too short for vectors may be computed one
/// element at a time, and cost more than a longer one.)
bool same_rates(ps::PrimitiveEntry const& primitive, ps::ConvShape const& a, ps::ConvShape const& b) {
    const auto rate = [](ps::Phase const& phase) { return phase.rate; };
    return std::ranges::equal(primitive.work(a, 1, 1), primitive.work(b, 1, 1), {}, rate, rate);
}

/// How much slower the memory is that feeds more images at once than the one that feeds fewer, in the step where most.
double farther(ps::Machine const& machine, ps::PrimitiveEntry const& primitive, ps::ConvShape const& shape, int fewer,
               int more) {
    const ps::Work near = primitive.work(shape, fewer, 1), far = primitive.work(shape, more, 1);
    REQUIRE(std::ranges::equal(near, far, {}, &ps::Phase::rate, &ps::Phase::rate));
    double slower = 1;
    std::ranges::equal(near, far, [&](ps::Phase const& a, ps::Phase const& b) {
        CHECK(b.operations <= a.operations * more / fewer * (1 + 1e-12));
        CHECK(b.bytes <= a.bytes * more / fewer * (1 + 1e-12));
        slower = std::max(slower, machine.bandwidth_for(a.working_set) / machine.bandwidth_for(b.working_set));
        return true;
    });
    return slower;
}

/// Whether the layer only gives its input another name or shape, in its place.
bool moves_nothing(ps::OpQuery const& query) {
    return std::holds_alternative<ps::DropoutParams>(*query.layer) ||
           (std::holds_alternative<ps::ReshapeParams>(*query.layer) && query.layout == 0);
}

}  // namespace

TEST_CASE("analytical: a larger image, more channels or more kernels cost every primitive more") {
    struct Step {
        ps::ConvShape small, large;
    };
    std::vector<Step> steps;
    for (const int f : {1, 3, 5}) {
        for (const int im : {8, 16, 32, 64, 128}) steps.push_back({conv(im, 16, 32, f), conv(2 * im, 16, 32, f)});
        steps.push_back({conv(28, 64, 64, f), conv(28, 128, 64, f)});
        steps.push_back({conv(28, 64, 64, f), conv(28, 64, 128, f)});
        steps.push_back({conv(28, 256, 256, f), conv(28, 512, 256, f)});
    }
    for (ps::Analytical& model : models()) {
        std::size_t compared = 0, supported = 0;
        for (Step const& step : steps) {
            CAPTURE(ps::to_string(step.small));
            CAPTURE(ps::to_string(step.large));
            for (std::size_t p = 0; p < all_kernels.primitives.size(); ++p) {
                ps::PrimitiveEntry const& primitive = all_kernels.primitives[p];
                CAPTURE(primitive.id);
                if (!primitive.supports(step.small) || !primitive.supports(step.large)) continue;
                ++supported;
                if (!same_rates(primitive, step.small, step.large)) continue;
                CHECK(seconds_of(model, p, step.small) < seconds_of(model, p, step.large));
                ++compared;
            }
        }
        CHECK(supported > 10 * steps.size());
        CHECK(compared > supported * 9 / 10);
    }
}

TEST_CASE("analytical: the weights of a small network come from caches, unknown ones from memory") {
    for (ps::Machine const& machine : fixed::machines()) {
        ps::Analytical model(machine);
        const ps::ConvShape shape = conv(8, 64, 64, 3);
        for (std::size_t p = 0; p < all_kernels.primitives.size(); ++p) {
            if (!all_kernels.primitives[p].supports(shape)) continue;
            CAPTURE(all_kernels.primitives[p].id);
            std::vector<ps::ConvQuery> queries;
            for (const double run_bytes : {1e5, 1e6, 5e6, 5e7, 1e9, 0.0}) {
                queries.push_back({.shape = shape, .primitive = p, .run = {.weight_reuse_bytes = run_bytes}});
            }
            const std::vector<double> seconds = laws::predict(model, all_kernels, queries);
            CHECK(std::ranges::is_sorted(seconds));
            CHECK((seconds.front() < seconds.back()) == (machine.bandwidth_for(1e5) > machine.bandwidth.back()));
            CHECK(seconds.back() == seconds[seconds.size() - 2]);
        }
    }
}

TEST_CASE("analytical: the longer a run lasts, the fewer of its weights still come from a cache that is shared") {
    ps::Machine machine;
    machine.idle_bandwidth = 0.5 * (machine.bandwidth[3] + machine.bandwidth[4]);
    ps::Analytical shared(machine);
    const ps::ConvShape shape = conv(8, 64, 64, 3);
    std::vector<ps::ConvQuery> queries;
    for (const double operations : {0.0, 1e6, 1e8, 1e12}) {
        queries.push_back({.shape = shape,
                           .primitive = 0,
                           .run = {.weight_reuse_bytes = 5e6, .weight_reuse_operations = operations}});
    }
    queries.push_back({.shape = shape, .primitive = 0});
    const std::vector<double> seconds = laws::predict(shared, all_kernels, queries);
    CHECK(std::ranges::is_sorted(seconds));
    CHECK(seconds[0] < seconds[1]);
    CHECK(seconds[1] < seconds[2]);
    CHECK(seconds[3] == doctest::Approx(seconds[4]));
}

TEST_CASE("analytical: every image takes as long as another, but large weights come from memory once for all") {
    for (ps::Machine const& machine : fixed::machines()) {
        ps::Analytical model(machine);
        for (const ps::ConvShape& shape : {conv(14, 32, 64, 3), conv(56, 16, 16, 1), conv(9, 50, 70, 5)}) {
            for (std::size_t p = 0; p < all_kernels.primitives.size(); ++p) {
                if (!all_kernels.primitives[p].supports(shape)) continue;
                CAPTURE(all_kernels.primitives[p].id);
                const double once = seconds_of(model, p, shape), twice = seconds_of(model, p, shape, 2),
                             all = seconds_of(model, p, shape, 6);
                if (all_kernels.primitives[p].whole_batch) {  // blocks of pixels and weights are shared by images
                    ps::PrimitiveEntry const& primitive = all_kernels.primitives[p];
                    CHECK(twice > once);
                    CHECK(twice <= 2 * once * farther(machine, primitive, shape, 1, 2) * (1 + 1e-9));
                    CHECK(all > twice);
                    CHECK(all <= 3 * twice * farther(machine, primitive, shape, 2, 6) * (1 + 1e-9));
                } else if (all_kernels.primitives[p].packed_bytes(shape) <
                           sizeof(float) * (shape.in_shape().size() + shape.out_shape().size())) {
                    CHECK(twice == doctest::Approx(2 * once).epsilon(1e-9));
                    CHECK(all == doctest::Approx(6 * once).epsilon(1e-9));
                } else {
                    CHECK(twice > once);
                    CHECK(twice < 2 * once);
                    CHECK(all > twice);
                    CHECK(all < 3 * twice);
                }
            }
        }
        const auto one = laws::predict(model, all_kernels, laws::transforms(all_kernels, {64, 28, 28}, 1));
        const auto six = laws::predict(model, all_kernels, laws::transforms(all_kernels, {64, 28, 28}, 6));
        for (std::size_t i = 0; i < one.size(); ++i) CHECK(six[i] == doctest::Approx(6 * one[i]).epsilon(1e-12));
        // Other layers read their weights and start once for all images.
        const auto layers = laws::layers({64, 28, 28});
        const auto queries = laws::ops(all_kernels, layers, 1);
        const auto op = laws::predict(model, all_kernels, queries);
        const auto ops = laws::predict(model, all_kernels, laws::ops(all_kernels, layers, 6));
        for (std::size_t i = 0; i < op.size(); ++i) {
            CAPTURE(i);
            CHECK((ops[i] > op[i] || moves_nothing(queries[i])));
            CHECK(ops[i] <= 6 * op[i]);
        }
    }
}

TEST_CASE("analytical: larger tensors cost more to move and to pass through") {
    for (ps::Analytical& model : models()) {
        std::size_t compared = 0, all = 0;
        for (const int im : {4, 16, 64}) {
            CAPTURE(im);
            const ps::Shape small{32, im, im}, large{32, 2 * im, 2 * im};
            const auto move = laws::predict(model, all_kernels, laws::transforms(all_kernels, small, 1));
            const auto move_more = laws::predict(model, all_kernels, laws::transforms(all_kernels, large, 1));
            for (std::size_t i = 0; i < move.size(); ++i) CHECK(move[i] < move_more[i]);
            const auto few = laws::layers(small), many = laws::layers(large);
            const auto pass = laws::predict(model, all_kernels, laws::ops(all_kernels, few, 1));
            const auto pass_more = laws::predict(model, all_kernels, laws::ops(all_kernels, many, 1));
            const auto queries = laws::ops(all_kernels, few, 1);
            all += pass.size();
            for (std::size_t i = 0; i < pass.size(); ++i) {
                CAPTURE(queries[i].layer->index());
                CHECK(pass[i] <= pass_more[i]);
                // These kernels may lack an op, such as one of a training step: its arithmetic is not known then.
                const bool known = std::holds_alternative<ps::ConvParams>(*queries[i].layer) ||
                                   all_kernels.op(*queries[i].layer, queries[i].layout).work != nullptr;
                // RoiAlign takes as long as its boxes have samples.
                const bool grows = !std::holds_alternative<ps::RoiAlignParams>(*queries[i].layer);
                if (known && grows && !moves_nothing(queries[i])) CHECK(pass[i] < pass_more[i]);
                compared += known ? 1U : 0U;
            }
        }
        CHECK(compared > all / 2);
    }
}

TEST_CASE("analytical: on a machine twice as fast everything takes less, and at least half as long") {
    ps::Machine slow, fast;
    fast.fma_flops *= 2, fast.half_flops *= 2, fast.matmul_flops *= 2, fast.vector_flops *= 2, fast.scalar_flops *= 2;
    for (double& bandwidth : fast.bandwidth) bandwidth *= 2;
    ps::Analytical slower(slow), faster(fast);
    const auto compare = [&](auto const& queries) {
        const auto before = laws::predict(slower, all_kernels, queries),
                   after = laws::predict(faster, all_kernels, queries);
        for (std::size_t i = 0; i < before.size(); ++i) {
            CAPTURE(i);
            CHECK(after[i] < before[i]);
            CHECK(after[i] >= before[i] / 2);
        }
    };
    compare(laws::convs(all_kernels, {conv(28, 64, 64, 3), conv(56, 32, 64, 1), conv(14, 100, 100, 5)}));
    compare(laws::transforms(all_kernels, {64, 56, 56}, 2));
    const auto layers = laws::layers({64, 56, 56});
    auto queries = laws::ops(all_kernels, layers, 2);
    std::erase_if(queries, moves_nothing);
    compare(queries);
}

TEST_CASE("analytical: prices the work that a primitive says it does") {
    // 9 GFLOP/s of matrix products, 5 (of a peak of 10) of Winograd's transforms: nothing else takes time here.
    ps::Machine machine;
    machine.fma_flops = 1e10, machine.half_flops = 5e9, machine.matmul_flops = 9e9, machine.vector_flops = 1e30,
    machine.scalar_flops = 1e30;
    machine.bandwidth = {1e30, 1e30, 1e30, 1e30, 1e30};
    ps::Analytical arithmetic(machine);
    const ps::ConvShape shape = conv(56, 64, 64, 3);
    const ps::Kernels all = all_kernels;
    std::size_t checked = 0;
    for (std::size_t p = 0; p < all.primitives.size(); ++p) {
        if (!all.primitives[p].supports(shape)) continue;
        CAPTURE(all.primitives[p].id);
        double operations = 0, others = 0;
        for (ps::Phase const& phase : all.primitives[p].work(shape, 1, 1)) {
            CHECK(phase.operations >= 0);
            CHECK(phase.bytes >= 0);
            CHECK(phase.working_set >= 0);
            if (phase.rate == ps::Rate::gemm) operations += phase.operations;
            if (phase.rate == ps::Rate::registers) others += phase.operations * phase.narrow;
        }
        if (operations == 0) continue;
        ++checked;
        const double seconds = seconds_of(arithmetic, p, shape), expected = operations / 0.9e10 + others / 0.5e10;
        CHECK(seconds >= expected);
        CHECK(seconds <= expected + 1e-5);
    }
    CHECK(checked > 5);
}

TEST_CASE("analytical: kernels put together by hand have no machine, which is said") {
    const ps::ConvQuery query{laws::conv(8, 4, 4, 3), 0};
    double seconds = 0;
    ps::Analytical model;
    CHECK_THROWS_WITH_AS(model.predict(ps::Kernels{}, std::span(&query, 1), std::span(&seconds, 1)),
                         doctest::Contains("these kernels have no machine"), ps::error);
}

}  // namespace cost_analytical
