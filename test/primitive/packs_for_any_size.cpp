// Packed weights that images of all sizes share.
#include "laws.hpp"

#include <primsel/engine/low_precision.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

namespace packs_for_any_size_tests {

using namespace laws;

namespace {

std::vector<float> packed(ps::PrimitiveEntry const& entry, ps::ConvShape const& shape,
                          std::vector<float> const& kernel) {
    std::vector<float> result(ps::floats_for_bytes(entry.packed_bytes(shape)), 7.0F);
    entry.pack(shape, kernel.data(), result.data());
    return result;
}
bool same_bytes(std::vector<float> const& a, std::vector<float> const& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_CASE("packed weights depend on the size of the image only where the primitive does not deny it") {
    const ps::Kernels all = ps::make_kernels<ps::EveryPrimitive, ps::default_arch, ps::EveryLayout>();
    std::vector<ps::ConvShape> shapes = odd_shapes();
    shapes.push_back(same_shape(64, 64, 14, 14, 3));
    shapes.push_back(same_shape(9, 9, 20, 30, 9));  // large windows
    shapes.back().groups = 9;
    std::mt19937 bits(1);
    std::normal_distribution<float> normal;
    std::map<std::string_view, int> compared, differ;
    for (ps::ConvShape const& shape : shapes) {
        std::vector<float> kernel(shape.kernel_size());
        for (float& value : kernel) value = normal(bits);
        std::vector<ps::ConvShape> others(5, shape);
        others[0].h = 1, others[1].w += 3, others[2].h = 4 * shape.h + 5, others[2].w = 3 * shape.w + 2;
        others[3].h = shape.w, others[3].w = shape.h, others[4].h = 57, others[4].w = 223;
        for (ps::PrimitiveEntry const& entry : all.primitives) {
            if (!entry.supports(shape)) continue;
            const std::vector<float> one = packed(entry, shape, kernel);
            for (ps::ConvShape const& other : others) {
                if (!other.valid() || !entry.supports(other)) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                CAPTURE(to_string(other));
                const bool same = same_bytes(one, packed(entry, other, kernel));
                if (entry.packs_for_any_size) CHECK(same);
                if (!same) ++differ[entry.id];
                ++compared[entry.id];
            }
        }
    }
    for (ps::PrimitiveEntry const& entry : all.primitives) {
        CAPTURE(std::string(entry.id));
        CHECK(compared[entry.id] > 0);
        // A primitive that packs alike for all sizes says so.
        CHECK(entry.packs_for_any_size == (differ[entry.id] == 0));
    }
}

}  // namespace

}  // namespace packs_for_any_size_tests
