// upscale MODEL.onnx INPUT.png OUTPUT.png [--expected RESULT.png]
//
// Runs a super-resolution network on an image and writes the larger one. The network takes red, green and blue from 0
// to 255 and gives the same for more pixels; convert.py makes one from a published model. With --expected, says how far
// the result is from another image, and fails if any value is more than 1 of 255 away.
#include <image.hpp>

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/primsel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

constexpr int colours = 3;

image::Image upscale(std::string const& model_path, image::Image const& picture) {
    ps::OnnxOptions options;
    options.image = {picture.h, picture.w};
    const ps::OnnxModel model = ps::load_onnx(model_path, options);
    ps::Engine<ps::Graph> engine(model.graph, model.weights);
    const ps::Shape in = engine.in_shape(), out = engine.out_shape();
    if (in != ps::Shape{.c = colours, .h = picture.h, .w = picture.w} || out.c != colours)
        ps::fail(model_path, ": no network from image to image: ", to_string(in), " -> ", to_string(out));
    std::vector<float> values(in.size()), result(out.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(picture.pixels[i % in.pixels() * colours + i / in.pixels()]);
    }
    const ps::Timer timer;
    engine.run(values, result);
    std::printf("%s -> %s in %.1f ms, %.1f predicted\n", to_string(in).c_str(), to_string(out).c_str(),
                timer.seconds() * 1e3, engine.plan().total_seconds * 1e3);
    image::Image larger{colours, out.h, out.w, std::vector<std::uint8_t>(out.size())};
    for (std::size_t i = 0; i < result.size(); ++i) {
        const float value = std::clamp(std::nearbyint(result[i]), 0.0F, 255.0F);
        larger.pixels[i % out.pixels() * colours + i / out.pixels()] = static_cast<std::uint8_t>(value);
    }
    return larger;
}

/// Whether no value is more than 1 away.
bool compare(image::Image const& result, image::Image const& expected) {
    if (result.h != expected.h || result.w != expected.w) ps::fail("the images differ in size");
    int worst = 0;
    std::size_t different = 0;
    for (std::size_t i = 0; i < result.pixels.size(); ++i) {
        const int difference = std::abs(result.pixels[i] - expected.pixels[i]);
        worst = std::max(worst, difference);
        different += difference != 0 ? 1 : 0;
    }
    std::printf("%zu of %zu values differ, by %d of 255 at most\n", different, result.pixels.size(), worst);
    return worst <= 1;
}

}  // namespace

int main(int argc, char** argv) try {
    if ((argc != 4 && argc != 6) || (argc == 6 && std::string(argv[4]) != "--expected"))
        ps::fail("usage: upscale MODEL.onnx INPUT.png OUTPUT.png [--expected RESULT.png]");
    const image::Image result = upscale(argv[1], image::read(argv[2], colours));
    image::write_png(argv[3], result);
    const bool as_expected = argc != 6 || compare(result, image::read(argv[5], colours));
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) ps::fail("cannot write to the standard output");
    return as_expected ? 0 : 1;
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
