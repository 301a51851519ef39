// Written by bench/primitive/default_primitives.py from the profiles in bench/profiles; not to be edited.
// clang-format off
#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/primitive/conv1x1.hpp>
#include <primsel/primitive/depthwise.hpp>
#include <primsel/primitive/direct.hpp>
#include <primsel/primitive/direct_chw.hpp>
#include <primsel/primitive/grouped.hpp>
#include <primsel/primitive/im2.hpp>
#include <primsel/primitive/im2win.hpp>
#include <primsel/primitive/indirect.hpp>
#include <primsel/primitive/kn2.hpp>
#include <primsel/primitive/mec.hpp>
#include <primsel/primitive/winograd.hpp>
#include <primsel/primitive/winograd_line.hpp>
#include <primsel/primitive/winograd_stem.hpp>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {
template <int lanes_of_list>
struct ChosenPrimitives;
template <>
struct ChosenPrimitives<16> {
    static constexpr int lanes = 16;
    using type = TypeList<
        DirectSum2d,
        Im2<Patch::row, PatchCopy::copy_short, GemmForm::abt, GemmOut::ki>,
        Im2<Patch::col, PatchCopy::copy_self, GemmForm::ab, GemmOut::ki>,
        Kn2AccumulateShift<false>,
        WinogradLine<2, 3, lanes / 2>,
        WinogradLine<3, 3, lanes / 2>,
        Winograd<2, 3, lanes>,
        Winograd<3, 3, lanes / 2>,
        Winograd<4, 3, lanes>,
        WinogradLine<3, 5, lanes / 2>,
        Winograd<3, 5, lanes / 2>,
        Winograd<3, 5, lanes>,
        Winograd<4, 5, lanes / 2>,
        Winograd<4, 5, lanes>,
        Conv1x1Gemm<GemmForm::ab, GemmOut::ik>,
        Conv1x1Gemm<GemmForm::atb, GemmOut::ik>,
        Conv1x1Gemm<GemmForm::ab, GemmOut::ki>,
        Conv1x1Gemm<GemmForm::atb, GemmOut::ki>,
        Conv1x1Gemm<GemmForm::abt, GemmOut::ki>,
        MecCol,
        DirectHwc,
        DirectChwHwc,
        DirectChw,
        DepthwiseChw,
        DepthwiseHwc,
        GroupedHwc,
        Indirect,
        Winograd<6, 3, lanes>,
        WinogradLine<4, 3, 16, KernelForm::row>,
        WinogradLine<4, 3, 16, KernelForm::column>,
        WinogradLine<2, 7, 16, KernelForm::row>,
        WinogradLine<2, 7, 16, KernelForm::column>,
        StridedWinograd<2, 16>,
        StridedWinograd<4, 16>,
        WinogradStem<4, 7, 2>,
        WinogradStem<4, 11, 4>>;
};
template <>
struct ChosenPrimitives<8> {
    static constexpr int lanes = 8;
    using type = TypeList<
        DirectSum2d,
        Im2<Patch::row, PatchCopy::copy_short, GemmForm::abt, GemmOut::ki>,
        Im2<Patch::row, PatchCopy::copy_short, GemmForm::atbt, GemmOut::ki>,
        Im2<Patch::col, PatchCopy::copy_self, GemmForm::ab, GemmOut::ki>,
        Kn2AccumulateShift<true>,
        Winograd<2, 3, 2 * lanes>,
        Winograd<3, 3, lanes>,
        Winograd<4, 3, lanes>,
        Winograd<3, 5, lanes>,
        Winograd<4, 5, lanes>,
        Conv1x1Gemm<GemmForm::ab, GemmOut::ik>,
        Conv1x1Gemm<GemmForm::atbt, GemmOut::ik>,
        Conv1x1Gemm<GemmForm::ab, GemmOut::ki>,
        Conv1x1Gemm<GemmForm::abt, GemmOut::ki>,
        Conv1x1Gemm<GemmForm::atbt, GemmOut::ki>,
        MecCol,
        DirectHwc,
        DirectChwHwc,
        DirectChw,
        DepthwiseChw,
        DepthwiseHwc,
        GroupedHwc,
        Indirect,
        Winograd<6, 3, 2 * lanes>,
        WinogradLine<4, 3, 16, KernelForm::row>,
        WinogradLine<4, 3, 16, KernelForm::column>,
        WinogradLine<2, 7, 16, KernelForm::row>,
        WinogradLine<2, 7, 16, KernelForm::column>,
        StridedWinograd<2, 16>,
        StridedWinograd<4, 16>,
        WinogradStem<4, 7, 2>,
        WinogradStem<4, 11, 4>>;
};
template <>
struct ChosenPrimitives<4> {
    static constexpr int lanes = 4;
    using type = TypeList<
        DirectSum2d,
        Im2<Patch::row, PatchCopy::copy_short, GemmForm::abt, GemmOut::ik>,
        Im2<Patch::row, PatchCopy::copy_short, GemmForm::abt, GemmOut::ki>,
        Im2<Patch::col, PatchCopy::copy_self, GemmForm::ab, GemmOut::ki>,
        Kn2Col<>,
        Kn2RowAccumulate<GemmForm::ab>,
        Winograd<4, 3, lanes>,
        Winograd<4, 3, 2 * lanes>,
        Winograd<4, 3, 4 * lanes>,
        Winograd<4, 5, 2 * lanes>,
        Winograd<4, 5, 4 * lanes>,
        Conv1x1Gemm<GemmForm::atb, GemmOut::ik>,
        Conv1x1Gemm<GemmForm::abt, GemmOut::ik>,
        Conv1x1Gemm<GemmForm::atbt, GemmOut::ik>,
        Conv1x1Gemm<GemmForm::atb, GemmOut::ki>,
        Conv1x1Gemm<GemmForm::abt, GemmOut::ki>,
        MecCol,
        MecRowPartition,
        DirectHwc,
        DirectChwHwc,
        DirectChw,
        DepthwiseChw,
        DepthwiseHwc,
        GroupedHwc,
        Indirect,
        Im2Win,
        Winograd<6, 3, 4 * lanes>,
        WinogradLine<4, 3, 16, KernelForm::row>,
        WinogradLine<4, 3, 16, KernelForm::column>,
        WinogradLine<2, 7, 16, KernelForm::row>,
        WinogradLine<2, 7, 16, KernelForm::column>,
        StridedWinograd<2, 16>,
        StridedWinograd<4, 16>,
        WinogradStem<4, 7, 2>,
        WinogradStem<4, 11, 4>>;
};
}  // namespace primitive::detail

/// The primitives that an engine for an Arch considers by default. On every profile of the Arch's vector width, their
/// best is at most 0.5 % slower than the best of AllPrimitives in the mean over the layers, and at most 10 % on any
/// layer.
template <class Arch>
using DefaultPrimitivesOf =
    typename primitive::detail::ChosenPrimitives<lanes<Arch> >= 16 ? 16 : lanes<Arch> >= 8 ? 8 : 4>::type;
/// The default primitives for the instruction set of this translation unit. They compile faster than all primitives.
using DefaultPrimitives = DefaultPrimitivesOf<default_arch>;

}  // namespace primsel::inline PRIMSEL_ABI
