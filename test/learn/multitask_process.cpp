// Laws of a Gaussian process over configurations and primitives at once, and of the factors behind it.
#include <primsel/learn/multitask_process.hpp>
#include <primsel/learn/tables.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

std::array<float, ps::ConvFeatures::count> features_of(int c, int k, int im, int f) {
    ps::ConvShape shape{.c = c, .k = k, .h = im, .w = im, .fh = f, .fw = f};
    shape.pad_top = shape.pad_bottom = shape.pad_left = shape.pad_right = f / 2;
    return ps::ConvFeatures::of(shape);
}
/// The first so many, each as fast as the fastest.
std::vector<ps::learn::PredictedPrimitive> first(std::size_t count) {
    std::vector<ps::learn::PredictedPrimitive> result(count);
    for (std::size_t p = 0; p < count; ++p) result[p].primitive = p;
    return result;
}

}  // namespace

TEST_CASE("a factored matrix solves what it was made from") {
    std::mt19937 generator(1);
    const auto draw = [&] { return static_cast<double>(generator() % 2001) / 1000.0 - 1; };
    for (const std::size_t size : {1U, 2U, 7U, 33U}) {
        CAPTURE(size);
        // A = M M' + 1, of which only the upper triangle is given away.
        std::vector<double> m(size * size), a(size * size, 0.0), upper(size * size, 1e30);
        for (double& value : m) value = draw();
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t j = 0; j < size; ++j) {
                a[i * size + j] = i == j ? 1 : 0;
                for (std::size_t k = 0; k < size; ++k) a[i * size + j] += m[i * size + k] * m[j * size + k];
                if (j >= i) upper[i * size + j] = a[i * size + j];
            }
        }
        const ps::learn::detail::Cholesky factors(upper, size);
        std::vector<double> x(size), b(size, 0.0);
        for (double& value : x) value = draw();
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t j = 0; j < size; ++j) b[i] += a[i * size + j] * x[j];
        }
        const std::vector<double> solved = factors.solve(b);
        for (std::size_t i = 0; i < size; ++i) CHECK(solved[i] == doctest::Approx(x[i]).epsilon(1e-9));
        // The columns of A itself: b' A^-1 b is the diagonal.
        std::vector<double> columns = a;
        factors.solve_lower(columns, size);
        for (std::size_t j = 0; j < size; ++j) {
            double squares = 0;
            for (std::size_t i = 0; i < size; ++i) squares += columns[i * size + j] * columns[i * size + j];
            CHECK(squares == doctest::Approx(a[j * size + j]).epsilon(1e-9));
        }
    }
    CHECK(ps::learn::detail::Cholesky({4, 0, 0, 9}, 2).half_log_determinant() == doctest::Approx(std::log(6.0)));
}

TEST_CASE("a multitask process believes in the prediction until something is observed") {
    ps::learn::MultitaskProcess process({0, 0, 1});
    const auto all = first(3);
    std::array<ps::learn::Belief, 3> before{}, after{};
    process.predict(features_of(64, 64, 28, 3), all, before);
    for (ps::learn::Belief const& belief : before) {
        CHECK(belief.mean == 0);
        CHECK(belief.variance > 0.1);
    }
    const std::size_t row = process.add_row(features_of(64, 64, 28, 3));
    process.observe(row, 0, 0.8);
    process.predict(features_of(64, 64, 28, 3), all, after);
    CHECK(after[0].mean == 0);  // not before fit()
    process.observe(row, 2, 0.0);
    process.fit();
    process.predict(features_of(64, 64, 28, 3), all, after);
    CHECK(after[0].mean == doctest::Approx(0.8).epsilon(0.03));
    CHECK(after[2].mean == doctest::Approx(0.0).scale(1).epsilon(0.03));
    CHECK(after[0].variance < 0.01);
    // A primitive of the same family more than one of another, and both less surely than what was observed.
    CHECK(after[1].mean > after[2].mean + 0.2);
    CHECK(after[1].mean < 0.8);
    CHECK(after[1].variance > after[0].variance);
    CHECK(after[1].variance < before[1].variance);
    // The less sure, the less alike the configuration.
    std::array<ps::learn::Belief, 3> near{}, far{};
    process.predict(features_of(96, 64, 28, 3), all, near);
    process.predict(features_of(3, 2048, 224, 11), all, far);
    CHECK(after[0].variance < near[0].variance);
    CHECK(near[0].variance < far[0].variance);
}

TEST_CASE("a multitask process finds what a machine, a family, a primitive and a configuration add") {
    // Primitive p of family p / 2 deviates by 0.5 + 0.2 (p / 2) - 0.1 (p % 2) + 0.1 log2(im / 14).
    const auto deviation = [](std::size_t p, int im) {
        return 0.5 + 0.2 * static_cast<double>(p / 2) - 0.1 * static_cast<double>(p % 2) + 0.1 * std::log2(im / 14.0);
    };
    ps::learn::MultitaskProcess process({0, 0, 1, 1});
    for (const int im : {7, 14, 28, 56, 112}) {
        for (const int c : {16, 64, 256}) {
            const std::size_t row = process.add_row(features_of(c, 64, im, 3));
            for (std::size_t p = 0; p < 4; ++p) {
                if ((row + p) % 3 != 0) process.observe(row, p, deviation(p, im));
            }
        }
    }
    process.tune();
    process.fit();
    const auto all = first(4);
    std::array<ps::learn::Belief, 4> beliefs{};
    process.predict(features_of(128, 64, 40, 3), all, beliefs);
    for (std::size_t p = 0; p < 4; ++p) {
        CAPTURE(p);
        CHECK(beliefs[p].mean == doctest::Approx(deviation(p, 40)).epsilon(0.04));
        CHECK(beliefs[p].variance < 0.01);
    }
}

TEST_CASE("what slow primitives lose less than fast ones, a multitask process expects of others, too") {
    // 1.2 less 0.4 of slowness, whatever the primitive and its family. Of nine primitives, two are not observed.
    const auto deviation = [](double slowness) { return 1.2 - 0.4 * slowness; };
    ps::learn::MultitaskPrior prior = ps::learn::MultitaskProcess::usual();
    prior.mean[0] = 0, prior.slopes = {0.15, 0.05};
    ps::learn::MultitaskProcess process({0, 1, 2, 3, 4, 5, 6, 7, 8}, prior);
    for (const int im : {7, 14, 28, 56}) {
        const std::size_t row = process.add_row(features_of(64, 64, im, 3));
        for (std::size_t p = 0; p < 7; ++p) {
            const double slowness = 0.2 * static_cast<double>(p);
            process.observe(row, {p, slowness}, deviation(slowness));
        }
    }
    process.fit();
    const std::array<ps::learn::PredictedPrimitive, 2> asked{{{7, 0.0}, {8, 2.0}}};
    std::array<ps::learn::Belief, 2> beliefs{};
    process.predict(features_of(128, 64, 20, 3), asked, beliefs);
    CHECK(beliefs[0].mean == doctest::Approx(deviation(0)).epsilon(0.1));
    CHECK(beliefs[1].mean == doctest::Approx(deviation(2)).epsilon(0.3));
    CHECK(beliefs[1].variance > beliefs[0].variance);  // a slope is known the less, the further it goes
}

TEST_CASE("a multitask process whose observations lie further away than it believes is less sure in proportion") {
    const auto scale_of = [&](std::size_t count, double times) {
        // Noise of 0.3 alone, and observations so many times as far from each other.
        ps::learn::MultitaskPrior prior = ps::learn::MultitaskProcess::usual();
        for (std::size_t i = 0; i < ps::learn::MultitaskPrior::variances; ++i) prior.mean[i] = -30;
        prior.mean[6] = 2 * std::log(0.3);
        ps::learn::MultitaskProcess process({0, 0, 1}, prior);
        const std::size_t row = process.add_row(features_of(64, 64, 28, 3));
        for (std::size_t i = 0; i < count; ++i) process.observe(row, i % 3, (i % 2 == 0 ? 0.3 : -0.3) * times);
        process.fit();
        return process.scale();
    };
    CHECK(scale_of(0, 1) == 1);
    for (const std::size_t count : {2U, 6U, 60U}) {
        CAPTURE(count);
        CHECK(scale_of(count, 1) == doctest::Approx(1));
        const double all = static_cast<double>(count);  // as if 8 more had been as expected
        CHECK(scale_of(count, 3) == doctest::Approx((8 + 9 * all) / (8 + all)));
        CHECK(scale_of(count, 0.5) == doctest::Approx((8 + all / 4) / (8 + all)));
    }
}

namespace {

const std::vector<ps::learn::PredictedPrimitive> three = first(3);

/// A process of 3 primitives, observed 2 x 3 times.
ps::learn::MultitaskProcess observed() {
    ps::learn::MultitaskProcess process({0, 0, 1});
    for (const int im : {14, 56}) {
        const std::size_t row = process.add_row(features_of(64, 32, im, 3));
        for (std::size_t p = 0; p < 3; ++p) process.observe(row, p, 0.3 + 0.1 * static_cast<double>(p) + 0.01 * im);
    }
    process.tune();
    process.fit();
    return process;
}
std::vector<std::byte> bytes_of(ps::learn::MultitaskProcess& process) {
    ps::Archive archive("p");
    process.archive(archive, process.primitives());
    return {archive.bytes().begin(), archive.bytes().end()};
}
/// Why bytes are refused; empty where they are not.
std::string refusal(std::vector<std::byte> const& bytes, std::size_t primitives = 3) {
    try {
        ps::Archive archive("p", bytes);
        ps::learn::MultitaskProcess process;
        process.archive(archive, primitives);
        archive.finish();
        return "";
    } catch (ps::error const& error) {
        return error.what();
    }
}
template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, T value) {
    REQUIRE(at + sizeof(value) <= bytes.size());
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    return bytes;
}

}  // namespace

TEST_CASE("the means alone are those of what is believed") {
    const ps::learn::MultitaskProcess process = observed();
    std::array<ps::learn::Belief, 3> beliefs{};
    process.predict(features_of(96, 48, 28, 3), three, beliefs);
    const std::vector<double> means = process.predict_means(features_of(96, 48, 28, 3), three);
    for (std::size_t p = 0; p < 3; ++p) CHECK(means[p] == beliefs[p].mean);
}

TEST_CASE("a multitask process that was read says the same, and learns on") {
    ps::learn::MultitaskProcess process = observed(), read;
    const auto asked = features_of(96, 48, 28, 3);
    const std::vector<std::byte> bytes = bytes_of(process);
    ps::Archive archive("p", bytes);
    read.archive(archive, 3);
    archive.finish();
    CHECK(read.observations() == 6);
    CHECK(bytes_of(read) == bytes);
    CHECK(read.predict_means(asked, three) == process.predict_means(asked, three));
    std::array<ps::learn::Belief, 3> beliefs{}, again{};
    CHECK_THROWS_WITH_AS(read.predict(asked, three, beliefs),
                         "multitask process: it was read, and tells variances only after fit()", ps::error);
    for (ps::learn::MultitaskProcess* one : {&process, &read}) {
        one->observe(one->add_row(features_of(8, 8, 112, 1)), 1, -0.5);
        one->fit();
    }
    process.predict(asked, three, beliefs);
    read.predict(asked, three, again);
    for (std::size_t p = 0; p < 3; ++p) {
        CHECK(again[p].mean == beliefs[p].mean);
        CHECK(again[p].variance == beliefs[p].variance);
    }
}

TEST_CASE("a multitask process to which slowness matters is not written") {
    ps::learn::MultitaskPrior prior = ps::learn::MultitaskProcess::usual();
    prior.slopes = {0.1, 0};
    ps::learn::MultitaskProcess process({0, 0, 1}, prior);
    CHECK_THROWS_WITH_AS(bytes_of(process), "multitask process: files do not keep slowness", ps::error);
}

TEST_CASE("a multitask process of damaged bytes is refused with its reason") {
    ps::learn::MultitaskProcess process = observed();
    const std::vector<std::byte> good = bytes_of(process);
    CHECK(refusal(good).empty());
    CHECK(refusal(good, 4) == "p: a multitask process of 3 primitives where there are 4");
    // The labels, 12 parameters, 2 rows of features, 6 observations, 6 values, 6 weights, and the mean.
    constexpr std::size_t word = 8, labels = 0, rows = labels + 4 * word + 12 * word,
                          observations = rows + word + 2 * ps::ConvFeatures::count * word,
                          values = observations + word + 6 * 2 * word, weights = values + 7 * word;
    REQUIRE(good.size() == weights + 7 * word + word);
    CHECK(refusal(with(good, observations + word, std::uint64_t{2})) ==
          "p: an observation of row 2 of 2, primitive 0 of 3");
    CHECK(refusal(with(good, observations + 2 * word, std::uint64_t{3})) ==
          "p: an observation of row 0 of 2, primitive 3 of 3");
    CHECK(refusal(with(good, weights, std::uint64_t{7})).find("bytes more are needed") != std::string::npos);
    for (const std::size_t at : {4 * word, rows + word, values + word, weights + word, weights + 7 * word}) {
        CAPTURE(at);
        CHECK(refusal(with(good, at, std::numeric_limits<double>::quiet_NaN())).find("not finite") !=
              std::string::npos);
    }
    // A value, or a weight, too many.
    std::vector<std::byte> more = with(good, values, std::uint64_t{7});
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(values + word), word, std::byte{});
    CHECK(refusal(more) == "p: 7 values and 6 weights of 6 observations");
    more = with(good, weights, std::uint64_t{7});
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(weights + word), word, std::byte{});
    CHECK(refusal(more) == "p: 6 values and 7 weights of 6 observations");
    for (std::size_t size = 0; size < good.size(); ++size) {
        CHECK(!refusal({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}).empty());
    }
}
