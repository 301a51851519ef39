#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/gemm/panel.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <cstddef>
#include <new>

namespace primsel::inline PRIMSEL_ABI {

/// Direct convolution from chw to chw on the register tile: some kernels, whose weights are broadcast, times vectors of
/// neighbouring output pixels. Images are copied with their padding, strip by strip. With a stride, columns that the
/// same tap reads are neighbours in the copy. A 1x1 convolution of stride 1 reads the image in place. Every kernel
/// writes the pixels of a strip in order, which suits layers of few input channels, whose time is that of their
/// stores.
struct DirectChw {
    static constexpr FixedString id = "direct-chw";
    static constexpr Family family = Family::direct;
    using in_layout = chw;
    using out_layout = chw;
    static constexpr bool fuses_epilogue = true;

    /// Each output is one running sum: 2.6e-5 at a depth of 8192 channels x 9.
    static constexpr double error_bound = 5e-5;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return place_floats(s) + workers * copy_floats<Arch>(s, strip_rows<Arch>(s));
    }

    /// Parallel over groups and strips; of few strips, also over kernels.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        auto* places = ::new (static_cast<void*>(args.scratch)) std::ptrdiff_t[static_cast<std::size_t>(s.depth())];
        const Form form = form_of<Arch>(s);
        fill_places(s, form, places);
        const int parts = s.groups * form.strips,
                  shares = kernel_shares<Arch>(s, parts, static_cast<int>(args.executor.concurrency()));
        args.executor.parallel_for(
            static_cast<std::size_t>(parts * shares), [=, &s, &args, &form](std::size_t i, std::size_t worker) {
                const int part = static_cast<int>(i) / shares, share = static_cast<int>(i) % shares;
                float* copy = args.scratch + place_floats(s) + worker * copy_floats<Arch>(s, form.rows);
                run_strip<Arch>(s, form, args,
                                {.group = part / form.strips,
                                 .strip = part % form.strips,
                                 .first_k = static_cast<int>(1LL * s.group_k() * share / shares),
                                 .last_k = static_cast<int>(1LL * s.group_k() * (share + 1) / shares)},
                                places, copy);
            });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int /*images*/, int threads) {
        const double in = 4.0 * static_cast<double>(s.in_shape().size()),
                     out = 4.0 * static_cast<double>(s.out_shape().size());
        const double lines = is_flat(s) ? 1.0 * strip_count<Arch>(s) : s.out_h();
        const int columns = static_cast<int>(static_cast<double>(s.out_pixels()) / lines);
        const int parts = s.groups * strip_count<Arch>(s);
        const double blocks = 1.0 * parts * kernel_shares<Arch>(s, parts, threads);
        double read = in;
        Work work;
        if (!in_place<Arch>(s)) {
            // Rows that a stride skips are not read.
            const double rows = 1.0 * strip_count<Arch>(s) * copied_rows(s, strip_rows<Arch>(s)),
                         copied = s.c * rows * row_floats<Arch>(s);
            read = 4 * copied;
            const int across = (columns + gemm::panel_width<Arch> - 1) / gemm::panel_width<Arch>,
                      down = (s.group_k() + gemm::tile_rows<Arch> - 1) / gemm::tile_rows<Arch>;
            // Starting the copy of a part of a row takes as long as some eight single elements; starting a tile and
            // writing the end of its row, as some fifty. Strides above 2 copy one by one.
            work.add({.rate = Rate::scalar,
                      .operations = 8.0 * s.c * rows * row_parts(s) + (s.stride_w <= 2 ? 0 : copied) +
                                    50.0 * s.groups * lines * down * across,
                      .bytes = in * std::min(1.0, rows / s.h) + read,
                      .working_set = in,
                      .blocks = blocks});
        }
        return work.add({.rate = Rate::gemm,
                         .operations = s.groups * lines * gemm::tile_operations<Arch>(s.group_k(), columns, s.depth()),
                         .bytes = read + 2 * out,
                         .working_set = read + out,
                         .blocks = blocks,
                         .loops = 1});
    }

private:
    /// The shares of the kernels among which threads divide a part of the image where the parts are few.
    template <class Arch>
    [[nodiscard]] static constexpr int kernel_shares(ConvShape const& s, int parts, int threads) {
        const int most = (s.group_k() + gemm::tile_rows<Arch> - 1) / gemm::tile_rows<Arch>;
        return parts < 2 * threads ? std::min(threads, most) : 1;
    }
    /// A strip of a group's rows, or of its pixels if the image is read in place, and the kernels to compute.
    struct Part {
        int group, strip, first_k, last_k;
    };
    /// The extents that all strips share. Computed once for a run: groups of a few channels take less time than the
    /// divisions behind these.
    struct Form {
        bool in_place, flat;
        int rows, strips;                            ///< output rows of a strip; strips of a group
        int out_h, out_w, pixels, depth;             ///< of the result; the products of each sum
        int copied_rows, row_parts, part, row_size;  ///< of the copy of a channel; floats of a part and of a row
        std::size_t plane;                           ///< floats of a channel, copied or not
    };
    /// The floats of a strip. It stays in L2 beside the lines of the result that are being written; a smaller one would
    /// leave shorter runs of the result to each kernel.
    static constexpr std::size_t strip_floats = l2_floats / 8 * 3;

    /// Returns whether the rows of the copy follow each other as those of the result do, so that vectors run across
    /// rows.
    [[nodiscard]] static constexpr bool is_flat(ConvShape const& s) {
        return s.fw == 1 && (s.fh == 1 || s.stride_h == 1);
    }
    template <class Arch>
    [[nodiscard]] static constexpr bool in_place(ConvShape const& s) {
        const bool all_pixels = s.taps() == 1 && !s.padded() && s.in_pixels() == s.out_pixels();
        return all_pixels && s.out_pixels() >= gemm::panel_width<Arch>;
    }
    /// Returns the parts of a copied row: columns w, w + stride, ... form part w.
    [[nodiscard]] static constexpr int row_parts(ConvShape const& s) { return std::min(s.stride_w, s.span_w()); }
    /// Returns the floats of one part of a copied row. Vectors beyond the result read zeros.
    template <class Arch>
    [[nodiscard]] static constexpr int part_floats(ConvShape const& s) {
        if (is_flat(s)) return s.out_w();
        return gemm::padded_columns<Arch>(s.out_w()) + (s.span_w() - 1) / s.stride_w;
    }
    template <class Arch>
    [[nodiscard]] static constexpr int row_floats(ConvShape const& s) {
        return row_parts(s) * part_floats<Arch>(s);
    }
    /// Returns the copied rows of a channel. A kernel of one row skips those between.
    [[nodiscard]] static constexpr int copied_rows(ConvShape const& s, int rows) {
        return s.fh == 1 ? rows : copy_rows(s, rows);
    }
    [[nodiscard]] static constexpr int copy_rows(ConvShape const& s, int rows) {
        return primitive::detail::copy_rows(s, rows);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t plane_floats(ConvShape const& s, int rows) {
        return static_cast<std::size_t>(copied_rows(s, rows)) * static_cast<std::size_t>(row_floats<Arch>(s));
    }
    template <class Arch>
    [[nodiscard]] static std::size_t copy_floats(ConvShape const& s, int rows) {
        if (in_place<Arch>(s)) return 0;
        return round_up_floats(static_cast<std::size_t>(s.group_c()) * plane_floats<Arch>(s, rows) +
                               gemm::panel_width<Arch>);
    }
    [[nodiscard]] static std::size_t place_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.depth()) * (sizeof(std::ptrdiff_t) / sizeof(float)));
    }
    /// Returns the output rows of a strip.
    template <class Arch>
    [[nodiscard]] static int strip_rows(ConvShape const& s) {
        const auto channels = static_cast<std::size_t>(s.group_c());
        const std::size_t first = channels * plane_floats<Arch>(s, 1),
                          more = channels * plane_floats<Arch>(s, 2) - first;
        // Neighbouring strips copy the rows that they share twice.
        const std::size_t least = static_cast<std::size_t>(2 * s.fh);
        const std::size_t rows = std::max(strip_floats > first ? (strip_floats - first) / more + 1 : 1, least);
        const auto all = static_cast<std::size_t>(s.out_h()), strips = (all + rows - 1) / std::min(rows, all);
        return static_cast<int>((all + strips - 1) / strips);
    }
    template <class Arch>
    [[nodiscard]] static int strip_count(ConvShape const& s) {
        const auto pixels = s.out_pixels();
        if (!in_place<Arch>(s)) return (s.out_h() + strip_rows<Arch>(s) - 1) / strip_rows<Arch>(s);
        const std::size_t width = gemm::panel_width<Arch>,
                          most = std::max(strip_floats / static_cast<std::size_t>(s.group_c()), width);
        return static_cast<int>(std::max<std::size_t>(pixels / most, 1));
    }

    template <class Arch>
    [[nodiscard]] static Form form_of(ConvShape const& s) {
        const int rows = strip_rows<Arch>(s);
        return {.in_place = in_place<Arch>(s),
                .flat = is_flat(s),
                .rows = rows,
                .strips = strip_count<Arch>(s),
                .out_h = s.out_h(),
                .out_w = s.out_w(),
                .pixels = static_cast<int>(s.out_pixels()),
                .depth = s.depth(),
                .copied_rows = copied_rows(s, rows),
                .row_parts = row_parts(s),
                .part = part_floats<Arch>(s),
                .row_size = row_floats<Arch>(s),
                .plane = in_place<Arch>(s) ? s.in_pixels() : plane_floats<Arch>(s, rows)};
    }

    /// Writes the distance of each weight's first pixel from the first pixel of a row.
    static void fill_places(ConvShape const& s, Form const& form, std::ptrdiff_t* places) noexcept {
        const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(form.plane),
                             step = s.fh == 1 ? 1 : primitive::detail::copy_step(s, form.rows);
        for (std::ptrdiff_t c = 0; c < s.group_c(); ++c) {
            for (std::ptrdiff_t fh = 0; fh < s.fh; ++fh) {
                for (int fw = 0; fw < s.fw; ++fw) {
                    const int column = fw * s.dilation_w;
                    *places++ =
                        c * plane + fh * step * form.row_size + column % s.stride_w * form.part + column / s.stride_w;
                }
            }
        }
    }

    template <class Arch>
    static void copy_strip(ConvShape const& s, Form const& form, const float* src, int first, float* copy) noexcept {
        for (int p = 0; p < form.row_parts; ++p) {
            const int offset = p - s.pad_left;
            const auto in = primitive::detail::inside(offset, s.stride_w, s.w, form.part);
            const int begin = std::min(in.begin, in.end);
            const float* image = src + offset;
            float* plane = copy + p * form.part;
            for (int c = 0; c < s.group_c(); ++c, image += s.in_pixels(), plane += form.plane) {
                float* dst = plane;
                for (int i = 0; i < form.copied_rows; ++i, dst += form.row_size) {
                    const int h = s.fh == 1 ? (first + i) * s.stride_h - s.pad_top
                                            : primitive::detail::copied_row(s, first, form.rows, i);
                    if (h < 0 || h >= s.h) {
                        std::fill_n(dst, form.part, 0.0F);
                        continue;
                    }
                    const float* row = image + static_cast<std::ptrdiff_t>(h) * s.w;
                    std::fill_n(dst, begin, 0.0F);
                    if (s.stride_w == 1) {
                        std::copy(row + begin, row + in.end, dst + begin);
                    } else if (s.stride_w == 2) {  // which the compiler vectorises
                        for (int w = begin; w < in.end; ++w) dst[w] = row[w * 2];
                    } else {
                        for (int w = begin; w < in.end; ++w) dst[w] = row[w * s.stride_w];
                    }
                    std::fill(dst + in.end, dst + form.part, 0.0F);
                }
            }
        }
        std::fill_n(copy + static_cast<std::size_t>(s.group_c()) * form.plane, gemm::panel_width<Arch>, 0.0F);
    }

    template <class Arch>
    static void run_strip(ConvShape const& s, Form const& form, ConvArgs const& args, Part const& part,
                          const std::ptrdiff_t* places, float* copy) noexcept {
        const float* src = args.src + static_cast<std::size_t>(part.group * s.group_c()) * s.in_pixels();
        const auto plane = static_cast<std::size_t>(form.pixels), depth = static_cast<std::size_t>(form.depth);
        gemm::TileArgs t{.a = args.weights,
                         .run = form.depth,
                         .b = copy,
                         .places_of_b = places,
                         .c_stride = plane,
                         .clamp = args.clamp};
        int lines = 1, columns = 0, first = 0;
        std::size_t row_step = 0;
        if (form.in_place) {
            const auto begin_of = [&form](int strip) {
                if (strip == form.strips) return form.pixels;
                return static_cast<int>(1LL * form.pixels * strip / form.strips / lanes<Arch> * lanes<Arch>);
            };
            first = begin_of(part.strip), columns = begin_of(part.strip + 1) - first;
            t.b = src + first;
        } else {
            const int row = part.strip * form.rows, rows = std::min(form.rows, form.out_h - row);
            copy_strip<Arch>(s, form, src, row, copy);
            first = row * form.out_w;
            lines = form.flat ? 1 : rows, columns = form.flat ? rows * form.out_w : form.out_w;
            row_step = static_cast<std::size_t>(s.fh == 1 ? 1 : s.stride_h) * static_cast<std::size_t>(form.row_size);
        }
        const int kernels = part.last_k - part.first_k,
                  tiles = (kernels + gemm::tile_rows<Arch> - 1) / gemm::tile_rows<Arch>;
        int k = part.group * s.group_k() + part.first_k;
        const float* rows_of_a[8];
        for (int i = 0; i < tiles; ++i) {
            const int count = kernels / tiles + (i < kernels % tiles ? 1 : 0);
            const std::size_t at = static_cast<std::size_t>(k) * plane + static_cast<std::size_t>(first);
            for (int row = 0; row < count; ++row) {
                rows_of_a[row] = args.weights + static_cast<std::size_t>(k + row) * depth;
            }
            gemm::TileArgs line = t;
            line.c = args.dst + at;
            line.row_bias = args.bias == nullptr ? nullptr : args.bias + k;
            line.residual = args.residual == nullptr ? nullptr : args.residual + at;
            for (int l = 0; l < lines; ++l) {
                multiply_line<Arch>(line, rows_of_a, count, columns, form.in_place);
                line.b += row_step;
                line.c += columns;
                if (line.residual != nullptr) line.residual += columns;
            }
            k += count;
        }
    }

    /// Computes `columns` neighbouring pixels of some kernels, in tiles of nearly equal width.
    template <class Arch>
    static void multiply_line(gemm::TileArgs t, const float* const* rows_of_a, int rows, int columns,
                              bool overlaps) noexcept {
        static_assert(gemm::tile_set<Arch> == gemm::every_tile);
        constexpr int most = gemm::panel_vectors<Arch>;
        const int vectors = (columns + lanes<Arch> - 1) / lanes<Arch>, tiles = (vectors + most - 1) / most;
        for (int i = 0; i < tiles; ++i) {
            const int width = (vectors / tiles + (i < vectors % tiles ? 1 : 0)) * lanes<Arch>;
            // The image ends behind the last pixel: the last tile overlaps the one before and computes the same bits.
            const int back = overlaps && width > columns ? width - columns : 0;
            t.b -= back, t.c -= back;
            if (t.residual != nullptr) t.residual -= back;
            t.columns = std::min(width, columns + back);
            gemm::with_vectors<Arch>(width, [&]<int count>(std::integral_constant<int, count>) {
                gemm::tile_kernels<Arch, count>[static_cast<std::size_t>(rows - 1)](t, rows_of_a, {t.b, 0});
            });
            t.b += width, t.c += width, columns -= width - back;
            if (t.residual != nullptr) t.residual += width;
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
