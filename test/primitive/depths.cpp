// Error bounds over short and long depths, and what one pixel that is not finite may change.
#include "laws.hpp"

#include <primsel/kernels/make_kernels.hpp>
#include <primsel/primitive/all.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace laws;

namespace {

namespace ps = primsel;
using ps::GemmForm, ps::GemmOut, ps::Im2, ps::Patch, ps::PatchCopy, ps::Winograd, ps::WinogradLine, ps::KernelForm;

/// One or more of each way to sum: what else there is differs in how it copies.
using Summing =
    ps::TypeList<ps::DirectSum2d, ps::DirectHwc, ps::DirectChwHwc, ps::DirectChw, ps::Indirect, ps::Im2Win,
                 ps::GroupedHwc, Im2<Patch::row, PatchCopy::copy_short, GemmForm::ab, GemmOut::ik>,
                 Im2<Patch::row, PatchCopy::copy_short, GemmForm::abt, GemmOut::ki>,
                 Im2<Patch::col, PatchCopy::copy_self, GemmForm::ab, GemmOut::ki>,
                 Im2<Patch::col, PatchCopy::scan, GemmForm::atbt, GemmOut::ik>,
                 Im2<Patch::row, PatchCopy::scan, GemmForm::atbt, GemmOut::ki>,
                 Im2<Patch::row, PatchCopy::scan, GemmForm::abt, GemmOut::ik>,
                 Im2<Patch::col, PatchCopy::copy_short, GemmForm::atb, GemmOut::ki>,
                 Im2<Patch::col, PatchCopy::copy_short, GemmForm::atb, GemmOut::ik>,
                 ps::Conv1x1Gemm<GemmForm::atbt, GemmOut::ki>, ps::Conv1x1Gemm<GemmForm::atb, GemmOut::ki>,
                 ps::Kn2RowAccumulate<GemmForm::atbt>, ps::Kn2Row<>, ps::Kn2Col<>, ps::Kn2AccumulateShift<true>,
                 ps::Kn2RowAccumulate<GemmForm::ab>, ps::Conv1x1Gemm<GemmForm::ab, GemmOut::ik>, ps::MecCol,
                 ps::MecRowPartition, WinogradLine<2, 3, 8>, WinogradLine<3, 5, 8>, Winograd<2, 3, 16>,
                 Winograd<4, 3, 16>, Winograd<6, 3, 16>, Winograd<4, 5, 16>, WinogradLine<4, 3, 16, KernelForm::row>,
                 WinogradLine<2, 7, 16, KernelForm::column>>;

List summing(ps::Kernels const& kernels) { return make_list(kernels.primitives, ps::AllLayouts{}); }

std::vector<ps::ConvShape> shapes(int c) {
    std::vector<ps::ConvShape> result{same_shape(c, 4, 6, 6, 3), same_shape(c, 4, 7, 6, 5), same_shape(c, 4, 6, 6, 1),
                                      same_shape(c, 4, 6, 6, 3), same_shape(c, 4, 6, 9, 7)};
    result[3].fh = 1, result[3].pad_top = result[3].pad_bottom = 0;
    result[4].fw = 1, result[4].pad_left = result[4].pad_right = 0;
    return result;
}

TEST_CASE("error bounds hold over short and long depths, and Winograd's are the larger ones") {
    const ps::Kernels kernels = ps::make_kernels<Summing, ps::default_arch, ps::AllLayouts>();
    const List list = summing(kernels);
    ps::Sequential sequential;
    for (const int c : {3, 64, quick() ? 512 : 8192}) {
        for (ps::ConvShape const& shape : shapes(c)) {
            const Problem problem(shape, Values::normal);
            const std::vector<double> exact = problem.exact({});
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (!entry.supports(shape)) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                CHECK(error(run(list, entry, problem, {}, sequential, Watch::zones).dst, exact) <= entry.error_bound);
            }
        }
    }
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        CAPTURE(std::string(entry.id));
        if (entry.mixes_pixels) CHECK(entry.error_bound >= 4e-5);
        if (entry.id == "im2row-copy-short-ab-ik" || entry.id == "direct-hwc") CHECK(entry.error_bound <= 2e-5);
    }
}

TEST_CASE("a pixel that is huge or not finite changes only outputs that read it, where pixels are not mixed") {
    const ps::Kernels kernels = ps::make_kernels<Summing, ps::default_arch, ps::AllLayouts>();
    const List list = summing(kernels);
    ps::Sequential sequential;
    for (ps::ConvShape const& shape : shapes(5)) {
        const Problem clean(shape, Values::normal);
        for (const float spoilt : {std::numeric_limits<float>::infinity(), std::nanf(""), 1e30F}) {
            Problem problem = clean;
            const int h = 2, w = 3;
            problem.src[static_cast<std::size_t>((1 * shape.h + h) * shape.w + w)] = spoilt;
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (!entry.supports(shape) || entry.mixes_pixels) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                const std::vector<float> before = run(list, entry, clean, {}, sequential, Watch::zones).dst;
                const std::vector<float> after = run(list, entry, problem, {}, sequential, Watch::zones).dst;
                std::size_t at = 0;
                for (int k = 0; k < shape.k; ++k) {
                    for (int y = 0; y < shape.out_h(); ++y) {
                        for (int x = 0; x < shape.out_w(); ++x, ++at) {
                            const bool reads = std::abs(y - h) <= shape.fh / 2 && std::abs(x - w) <= shape.fw / 2;
                            if (!reads && after[at] != before[at]) FAIL_CHECK("output ", k, ", ", y, ", ", x);
                        }
                    }
                }
            }
        }
    }
}

}  // namespace
