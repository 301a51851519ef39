// Direct convolution of dilated images: copied strip by strip, or by ranges of pixels with the same taps inside.
#include "laws.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

namespace direct_strips {

using namespace laws;

TEST_CASE("direct convolution copies only the rows that a strip reads, whatever the dilation") {
    const List list = all_primitives();
    ps::Sequential sequential;
    Backwards backwards;
    std::vector<ps::ConvShape> shapes;
    // Strips of 1, of 3 and of 10 output rows; dilations below, at and above that, and the last strip is shorter.
    for (const int w : {1000, 300, 180}) {
        for (const int dilation : {2, 5, 6, 19}) {
            if (quick() && (dilation == 5 || dilation == 6) == (w == 300)) continue;
            ps::ConvShape s = same_shape(15, 5, quick() ? 23 : 41, w, 3);
            s.dilation_h = s.dilation_w = dilation;
            s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = dilation;
            if (w == 180) s.h = quick() ? 62 : 150, s.stride_h = 2;
            shapes.push_back(s);
        }
    }
    std::size_t runs = 0;
    for (ps::ConvShape const& shape : shapes) {
        const Problem problem(shape, Values::integers);
        const Epilogue epilogue = epilogues[1];
        const std::vector<double> exact = problem.exact(epilogue);
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!std::string_view(entry.id).starts_with("direct-") || !entry.fuses_epilogue) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            const Outcome one = run(list, entry, problem, epilogue, sequential, Watch::zones);
            const Outcome two = run(list, entry, problem, epilogue, backwards, Watch::heap);
            CHECK(one.intact);
            CHECK(same_bits(one.dst, two.dst));
            CHECK(equal(one.dst, exact));
            ++runs;
        }
    }
    CHECK(runs >= 2 * shapes.size());
}

TEST_CASE("taps in the padding are left out, also where a pixel has none inside the image") {
    const List list = all_primitives();
    ps::Sequential sequential;
    Backwards backwards;
    const auto shape_of = [](int c, int k, int h, int w, int f, int dilation, int stride, int groups) {
        ps::ConvShape s = same_shape(c, k, h, w, f);
        s.dilation_h = s.dilation_w = dilation;
        s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = dilation * (f - 1) / 2;
        s.stride_h = s.stride_w = stride;
        s.groups = groups;
        return s;
    };
    std::vector<ps::ConvShape> shapes{shape_of(80, 70, 20, 23, 5, 9, 1, 1), shape_of(40, 33, 12, 7, 3, 11, 1, 1),
                                      shape_of(36, 34, 26, 20, 3, 16, 2, 2), shape_of(64, 20, 1, 40, 7, 1, 1, 1),
                                      shape_of(2000, 70, 6, 6, 3, 5, 1, 1)};
    // The corners have no tap inside the image.
    ps::ConvShape apart = shape_of(48, 17, 5, 6, 3, 9, 1, 1);
    apart.fh = apart.fw = 2;
    apart.pad_top = apart.pad_bottom = apart.pad_left = apart.pad_right = 7;
    shapes.push_back(apart);
    std::size_t turn = 0;
    for (ps::ConvShape const& shape : shapes) {
        const Problem problem(shape, Values::integers);
        for (Epilogue const& epilogue : epilogues) {
            if (quick() && turn++ % 3 != 0) continue;
            const std::vector<double> exact = problem.exact(epilogue);
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (entry.id != "direct-hwc") continue;
                CAPTURE(to_string(shape));
                CHECK(entry.scratch_bytes(shape, 1, 1) == 0);
                const Outcome one = run(list, entry, problem, epilogue, sequential, Watch::zones);
                const Outcome two = run(list, entry, problem, epilogue, backwards, Watch::heap);
                CHECK(one.intact);
                CHECK(same_bits(one.dst, two.dst));
                CHECK(equal(one.dst, exact));
            }
        }
    }
}

}  // namespace direct_strips
