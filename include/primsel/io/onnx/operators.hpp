// THE list of operators.
#pragma once

#include <primsel/io/onnx/activation.hpp>
#include <primsel/io/onnx/convolution.hpp>
#include <primsel/io/onnx/elementwise.hpp>
#include <primsel/io/onnx/fold.hpp>
#include <primsel/io/onnx/join.hpp>
#include <primsel/io/onnx/matmul.hpp>
#include <primsel/io/onnx/normalization.hpp>
#include <primsel/io/onnx/pool.hpp>
#include <primsel/io/onnx/reduce.hpp>
#include <primsel/io/onnx/reorder.hpp>
#include <primsel/io/onnx/resize.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::onnx {

struct Operator {
    std::string_view name;
    void (*translate)(Call&);
};

inline constexpr Operator operators[] = {
    {"Abs", translate_function},
    {"Add", translate_add},
    {"AveragePool", translate_average_pool},
    {"BatchNormalization", translate_batch_norm},
    {"Cast", translate_cast},
    {"Ceil", translate_function},
    {"Clip", translate_clip},
    {"Concat", translate_concat},
    {"Constant", translate_constant},
    {"ConstantOfShape", translate_constant_of_shape},
    {"Conv", translate_conv},
    {"ConvTranspose", translate_conv_transpose},
    {"DepthToSpace", translate_depth_to_space},
    {"Div", translate_div},
    {"Dropout", translate_dropout},
    {"Elu", translate_elu},
    {"Equal", translate_equal},
    {"Exp", translate_function},
    {"Expand", translate_expand},
    {"Flatten", translate_flatten},
    {"Floor", translate_function},
    {"Gather", translate_gather},
    {"Gemm", translate_gemm},
    {"GlobalAveragePool", translate_global_average_pool},
    {"GlobalMaxPool", translate_global_max_pool},
    {"HardSigmoid", translate_hard_sigmoid},
    {"HardSwish", translate_hard_swish},
    {"Identity", translate_identity},
    {"LRN", translate_lrn},
    {"LeakyRelu", translate_leaky_relu},
    {"MatMul", translate_matmul},
    {"MaxPool", translate_max_pool},
    {"Mul", translate_mul},
    {"Neg", translate_function},
    {"PRelu", translate_prelu},
    {"Pad", translate_pad},
    {"Range", translate_range},
    {"Reciprocal", translate_function},
    {"ReduceMax", translate_reduce_max},
    {"ReduceMean", translate_reduce_mean},
    {"ReduceSum", translate_reduce_sum},
    {"Relu", translate_relu},
    {"Reshape", translate_reshape},
    {"Resize", translate_resize},
    {"Round", translate_function},
    {"Shape", translate_shape},
    {"Sigmoid", translate_sigmoid},
    {"Size", translate_size},
    {"Slice", translate_slice},
    {"Softmax", translate_softmax},
    {"SpaceToDepth", translate_space_to_depth},
    {"Split", translate_split},
    {"Sqrt", translate_function},
    {"Squeeze", translate_squeeze},
    {"Sub", translate_sub},
    {"Sum", translate_sum},
    {"Tanh", translate_tanh},
    {"Transpose", translate_transpose},
    {"Unsqueeze", translate_unsqueeze},
    {"Upsample", translate_upsample},
    {"Where", translate_where},
};

/// Null when there is none of that name.
[[nodiscard]] inline const Operator* find_operator(std::string_view name) {
    for (Operator const& entry : operators) {
        if (entry.name == name) return &entry;
    }
    return nullptr;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
