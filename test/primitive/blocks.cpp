#include "blocks.hpp"

#include "laws.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace laws;

namespace block_tests {

TEST_CASE("two threads share the results of every layer that is worth it") {
    const List list = all_primitives();
    for (ps::ConvShape const& shape : blocks::shapes()) {
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (entry.run == nullptr || entry.pass != ps::Pass::forward || !entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            const auto floats = [](std::size_t bytes) { return bytes / sizeof(float) + 1; };
            ps::AlignedBuffer src(list.layouts[entry.in_layout].floats(shape.in_shape())),
                dst(list.layouts[entry.out_layout].floats(shape.out_shape())),
                packed(floats(entry.packed_bytes(shape))), scratch(floats(entry.scratch_bytes(shape, 2, 1)));
            blocks::Counts counts;
            entry.run(shape, {.src = src.data(),
                              .weights = packed.data(),
                              .dst = dst.data(),
                              .scratch = scratch.data(),
                              .executor = counts});
            CHECK(counts.last >= 2);
        }
    }
}

}  // namespace block_tests
