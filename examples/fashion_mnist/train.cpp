// Trains a network on Fashion-MNIST, as torch_twin.py does with PyTorch:
//     fashion_mnist [NET [EPOCHS [SEED [THREADS [OUT]]]]]
// NET is demo or resnet20. The demo's weights came of `fashion_mnist demo 8 1 1 fashion.safetensors`. Needs Debian's
// package dataset-fashion-mnist.
#include "fashion_net.hpp"
#include "images.hpp"
#include "recipe.hpp"

#include <primsel/io/safetensors.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

void train(ps::Graph const& graph, int epochs, unsigned seed, unsigned threads, std::string const& out) {
    const ps::Shape shape = graph[graph.input()].shape;
    const ps::LabelledImages images = fashion::read_images("train", shape), test = fashion::read_images("t10k", shape);
    fashion::Trainer trainer = fashion::make_trainer(graph, epochs, seed, threads);
    const auto report = [epochs](ps::EpochReport const& epoch) {
        std::printf("epoch %lld of %d: loss %.4f, test accuracy %.2f %%, %.0f images/s\n",
                    static_cast<long long>(epoch.epoch), epochs, epoch.loss, 100 * epoch.validation->accuracy(),
                    epoch.images_per_second);
        std::fflush(stdout);
        return true;
    };
    trainer.fit(images, {}, fashion::augment, test, report);
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
        train(fashion::Net::graph(fashion::batch), epochs, seed, threads, out);
    else if (net == "resnet20")
        train(fashion::ResNet20::graph(fashion::batch), epochs, seed, threads, out);
    else
        ps::fail(net, ": neither demo nor resnet20");
    return 0;
} catch (std::exception const& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
