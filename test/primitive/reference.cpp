#include "laws.hpp"

#include <doctest/doctest.h>

using namespace laws;

namespace {

/// Convolution the other way round: every input element is added to all the outputs that see it.
std::vector<double> scatter(ps::ConvShape const& s, std::vector<float> const& src, std::vector<float> const& kernel) {
    const ps::Shape in = s.in_shape(), out = s.out_shape();
    std::vector<double> dst(out.size());
    for (int c = 0; c < s.c; ++c) {
        const int group = c / s.group_c();
        for (int h = 0; h < s.h; ++h) {
            for (int w = 0; w < s.w; ++w) {
                for (int fh = 0; fh < s.fh; ++fh) {
                    for (int fw = 0; fw < s.fw; ++fw) {
                        const int y = h + s.pad_top - fh * s.dilation_h, x = w + s.pad_left - fw * s.dilation_w;
                        if (y < 0 || x < 0 || y % s.stride_h != 0 || x % s.stride_w != 0) continue;
                        const int oh = y / s.stride_h, ow = x / s.stride_w;
                        if (oh >= out.h || ow >= out.w) continue;
                        for (int k = group * s.group_k(); k < (group + 1) * s.group_k(); ++k) {
                            const int tap = ((k * s.group_c() + c % s.group_c()) * s.fh + fh) * s.fw + fw;
                            dst[ps::chw::offset(out, {k, oh, ow})] +=
                                static_cast<double>(src[ps::chw::offset(in, {c, h, w})]) *
                                static_cast<double>(kernel[static_cast<std::size_t>(tap)]);
                        }
                    }
                }
            }
        }
    }
    return dst;
}

}  // namespace

TEST_CASE("the reference on an example worked by hand") {
    // 1 2 3                       with a frame of zeros, every other column: centre, then right edge
    // 4 5 6   and the kernel 1 10
    // 7 8 9                  0 -1
    constexpr ps::ConvShape s{.h = 3, .w = 3, .fh = 2, .fw = 2, .stride_w = 2, .pad_top = 1, .pad_right = 1};
    static_assert(s.out_h() == 3 && s.out_w() == 2);
    const std::vector<float> src{1, 2, 3, 4, 5, 6, 7, 8, 9}, kernel{1, 10, 0, -1};
    std::vector<float> dst(6);
    ps::reference_convolution(s, src.data(), kernel.data(), nullptr, nullptr, {}, dst.data());
    CHECK(dst == std::vector<float>{-2, 0, 1 + 20 - 5, 3, 4 + 50 - 8, 6});

    const float bias = 0.5F;
    const std::vector<float> residual{1, 2, 3, 4, 5, 6};
    ps::reference_convolution(s, src.data(), kernel.data(), &bias, residual.data(), {0, 20}, dst.data());
    CHECK(dst == std::vector<float>{0, 2.5F, 19.5F, 7.5F, 20, 12.5F});
}

TEST_CASE("the reference gathers what a scatter spreads, and does to it what is asked") {
    for (ps::ConvShape const& shape : odd_shapes()) {
        CAPTURE(to_string(shape));
        const Problem problem(shape, Values::integers);
        CHECK(problem.exact({}) == scatter(shape, problem.src, problem.kernel));
        Epilogue const& epilogue = epilogues[1];
        std::vector<double> dst(problem.residual.size());
        ps::reference_convolution<double>(shape, problem.src.data(), problem.kernel.data(), problem.bias.data(),
                                          problem.residual.data(), epilogue.clamp, dst.data());
        CHECK(dst == problem.exact(epilogue));
    }
}
