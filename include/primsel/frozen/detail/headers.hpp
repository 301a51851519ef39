// The headers that declare the library's kernels. frozen/headers.cpp tests that every one is there.
#pragma once

#include <primsel/core/config.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::frozen::detail {

/// A type, without its template arguments, and the header that has it or its op.
struct Declared {
    std::string_view type, header;
};

inline constexpr Declared primitive_headers[] = {
    {"Conv1x1Gemm", "conv1x1"},
    {"DepthwiseBf16", "depthwise_bf16"},
    {"DepthwiseChw", "depthwise"},
    {"DepthwiseHwc", "depthwise"},
    {"DepthwiseInt8", "depthwise_int8"},
    {"DirectBf16", "direct_bf16"},
    {"DirectBf16Hwc", "direct_bf16"},
    {"DirectChw", "direct_chw"},
    {"DirectChwHwc", "direct"},
    {"DirectHwc", "direct"},
    {"DirectHwcBf16", "direct_bf16"},
    {"DirectHwcBf16Hwc", "direct_bf16"},
    {"DirectHwcInt8", "direct_int8"},
    {"DirectHwcInt8Hwc", "direct_int8"},
    {"DirectInt8", "direct_int8"},
    {"DirectInt8Hwc", "direct_int8"},
    {"DirectSum2d", "direct"},
    {"GroupedHwc", "grouped"},
    {"Im2", "im2"},
    {"Im2Win", "im2win"},
    {"Indirect", "indirect"},
    {"Kn2AccumulateShift", "kn2"},
    {"Kn2Col", "kn2"},
    {"Kn2Row", "kn2"},
    {"Kn2RowAccumulate", "kn2"},
    {"MecCol", "mec"},
    {"MecRowPartition", "mec"},
    {"Winograd", "winograd"},
    {"WinogradLine", "winograd_line"},
    {"WinogradStem", "winograd_stem"},
};

/// A layer's parameters, and the headers of its op in strided layouts, in those of short floats and in that of bytes.
struct DeclaredOp {
    std::string_view type, strided, short_floats{}, int8{};
};

inline constexpr DeclaredOp op_headers[] = {
    {"ActivationParams", "activation", "bf16", "int8"},
    {"AddParams", "combine", "bf16", "int8"},
    {"AsStridedParams", "as_strided"},
    {"BatchNormParams", "affine"},
    {"BinaryParams", "binary", "narrow", "narrow"},
    {"ChannelShuffleParams", "reshape", "narrow", "narrow"},
    {"ConcatParams", "combine", "narrow", "narrow"},
    {"ConvTransposeParams", "conv_transpose", "conv_transpose_narrow", "conv_transpose_narrow"},
    {"DenseParams", "dense", "dense_narrow", "dense_narrow"},
    {"DenseRowsParams", "dense", "dense_narrow", "dense_narrow"},
    {"DropoutParams", "reshape"},
    {"FlattenParams", "reshape"},
    {"GatherParams", "gather"},
    {"GlobalPoolParams", "global_pool", "bf16", "int8"},
    {"GridSampleParams", "grid_sample"},
    {"LrnParams", "lrn"},
    {"MatMulParams", "matmul", "", "matmul_int8"},
    {"MaxPoolIndicesParams", "max_pool_indices"},
    {"NonMaxSuppressionParams", "non_max_suppression"},
    {"PadParams", "pad", "narrow", "narrow"},
    {"PoolParams", "pool", "bf16", "int8"},
    {"RecurrentParams", "recurrent"},
    {"ReduceParams", "reduce"},
    {"ReshapeParams", "reshape"},
    {"ResizeParams", "resize", "narrow", "narrow"},
    {"RoiAlignParams", "roi_align"},
    {"ScaleParams", "affine"},
    {"ScatterParams", "scatter"},
    {"SliceParams", "reshape", "narrow", "narrow"},
    {"SoftmaxParams", "softmax"},
    {"StandardizeParams", "standardize"},
    {"TopKParams", "top_k"},
};

}  // namespace primsel::inline PRIMSEL_ABI::frozen::detail
