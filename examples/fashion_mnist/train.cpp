// Trains a network on Fashion-MNIST, as torch_twin.py does with PyTorch:
//     fashion_mnist [NET [EPOCHS [SEED [THREADS [OUT]]]]]
// NET is demo or resnet20. The demo's weights came of `fashion_mnist demo 8 1 1 fashion.safetensors`. Needs Debian's
// package dataset-fashion-mnist.
#include "fashion_net.hpp"
#include "idx.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/train.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

struct Recipe : ps::DefaultTraining {
    using learning_rate = ps::Warmup<ps::Cosine>;
    using executor = ps::ThreadPool;
};

ps::LabelledImages read(std::string const& part) {
    const std::string folder = "/usr/share/datasets/fashion-mnist/";
    ps::LabelledImages images{.image = {1, 28, 28}, .class_count = 10};
    images.bytes = fashion::read_idx(folder + part + "-images-idx3-ubyte.gz").values;
    const fashion::Bytes labels = fashion::read_idx(folder + part + "-labels-idx1-ubyte.gz");
    images.labels.assign(labels.values.begin(), labels.values.end());
    ps::check_images(part, images);
    return images;
}

template <class Net>
void train(int epochs, unsigned seed, unsigned threads, std::string const& out) {
    const ps::LabelledImages images = read("train"), test = read("t10k");
    ps::Trainer<Net, Recipe> trainer(
        ps::random_weights(Net::graph(), seed),
        {.batch = 128, .epochs = epochs, .learning_rate = 0.2, .weight_decay = 5e-4, .seed = seed},
        {.optimizer = {.momentum = 0.9, .nesterov = true},
         .loss = {.label_smoothing = 0.05F},
         .learning_rate = {.epochs = 0.25 * epochs}},
        ps::ThreadPool(threads));
    const auto report = [epochs](ps::EpochReport const& epoch) {
        std::printf("epoch %lld of %d: loss %.4f, test accuracy %.2f %%, %.0f images/s\n",
                    static_cast<long long>(epoch.epoch), epochs, epoch.loss, 100 * epoch.validation->accuracy(),
                    epoch.images_per_second);
        std::fflush(stdout);
        return true;
    };
    trainer.fit(images, {}, ps::Augment{.flip = true, .crop = 2}, test, report);
    if (!out.empty()) ps::write_safetensors(out, trainer.weights());
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> given(arguments + 1, arguments + count);
    const auto argument = [&](std::size_t i, std::string const& otherwise) {
        return i < given.size() ? given[i] : otherwise;
    };
    const std::string net = argument(0, "demo"), out = argument(4, "");
    const int epochs = std::stoi(argument(1, "8"));
    const auto seed = static_cast<unsigned>(std::stoul(argument(2, "1")));
    const auto threads = static_cast<unsigned>(std::stoul(argument(3, "1")));
    if (net == "demo")
        train<fashion::Net>(epochs, seed, threads, out);
    else if (net == "resnet20")
        train<fashion::ResNet20>(epochs, seed, threads, out);
    else
        ps::fail(net, ": neither demo nor resnet20");
    return 0;
} catch (std::exception const& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
