// The list of all primitives. A type added to AllPrimitives gets law tests, a benchmark and a column in every profile.
// DefaultPrimitives, chosen from the profiles, are candidates in every plan.
#pragma once

#include <primsel/core/type_list.hpp>
#include <primsel/primitive/conv1x1.hpp>
#include <primsel/primitive/default_primitives.hpp>
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

using DirectPrimitives = TypeList<DirectSum2d>;

namespace primitive::detail {

template <PatchCopy copy>
using Im2Row = TypeList<Im2<Patch::row, copy, GemmForm::ab, GemmOut::ik>,   //
                        Im2<Patch::row, copy, GemmForm::abt, GemmOut::ik>,  //
                        Im2<Patch::row, copy, GemmForm::abt, GemmOut::ki>,  //
                        Im2<Patch::row, copy, GemmForm::atbt, GemmOut::ki>>;
template <PatchCopy copy>
using Im2Col = TypeList<Im2<Patch::col, copy, GemmForm::ab, GemmOut::ki>,   //
                        Im2<Patch::col, copy, GemmForm::atb, GemmOut::ki>,  //
                        Im2<Patch::col, copy, GemmForm::atb, GemmOut::ik>,  //
                        Im2<Patch::col, copy, GemmForm::atbt, GemmOut::ik>>;

template <int m, int r>
using WinogradWidths = TypeList<Winograd<m, r, 1>, Winograd<m, r, 4>, Winograd<m, r, 8>, Winograd<m, r, 16>>;
template <int m, int r>
using WinogradLineWidths = TypeList<WinogradLine<m, r, 1>, WinogradLine<m, r, 4>, WinogradLine<m, r, 8>>;
template <int r>
using WinogradSizes = concatenate<WinogradLineWidths<2, r>, WinogradLineWidths<3, r>, WinogradWidths<2, r>,
                                  WinogradWidths<3, r>, WinogradWidths<4, r>>;

template <GemmOut out>
using Conv1x1Forms = TypeList<Conv1x1Gemm<GemmForm::ab, out>, Conv1x1Gemm<GemmForm::atb, out>,
                              Conv1x1Gemm<GemmForm::abt, out>, Conv1x1Gemm<GemmForm::atbt, out>>;

}  // namespace primitive::detail

using Im2Primitives =
    concatenate<primitive::detail::Im2Row<PatchCopy::scan>, primitive::detail::Im2Row<PatchCopy::copy_short>,
                primitive::detail::Im2Col<PatchCopy::scan>, primitive::detail::Im2Col<PatchCopy::copy_short>,
                primitive::detail::Im2Col<PatchCopy::copy_self>>;
using Kn2Primitives = TypeList<Kn2Row<>, Kn2Col<>, Kn2AccumulateShift<true>, Kn2AccumulateShift<false>,  //
                               Kn2RowAccumulate<GemmForm::ab>, Kn2RowAccumulate<GemmForm::atb>,
                               Kn2RowAccumulate<GemmForm::abt>, Kn2RowAccumulate<GemmForm::atbt>>;
using Wino3Primitives = primitive::detail::WinogradSizes<3>;
using Wino5Primitives = primitive::detail::WinogradSizes<5>;
using Conv1x1Primitives =
    concatenate<primitive::detail::Conv1x1Forms<GemmOut::ik>, primitive::detail::Conv1x1Forms<GemmOut::ki>>;
using MecPrimitives = TypeList<MecCol, MecRowPartition>;

/// The 75 primitives of the papers' measurements (Mulder et al. 2020, table 6).
using PublishedPrimitives = concatenate<DirectPrimitives, Im2Primitives, Kn2Primitives, Wino3Primitives,
                                        Wino5Primitives, Conv1x1Primitives, MecPrimitives>;
/// Primitives that the papers did not measure.
using OtherPrimitives =
    TypeList<DirectHwc, DirectChwHwc, DirectChw, DepthwiseChw, DepthwiseHwc, GroupedHwc, Indirect, Im2Win,
             Winograd<6, 3, 16>, WinogradLine<4, 3, 16, KernelForm::row>, WinogradLine<4, 3, 16, KernelForm::column>,
             WinogradLine<2, 7, 16, KernelForm::row>, WinogradLine<2, 7, 16, KernelForm::column>,
             StridedWinograd<2, 16>, StridedWinograd<4, 16>, WinogradStem<4, 7, 2>, WinogradStem<4, 11, 4>>;

using AllPrimitives = concatenate<PublishedPrimitives, OtherPrimitives>;

}  // namespace primsel::inline PRIMSEL_ABI
