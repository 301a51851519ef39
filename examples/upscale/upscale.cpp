// upscale MODEL.onnx INPUT.png OUTPUT.png [--expected RESULT.png]
//
// Runs a super-resolution network on an image and writes the larger one. The network takes red, green and blue from 0
// to 255 and gives the same for more pixels; convert.py makes one from a published model. With --expected, says how far
// the result is from another image, and fails if any value is more than 1 of 255 away.
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include <primsel/cost/extern_kernels.hpp>
#include <primsel/io/onnx.hpp>
#include <primsel/primsel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

constexpr int colours = 3;

/// Bytes as they lie in an image file: pixels of red, green and blue.
struct Picture {
    int h = 0, w = 0;
    std::vector<unsigned char> bytes;
};

Picture read_picture(std::string const& path) {
    Picture picture;
    int channels = 0;
    const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
        stbi_load(path.c_str(), &picture.w, &picture.h, &channels, colours), &stbi_image_free);
    if (pixels == nullptr) ps::fail(path, ": ", stbi_failure_reason());
    const std::size_t size = std::size_t{colours} * static_cast<std::size_t>(picture.h * picture.w);
    picture.bytes.assign(pixels.get(), pixels.get() + size);
    return picture;
}

Picture upscale(std::string const& model_path, Picture const& picture) {
    ps::OnnxOptions options;
    options.image = {picture.h, picture.w};
    const ps::OnnxModel model = ps::load_onnx(model_path, options);
    ps::Engine<ps::Graph> engine(model.graph, model.weights);
    const ps::Shape in = engine.in_shape(), out = engine.out_shape();
    if (in != ps::Shape{.c = colours, .h = picture.h, .w = picture.w} || out.c != colours)
        ps::fail(model_path, ": no network from image to image: ", to_string(in), " -> ", to_string(out));
    std::vector<float> image(in.size()), result(out.size());
    for (std::size_t i = 0; i < image.size(); ++i) {
        image[i] = static_cast<float>(picture.bytes[i % in.pixels() * colours + i / in.pixels()]);
    }
    const ps::Timer timer;
    engine.run(image, result);
    std::printf("%s -> %s in %.1f ms, %.1f predicted\n", to_string(in).c_str(), to_string(out).c_str(),
                timer.seconds() * 1e3, engine.plan().total_seconds * 1e3);
    Picture larger{out.h, out.w, std::vector<unsigned char>(out.size())};
    for (std::size_t i = 0; i < result.size(); ++i) {
        const float value = std::clamp(std::nearbyint(result[i]), 0.0F, 255.0F);
        larger.bytes[i % out.pixels() * colours + i / out.pixels()] = static_cast<unsigned char>(value);
    }
    return larger;
}

/// Whether no value is more than 1 away.
bool compare(Picture const& result, Picture const& expected) {
    if (result.h != expected.h || result.w != expected.w) ps::fail("the images differ in size");
    int worst = 0;
    std::size_t different = 0;
    for (std::size_t i = 0; i < result.bytes.size(); ++i) {
        const int difference = std::abs(result.bytes[i] - expected.bytes[i]);
        worst = std::max(worst, difference);
        different += difference != 0 ? 1 : 0;
    }
    std::printf("%zu of %zu values differ, by %d of 255 at most\n", different, result.bytes.size(), worst);
    return worst <= 1;
}

}  // namespace

int main(int argc, char** argv) try {
    if ((argc != 4 && argc != 6) || (argc == 6 && std::string(argv[4]) != "--expected"))
        ps::fail("usage: upscale MODEL.onnx INPUT.png OUTPUT.png [--expected RESULT.png]");
    const Picture result = upscale(argv[1], read_picture(argv[2]));
    if (stbi_write_png(argv[3], result.w, result.h, colours, result.bytes.data(), result.w * colours) == 0)
        ps::fail(argv[3], ": cannot be written");
    return argc == 6 && !compare(result, read_picture(argv[5])) ? 1 : 0;
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
