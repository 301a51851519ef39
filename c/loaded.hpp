// A network with the names and dimensions of its inputs and outputs, and how it is made ready to run: what the
// interfaces for other languages share.
#pragma once

#include <primsel/core/thread_pool.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/core/work.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/io/state_dict.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/onnx/import.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foreign {

namespace ps = primsel;

struct Policies : ps::LowPrecision {
    using executor = ps::ThreadPool;
};

/// How a network is loaded. 0: as its file says, or one image.
struct LoadOptions {
    int batch = 0;
    ps::Extent size{0, 0};
    std::map<std::string, std::vector<std::int64_t>, std::less<>> dims{};
    /// The path of a file of weights; empty: those of the ONNX file, or random ones.
    std::string weights{};
    std::uint32_t seed = 1;
    /// Whether batch norms stay layers of their own. Weights that a training wrote are those of such a network.
    bool trains = false;
};

struct Network {
    std::string name;
    ps::Graph graph;
    ps::Weights weights;
    ps::OnnxSignature signature;
};

[[nodiscard]] inline ps::OnnxOptions onnx_options(LoadOptions const& options) {
    ps::OnnxOptions onnx{.batch = options.batch, .image = options.size, .dims = options.dims};
    onnx.trains = options.trains || !options.weights.empty();
    return onnx;
}
[[nodiscard]] inline Network from_onnx(std::string name, ps::OnnxModel model, LoadOptions const& options) {
    if (!options.weights.empty()) model.weights = ps::read_state_dict(options.weights, model.graph);
    ps::OnnxSignature signature = model;
    return {std::move(name), std::move(model.graph), std::move(model.weights), std::move(signature)};
}
/// Throws error as load_onnx and read_state_dict do.
[[nodiscard]] inline Network load(std::string const& path, LoadOptions const& options) {
    return from_onnx(path, ps::load_onnx(path, onnx_options(options)), options);
}
[[nodiscard]] inline Network parse(std::string const& name, ps::SharedBytes const& bytes, LoadOptions const& options) {
    return from_onnx(name, ps::parse_onnx(name, bytes, onnx_options(options)), options);
}
/// A network of the zoo. Throws error as zoo::graph, resized and read_state_dict do.
[[nodiscard]] inline Network by_name(std::string const& name, LoadOptions const& options) {
    if (!options.dims.empty()) ps::fail(name, ": dimensions of an input are for ONNX files");
    Network network{name, ps::zoo::graph(name, options.batch == 0 ? 1 : options.batch), {}, {}};
    ps::Graph& graph = network.graph;
    if (options.size.h != 0 || options.size.w != 0) {
        graph = ps::resized(graph, {graph[graph.input()].shape.c, options.size.h, options.size.w});
    }
    network.weights =
        options.weights.empty() ? ps::random_weights(graph, options.seed) : ps::read_state_dict(options.weights, graph);
    const auto port = [&graph](std::size_t node) {
        const ps::Shape shape = graph[node].shape;
        return ps::OnnxValueInfo{.name = graph[node].name, .dims = {graph.batch(), shape.c, shape.h, shape.w}};
    };
    for (const std::size_t node : graph.inputs()) network.signature.inputs.push_back(port(node));
    for (const std::size_t node : graph.outputs()) network.signature.outputs.push_back(port(node));
    return network;
}

/// A buffer of the caller's for an input or output, of which `port` is the name and dimensions. Throws error, in words,
/// where it is not one.
template <class T>
[[nodiscard]] std::span<T> checked_buffer(std::string_view what, ps::OnnxValueInfo const& port, std::size_t wanted,
                                          T* data, std::size_t floats) {
    if (floats != wanted) {
        ps::fail(what, ' ', port.name, ": has ", floats, " floats; ", ps::to_string(port.dims), " has ", wanted);
    }
    if (data == nullptr) ps::fail(what, ' ', port.name, ": is null");
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(float) != 0) {
        ps::fail(what, ' ', port.name, ": is not aligned as floats are");
    }
    return {data, floats};
}
[[nodiscard]] inline bool overlap(std::span<const float> a, std::span<const float> b) {
    const std::less<> before;
    return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

/// The number of threads, with 0 for all that the process may use.
[[nodiscard]] inline std::size_t threads_of(std::size_t threads) {
    return threads == 0 ? ps::usable_threads().count() : threads;
}

/// Throws error for another name.
[[nodiscard]] inline ps::Precision precision_of(std::string_view name) {
    std::string names;
    for (const ps::Precision precision : ps::all_precisions) {
        if (to_string_view(precision) == name) return precision;
        names += (names.empty() ? "" : ", ") + std::string(to_string_view(precision));
    }
    ps::fail("precision ", name, ": there is none of that name; there are ", names);
}

[[nodiscard]] inline ps::Kernels kernels() { return ps::policy_kernels<Policies>(); }
/// The plan for a simplified graph. Throws error as planning does.
[[nodiscard]] inline ps::Plan make_plan(ps::Graph const& simplified, ps::Weights const& weights,
                                        ps::PlanOptions const& options, std::size_t threads) {
    return ps::Predict<>({}, {}, Policies::options_for(simplified, weights, options))
        .plan<Policies>(simplified, kernels(), threads);
}

/// A network that is planned and ready to run.
class Session {
public:
    /// With a plan that was made before where `plan` is not null. Throws error as planning and Program do.
    Session(Network const& network, ps::PlanOptions const& options, std::size_t threads, const ps::Plan* plan = nullptr)
        : executor_(threads_of(threads)),
          signature_(network.signature),
          graph_(ps::simplify(network.graph)),
          plan_(plan == nullptr ? make_plan(graph_, network.weights, options, executor_.concurrency()) : *plan),
          program_(graph_, kernels(), plan_, network.weights, executor_.concurrency(), executor_),
          srcs_(signature_.inputs.size()),
          dsts_(signature_.outputs.size()) {}

    [[nodiscard]] std::vector<ps::OnnxValueInfo> const& inputs() const { return signature_.inputs; }
    [[nodiscard]] std::vector<ps::OnnxValueInfo> const& outputs() const { return signature_.outputs; }
    [[nodiscard]] ps::Graph const& graph() const { return graph_; }
    [[nodiscard]] ps::Plan const& plan() const { return plan_; }
    [[nodiscard]] ps::Program const& program() const { return program_; }
    [[nodiscard]] std::size_t threads() const { return executor_.concurrency(); }

    /// Binds the caller's buffers and calls `use` with program, sources, results and executor. Calls wait for each
    /// other. Throws error, in words, for buffers that are not those of the inputs and outputs, or overlap.
    template <class Srcs, class Dsts, class Use>
    void with_buffers(Srcs const& srcs, Dsts const& dsts, Use const& use) {
        if (srcs.size() != srcs_.size()) ps::fail(srcs.size(), " inputs; the network has ", srcs_.size());
        if (dsts.size() != dsts_.size()) ps::fail(dsts.size(), " outputs; the network has ", dsts_.size());
        const std::scoped_lock lock(running_);
        for (std::size_t i = 0; i < srcs_.size(); ++i) {
            srcs_[i] =
                checked_buffer("input", inputs()[i], program_.in_floats(i), srcs[i].data(), srcs[i].size()).data();
        }
        for (std::size_t i = 0; i < dsts_.size(); ++i) {
            const std::span<float> dst =
                checked_buffer("output", outputs()[i], program_.out_floats(i), dsts[i].data(), dsts[i].size());
            for (std::size_t j = 0; j < srcs_.size(); ++j) {
                if (overlap(srcs[j], dst)) {
                    ps::fail("input ", inputs()[j].name, " and output ", outputs()[i].name, " overlap");
                }
            }
            for (std::size_t j = 0; j < i; ++j) {
                if (overlap(dsts[j], dst))
                    ps::fail("outputs ", outputs()[j].name, " and ", outputs()[i].name, " overlap");
            }
            dsts_[i] = dst.data();
        }
        use(program_, std::span<const float* const>(srcs_), std::span<float* const>(dsts_), executor_);
    }
    /// Runs once. Allocates nothing where nothing is wrong.
    template <class Srcs, class Dsts>
    void run(Srcs const& srcs, Dsts const& dsts) {
        with_buffers(srcs, dsts, [](ps::Program& program, auto from, auto to, ps::ThreadPool& executor) {
            program.run(from, to, executor);
        });
    }

private:
    ps::ThreadPool executor_;
    ps::OnnxSignature signature_;
    ps::Graph graph_;
    ps::Plan plan_;
    ps::Program program_;
    std::mutex running_;
    std::vector<const float*> srcs_;
    std::vector<float*> dsts_;
};

}  // namespace foreign
