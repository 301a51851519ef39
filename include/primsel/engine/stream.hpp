#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/config.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/engine/arrangement.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/engine/schedule.hpp>
#include <primsel/engine/shared_room.hpp>
#include <primsel/engine/tensor_arguments.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/stream.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/plan/plan_options.hpp>
#include <primsel/primitive/direct.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The policies of streams. Samples are pixels in hwc, so that a layer's past and its block are one image. The one
/// primitive sums each result in an order that depends on its kernel alone, so that bits do not depend on blocks.
struct StreamPolicies : DefaultPolicies {
    using primitives = TypeList<DirectHwc>;
    using layouts = TypeList<hwc, chw>;
};

/// The choices behind a Stream that are values.
struct StreamOptions {
    /// The most samples that run() takes at a time; more are taken one block after the other.
    int largest_block = 64;
    /// The axis of time of the network's input; see stream().
    std::optional<Axis> time{};
    PlanOptions plan{};
};

/// A causal network of one input and one result that runs on a signal block by block and keeps its state. The results
/// are the same to the bit however the signal is cut into blocks. Constructing it plans and packs weights, and may
/// throw error; run and reset never throw, allocate nothing and run on the calling thread.
template <class Policies = StreamPolicies>
class Stream {
    static_assert(engine::CheckPolicies<Policies>::value);
    using Chosen = engine::ChosenPolicies<Policies>;
    static_assert(std::same_as<typename engine::FirstLayout<typename Chosen::layouts>::type, hwc>,
                  "primsel: the first layout of a Stream is hwc; see docs/engine/stream.md");

public:
    /// The graph is that of a whole signal of any length, with all its padding. Throws error, naming the layer, where
    /// the network cannot run block by block (see stream()), or as Engine does.
    Stream(Graph const& graph, Weights const& weights, StreamOptions const& options = {}) {
        const Kernels kernels = policy_kernels<Chosen>();
        std::vector<int> blocks;
        if (options.largest_block < 1) fail("stream: a block of ", options.largest_block, " samples");
        for (int block = 1; block < options.largest_block; block *= 2) blocks.insert(blocks.begin(), block);
        blocks.insert(blocks.begin(), options.largest_block);
        std::size_t arena = 0;
        std::vector<Plan> plans;
        for (const int block : blocks) {
            StreamGraph piece = stream(graph, block, options.time);
            plans.push_back(Predict<>({}, {}, options.plan).template plan<Chosen>(piece.graph, kernels, 1));
            arena = std::max(arena, arrange(make_schedule(piece.graph, kernels, plans.back(), 1)).layout.bytes);
            pieces_.push_back({.block = block, .graph = std::move(piece), .program = nullptr, .srcs = {}, .dsts = {}});
        }
        room_ = std::make_unique<SharedRoom>(arena);
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            Piece& piece = pieces_[i];
            piece.program = std::make_unique<Program>(piece.graph.graph, kernels, plans[i], weights, 1,
                                                      ExecutorRef(executor_), room_.get());
            piece.srcs.resize(piece.program->in_shapes().size());
            piece.dsts.resize(piece.program->out_shapes().size());
        }
        plan_ = std::move(plans.front());
        book(options.largest_block);
        reset();
    }

    /// Runs the network on the next samples of the signal, any number of them. A sample is in_channels() floats of
    /// `src`, one after the other, and its result out_channels() floats of `dst`, which must not overlap. Spans of any
    /// other size are a bug of the caller's: it stops the program with a message.
    void run(std::span<const float> src, std::span<float> dst) noexcept {
        std::size_t samples = src.size() / in_channels_;
        if (src.size() != samples * in_channels_ || dst.size() != samples * out_channels_) [[unlikely]] {
            std::fprintf(stderr, "primsel: Stream::run() was called with %zu floats and room for %zu; %zu channels\n",
                         src.size(), dst.size(), in_channels_);
            std::abort();
        }
        const float* from = src.data();
        float* to = dst.data();
        for (Piece& piece : pieces_) {
            const auto block = static_cast<std::size_t>(piece.block);
            for (; samples >= block; samples -= block) {
                run(piece, from, to);
                from += block * in_channels_, to += block * out_channels_;
            }
        }
    }
    /// Begins a new signal: all that the network remembers becomes 0.
    void reset() noexcept {
        for (std::size_t i = 0; i < windows_.size(); ++i) {
            Window& window = windows_[i];
            std::fill_n(window.memory.data(), window.memory.size(), 0.0F);
            // Windows that are as long begin at different places, so that they are not all moved in one block.
            window.at = i * pieces_.front().block_samples() % (window.last + 1);
        }
        for (State& state : states_) std::fill_n(state.memory.data(), state.memory.size(), 0.0F);
    }

    [[nodiscard]] std::size_t in_channels() const noexcept { return in_channels_; }
    [[nodiscard]] std::size_t out_channels() const noexcept { return out_channels_; }
    /// The results at the beginning of a signal that the network on the whole signal does not have, as its convolutions
    /// have no padding there: they see zeros before the signal.
    [[nodiscard]] int late() const noexcept { return pieces_.front().graph.late; }
    /// The plan of the largest block, and the graph that it is of.
    [[nodiscard]] Plan const& plan() const noexcept { return plan_; }
    [[nodiscard]] Graph const& graph() const noexcept { return pieces_.front().graph.graph; }
    /// Bytes of packed weights, which all sizes of blocks share, of the arena, and of what the network remembers.
    [[nodiscard]] std::size_t weight_bytes() const { return room_->weight_bytes(); }
    [[nodiscard]] std::size_t arena_bytes() const { return room_->arena_bytes(); }
    [[nodiscard]] std::size_t state_bytes() const {
        std::size_t floats = 0;
        for (Window const& window : windows_) floats += window.memory.size();
        for (State const& state : states_) floats += state.memory.size();
        return sizeof(float) * floats;
    }

private:
    /// The network for one size of blocks.
    struct Piece {
        int block;
        StreamGraph graph;
        std::unique_ptr<Program> program;
        std::vector<const float*> srcs;
        std::vector<float*> dsts;
        [[nodiscard]] std::size_t block_samples() const noexcept { return static_cast<std::size_t>(block); }
    };
    /// The past of a signal and the block after it, which move on through the memory, and back to its beginning.
    struct Window {
        AlignedBuffer memory;
        std::size_t past, channels;
        std::size_t last;    ///< the last place with room for a largest block
        std::size_t at = 0;  ///< the place of the oldest sample
    };
    struct State {
        AlignedBuffer memory;  ///< twice
        std::size_t floats;
    };

    void book(int largest_block) {
        const auto largest = static_cast<std::size_t>(largest_block);
        Piece const& first = pieces_.front();
        std::vector<Shape> const& shapes = first.program->in_shapes();
        in_channels_ = static_cast<std::size_t>(shapes[first.graph.signal].c);
        out_channels_ = static_cast<std::size_t>(first.program->out_shapes()[0].c);
        for (StreamWindow const& window : first.graph.windows) {
            const auto past = static_cast<std::size_t>(window.past),
                       channels = static_cast<std::size_t>(shapes[window.input].c), last = std::max(past, 4 * largest);
            windows_.push_back({.memory = AlignedBuffer((past + last + largest) * channels),
                                .past = past,
                                .channels = channels,
                                .last = last});
        }
        for (StreamState const& state : first.graph.states) {
            const std::size_t floats = shapes[state.input].size();
            states_.push_back({.memory = AlignedBuffer(2 * floats), .floats = floats});
        }
    }

    void run(Piece& piece, const float* src, float* dst) noexcept {
        const std::size_t block = piece.block_samples();
        piece.srcs[piece.graph.signal] = src;
        piece.dsts[0] = dst;
        for (std::size_t i = 0; i < windows_.size(); ++i) {
            Window& window = windows_[i];
            float* const begin = window.memory.data() + window.at * window.channels;
            piece.srcs[piece.graph.windows[i].input] = begin;
            piece.dsts[piece.graph.windows[i].result] = begin + window.past * window.channels;
        }
        for (std::size_t i = 0; i < states_.size(); ++i) {
            State& state = states_[i];
            float* const now = state.memory.data() + (odd_ ? state.floats : 0);
            piece.srcs[piece.graph.states[i].input] = now;
            piece.dsts[piece.graph.states[i].result] = state.memory.data() + (odd_ ? 0 : state.floats);
        }
        piece.program->run(piece.srcs, piece.dsts, executor_);
        odd_ = !odd_;
        for (Window& window : windows_) {
            window.at += block;
            if (window.at <= window.last) continue;
            std::memmove(window.memory.data(), window.memory.data() + window.at * window.channels,
                         window.past * window.channels * sizeof(float));
            window.at = 0;
        }
    }

    Sequential executor_;
    std::vector<Piece> pieces_;  // the largest block first
    std::unique_ptr<SharedRoom> room_;
    Plan plan_;
    std::vector<Window> windows_;
    std::vector<State> states_;
    bool odd_ = false;
    std::size_t in_channels_ = 1, out_channels_ = 1;
};

}  // namespace primsel::inline PRIMSEL_ABI
