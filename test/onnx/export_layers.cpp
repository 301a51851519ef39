// The nodes that a layer becomes.
#include "../error_of.hpp"
#include "exported.hpp"

#include <doctest/doctest.h>

#include <primsel/onnx/export.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace ps = primsel;
using namespace exports;

TEST_CASE("each kind of layer") {
    const std::string window = "{kernel_shape=2 2, strides=2 2, pads=0 0 0 0";
    CHECK(nodes_of(ps::PoolParams{}) == Strings{"y = MaxPool(x) " + window + ", dilations=1 1, ceil_mode=0}"});
    CHECK(nodes_of(ps::PoolParams{.kind = ps::PoolKind::average, .ceil_mode = true}) ==
          Strings{"y = AveragePool(x) " + window + ", ceil_mode=1, count_include_pad=1}"});
    CHECK(nodes_of(ps::GlobalPoolParams{}) == Strings{"y = GlobalAveragePool(x)"});
    CHECK(nodes_of(ps::GlobalPoolParams{ps::PoolKind::max}) == Strings{"y = GlobalMaxPool(x)"});

    using ps::ActivationKind;
    using ps::ActivationParams;
    CHECK(nodes_of(ActivationParams{ActivationKind::relu6}) == Strings{"y = Clip(x, y.min, y.max)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::leaky_relu, 0.25F}) == Strings{"y = LeakyRelu(x) {alpha=0.25}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::sigmoid}) == Strings{"y = Sigmoid(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::hard_swish}) == Strings{"y = HardSwish(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::elu, 2.0F}) == Strings{"y = Elu(x) {alpha=2}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::hard_sigmoid, 0.25F, 0.5F}) ==
          Strings{"y = HardSigmoid(x) {alpha=0.25, beta=0.5}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::tanh}) == Strings{"y = Tanh(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::sqrt}) == Strings{"y = Sqrt(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::clip, -HUGE_VALF, 2.0F}) == Strings{"y = Clip(x, , y.max)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::clip, 1.0F, HUGE_VALF}) == Strings{"y = Clip(x, y.min)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::clip, -HUGE_VALF, HUGE_VALF}) == Strings{"y = Identity(x)"});

    CHECK(nodes_of(ps::LrnParams{5, 0.5F, 0.75F, 2.0F}) ==
          Strings{"y = LRN(x) {alpha=0.5, beta=0.75, bias=2, size=5}"});
    CHECK(nodes_of(ps::BatchNormParams{0.5F}) ==
          Strings{"y = BatchNormalization(x, y.weight, y.bias, y.running_mean, y.running_var) {epsilon=0.5}"});
    CHECK(
        nodes_of(ps::BatchNormParams{0.5F, 0.25F}) ==
        Strings{
            "y = BatchNormalization(x, y.weight, y.bias, y.running_mean, y.running_var) {epsilon=0.5, momentum=0.25}"});
    CHECK(nodes_of(ps::ScaleParams{}) ==
          Strings{"y = BatchNormalization(x, y.weight, y.bias, y.mean, y.var) {epsilon=0}"});
    CHECK(nodes_of(ps::ScaleParams{.known = true, .factor = 2}) == Strings{"y = Mul(x, y.factor)"});
    CHECK(nodes_of(ps::ScaleParams{.known = true, .shift = 2}) == Strings{"y = Add(x, y.shift)"});
    CHECK(nodes_of(ps::ScaleParams{.known = true, .factor = 3, .shift = 2}) ==
          Strings{"y/Mul = Mul(x, y.factor)", "y = Add(y/Mul, y.shift)"});
    CHECK(nodes_of(ps::SoftmaxParams{ps::Axis::w}) == Strings{"y = Softmax(x) {axis=3}"});
    CHECK(nodes_of(ps::StandardizeParams{.along_h = true, .along_w = true, .centres = false}) ==
          Strings{"y/Mul = Mul(x, x)", "y/ReduceMean = ReduceMean(y/Mul) {axes=2 3, keepdims=1}",
                  "y/Add = Add(y/ReduceMean, y.epsilon)", "y/Sqrt = Sqrt(y/Add)", "y = Div(x, y/Sqrt)"});
    ps::Graph clamped;
    clamped.add("x", ps::InputParams{{.c = 4, .h = 6, .w = 5}}, {});
    clamped.add("y", ps::AddParams{}, {0, 0}, {.clamp = ps::relu_clamp});
    CHECK(exported(clamped).nodes == Strings{"y/Add = Add(x, x)", "y = Relu(y/Add)"});
    CHECK(nodes_of(ps::AddParams{}, 3) == Strings{"y = Sum(x, x, x)"});
    CHECK(nodes_of(ps::ConcatParams{ps::Axis::h}, 2) == Strings{"y = Concat(x, x) {axis=2}"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::add}, 2) == Strings{"y = Add(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::subtract}, 2) == Strings{"y = Sub(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::multiply}, 2) == Strings{"y = Mul(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::divide}, 2) == Strings{"y = Div(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::prelu}, 2) == Strings{"y = PRelu(x, x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::exp}) == Strings{"y = Exp(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::round}) == Strings{"y = Round(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::softplus}) == Strings{"y = Softplus(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::silu}) ==
          Strings{"y/Sigmoid = Sigmoid(x)", "y = Mul(x, y/Sigmoid)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::mish}) ==
          Strings{"y/Softplus = Softplus(x)", "y/Tanh = Tanh(y/Softplus)", "y = Mul(x, y/Tanh)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::gelu}) ==
          Strings{"y/Div = Div(x, y.root_of_two)", "y/Erf = Erf(y/Div)", "y/Add = Add(y/Erf, y.one)",
                  "y/Mul = Mul(x, y/Add)", "y = Mul(y/Mul, y.half)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::softsign}) == Strings{"y = Softsign(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::log_sigmoid}) ==
          Strings{"y/Neg = Neg(x)", "y/Softplus = Softplus(y/Neg)", "y = Neg(y/Softplus)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::swish, 1.5F}) ==
          Strings{"y/Mul = Mul(x, y.alpha)", "y/Sigmoid = Sigmoid(y/Mul)", "y = Mul(x, y/Sigmoid)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::selu, 1.5F, 0.5F}) ==
          Strings{"y = Selu(x) {alpha=1.5, gamma=0.5}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::celu, 0.5F}) == Strings{"y = Celu(x) {alpha=0.5}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::thresholded_relu, 0.5F}) ==
          Strings{"y = ThresholdedRelu(x) {alpha=0.5}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::shrink, 0.25F, 0.5F}) ==
          Strings{"y = Shrink(x) {bias=0.25, lambd=0.5}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::atanh}) == Strings{"y = Atanh(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::power, 3.0F}) == Strings{"y = Pow(x, y.exponent)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::truncate}) ==
          Strings{"y/Sign = Sign(x)", "y/Abs = Abs(x)", "y/Floor = Floor(y/Abs)", "y = Mul(y/Sign, y/Floor)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::power}, 2) == Strings{"y = Pow(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::maximum}, 2) == Strings{"y = Max(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::remainder}, 2) == Strings{"y = Mod(x, x) {fmod=1}"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::greater_or_equal}, 2) ==
          Strings{"y/GreaterOrEqual = GreaterOrEqual(x, x)", "y = Cast(y/GreaterOrEqual) {to=1}"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::keep}, 2) ==
          Strings{"y/Cast = Cast(x) {to=9}", "y = Where(y/Cast, x, y.zero)"});
    CHECK(nodes_of(ps::ReduceParams{ps::ReduceKind::arg_max, ps::Axis::h}) ==
          Strings{"y = ArgMax(x) {axis=2, keepdims=1}"});
    CHECK(nodes_of(ps::TopKParams{2}) == Strings{"y, y/positions = TopK(x, y.k) {axis=3, largest=1, sorted=1}"});
    CHECK(nodes_of(ps::TopKParams{.k = 2, .positions = true}) ==
          Strings{"y/TopK, y = TopK(x, y.k) {axis=3, largest=1, sorted=1}"});
    CHECK(nodes_of(ps::FlattenParams{}) == Strings{"y = Flatten(x) {axis=1}"});
    CHECK(nodes_of(ps::DropoutParams{0.25F}) == Strings{"y = Dropout(x, y.ratio)"});
    CHECK(nodes_of(ps::ChannelShuffleParams{2}) == Strings{"y/Reshape = Reshape(x, y.shape)",
                                                           "y/Transpose = Transpose(y/Reshape) {perm=0 2 1 3 4}",
                                                           "y = Reshape(y/Transpose, y.shape_)"});
    CHECK(nodes_of(ps::ReshapeParams{{.c = 8, .h = 3, .w = 5}}) == Strings{"y = Reshape(x, y.shape)"});
    CHECK(nodes_of(ps::SliceParams{1, 3, ps::Axis::h}) == Strings{"y = Slice(x, y.first, y.last, y.axes)"});
    CHECK(nodes_of(ps::ReduceParams{ps::ReduceKind::max, ps::Axis::c}) ==
          Strings{"y = ReduceMax(x) {axes=1, keepdims=1}"});
    CHECK(nodes_of(ps::ReduceParams{ps::ReduceKind::sum, ps::Axis::c}) ==
          Strings{"y = ReduceSum(x, y.axes) {keepdims=1}"});
    CHECK(nodes_of(ps::DenseRowsParams{.k = 6, .bias = false}) == Strings{"y = MatMul(x, y.weight)"});
    CHECK(nodes_of(ps::DenseRowsParams{.k = 6}) ==
          Strings{"y/MatMul = MatMul(x, y.weight)", "y = Add(y/MatMul, y.bias)"});
    CHECK(exported(one(ps::MatMulParams{}, {.c = 2, .h = 3, .w = 3}, 2)).nodes == Strings{"y = MatMul(x, x)"});
    CHECK(
        nodes_of(ps::ConvTransposeParams{.k = 6, .kernel = 3, .stride = 2, .padding = 1, .extra_h = 1, .groups = 2}) ==
        Strings{"y = ConvTranspose(x, y.weight, y.bias) {kernel_shape=3 3, strides=2 2, pads=1 1 1 1, "
                "dilations=1 1, group=2, output_padding=1 0}"});
}

TEST_CASE("the inputs that say how") {
    const auto ints = [](ps::AnyLayer const& layer, std::string const& name) {
        return exported(one(layer)).initializers.at(name).ints();
    };
    CHECK(ints(ps::ReshapeParams{{.c = 8, .h = 3, .w = 5}}, "y.shape") == Ints{0, 8, 3, 5});
    CHECK(ints(ps::ChannelShuffleParams{2}, "y.shape") == Ints{0, 2, 2, 6, 5});
    CHECK(ints(ps::SliceParams{1, 3, ps::Axis::h}, "y.first") == Ints{1});
    CHECK(ints(ps::SliceParams{1, 3, ps::Axis::h}, "y.last") == Ints{3});
    CHECK(ints(ps::SliceParams{1, 3, ps::Axis::h}, "y.axes") == Ints{2});
    const ps::PadParams pad{{1, 2, 3, 4}, 0.5F, ps::PadMode::constant, 5, 6};
    CHECK(nodes_of(pad) == Strings{"y = Pad(x, y.pads, y.value) {mode=constant}"});
    CHECK(ints(pad, "y.pads") == Ints{0, 5, 1, 3, 0, 6, 2, 4});
    CHECK(exported(one(pad)).initializers.at("y.value").floats() == std::vector{0.5F});
    CHECK(nodes_of(ps::PadParams{1, 0.0F, ps::PadMode::edge}) == Strings{"y = Pad(x, y.pads) {mode=edge}"});
    const ExportedModel clip = exported(one(ps::ActivationParams{ps::ActivationKind::relu6}));
    CHECK(clip.initializers.at("y.min").floats() == std::vector{0.0F});
    CHECK(clip.initializers.at("y.max").floats() == std::vector{6.0F});
    CHECK(clip.initializers.at("y.max").dims.empty());
}

TEST_CASE("the places of maxima are the second result of a max pooling, integers until floats are needed") {
    ps::Graph graph;
    const std::size_t x = graph.add("x", ps::InputParams{{.c = 2, .h = 4, .w = 4}}, {});
    const std::size_t where = graph.add("where", ps::MaxPoolIndicesParams{}, {x});
    const std::size_t max = graph.add("max", ps::PoolParams{}, {x});
    const std::size_t both = graph.add("both", ps::AddParams{}, {where, max});
    const std::size_t other = graph.add("other", ps::MaxPoolIndicesParams{{.window = 3}}, {x});
    graph.set_outputs({both, where, other});
    const ExportedModel model = exported(graph);
    const std::string window = ", strides=2 2, pads=0 0 0 0, dilations=1 1, ceil_mode=0}";
    CHECK(model.nodes == Strings{"max, where = MaxPool(x) {kernel_shape=2 2" + window, "both/Cast = Cast(where) {to=1}",
                                 "both = Add(both/Cast, max)",
                                 "other/MaxPool, other = MaxPool(x) {kernel_shape=3 3" + window});
    CHECK(model.outputs == Strings{"float both[batch,2,2,2]", "int64 where[batch,2,2,2]", "int64 other[batch,2,1,1]"});
}

TEST_CASE("a window that would start behind the image does not depend on how ceil_mode is understood") {
    const ps::Shape in{.c = 1, .h = 5, .w = 5};
    const ps::PoolParams pool{.window = 2, .stride = 3, .padding = 1, .ceil_mode = true};
    REQUIRE(pool.output(std::vector{in}).h == 2);
    CHECK(exported(one(pool, in)).nodes == Strings{"y = MaxPool(x) {kernel_shape=2 2, strides=3 3, pads=1 1 0 0, "
                                                   "dilations=1 1, ceil_mode=0}"});
    ps::PoolParams average = pool;
    average.kind = ps::PoolKind::average;
    const ExportedModel model = exported(one(average, in));
    CHECK(model.nodes == Strings{"y/Pad = Pad(x, y.pads, y.value)",
                                 "y = AveragePool(y/Pad) {kernel_shape=2 2, strides=3 3, pads=0 0 0 0, ceil_mode=0, "
                                 "count_include_pad=0}"});
    CHECK(model.initializers.at("y.pads").ints() == Ints{0, 0, 1, 1, 0, 0, 0, 0});
    // Where there is none, ceil_mode stays.
    CHECK(exported(one(ps::PoolParams{.window = 3, .stride = 2, .ceil_mode = true}, {.c = 1, .h = 6, .w = 6}))
              .nodes[0]
              .find("ceil_mode=1") != std::string::npos);
}

TEST_CASE("an even window of local response normalisation, which ONNX lays elsewhere") {
    const ExportedModel model = exported(one(ps::LrnParams{4, 2.0F, 0.5F, 3.0F}));
    CHECK(model.nodes == Strings{"y/Mul = Mul(x, x)", "y/Conv = Conv(y/Mul, y.window, y.k)",
                                 "y/Pow = Pow(y/Conv, y.beta)", "y = Div(x, y/Pow)"});
    CHECK(model.initializers.at("y.window").floats() == std::vector<float>{0.5F, 0.5F, 0, 0,        //
                                                                           0.5F, 0.5F, 0.5F, 0,     //
                                                                           0.5F, 0.5F, 0.5F, 0.5F,  //
                                                                           0, 0.5F, 0.5F, 0.5F});
    CHECK(model.initializers.at("y.k").floats() == std::vector<float>(4, 3.0F));
}

TEST_CASE("the size of a resized image, whatever the batch") {
    const ps::ResizeParams resize{.size = {12, 7}, .mode = ps::ResizeMode::linear};
    const std::string how = " {mode=linear, coordinate_transformation_mode=half_pixel, nearest_mode=round_prefer_floor";
    CHECK(nodes_of(resize) == Strings{"y/Shape = Shape(x)", "y/Slice = Slice(y/Shape, y.first, y.last)",
                                      "y/Concat = Concat(y/Slice, y.sizes) {axis=0}",
                                      "y = Resize(x, , , y/Concat)" + how + "}"});
    const ExportedModel fixed = exported(one(resize), {.open_batch = false});
    CHECK(fixed.nodes == Strings{"y = Resize(x, , , y.sizes)" + how + "}"});
    CHECK(fixed.initializers.at("y.sizes").ints() == Ints{1, 4, 12, 7});
    const ExportedModel later = exported(one(resize), {.opset = 18});
    CHECK(later.nodes == Strings{"y = Resize(x, , , y.sizes)" + how + ", axes=2 3}"});
    CHECK(later.initializers.at("y.sizes").ints() == Ints{12, 7});
    const ExportedModel scaled = exported(one(ps::ResizeParams{.size = {15, 10}, .scale_h = 0.4F, .scale_w = 0.5F}));
    CHECK(scaled.nodes[0].starts_with("y = Resize(x, , y.scales)"));
    CHECK(scaled.initializers.at("y.scales").floats() == std::vector{1.0F, 1.0F, 2.5F, 2.0F});
    const ps::ResizeParams cubic{.size = {12, 7}, .mode = ps::ResizeMode::cubic, .exclude_outside = true};
    CHECK(exported(one(cubic), {.open_batch = false}).nodes ==
          Strings{"y = Resize(x, , , y.sizes) {mode=cubic, coordinate_transformation_mode=half_pixel, "
                  "nearest_mode=round_prefer_floor, cubic_coeff_a=-0.75, exclude_outside=1}"});
    const ps::ResizeParams smooth{.size = {3, 2}, .mode = ps::ResizeMode::linear, .antialias = true};
    CHECK(exported(one(smooth), {.opset = 18}).nodes ==
          Strings{"y = Resize(x, , , y.sizes)" + how + ", exclude_outside=0, antialias=1, axes=2 3}"});
    CHECK(tests::error_of([&] { (void)exported(one(smooth)); }).ends_with("antialiasing needs opset 18"));
    ps::ResizeParams part{.size = {3, 4},
                          .mode = ps::ResizeMode::linear,
                          .coordinates = ps::ResizeCoordinates::affine,
                          .scale_h = 1,
                          .scale_w = 0.5F,
                          .offset_h = 1,
                          .offset_w = 0.5F};
    const ExportedModel cropped = exported(one(part, {.c = 4, .h = 6, .w = 5}), {.opset = 18});
    CHECK(cropped.nodes[0].starts_with("y = Resize(x, y.part, , y.sizes)"));
    CHECK(cropped.initializers.at("y.part").floats() == std::vector{0.2F, 0.125F, 0.6F, 0.5F});
    part.offset_h = 4;
    CHECK(tests::error_of([&] {
              (void)exported(one(part, {.c = 4, .h = 6, .w = 5}));
          }).ends_with("its pixels lie outside the image, where ONNX has one value"));
    const ps::ResizeParams middle{
        .size = {3, 7}, .coordinates = ps::ResizeCoordinates::half_pixel_symmetric, .scale_h = 1.75F};
    CHECK(tests::error_of([&] { (void)exported(one(middle), {.opset = 18}); }).ends_with("needs opset 19"));
    CHECK(exported(one(middle), {.opset = 19}).nodes[0].find("half_pixel_symmetric") != std::string::npos);
    const ps::GridSampleParams sample{.mode = ps::ResizeMode::cubic, .padding = ps::SamplePadding::border};
    ps::Graph samples;
    (void)samples.add("x", ps::InputParams{{2, 4, 5}}, {});
    (void)samples.add("g", ps::InputParams{{3, 6, 2}}, {});
    (void)samples.add("y", sample, {0, 1});
    CHECK(exported(samples, {.opset = 16}).nodes ==
          Strings{"y = GridSample(x, g) {mode=bicubic, padding_mode=border, align_corners=0}"});
    CHECK(exported(samples, {.opset = 20}).nodes ==
          Strings{"y = GridSample(x, g) {mode=cubic, padding_mode=border, align_corners=0}"});
    CHECK(tests::error_of([&] {
              (void)exported(samples, {.opset = 13});
          }).ends_with("GridSample needs opset 16, and 20 for volumes"));
    // 10 * 0.7F is 7 in floats and less than that in doubles: readers do either.
    const ExportedModel rounded =
        exported(one(ps::ResizeParams{.size = {7, 10}, .scale_w = 0.5F}, {.c = 4, .h = 10, .w = 5}));
    const float factor = rounded.initializers.at("y.scales").floats()[2];
    CHECK(static_cast<int>(10.0F * factor) == 7);
    CHECK(static_cast<int>(10.0 * static_cast<double>(factor)) == 7);
}
