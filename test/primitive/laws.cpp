// The laws that every primitive of the list obeys.
#include "laws.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

using namespace laws;

namespace {

/// A pool of plain threads, started anew for every call.
auto threads(std::size_t count) {
    return ps::CallerPool(count, [](std::size_t n, auto const& task) noexcept {
        std::vector<std::thread> workers;
        for (std::size_t i = 0; i < n; ++i) workers.emplace_back([&task, i] { task(i); });
        for (std::thread& worker : workers) worker.join();
    });
}

}  // namespace

TEST_CASE("every primitive computes the definition, on every shape that it supports") {
    const ps::Kernels list = kernels();
    ps::Sequential sequential;
    for (ps::ConvShape const& shape : odd_shapes()) {
        const Problem integers(shape, Values::integers), normal(shape, Values::normal);
        for (const bool epilogue : {false, true}) {
            const std::vector<double> exact = integers.exact(epilogue), exact_normal = normal.exact(epilogue);
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (!entry.supports(shape) || (epilogue && !entry.fuses_epilogue)) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                CAPTURE(epilogue);
                const Outcome outcome = run(list, entry, is_winograd(entry) ? normal : integers, epilogue, sequential);
                CHECK(outcome.intact);
                if (is_winograd(entry)) {
                    CHECK(error(outcome.dst, exact_normal) <= entry.error_bound);
                } else {
                    CHECK(std::equal(exact.begin(), exact.end(), outcome.dst.begin(),
                                     [](double a, float b) { return a == static_cast<double>(b); }));
                }
            }
        }
    }
}

TEST_CASE("the bits do not depend on the threads nor on what scratch held") {
    const ps::Kernels list = kernels();
    ps::Sequential sequential;
    auto pool = threads(3);
    const std::vector<ps::ConvShape> shapes{{.c = 19,
                                             .k = 35,
                                             .h = 23,
                                             .w = 14,
                                             .fh = 3,
                                             .fw = 3,
                                             .pad_top = 1,
                                             .pad_bottom = 1,
                                             .pad_left = 1,
                                             .pad_right = 1},
                                            {.c = 19,
                                             .k = 35,
                                             .h = 23,
                                             .w = 14,
                                             .fh = 5,
                                             .fw = 5,
                                             .pad_top = 2,
                                             .pad_bottom = 2,
                                             .pad_left = 2,
                                             .pad_right = 2},
                                            {.c = 19, .k = 70, .h = 23, .w = 14, .fh = 1, .fw = 1},
                                            {.c = 6,
                                             .k = 18,
                                             .h = 23,
                                             .w = 24,
                                             .fh = 7,
                                             .fw = 7,
                                             .stride_h = 2,
                                             .stride_w = 2,
                                             .pad_top = 3,
                                             .pad_left = 3}};
    for (ps::ConvShape const& shape : shapes) {
        const Problem problem(shape, Values::normal);
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            const Outcome one = run(list, entry, problem, entry.fuses_epilogue, sequential);
            CHECK(run(list, entry, problem, entry.fuses_epilogue, sequential).dst == one.dst);
            const Outcome many = run(list, entry, problem, entry.fuses_epilogue, pool);
            CHECK(many.dst == one.dst);
            CHECK(many.intact);
        }
    }
}

TEST_CASE("deep sums stay within the documented error bounds") {
    const ps::Kernels list = kernels();
    ps::Sequential sequential;
    for (const int channels : {64, 256, 512}) {
        for (const int f : {1, 3, 5}) {
            const ps::ConvShape shape{.c = channels,
                                      .k = 33,
                                      .h = 10,
                                      .w = 9,
                                      .fh = f,
                                      .fw = f,
                                      .pad_top = f / 2,
                                      .pad_bottom = f / 2,
                                      .pad_left = f / 2,
                                      .pad_right = f / 2};
            const Problem problem(shape, Values::normal);
            const std::vector<double> exact = problem.exact(false);
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (!entry.supports(shape)) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                CHECK(error(run(list, entry, problem, false, sequential).dst, exact) <= entry.error_bound);
            }
        }
    }
}

TEST_CASE("a refusal has a reason, and supporting a shape does not depend on the batch") {
    for (ps::ConvShape shape : odd_shapes()) {
        for (ps::PrimitiveEntry const& entry : kernels().primitives) {
            CAPTURE(std::string(entry.id));
            const ps::Support one = entry.supports(shape);
            CHECK(static_cast<bool>(one) == one.reason().empty());
            ps::ConvShape three = shape;
            three.batch = 3;
            CHECK(static_cast<bool>(entry.supports(three)) == static_cast<bool>(one));
        }
    }
}

TEST_CASE("im2 computes every unstrided shape, copy-self and direct any") {
    for (ps::ConvShape const& shape : odd_shapes()) {
        for (ps::PrimitiveEntry const& entry : kernels().primitives) {
            const bool any = entry.family == ps::Family::direct || entry.id.find("copy-self") != std::string_view::npos;
            if (any || (entry.family == ps::Family::im2 && !shape.strided())) CHECK(entry.supports(shape));
        }
    }
}
