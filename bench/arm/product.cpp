// The register tiles of products; loops.py traces them.
#include "layer.hpp"

#include <primsel/gemm/panel.hpp>
#include <primsel/gemm/u8s8_rows.hpp>
#include <primsel/primitive/detail/indirect_product.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ps = primsel;
namespace gemm = ps::gemm;
using Arch = ps::default_arch;

namespace {

/// Deep enough that little else counts.
constexpr int depth = 1536;
constexpr int width = gemm::panel_width<Arch>, rows = gemm::tile_rows<Arch>, vectors = gemm::panel_vectors<Arch>;

[[nodiscard]] gemm::TileArgs product(int depth) {
    return {.a = room[0],
            .a_stride = static_cast<std::size_t>(depth),
            .run = depth,
            .b = room[1],
            .c = room[2],
            .c_stride = 64,
            .columns = width};
}

}  // namespace

int main() {
    for (int count = rows; count > 0; --count) {
        layer((std::to_string(count) + " rows x 3 vectors").c_str(), long{depth} * count * vectors,
              [=] { gemm::multiply_panel<Arch>(product(depth), 0, count, width); });
    }
    for (int count = 2; count > 0; --count) {
        auto t = product(depth);
        t.columns = 4 * count;
        layer(("8 rows x " + std::to_string(count) + " vectors").c_str(), long{depth} * 8 * count,
              [=] { gemm::multiply_panel<Arch>(t, 0, 8, t.columns); });
    }
    layer("56 rows x 3 vectors, depth 64", 64L * 56 * vectors,
          [=] { gemm::multiply_panel<Arch>(product(64), 0, 56, width); });
    auto taps = product(192);
    taps.outer = taps.inner = 3;
    taps.outer_step = 2048, taps.inner_step = 192;
    layer("6 rows x 3 vectors, 9 taps of 192", 1728L * rows * vectors,
          [=] { gemm::multiply_panel<Arch>(taps, 0, rows, width); });
    auto few = product(21);
    few.a_stride = 6;
    few.outer = 7;
    few.outer_step = 64;
    layer("24 rows x 3 vectors, 7 taps of 21", 147L * 4 * rows * vectors,
          [=] { gemm::multiply_panel<Arch>(few, 0, 4 * rows, width); });
    auto transposed = product(depth);
    transposed.a_stride = 16;
    layer("6 rows x 3 vectors, A transposed", long{depth} * rows * vectors,
          [=] { gemm::multiply_panel_transposed<Arch>(transposed, rows, width); });
    const float* pointers[9 * rows];
    for (auto& pointer : pointers) pointer = room[0];
    layer("6 rows x 3 vectors, 9 taps of 192 through pointers", 1728L * rows * vectors, [&] {
        ps::primitive::detail::multiply_indirect<Arch>({.pointers = pointers,
                                                        .pixels = rows,
                                                        .taps = 9,
                                                        .run = 192,
                                                        .columns = width,
                                                        .packed = room[1],
                                                        .c_stride = 64},
                                                       0, room[2]);
    });
    std::ptrdiff_t places[depth];
    for (int i = 0; i < depth; ++i) places[i] = i * 16;
    auto rows_of_image = product(depth);
    rows_of_image.places_of_b = places;
    layer("6 rows x 3 vectors, B rows of an image", long{depth} * rows * vectors,
          [=] { gemm::multiply_panel<Arch>(rows_of_image, 0, rows, width); });
    static std::uint8_t bytes[1 << 16];
    static std::int8_t weights[1 << 16];
    static std::int32_t sums[1 << 12];
    layer("45 rows x 32 columns of 8 bits", 128L * 45 * 8, [] {
        gemm::multiply<Arch>(gemm::U8S8Rows{.a = bytes, .a_stride = 512, .run = 512, .b = weights}, 45, {}, sums);
    });
}
