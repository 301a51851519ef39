// Direct convolution of dilated images that are copied strip by strip.
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
            ps::ConvShape s = same_shape(15, 5, 41, w, 3);
            s.dilation_h = s.dilation_w = dilation;
            s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = dilation;
            if (w == 180) s.h = 150, s.stride_h = 2;
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

}  // namespace direct_strips
