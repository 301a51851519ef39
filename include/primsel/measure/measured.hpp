#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/flush_subnormals.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/machine/evict.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

/// Times the candidates themselves, here and now (Anderson and Gregg 2018): what predictions replace. Every distinct
/// question is timed once and then remembered: a run to warm up, then up to `runs` more, of which the median counts; a
/// candidate several times slower than the best so far of its layer is not run again. Large weights are pushed out of
/// the caches before each run, as the rest of the network would. Seconds to minutes for a network. Several threads are
/// those of a pool of its own.
class Measured {
public:
    static constexpr std::string_view name = "measured";
    /// Every question is timed alone: activations near, large weights in memory.
    static constexpr std::string_view ignores[] = {"layer_by_layer", "data_reuse_bytes", "weight_reuse_bytes",
                                                   "weight_reuse_operations", "apart"};

    explicit Measured(std::size_t runs = 5) : runs_(std::max<std::size_t>(runs, 1)) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            // By its name: another list has other primitives at its positions.
            const std::string_view id = kernels.primitives[queries[i].primitive].id;
            seconds[i] = remember(convs_,
                                  std::tuple{queries[i].shape, queries[i].run.batch, queries[i].run.packs,
                                             queries[i].run.threads, id, kernels.arch},
                                  [&] { return time_conv(kernels, queries[i]); });
        }
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            TransformQuery const& q = queries[i];
            const std::string_view from = kernels.layouts[q.from].name, to = kernels.layouts[q.to].name;
            seconds[i] =
                remember(transforms_, std::tuple{q.shape.c, q.shape.h, q.shape.w, q.run.batch, q.run.threads, from, to},
                         [&] { return time_transform(kernels, q); });
        }
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            OpQuery const& q = queries[i];
            const TimedOp asked{*q.layer,      {q.inputs.begin(), q.inputs.end()}, q.output,    q.run.batch,
                                q.run.threads, kernels.layouts[q.layout].name,     kernels.arch};
            auto known = std::ranges::find(ops_, asked, &std::pair<TimedOp, double>::first);
            if (known == ops_.end()) known = ops_.insert(known, {asked, time_op(kernels, q)});
            seconds[i] = known->second;
        }
    }

private:
    struct TimedOp {
        AnyLayer layer;
        std::vector<Shape> inputs;
        Shape output;
        int batch, threads;
        std::string_view layout, arch;
        friend bool operator==(TimedOp const&, TimedOp const&) = default;
    };
    template <class Map, class Key, class Time>
    static double remember(Map& known, Key const& key, Time const& time) {
        const auto found = known.find(key);
        return found != known.end() ? found->second : known.emplace(key, time()).first->second;
    }

    /// Fills with values that are ordinary ones for bfloat16, too: both halves of a float have the same bits. Otherwise
    /// half of the values would be huge or none, for which some functions take another way.
    static void fill(std::span<float> values) {
        unsigned state = 1;
        for (float& value : values) {
            state = state * 1664525U + 1013904223U;
            const float drawn = static_cast<float>(state >> 8) * (2.0F / (1U << 24)) - 1.0F;
            const std::uint32_t half = std::bit_cast<std::uint32_t>(drawn) >> 16U;
            value = std::bit_cast<float>(half << 16U | half);
        }
    }
    /// Whether other layers push these weights out of the caches.
    [[nodiscard]] static bool is_large(std::span<const float> weights) { return weights.size() > l2_floats / 4; }
    /// The median of the runs; one run is enough for what cannot be chosen.
    template <class Run>
    double time(ExecutorRef executor, std::span<const float> weights, double hopeless, Run const& run) {
        const FlushSubnormals flushing;  // as within a run
        const RunScope awake(executor);
        const auto once = [&] {
            if (is_large(weights)) machine::evict(weights.data(), weights.size_bytes());
            const Timer timer;
            run();
            return timer.seconds();
        };
        const double first = once();
        if (first > hopeless) return first;
        std::vector<double> all;
        for (std::size_t i = 0; i < runs_; ++i) all.push_back(once());
        return median(std::move(all));
    }

    [[nodiscard]] ExecutorRef executor_of(RunContext const& run) {
        if (run.threads == 1) return sequential_;
        const auto threads = static_cast<std::size_t>(run.threads);
        if (pool_ == nullptr || pool_->concurrency() != threads) pool_ = std::make_shared<ThreadPool>(threads);
        return *pool_;
    }

    double time_conv(Kernels const& kernels, ConvQuery const& query) {
        const ExecutorRef executor = executor_of(query.run);
        PrimitiveEntry const& primitive = kernels.primitives[query.primitive];
        ConvShape const& image = query.shape;
        const bool forward = primitive.pass == Pass::forward, weights = primitive.pass == Pass::weight_gradient;
        const int at_once = primitive.whole_batch ? query.run.batch : 1;
        const auto images = [&](std::size_t layout, Shape shape) {
            return static_cast<std::size_t>(at_once) * floats_for_bytes(kernels.layouts[layout].image_bytes(shape));
        };
        const Shape in = image.in_shape(), out = image.out_shape();
        AlignedBuffer kernel(image.kernel_size()), packed(floats_for_bytes(primitive.packed_bytes(image)));
        AlignedBuffer src(images(primitive.in_layout, forward || weights ? in : out));
        AlignedBuffer gradient(weights ? images(primitive.in_layout, out) : 0);
        AlignedBuffer dst(weights ? image.kernel_size() : images(primitive.out_layout, forward ? out : in));
        AlignedBuffer scratch(floats_for_bytes(primitive.scratch_bytes(image, executor.concurrency(), at_once)));
        for (AlignedBuffer* buffer : {&kernel, &src, &gradient, &dst}) fill(buffer->span());
        if (!weights) primitive.pack(image, kernel.data(), packed.data());
        const ConvArgs args{.src = src.data(),
                            .gradient = gradient.data(),
                            .images = at_once,
                            .weights = packed.data(),
                            .dst = dst.data(),
                            .scratch = scratch.data(),
                            .executor = executor,
                            .src_range = range_,
                            .dst_range = range_,
                            .residual_range = range_};
        double& best =
            best_.try_emplace(std::tuple{image, query.run.batch, query.run.threads, primitive.pass}, 1e9).first->second;
        const double seconds = time(executor, packed.span(), 4 * best, [&] {
            if (query.run.packs) primitive.repack(image, {kernel.data()}, packed.data(), executor);
            for (int i = 0; i < query.run.batch; i += at_once) primitive.run(image, args);
        });
        best = std::min(best, seconds);
        return seconds;
    }

    double time_transform(Kernels const& kernels, TransformQuery const& query) {
        AlignedBuffer src(floats_for_bytes(kernels.layouts[query.from].image_bytes(query.shape))),
            dst(floats_for_bytes(kernels.layouts[query.to].image_bytes(query.shape)));
        fill(src.span());
        fill(dst.span());
        const ExecutorRef executor = executor_of(query.run);
        return time(executor, {}, 1e9, [&] {
            for (int i = 0; i < query.run.batch; ++i) {
                kernels.transform(query.from, query.to).run(query.shape, src.data(), dst.data(), executor, range_);
            }
        });
    }

    double time_op(Kernels const& kernels, OpQuery const& query) {
        const auto batch = static_cast<std::size_t>(query.run.batch);
        const ExecutorRef executor = executor_of(query.run);
        AlignedBuffer dst(batch * kernels.layouts[query.layout].size(query.output));
        fill(dst.span());
        if (std::holds_alternative<ConvParams>(*query.layer)) {
            const auto epilogue = kernels.layouts[query.layout].epilogue;
            if (epilogue == nullptr) return 0;
            AlignedBuffer bias(static_cast<std::size_t>(query.output.c)), residual(dst.size());
            fill(bias.span());
            fill(residual.span());
            const float* added = query.inputs.size() > 1 ? residual.data() : nullptr;
            return time(executor, {}, 1e9, [&] {
                epilogue(query.output, query.run.batch, dst.data(), bias.data(), added, Clamp{}, relu_clamp, executor);
            });
        }
        OpEntry const& op = kernels.op(*query.layer, query.layout);
        if (op.run == nullptr) return 0;
        std::vector<AlignedBuffer> buffers;
        std::vector<const float*> src;
        for (Shape const& shape : query.inputs) {
            fill(buffers.emplace_back(batch * shape.size()).span());
            src.push_back(buffers.back().data());
        }
        const std::vector<TensorRange> ranges(src.size(), range_);
        AlignedBuffer weights(
            op.packed_bytes == nullptr ? 0 : floats_for_bytes(op.packed_bytes(*query.layer, query.inputs[0])));
        fill(weights.span());
        AlignedBuffer scratch(op.scratch_bytes == nullptr ? 0
                                                          : floats_for_bytes(op.scratch_bytes(
                                                                *query.layer, query.inputs, executor.concurrency())));
        const OpArgs args{.src = src,
                          .src_shape = query.inputs,
                          .dst = dst.data(),
                          .dst_shape = query.output,
                          .batch = query.run.batch,
                          .weights = weights.data(),
                          .scratch = scratch.data(),
                          .executor = executor,
                          .src_range = ranges,
                          .dst_range = range_};
        return time(executor, weights.span(), 1e9, [&] { op.run(*query.layer, args); });
    }

    static constexpr TensorRange range_ = range_of(-3, 3);  // of most normal values

    std::size_t runs_;
    Sequential sequential_;
    std::shared_ptr<ThreadPool> pool_;  // of the number of threads that was asked for last
    std::map<std::tuple<ConvShape, int, bool, int, std::string_view, std::string_view>, double> convs_;
    std::map<std::tuple<ConvShape, int, int, Pass>, double> best_;
    std::map<std::tuple<int, int, int, int, int, std::string_view, std::string_view>, double> transforms_;
    /// Parameters have no order; a network has few enough for a search from the front.
    std::vector<std::pair<TimedOp, double>> ops_;
};

/// The least of ten times of Measured, each after a run of its own to warm up: a time that other programs took part of
/// does not count. Questions of 20 ms or more are timed three times. Nothing is remembered.
class LeastMeasured {
public:
    static constexpr std::string_view name = "least measured";

    template <class Query>
    void predict(Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = 1e9;
            for (int run = 0; run < 10 && (run < 3 || seconds[i] < 0.02); ++run) {
                double time = 0;
                Measured(1).predict(kernels, queries.subspan(i, 1), std::span(&time, 1));
                seconds[i] = std::min(seconds[i], time);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
