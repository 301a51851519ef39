// The main job, on real input: classifies Fashion-MNIST's 10,000 test images with a trained network, in floats, in
// bfloat16 and in 8 bits, then shows on ResNet-18 what choosing a primitive for each layer is worth.
#include "../fashion_mnist/fashion_net.hpp"
#include "../fashion_mnist/images.hpp"

#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/engine/low_precision.hpp>
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
#include <variant>
#include <vector>

namespace ps = primsel;

namespace {

const std::string weights_dir = DEMO_WEIGHTS;

/// Test images classified right, and as PyTorch does, by a network of batch 1.
struct Judged {
    std::size_t right = 0, as_pytorch = 0;
    double seconds = 0;
};
Judged judge(auto& engine, ps::LabelledImages const& images) {
    const ps::SharedBytes expected = ps::read_file(weights_dir + "/expected_classes.bin");
    std::vector<float> image(images.image.size());
    std::array<float, 10> scores{};
    Judged judged;
    const ps::Timer timer;
    for (std::size_t i = 0; i < images.size(); ++i) {
        images.read(i, image.data());
        engine.run(image, scores);
        const auto best = std::ranges::max_element(scores) - scores.begin();
        judged.right += best == images.labels[i];
        judged.as_pytorch += i < expected.bytes.size() && best == static_cast<std::uint8_t>(expected.bytes[i]);
    }
    judged.seconds = timer.seconds();
    return judged;
}
/// In percent of the images.
double percent(std::size_t count, ps::LabelledImages const& images) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(images.size());
}

void classify(ps::Weights const& weights, ps::LabelledImages const& images) {
    ps::Engine<fashion::Net> engine{weights};
    std::cout << engine.plan() << '\n' << engine.plan().explain("block2.conv1") << '\n';
    const Judged judged = judge(engine, images);
    std::printf("%zu images: accuracy %.2f %%, the same class as PyTorch on %zu, %.0f images/s on one thread\n\n",
                images.size(), percent(judged.right, images), judged.as_pytorch,
                static_cast<double>(images.size()) / judged.seconds);
}

/// The same with less precision, where that is faster. The ranges for 8 bits come from 256 of the images that the
/// network was trained with.
void classify_rounded(ps::Weights const& weights, ps::LabelledImages const& images) {
    const ps::LabelledImages known = fashion::read_images("train", fashion::Net::input_shape);
    std::vector<float> pixels(256 * known.image.size());
    for (std::size_t i = 0; i < 256; ++i) known.read(i, &pixels[i * known.image.size()]);
    const ps::Graph graph = fashion::Net::graph(),
                    ranged = ps::with_ranges(graph, ps::calibrate_ranges(graph, weights, pixels, ps::RangeMethod::mse));
    const auto products = std::ranges::count_if(graph.nodes(), [](ps::Node const& node) {
        return std::holds_alternative<ps::ConvParams>(node.layer) ||
               std::holds_alternative<ps::DenseParams>(node.layer);
    });
    for (const ps::Precision precision : {ps::Precision::float32, ps::Precision::bf16, ps::Precision::int8}) {
        ps::Engine<ps::Graph, ps::LowPrecision> engine(ranged, weights, {.precision = precision});
        std::size_t lower = 0;
        for (ps::PlannedLayer const& layer : engine.plan().layers) {
            lower += layer.primitive.find(to_string_view(precision)) != std::string::npos ? 1 : 0;
        }
        const Judged judged = judge(engine, images);
        std::printf("precision %-8s accuracy %.2f %%, %6.0f images/s", std::string(to_string_view(precision)).c_str(),
                    percent(judged.right, images), static_cast<double>(images.size()) / judged.seconds);
        if (precision != ps::Precision::float32)
            std::printf(", %zu of %td convolutions and dense layers in it", lower, products);
        std::printf("\n");
    }
    std::printf("\n");
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
    const ps::Weights weights = ps::read_weights<fashion::Net>(weights_dir + "/fashion.safetensors");
    const ps::LabelledImages images = fashion::read_images("t10k", fashion::Net::input_shape);
    classify(weights, images);
    classify_rounded(weights, images);
    compare();
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
