// Laws of corrections that are chosen by the samples: none is much worse than what it was chosen from.
#include <primsel/learn/chosen_correction.hpp>

#include <primsel/core/thread_pool.hpp>
#include <primsel/learn/transfer.hpp>

#include "deviating.hpp"
#include "machines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace ps = primsel;

namespace chosen_laws {
namespace {

using deviating::configurations;
using deviating::elsewhere;
using deviating::Machine;
using deviating::median_error;
using machines::executor;

/// Has nothing to do with any machine.
struct Oracle {
    [[nodiscard]] static ps::FloatTable predict(ps::FloatTable const& features) {
        ps::FloatTable result(features.rows(), 3);
        for (std::size_t row = 0; row < features.rows(); ++row) {
            for (std::size_t i = 0; i < 3; ++i) {
                result(row, i) = 5 * std::sin(1000 * features(row, 6) + static_cast<float>(i));
            }
        }
        return result;
    }
};

template <class Source>
auto choose(Source source, ps::FloatTable const& some, ps::FloatTable const& targets, ps::ExecutorRef by = executor) {
    return ps::learn::transfer<ps::learn::ChosenCorrection>(source, some, targets, deviating::labels, by);
}
/// About so many configurations, of all sizes of image and kernel, which take turns.
ps::FloatTable draw(std::size_t rows) {
    std::size_t step = 720 / rows;
    while (step % 2 == 0 || step % 3 == 0) ++step;
    return configurations(step);
}

}  // namespace

TEST_CASE("of an unrelated source nothing is kept: the samples alone are as good") {
    const ps::FloatTable some = draw(60), test = configurations(7, 3);
    const ps::FloatTable targets = elsewhere(some, 0.3F), wanted = elsewhere(test, 0.3F);
    const auto model = choose(Oracle{}, some, targets);
    const auto scratch =
        ps::learn::GaussianProcess::fit(some, targets, deviating::labels, {.rows = 400, .shared_from = 0}, executor);
    CHECK(model.correction().trust() == ps::learn::Trust::samples);
    CHECK(median_error(model.predict(test), wanted) < 1.1 * median_error(scratch.predict(test), wanted) + 0.01);
}

TEST_CASE("of a source that is off by factors those are found, by few rows and by many") {
    const ps::FloatTable test = configurations(7, 3);
    for (const std::size_t rows : {4U, 10U, 36U, 144U}) {
        CAPTURE(rows);
        const ps::FloatTable some = draw(rows);
        const auto model = choose(Machine{}, some, elsewhere(some, 0));
        // The first and the last of three factors are drawn to the second by a share of 0.2.
        CHECK(median_error(model.predict(test), elsewhere(test, 0)) < 0.2 / static_cast<double>(some.rows()) + 1e-3);
    }
}

TEST_CASE("what deviates with the configuration is learned once there are rows enough to tell") {
    const ps::FloatTable some = draw(36), test = configurations(7, 3);
    const ps::FloatTable targets = elsewhere(some, 0.3F), wanted = elsewhere(test, 0.3F);
    const auto model = choose(Machine{}, some, targets);
    const auto factors = ps::learn::transfer<ps::learn::FactorCorrection>(Machine{}, some, targets);
    CHECK(model.correction().trust() > ps::learn::Trust::factors);
    CHECK(median_error(model.predict(test), wanted) < 0.3 * median_error(factors.predict(test), wanted));
}

TEST_CASE("a source that is right stays as it is, and one wild row takes little of that") {
    const ps::FloatTable test = configurations(7, 3), wanted = Machine{}.predict(test);
    for (const std::size_t rows : {3U, 6U, 9U, 12U, 36U, 144U}) {
        CAPTURE(rows);
        const ps::FloatTable some = draw(rows);
        ps::FloatTable targets = Machine{}.predict(some);
        CHECK(median_error(choose(Machine{}, some, targets).predict(test), wanted) < 1e-3);
        for (const float wild : {-7.0F, 7.0F}) {
            ps::FloatTable off = targets;
            for (std::size_t i = 0; i < off.columns; ++i) off(some.rows() / 2, i) += wild;
            CHECK(median_error(choose(Machine{}, some, off).predict(test), wanted) < 0.05);
        }
    }
}

TEST_CASE("too few rows to tell: factors, each between its own median and that of all") {
    const ps::FloatTable some = draw(4);
    REQUIRE(some.rows() < ps::learn::ChosenCorrection::least_rows);
    ps::FloatTable targets = Machine{}.predict(some);
    for (std::size_t row = 0; row < targets.rows(); ++row) {
        targets(row, 0) += 1;
        targets(row, 2) = machines::missing;
    }
    const ps::FloatTable deviations = ps::learn::deviations(Machine{}, some, targets);
    const auto plain = ps::learn::FactorCorrection::fit({some, targets, deviations}),
               shrunk = ps::learn::FactorCorrection::shrunk({some, targets, deviations});
    CHECK(plain.of(0) == doctest::Approx(1));
    CHECK(std::abs(plain.of(1)) < 1e-5);
    const auto rows = static_cast<float>(some.rows());
    CHECK(shrunk.of(2) == plain.of(2));
    for (const std::size_t i : {0U, 1U}) {
        CHECK(shrunk.of(i) == doctest::Approx(plain.of(2) + rows / (rows + 1) * (plain.of(i) - plain.of(2))));
    }
    const auto model = choose(Machine{}, some, targets);
    CHECK(model.correction().trust() == ps::learn::Trust::factors);
    CHECK(model.predict(some)(0, 0) == doctest::Approx(Machine{}.predict(some)(0, 0) + shrunk.of(0)));
}

TEST_CASE("what is chosen is the same for any number of threads, and from a file") {
    const ps::FloatTable some = draw(36), test = configurations(70, 3);
    ps::ThreadPool pool(3);
    const auto check = [&](auto const& source) {
        const ps::FloatTable targets = elsewhere(some, 0.3F);
        auto model = choose(source, some, targets);
        const ps::FloatTable predicted = model.predict(test);
        CHECK(choose(source, some, targets, pool).predict(test).values == predicted.values);

        ps::learn::ChosenCorrection correction = model.correction(), again;
        ps::Archive written("m");
        correction.archive(written, ps::ConvFeatures::count, 3);
        const auto bytes = written.bytes();
        ps::Archive read("m", bytes);
        again.archive(read, ps::ConvFeatures::count, 3);
        read.finish();
        CHECK(again.trust() == correction.trust());
        ps::FloatTable corrected = source.predict(test);
        again.correct(test, corrected);
        CHECK(corrected.values == predicted.values);
    };
    check(Machine{});
    check(Oracle{});
}

}  // namespace chosen_laws
