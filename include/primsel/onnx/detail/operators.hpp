// THE list of operators.
#pragma once

#include <primsel/onnx/detail/activation.hpp>
#include <primsel/onnx/detail/attention.hpp>
#include <primsel/onnx/detail/convolution.hpp>
#include <primsel/onnx/detail/detection.hpp>
#include <primsel/onnx/detail/einsum.hpp>
#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/fold.hpp>
#include <primsel/onnx/detail/fused.hpp>
#include <primsel/onnx/detail/gather.hpp>
#include <primsel/onnx/detail/join.hpp>
#include <primsel/onnx/detail/logic.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/normalization.hpp>
#include <primsel/onnx/detail/pool.hpp>
#include <primsel/onnx/detail/positions.hpp>
#include <primsel/onnx/detail/qlinear.hpp>
#include <primsel/onnx/detail/quantised.hpp>
#include <primsel/onnx/detail/quantised_products.hpp>
#include <primsel/onnx/detail/recurrent.hpp>
#include <primsel/onnx/detail/reduce.hpp>
#include <primsel/onnx/detail/reshape.hpp>
#include <primsel/onnx/detail/resize.hpp>
#include <primsel/onnx/detail/sampling.hpp>
#include <primsel/onnx/detail/scatter.hpp>
#include <primsel/onnx/detail/slice.hpp>
#include <primsel/onnx/detail/spectrum.hpp>
#include <primsel/onnx/detail/transposed.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::onnx {

struct Operator {
    std::string_view name;
    void (*translate)(Call&);
    /// Whether it only moves or selects elements of its first input, so that integers may stand for real numbers.
    bool moves = false;
};

inline constexpr Operator operators[] = {
    {"Abs", translate_function},
    {"Acos", translate_function},
    {"Acosh", translate_function},
    {"Add", translate_add},
    {"AffineGrid", translate_affine_grid},
    {"And", translate_and},
    {"ArgMax", translate_arg_max},
    {"ArgMin", translate_arg_min},
    {"Asin", translate_function},
    {"Asinh", translate_function},
    {"Atan", translate_function},
    {"Atanh", translate_function},
    {"Attention", translate_attention},
    {"AveragePool", translate_average_pool},
    {"BatchNormalization", translate_batch_norm},
    {"BlackmanWindow", translate_window_function},
    {"Cast", translate_cast_or_keep},
    {"CastLike", translate_cast},
    {"Ceil", translate_function},
    {"Celu", translate_celu},
    {"Clip", translate_clip},
    {"Col2Im", translate_col2im},
    {"Concat", translate_concat},
    {"Constant", translate_constant},
    {"ConstantOfShape", translate_constant_of_shape},
    {"Conv", translate_conv},
    {"ConvTranspose", translate_conv_transpose},
    {"ConvInteger", translate_conv_integer},
    {"Cos", translate_function},
    {"Cosh", translate_function},
    {"CumSum", translate_cum_sum},
    {"DFT", translate_dft},
    {"DeformConv", translate_deform_conv},
    {"DepthToSpace", translate_depth_to_space, true},
    {"DequantizeLinear", translate_dequantize_linear},
    {"Div", translate_div},
    {"Dropout", translate_dropout},
    {"DynamicQuantizeLinear", translate_dynamic_quantize_linear},
    {"Einsum", translate_einsum},
    {"Elu", translate_elu},
    {"Equal", translate_equal},
    {"Erf", translate_function},
    {"Exp", translate_function},
    {"Expand", translate_expand, true},
    {"Flatten", translate_flatten, true},
    {"Floor", translate_function},
    {"GRU", translate_recurrent},
    {"Gather", translate_gather},
    {"GatherElements", translate_gather_elements},
    {"GatherND", translate_gather_nd},
    {"Gelu", translate_gelu},
    {"Gemm", translate_gemm},
    {"GlobalAveragePool", translate_global_average_pool},
    {"GlobalLpPool", translate_global_lp_pool},
    {"GlobalMaxPool", translate_global_max_pool},
    {"Greater", translate_greater},
    {"GreaterOrEqual", translate_greater_or_equal},
    {"GridSample", translate_grid_sample},
    {"GroupNormalization", translate_group_norm},
    {"HammingWindow", translate_window_function},
    {"HannWindow", translate_window_function},
    {"HardSigmoid", translate_hard_sigmoid},
    {"HardSwish", translate_hard_swish},
    {"Hardmax", translate_hardmax},
    {"Identity", translate_identity},
    {"InstanceNormalization", translate_instance_norm},
    {"IsInf", translate_is_inf},
    {"IsNaN", translate_is_nan},
    {"LRN", translate_lrn},
    {"LSTM", translate_recurrent},
    {"LayerNormalization", translate_layer_norm},
    {"LeakyRelu", translate_leaky_relu},
    {"Less", translate_less},
    {"LessOrEqual", translate_less_or_equal},
    {"Log", translate_function},
    {"LogSoftmax", translate_log_softmax},
    {"LpNormalization", translate_lp_norm},
    {"LpPool", translate_lp_pool},
    {"MatMul", translate_matmul},
    {"MatMulInteger", translate_matmul_integer},
    {"Max", translate_max},
    {"MaxPool", translate_max_pool, true},
    {"MaxUnpool", translate_max_unpool},
    {"Mean", translate_sum},
    {"MeanVarianceNormalization", translate_mean_variance_norm},
    {"Min", translate_min},
    {"Mish", translate_mish},
    {"Mod", translate_mod},
    {"Mul", translate_mul_or_rescale},
    {"Neg", translate_neg},
    {"NonMaxSuppression", translate_non_max_suppression},
    {"NonZero", translate_non_zero},
    {"Not", translate_not},
    {"OneHot", translate_one_hot},
    {"Or", translate_or},
    {"PRelu", translate_prelu},
    {"Pad", translate_pad},
    {"Pow", translate_pow},
    {"QLinearConv", translate_qlinear_conv},
    {"QLinearMatMul", translate_qlinear_matmul},
    {"QuantizeLinear", translate_quantize_linear},
    {"RMSNormalization", translate_rms_norm},
    {"RNN", translate_recurrent},
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
    {"Reshape", translate_reshape, true},
    {"Resize", translate_resize, true},
    {"RoiAlign", translate_roi_align},
    {"Round", translate_function},
    {"STFT", translate_stft},
    {"Scatter", translate_scatter_elements},
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
    {"Slice", translate_slice, true},
    {"Softmax", translate_softmax},
    {"Softplus", translate_function},
    {"Softsign", translate_softsign},
    {"SpaceToDepth", translate_space_to_depth, true},
    {"Split", translate_split, true},
    {"Sqrt", translate_function},
    {"Squeeze", translate_squeeze, true},
    {"Sub", translate_sub},
    {"Sum", translate_sum},
    {"Swish", translate_swish},
    {"Tan", translate_function},
    {"Tanh", translate_tanh},
    {"ThresholdedRelu", translate_thresholded_relu},
    {"Tile", translate_tile, true},
    {"TopK", translate_top_k},
    {"Trilu", translate_trilu},
    {"Transpose", translate_transpose, true},
    {"Unsqueeze", translate_unsqueeze, true},
    {"Upsample", translate_upsample, true},
    {"Where", translate_where},
    {"Xor", translate_xor},
    {"com.microsoft.DequantizeLinear", translate_dequantize_linear},
    {"com.microsoft.BiasGelu", translate_biased_gelu},
    {"com.microsoft.Attention", translate_packed_attention},
    {"com.microsoft.DynamicQuantizeLSTM", translate_dynamic_quantize_lstm},
    {"com.microsoft.DynamicQuantizeMatMul", translate_dynamic_quantize_matmul},
    {"com.microsoft.FastGelu", translate_biased_gelu},
    {"com.microsoft.FusedConv", translate_fused_conv},
    {"com.microsoft.FusedGemm", translate_fused_gemm},
    {"com.microsoft.FusedMatMul", translate_fused_matmul},
    {"com.microsoft.Gelu", translate_biased_gelu},
    {"com.microsoft.MatMulIntegerToFloat", translate_matmul_integer_to_float},
    {"com.microsoft.MatMulNBits", translate_matmul_n_bits},
    {"com.microsoft.QAttention", translate_quantised_attention},
    {"com.microsoft.QGemm", translate_qgemm},
    {"com.microsoft.QLinearAdd", translate_qlinear_add},
    {"com.microsoft.QLinearAveragePool", translate_qlinear_average_pool},
    {"com.microsoft.QLinearConcat", translate_qlinear_concat},
    {"com.microsoft.QLinearConv", translate_qlinear_conv},
    {"com.microsoft.QLinearGlobalAveragePool", translate_qlinear_global_average_pool},
    {"com.microsoft.QLinearLeakyRelu", translate_qlinear_leaky_relu},
    {"com.microsoft.QLinearMul", translate_qlinear_mul},
    {"com.microsoft.QLinearSigmoid", translate_qlinear_sigmoid},
    {"com.microsoft.QLinearSoftmax", translate_qlinear_softmax},
    {"com.microsoft.QLinearWhere", translate_qlinear_where},
    {"com.microsoft.QuickGelu", translate_quick_gelu},
    {"com.microsoft.QuantizeLinear", translate_quantize_linear},
    {"com.microsoft.SkipLayerNormalization", translate_skip_layer_norm},
};

/// Null when there is none of that name.
[[nodiscard]] inline const Operator* find_operator(std::string_view name) {
    for (Operator const& entry : operators) {
        if (entry.name == name) return &entry;
    }
    return nullptr;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
