// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/standardizer.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// How a multi-layer perceptron is trained. The defaults are those of NN2 (table 3 of Mulder et al. 2020).
struct MlpOptions {
    std::vector<std::size_t> hidden{128, 512, 512, 128};
    double learning_rate = 1e-3;
    double weight_decay = 1e-5;
    std::size_t batch = 1024;
    /// Training ends when the validation loss has not improved for so many epochs, or after so many in all.
    std::size_t patience = 250, most_epochs = 10'000;
    /// One cycle over most_epochs (warm-up, then a cosine to nothing) in place of a constant rate.
    bool one_cycle = false;
    /// Errors beyond this many standard deviations count linearly, not squared.
    double huber = std::numeric_limits<double>::infinity();
    std::uint64_t seed = 1;

    /// NN1: a network of its own for each target.
    [[nodiscard]] static MlpOptions nn1() {
        return {.hidden = {16, 64, 64, 16}, .learning_rate = 3e-3, .weight_decay = 0};
    }
};

/// The course of a training.
struct MlpTraining {
    std::size_t epochs = 0, best_epoch = 0;
    double train_loss = 0, validation_loss = 0;
};

/// A multi-layer perceptron with ReLU between its layers, one output a target. Inputs and targets are standardised; the
/// loss is the mean square over the targets that were measured (Mulder et al. 2020, section 3.3); Adam optimises.
/// Deterministic by seed, whatever the number of threads: gradients of fixed slices are added in a fixed order.
class Mlp {
public:
    /// Its name in files.
    static constexpr std::string_view kind = "mlp";

    /// A row a sample; NaN stands for a target that was not measured. Validation rows decide when to stop.
    [[nodiscard]] static Mlp fit(FloatTable const& features, FloatTable const& targets,
                                 FloatTable const& validation_features, FloatTable const& validation_targets,
                                 MlpOptions const& options, ExecutorRef executor, MlpTraining* training = nullptr) {
        Mlp model;
        model.inputs_ = Standardizer(features);
        model.outputs_ = Standardizer(targets);
        model.draw(features.columns, targets.columns, options);
        model.train(features, targets, validation_features, validation_targets, options, executor, training);
        return model;
    }
    /// Goes on from here with other samples, the learning rate as the options say; the scales of inputs and targets
    /// stay.
    void fine_tune(FloatTable const& features, FloatTable const& targets, FloatTable const& validation_features,
                   FloatTable const& validation_targets, MlpOptions const& options, ExecutorRef executor,
                   MlpTraining* training = nullptr) {
        train(features, targets, validation_features, validation_targets, options, executor, training);
    }

    [[nodiscard]] FloatTable predict(FloatTable const& features) const {
        const FloatTable x = inputs_.forward(features);
        Matrix values = columns_of(x);
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            Matrix next = layers_[i].weights * values;
            next.colwise() += layers_[i].bias;
            if (i + 1 < layers_.size()) next = next.cwiseMax(0.0F);
            values = std::move(next);
        }
        FloatTable result(features.rows(), outputs_.columns(), 0.0F);
        std::copy_n(values.data(), values.size(), result.values.begin());
        return outputs_.back(std::move(result));
    }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        archive(inputs_, outputs_, layers_);
        archive.require(inputs_.columns() == features && outputs_.columns() == targets, "a perceptron of ",
                        inputs_.columns(), " features and ", outputs_.columns(), " targets where there are ", features,
                        " and ", targets);
        std::size_t width = features;
        for (Layer const& layer : layers_) {
            archive.require(
                layer.weights.cols() == static_cast<Eigen::Index>(width) && layer.weights.rows() == layer.bias.size(),
                "a layer of ", layer.weights.rows(), " x ", layer.weights.cols(), " weights and ", layer.bias.size(),
                " biases behind ", width, " values");
            width = static_cast<std::size_t>(layer.bias.size());
        }
        archive.require(width == targets, "a perceptron whose layers end with ", width, " values, not ", targets);
    }

private:
    using Matrix = Eigen::MatrixXf;
    using Vector = Eigen::VectorXf;
    struct Layer {
        Matrix weights;  // outputs x inputs
        Vector bias;
        void archive(Archive& archive) { archive(weights, bias); }
    };
    using Layers = std::vector<Layer>;

    /// A column a sample.
    [[nodiscard]] static Eigen::Map<const Matrix> columns_of(FloatTable const& table) {
        return {table.values.data(), static_cast<Eigen::Index>(table.columns), static_cast<Eigen::Index>(table.rows())};
    }
    [[nodiscard]] static Layers zeros_like(Layers const& layers) {
        Layers zeros;
        for (Layer const& layer : layers) {
            zeros.push_back(
                {Matrix::Zero(layer.weights.rows(), layer.weights.cols()), Vector::Zero(layer.bias.size())});
        }
        return zeros;
    }

    /// He initialisation (2015): for ReLU.
    void draw(std::size_t inputs, std::size_t outputs, MlpOptions const& options) {
        std::mt19937_64 generator(options.seed);
        // Not std::normal_distribution: each standard library draws its own way.
        const auto normal = [&] {
            double sum = 0;
            for (int i = 0; i < 12; ++i) sum += static_cast<double>(generator() >> 11U) * 0x1p-53;
            return static_cast<float>(sum - 6);
        };
        std::size_t from = inputs;
        for (std::size_t i = 0; i <= options.hidden.size(); ++i) {
            const std::size_t to = i < options.hidden.size() ? options.hidden[i] : outputs;
            Layer layer{Matrix(to, from), Vector::Zero(static_cast<Eigen::Index>(to))};
            const float scale = std::sqrt(2.0F / static_cast<float>(from));
            for (float& weight : layer.weights.reshaped()) weight = scale * normal();
            layers_.push_back(std::move(layer));
            from = to;
        }
    }

    /// The contribution of one slice of a batch: gradient, sum of losses and number of measured targets.
    struct Slice {
        Layers gradient;
        std::vector<Matrix> values;  // of each layer; [0] are the inputs
        double loss = 0;
        std::size_t measured = 0;
    };

    /// The loss of each measured target and, in its place, the derivative.
    static void derive(Matrix& predicted, Matrix const& wanted, double huber, double& loss, std::size_t& measured) {
        loss = 0;
        measured = 0;
        for (Eigen::Index i = 0; i < predicted.size(); ++i) {
            float& value = predicted.data()[i];
            const float target = wanted.data()[i];
            if (is_nan(target)) {
                value = 0;
                continue;
            }
            const double error = static_cast<double>(value) - target, size = std::abs(error);
            loss += size <= huber ? error * error : huber * (2 * size - huber);
            value = static_cast<float>(2 * (size <= huber ? error : std::copysign(huber, error)));
            ++measured;
        }
    }
    void forward(Slice& slice) const {
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            Matrix& next = slice.values[i + 1];
            next.noalias() = layers_[i].weights * slice.values[i];
            next.colwise() += layers_[i].bias;
            if (i + 1 < layers_.size()) next = next.cwiseMax(0.0F);
        }
    }
    void backward(Slice& slice, Matrix const& wanted, double huber) const {
        if (wanted.cols() == 0) {  // of a batch of few rows
            for (Layer& layer : slice.gradient) layer.weights.setZero(), layer.bias.setZero();
            slice.loss = 0, slice.measured = 0;
            return;
        }
        forward(slice);
        derive(slice.values.back(), wanted, huber, slice.loss, slice.measured);
        for (std::size_t i = layers_.size(); i-- > 0;) {
            Matrix const& delta = slice.values[i + 1];
            slice.gradient[i].weights.noalias() = delta * slice.values[i].transpose();
            slice.gradient[i].bias = delta.rowwise().sum();
            if (i == 0) break;
            const Matrix before = layers_[i].weights.transpose() * delta;
            slice.values[i] = (slice.values[i].array() > 0).select(before, 0.0F);
        }
    }

    void train(FloatTable const& features, FloatTable const& targets, FloatTable const& validation_features,
               FloatTable const& validation_targets, MlpOptions const& options, ExecutorRef executor,
               MlpTraining* training) {
        constexpr std::size_t slices = 4;
        const FloatTable x = inputs_.forward(features), y = outputs_.forward(targets);
        const FloatTable vx = inputs_.forward(validation_features), vy = outputs_.forward(validation_targets);
        std::vector<Slice> parts(slices);
        for (Slice& part : parts) part.gradient = zeros_like(layers_), part.values.resize(layers_.size() + 1);
        Slice judge;
        judge.values.resize(layers_.size() + 1);
        judge.values[0] = columns_of(vx);
        const Matrix judged = columns_of(vy);
        Layers first = zeros_like(layers_), second = zeros_like(layers_), best = layers_;
        MlpTraining done{.validation_loss = std::numeric_limits<double>::infinity()};
        const std::size_t rows = x.rows(), batch = std::min(options.batch, rows);
        double step = 0;
        for (std::size_t epoch = 0; epoch < options.most_epochs && epoch - done.best_epoch <= options.patience;
             ++epoch) {
            const std::vector<std::size_t> order = shuffled(rows, options.seed * 1'000'003 + epoch);
            const double rate = rate_of(options, epoch);
            double loss = 0;
            std::size_t measured = 0;
            for (std::size_t begin = 0; begin < rows; begin += batch) {
                const std::size_t count = std::min(batch, rows - begin);
                executor.parallel_for(slices, [&](std::size_t slice, std::size_t) {
                    const std::size_t from = begin + slice * count / slices, to = begin + (slice + 1) * count / slices;
                    Matrix wanted(static_cast<Eigen::Index>(y.columns), static_cast<Eigen::Index>(to - from));
                    Matrix& in = parts[slice].values[0];
                    in.resize(static_cast<Eigen::Index>(x.columns), wanted.cols());
                    for (std::size_t i = from; i < to; ++i) {
                        const auto column = static_cast<Eigen::Index>(i - from);
                        in.col(column) = columns_of(x).col(static_cast<Eigen::Index>(order[i]));
                        wanted.col(column) = columns_of(y).col(static_cast<Eigen::Index>(order[i]));
                    }
                    backward(parts[slice], wanted, options.huber);
                });
                std::size_t in_batch = 0;
                for (Slice const& part : parts) loss += part.loss, in_batch += part.measured;
                measured += in_batch;
                if (in_batch == 0) continue;
                step += 1;
                update(parts, first, second, options, rate, step, 1.0F / static_cast<float>(in_batch));
            }
            done.epochs = epoch + 1;
            forward(judge);
            double validation = 0;
            std::size_t judged_count = 0;
            derive(judge.values.back(), judged, options.huber, validation, judged_count);
            validation /= static_cast<double>(std::max<std::size_t>(judged_count, 1));
            if (validation < done.validation_loss) {
                done.validation_loss = validation;
                done.train_loss = loss / static_cast<double>(std::max<std::size_t>(measured, 1));
                done.best_epoch = epoch;
                best = layers_;
            }
        }
        layers_ = std::move(best);
        if (training != nullptr) *training = done;
    }

    [[nodiscard]] static double rate_of(MlpOptions const& options, std::size_t epoch) {
        if (!options.one_cycle) return options.learning_rate;
        const double at = (static_cast<double>(epoch) + 0.5) / static_cast<double>(options.most_epochs), rise = 0.2;
        constexpr double pi = 3.14159265358979323846;
        return options.learning_rate *
               (at < rise ? 0.04 + 0.96 * at / rise : 0.5 * (1 + std::cos(pi * (at - rise) / (1 - rise))));
    }

    /// One step of Adam (Kingma and Ba 2015), the decay of the weights within the gradient.
    void update(std::vector<Slice> const& parts, Layers& first, Layers& second, MlpOptions const& options, double rate,
                double step, float scale) {
        constexpr float b1 = 0.9F, b2 = 0.999F, epsilon = 1e-8F;
        const auto decay = static_cast<float>(options.weight_decay);
        const auto size = static_cast<float>(rate / (1 - std::pow(0.9, step)));
        const auto correction = static_cast<float>(1 / std::sqrt(1 - std::pow(0.999, step)));
        const auto change = [&](auto& values, auto& m, auto& v, auto const& gradient_of) {
            auto gradient = (gradient_of(parts[0]) * scale).eval();
            for (std::size_t i = 1; i < parts.size(); ++i) gradient += gradient_of(parts[i]) * scale;
            gradient += decay * values;
            m = b1 * m + (1 - b1) * gradient;
            v = b2 * v + (1 - b2) * gradient.cwiseAbs2();
            values.array() -= size * m.array() / (correction * v.array().sqrt() + epsilon);
        };
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            change(layers_[i].weights, first[i].weights, second[i].weights,
                   [i](Slice const& part) -> Matrix const& { return part.gradient[i].weights; });
            change(layers_[i].bias, first[i].bias, second[i].bias,
                   [i](Slice const& part) -> Vector const& { return part.gradient[i].bias; });
        }
    }

    Standardizer inputs_, outputs_;
    Layers layers_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
