#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/gather.hpp>
#include <primsel/op/grid_sample.hpp>
#include <primsel/op/op.hpp>
#include <primsel/op/roi_align.hpp>
#include <primsel/op/scatter.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// Adds dy to what each place read or changed; threads share no element.
template <>
struct Op<PlacedGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(PlacedGradientParams const& params, std::span<const Shape> inputs,
                                       Shape output) {
        // The operations of each element of dy.
        double each = 1;
        if (const auto* sample = std::get_if<GridSampleParams>(&params.layer.params)) {
            each = 2.0 * Op<GridSampleParams>::taps_of(*sample) + 60.0 / std::max(1, params.image.c);
        } else if (const auto* align = std::get_if<RoiAlignParams>(&params.layer.params)) {
            // A sample's place is found anew for each channel.
            Shape channel = params.image;
            channel.c = align->images;
            OpCounts forward = Op<RoiAlignParams>::work<Arch, L>(
                *align, std::array{channel, inputs[inputs.size() - 3], inputs[inputs.size() - 2]}, inputs.back());
            forward.scalars += forward.operations;
            forward.operations = 0;
            forward.bytes += 4 * static_cast<double>(output.size());
            return forward;
        }
        OpCounts counts{.scalars = each * static_cast<double>(inputs.back().size()),
                        .rows = op::image_rows<L>(inputs, output),
                        .bytes = sizeof(float) * static_cast<double>(output.size())};
        for (Shape const& input : inputs) counts.bytes += sizeof(float) * static_cast<double>(input.size());
        if (std::holds_alternative<GatherParams>(params.layer.params)) std::swap(counts.operations, counts.scalars);
        return counts;
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(PlacedGradientParams const& params, std::span<const Shape>,
                                                    std::size_t workers) {
        if (std::holds_alternative<ScatterParams>(params.layer.params)) {
            return params.of == 0 && !params.reads_image() ? 0 : 2 * workers * strip_floats(params.image);
        }
        const auto* align = std::get_if<RoiAlignParams>(&params.layer.params);
        return align == nullptr ? 0 : workers * Op<RoiAlignParams>::worker_floats(*align, params.image);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(PlacedGradientParams const& params, OpArgs const& args) noexcept {
        core::visit([&](auto const& layer) { run(layer, params, args); }, params.layer.params);
    }

private:
    [[nodiscard]] static std::size_t size_of(int extent) { return static_cast<std::size_t>(extent); }

    /// Each channel is computed alone: rows of dy, or single elements, are added to zeros.
    static void run(GatherParams const& gather, PlacedGradientParams const& params, OpArgs const& args) noexcept {
        const auto c = size_of(params.image.c), h = size_of(params.image.h), w = size_of(params.image.w),
                   n = size_of(args.src_shape[1].h);
        op::detail::for_ranges(
            args.executor, size_of(args.batch) * c, (h + n) * w,
            [=, &gather, indices = args.src[0], dy = args.src[1], dx = args.dst](std::size_t first, std::size_t last) {
                for (std::size_t channel = first; channel < last; ++channel) {
                    const float *const from = dy + channel * n * w, *const at =
                                                                        indices + (gather.elements ? channel * n * w
                                                                                                   : channel / c * n);
                    float* const to = dx + channel * h * w;
                    std::fill_n(to, h * w, 0.0F);
                    // The number of elements that an index moves.
                    const std::size_t each = gather.elements ? 1 : w;
                    for (std::size_t i = 0; i < n * w; i += each) {
                        const std::size_t row = op::detail::gathered_row(gather, at[i / each], h);
                        if (row < h) {
                            Op<ScatterParams>::change(ScatterKind::add, each, from + i, to + row * w + i % w);
                        }
                    }
                }
            });
    }

    [[nodiscard]] static std::size_t strip_floats(Shape image) {
        return round_up_floats(size_of(image.c) * std::min(Op<ScatterParams>::strip, image.pixels()));
    }
    /// Strips of columns. The gradient of a change is found from the last change to the first, for what later ones
    /// leave of dy.
    static void run(ScatterParams const& scatter, PlacedGradientParams const& params, OpArgs const& args) noexcept {
        constexpr std::size_t strip = Op<ScatterParams>::strip;
        const Shape shape = params.image;
        const bool reads = params.reads_image(), of_changes = params.of == 2;
        const std::size_t c = size_of(shape.c), inner = shape.pixels(), strips = Op<ScatterParams>::strips_of(shape);
        const float *const indices = args.src[reads ? 1 : 0], *const by = args.src[reads ? 2 : 1],
                           *const dy = args.src[reads ? 3 : 2];
        const std::size_t n = args.src_shape[reads ? 1 : 0].size();
        op::detail::for_ranges(
            args.executor, size_of(args.batch) * strips, std::min(inner, strip) * (c + n),
            [=, &args](std::size_t first, std::size_t last, std::size_t worker) {
                float* const room = of_changes || reads ? args.scratch + 2 * worker * strip_floats(shape) : nullptr;
                for (std::size_t item = first; item < last; ++item) {
                    const std::size_t image = item / strips, begin = item % strips * strip,
                                      columns = std::min(strip, inner - begin);
                    // The gradient that is left, and the values before a change.
                    float *left = room, *values = reads ? room + strip_floats(shape) : nullptr;
                    std::size_t apart = columns;
                    if (!of_changes) left = args.dst + image * c * inner + begin, apart = inner;
                    for (std::size_t i = 0; i < c; ++i) {
                        const std::size_t at = (image * c + i) * inner + begin;
                        std::copy_n(dy + at, columns, left + i * apart);
                        if (reads) std::copy_n(args.src[0] + at, columns, values + i * columns);
                    }
                    const auto each = [&](std::size_t i, auto const& use) {
                        const float at = indices[image * n + i];
                        const std::size_t place = (image * n + i) * inner + begin;
                        float* const gradient = of_changes ? args.dst + place : nullptr;
                        if (!(at > -1.0F && at < static_cast<float>(c))) {
                            if (of_changes) std::fill_n(gradient, columns, 0.0F);
                            return;
                        }
                        const auto channel = static_cast<std::size_t>(at);
                        use(by + place, gradient, left + channel * apart, reads ? values + channel * columns : nullptr);
                    };
                    if (reads) {
                        for (std::size_t i = 0; i < n; ++i) {
                            each(i, [&](const float* change, float* gradient, float* rest, float* value) {
                                if (of_changes) std::copy_n(value, columns, gradient);
                                if (!of_changes) pass(scatter.kind, columns, change, value, rest);
                                Op<ScatterParams>::change(scatter.kind, columns, change, value);
                            });
                        }
                    }
                    if (!of_changes && reads) continue;
                    for (std::size_t i = n; i-- > 0;) {
                        each(i, [&](const float* change, float* gradient, float* rest, float*) {
                            if (!of_changes) return pass(scatter.kind, columns, change, change, rest);
                            for (std::size_t x = 0; x < columns; ++x) {
                                const float before = reads ? gradient[x] : 0.0F;
                                gradient[x] = scatter.kind == ScatterKind::multiply    ? rest[x] * before
                                              : takes(scatter.kind, change[x], before) ? rest[x]
                                                                                       : 0.0F;
                                leave(scatter.kind, change[x], before, rest[x]);
                            }
                        });
                    }
                }
            });
    }
    /// Whether a change's value, or a sum with it, takes the place of the one before.
    [[nodiscard]] static bool takes(ScatterKind kind, float change, float before) noexcept {
        if (kind == ScatterKind::maximum) return change > before || is_nan(change);
        return kind != ScatterKind::minimum || change < before || is_nan(change);
    }
    /// Makes the gradient after a change that before it.
    static void leave(ScatterKind kind, float change, float before, float& rest) noexcept {
        if (kind == ScatterKind::multiply) {
            rest *= change;
        } else if (kind != ScatterKind::add && takes(kind, change, before)) {
            rest = 0;
        }
    }
    static void pass(ScatterKind kind, std::size_t count, const float* change, const float* before,
                     float* rest) noexcept {
        for (std::size_t x = 0; x < count; ++x) leave(kind, change[x], before[x], rest[x]);
    }

    static void run(GridSampleParams const& sample, PlacedGradientParams const& params, OpArgs const& args) noexcept {
        using Forward = Op<GridSampleParams>;
        const bool of_places = params.of == 1;
        const Shape in = params.image, grid = args.src_shape[of_places ? 1 : 0], out = args.src_shape.back();
        const float *const places = args.src[of_places ? 1 : 0], *const dy = args.src.back();
        const std::size_t count = out.pixels(), pixels = in.pixels(), axes = size_of(grid.w),
                          groups = size_of(sample.groups), channels = size_of(in.c) / groups;
        const int height = sample.depth > 0 ? in.h / sample.depth : in.h;
        const int sizes[] = {in.w, height, sample.depth};
        args.executor.parallel_for(size_of(args.batch) * groups, [&](std::size_t group, std::size_t) {
            const float* const gradient = dy + group * channels * count;
            float* const image = of_places ? nullptr : args.dst + group * channels * pixels;
            if (!of_places) std::fill_n(image, channels * pixels, 0.0F);
            for (std::size_t place = 0; place < count; ++place) {
                const float* const at = places + (group * count + place) * axes;
                typename Forward::Taps taps[3]{{1, {0}, {1.0F}}, {1, {0}, {1.0F}}, {1, {0}, {1.0F}}};
                float slopes[3][4]{};
                for (std::size_t axis = 0; axis < axes; ++axis) {
                    taps[axis] = Forward::taps_at(sample, at[axis], sizes[axis], slopes[axis]);
                }
                float sums[3]{};
                for (int k = 0; k < taps[2].count; ++k) {
                    for (int j = 0; j < taps[1].count; ++j) {
                        for (int i = 0; i < taps[0].count; ++i) {
                            const int pixel = (taps[2].at[k] * height + taps[1].at[j]) * in.w + taps[0].at[i];
                            const float z = taps[2].weight[k], y = taps[1].weight[j], x = taps[0].weight[i];
                            const auto offset = static_cast<std::size_t>(pixel);
                            if (!of_places) {
                                const float weight = z * y * x;
                                if (weight == 0.0F) continue;
                                for (std::size_t c = 0; c < channels; ++c) {
                                    image[c * pixels + offset] += weight * gradient[c * count + place];
                                }
                                continue;
                            }
                            const float of_x = z * y * slopes[0][i], of_y = z * slopes[1][j] * x,
                                        of_z = slopes[2][k] * y * x;
                            if (of_x == 0.0F && of_y == 0.0F && of_z == 0.0F) continue;
                            float sum = 0;
                            const float* const from = args.src[0] + group * channels * pixels + offset;
                            for (std::size_t c = 0; c < channels; ++c) {
                                sum += from[c * pixels] * gradient[c * count + place];
                            }
                            sums[0] += of_x * sum, sums[1] += of_y * sum, sums[2] += of_z * sum;
                        }
                    }
                }
                if (of_places) std::copy_n(sums, axes, args.dst + (group * count + place) * axes);
            }
        });
    }

    /// Some channels of an image at a time, box by box.
    static void run(RoiAlignParams const& align, PlacedGradientParams const& params, OpArgs const& args) noexcept {
        using Forward = Op<RoiAlignParams>;
        const Shape in = params.image, out = args.src_shape.back();
        const std::size_t read = args.src.size() - 3, boxes = size_of(args.src_shape[read].h), pixels = in.pixels(),
                          channels = size_of(in.c / align.images), bins = out.pixels(), together = Forward::together,
                          groups = (channels + together - 1) / together;
        op::detail::for_ranges(
            args.executor, size_of(args.batch) * size_of(align.images) * groups, together * (pixels + boxes * bins),
            [=, &align, &args](std::size_t begin, std::size_t end, std::size_t worker) {
                for (std::size_t item = begin; item < end; ++item) {
                    const std::size_t plane = item / groups, batch = plane / size_of(align.images),
                                      image = plane % size_of(align.images), first = item % groups * together,
                                      last = std::min(first + together, channels);
                    const float* const src =
                        align.kind == PoolKind::max ? args.src[0] + plane * channels * pixels : nullptr;
                    float* const dx = args.dst + plane * channels * pixels;
                    std::fill_n(dx + first * pixels, (last - first) * pixels, 0.0F);
                    for (std::size_t box = 0; box < boxes; ++box) {
                        const float* const corners = args.src[read] + (batch * boxes + box) * 4;
                        const float of = args.src[read + 1][batch * boxes + box];
                        const typename Forward::Side across(align, corners[0], corners[2], align.size.w, in.w),
                            down(align, corners[1], corners[3], align.size.h, in.h);
                        const bool known = of >= 0 && of < static_cast<float>(align.images);
                        if (!known || static_cast<std::size_t>(of) != image || !across.is_known || !down.is_known) {
                            continue;
                        }
                        const float* const dy = args.src.back() + (batch * boxes + box) * channels * bins;
                        if (align.kind == PoolKind::max) {
                            for (std::size_t c = first; c < last; ++c) {
                                give_largest(down, across, src + c * pixels, dy + c * bins, dx + c * pixels);
                            }
                            continue;
                        }
                        float* const room = args.scratch + worker * Forward::worker_floats(align, in);
                        const typename Forward::Weights rows(down, room),
                            columns(across, room + size_of(down.bins) * (size_of(in.h) + 2));
                        for (std::size_t c = first; c < last; ++c) {
                            spread(rows, columns, dy + c * bins, dx + c * pixels);
                        }
                    }
                }
            });
    }
    static void spread(auto const& rows, auto const& columns, const float* dy, float* dx) noexcept {
        for (int y = 0; y < rows.bins; ++y) {
            for (int x = 0; x < columns.bins; ++x, ++dy) {
                for (int row = rows.range[2 * y]; row < rows.range[2 * y + 1]; ++row) {
                    const float part = *dy * rows[y][row];
                    float* const to = dx + size_of(row) * size_of(columns.pixels);
                    for (int i = columns.range[2 * x]; i < columns.range[2 * x + 1]; ++i) to[i] += part * columns[x][i];
                }
            }
        }
    }
    /// Gives dy of each bin to the pixel whose weighted value it is, times its weight.
    static void give_largest(auto const& down, auto const& across, const float* src, const float* dy,
                             float* dx) noexcept {
        using Pair = typename Op<RoiAlignParams>::Pair;
        const std::size_t width = size_of(across.pixels);
        for (int y = 0; y < down.bins; ++y) {
            for (int x = 0; x < across.bins; ++x, ++dy) {
                float most = 0, its_weight = 0;
                std::size_t its_pixel = 0;
                bool any = false;
                const auto consider = [&](std::size_t pixel, float weight, float value) {
                    if (any && !(value > most)) return;
                    any = true, most = value, its_weight = weight, its_pixel = pixel;
                };
                const bool some_down = down.each(y, [&](double at_y) {
                    const Pair rows(at_y, down.pixels);
                    const bool some = across.each(x, [&](double at_x) {
                        const Pair columns(at_x, across.pixels);
                        for (const bool below : {false, true}) {
                            for (const bool right : {false, true}) {
                                const std::size_t pixel =
                                    (below ? rows.high : rows.low) * width + (right ? columns.high : columns.low);
                                const float weight =
                                    (below ? rows.share : 1 - rows.share) * (right ? columns.share : 1 - columns.share);
                                consider(pixel, weight, weight * src[pixel]);
                            }
                        }
                    });
                    if (some) consider(0, 0, 0);
                });
                if (some_down && across.samples > 0) consider(0, 0, 0);
                if (its_weight != 0.0F) dx[its_pixel] += its_weight * *dy;
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
