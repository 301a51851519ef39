// THE list. Adding a primitive here gives it law tests, a benchmark, a column in every profile and a candidate in every
// plan.
#pragma once

#include <primsel/core/type_list.hpp>
#include <primsel/primitive/conv1x1.hpp>
#include <primsel/primitive/direct.hpp>
#include <primsel/primitive/im2.hpp>
#include <primsel/primitive/kn2.hpp>
#include <primsel/primitive/mec.hpp>
#include <primsel/primitive/winograd.hpp>

namespace primsel::inline PRIMSEL_ABI {

using DirectPrimitives = TypeList<DirectSum2d, DirectHwc>;

using Im2Primitives = TypeList<Im2<Patch::col, PatchCopy::scan, GemmForm::ab, GemmOut::ki>,         //
                               Im2<Patch::col, PatchCopy::copy_short, GemmForm::ab, GemmOut::ki>,   //
                               Im2<Patch::col, PatchCopy::copy_short, GemmForm::atb, GemmOut::ik>,  //
                               Im2<Patch::col, PatchCopy::copy_self, GemmForm::ab, GemmOut::ki>,    //
                               Im2<Patch::row, PatchCopy::scan, GemmForm::ab, GemmOut::ik>,         //
                               Im2<Patch::row, PatchCopy::copy_short, GemmForm::ab, GemmOut::ik>,   //
                               Im2<Patch::row, PatchCopy::copy_short, GemmForm::abt, GemmOut::ki>>;

using Kn2Primitives = TypeList<Kn2Row<>, Kn2Col<>, Kn2AccumulateShift<true>, Kn2AccumulateShift<false>,
                               Kn2RowAccumulate<GemmForm::ab>, Kn2RowAccumulate<GemmForm::abt>>;

using WinogradPrimitives = TypeList<Winograd<2, 3, 1>, Winograd<2, 3, 4>, Winograd<2, 3, 8>, Winograd<2, 3, 16>,  //
                                    Winograd<4, 3, 1>, Winograd<4, 3, 4>, Winograd<4, 3, 8>, Winograd<4, 3, 16>,  //
                                    Winograd<2, 5, 1>, Winograd<2, 5, 16>, Winograd<4, 5, 16>>;

using Conv1x1Primitives = TypeList<Conv1x1Gemm<GemmForm::ab, GemmOut::ki>, Conv1x1Gemm<GemmForm::ab, GemmOut::ik>,
                                   Conv1x1Gemm<GemmForm::atb, GemmOut::ik>, Conv1x1Gemm<GemmForm::abt, GemmOut::ki>>;

using MecPrimitives = TypeList<MecCol, MecRowPartition>;

using AllPrimitives =
    concatenate<DirectPrimitives, Im2Primitives, Kn2Primitives, WinogradPrimitives, Conv1x1Primitives, MecPrimitives>;

}  // namespace primsel::inline PRIMSEL_ABI
