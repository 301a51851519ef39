// The main job, on real input: classifies Fashion-MNIST's 10,000 test images with a trained network, then shows on
// ResNet-18 what choosing a primitive for each layer is worth.
#include "../fashion_mnist/fashion_net.hpp"
#include "../fashion_mnist/idx.hpp"

#include <primsel/io/file.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>
#include <primsel/show/svg.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

namespace ps = primsel;

namespace {

const std::string weights_dir = DEMO_WEIGHTS;
const std::string data_dir = "/usr/share/datasets/fashion-mnist/";

void classify() {
    constexpr std::size_t pixels = 28 * 28;
    const fashion::Bytes images = fashion::read_idx(data_dir + "t10k-images-idx3-ubyte.gz");
    const fashion::Bytes labels = fashion::read_idx(data_dir + "t10k-labels-idx1-ubyte.gz");
    const std::size_t count = labels.values.size();
    if (images.values.size() != count * pixels) ps::fail("demo: the images do not match their labels");

    ps::Engine<fashion::Net> engine{ps::read_weights<fashion::Net>(weights_dir + "/fashion.safetensors")};
    std::cout << engine.plan() << '\n' << engine.plan().explain("block2.conv1") << '\n';

    const ps::SharedBytes expected = ps::read_file(weights_dir + "/expected_classes.bin");
    std::array<float, pixels> image{};
    std::array<float, 10> scores{};
    std::size_t right = 0, as_pytorch = 0;
    const ps::Timer timer;
    for (std::size_t i = 0; i < count; ++i) {
        std::transform(&images.values[i * pixels], &images.values[i * pixels] + pixels, image.begin(),
                       [](std::uint8_t byte) { return static_cast<float>(byte) / 255.0F; });
        engine.run(image, scores);
        const auto best = static_cast<std::uint8_t>(std::ranges::max_element(scores) - scores.begin());
        right += best == labels.values[i];
        as_pytorch += i < expected.bytes.size() && best == static_cast<std::uint8_t>(expected.bytes[i]);
    }
    const double seconds = timer.seconds();
    std::printf("%zu images: accuracy %.2f %%, the same class as PyTorch on %zu, %.0f images/s on one thread\n\n",
                count, 100.0 * static_cast<double>(right) / static_cast<double>(count), as_pytorch,
                static_cast<double>(count) / seconds);
}

void compare() {
    // Every primitive there is, for each family to be at its best.
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    const ps::Graph graph = ps::zoo::ResNet18::graph(), simplified = ps::simplify(graph);
    ps::SemiEmpiricalCosts model;
    std::vector<ps::ComparedPlan> plans = ps::rival_plans(simplified, kernels, model);
    ps::Sequential sequential;
    std::printf("ResNet-18, seeded weights, one thread, medians of interleaved runs:\n");
    ps::time_plans(plans, simplified, kernels, ps::random_weights(graph), sequential, 9);
    for (ps::ComparedPlan const& plan : plans) {
        std::printf("  %-18s %8.2f ms  %5.2fx the plan\n", plan.name.c_str(), plan.seconds * 1e3,
                    plan.seconds / plans[0].seconds);
    }
    ps::write_file("resnet18.svg", ps::show::to_svg(plans[0].plan, simplified));
    std::printf("the plan as a picture: %s\n", std::filesystem::absolute("resnet18.svg").c_str());
}

}  // namespace

int main() try {
    classify();
    compare();
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
