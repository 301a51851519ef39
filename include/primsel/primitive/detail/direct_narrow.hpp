#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/amx.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/bf16_rows.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Direct convolution of numbers smaller than floats. Output pixels are the rows of a matrix, which overlap in the
/// image. The matrix unit needs rows at equal distances: with stride 1 the rows of the image follow each other as one
/// long row for it, and what is computed for their padding is dropped. An unpadded image of such numbers is read in
/// place. Others are copied with their padding, strip by strip if the copy is large. Pixels of few channels would fill
/// a small part of the matrix unit's lines: where there are several taps, it gets copies of the patches of the pixels
/// of each product.
///
/// Each output of a panel reads the channels of its group. A panel of several groups is computed in two halves, each
/// from the channels of its groups, with weights of zero for those of other groups, so that a float that is no number
/// spoils the outputs of all groups of a half. Numbers may multiply groups of four channels apart.
///
/// Numbers is a type with
/// - name, which the ids of primitives have; Image, the layout of such numbers; Rows and multiply, their product; rate,
/// precision, error_bound and deepest, the largest depth whose sums are exact or have that error;
/// - on_matrix_unit: whether the matrix unit, where there is one, computes the product;
/// - end_of_product: the operations in registers that it takes to store, load, finish and narrow a sum, as
/// bench_primitive_end_of_product fits them;
/// - half_panel and fours: how much longer than products of whole panels those of halves in vectors of 16 take, and of
/// groups of four apart;
/// - Narrow(range), which converts floats to elements of the image or of the product's rows; its member zero is the
/// element of padding;
/// - Output(kernel, size), which rounds the weights of an output. It writes tail_floats floats behind the panels;
/// - Start and Finish: what sums start from, and what they become in the end.
template <class Numbers, Layout From, Layout To>
struct DirectNarrow {
    static constexpr auto id = [] {
        constexpr auto own = FixedString("direct-") + Numbers::name;
        if constexpr (std::same_as<From, hwc> && std::same_as<To, hwc>)
            return own + "-within-hwc";
        else if constexpr (std::same_as<From, hwc>)
            return own + "-from-hwc";
        else if constexpr (std::same_as<To, hwc>)
            return own + "-to-hwc";
        else
            return own;
    }();
    static constexpr Family family = Family::direct;
    using in_layout = From;
    using out_layout = To;
    static constexpr bool fuses_epilogue = true, bounds_summand = true, packs_for_any_size = true;
    static constexpr bool strided_output = std::same_as<To, hwc> || std::integral<element_of<To>>;
    static constexpr Precision precision = Numbers::precision;
    static constexpr double error_bound = Numbers::error_bound;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        return s.group_c() <= Numbers::deepest / s.taps() ? Support::yes()
                                                          : Support::no("sums of so many products overflow");
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return floats_of<Weight>(static_cast<std::size_t>(panels(s)) * panel_elements(s)) +
               Numbers::tail_floats * columns(s);
    }
    /// Writes panels of 32 outputs: for each word of the depth (fh, fw, c) the word's weights of every output.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        auto* to = reinterpret_cast<Weight*>(dst);
        std::fill_n(dst, packed_floats<Arch>(s), 0.0F);
        const std::size_t run = run_elements(s), pixel = copied_pixel(s), depth = static_cast<std::size_t>(s.depth());
        for (int k = 0; k < s.k; ++k) {
            // The group's channels among those that the output's piece reads.
            const std::size_t group = apart(s) ? 0
                                               : static_cast<std::size_t>(k / s.group_k() * s.group_c()) -
                                                     first_channel(s, k / piece(s) * piece(s));
            typename Numbers::Output output(kernel + static_cast<std::size_t>(k) * depth, depth);
            Weight* const column = to + static_cast<std::size_t>(k / gemm::dot_columns) * panel_elements(s) +
                                   static_cast<std::size_t>(k % gemm::dot_columns) * word;
            for (int tap = 0; tap < s.fh * s.fw; ++tap) {
                const auto fh = static_cast<std::size_t>(tap / s.fw), fw = static_cast<std::size_t>(tap % s.fw);
                const std::size_t begin = patches(s) ? static_cast<std::size_t>(tap * s.c)
                                          : joins(s) ? fh * run + fw * pixel
                                                     : static_cast<std::size_t>(tap) * run;
                for (int c = 0; c < s.group_c(); ++c) {
                    const std::size_t step = begin + group + static_cast<std::size_t>(c);
                    column[step / word * word * gemm::dot_columns + step % word] =
                        output.rounded(kernel[kernel_index(s, k, c, tap / s.fw, tap % s.fw)]);
                }
            }
            output.write_tail(dst + floats_of<Weight>(static_cast<std::size_t>(panels(s)) * panel_elements(s)) + k,
                              columns(s));
        }
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        if (!copies(s)) return 0;
        if (!in_strips(s)) return copy_floats(s, s.out_h());
        return workers * (copy_floats(s, rows_of_strip(s)) + patch_floats(s));
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const int rows = rows_of_strip(s);
        const std::size_t strips = strip_count(s);
        if (copies(s) && in_strips(s)) {
            args.executor.parallel_for(strips, [&s, &args, rows](std::size_t strip, std::size_t worker) {
                const int first = static_cast<int>(strip) * rows, count = std::min(rows, s.out_h() - first);
                float* const copy = args.scratch + worker * (copy_floats(s, rows) + patch_floats(s));
                for (int i = 0; i < copy_rows(s, count); ++i) copy_row(s, args, first, count, i, copy);
                const Walk walk(s, reinterpret_cast<const Element*>(copy), first, count, copy_step(s, count));
                const core::AmxScope tiles(walk.tiles);
                auto* const patch = reinterpret_cast<Element*>(copy + copy_floats(s, rows));
                if (panels_inside(s)) return products<Arch>(s, args, walk, 0, panels(s), patches(s) ? patch : nullptr);
                for (int panel = 0; panel < panels(s); ++panel)
                    products<Arch>(s, args, walk, panel, panel + 1, nullptr);
            });
            return;
        }
        const auto* image = reinterpret_cast<const Element*>(args.src);
        if (copies(s)) {
            image = reinterpret_cast<const Element*>(args.scratch);
            const auto height = static_cast<std::size_t>(copy_rows(s, s.out_h()));
            args.executor.parallel_for(height, [&s, &args](std::size_t i, std::size_t) {
                copy_row(s, args, 0, s.out_h(), static_cast<int>(i), args.scratch);
            });
        }
        const std::size_t parts = parts_of_panels(s, strips);
        args.executor.parallel_for(strips * parts, [&, rows, image, parts](std::size_t block, std::size_t) {
            const int first = static_cast<int>(block / parts) * rows, count = std::min(rows, s.out_h() - first);
            const std::size_t above = static_cast<std::size_t>(first * s.stride_h) * row_elements(s);
            const Walk walk(s, image + above, first, count, copies(s) ? copy_step(s, s.out_h()) : s.dilation_h);
            const core::AmxScope tiles(walk.tiles);
            const auto begin = [&, parts](std::size_t part) {
                return static_cast<int>(part * static_cast<std::size_t>(panels(s)) / parts);
            };
            products<Arch>(s, args, walk, begin(block % parts), begin(block % parts + 1), nullptr);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        // Vectors of columns that no output needs are not computed.
        const int vector = on_matrix_unit ? 16 : lanes<Arch>;
        const double columns = (s.k + vector - 1) / vector * vector, depth = static_cast<double>(depth_of(s)),
                     weights = sizeof(Weight) * depth * columns,
                     read = s.groups == 1 ? panels(s) : 1.0 * panels(s) * static_cast<double>(piece_channels(s)) / s.c,
                     in = element_bytes<From> * static_cast<double>(s.in_shape().size()),
                     out = element_bytes<To> * static_cast<double>(s.out_shape().size()),
                     strips = 1.0 * s.out_h() / rows_of_strip(s);
        Work work;
        // Rows are copied with their padding, or patches, a line at a time.
        const double copied =
            (patches(s) ? sizeof(Element) * depth * static_cast<double>(s.out_pixels()) : 2 * in) + in;
        const bool at_once = copies(s) && in_strips(s);
        const std::size_t count = strip_count(s);
        const auto blocks = static_cast<double>(at_once ? count : count * parts_of_panels(s, count));
        if (copies(s)) {
            work.add({.rate = Rate::vector,
                      .operations = copied,
                      .bytes = copied,
                      .working_set = copied,
                      .blocks = at_once ? blocks : copy_rows(s, s.out_h()),
                      .loops = at_once ? 0.0 : 1.0});
        }
        return work
            .add({.rate = Numbers::rate,
                  .operations = 2 * computed_pixels(s) * multiplied<Arch>(s, depth, columns),
                  .bytes = in * read + weights * strips,
                  .working_set = in + weights,
                  .blocks = blocks,
                  .loops = 1})
            .add({.rate = Rate::registers,
                  .operations =
                      Numbers::end_of_product * panels(s) * gemm::dot_columns * static_cast<double>(s.out_pixels()),
                  .bytes = 2 * out,
                  .working_set = out,
                  .blocks = blocks});
    }

private:
    [[nodiscard]] static std::size_t strip_count(ConvShape const& s) {
        const int rows = rows_of_strip(s);
        return static_cast<std::size_t>((s.out_h() + rows - 1) / rows);
    }
    static constexpr bool on_matrix_unit = PRIMSEL_HAS_AMX && Numbers::on_matrix_unit;
    [[nodiscard]] static bool may_use_amx() { return on_matrix_unit && core::may_use_amx(); }
    using Image = typename Numbers::Image;
    using Rows = typename Numbers::Rows;
    /// The numbers of an image, and of the rows of a product: the same, or wider.
    using Stored = element_of<Image>;
    using Element = std::remove_cvref_t<decltype(*Rows{}.a)>;
    static constexpr bool widens = !std::same_as<Stored, Element>;
    using Weight = std::remove_cvref_t<decltype(*Rows{}.b)>;
    static constexpr bool from_floats = std::same_as<From, hwc>,
                          converts = !std::same_as<std::conditional_t<from_floats, float, Stored>, Element>;
    /// The elements of a cache line.
    static constexpr std::size_t line_elements = 64 / sizeof(Element);
    static constexpr std::size_t word = Rows::word;
    [[nodiscard]] static constexpr std::size_t round_up(std::size_t elements, std::size_t to) {
        return (elements + to - 1) / to * to;
    }
    template <class E = Element>
    [[nodiscard]] static constexpr std::size_t floats_of(std::size_t elements) {
        return round_up(elements * sizeof(E), sizeof(float)) / sizeof(float);
    }
    template <class L>
    static constexpr double element_bytes = sizeof(element_of<L>);

    [[nodiscard]] static constexpr int panels(ConvShape const& s) {
        return (s.k + gemm::dot_columns - 1) / gemm::dot_columns;
    }
    /// The outputs of all panels.
    [[nodiscard]] static constexpr std::size_t columns(ConvShape const& s) {
        return static_cast<std::size_t>(panels(s)) * gemm::dot_columns;
    }
    [[nodiscard]] static constexpr std::size_t panel_elements(ConvShape const& s) {
        return depth_of(s) * gemm::dot_columns;
    }
    /// The outputs that are computed together: those of a panel, or of half of one that has several groups.
    [[nodiscard]] static constexpr int piece(ConvShape const& s) {
        return s.groups == 1 || s.group_k() % gemm::dot_columns == 0 ? gemm::dot_columns : gemm::dot_columns / 2;
    }
    /// Whether an output of a piece multiplies only the channels of its group.
    [[nodiscard]] static constexpr bool apart(ConvShape const& s) {
        return Numbers::multiplies_fours && s.c >= 16 && s.group_c() == 4 && s.group_k() == 4;
    }
    /// The time of a product over that of one in whole panels. The matrix unit's time is that of whole lines.
    template <class Arch>
    [[nodiscard]] static double slower(ConvShape const& s) {
        if (apart(s)) return Numbers::fours;
        if (on_matrix_unit && s.groups != 1) {
            const std::size_t run = run_elements(s);
            return 2.0 * static_cast<double>(round_up(run, line_elements)) / static_cast<double>(run);
        }
        return lanes<Arch> == 16 && piece(s) < gemm::dot_columns ? Numbers::half_panel : 1.0;
    }
    /// The products of a pixel, and those that take as long as what slows them down. In registers the start of another
    /// run takes as long as four of its words, and one vector of columns half_panel as long as one of two: fitted to
    /// times of layers of random extents in 8 bits on a Xeon with AVX-512 VNNI.
    template <class Arch>
    [[nodiscard]] static double multiplied(ConvShape const& s, double depth, double columns) {
        if (PRIMSEL_HAS_AMX || s.groups != 1) return slower<Arch>(s) * depth * columns;
        const double start_of_run = 4 * word, runs = depth / static_cast<double>(run_elements(s));
        const int last = s.k % gemm::dot_columns;
        const bool is_alone = lanes<Arch> == 16 && last > 0 && last <= 16;
        return (depth + start_of_run * (runs - 1)) * (columns + (is_alone ? (Numbers::half_panel - 1) * 16 : 0));
    }
    /// The channels that a piece reads, in whole words: those of the groups of its outputs, at most.
    [[nodiscard]] static constexpr std::size_t piece_channels(ConvShape const& s) {
        const int outputs = piece(s), size = s.group_k();
        const bool even = outputs % size == 0 || size % outputs == 0;
        const int groups = even ? std::max(1, outputs / size) : (outputs - 2 + size) / size + 1;
        const auto channels = static_cast<std::size_t>(std::min(groups, s.groups) * s.group_c());
        const bool whole = channels % word == 0 && even;
        return std::min(round_up(channels + (whole ? 0 : word - 1), word),
                        round_up(static_cast<std::size_t>(s.c), word));
    }
    /// The first channel that a piece reads. It begins a word.
    [[nodiscard]] static constexpr std::size_t first_channel(ConvShape const& s, int output) {
        const auto first = static_cast<std::size_t>(output / s.group_k() * s.group_c());
        if (apart(s)) return first;
        return std::min(first / word * word, round_up(static_cast<std::size_t>(s.c), word) - piece_channels(s));
    }
    /// Whether all panels follow each other for the same pixels, so that results are written in order. Larger weights
    /// would not stay in the caches from pixels to pixels.
    [[nodiscard]] static constexpr bool panels_inside(ConvShape const& s) {
        return patches(s) ||
               static_cast<std::size_t>(panels(s)) * floats_of<Weight>(panel_elements(s)) <= l2_floats / 8;
    }
    /// Into how many parts the panels of a strip fall, each with the strip a block: of one panel, or where panels
    /// follow each other so few that threads can share a layer of few pixels.
    [[nodiscard]] static std::size_t parts_of_panels(ConvShape const& s, std::size_t strips) {
        const auto all = static_cast<std::size_t>(panels(s));
        return panels_inside(s) ? std::min(all, (8 + strips - 1) / strips) : all;
    }
    [[nodiscard]] static constexpr bool patches(ConvShape const& s) {
        return on_matrix_unit && s.groups == 1 && s.fh * s.fw > 1 && static_cast<std::size_t>(s.c) <= line_elements / 2;
    }
    /// Whether the taps of a kernel row are one run.
    [[nodiscard]] static constexpr bool joins(ConvShape const& s) {
        const auto c = static_cast<std::size_t>(s.c), pixel = copied_pixel(s);
        return s.groups == 1 && s.dilation_w == 1 && (on_matrix_unit || pixel == c || pixel == round_up(c, word));
    }
    /// The elements of a run. They are whole words, which may reach into the next pixel: its weights are zeros.
    [[nodiscard]] static constexpr std::size_t run_elements(ConvShape const& s) {
        const auto c = static_cast<std::size_t>(s.c), fw = static_cast<std::size_t>(s.fw), pixel = copied_pixel(s);
        if (patches(s)) return joins(s) ? fw * c : c;
        if (joins(s)) return round_up(fw * pixel, word);
        if (apart(s)) return static_cast<std::size_t>(s.group_c());
        if (s.groups != 1) return piece_channels(s);
        return on_matrix_unit ? pixel : round_up(c, word);
    }
    [[nodiscard]] static constexpr std::size_t depth_of(ConvShape const& s) {
        if (patches(s)) return round_up(static_cast<std::size_t>(s.fh * s.fw * s.c), line_elements);
        return static_cast<std::size_t>(joins(s) ? s.fh : s.fh * s.fw) * run_elements(s);
    }
    [[nodiscard]] static constexpr bool copies(ConvShape const& s) { return converts || s.padded() || patches(s); }
    /// Whether pixels are copied without what is behind their channels. Zero weights do not hide floats that are no
    /// numbers, which words of several elements would read of the next pixel.
    [[nodiscard]] static constexpr bool compacts(ConvShape const& s) {
        return std::integral<Element> && !on_matrix_unit && copies(s) && (widens || Image::pixel(s.c) <= 16);
    }
    /// The elements of a pixel in a copy.
    [[nodiscard]] static constexpr std::size_t copied_pixel(ConvShape const& s) {
        return compacts(s) || patches(s) ? static_cast<std::size_t>(s.c) : Image::pixel(s.c);
    }
    [[nodiscard]] static constexpr std::size_t row_elements(ConvShape const& s) {
        return static_cast<std::size_t>(s.padded_w()) * copied_pixel(s);
    }
    /// The patches of a product. Runs are copied in whole lines, so that the last one is followed by another line.
    [[nodiscard]] static constexpr std::size_t patch_floats(ConvShape const& s) {
        return patches(s) ? round_up_floats(floats_of(gemm::dot_rows * depth_of(s) + line_elements)) : 0;
    }
    /// Whether the matrix unit computes pixels of neighbouring output rows as one row.
    [[nodiscard]] static bool flat(ConvShape const& s) {
        return may_use_amx() && !patches(s) && s.stride_h == 1 && s.stride_w == 1 && s.padded_w() < 2 * s.out_w();
    }
    [[nodiscard]] static double computed_pixels(ConvShape const& s) {
        return 1.0 * s.out_h() * (flat(s) ? s.padded_w() : s.out_w());
    }
    /// About 512 pixels: each panel is read seldom, and the strip stays in L2. Strips of few channels have more.
    /// Threads share patches by strips alone, of which there are two where there can be.
    [[nodiscard]] static constexpr int rows_of_strip(ConvShape const& s) {
        const int most = s.c < 16 ? 1024 : 512, pixels = s.out_h() * s.out_w(),
                  strips = std::max((pixels + most - 1) / most, patches(s) ? 2 : 1);
        return (s.out_h() + strips - 1) / strips;
    }
    [[nodiscard]] static constexpr std::size_t copy_floats(ConvShape const& s, int out_rows) {
        const std::size_t rows = row_elements(s) * static_cast<std::size_t>(copy_rows(s, out_rows));
        return round_up_floats(floats_of(rows + (compacts(s) || patches(s) ? line_elements : 0)));
    }
    [[nodiscard]] static constexpr bool in_strips(ConvShape const& s) {
        return patches(s) || copy_floats(s, s.out_h()) > l2_floats / 16 * 9;
    }
    static void copy_row(ConvShape const& s, ConvArgs const& args, int first, int out_rows, int i,
                         float* copy) noexcept {
        Element* const dst = reinterpret_cast<Element*>(copy) + static_cast<std::size_t>(i) * row_elements(s);
        const int h = copied_row(s, first, out_rows, i);
        const typename Numbers::Narrow narrow(args.src_range);
        if (h < 0 || h >= s.h) {
            std::fill_n(dst, row_elements(s), narrow.zero);
            return;
        }
        const auto c = static_cast<std::size_t>(s.c), w = static_cast<std::size_t>(s.w);
        const std::size_t pixel = copied_pixel(s), stored = Image::pixel(s.c),
                          left = static_cast<std::size_t>(s.pad_left) * pixel;
        std::fill_n(dst, left, narrow.zero);
        Element* const to = dst + left;
        if constexpr (from_floats) {
            const float* from = args.src + static_cast<std::size_t>(h) * w * c;
            if (pixel == c) {
                convert(narrow, from, w * c, to);
            } else {
                for (std::size_t x = 0; x < w; ++x) {
                    convert(narrow, from + x * c, c, to + x * pixel);
                    std::fill_n(to + x * pixel + c, pixel - c, Element{});
                }
            }
        } else {
            const auto* from = reinterpret_cast<const Stored*>(args.src) + static_cast<std::size_t>(h) * w * stored;
            if (pixel == stored) {
                std::copy_n(from, w * pixel, to);
            } else {
                // Copies of a fixed length are faster. The next pixel overwrites what they write too much.
                std::size_t x = 0;
#if defined(__SSSE3__)
                if constexpr (sizeof(Element) == 1) {
                    const __m128i bytes = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
                    for (; stored == 4 && pixel == 3 && x + 6 <= w; x += 4) {
                        const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + x * 4));
                        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + x * 3), _mm_shuffle_epi8(four, bytes));
                    }
                }
#endif
                for (; pixel < 4 && x * pixel + 4 <= w * pixel; ++x) std::copy_n(from + x * stored, 4, to + x * pixel);
                for (; x < w; ++x) std::copy_n(from + x * stored, pixel, to + x * pixel);
            }
        }
        std::fill_n(to + w * pixel, static_cast<std::size_t>(s.pad_right) * pixel, narrow.zero);
    }

    static void convert(typename Numbers::Narrow const& narrow, const float* from, std::size_t n,
                        Element* to) noexcept {
        if constexpr (!std::invocable<typename Numbers::Narrow const&, const float*, std::size_t, Element*>) {
            Stored some[256];
            for (std::size_t i = 0; i < n; i += std::size(some)) {
                const std::size_t count = std::min(std::size(some), n - i);
                narrow(from + i, count, some);
                std::copy_n(some, count, to + i);
            }
        } else {
            narrow(from, n, to);
        }
    }

    /// Writes the patches of `count` rows of a product one after the other.
    static void gather(ConvShape const& s, Rows const& rows, int count, Element* patch) noexcept {
        const std::size_t depth = depth_of(s), length = static_cast<std::size_t>(s.fh * s.fw) * copied_pixel(s);
        for (int i = 0; i < count; ++i) {
            const Element* const begin = rows.a + rows.place(i);
            Element* to = patch + static_cast<std::size_t>(i) * depth;
            for (int outer = 0; outer < rows.outer; ++outer) {
                for (int inner = 0; inner < rows.inner; ++inner) {
                    const Element* from = begin + static_cast<std::size_t>(outer) * rows.outer_step +
                                          static_cast<std::size_t>(inner) * rows.inner_step;
                    for (int run = 0; run < rows.run; run += line_elements) {
                        std::memcpy(to + run, from + run, line_elements * sizeof(Element));
                    }
                    to += rows.run;
                }
            }
            std::fill_n(to, depth - length, Element{});
        }
    }

    /// How output rows [first, first + count) are computed from the image under them.
    struct Walk {
        Rows rows;
        core::AmxTiles tiles{};
        int first = 0;
        int lines = 1, line = 0;     ///< lines of so many pixels, of which each width-th begins an output row
        int at_once = 0, width = 0;  ///< pixels of a product; pixels from one output row to the next
        std::size_t line_step = 0;

        Walk(ConvShape const& s, const Element* image, int first_row, int count, int step) : first(first_row) {
            const std::size_t pixel = copied_pixel(s);
            const bool one_line = flat(s);
            rows = {.a = image,
                    .a_stride = static_cast<std::size_t>(s.stride_w) * pixel,
                    .outer = s.fh,
                    .inner = joins(s) ? 1 : s.fw,
                    .run = static_cast<int>(run_elements(s)),
                    .outer_step = static_cast<std::size_t>(step) * row_elements(s),
                    .inner_step = static_cast<std::size_t>(s.dilation_w) * pixel};
            width = one_line ? s.padded_w() : s.out_w();
            line_step = static_cast<std::size_t>(s.stride_h) * row_elements(s);
            const bool amx = may_use_amx();
            lines = amx && !one_line ? count : 1;
            line = lines == 1 ? (count - 1) * width + s.out_w() : width;
            const int products = (line + gemm::dot_rows - 1) / gemm::dot_rows;
            at_once = (line + products - 1) / products;
            if (amx) {
                if (at_once > 16) at_once = (at_once + 1) / 2 * 2;
                if (at_once > line) at_once /= 2;  // an odd line is two products of a tile, which share a pixel
                tiles.rows = at_once > 16 ? at_once / 2 : at_once;
                tiles.words = patches(s) ? 16 : std::min(16, rows.run / Rows::word);
                while (!patches(s) && rows.run / Rows::word % tiles.words != 0) --tiles.words;
            }
        }
        /// Whether `count` pixels of the line from pixel `at` on lie a_stride apart.
        [[nodiscard]] bool even(int at, int count) const {
            return line_step == static_cast<std::size_t>(width) * rows.a_stride || at % width + count <= width;
        }
        /// The place of a pixel of the line.
        [[nodiscard]] std::size_t place(int at) const {
            return static_cast<std::size_t>(at / width) * line_step +
                   static_cast<std::size_t>(at % width) * rows.a_stride;
        }
        /// Writes the places of `count` pixels of the line from pixel `at` on.
        void place(int at, int count, std::ptrdiff_t* places) const {
            int x = at % width;
            auto begin = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(at / width) * line_step);
            const auto step = static_cast<std::ptrdiff_t>(rows.a_stride);
            for (int i = 0; i < count; ++i) {
                places[i] = begin + x * step;
                if (++x == width) x = 0, begin += static_cast<std::ptrdiff_t>(line_step);
            }
        }
    };

    /// Computes panels [first, last) of all pixels of the walk.
    template <class Arch>
    static void products(ConvShape const& s, ConvArgs const& args, Walk const& walk, int first, int last,
                         Element* patch) noexcept {
        Rows rows = walk.rows, product = rows;
        if (patch != nullptr) product = {.a_stride = depth_of(s), .run = static_cast<int>(depth_of(s))};
        alignas(alignment) typename Rows::Sum sums[gemm::dot_rows * gemm::dot_columns];
        std::ptrdiff_t places[gemm::dot_rows];
        const auto* const panels_of = reinterpret_cast<const Weight*>(args.weights);
        const float* const tail =
            args.weights + floats_of<Weight>(static_cast<std::size_t>(panels(s)) * panel_elements(s));
        typename Numbers::Start start;
        typename Numbers::template Finish<Arch, To> end(s, args, tail);
        // A panel that does not stay in the caches is prefetched while one before it is used, a part by each product.
        const int ahead = static_cast<int>(args.executor.concurrency()), later = first + ahead;
        const std::size_t panel_bytes = sizeof(Weight) * panel_elements(s);
        const bool one_panel = last == first + 1;
        if (one_panel && later < panels(s)) {
            const int products = walk.lines * ((walk.line + walk.at_once - 1) / walk.at_once);
            product.later =
                reinterpret_cast<const char*>(panels_of + static_cast<std::size_t>(later) * panel_elements(s));
            product.later_bytes = panel_bytes / static_cast<std::size_t>(products);
        }
        for (int line = 0; line < walk.lines; ++line) {
            const Element* const begin = walk.rows.a + static_cast<std::size_t>(line) * walk.line_step;
            for (int done = 0; done < walk.line;) {
                int at = done, count = std::min(walk.at_once, walk.line - done);
                // For the matrix unit, the last product begins earlier: it computes some pixels again.
                if (walk.tiles.rows != 0) at = std::min(done, walk.line - walk.at_once), count = walk.at_once;
                if (walk.even(at, count)) {
                    rows.a = begin + walk.place(at), rows.places = nullptr;
                } else {
                    rows.a = begin, rows.places = places;
                    walk.place(at, count, places);
                }
                if (patch != nullptr) {
                    gather(s, rows, count, patch);
                    product.a = patch;
                } else {
                    product.a = rows.a, product.places = rows.places;
                }
                for (int panel = first; panel < last; ++panel) {
                    product.b = panels_of + static_cast<std::size_t>(panel) * panel_elements(s);
                    product.columns = std::min(gemm::dot_columns, s.k - panel * gemm::dot_columns);
                    product.fetches = line == 0 && done == 0 && (!one_panel || first < ahead);
                    product.start = start(args, tail + columns(s) + panel * gemm::dot_columns);
                    for (int column = 0; column < product.columns; column += piece(s)) {
                        multiply_piece<Arch>(s, panel * gemm::dot_columns, column, product, count, walk.tiles, sums);
                    }
                    end.begin(panel * gemm::dot_columns);
                    finish(s, walk, line, at, done - at, count, sums, end);
                }
                product.later += product.later_bytes;
                done = at + count;
            }
        }
    }
    /// Computes the piece of a panel from `column` on.
    template <class Arch>
    PRIMSEL_INLINE static void multiply_piece(ConvShape const& s, int panel, int column, Rows const& product, int count,
                                              core::AmxTiles tiles, typename Rows::Sum* sums) noexcept {
        Rows part = product;
        part.a += first_channel(s, panel + column), part.b += word * static_cast<std::size_t>(column);
        part.columns = std::min(piece(s), product.columns - column);
        if (part.start != nullptr) part.start += column;
        if (column != 0) part.fetches = false, part.later_bytes = 0;
        if constexpr (Numbers::multiplies_fours) {
            if (apart(s)) return Numbers::multiply_fours(part, count, sums + column);
        }
        Numbers::template multiply<Arch>(part, count, tiles, sums + column);
    }
    /// Ends sums [from, count) of the pixels of a line from `at` on; those before were stored already.
    template <class Finish>
    static void finish(ConvShape const& s, Walk const& walk, int line, int at, int from, int count,
                       const typename Rows::Sum* sums, Finish const& end) noexcept {
        const auto first = static_cast<std::size_t>((walk.first + line) * s.out_w());
        if (walk.width == s.out_w()) {
            return end(sums + from * gemm::dot_columns, first + static_cast<std::size_t>(at + from), count - from);
        }
        // Padding lies between the rows.
        int row = walk.first + line + (at + from) / walk.width, x = (at + from) % walk.width;
        while (from < count) {
            const int neighbours = std::min(s.out_w() - x, count - from);
            if (neighbours > 0) {
                end(sums + from * gemm::dot_columns, static_cast<std::size_t>(row * s.out_w() + x), neighbours);
            }
            from += walk.width - x, x = 0, ++row;
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
