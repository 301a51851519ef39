// THE list of operators.
#pragma once

#include <primsel/onnx/detail/activation.hpp>
#include <primsel/onnx/detail/convolution.hpp>
#include <primsel/onnx/detail/detection.hpp>
#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/fold.hpp>
#include <primsel/onnx/detail/fused.hpp>
#include <primsel/onnx/detail/gather.hpp>
#include <primsel/onnx/detail/join.hpp>
#include <primsel/onnx/detail/logic.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/normalization.hpp>
#include <primsel/onnx/detail/pool.hpp>
#include <primsel/onnx/detail/reduce.hpp>
#include <primsel/onnx/detail/reshape.hpp>
#include <primsel/onnx/detail/resize.hpp>
#include <primsel/onnx/detail/slice.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::onnx {

struct Operator {
    std::string_view name;
    void (*translate)(Call&);
};

inline constexpr Operator operators[] = {
    {"Abs", translate_function},
    {"Acos", translate_function},
    {"Acosh", translate_function},
    {"Add", translate_add},
    {"And", translate_and},
    {"ArgMax", translate_arg_max},
    {"ArgMin", translate_arg_min},
    {"Asin", translate_function},
    {"Asinh", translate_function},
    {"Atan", translate_function},
    {"Atanh", translate_function},
    {"AveragePool", translate_average_pool},
    {"BatchNormalization", translate_batch_norm},
    {"Cast", translate_cast},
    {"CastLike", translate_cast},
    {"Ceil", translate_function},
    {"Celu", translate_celu},
    {"Clip", translate_clip},
    {"Concat", translate_concat},
    {"Constant", translate_constant},
    {"ConstantOfShape", translate_constant_of_shape},
    {"Conv", translate_conv},
    {"ConvTranspose", translate_conv_transpose},
    {"Cos", translate_function},
    {"Cosh", translate_function},
    {"DepthToSpace", translate_depth_to_space},
    {"Div", translate_div},
    {"Dropout", translate_dropout},
    {"Elu", translate_elu},
    {"Equal", translate_equal},
    {"Erf", translate_function},
    {"Exp", translate_function},
    {"Expand", translate_expand},
    {"Flatten", translate_flatten},
    {"Floor", translate_function},
    {"Gather", translate_gather},
    {"GatherElements", translate_gather_elements},
    {"GatherND", translate_gather_nd},
    {"Gelu", translate_gelu},
    {"Gemm", translate_gemm},
    {"GlobalAveragePool", translate_global_average_pool},
    {"GlobalMaxPool", translate_global_max_pool},
    {"Greater", translate_greater},
    {"GreaterOrEqual", translate_greater_or_equal},
    {"GroupNormalization", translate_group_norm},
    {"HardSigmoid", translate_hard_sigmoid},
    {"HardSwish", translate_hard_swish},
    {"Identity", translate_identity},
    {"InstanceNormalization", translate_instance_norm},
    {"IsInf", translate_is_inf},
    {"IsNaN", translate_is_nan},
    {"LRN", translate_lrn},
    {"LayerNormalization", translate_layer_norm},
    {"LeakyRelu", translate_leaky_relu},
    {"Less", translate_less},
    {"LessOrEqual", translate_less_or_equal},
    {"Log", translate_function},
    {"LogSoftmax", translate_log_softmax},
    {"LpNormalization", translate_lp_norm},
    {"MatMul", translate_matmul},
    {"Max", translate_max},
    {"MaxPool", translate_max_pool},
    {"Mean", translate_sum},
    {"MeanVarianceNormalization", translate_mean_variance_norm},
    {"Min", translate_min},
    {"Mish", translate_mish},
    {"Mod", translate_mod},
    {"Mul", translate_mul},
    {"Neg", translate_neg},
    {"NonMaxSuppression", translate_non_max_suppression},
    {"NonZero", translate_non_zero},
    {"Not", translate_not},
    {"Or", translate_or},
    {"PRelu", translate_prelu},
    {"Pad", translate_pad},
    {"Pow", translate_pow},
    {"Range", translate_range},
    {"Reciprocal", translate_reciprocal},
    {"ReduceL1", translate_reduce_l1},
    {"ReduceL2", translate_reduce_l2},
    {"ReduceLogSum", translate_reduce_log_sum},
    {"ReduceLogSumExp", translate_reduce_log_sum_exp},
    {"ReduceMax", translate_reduce_max},
    {"ReduceMean", translate_reduce_mean},
    {"ReduceMin", translate_reduce_min},
    {"ReduceProd", translate_reduce_prod},
    {"ReduceSum", translate_reduce_sum},
    {"ReduceSumSquare", translate_reduce_sum_square},
    {"Relu", translate_relu},
    {"Reshape", translate_reshape},
    {"Resize", translate_resize},
    {"Round", translate_function},
    {"ScatterElements", translate_scatter_elements},
    {"ScatterND", translate_scatter_nd},
    {"Selu", translate_selu},
    {"Shape", translate_shape},
    {"Shrink", translate_shrink},
    {"Sigmoid", translate_sigmoid},
    {"Sign", translate_function},
    {"Sin", translate_function},
    {"Sinh", translate_function},
    {"Size", translate_size},
    {"Slice", translate_slice},
    {"Softmax", translate_softmax},
    {"Softplus", translate_function},
    {"Softsign", translate_softsign},
    {"SpaceToDepth", translate_space_to_depth},
    {"Split", translate_split},
    {"Sqrt", translate_function},
    {"Squeeze", translate_squeeze},
    {"Sub", translate_sub},
    {"Sum", translate_sum},
    {"Swish", translate_swish},
    {"Tan", translate_function},
    {"Tanh", translate_tanh},
    {"ThresholdedRelu", translate_thresholded_relu},
    {"Tile", translate_tile},
    {"TopK", translate_top_k},
    {"Transpose", translate_transpose},
    {"Unsqueeze", translate_unsqueeze},
    {"Upsample", translate_upsample},
    {"Where", translate_where},
    {"Xor", translate_xor},
    {"com.microsoft.FusedConv", translate_fused_conv},
};

/// Null when there is none of that name.
[[nodiscard]] inline const Operator* find_operator(std::string_view name) {
    for (Operator const& entry : operators) {
        if (entry.name == name) return &entry;
    }
    return nullptr;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
