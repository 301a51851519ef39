// Audio in blocks of 64 samples, a minute of it at 48 kHz, as plug-ins compute it: a WaveNet and an LSTM. Prints how
// many times faster than real time they run, and the slowest block beside the median: of all, and of those during which
// the scheduler let the thread run. A loop of multiplications that takes as long as a block is timed in turns with
// them: its slowest pass shows what the machine does to any block. The thread asks for real-time priority, as one of
// audio does. Compiled where RTNeural's headers are found (bench/peers/streams.py), it runs the same networks with
// RTNeural, in turns, and compares the results.
#include <primsel/engine/stream.hpp>
#include <primsel/network/prepare.hpp>

#if __has_include(<RTNeural/RTNeural.h>)
#include <RTNeural/RTNeural.h>
#endif

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace ps = primsel;
using Clock = std::chrono::steady_clock;

constexpr int block = 64, blocks = 48000 * 60 / block, channels = 16, kernel = 3, stacks = 2, depth = 10, hidden = 40;

std::string layer_name(int i) { return "layer" + std::to_string(i); }

ps::Graph wavenet() {
    ps::Graph graph;
    constexpr int samples = 4096;
    std::size_t x = graph.add("image", ps::InputParams{{1, 1, samples}}, {});
    x = graph.add("first", ps::ConvParams{.k = channels, .kernel = {1, 1}}, {x});
    std::vector<std::size_t> skips;
    for (int i = 0; i < stacks * depth; ++i) {
        const int dilation = 1 << i % depth;
        std::size_t y = graph.add(layer_name(i) + ".conv",
                                  ps::ConvParams{.k = channels,
                                                 .kernel = {1, kernel},
                                                 .padding = {0, 0, (kernel - 1) * dilation, 0},
                                                 .dilation = {1, dilation}},
                                  {x});
        y = graph.add(layer_name(i) + ".tanh", ps::ActivationParams{ps::ActivationKind::tanh}, {y});
        skips.push_back(y);
        y = graph.add(layer_name(i) + ".mix", ps::ConvParams{.k = channels, .kernel = {1, 1}}, {y});
        x = graph.add(layer_name(i) + ".sum", ps::AddParams{}, {y, x});
    }
    const std::size_t sum = graph.add("skips", ps::AddParams{}, skips);
    graph.add("last", ps::ConvParams{.k = 1, .kernel = {1, 1}}, {sum});
    return graph;
}
ps::Graph lstm() {
    ps::Graph graph;
    std::size_t x = graph.add("image", ps::InputParams{{4096, 1, 1}}, {});
    x = graph.add("input", ps::DenseRowsParams{.k = 4 * hidden}, {x});
    x = graph.add("lstm", ps::RecurrentParams{}, {x});
    graph.add("last", ps::DenseRowsParams{.k = 1}, {x});
    return graph;
}

#if __has_include(<RTNeural/RTNeural.h>)
constexpr bool compares = true;
namespace rt = RTNeural;
using Rows = std::vector<std::vector<float>>;

std::vector<float> floats(ps::Weights const& weights, std::string const& name) {
    ps::StoredFloats const& values = weights.at(name).values;
    return {values.begin(), values.end()};
}
/// rows x columns of a weight, or its transpose.
Rows matrix(ps::Weights const& weights, std::string const& name, std::size_t rows, std::size_t columns, bool turn) {
    const std::vector<float> all = floats(weights, name);
    Rows result(rows, std::vector<float>(columns));
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) result[i][j] = turn ? all[j * rows + i] : all[i * columns + j];
    }
    return result;
}
template <class Layer>
void set_dense(Layer& layer, ps::Weights const& weights, std::string const& name, std::size_t outputs,
               std::size_t inputs, bool turn) {
    layer.setWeights(matrix(weights, name + ".weight", outputs, inputs, turn));
    layer.setBias(floats(weights, name + ".bias").data());
}

/// The same WaveNet of RTNeural's layers, sample by sample.
class TheirWaveNet {
public:
    explicit TheirWaveNet(ps::Weights const& weights) {
        set_dense(first_, weights, "first", channels, 1, false);
        set_dense(last_, weights, "last", 1, channels, false);
        each([&, i = 0]<class L>(L& layer) mutable {
            const std::string name = layer_name(i++);
            const std::vector<float> all = floats(weights, name + ".conv.weight");
            std::vector<Rows> taps(channels, Rows(channels, std::vector<float>(kernel)));
            for (std::size_t k = 0, at = 0; k < channels; ++k) {
                for (std::size_t c = 0; c < channels; ++c) {
                    for (std::size_t tap = 0; tap < kernel; ++tap) taps[k][c][kernel - 1 - tap] = all[at++];
                }
            }
            layer.conv.setWeights(taps);
            layer.conv.setBias(floats(weights, name + ".conv.bias"));
            set_dense(layer.mix, weights, name + ".mix", channels, channels, false);
            layer.conv.reset();
        });
    }
    void run(const float* src, float* dst) {
        for (int i = 0; i < block; ++i) dst[i] = forward(src[i]);
    }

private:
    template <int dilation>
    struct Layer {
        rt::Conv1DT<float, channels, channels, kernel, dilation, 1, true> conv;
        rt::TanhActivationT<float, channels> tanh;
        rt::DenseT<float, channels, channels> mix;
    };
    template <class F>
    void each(F&& f) {
        std::apply([&](auto&... layer) { (f(layer), ...); }, *layers_);
    }
    float forward(float x) {
#if RTNEURAL_USE_EIGEN
        Eigen::Matrix<float, 1, 1> in;
        in(0) = x;
        first_.forward(in);
        Eigen::Matrix<float, channels, 1> now = first_.outs, sum = Eigen::Matrix<float, channels, 1>::Zero();
        each([&](auto& layer) {
            layer.conv.forward(now);
            layer.tanh.forward(layer.conv.outs);
            sum += layer.tanh.outs;
            layer.mix.forward(layer.tanh.outs);
            now += layer.mix.outs;
        });
        last_.forward(sum);
        return last_.outs(0);
#else
        using V = xsimd::simd_type<float>;
        constexpr std::size_t vectors = (channels + V::size - 1) / V::size;
        V in[1] = {V(x)}, now[vectors], sum[vectors];
        first_.forward(in);
        for (std::size_t i = 0; i < vectors; ++i) now[i] = first_.outs[i], sum[i] = V(0.0F);
        each([&](auto& layer) {
            layer.conv.forward(now);
            layer.tanh.forward(layer.conv.outs);
            for (std::size_t i = 0; i < vectors; ++i) sum[i] += layer.tanh.outs[i];
            layer.mix.forward(layer.tanh.outs);
            for (std::size_t i = 0; i < vectors; ++i) now[i] += layer.mix.outs[i];
        });
        last_.forward(sum);
        return last_.outs[0].get(0);
#endif
    }

    using Layers = std::tuple<Layer<1>, Layer<2>, Layer<4>, Layer<8>, Layer<16>, Layer<32>, Layer<64>, Layer<128>,
                              Layer<256>, Layer<512>, Layer<1>, Layer<2>, Layer<4>, Layer<8>, Layer<16>, Layer<32>,
                              Layer<64>, Layer<128>, Layer<256>, Layer<512>>;
    rt::DenseT<float, 1, channels> first_;
    std::unique_ptr<Layers> layers_ = std::make_unique<Layers>();
    rt::DenseT<float, channels, 1> last_;
};

class TheirLstm {
public:
    explicit TheirLstm(ps::Weights const& weights) {
        // Their gates are i, f, c, o; ours i, o, f, c.
        const auto ordered = [](std::vector<float> row) {
            std::vector<float> result;
            for (const int gate : {0, 2, 3, 1}) {
                result.insert(result.end(), row.begin() + gate * hidden, row.begin() + (gate + 1) * hidden);
            }
            return result;
        };
        auto& layer = model_.get<0>();
        Rows of_h = matrix(weights, "lstm.weight", hidden, 4 * hidden, true);
        for (std::vector<float>& row : of_h) row = ordered(row);
        std::vector<float> bias = floats(weights, "input.bias"), more = floats(weights, "lstm.bias");
        for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += more[i];
        layer.setWVals({ordered(floats(weights, "input.weight"))});
        layer.setUVals(of_h);
        layer.setBVals(ordered(bias));
        set_dense(model_.get<1>(), weights, "last", 1, hidden, true);
        model_.reset();
    }
    void run(const float* src, float* dst) {
        for (int i = 0; i < block; ++i) dst[i] = model_.forward(src + i);
    }

private:
    rt::ModelT<float, 1, 1, rt::LSTMLayerT<float, 1, hidden>, rt::DenseT<float, hidden, 1>> model_;
};
#else
constexpr bool compares = false;
struct Nobody {
    explicit Nobody(ps::Weights const&) {}
    void run(const float*, float*) {}
};
using TheirWaveNet = Nobody;
using TheirLstm = Nobody;
#endif

/// The times that the scheduler took the processor from this thread, or that it gave it up.
long switches() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw + usage.ru_nvcsw;
}

class Times {
public:
    Times() { all_.reserve(blocks), whole_.reserve(blocks); }
    template <class Run>
    void time(Run const& run) {
        const long before = switches();
        const auto begin = Clock::now();
        run();
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        all_.push_back(seconds);
        if (switches() == before) whole_.push_back(seconds);
    }
    [[nodiscard]] double median() { return at_share(all_, 0.5); }
    void print(const char* net, const char* engine) {
        std::printf(
            "%-8s %-9s %8.1f times real time; slowest block %.2f times the median, 1 in 1000 %.2f; slowest of the "
            "%zu without a switch %.2f\n",
            net, engine, block / 48000.0 / median(), at_share(all_, 1) / median(), at_share(all_, 0.999) / median(),
            whole_.size(), at_share(whole_, 1) / median());
    }

private:
    [[nodiscard]] static double at_share(std::vector<double>& seconds, double share) {
        if (seconds.empty()) return 0;
        std::ranges::sort(seconds);
        return seconds[static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1))];
    }
    std::vector<double> all_, whole_;
};

/// Multiplies, each time what came out before.
class Loop {
public:
    /// Takes as long as a block of these seconds.
    explicit Loop(double seconds) {
        double least = 1;
        for (int i = 0; i < 20; ++i) {
            const auto begin = Clock::now();
            run();
            least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
        }
        steps_ = static_cast<long>(seconds / least * static_cast<double>(steps_));
    }
    void run() {
        for (long i = 0; i < steps_; ++i) value_ = value_ * 6364136223846793005U + 1442695040888963407U;
    }

private:
    long steps_ = 100000;
    volatile std::uint64_t value_ = 1;
};

template <class Theirs>
void compare(const char* net, ps::Graph const& graph) {
    ps::Weights random = ps::random_weights(graph, 5), weights;
    for (auto const& [name, tensor] : random) {
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        for (float& value : values) value *= 0.5F;
        weights.add(name, tensor.dims, std::move(values));
    }
    ps::Stream<> ours(graph, weights, {.largest_block = block});
    const auto theirs = std::make_unique<Theirs>(weights);
    std::mt19937 bits(3);
    std::normal_distribution<float> normal(0.0F, 0.3F);
    std::vector<float> signal(static_cast<std::size_t>(block) * 1000), mine(signal.size()), other(signal.size());
    for (float& sample : signal) sample = normal(bits);

    Times our_times, their_times, loop_times;
    std::unique_ptr<Loop> loop;
    double furthest = 0;
    for (int done = 0; done < blocks; done += 1000) {
        for (std::size_t at = 0; at < signal.size(); at += block) {
            our_times.time([&] {
                ours.run(std::span<const float>(signal).subspan(at, block), std::span(mine).subspan(at, block));
            });
        }
        for (std::size_t at = 0; at < signal.size() && compares; at += block) {
            their_times.time([&] { theirs->run(signal.data() + at, other.data() + at); });
        }
        if (!loop) loop = std::make_unique<Loop>(our_times.median());
        for (std::size_t at = 0; at < signal.size(); at += block) {
            loop_times.time([&] { loop->run(); });
        }
        for (std::size_t i = 0; i < signal.size(); ++i) {
            furthest = std::max(furthest, static_cast<double>(std::abs(mine[i] - other[i])));
        }
    }
    our_times.print(net, "primsel");
    if (compares) their_times.print(net, "RTNeural");
    loop_times.print(net, "a loop");
    if (!compares) return;
    std::printf("%-8s primsel is %.2f times as fast by the median; the results differ by at most %.1e\n", net,
                their_times.median() / our_times.median(), furthest);
    if (!(furthest < 1e-3)) std::exit(1);
}

}  // namespace

int main() {
    const sched_param priority{.sched_priority = 10};
    const bool first = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    std::puts(first ? "at real-time priority" : "at the priority of any program, as real-time priority was refused");
    compare<TheirWaveNet>("wavenet", wavenet());
    compare<TheirLstm>("lstm", lstm());
}
