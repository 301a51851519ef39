// serve MODEL.onnx [--port N] [--workers N] [--threads N] [--queue N] [--deadline SECONDS] [--connections N] [--sizes
// N]
//                  [--pixels N] [--size N] [--mean M] [--std S]
//
// Serves a network of one image input over HTTP. One Model holds the weights; each worker has an engine over it, on a
// thread of its own, and takes images of any size that the network allows.
//
//     POST /run       an .npy array of CxHxW or NxCxHxW, or a PNG or JPEG image -> JSON with all results
//     GET  /health    200
//     GET  /metrics   counters in the text format of Prometheus
//
// A full queue answers 429, a request that waited longer than the deadline 503, one that the network cannot take, or of
// more pixels than --pixels, 400. SIGTERM and SIGINT end the server when every request that it accepted is answered.
#include "http.hpp"

#include <primsel/core/executor.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/engine/model.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/primsel.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ps = primsel;

namespace {

/// The workers' runs, and for how many of them at a time there are processors.
struct Runs {
    std::atomic<std::size_t> now = 0;
    std::size_t most = 1;
};

/// A worker's pool of threads, which take part in a run while there are processors for the threads of all runs. Else
/// the run goes on alone. Results are the same bits either way.
class SpareThreads {
public:
    SpareThreads(std::size_t threads, Runs& runs) : pool_(threads), runs_(&runs) {}

    [[nodiscard]] std::size_t concurrency() const noexcept { return pool_.concurrency(); }
    void begin_run() noexcept {
        runs_->now.fetch_add(1, std::memory_order_relaxed);
        in_run_ = true;
    }
    void end_run() noexcept {
        wake(false);
        in_run_ = false;
        runs_->now.fetch_sub(1, std::memory_order_relaxed);
    }
    void parallel_for(std::size_t blocks, ps::BlockFunction function) noexcept {
        const bool spare = runs_->now.load(std::memory_order_relaxed) <= runs_->most;
        wake(spare && in_run_);  // no run ends a loop that packs weights
        if (spare) return pool_.parallel_for(blocks, function);
        ps::Sequential{}.parallel_for(blocks, function);
    }

private:
    void wake(bool awake) noexcept {
        if (awake == awake_) return;
        awake_ = awake;
        awake ? pool_.begin_run() : pool_.end_run();
    }

    ps::ThreadPool pool_;
    Runs* runs_;
    bool awake_ = false, in_run_ = false;
};

struct Policies : ps::DefaultPolicies {
    using executor = SpareThreads;
};

class ModelWorker : public serve::Worker {
public:
    ModelWorker(ps::Model<Policies> const& model, std::vector<std::string> const& names, SpareThreads threads,
                std::size_t sizes)
        : engine_(model, std::move(threads), sizes), names_(&names) {}

    std::vector<serve::Result> run(serve::Images const& images) override {
        engine_.use({images.count, images.height, images.width});
        std::vector<serve::Result> results;
        std::vector<std::span<float>> dsts;
        for (std::size_t i = 0; i < names_->size(); ++i) {
            const ps::Shape shape = engine_.out_shapes()[i];
            results.push_back({(*names_)[i], {shape.c, shape.h, shape.w}, {}});
            results[i].values.resize(engine_.program().out_floats(i));
        }
        for (serve::Result& result : results) dsts.emplace_back(result.values);
        const std::span<const float> src(images.values);
        engine_.run(std::span(&src, 1), dsts);
        return results;
    }

private:
    ps::ModelEngine<Policies> engine_;
    const std::vector<std::string>* names_;
};

class ModelNetwork : public serve::Network {
public:
    explicit ModelNetwork(serve::Settings const& settings) : ModelNetwork(settings, load(settings)) {}

    int channels() const override { return model_.graph()[model_.graph().input()].shape.c; }
    std::unique_ptr<serve::Worker> make_worker() override {
        return std::make_unique<ModelWorker>(model_, names_, SpareThreads(threads_, runs_), sizes_);
    }
    std::size_t weight_bytes() const override { return model_.weight_bytes(); }

private:
    ModelNetwork(serve::Settings const& settings, ps::OnnxModel file)
        : threads_(settings.threads),
          sizes_(settings.sizes),
          model_(std::move(file.graph), std::move(file.weights), {}, settings.sizes * 4) {
        for (ps::OnnxValueInfo const& output : file.outputs) names_.push_back(output.name);
        runs_.most = std::max<std::size_t>(1, ps::usable_threads().count() / threads_);
    }
    static ps::OnnxModel load(serve::Settings const& settings) {
        if (settings.files.size() != 1) ps::fail("usage: serve MODEL.onnx [--port N] [--workers N] ...");
        ps::OnnxOptions options;
        if (settings.size > 0) options.image = {settings.size, settings.size};
        ps::OnnxModel file = ps::load_onnx(settings.files[0], options);
        if (file.graph.inputs().size() != 1) {
            ps::fail(settings.files[0], ": it has several inputs; serve takes one image");
        }
        return file;
    }

    std::size_t threads_, sizes_;
    ps::Model<Policies> model_;
    std::vector<std::string> names_;
    Runs runs_;
};

}  // namespace

int main(int argc, char** argv) try {
    serve::serve(serve::read_settings(argc, argv),
                 [](serve::Settings const& settings) -> std::unique_ptr<serve::Network> {
                     return std::make_unique<ModelNetwork>(settings);
                 });
    return 0;
} catch (std::exception const& error) {
    std::fprintf(stderr, "serve: %s\n", error.what());
    return 1;
}
