// Images as bytes, which become a network's floats as its first convolution reads them.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/engine/detail/make_strips.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/engine/step.hpp>
#include <primsel/engine/strips.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/plan/strips.hpp>
#include <primsel/primitive/rows_of.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The order of an image's bytes: pixel by pixel, as libraries that read pictures give them, or channel by channel.
enum class PixelOrder { hwc, chw };

/// How bytes of 0 to 255 become a network's floats: (byte * scale - mean) / deviation. mean and deviation have one
/// number for all channels, or one for each.
struct PixelOptions {
    std::vector<float> mean{0}, deviation{1};
    float scale = 1.0F / 255;
    PixelOrder order = PixelOrder::hwc;
};

namespace engine::detail {

/// A float for each byte: byte * factor + term of its channel, by one fused multiply-add where the hardware has it.
class PixelValues {
public:
    /// Throws error where there are not as many numbers as channels, or one is not finite or divides by 0.
    PixelValues(PixelOptions const& options, int channels) : channels_(static_cast<std::size_t>(channels)) {
        const std::size_t count = channels_;
        if (count > part_bytes) fail("pixels: images of ", channels, " channels; at most ", part_bytes);
        for (auto const& [name, numbers] : {std::pair<const char*, std::vector<float> const&>{"mean", options.mean},
                                            {"deviation", options.deviation}}) {
            if (numbers.size() != 1 && numbers.size() != count) {
                fail("pixels: ", name, ": ", numbers.size(), " numbers for images of ", channels, " channels");
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            const float mean = options.mean.size() == 1 ? options.mean[0] : options.mean[i],
                        deviation = options.deviation.size() == 1 ? options.deviation[0] : options.deviation[i];
            const auto factor = static_cast<float>(static_cast<double>(options.scale) / deviation),
                       term = static_cast<float>(-static_cast<double>(mean) / deviation);
            if (!(deviation > 0) || !is_finite(factor) || !is_finite(term)) {
                fail("pixels: channel ", i, ": mean ", mean, ", deviation ", deviation, ", scale ", options.scale);
            }
            factors_.push_back(factor), terms_.push_back(term);
        }
        // As neighbours in hwc: the lanes of `channels` vectors.
        for (std::size_t i = count; i < count * width; ++i) {
            factors_.push_back(factors_[i - count]), terms_.push_back(terms_[i - count]);
        }
    }

    /// n pixels in hwc, as bytes in hwc.
    void to_hwc(const std::uint8_t* src, std::size_t n, float* dst) const noexcept {
        const std::size_t elements = n * channels_, period = factors_.size();
        std::size_t i = 0, at = 0;
        for (; i + width <= elements; i += width) {
            const auto factor = load<Arch>(factors_.data() + at), term = load<Arch>(terms_.data() + at);
            store<Arch>(dst + i, fma<Arch>(load_bytes<Arch>(src + i), factor, term));
            at = at + width == period ? 0 : at + width;
        }
        if (i == elements) return;
        last(src + i, elements - i, load<Arch>(factors_.data() + at), load<Arch>(terms_.data() + at), dst + i);
    }
    /// n pixels in hwc, whose bytes are in chw with src_plane bytes from channel to channel.
    void to_hwc(const std::uint8_t* src, std::size_t src_plane, std::size_t n, float* dst) const noexcept {
        in_parts(n, [&](std::size_t first, std::size_t count, std::uint8_t* part) {
            for (std::size_t c = 0; c < channels_; ++c) {
                const std::uint8_t* const from = src + c * src_plane + first;
                for (std::size_t i = 0; i < count; ++i) part[i * channels_ + c] = from[i];
            }
            to_hwc(part, count, dst + first * channels_);
        });
    }
    /// n pixels in chw, as bytes in chw, each with its elements from channel to channel.
    void to_chw(const std::uint8_t* src, std::size_t src_plane, std::size_t n, float* dst,
                std::size_t dst_plane) const noexcept {
        for (std::size_t c = 0; c < channels_; ++c) channel(c, src + c * src_plane, n, dst + c * dst_plane);
    }
    /// n pixels in chw, whose bytes are in hwc.
    void to_chw(const std::uint8_t* src, std::size_t n, float* dst, std::size_t dst_plane) const noexcept {
        in_parts(n, [&](std::size_t first, std::size_t count, std::uint8_t* part) {
            const std::uint8_t* const from = src + first * channels_;
            if (channels_ == 3) {
                separate<3>(from, count, part);
            } else {
                for (std::size_t c = 0; c < channels_; ++c) {
                    for (std::size_t i = 0; i < count; ++i) part[c * count + i] = from[i * channels_ + c];
                }
            }
            to_chw(part, count, count, dst + first, dst_plane);
        });
    }

private:
    using Arch = default_arch;
    static constexpr std::size_t width = lanes<Arch>;

    static constexpr std::size_t part_bytes = 4096;

    /// Calls convert(first, count, part) for parts of n pixels, whose bytes have room in `part`.
    template <class Convert>
    void in_parts(std::size_t n, Convert const& convert) const noexcept {
        std::uint8_t part[part_bytes];
        const std::size_t most = part_bytes / channels_;
        for (std::size_t first = 0; first < n; first += most) convert(first, std::min(most, n - first), part);
    }
    /// The bytes of each channel beside each other. Compilers vectorise it for a constant number of channels.
    template <std::size_t channels>
    static void separate(const std::uint8_t* PRIMSEL_RESTRICT src, std::size_t n,
                         std::uint8_t* PRIMSEL_RESTRICT dst) noexcept {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t c = 0; c < channels; ++c) dst[c * n + i] = src[i * channels + c];
        }
    }
    void channel(std::size_t c, const std::uint8_t* src, std::size_t n, float* dst) const noexcept {
        const auto factor = broadcast<Arch>(factors_[c]), term = broadcast<Arch>(terms_[c]);
        std::size_t i = 0;
        for (; i + width <= n; i += width) store<Arch>(dst + i, fma<Arch>(load_bytes<Arch>(src + i), factor, term));
        if (i < n) last(src + i, n - i, factor, term, dst + i);
    }
    static void last(const std::uint8_t* src, std::size_t n, Floats<Arch> const& factor, Floats<Arch> const& term,
                     float* dst) noexcept {
        std::uint8_t some[width]{};
        std::copy_n(src, n, some);
        FirstLanes<Arch>(static_cast<int>(n)).store(dst, fma<Arch>(load_bytes<Arch>(some), factor, term));
    }

    std::size_t channels_;
    std::vector<float> factors_, terms_;
};

}  // namespace engine::detail

/// Images as bytes, for one engine of one input: `engine.run(pixels, bytes, scores)` gives the same bits as run() on
/// the floats that floats() makes of the bytes. No pass of its own makes these floats where the first convolution can
/// compute some rows at a time: these become floats in a buffer within the cache as it reads them. Elsewhere,
/// they replace the change of layout before the first layer, if there is one.
class Pixels {
public:
    /// Throws error where the engine has not one input, or for numbers that do not fit its channels.
    template <class Net, class Policies>
    explicit Pixels(Engine<Net, Policies> const& engine, PixelOptions const& options = {})
        : Pixels(engine.graph(), Engine<Net, Policies>::kernels(), engine.plan(), engine.program(), engine.workers(),
                 options) {}
    /// For a program that is run by so many workers.
    Pixels(Graph const& graph, Kernels const& kernels, Plan const& plan, Program const& program, std::size_t workers,
           PixelOptions const& options = {})
        : shape_(graph[graph.input()].shape),
          batch_(static_cast<std::size_t>(graph.batch())),
          order_(options.order),
          values_(options, shape_.c) {
        const std::string_view images = kernels.layouts[0].name;
        if (images != chw::name && images != hwc::name) {
            fail("pixels: the engine's images are in ", images, "; bytes become images in chw or hwc");
        }
        hwc_images_ = images == hwc::name;
        const auto row = static_cast<std::size_t>(shape_.w) * static_cast<std::size_t>(shape_.c);
        rows_ = static_cast<int>(std::clamp<std::size_t>(l2_floats / 16 / row, 1, static_cast<std::size_t>(shape_.h)));
        plan_steps(graph, plan, program, workers);
        if (strips_) {
            worker_floats_ = round_up_floats(static_cast<std::size_t>(engine::detail::image_rows(*strips_)) * row);
            room_ = AlignedBuffer(workers * worker_floats_);
            strip_room_ = AlignedBuffer(strips_->bytes(workers) / sizeof(float));
        }
        if (steps_ == 0) whole_ = AlignedBuffer(batch_ * shape_.size());
    }

    /// Bytes of all images of a batch.
    [[nodiscard]] std::size_t size() const { return batch_ * shape_.size(); }
    /// The floats of a batch of images, in the engine's layout of images.
    void floats(const std::uint8_t* bytes, float* dst, ExecutorRef executor) const noexcept {
        for (std::size_t image = 0; image < batch_; ++image) {
            image_floats(bytes + image * shape_.size(), hwc_images_, dst + image * shape_.size(), executor);
        }
    }
    [[nodiscard]] std::vector<float> floats(std::span<const std::uint8_t> bytes) const {
        if (bytes.size() != size()) fail("pixels: ", bytes.size(), " bytes; the images have ", size());
        std::vector<float> result(size());
        Sequential here;
        floats(bytes.data(), result.data(), here);
        return result;
    }

    /// Runs the program it was made for. bytes: size() of them. Allocates nothing.
    void run(Program& program, const std::uint8_t* bytes, std::span<float* const> dsts, ExecutorRef executor) noexcept {
        if (steps_ == 0) {
            floats(bytes, whole_.data(), executor);
            const float* const src = whole_.data();
            return program.run(std::span(&src, 1), dsts, executor);
        }
        const auto begin = [&](std::size_t image, float* dst, ExecutorRef on) {
            const std::uint8_t* const src = bytes + image * shape_.size();
            if (!strips_) return image_floats(src, true, dst, on);
            const auto rows_from = [&](Rows rows, std::size_t worker) {
                float* const made = room_.data() + worker * worker_floats_;
                row_floats(src, rows, reads_hwc_, made, static_cast<std::size_t>(rows.count() * shape_.w));
                return static_cast<const float*>(made);
            };
            strips_->run_on(rows_from, dst, stride_, strip_room_.data(), on);
        };
        program.run_after(steps_, begin, dsts, executor);
    }

    /// Whether the first convolution makes its floats of the bytes.
    [[nodiscard]] bool fused() const { return strips_.has_value(); }

private:
    /// Finds the steps that read the image, if they can be replaced: a change of its layout to hwc, a convolution by
    /// rows of hwc, or both.
    void plan_steps(Graph const& graph, Plan const& plan, Program const& program, std::size_t workers) {
        const auto readers = [&](std::size_t tensor) {
            std::size_t count = 0;
            for (std::size_t i = 0; i < program.ordered_steps(); ++i) count += reads(program.ordered_step(i), tensor);
            return count;
        };
        ScheduledStep const& first = program.ordered_step(0);
        const bool is_read =
            readers(0) == 1 && !first.src.empty() && first.src[0] == 0 && first.src_shapes[0] == shape_;
        if (!is_read) return;
        std::size_t at = 0;
        if (first.is<TransformStep>()) {
            if (program.ordered_steps() < 2 || readers(first.dst) != 1 || !reads(program.ordered_step(1), first.dst)) {
                return;
            }
            at = 1;
        }
        ScheduledStep const& reader = program.ordered_step(at);
        std::string_view const in_layout = plan.layers[reads_as(reader)].in_layout;
        reads_hwc_ = in_layout == hwc::name;
        const bool reads_rows =
            (reads_hwc_ ? at == 1 || hwc_images_ : in_layout == chw::name && at == 0 && !hwc_images_);
        if (!reads_rows || reader.src_shapes[0] != shape_) return;
        if (joins(graph, reader) && program.may_begin_after(at + 1)) {
            const auto* conv = std::get_if<ConvStep>(&reader.work);
            const int rows = conv != nullptr ? rows_of_strip(conv->conv.shape, workers)
                                             : std::get_if<StripsStep>(&reader.work)->rows;
            strips_ = program.strips_of(at, rows);
            stride_ = reader.written().stride;
            steps_ = at + 1;
        } else if (at == 1 && program.may_begin_after(1)) {
            steps_ = 1;
        }
    }
    /// How often a step reads a tensor.
    [[nodiscard]] static std::size_t reads(ScheduledStep const& step, std::size_t tensor) {
        auto count = static_cast<std::size_t>(std::ranges::count(step.src, tensor)) + (step.residual() == tensor);
        if (const auto* strips = std::get_if<StripsStep>(&step.work)) {
            for (ScheduledConv const& conv : strips->convs) count += conv.residual == tensor;
        }
        return count;
    }
    /// The node as which a step reads its image.
    [[nodiscard]] static std::size_t reads_as(ScheduledStep const& step) {
        const auto* strips = std::get_if<StripsStep>(&step.work);
        return strips == nullptr ? step.node : strips->convs.front().node;
    }
    /// Whether a step can be computed in strips that read rows of the image as they are made.
    [[nodiscard]] static bool joins(Graph const& graph, ScheduledStep const& step) {
        const auto alone = [](ScheduledConv const& conv) { return conv.residual == no_tensor; };
        if (const auto* strips = std::get_if<StripsStep>(&step.work)) return std::ranges::all_of(strips->convs, alone);
        const auto* conv = std::get_if<ConvStep>(&step.work);
        if (conv == nullptr || conv->packed != no_tensor || step.src.size() != 1) return false;
        PrimitiveEntry const& primitive = *conv->conv.primitive;
        return joins_strips(graph, step.node) && primitive.by_rows && primitive.fuses_epilogue &&
               primitive.precision != Precision::int8 && alone(conv->conv);
    }
    /// As many rows of the result as are made of about rows_ of the image, and fewer where each worker has some.
    [[nodiscard]] int rows_of_strip(ConvShape const& shape, std::size_t workers) const {
        const int most = (rows_ - shape.span_h()) / shape.stride_h + 1, shares = static_cast<int>(3 * workers),
                  share = workers == 1 ? shape.out_h() : (shape.out_h() + shares - 1) / shares;
        return std::clamp(std::min(most, share), 1, shape.out_h());
    }

    /// Rows of an image in hwc, or in chw with so many floats from channel to channel.
    void row_floats(const std::uint8_t* src, Rows rows, bool hwc, float* dst, std::size_t dst_plane) const noexcept {
        const auto w = static_cast<std::size_t>(shape_.w), begin = static_cast<std::size_t>(rows.begin) * w,
                   n = static_cast<std::size_t>(rows.count()) * w;
        if (order_ == PixelOrder::hwc) {
            const std::uint8_t* const from = src + begin * static_cast<std::size_t>(shape_.c);
            hwc ? values_.to_hwc(from, n, dst) : values_.to_chw(from, n, dst, dst_plane);
        } else {
            const std::size_t plane = shape_.pixels();
            hwc ? values_.to_hwc(src + begin, plane, n, dst) : values_.to_chw(src + begin, plane, n, dst, dst_plane);
        }
    }
    /// A whole image, some rows at a time.
    void image_floats(const std::uint8_t* src, bool hwc, float* dst, ExecutorRef executor) const noexcept {
        const int parts = (shape_.h + rows_ - 1) / rows_;
        executor.parallel_for(static_cast<std::size_t>(parts), [=, this](std::size_t part, std::size_t) {
            const int begin = static_cast<int>(part) * rows_;
            const std::size_t pixel = static_cast<std::size_t>(begin) * static_cast<std::size_t>(shape_.w);
            row_floats(src, {begin, std::min(begin + rows_, shape_.h)}, hwc,
                       dst + (hwc ? pixel * static_cast<std::size_t>(shape_.c) : pixel), shape_.pixels());
        });
    }

    Shape shape_;
    std::size_t batch_;
    PixelOrder order_;
    engine::detail::PixelValues values_;
    bool hwc_images_ = false, reads_hwc_ = false;  // the engine's images; the first step that is replaced
    int rows_ = 1;                                 // of the image, in each part of it
    std::size_t steps_ = 0, stride_ = 0;
    std::optional<engine::Strips> strips_;
    AlignedBuffer room_, strip_room_, whole_;
    std::size_t worker_floats_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
