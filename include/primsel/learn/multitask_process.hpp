#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/detail/cholesky.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// The mean and variance that a value is believed to have before it is measured.
struct Belief {
    double mean = 0, variance = 0;
};

/// The prior of a MultitaskProcess's hyperparameters: logarithms of variances (the machine's constant, a
/// family's, a primitive's; the part of each that changes with the configuration; noise), then of weights of the kinds
/// of features. Means and standard deviations over pairs of machines.
struct MultitaskPrior {
    static constexpr std::size_t variances = 7, parameters = variances + ConvFeatures::kinds;
    std::array<double, parameters> mean{}, deviation{};
    /// Variances of the slope over slowness: the machine's, a family's. 0: slowness says nothing.
    std::array<double, 2> slopes{};
};

/// A primitive for a convolution, and its slowness: the logarithm of its predicted time over that of the fastest there.
/// On a machine that computes slower, but reads memory as fast, fast primitives lose more than slow ones.
struct PredictedPrimitive {
    std::size_t primitive = 0;
    double slowness = 0;
};
/// Returns all primitives of a convolution with their slowness, from the logarithms of their predicted seconds. A value
/// that is not finite means no prediction and gives slowness 0. Slowness is at most log(20): no plan takes a primitive
/// that is slower than that.
[[nodiscard]] inline std::vector<PredictedPrimitive> predicted_primitives(std::span<const double> log_seconds) {
    const double slowest = std::log(20.0);
    double fastest = std::numeric_limits<double>::infinity();
    for (const double one : log_seconds) fastest = is_finite(one) ? std::min(fastest, one) : fastest;
    std::vector<PredictedPrimitive> result(log_seconds.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] = {i, is_finite(log_seconds[i]) ? std::min(slowest, log_seconds[i] - fastest) : 0};
    }
    return result;
}

/// How far a few measurements lie from predictions, and what that says of all others: a Gaussian process over
/// configurations and primitives at once (Bonilla et al. 2008). A deviation, the logarithm of measured over predicted,
/// is a constant of the machine, of a family and of a primitive, of each a part that changes with the configuration
/// (Matern 5/2), and a slope over slowness of the machine and of a family. Answers from nothing at all on, and takes
/// n^3 operations for n observations: some thousand at most.
class MultitaskProcess {
public:
    /// The label (family) of each primitive.
    explicit MultitaskProcess(std::vector<std::size_t> labels = {}, MultitaskPrior const& prior = usual())
        : labels_(std::move(labels)), prior_(prior), parameters_(prior.mean) {
        set_scales();
    }
    /// The usual differences between machines, for samples drawn at random: fitted to pairs of machines by
    /// `bench_measure_usual --samples`.
    [[nodiscard]] static constexpr MultitaskPrior usual() {
        return {.mean = {-5, -2.6, -3.5, -2.5, -2.0, -2.1, -6.3, -0.8, -1.2, -0.9, -2, -1.8},
                .deviation = {1, 1.6, 1.2, 1.2, 1.6, 1.1, 1.4, 0.7, 0.9, 0.8, 0.8, 0.9}};
    }
    /// As they are now, in the order of MultitaskPrior.
    [[nodiscard]] std::span<const double> hyperparameters() const { return parameters_; }

    /// A configuration; what is observed of it refers to it by the position that is returned.
    std::size_t add_row(std::array<float, ConvFeatures::count> const& features) {
        rows_.push_back(scaled(features));
        return rows_.size() - 1;
    }
    /// Adds an observation: the logarithm of measured over predicted seconds of a primitive at a row. fit() makes use
    /// of it.
    void observe(std::size_t row, PredictedPrimitive primitive, double deviation) {
        observed_.push_back({row, primitive.primitive, primitive.slowness});
        values_.push_back(deviation);
    }
    void observe(std::size_t row, std::size_t primitive, double deviation) { observe(row, {primitive, 0}, deviation); }
    /// The covariance of a primitive's deviations at two rows, with the noise of a measurement, before anything is
    /// observed.
    [[nodiscard]] double covariance_of_rows(std::size_t primitive, std::size_t a, std::size_t b) const {
        return covariance({primitive, 0}, {primitive, 0}, near(rows_[a], rows_[b]));
    }
    [[nodiscard]] double noise_variance() const { return variance_[noise]; }
    [[nodiscard]] std::size_t primitives() const { return labels_.size(); }
    [[nodiscard]] std::size_t observations() const { return observed_.size(); }

    /// Finds the hyperparameters that make the observations (some 250 of them) most likely, not far from usual ones;
    /// fit() makes use of them.
    void tune(std::size_t rounds = 5, std::uint64_t seed = 1) {
        constexpr std::size_t most = 250;
        std::vector<std::size_t> some = shuffled(observed_.size(), seed);
        some.resize(std::min(some.size(), most));
        double best = surprise(some), step = 0.8;
        for (std::size_t round = 0; round < rounds; ++round, step *= 0.7) {
            for (std::size_t i = family_constant; i < parameters_.size(); ++i) {
                for (const double change : {step, -step}) {
                    const double before = std::exchange(parameters_[i], parameters_[i] + change);
                    if (const double now = surprise(some); now < best) {
                        best = now;
                        break;
                    }
                    parameters_[i] = before;
                }
            }
        }
    }
    /// Makes use of all that was observed.
    void fit() {
        std::vector<std::size_t> all(observed_.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
        factorize(all);
    }

    /// How many times as large variances are as those believed before anything was observed: as the observations show
    /// it, and eight more that were as expected (the scale of a Student's t process, Shah et al. 2014).
    [[nodiscard]] double scale() const {
        constexpr double before = 8;
        return (before + squares_) / (before + static_cast<double>(fitted_));
    }
    /// Beliefs about the deviations of some primitives at a configuration, as of the last fit().
    void predict(std::array<float, ConvFeatures::count> const& features, std::span<const PredictedPrimitive> primitives,
                 std::span<Belief> beliefs) const {
        if (factors_.size() != fitted_) fail("multitask process: it was read, and tells variances only after fit()");
        const std::size_t columns = primitives.size();
        std::vector<double> between = covariance_of_fitted(features, primitives), known(columns, 0.0);
        const std::vector<double> means = means_of(between, columns);
        factors_.solve_lower(between, columns);
        for (std::size_t j = 0; j < fitted_; ++j) {
            for (std::size_t i = 0; i < columns; ++i) {
                known[i] += between[j * columns + i] * between[j * columns + i];
            }
        }
        for (std::size_t i = 0; i < columns; ++i) {
            beliefs[i] = {means[i], std::max(0.0, covariance(primitives[i], primitives[i], 1) - known[i])};
        }
    }
    /// The means of that alone, which take n operations for each and not n^2.
    [[nodiscard]] std::vector<double> predict_means(std::array<float, ConvFeatures::count> const& features,
                                                    std::span<const PredictedPrimitive> primitives) const {
        return means_of(covariance_of_fitted(features, primitives), primitives.size());
    }

    /// Reads or writes a process of `primitives` primitives, without its n x n factors: after reading, predict_means()
    /// works at once, predict() only after fit(). Throws error if the prior has slopes, as slowness is not stored.
    void archive(Archive& archive, std::size_t primitives) {
        if (prior_.slopes != std::array<double, 2>{}) fail("multitask process: files do not keep slowness");
        archive(labels_, parameters_, rows_, observed_, values_, weights_, mean_);
        archive.require(labels_.size() == primitives, "a multitask process of ", labels_.size(),
                        " primitives where there are ", primitives);
        archive.require(values_.size() == observed_.size() && weights_.size() <= observed_.size(), values_.size(),
                        " values and ", weights_.size(), " weights of ", observed_.size(), " observations");
        for (Observed const& one : observed_) {
            archive.require(one.row < rows_.size() && one.primitive < primitives, "an observation of row ", one.row,
                            " of ", rows_.size(), ", primitive ", one.primitive, " of ", primitives);
        }
        if (!archive.reads()) return;
        set_scales();
        factors_ = {};
        fitted_ = weights_.size();
    }

private:
    /// Positions of the parameters: logarithms of variances, then of weights of kinds of features.
    enum Parameter : std::size_t {
        constant,
        family_constant,
        primitive_constant,
        shape,
        family_shape,
        primitive_shape,
        noise,
        first_weight
    };
    static constexpr std::size_t kinds = ConvFeatures::kinds;
    static_assert(MultitaskPrior::variances == first_weight);
    using Parameters = std::array<double, MultitaskPrior::parameters>;
    using Features = std::array<double, ConvFeatures::count>;
    struct Observed {
        std::size_t row = 0, primitive = 0;
        double slowness = 0;

        [[nodiscard]] PredictedPrimitive what() const { return {primitive, slowness}; }
        void archive(Archive& archive) { archive(row, primitive); }
    };

    [[nodiscard]] static constexpr std::size_t kind_of(std::size_t feature) {
        return static_cast<std::size_t>(ConvFeatures::kind_of(feature));
    }
    /// Features of each kind have about this standard deviation among the convolutions of networks.
    static constexpr std::array<double, kinds> deviation{1.1, 0.6, 1.7, 0.25, 1};

    /// Kinds weigh the same, however many features they have.
    [[nodiscard]] static Features scaled(std::array<float, ConvFeatures::count> const& features) {
        std::array<double, kinds> members{};
        for (std::size_t i = 0; i < features.size(); ++i) ++members[kind_of(i)];
        Features result;
        for (std::size_t i = 0; i < features.size(); ++i) {
            const std::size_t kind = kind_of(i);
            result[i] = features[i] / (deviation[kind] * std::sqrt(members[kind]));
        }
        return result;
    }
    [[nodiscard]] double near(Features const& a, Features const& b) const {
        double squares = 0;
        for (std::size_t i = 0; i < ConvFeatures::count; ++i) {
            squares += (a[i] - b[i]) * (a[i] - b[i]) * weight_[kind_of(i)];
        }
        const double r = std::sqrt(5 * squares);
        return (1 + r + r * r / 3) * std::exp(-r);
    }
    [[nodiscard]] std::vector<double> covariance_of_rows(Features const& at) const {
        std::vector<double> result;
        for (Features const& row : rows_) result.push_back(near(row, at));
        return result;
    }
    /// The covariance of two primitives at configurations of this nearness.
    [[nodiscard]] double covariance(PredictedPrimitive const& a, PredictedPrimitive const& b, double near) const {
        const double slow = a.slowness * b.slowness;
        double sum = variance_[constant] + near * variance_[shape] + slow * prior_.slopes[0];
        if (labels_[a.primitive] == labels_[b.primitive]) {
            sum += variance_[family_constant] + near * variance_[family_shape] + slow * prior_.slopes[1];
        }
        if (a.primitive == b.primitive) sum += variance_[primitive_constant] + near * variance_[primitive_shape];
        return sum;
    }
    /// Covariances of the fitted observations, a row each, with these primitives at a configuration.
    [[nodiscard]] std::vector<double> covariance_of_fitted(std::array<float, ConvFeatures::count> const& features,
                                                           std::span<const PredictedPrimitive> primitives) const {
        const std::vector<double> near = covariance_of_rows(scaled(features));
        std::vector<double> result;
        result.reserve(fitted_ * primitives.size());
        for (std::size_t j = 0; j < fitted_; ++j) {
            for (PredictedPrimitive const& primitive : primitives) {
                result.push_back(covariance(observed_[j].what(), primitive, near[observed_[j].row]));
            }
        }
        return result;
    }
    [[nodiscard]] std::vector<double> means_of(std::span<const double> covariances, std::size_t columns) const {
        std::vector<double> means(columns, mean_);
        for (std::size_t j = 0; j < fitted_; ++j) {
            for (std::size_t i = 0; i < columns; ++i) means[i] += covariances[j * columns + i] * weights_[j];
        }
        return means;
    }
    void set_scales() {
        for (std::size_t i = 0; i < variance_.size(); ++i) variance_[i] = std::exp(parameters_[i]);
        for (std::size_t i = 0; i < kinds; ++i) weight_[i] = std::exp(2 * parameters_[first_weight + i]);
    }
    /// Factorises the covariance of those observations and solves for their values.
    void factorize(std::span<const std::size_t> which) {
        set_scales();
        std::vector<std::vector<double>> near;
        for (Features const& row : rows_) near.push_back(covariance_of_rows(row));
        const std::size_t count = which.size();
        std::vector<double> all(count * count), y(count);
        mean_ = 0;
        for (const std::size_t i : which) mean_ += values_[i] / static_cast<double>(count);
        for (std::size_t i = 0; i < count; ++i) {
            auto const& a = observed_[which[i]];
            y[i] = values_[which[i]] - mean_;
            for (std::size_t j = i; j < count; ++j) {
                auto const& b = observed_[which[j]];
                all[i * count + j] = covariance(a.what(), b.what(), near[a.row][b.row]);
            }
            all[i * count + i] += variance_[noise];
        }
        factors_ = detail::Cholesky(std::move(all), count);
        weights_ = factors_.solve(y);
        fitted_ = count;
        squares_ = 0;
        for (std::size_t i = 0; i < count; ++i) squares_ += y[i] * weights_[i];
        likelihood_ = factors_.half_log_determinant() + 0.5 * squares_;
    }
    /// Returns minus the logarithm of the posterior probability of the hyperparameters given these observations, up to
    /// a constant.
    [[nodiscard]] double surprise(std::span<const std::size_t> which) {
        factorize(which);
        double sum = likelihood_;
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            const double away = (parameters_[i] - prior_.mean[i]) / prior_.deviation[i];
            sum += 0.5 * away * away;
        }
        return sum;
    }

    std::vector<std::size_t> labels_;
    MultitaskPrior prior_;
    Parameters parameters_;
    std::array<double, first_weight> variance_{};
    std::array<double, kinds> weight_{};  // squared
    std::vector<Features> rows_;
    std::vector<Observed> observed_;
    std::vector<double> values_;
    detail::Cholesky factors_;
    std::vector<double> weights_;
    double mean_ = 0, likelihood_ = 0, squares_ = 0;
    std::size_t fitted_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
