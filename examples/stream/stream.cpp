// stream NET.onnx < IN.f32 > OUT.f32
//
// Runs a causal network, such as a WaveNet or an LSTM of one input channel, on an audio signal as a plug-in does: the
// host hands over blocks of 64 samples, and process() fills in the results. Samples are raw floats, as
// `ffmpeg -i in.wav -f f32le -` writes them.
#include <primsel/core/error.hpp>
#include <primsel/engine/stream.hpp>
#include <primsel/onnx/import.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

class Plugin {
public:
    /// Called before the sound starts: plans the network and packs its weights, and may throw ps::error.
    Plugin(std::string const& path, int block) : Plugin(ps::load_onnx(path), block) {}

    /// Called for each block of samples, on the thread of the sound: never waits, allocates or throws.
    void process(std::span<const float> in, std::span<float> out) noexcept { stream_.run(in, out); }
    /// Called where the sound starts anew.
    void reset() noexcept { stream_.reset(); }

    [[nodiscard]] bool is_mono() const { return stream_.in_channels() == 1 && stream_.out_channels() == 1; }

private:
    Plugin(ps::OnnxModel const& model, int block) : stream_(model.graph, model.weights, {.largest_block = block}) {}

    ps::Stream<> stream_;
};

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fputs("usage: stream NET.onnx < IN.f32 > OUT.f32\n", stderr);
        return 2;
    }
    constexpr int block = 64;
    Plugin plugin(argv[1], block);
    if (!plugin.is_mono()) ps::fail(argv[1], ": the network has more channels than one");
    std::vector<float> in(block), out(block);
    for (std::size_t count; (count = std::fread(in.data(), sizeof(float), in.size(), stdin)) > 0;) {
        plugin.process(std::span(in).first(count), std::span(out).first(count));
        if (std::fwrite(out.data(), sizeof(float), count, stdout) != count) ps::fail("the results cannot be written");
    }
    return 0;
} catch (ps::error const& error) {
    std::fprintf(stderr, "stream: %s\n", error.what());
    return 1;
}
