// Checks what the library asks of the system: files, mapped weights, threads, clocks and processors.
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/primsel.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ps = primsel;

namespace {

using namespace ps::layer;

struct Net : ps::Network<Input<3, 20, 20>, Conv<16, 3>, Relu, MaxPool<2>, Conv<32, 1>, GlobalAvgPool, Dense<10>> {};

struct Few : ps::DefaultPolicies {
    using primitives =
        ps::TypeList<ps::DirectSum2d, ps::DirectHwc,
                     ps::Im2<ps::Patch::row, ps::PatchCopy::copy_short, ps::GemmForm::abt, ps::GemmOut::ki>>;
    using executor = ps::ThreadPool;
};

// Scores of g++ 12 on Linux, for AVX2.
constexpr std::array<float, 10> expected{-0.756550968F, 0.652305126F, 0.153197408F,  -0.356966496F, -0.523686647F,
                                         -0.669245958F, 0.477242172F, -0.281998068F, -0.46918717F,  1.15587068F};

int failures = 0;
void check(bool good, const char* what) {
    std::printf("%s: %s\n", what, good ? "yes" : "NO");
    failures += good ? 0 : 1;
}

void files() {
    const std::string path = "\xc3\xa4 file.txt", text = "one\ntwo\n";
    ps::write_file(path, text);
    const ps::SharedBytes read = ps::read_file(path);
    check(std::string_view(reinterpret_cast<const char*>(read.bytes.data()), read.bytes.size()) == text,
          "a file of any name keeps its bytes");
    ps::write_file(path, "three");
    check(ps::read_file(path).bytes.size() == 5, "a file is replaced");
    try {
        ps::write_file("no such folder/file", "text");
        check(false, "a folder that is missing is refused");
    } catch (ps::error const& fault) {
        std::printf("  %s\n", fault.what());
        check(true, "a folder that is missing is refused");
    }
}

std::vector<float> scores_of(ps::Engine<Net, Few>& engine) {
    std::vector<float> image(Net::input_shape.size()), scores(10);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * 31 % 101) / 101 - 0.5F;
    engine.run(image, scores);
    return scores;
}

void networks() {
    const ps::Weights weights = ps::random_weights(Net::graph());
    ps::Engine<Net, Few> engine(weights);
    const std::vector<float> scores = scores_of(engine);
    float worst = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) worst = std::max(worst, std::abs(scores[i] - expected[i]));
    std::printf("  scores differ by %.1e\n", static_cast<double>(worst));
    check(worst < 1e-5F, "a network computes what it does on Linux");
    ps::write_safetensors("net.safetensors", weights);
    ps::Engine<Net, Few> mapped(ps::read_weights<Net>("net.safetensors"));
    check(scores_of(mapped) == scores, "weights of a mapped file give the same bits");
    ps::write_plan("net.plan.json", engine.plan());
    ps::Engine<Net, Few> planned(weights, ps::read_plan("net.plan.json"));
    check(scores_of(planned) == scores, "a plan that was saved gives the same bits");
}

void threads() {
    ps::ThreadPool pool(3);
    std::atomic<int> sum{0};
    for (int run = 0; run < 100; ++run) {
        pool.parallel_for(50, [&](std::size_t block, std::size_t) { sum += static_cast<int>(block); });
    }
    check(sum == 100 * 49 * 50 / 2, "a pool runs every block");
    const ps::UsableThreads usable = ps::usable_threads();
    std::printf("  %zu threads may run at a time\n", usable.count());
    check(usable.count() > 0, "processors are counted");
}

void clocks() {
    const ps::Timer timer;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    check(timer.seconds() > 0.015 && timer.seconds() < 10, "20 ms pass");
}

}  // namespace

int main() try {
    files();
    networks();
    threads();
    clocks();
    return failures == 0 ? 0 : 1;
} catch (std::exception const& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
}
