// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/standardizer.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/gemm/multiply.hpp>
#include <primsel/learn/dataset.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// How a multi-layer perceptron is trained. The defaults are those of NN2 (table 3 of Mulder et al. 2020).
struct MlpOptions {
    /// The number of features that it sees, which are the first ones; 0 for all of them.
    std::size_t features = 0;
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
/// Deterministic by seed, whatever the number of threads: products give the same bits for each (Gemm).
class Mlp {
public:
    /// Its name in files.
    static constexpr std::string_view kind = "mlp";

    /// A row a sample; NaN stands for a target that was not measured. Validation rows decide when to stop;
    /// where they have no target, those to learn from do.
    [[nodiscard]] static Mlp fit(FloatTable const& features, FloatTable const& targets,
                                 FloatTable const& validation_features, FloatTable const& validation_targets,
                                 MlpOptions const& options, ExecutorRef executor, MlpTraining* training = nullptr) {
        Mlp model;
        const std::size_t seen = options.features == 0 ? features.columns : options.features;
        model.inputs_ = Standardizer(features.first_columns(seen));
        model.outputs_ = Standardizer(targets);
        model.draw(seen, targets.columns, options);
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
        Sequential executor;
        Pass pass(layers_.size());
        pass.begin(inputs_.forward(features.first_columns(inputs_.columns())));
        forward(pass, executor);
        FloatTable result(features.rows(), outputs_.columns(), 0.0F);
        std::copy_n(pass.values.back().data(), result.values.size(), result.values.begin());
        return outputs_.back(std::move(result));
    }

    /// Reads or writes the model; `features` are the most that it may see, `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        archive(inputs_, outputs_, layers_);
        archive.require(inputs_.columns() > 0 && inputs_.columns() <= features && outputs_.columns() == targets,
                        "a perceptron of ", inputs_.columns(), " features and ", outputs_.columns(),
                        " targets where there are ", features, " and ", targets);
        std::size_t width = inputs_.columns();
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

    /// The values of each layer for some samples, a column each, and memory for products.
    struct Pass {
        std::vector<Matrix> values;  // [0] are the inputs
        AlignedBuffer scratch;

        explicit Pass(std::size_t layers) : values(layers + 1) {}
        void begin(FloatTable const& inputs) { values[0] = columns_of(inputs); }
        void multiply(GemmArgs args) {
            const std::size_t floats = gemm::multiply_scratch<default_arch>(args);
            if (floats > scratch.size()) scratch = AlignedBuffer(floats);
            args.scratch = scratch.data();
            gemm::multiply<default_arch>(args);
        }
    };

    /// A column a sample.
    [[nodiscard]] static Eigen::Map<const Matrix> columns_of(FloatTable const& table) {
        return {table.values.data(), static_cast<Eigen::Index>(table.columns), static_cast<Eigen::Index>(table.rows())};
    }
    /// As products see a matrix: its columns are their rows, or their columns.
    [[nodiscard]] static MatrixView as_rows(Matrix const& matrix) {
        return row_major(matrix.data(), static_cast<std::size_t>(matrix.rows()));
    }
    [[nodiscard]] static MatrixView as_columns(Matrix const& matrix) {
        return transposed(matrix.data(), static_cast<std::size_t>(matrix.rows()));
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

    /// Replaces each prediction by the derivative of its loss; 0 where nothing was measured. Returns the sum of the
    /// losses, and counts the measured targets.
    static double derive(Matrix& predicted, Matrix const& wanted, double huber, std::size_t& measured) {
        double loss = 0;
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
        return loss;
    }
    void forward(Pass& pass, ExecutorRef executor) const {
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            Layer const& layer = layers_[i];
            Matrix const& before = pass.values[i];
            Matrix& next = pass.values[i + 1];
            next.resize(layer.weights.rows(), before.cols());
            if (before.cols() == 0) continue;
            pass.multiply({.m = static_cast<int>(next.cols()),
                           .n = static_cast<int>(next.rows()),
                           .k = static_cast<int>(before.rows()),
                           .a = as_rows(before),
                           .b = as_rows(layer.weights),
                           .c = next.data(),
                           .c_stride = static_cast<std::size_t>(next.rows()),
                           .column_bias = layer.bias.data(),
                           .clamp = i + 1 < layers_.size() ? relu_clamp : Clamp{},
                           .executor = executor});
        }
    }
    /// The gradient of the loss whose derivative by the outputs is in the pass, which is used up.
    void backward(Pass& pass, Layers& gradient, ExecutorRef executor) const {
        for (std::size_t i = layers_.size(); i-- > 0;) {
            Matrix const& delta = pass.values[i + 1];
            Matrix& values = pass.values[i];
            const auto outputs = static_cast<int>(delta.rows()), inputs = static_cast<int>(values.rows()),
                       samples = static_cast<int>(delta.cols());
            pass.multiply({.m = inputs,
                           .n = outputs,
                           .k = samples,
                           .a = as_columns(values),
                           .b = as_rows(delta),
                           .c = gradient[i].weights.data(),
                           .c_stride = static_cast<std::size_t>(outputs),
                           .executor = executor});
            gradient[i].bias.setZero();
            for (auto const& sample : delta.colwise()) gradient[i].bias += sample;
            if (i == 0) break;
            Matrix before(inputs, samples);
            pass.multiply({.m = samples,
                           .n = inputs,
                           .k = outputs,
                           .a = as_rows(delta),
                           .b = as_columns(layers_[i].weights),
                           .c = before.data(),
                           .c_stride = static_cast<std::size_t>(inputs),
                           .executor = executor});
            values = (values.array() > 0).select(before, 0.0F);
        }
    }

    void train(FloatTable const& features, FloatTable const& targets, FloatTable const& validation_features,
               FloatTable const& validation_targets, MlpOptions const& options, ExecutorRef executor,
               MlpTraining* training) {
        const auto seen = [this](FloatTable const& all) {
            return inputs_.forward(all.first_columns(inputs_.columns()));
        };
        const FloatTable x = seen(features), y = outputs_.forward(targets), vy = outputs_.forward(validation_targets);
        const Matrix judged = columns_of(vy);
        Pass judge(layers_.size()), pass(layers_.size());
        judge.begin(seen(validation_features));
        Adam adam{zeros_like(layers_), zeros_like(layers_), zeros_like(layers_)};
        Layers best = layers_;
        MlpTraining done{.validation_loss = std::numeric_limits<double>::infinity()};
        const std::size_t rows = x.rows(), batch = std::min(options.batch, rows);
        Matrix wanted;
        for (std::size_t epoch = 0; epoch < options.most_epochs && epoch - done.best_epoch <= options.patience;
             ++epoch) {
            const std::vector<std::size_t> order = shuffled(rows, options.seed * 1'000'003 + epoch);
            const double rate = rate_of(options, epoch);
            double loss = 0;
            std::size_t measured = 0;
            for (std::size_t begin = 0; begin < rows; begin += batch) {
                const auto count = static_cast<Eigen::Index>(std::min(batch, rows - begin));
                pass.values[0].resize(static_cast<Eigen::Index>(x.columns), count);
                wanted.resize(static_cast<Eigen::Index>(y.columns), count);
                for (Eigen::Index i = 0; i < count; ++i) {
                    const auto row = static_cast<Eigen::Index>(order[begin + static_cast<std::size_t>(i)]);
                    pass.values[0].col(i) = columns_of(x).col(row);
                    wanted.col(i) = columns_of(y).col(row);
                }
                forward(pass, executor);
                std::size_t in_batch = 0;
                loss += derive(pass.values.back(), wanted, options.huber, in_batch);
                measured += in_batch;
                if (in_batch == 0) continue;
                backward(pass, adam.gradient, executor);
                adam.update(layers_, options, rate, 1.0F / static_cast<float>(in_batch), executor);
            }
            done.epochs = epoch + 1;
            forward(judge, executor);
            std::size_t judged_count = 0;
            const double sum = derive(judge.values.back(), judged, options.huber, judged_count);
            const double trained = loss / static_cast<double>(std::max<std::size_t>(measured, 1)),
                         validation = judged_count > 0 ? sum / static_cast<double>(judged_count) : trained;
            if (validation < done.validation_loss) {
                done.validation_loss = validation;
                done.train_loss = trained;
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

    /// Adam (Kingma and Ba 2015), the decay of the weights within the gradient.
    struct Adam {
        Layers gradient, first, second;
        double steps = 0;

        /// The gradient is times `scale`.
        void update(Layers& layers, MlpOptions const& options, double rate, float scale, ExecutorRef executor) {
            steps += 1;
            const auto decay = static_cast<float>(options.weight_decay);
            const auto size = static_cast<float>(rate / (1 - std::pow(0.9, steps)));
            const auto correction = static_cast<float>(1 / std::sqrt(1 - std::pow(0.999, steps)));
            const auto change = [&](auto& values, auto& by, auto& mean, auto& square) {
                constexpr std::size_t block = 1024;  // floats: what is computed of a block stays in L1
                const auto count = static_cast<std::size_t>(values.size());
                executor.parallel_for((count + block - 1) / block, [&](std::size_t at, std::size_t) {
                    constexpr float b1 = 0.9F, b2 = 0.999F, epsilon = 1e-8F;
                    const std::size_t begin = at * block;
                    const auto part = [&](auto& all) {
                        return Eigen::Map<Eigen::ArrayXf>(all.data() + begin,
                                                          static_cast<Eigen::Index>(std::min(block, count - begin)));
                    };
                    auto w = part(values), g = part(by), m = part(mean), v = part(square);
                    g = scale * g + decay * w;
                    m = b1 * m + (1 - b1) * g;
                    v = b2 * v + (1 - b2) * g.square();
                    w -= size * m / (correction * v.sqrt() + epsilon);
                });
            };
            for (std::size_t i = 0; i < layers.size(); ++i) {
                change(layers[i].weights, gradient[i].weights, first[i].weights, second[i].weights);
                change(layers[i].bias, gradient[i].bias, first[i].bias, second[i].bias);
            }
        }
    };

    Standardizer inputs_, outputs_;
    Layers layers_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
