// Primitives that compute some rows of a result at a time.
#include "laws.hpp"

#include <primsel/primitive/rows_of.hpp>

#include <doctest/doctest.h>

#include <map>

using namespace laws;

TEST_CASE("the convolution of some rows has as many, from the rows of the image under them") {
    for (ps::ConvShape const& shape : odd_shapes()) {
        if (!ps::rows_read_image(shape)) continue;
        CAPTURE(to_string(shape));
        CHECK(ps::rows_of(shape, {0, shape.out_h()}).out_h() == shape.out_h());
        for (int begin = 0; begin < shape.out_h(); ++begin) {
            for (int end = begin + 1; end <= shape.out_h(); ++end) {
                const ps::ConvShape part = ps::rows_of(shape, {begin, end});
                const ps::Rows under = ps::rows_under(shape, {begin, end});
                REQUIRE(part.valid());
                CHECK(part.out_h() == end - begin);
                CHECK(part.h == under.count());
                CHECK(under.begin >= 0);
                CHECK(under.end <= shape.h);
                // Each row of the kernel meets the row of the image, or of the padding, that it meets in the whole.
                CHECK(under.begin - part.pad_top == begin * shape.stride_h - shape.pad_top);
            }
        }
    }
}

TEST_CASE("by rows: the same bits as in the whole, by the same packed weights") {
    const List list = all_primitives();
    ps::Sequential sequential;
    std::mt19937 bits(5);
    std::map<std::string_view, int> runs;
    std::vector<ps::ConvShape> shapes = odd_shapes();
    shapes.push_back(same_shape(3, 16, 70, 61, 3));  // copied in strips, and without
    shapes.push_back(same_shape(64, 33, 57, 43, 3));
    for (const int size : {2, 4, 8}) {
        shapes.push_back(same_shape(32, 32, 19, 14, 3));
        shapes.back().groups = 32 / size;
    }
    for (const int stride : {1, 2}) {
        shapes.push_back(same_shape(37, 37, 23, 29, 3));
        shapes.back().groups = 37, shapes.back().stride_h = shapes.back().stride_w = stride;
    }
    for (ps::ConvShape const& shape : shapes) {
        if (!ps::rows_read_image(shape)) continue;
        const Problem problem(shape, Values::normal);
        const Epilogue epilogue{.bias = true, .residual = bits() % 2 == 0, .clamp = ps::relu6_clamp};
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.by_rows || !entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            const bool in_chw = list.layouts[entry.in_layout].name == ps::chw::name;
            REQUIRE((in_chw || list.layouts[entry.in_layout].name == ps::hwc::name));
            REQUIRE(list.layouts[entry.out_layout].name == ps::hwc::name);
            REQUIRE(entry.fuses_epilogue);
            const Outcome whole = run(list, entry, problem, epilogue, sequential, Watch::zones);
            const std::size_t packed_floats = entry.packed_bytes(shape) / sizeof(float);
            Guarded src(problem.src.size(), Watch::heap, 1), residual(problem.residual.size(), Watch::heap, 3),
                packed(packed_floats, Watch::heap, 1), again(packed_floats, Watch::heap, 1),
                dst(problem.residual.size(), Watch::zones, 5);
            LayoutFacts const& hwc = list.layouts[entry.out_layout];
            for_each_element(list.layouts[entry.in_layout], shape.in_shape(),
                             [&](std::size_t i, std::size_t at) { src.data()[at] = problem.src[i]; });
            for_each_element(hwc, shape.out_shape(),
                             [&](std::size_t i, std::size_t at) { residual.data()[at] = problem.residual[i]; });
            entry.pack(shape, problem.kernel.data(), packed.data());
            const auto in_row = static_cast<std::size_t>(shape.w * shape.c),
                       out_row = static_cast<std::size_t>(shape.out_w() * shape.k);
            for (int begin = 0; begin < shape.out_h();) {
                const int left = shape.out_h() - begin,
                          end = begin + 1 + static_cast<int>(bits() % static_cast<unsigned>(left));
                const ps::ConvShape part = ps::rows_of(shape, {begin, end});
                REQUIRE(entry.supports(part));
                REQUIRE(entry.packed_bytes(part) == entry.packed_bytes(shape));
                entry.pack(part, problem.kernel.data(), again.data());
                CHECK(std::memcmp(again.data(), packed.data(), packed_floats * sizeof(float)) == 0);
                Guarded scratch(entry.scratch_bytes(part, 1, 1) / sizeof(float), Watch::heap, 0);
                const auto first = static_cast<std::size_t>(begin);
                const auto under = static_cast<std::size_t>(ps::rows_under(shape, {begin, begin + part.out_h()}).begin);
                // An image of these rows alone: in hwc, they lie beside each other already.
                const auto columns = static_cast<std::size_t>(shape.w);
                Guarded planes(in_chw ? part.in_shape().size() : 0, Watch::heap, 1);
                for (std::size_t c = 0; in_chw && c < static_cast<std::size_t>(shape.c); ++c) {
                    std::copy_n(src.data() + c * shape.in_pixels() + under * columns, part.in_pixels(),
                                planes.data() + c * part.in_pixels());
                }
                entry.run(part, {.src = in_chw ? planes.data() : src.data() + under * in_row,
                                 .weights = packed.data(),
                                 .bias = problem.bias.data(),
                                 .residual = epilogue.residual ? residual.data() + first * out_row : nullptr,
                                 .clamp = epilogue.clamp,
                                 .dst = dst.data() + first * out_row,
                                 .scratch = scratch.data(),
                                 .executor = sequential});
                begin += part.out_h();
            }
            std::vector<float> rows(whole.dst.size());
            for_each_element(hwc, shape.out_shape(), [&](std::size_t i, std::size_t at) { rows[i] = dst.data()[at]; });
            CHECK(dst.intact());
            CHECK(same_bits(rows, whole.dst));
            ++runs[entry.id];
        }
    }
    CHECK(runs.size() == 5);
    for (auto const& each : runs) {
        CAPTURE(std::string(each.first));
        CHECK(each.second >= 4);
    }
}
