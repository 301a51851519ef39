// The part of `primsel` that the test needs, of one small network and a few kernels:
//
//     freezer freeze small --out F.hpp --name NAME [--embed] [--arch A,B,...]
//
// Beside F.hpp it writes an image and the engine's result for each: F.hpp.A.in and F.hpp.A.expected, floats.
#include "interface.hpp"

#include <freeze_archs.hpp>
#include <primsel/frozen/write_frozen.hpp>
#include <primsel/io/file.hpp>
#include <primsel/primsel.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace {

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<small_c, small_h, small_w>, Conv<24, 3>, Relu, MaxPool<2>, Conv<40, 1>, Relu,
                         Conv<40, 3>, Relu, GlobalAvgPool, Dense<small_classes>> {};

struct Few : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d, ps::DirectHwc, ps::Indirect>;
    using layouts = ps::TypeList<ps::chw, ps::hwc>;
};

/// An image and the engine's result.
void write_answer(ps::Engine<Net, Few>& engine, std::string const& stem) {
    ps::Tensor<> image(Net::input_shape), scores(Net::output_shape);
    for (std::size_t i = 0; i < image.size(); ++i) image.span()[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    engine.run(image.span(), scores.span());
    const auto write = [](std::string const& path, std::span<const float> values) {
        ps::write_file(path, std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
    };
    write(stem + ".in", image.span());
    write(stem + ".expected", scores.span());
}

void freeze(std::map<std::string, std::string>& options) {
    const ps::FrozenPaths paths = ps::frozen::complete(
        {.header = options["--out"], .name = options["--name"], .embed = options.contains("--embed")});
    if (options.contains("--arch") && !options.contains("--part")) {
        std::vector<std::string> archs;
        std::string text = options["--arch"] + ',';
        for (std::size_t at = text.find(','); at != std::string::npos; text.erase(0, at + 1), at = text.find(',')) {
            archs.push_back(text.substr(0, at));
        }
        (void)cli::freeze_archs(archs, paths);
    } else {
        const ps::Weights weights = ps::random_weights(Net::graph());
        ps::Engine<Net, Few> engine{weights};
        ps::write_frozen(engine, weights,
                         options.contains("--part") ? cli::part_paths(paths, options["--part"]) : paths);
        write_answer(engine, ps::join(paths.header, '.', ps::frozen::level_of(ps::frozen::arch_name)));
    }
}

}  // namespace

extern "C" int main(int count, char** words) {
    try {
        std::map<std::string, std::string> options;
        for (int i = 3; i < count; ++i) {
            const std::string name = words[i];
            options[name] = name != "--embed" && i + 1 < count ? words[++i] : "";
        }
        freeze(options);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "freezer: %s\n", error.what());
        return 1;
    }
}
