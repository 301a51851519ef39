#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/flush_subnormals.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/machine/evict.hpp>
#include <primsel/machine/measure_machine.hpp>
#include <primsel/measure/detail/pinned_thread.hpp>
#include <primsel/measure/detail/quiet_timer.hpp>
#include <primsel/measure/sampler.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

struct ProfileOptions {
    /// The most runs per subject, after a warm-up. Runs end earlier once the median is known with the relative error
    /// `accuracy`.
    std::size_t runs = 25;
    double accuracy = 0.01;
    /// Seconds for one primitive and configuration, spent in two passes (see confirm).
    double seconds = 0.3;
    /// The most memory that a timed candidate may need.
    std::size_t max_bytes = std::size_t{4} << 30;
    /// The processor to run on; negative: the current one.
    int cpu = -1;
    /// Seconds spent on learning the reference's nominal time.
    double learn_seconds = 0.2;
    /// The seed of the input values and weights.
    std::uint64_t seed = 1;
    /// The number of images that a convolution is timed for. Primitives with whole_batch take all of them in one call.
    int images = 1;
};

namespace detail {

/// A buffer that only grows, and whose pages are there: what was just allocated would time the system's work.
/// Each starts so many lines behind a page, lest loads of one collide with stores to another in the low bits of their
/// addresses as only buffers that all start with a page do. They are large enough for huge pages from the start, as a
/// network's memory is: which lines of small pages collide in a cache is chance, and differs by the half.
class GrowingBuffer {
public:
    explicit GrowingBuffer(std::size_t lines) : offset_(lines * alignment / sizeof(float)) {}

    [[nodiscard]] float* of_size(std::size_t floats) {
        if (buffer_.size() < floats + offset_) {
            buffer_ = AlignedBuffer();
            buffer_ = AlignedBuffer(std::max(floats + offset_, smallest));
            std::memset(buffer_.data(), 0, buffer_.size() * sizeof(float));
        }
        return buffer_.data() + offset_;
    }

    static constexpr std::size_t smallest = std::size_t{1} << 20;

private:
    std::size_t offset_;
    AlignedBuffer buffer_;
};

/// The processor's clock: integer multiplications that wait for each other, some 10 us of them. They touch no memory
/// and, unlike wide multiply-adds, do not make a processor change its clock or wake up units for what comes after.
struct MultiplyChain {
    void operator()() const {
        std::uint64_t x = 1;
        for (int i = 0; i < 8000; ++i) {
            x = x * 6364136223846793005U + 1442695040888963407U;
            asm volatile("" : "+r"(x));
        }
    }
};

/// Everything on the calling thread, in order, and between two blocks what a timer wants to do there.
template <class Timer>
struct MeteredExecutor {
    Timer* timer;
    [[nodiscard]] std::size_t concurrency() const noexcept { return 1; }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        for (std::size_t block = 0; block < blocks; ++block) {
            function(block, 0);
            timer->between_blocks();
        }
    }
};

}  // namespace detail

/// Times primitives and changes of layout, each alone and on one thread, for datasets that cost models learn from. The
/// time of a subject is the median of up to so many runs after one to warm up; fewer once it is known well enough or
/// takes too long. Values are drawn from the standard normal distribution. As in a network, a primitive finds its input
/// in the caches as far as they hold it, and its weights in memory; bias, residual and clamp are left out.
///
/// Others on the machine disturb: a reference between the runs tells when (docs/measure/profiler.md). The thread that
/// makes a Profiler stays on one processor while that lives, and only it may use it.
template <class Arch = default_arch>
class Profiler {
public:
    /// Learns the machine's speed. Throws error for a processor that this thread may not run on.
    explicit Profiler(Kernels const& kernels, ProfileOptions const& options = {})
        : kernels_(kernels),
          options_(options),
          pinned_(options.cpu),
          timer_({.runs = std::max<std::size_t>(options.runs, 1),
                  .accuracy = options.accuracy,
                  .seconds = options.seconds / 2,
                  .patience = options.seconds / 6},
                 {}, {}),
          random_(options.seed) {
        // As fast as it is between kernels, which may make a processor lower its clock.
        timer_.learn(options.learn_seconds,
                     [] { machine::multiply_add<Arch>(15'000, std::make_index_sequence<12>{}); });
    }

    Profiler(Profiler const&) = delete;
    Profiler& operator=(Profiler const&) = delete;

    /// The columns of convolution(): the ids of the primitives.
    [[nodiscard]] std::vector<std::string> primitives() const {
        std::vector<std::string> names;
        for (PrimitiveEntry const& primitive : kernels_.primitives) names.emplace_back(primitive.id);
        return names;
    }
    /// The columns of transforms(): "chw-to-hcw" for each two layouts that differ.
    [[nodiscard]] std::vector<std::string> layout_pairs() const {
        std::vector<std::string> names;
        for_each_pair([&](std::size_t from, std::size_t to) {
            names.push_back(join(kernels_.layouts[from].name, "-to-", kernels_.layouts[to].name));
        });
        return names;
    }

    /// Seconds of each primitive for c, k, im, f, s and all of options.images: of gradients for the convolution that
    /// they belong to, of primitives that compute the result for that result. 0 for those that do not support it or
    /// need more than max_bytes. Throws std::bad_alloc.
    [[nodiscard]] std::vector<double> convolution(learn::ConvConfiguration const& configuration) {
        const ConvShape shape = configuration.shape();
        std::vector<double> seconds(kernels_.primitives.size());
        std::map<Pass, double> fastest;
        const auto best = [&](std::size_t i) -> double& {
            return fastest.try_emplace(kernels_.primitives[i].pass, std::numeric_limits<double>::infinity())
                .first->second;
        };
        for (const std::size_t i : promising_first()) {
            if (!shape.valid() || !kernels_.primitives[i].supports(shape)) continue;
            seconds[i] = time(kernels_.primitives[i], shape, best(i));
            if (seconds[i] > 0) best(i) = std::min(best(i), seconds[i]);
        }
        confirm(seconds, [&](std::size_t i) { return time(kernels_.primitives[i], shape, best(i)); });
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            if (seconds[i] > 0) slower_[i] += 0.1 * (std::log(seconds[i] / best(i)) - slower_[i]);
        }
        return seconds;
    }

    /// Seconds of each change of layout for a tensor of c x im x im. 0 where both layouts place every element alike, so
    /// that nothing need run.
    [[nodiscard]] std::vector<double> transforms(learn::TensorConfiguration const& configuration) {
        const Shape shape = configuration.shape();
        std::vector<std::array<std::size_t, 2>> pairs;
        std::vector<double> seconds;
        for_each_pair([&](std::size_t from, std::size_t to) {
            pairs.push_back({from, to});
            seconds.push_back(time(shape, from, to));
        });
        confirm(seconds, [&](std::size_t i) { return time(shape, pairs[i][0], pairs[i][1]); });
        return seconds;
    }

    /// Seconds of one primitive, which must support the shape; 0 for what needs more than max_bytes.
    /// Throws std::bad_alloc.
    [[nodiscard]] double convolution(ConvShape const& shape, std::size_t primitive) {
        return time(kernels_.primitives[primitive], shape, std::numeric_limits<double>::infinity());
    }
    /// Seconds of one change of layout; 0 where nothing need run.
    [[nodiscard]] double transform(Shape shape, std::size_t from, std::size_t to) { return time(shape, from, to); }

    /// The number of runs so far, without those to warm up.
    [[nodiscard]] std::size_t runs() const { return timer_.runs(); }
    /// The share of them at about the nominal speed and without interruption.
    [[nodiscard]] double quiet_share() const {
        return timer_.runs() == 0 ? 1 : static_cast<double>(timer_.quiet_runs()) / static_cast<double>(timer_.runs());
    }
    /// Seconds that the reference takes at the speed that times are for.
    [[nodiscard]] double nominal() const { return timer_.nominal(); }
    /// Sets the reference's nominal seconds, so that a continued profile has all times for one speed.
    void set_nominal(double seconds) { timer_.set_nominal(seconds); }

private:
    template <class Use>
    void for_each_pair(Use const& use) const {
        for (std::size_t from = 0; from < kernels_.layouts.size(); ++from) {
            for (std::size_t to = 0; to < kernels_.layouts.size(); ++to) {
                if (from != to) use(from, to);
            }
        }
    }

    /// Times all again that took short, some time after they were first timed: a neighbour may have used the caches all
    /// through a few milliseconds. The mean where both times agree; otherwise the median of three.
    template <class Time>
    void confirm(std::vector<double>& seconds, Time const& time) const {
        constexpr double agreement = 0.02;
        std::vector<double> again(seconds.size());
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            if (seconds[i] > 0 && seconds[i] < options_.seconds / 6) again[i] = time(i);
        }
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            if (again[i] == 0) continue;
            const bool agree = std::abs(again[i] - seconds[i]) <= agreement * seconds[i];
            seconds[i] = agree ? (seconds[i] + again[i]) / 2 : median({seconds[i], again[i], time(i)});
        }
    }

    /// Positions of primitives, those first that were fast so far: what is hopeless shows beside them.
    [[nodiscard]] std::vector<std::size_t> promising_first() {
        slower_.resize(kernels_.primitives.size());
        std::vector<std::size_t> order(slower_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return slower_[i]; });
        return order;
    }

    /// Standard normal values. Drawing many would take longer than timing: they repeat.
    [[nodiscard]] const float* normal(std::size_t floats) {
        if (normal_.size() >= floats) return normal_.data();
        constexpr std::size_t drawn = std::size_t{1} << 18;
        if (normal_.size() == 0) {
            normal_ = AlignedBuffer(drawn);
            std::normal_distribution<float> distribution;
            for (float& value : normal_.span()) value = distribution(random_);
        }
        AlignedBuffer more(std::max(floats, detail::GrowingBuffer::smallest));
        for (std::size_t at = 0; at < more.size(); at += drawn) {
            std::memcpy(more.data() + at, normal_.data(), std::min(drawn, more.size() - at) * sizeof(float));
        }
        normal_ = std::move(more);
        return normal_.data();
    }

    /// Floats that hold an image in a layout.
    [[nodiscard]] std::size_t image_floats(std::size_t layout, Shape shape) const {
        return floats_for_bytes(kernels_.layouts[layout].image_bytes(shape));
    }
    [[nodiscard]] double time(PrimitiveEntry const& primitive, ConvShape const& shape, double best) {
        const bool of_input = primitive.pass == Pass::input_gradient,
                   of_weights = primitive.pass == Pass::weight_gradient;
        const Shape in = of_input ? shape.out_shape() : shape.in_shape(),
                    out = of_input ? shape.in_shape() : shape.out_shape();
        const int at_once = primitive.whole_batch ? options_.images : 1;
        const auto images = static_cast<std::size_t>(options_.images);
        const std::size_t src_image = image_floats(primitive.in_layout, in),
                          dst_image = of_weights ? 0 : image_floats(primitive.out_layout, out);
        const std::size_t kernel = shape.kernel_size(),
                          packed = round_up_floats(floats_for_bytes(primitive.packed_bytes(shape))),
                          src = round_up_floats(images * src_image),
                          gradient = of_weights ? images * image_floats(primitive.in_layout, shape.out_shape()) : 0,
                          dst = of_weights ? kernel : images * dst_image,
                          scratch = floats_for_bytes(primitive.scratch_bytes(shape, 1, at_once));
        if (std::max(kernel, src + gradient) + packed + dst + scratch > options_.max_bytes / sizeof(float)) return 0;
        // Calls that count as one run have weights of their own: those of the one before would be in the caches.
        const std::size_t copies =
            packed == 0 ? most_copies : std::clamp<std::size_t>(most_copied / packed, 1, most_copies);
        const float* const values = normal(std::max(kernel, src + gradient));
        float* const weights = weights_.of_size(copies * packed);
        if (packed > 0) primitive.pack(shape, values, weights);
        for (std::size_t i = 1; i < copies; ++i) std::memcpy(weights + i * packed, weights, packed * sizeof(float));
        float* const result = dst_.of_size(dst);
        const FlushSubnormals flushing;  // as within a run
        ConvArgs args{.src = values,
                      .gradient = values + src,
                      .images = at_once,
                      .dst = result,
                      .scratch = scratch_.of_size(scratch),
                      .executor = executor_,
                      .src_range = range_,
                      .dst_range = range_,
                      .residual_range = range_};
        return timer_
            .time(
                [&](std::size_t calls) {
                    for (std::size_t i = 0; i < calls; ++i) {
                        args.weights = weights + i * packed;
                        for (int image = 0; image < options_.images; image += at_once) {
                            args.src = values + static_cast<std::size_t>(image) * src_image;
                            args.dst = result + static_cast<std::size_t>(image) * dst_image;
                            primitive.run(shape, args);
                        }
                    }
                },
                [&](std::size_t calls) { machine::evict(weights, calls * packed * sizeof(float)); }, best, copies)
            .seconds;
    }

    [[nodiscard]] double time(Shape shape, std::size_t from, std::size_t to) {
        if (kernels_.same_placement(shape, from, to)) return 0;
        const std::size_t src = image_floats(from, shape), dst = image_floats(to, shape);
        if (src + dst > options_.max_bytes / sizeof(float)) return 0;
        const float* const values = normal(src);
        float* const result = dst_.of_size(dst);
        TransformEntry const& transform = kernels_.transform(from, to);
        const FlushSubnormals flushing;
        return timer_
            .time(
                [&](std::size_t calls) {
                    for (std::size_t i = 0; i < calls; ++i) transform.run(shape, values, result, executor_, range_);
                },
                [](std::size_t) {}, std::numeric_limits<double>::infinity(), most_copies)
            .seconds;
    }

    static constexpr TensorRange range_ = range_of(-3, 3);  // of most normal values
    static constexpr std::size_t most_copies = 32;
    /// Floats of all copies of weights; what is larger takes longer than needs copies.
    static constexpr std::size_t most_copied = std::size_t{1} << 19;

    Kernels kernels_;
    ProfileOptions options_;
    detail::PinnedThread pinned_;
    using Timer = detail::QuietTimer<detail::ThreadClock, detail::MultiplyChain>;
    Timer timer_;
    detail::MeteredExecutor<Timer> executor_{&timer_};
    std::mt19937_64 random_;
    AlignedBuffer normal_;
    detail::GrowingBuffer weights_{17}, dst_{38}, scratch_{53};
    /// How much slower than the best each primitive was, as a logarithm, averaged over the last.
    std::vector<double> slower_;
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
