#pragma once

#include <primsel/core/error.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// The machine-independent work of an op. For one image: its counts. For the whole op: the bytes of its packed weights,
/// the threads that run it and, of these, those that are at work on average.
/// `working_set` is in bytes and selects the memory level that serves `counts.bytes`. `run_bytes` and `run_operations`
/// are RunContext::weight_reuse_bytes and weight_reuse_operations, `apart` is RunContext::apart.
struct OpWork {
    OpCounts counts{};
    double working_set = 0, weights = 0, run_bytes = 0, run_operations = 0;
    int threads = 1;
    double at_work = 1;
    int apart = 1;
};

/// The terms of an op's time, in seconds: memory traffic, vector and scalar arithmetic of one image, and the traffic of
/// the weights, and a loop whose blocks threads share.
struct OpTerms {
    double memory = 0, arithmetic = 0, scalar = 0, weights = 0, loop = 0;
};

/// The terms of a convolution's time, in seconds: its matrix products, its other steps, the traffic of its weights and
/// its calls, and loops whose blocks threads share. The layer spends these terms `times` times. `besides` is added
/// once, for a step of training: packing weights that changed, writing their gradient, and reading images from a slower
/// memory level than the batch alone would need.
struct ConvTerms {
    double products = 0, rest = 0, weights = 0, calls = 0, times = 1, besides = 0, loops = 0;
};

/// A cost model that needs no training: the roofline (Williams et al. 2009) of each phase of each primitive. A phase
/// takes the larger of its operations / the machine's rate for them and its bytes / the bandwidth of the memory level
/// that holds its working set. Reading the weights adds the part that prefetching does not hide. The machine's figures
/// are measured once for the kernels' Arch, or given to the constructor. predict throws error if no Machine was given
/// and the kernels have none.
class Analytical {
public:
    static constexpr std::string_view name = "analytical";

    Analytical() = default;
    explicit Analytical(Machine const& machine) : machine_(machine) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) seconds[i] = Analytical::seconds(terms(kernels, queries[i]));
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            const OpTerms parts = terms(kernels, work(kernels, queries[i]));
            seconds[i] = queries[i].run.batch *
                         (overhead + std::max(parts.memory, parts.arithmetic) + parts.scalar + parts.loop);
        }
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            OpQuery const& query = queries[i];
            const OpTerms parts = terms(kernels, query);
            seconds[i] = overhead + query.run.batch * (std::max(parts.memory, parts.arithmetic) + parts.scalar) +
                         parts.weights + parts.loop;
        }
    }
    /// The share of min(compute, reading the weights) that prefetching hides. On the profiles in bench/profiles,
    /// selection with 0.5 has less regret than with 0, 0.25, 0.75 or 1 (test/cost/pretrained.cpp).
    static constexpr double hidden = 0.5;

    /// Returns times * (compute + weights - hidden_share * min(compute, weights) + loops) + besides, in seconds, where
    /// compute is the sum of products, rest and calls.
    [[nodiscard]] static double seconds(ConvTerms const& of, double hidden_share = hidden) {
        const double compute = of.products + of.rest + of.calls;
        return of.times * (compute + of.weights - hidden_share * std::min(compute, of.weights) + of.loops) + of.besides;
    }
    /// Returns the terms of a primitive that does `work` for each image and reads `packed_bytes` bytes of packed
    /// weights. `run_bytes` and `run_operations` are the reuse distance of the weights, as in OpWork. The threads that
    /// share the blocks of a phase compute it together.
    [[nodiscard]] static ConvTerms terms(Machine const& machine, Work const& work, std::size_t packed_bytes,
                                         ConvShape const& shape, int batch = 1, double run_bytes = 0,
                                         double run_operations = 0, int threads = 1) {
        // A layer whose packed weights are at least as large as its input and output of one image runs all images of
        // the batch at once (see Schedule) and reads the weights once.
        const std::size_t images = sizeof(float) * (shape.in_shape().size() + shape.out_shape().size());
        const double together = packed_bytes < images ? 1 : batch;
        ConvTerms result{.calls = together * overhead, .times = batch / together};
        double most = 1, loops = 0;
        for (Phase const& phase : work) {
            const bool multiplies = phase.rate == Rate::gemm || phase.rate == Rate::bf16 || phase.rate == Rate::int8;
            const double at_work = threads_at_work(phase.blocks, threads);
            (multiplies ? result.products : result.rest) +=
                together * phase_seconds(machine.on_threads(at_work), phase);
            most = std::max(most, at_work), loops += phase.loops;
        }
        result.weights = static_cast<double>(packed_bytes) /
                         bandwidth_of_weights(machine.on_threads(most), run_bytes, run_operations);
        result.loops = together * std::max(loops, 1.0) * machine.loop_seconds(threads);
        return result;
    }
    /// Returns the terms of a layer in a network that runs layer by layer: all images pass the layer before the next
    /// layer starts. `work` is that of the whole batch if `whole_batch`, else of one image. Images are then read from
    /// the memory level that holds the batch, or that holds `apart` bytes if these are more. `apart` is
    /// RunContext::data_reuse_bytes.
    [[nodiscard]] static ConvTerms together(Machine const& machine, Work const& work, std::size_t packed_bytes,
                                            ConvShape const& shape, int batch, bool whole_batch, double apart = 0,
                                            int threads = 1) {
        ConvTerms result = terms(machine, work, packed_bytes, shape, whole_batch ? 1 : batch, 0, 0, threads);
        const Machine all_threads = machine.on_threads(threads);
        const double image = image_bytes(shape), all = batch * image;
        if (!whole_batch) result.rest += longer(all_threads, all, all, image) / result.times;
        result.besides = longer(all_threads, all, std::max(apart, all), all);
        return result;
    }
    [[nodiscard]] ConvTerms terms(Kernels const& kernels, ConvQuery const& query) const {
        return terms(machine_of(kernels, std::max(query.run.threads, query.run.apart)), kernels, query);
    }
    /// Returns the terms of an op. For ConvParams, they are those of the pass that adds bias and residual and clamps.
    [[nodiscard]] OpTerms terms(Kernels const& kernels, OpQuery const& query) const {
        return terms(kernels, work(kernels, query));
    }
    [[nodiscard]] OpTerms terms(Kernels const& kernels, OpWork const& work) const {
        return terms(machine_of(kernels, std::max(work.threads, work.apart)), work);
    }
    [[nodiscard]] static OpTerms terms(Machine const& machine, OpWork const& work) {
        const Machine at_work = machine.share_of(work.apart).on_threads(work.at_work);
        return {.memory = work.counts.bytes / at_work.bandwidth_for(work.working_set),
                .arithmetic = work.counts.operations / at_work.vector_flops,
                .scalar = work.counts.scalars / at_work.scalar_flops,
                .weights = work.weights / bandwidth_of_weights(at_work, work.run_bytes, work.run_operations),
                .loop = work.at_work > 1 ? machine.loop_seconds(work.threads) : 0};
    }
    [[nodiscard]] static OpWork work(Kernels const& kernels, TransformQuery const& query) {
        const OpCounts counts = kernels.transform(query.from, query.to).work(query.shape);
        const double images = query.run.layer_by_layer ? query.run.batch : 1;
        return {.counts = counts,
                .working_set = std::max(images * counts.bytes, query.run.data_reuse_bytes),
                .threads = query.run.threads,
                .at_work = threads_at_work(blocks_of(counts, 1), query.run.threads),
                .apart = query.run.apart};
    }
    [[nodiscard]] static OpWork work(Kernels const& kernels, OpQuery const& query) {
        const auto size = static_cast<double>(query.output.size());
        OpWork result{.counts = {.operations = size},
                      .run_bytes = query.run.weight_reuse_bytes,
                      .run_operations = query.run.weight_reuse_operations};
        OpCounts& counts = result.counts;
        if (std::holds_alternative<ConvParams>(*query.layer)) {
            // Floats of 4 bytes: the result is read and written, and the residual is read.
            counts.bytes = 4 * (query.inputs.size() > 1 ? 3 : 2) * size;
            // A row has one value of the bias, or those of all channels.
            const Shape out = query.output;
            const std::string_view layout = kernels.layouts[query.layout].name;
            counts.rows = static_cast<double>(layout == chw::name ? static_cast<std::size_t>(out.c)
                                              : layout == hwc::name
                                                  ? out.pixels()
                                                  : static_cast<std::size_t>(out.c) * static_cast<std::size_t>(out.h));
        } else {
            OpEntry const& op = kernels.op(*query.layer, query.layout);
            if (op.work != nullptr) counts = op.work(*query.layer, query.inputs, query.output);
            if (op.in_place && counts.operations + counts.scalars + counts.bytes == 0)
                return {};  // the same elements under another name or shape
            if (counts.bytes == 0) {
                counts.bytes = 4 * size;
                for (Shape const& shape : query.inputs) counts.bytes += 4 * static_cast<double>(shape.size());
            }
            if (op.packed_bytes != nullptr) {
                result.weights = static_cast<double>(op.packed_bytes(*query.layer, query.inputs[0]));
            }
        }
        const double fed = query.run.layer_by_layer ? query.run.batch : 1;  // images that one level of memory holds
        result.working_set = std::max(fed * counts.bytes, query.run.data_reuse_bytes);
        result.threads = query.run.threads;
        result.at_work = threads_at_work(blocks_of(counts, query.run.batch), query.run.threads);
        result.apart = query.run.apart;
        return result;
    }

private:
    /// Returns the blocks of an op on so many images.
    [[nodiscard]] static double blocks_of(OpCounts const& counts, int images) {
        constexpr double block_bytes = 2.0 * sizeof(float) * static_cast<double>(op_block_floats);  // read and written
        return counts.blocks > 0 ? counts.blocks * images
                                 : std::max(1.0, std::ceil(images * counts.bytes / block_bytes));
    }
    /// Returns the bytes of the input and the output of one image.
    [[nodiscard]] static double image_bytes(ConvShape const& shape) {
        return sizeof(float) * static_cast<double>(shape.in_shape().size() + shape.out_shape().size());
    }
    /// Returns how many seconds longer `bytes` take from the level of memory that holds `from` bytes than from that of
    /// `than` bytes.
    [[nodiscard]] static double longer(Machine const& machine, double bytes, double from, double than) {
        return std::max(bytes / machine.bandwidth_for(from) - bytes / machine.bandwidth_for(than), 0.0);
    }
    /// Returns the bandwidth, in bytes a second, at which a layer reads its weights. Between two runs of the layer the
    /// other layers evict its weights from every cache that is smaller than their reuse distance. Without a reuse
    /// distance, weights come from memory.
    [[nodiscard]] static double bandwidth_of_weights(Machine const& machine, double run_bytes, double run_operations) {
        if (!(run_bytes > 0)) return machine.bandwidth.back();
        return machine.bandwidth_after(run_operations / machine.matmul_flops, run_bytes);
    }
    [[nodiscard]] static ConvTerms terms(Machine const& whole, Kernels const& kernels, ConvQuery const& query) {
        const Machine machine = whole.share_of(query.run.apart);
        auto const& primitive = kernels.primitives[query.primitive];
        const bool as_one = primitive.whole_batch && query.run.batch > 1;
        const std::size_t packed = primitive.packed_bytes(query.shape);
        const Work work = primitive.work(query.shape, as_one ? query.run.batch : 1, query.run.threads);
        const Machine all_threads = machine.on_threads(query.run.threads);
        const double kernel = 4.0 * static_cast<double>(query.shape.kernel_size()), to = static_cast<double>(packed);
        ConvTerms result =
            query.run.layer_by_layer
                ? together(machine, work, packed, query.shape, query.run.batch, primitive.whole_batch,
                           query.run.data_reuse_bytes, query.run.threads)
                : terms(machine, work, packed, query.shape, as_one ? 1 : query.run.batch, query.run.weight_reuse_bytes,
                        query.run.weight_reuse_operations, query.run.threads);
        if (!query.run.layer_by_layer) {
            const double image = image_bytes(query.shape);
            result.besides += longer(all_threads, query.run.batch * image, query.run.data_reuse_bytes, image);
        }
        // The gradient of the weights is written to memory, where the update reads it.
        if (query.run.layer_by_layer && primitive.pass == Pass::weight_gradient)
            result.besides += kernel / all_threads.bandwidth.back();
        if (query.run.packs) {
            result.besides += kernel / all_threads.bandwidth.back() +
                              packing * kernel / sizeof(float) / all_threads.vector_flops +
                              to / all_threads.bandwidth_for(to);
        }
        return result;
    }

    /// Seconds to call a kernel and start its loops. The value is a choice of the right order of magnitude. The
    /// coefficients of calls (cost/pretrained/convs.hpp) multiply it. Between 0 and 5 microseconds the regret on the
    /// profiles changes by less than 2e-4 (test/cost/pretrained.cpp).
    static constexpr double overhead = 1e-6;
    /// Vector operations for each weight that a step of training packs. Fitted to the times of steps of six networks on
    /// a Zen 4 with AVX-512; `build/release/bin/bench_primitive_packing` times the packing alone.
    static constexpr double packing = 17;

    [[nodiscard]] Machine const& machine_of(Kernels const& kernels, int threads) const {
        if (machine_) return *machine_;
        if (kernels.machine == nullptr)
            fail("analytical: these kernels have no machine, which make_kernels gives them");
        return kernels.machine(threads);
    }
    [[nodiscard]] static double phase_seconds(Machine const& machine, Phase const& phase) {
        return std::max(phase.operations / flops(machine, phase),
                        phase.bytes / machine.bandwidth_for(phase.working_set));
    }
    [[nodiscard]] static double flops(Machine const& machine, Phase const& phase) {
        switch (phase.rate) {
            case Rate::gemm:
                return machine.matmul_flops;
            case Rate::bf16:
                return machine.bf16_flops > 0 ? machine.bf16_flops : machine.matmul_flops / 4;
            case Rate::int8:
                return machine.int8_flops > 0 ? machine.int8_flops : machine.matmul_flops / 4;
            case Rate::registers:
                // Winograd's transforms reach half of the FMA peak: they do one operation where a multiply-add does
                // two. Among the shares 0.3 to 0.8, 0.5 has the least regret
                // (bench/results/2026-11-28-cost-coefficients.md).
                return 0.5 * (phase.narrow > 1 ? 2 / phase.narrow * machine.half_flops : machine.fma_flops);
            case Rate::vector:
                return machine.vector_flops;
            case Rate::scalar:
                break;
        }
        return machine.scalar_flops;
    }

    std::optional<Machine> machine_;
};

}  // namespace primsel::inline PRIMSEL_ABI
