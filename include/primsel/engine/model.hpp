// Opt-in: one network for many threads and for images of any size.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/engine/arrangement.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/engine/schedule.hpp>
#include <primsel/engine/shared_room.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/with_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The size of a run: the number of images, and their height and width.
struct RunSize {
    int batch = 1, height = 0, width = 0;
    friend bool operator==(RunSize const&, RunSize const&) = default;
};

/// A network planned for one size and a number of threads.
struct SizedPlan {
    Graph graph;
    Plan plan;
    Arrangement arrangement;
};

namespace engine::detail {

/// The values of the keys that were used last, the last one first.
template <class Key, class Value>
class Recent {
public:
    explicit Recent(std::size_t most) : most_(most) {}
    /// Returns the value of a key, which is now the one used last, or null. The pointer is valid until the next add.
    [[nodiscard]] Value* find(Key const& key) noexcept {
        const auto found = std::ranges::find(values_, key, &std::pair<Key, Value>::first);
        if (found == values_.end()) return nullptr;
        std::rotate(values_.begin(), found, found + 1);
        return &values_.front().second;
    }
    /// Removes what was used longest ago, if there are as many values as there may be.
    void make_room() {
        if (values_.size() == most_) values_.pop_back();
    }
    Value& add(Key const& key, Value value) {
        make_room();
        return values_.emplace(values_.begin(), key, std::move(value))->second;
    }
    [[nodiscard]] auto begin() { return values_.begin(); }
    [[nodiscard]] auto end() { return values_.end(); }

private:
    std::size_t most_;
    std::vector<std::pair<Key, Value>> values_;
};

}  // namespace engine::detail

/// A network and its weights, shared by any number of engines and threads. It plans for any batch and image size, and
/// remembers the plans of the sizes used last. Engines share packed weights through it: what one of them has packed no
/// other packs, whatever its size, and it is in memory once.
template <class Policies = DefaultPolicies>
class Model {
    static_assert(engine::CheckPolicies<Policies>::value);
    using Chosen = engine::ChosenPolicies<Policies>;

public:
    /// Throws error if weights are missing or have other dimensions, and for a graph of which some weights are
    /// trainable. `plans`: how many plans are remembered, at least 1. `spare_bytes`: the most bytes of packed weights
    /// that stay when no engine has a plan that reads them.
    Model(Graph graph, Weights weights, PlanOptions options = {}, std::size_t plans = 64, std::size_t spare_bytes = 0)
        : graph_(std::move(graph)),
          weights_(std::move(weights)),
          options_(std::move(options)),
          packed_(std::make_shared<WeightStore>(spare_bytes)),
          plans_(plans) {
        if (plans == 0) fail("model: 0 plans to remember; it needs one");
        if (!graph_.trainable().empty()) fail("model: its weights cannot be trained, as engines share them");
        check_weights(graph_, weights_, WeightCheck::shapes);
        options_.keep_candidates = false;
    }

    /// The graph as it was given, for images of the size that it was made for.
    [[nodiscard]] Graph const& graph() const { return graph_; }
    [[nodiscard]] Weights const& weights() const { return weights_; }
    /// The size that the graph was made for, by its first input.
    [[nodiscard]] RunSize size() const {
        const Shape image = graph_[graph_.inputs().at(0)].shape;
        return {graph_.batch(), image.h, image.w};
    }

    /// Returns the plan for a size and a number of threads. Throws error where a layer does not fit the size, as
    /// resized and with_batch do; a graph of several inputs has images of one size only. Any number of threads may call
    /// it at a time.
    [[nodiscard]] std::shared_ptr<const SizedPlan> at(RunSize size, std::size_t workers = 1) const {
        const std::pair<RunSize, std::size_t> key(size, workers);
        {
            const std::scoped_lock lock(mutex_);
            if (auto* const known = plans_.find(key)) return *known;
        }
        // Others may plan for this size at the same time; they come to the same plan.
        auto made = std::make_shared<const SizedPlan>(planned(size, workers));
        const std::scoped_lock lock(mutex_);
        if (auto* const known = plans_.find(key)) return *known;
        return plans_.add(key, std::move(made));
    }

    /// The packed weights of all engines.
    [[nodiscard]] std::shared_ptr<WeightStore> const& packed() const { return packed_; }
    [[nodiscard]] std::size_t weight_bytes() const { return packed_->bytes(); }

    [[nodiscard]] static Kernels kernels() { return policy_kernels<Chosen>(); }

private:
    [[nodiscard]] Graph graph_of(RunSize wanted) const {
        const RunSize own = size();
        if (wanted.batch < 1 || wanted.height < 1 || wanted.width < 1) {
            fail("model: ", wanted.batch, " images of ", wanted.height, 'x', wanted.width);
        }
        const bool other_image = wanted.height != own.height || wanted.width != own.width;
        Graph result = wanted.batch == own.batch ? graph_ : with_batch(graph_, wanted.batch);
        if (!other_image) return result;
        return resized(result, {graph_[graph_.input()].shape.c, wanted.height, wanted.width});
    }
    [[nodiscard]] SizedPlan planned(RunSize size, std::size_t workers) const {
        const Kernels all = kernels();
        SizedPlan result{simplify(graph_of(size)), {}, {}};
        result.plan = Predict<>({}, {}, options_).template plan<Chosen>(result.graph, all, workers);
        result.arrangement = arrange(make_schedule(result.graph, all, result.plan, workers));
        return result;
    }

    Graph graph_;
    Weights weights_;
    PlanOptions options_;
    std::shared_ptr<WeightStore> packed_;
    mutable std::mutex mutex_;
    mutable engine::detail::Recent<std::pair<RunSize, std::size_t>, std::shared_ptr<const SizedPlan>> plans_;
};

/// Runs a Model on images of any size, one batch at a time: an arena of its own, and the model's packed weights. Each
/// thread that runs at the same time as others has its own. The model must outlive it. Results are bit for bit those of
/// an Engine for the same graph and plan.
template <class Policies = DefaultPolicies>
class ModelEngine {
    using Chosen = engine::ChosenPolicies<Policies>;

public:
    using executor = typename Chosen::executor;

    /// For the size that the model's graph was made for, until use() says another. `sizes`: how many sizes stay ready
    /// to run, at least 1. Throws error as Engine does.
    explicit ModelEngine(Model<Policies> const& model, executor run_on = {}, std::size_t sizes = 8)
        : model_(&model), executor_(std::move(run_on)), room_(0, model.packed()), ready_(sizes) {
        if (sizes == 0) fail("model: an engine for 0 sizes; it needs one");
        use(model.size());
    }
    ModelEngine(ModelEngine const&) = delete;
    ModelEngine& operator=(ModelEngine const&) = delete;

    /// Makes run() take images of this size from now on. A size that is ready takes no time. Another one is planned,
    /// unless the model remembers its plan, and packs what no engine has packed. Throws error as Model::at, or if there
    /// is not enough memory; the size in use stays then.
    void use(RunSize size) {
        if (Ready* const known = ready_.find(size)) {
            in_use_ = known->program.get();
            size_ = size;
            return;
        }
        Ready fresh{model_->at(size, executor_.concurrency()), room_.beside(), nullptr};
        try {
            fit_arena(fresh.plan->arrangement.layout.bytes);
        } catch (std::bad_alloc const&) {
            fail("model: no memory for the arena, ", fresh.plan->arrangement.layout.bytes, " bytes");
        }
        fresh.program =
            std::make_unique<Program>(fresh.plan->graph, Model<Policies>::kernels(), fresh.plan->plan,
                                      model_->weights(), executor_.concurrency(), executor_, fresh.room.get());
        srcs_.resize(fresh.program->in_shapes().size());
        dsts_.resize(fresh.program->out_shapes().size());
        in_use_ = ready_.add(size, std::move(fresh)).program.get();
        size_ = size;
    }
    [[nodiscard]] RunSize size() const { return size_; }

    /// As Engine::run, for images of size().
    void run(std::span<const float> src, std::span<float> dst) noexcept { run(std::span(&src, 1), std::span(&dst, 1)); }
    void run(std::span<const std::span<const float>> srcs, std::span<const std::span<float>> dsts) noexcept {
        check("inputs", srcs.size(), srcs_.size());
        check("results", dsts.size(), dsts_.size());
        for (std::size_t i = 0; i < srcs.size(); ++i) {
            check("floats of input", srcs[i].size(), in_use_->in_floats(i));
            srcs_[i] = srcs[i].data();
        }
        for (std::size_t i = 0; i < dsts.size(); ++i) {
            check("floats of result", dsts[i].size(), in_use_->out_floats(i));
            dsts_[i] = dsts[i].data();
        }
        in_use_->run(srcs_, dsts_, executor_);
    }

    /// Shapes of the inputs and results of one image of size().
    [[nodiscard]] std::vector<Shape> const& in_shapes() const { return in_use_->in_shapes(); }
    [[nodiscard]] std::vector<Shape> const& out_shapes() const { return in_use_->out_shapes(); }
    [[nodiscard]] Program const& program() const { return *in_use_; }
    /// Bytes of the arena, which is as large as the ready sizes need.
    [[nodiscard]] std::size_t arena_bytes() const { return room_.arena_bytes(); }

private:
    struct Ready {
        std::shared_ptr<const SizedPlan> plan;
        std::unique_ptr<SharedRoom> room;
        std::unique_ptr<Program> program;
    };

    /// Makes the arena large enough for all that stays ready and one more plan, and not twice as large.
    void fit_arena(std::size_t more) {
        std::size_t most = more;
        for (auto const& [size, ready] : ready_) most = std::max(most, ready.plan->arrangement.layout.bytes);
        if (most <= room_.arena_bytes() && room_.arena_bytes() / 2 <= most) return;
        room_.replace_arena(most);
        for (auto& [size, ready] : ready_) ready.program->rearrange(ready.plan->arrangement);
    }
    static void check(const char* what, std::size_t given, std::size_t wanted) noexcept {
        if (given == wanted) [[likely]]
            return;
        std::fprintf(stderr, "primsel: run() was called with %zu %s; it takes %zu\n", given, what, wanted);
        std::abort();
    }

    const Model<Policies>* model_;
    executor executor_;
    SharedRoom room_;
    engine::detail::Recent<RunSize, Ready> ready_;
    Program* in_use_ = nullptr;
    RunSize size_;
    std::vector<const float*> srcs_;
    std::vector<float*> dsts_;
};

}  // namespace primsel::inline PRIMSEL_ABI
