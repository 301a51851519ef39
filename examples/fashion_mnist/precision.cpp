// Trains three networks on Fashion-MNIST with several seeds, and compares their accuracy in float32, bfloat16 and
// 8 bits:
//     fashion_precision FOLDER [EPOCHS [SEEDS [THREADS [IMAGES]]]]
// They are trained with the first IMAGES training images (default 60000) EPOCHS times (default 3). FOLDER keeps what
// was trained: the weights of each network and seed, and those of an unfinished training after each epoch. Ranges come
// from 256 training images, and so does the choice between the ways to find them. The test images are read after that.
// Every convolution that can be computed in 8 bits is, whether that is faster here or not. Needs Debian's package
// dataset-fashion-mnist.
#include "fashion_net.hpp"
#include "images.hpp"
#include "recipe.hpp"

#include <primsel/core/text_table.hpp>
#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/engine/correct_biases.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/io/weights.hpp>
#include <primsel/train/checkpoint_file.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

struct Network {
    const char* name;
    ps::Graph (*graph)(int batch);
    double rate;
};
constexpr std::array networks{Network{"demo", &fashion::Net::graph, 0.2},
                              Network{"resnet20", &fashion::ResNet20::graph, 0.2},
                              Network{"mobilenet_v2", &fashion::MobileNetV2::graph, 0.05}};

/// Images at once, and those for ranges.
constexpr int at_once = 16;
constexpr std::size_t calibration_images = 256;

constexpr std::array methods{ps::RangeMethod::min_max, ps::RangeMethod::percentile, ps::RangeMethod::mse,
                             ps::RangeMethod::kl};

/// Prices by which plans compute convolutions in this precision wherever they can, whether that is faster here or not.
template <ps::Precision precision>
struct Preferring {
    static constexpr std::string_view name = "preferring a precision";
    ps::SemiEmpiricalCosts usual;

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        usual.predict(kernels, queries, seconds);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            if (kernels.primitives[queries[i].primitive].precision != precision) seconds[i] += 1;
        }
    }
    void predict(ps::Kernels const& kernels, std::span<const ps::TransformQuery> queries,
                 std::span<double> seconds) const {
        usual.predict(kernels, queries, seconds);
    }
    void predict(ps::Kernels const& kernels, std::span<const ps::OpQuery> queries, std::span<double> seconds) const {
        usual.predict(kernels, queries, seconds);
    }
};
template <ps::Precision precision>
struct Everywhere : ps::LowPrecision {
    using cost_model = Preferring<precision>;
};

/// A network with its weights, and with known ranges for 8 bits.
struct Model {
    ps::Graph graph;
    ps::Weights weights;
};

/// The results for `count` images from `first` on, the number of convolutions, and those computed in the precision.
struct Results {
    std::vector<float> values;
    std::size_t convolutions = 0;
    std::vector<std::string> in_precision{};
};
template <ps::Precision precision>
Results results_in(Model const& model, ps::LabelledImages const& images, std::size_t first, std::size_t count) {
    ps::Engine<ps::Graph, Everywhere<precision>> engine(model.graph, model.weights,
                                                        ps::PlanOptions{.precision = precision});
    Results results;
    for (ps::PlannedLayer const& layer : engine.plan().layers) {
        results.convolutions += layer.primitive.empty() ? 0 : 1;
        if (layer.primitive.find(to_string_view(precision)) != std::string::npos) {
            results.in_precision.push_back(layer.name);
        }
    }
    std::vector<float> batch(engine.program().in_floats()), scores(engine.program().out_floats());
    const std::size_t size = images.image.size();
    for (std::size_t i = 0; i < count; i += at_once) {
        for (std::size_t j = 0; j < at_once; ++j) images.read(first + std::min(i + j, count - 1), &batch[j * size]);
        engine.run(batch, scores);
        const std::size_t wanted = std::min<std::size_t>(at_once, count - i) * engine.out_shape().size();
        results.values.insert(results.values.end(), scores.begin(),
                              scores.begin() + static_cast<std::ptrdiff_t>(wanted));
    }
    return results;
}
Results results_of(ps::Precision precision, Model const& model, ps::LabelledImages const& images, std::size_t first,
                   std::size_t count) {
    if (precision == ps::Precision::int8) return results_in<ps::Precision::int8>(model, images, first, count);
    if (precision == ps::Precision::bf16) return results_in<ps::Precision::bf16>(model, images, first, count);
    return results_in<ps::Precision::float32>(model, images, first, count);
}

/// The RMS of the differences over the RMS of what is right.
double relative_error(std::vector<float> const& values, std::vector<float> const& right) {
    double differences = 0, squares = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
        differences += std::pow(static_cast<double>(values[i]) - static_cast<double>(right[i]), 2);
        squares += std::pow(static_cast<double>(right[i]), 2);
    }
    return std::sqrt(differences / squares);
}
/// In percent.
double accuracy(std::vector<float> const& scores, std::vector<int> const& labels) {
    const std::size_t classes = scores.size() / labels.size();
    std::size_t right = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto first = scores.begin() + static_cast<std::ptrdiff_t>(i * classes);
        const auto best = std::max_element(first, first + static_cast<std::ptrdiff_t>(classes)) - first;
        right += best == labels[i] ? 1 : 0;
    }
    return 100.0 * static_cast<double>(right) / static_cast<double>(labels.size());
}

/// How networks are trained, and where they are kept.
struct Training {
    std::string folder;
    int epochs;
    unsigned threads;
    std::size_t images;
};
ps::Weights trained(Network const& network, Training const& training, unsigned seed) {
    const std::string stem = ps::join(training.folder, '/', network.name, '-', training.images, 'x', training.epochs,
                                      '-', seed),
                      weights = stem + ".safetensors", unfinished = stem + ".checkpoint.safetensors";
    const ps::Graph graph = network.graph(fashion::batch);
    if (std::filesystem::exists(weights)) return ps::read_weights(weights, graph);
    std::optional<ps::Checkpoint> from;
    if (std::filesystem::exists(unfinished)) from = ps::read_checkpoint(unfinished);
    fashion::Trainer trainer = fashion::make_trainer(graph, training.epochs, seed, training.threads, network.rate,
                                                     from ? std::optional(from->plan) : std::nullopt);
    if (from) trainer.resume(*from);
    bool epoch_ended = false;
    const auto report = [&](ps::EpochReport const& epoch) {
        std::printf("%s, seed %u: epoch %lld of %d, loss %.4f, %.0f images/s\n", network.name, seed,
                    static_cast<long long>(epoch.epoch), training.epochs, epoch.loss, epoch.images_per_second);
        std::fflush(stdout);
        return epoch_ended = true;
    };
    const auto updated = [&](std::int64_t updates) {
        if (updates % 50 == 0) {
            std::printf("%s, seed %u: %lld updates\n", network.name, seed, static_cast<long long>(updates));
            std::fflush(stdout);
        }
        if (std::exchange(epoch_ended, false)) ps::write_checkpoint(unfinished, trainer.checkpoint());
        return true;
    };
    ps::LabelledImages images = fashion::read_images("train", graph[graph.input()].shape);
    images.labels.resize(std::min(images.size(), training.images));
    trainer.fit(images, {}, fashion::augment, ps::NoValidation{}, report, updated);
    ps::write_safetensors(weights, trainer.weights());
    std::filesystem::remove(unfinished);
    return ps::read_weights(weights, graph);
}

std::string decimals(double value, int digits) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.*f", digits, value);
    return text;
}

/// A network in floats, and in 8 bits as chosen by the error on the images for ranges.
struct Trained {
    Network network;
    unsigned seed;
    Model floats, bytes;
    std::string ranges;
};
Trained chosen(Network const& network, unsigned seed, ps::Weights const& weights) {
    const ps::Graph one = network.graph(1), graph = network.graph(at_once);
    const ps::LabelledImages images = fashion::read_images("train", one[one.input()].shape);
    std::vector<float> pixels(calibration_images * images.image.size());
    for (std::size_t i = 0; i < calibration_images; ++i) images.read(i, &pixels[i * images.image.size()]);
    Trained result{network, seed, {graph, weights}, {graph, weights}, {}};
    // The error is also shown for as many images at the end: those have no say.
    const std::size_t others = images.size() - calibration_images;
    const auto in = [&](ps::Precision precision, Model const& model, std::size_t first) {
        return results_of(precision, model, images, first, calibration_images);
    };
    const std::vector<float> right = in(ps::Precision::float32, result.floats, 0).values,
                             right_there = in(ps::Precision::float32, result.floats, others).values;
    const ps::TensorStatistics statistics(one, weights, pixels);
    double least = std::numeric_limits<double>::infinity();
    for (const ps::RangeMethod method : methods) {
        const ps::TensorRanges ranges = statistics.ranges(method);
        std::vector<std::string> in_bytes;
        for (const bool corrected : {false, true}) {
            const Model model{
                ps::with_ranges(graph, ranges),
                corrected ? ps::correct_biases(ps::with_ranges(one, ranges), weights, pixels, in_bytes) : weights};
            const Results found = in(ps::Precision::int8, model, 0);
            const double error = relative_error(found.values, right),
                         there = relative_error(in(ps::Precision::int8, model, others).values, right_there);
            in_bytes = found.in_precision;
            const std::string name = ps::join(to_string_view(method), corrected ? ", biases corrected" : "");
            std::printf(
                "%-12s  seed %u  %-28s  error %5.2f %%, on others %5.2f %%  %zu of %zu convolutions in 8 bits\n",
                network.name, seed, name.c_str(), 100 * error, 100 * there, in_bytes.size(), found.convolutions);
            std::fflush(stdout);
            if (error < least) least = error, result.bytes = model, result.ranges = name;
        }
    }
    return result;
}

/// The accuracy of each of them on the test images, and their means.
std::string judged(std::vector<Trained> const& all) {
    ps::TextTable table;
    table.add({"network", "seed", "float32", "bfloat16", "8 bits", "bfloat16 - float32", "8 bits - float32", "ranges"});
    for (Network const& network : networks) {
        const ps::Graph graph = network.graph(1);
        const ps::LabelledImages images = fashion::read_images("t10k", graph[graph.input()].shape);
        std::array<double, 3> means{};
        std::size_t count = 0;
        const auto add = [&](std::string const& seed, std::array<double, 3> const& of, std::string const& ranges) {
            table.add({network.name, seed, decimals(of[0], 2), decimals(of[1], 2), decimals(of[2], 2),
                       decimals(of[1] - of[0], 2), decimals(of[2] - of[0], 2), ranges});
        };
        for (Trained const& each : all) {
            if (each.network.graph != network.graph) continue;
            const auto accuracy_in = [&](ps::Precision precision, Model const& model) {
                return accuracy(results_of(precision, model, images, 0, images.size()).values, images.labels);
            };
            const std::array of{accuracy_in(ps::Precision::float32, each.floats),
                                accuracy_in(ps::Precision::bf16, each.floats),
                                accuracy_in(ps::Precision::int8, each.bytes)};
            add(std::to_string(each.seed), of, each.ranges);
            for (std::size_t i = 0; i < means.size(); ++i) means[i] += of[i];
            ++count;
        }
        for (double& mean : means) mean /= static_cast<double>(count);
        add("mean", means, "");
    }
    return table.text();
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> given(arguments + 1, arguments + count);
    if (given.empty()) ps::fail("fashion_precision FOLDER [EPOCHS [SEEDS [THREADS [IMAGES]]]]");
    const auto number = [&](std::size_t i, int otherwise) {
        return i < given.size() ? std::stoi(given[i]) : otherwise;
    };
    const Training training{given[0], number(1, 3), static_cast<unsigned>(number(3, 1)),
                            static_cast<std::size_t>(number(4, 60000))};
    const auto seeds = static_cast<unsigned>(number(2, 3));
    std::filesystem::create_directories(given[0]);
    std::vector<Trained> all;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        for (Network const& network : networks) {
            all.push_back(chosen(network, seed, trained(network, training, seed)));
        }
    }
    std::printf("\ntest images classified right, in percent:\n%s", judged(all).c_str());
    return 0;
} catch (std::exception const& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
