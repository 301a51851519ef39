#include "blocks.hpp"

#include "laws.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("the work of a primitive has the loops and blocks of its run") {
    const List list = all_primitives();
    std::vector<ps::ConvShape> shapes = odd_shapes();
    for (ps::ConvShape const& shape : blocks::shapes()) shapes.push_back(shape);
    for (ps::ConvShape const& shape : shapes) {
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (entry.run == nullptr || entry.pass != ps::Pass::forward || !entry.supports(shape)) continue;
            for (const int threads : {1, 2, 3, 8}) {
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                CAPTURE(threads);
                const auto workers = static_cast<std::size_t>(threads);
                const auto floats = [](std::size_t bytes) { return bytes / sizeof(float) + 1; };
                ps::AlignedBuffer src(list.layouts[entry.in_layout].floats(shape.in_shape())),
                    dst(list.layouts[entry.out_layout].floats(shape.out_shape())),
                    packed(floats(entry.packed_bytes(shape))), scratch(floats(entry.scratch_bytes(shape, workers, 1)));
                blocks::Loops run{workers};
                entry.run(shape, {.src = src.data(),
                                  .weights = packed.data(),
                                  .dst = dst.data(),
                                  .scratch = scratch.data(),
                                  .executor = run});
                std::vector<double> said;
                for (ps::Phase const& phase : entry.work(shape, 1, threads)) {
                    said.insert(said.end(), static_cast<std::size_t>(phase.loops + 0.5), phase.blocks);
                }
                std::ranges::sort(said);
                std::ranges::sort(run.blocks);
                REQUIRE(said.size() == run.blocks.size());
                // The last of several parts of an image may be smaller than the others.
                const bool in_parts = entry.id.starts_with("winograd") && run.blocks.size() > 3;
                for (std::size_t i = 0; i < said.size(); ++i) {
                    CHECK((said[i] == run.blocks[i] || (in_parts && said[i] > run.blocks[i])));
                }
                CHECK(said.back() == run.blocks.back());
            }
        }
    }
}

}  // namespace block_tests
