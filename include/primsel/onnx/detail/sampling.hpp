// Operators that read images at computed places, and those that add windows up.
#pragma once

#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/gather.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/window.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {
[[nodiscard]] inline ResizeMode read_sample_mode(std::string_view mode) {
    if (mode == "linear" || mode == "bilinear") return ResizeMode::linear;
    if (mode == "cubic" || mode == "bicubic") return ResizeMode::cubic;
    if (mode == "nearest") return ResizeMode::nearest;
    fail("mode ", mode, " is unknown");
}
[[nodiscard]] inline SamplePadding read_sample_padding(std::string_view padding) {
    if (padding == "zeros") return SamplePadding::zeros;
    if (padding == "border") return SamplePadding::border;
    if (padding == "reflection") return SamplePadding::reflection;
    fail("padding_mode ", padding, " is unknown");
}
/// A tensor of floats computed at load, which every image has.
template <class Values>
[[nodiscard]] Operand made_constant(Builder& build, Sizes dims, Values const& values) {
    std::vector<float> floats = build.constants.make<float>(static_cast<std::size_t>(elements(dims)));
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = values(i);
    OnnxTensor tensor = own_elements(dims, OnnxType::float32, std::move(floats));
    return {std::move(dims), std::nullopt, std::move(tensor)};
}
}  // namespace detail

inline void translate_grid_sample(Call& call) {
    Sizes const &dims = call.dims(0), &grid = call.dims(1);
    const std::size_t rank = dims.size(), axes = rank - 2;
    if (rank != 4 && rank != 5) fail("on a tensor of ", rank, " dimensions; images have 4, volumes 5");
    if (grid.size() != rank || grid[0] != dims[0] || grid.back() != static_cast<std::int64_t>(axes))
        fail("a grid of ", to_string(grid), " for ", to_string(dims));
    (void)elements(dims), (void)elements(grid);
    // Images of one graph have their own places each.
    const int images = call.build.is_whole() ? static_cast<int>(dims[0]) : 1;
    const GridSampleParams params{.mode = detail::read_sample_mode(call.text("mode", "linear")),
                                  .padding = detail::read_sample_padding(call.text("padding_mode", "zeros")),
                                  .align_corners = call.integer("align_corners", 0) != 0,
                                  .depth = rank == 5 ? bounded(dims[2], 1, largest_image, "a depth") : 0,
                                  .groups = images};
    const Shape image{
        .c = images * static_cast<int>(dims[1]), .h = product(dims, 2, rank - 1), .w = static_cast<int>(dims.back())},
        places{.c = images * product(grid, 1, rank - 2),
               .h = static_cast<int>(grid[rank - 2]),
               .w = static_cast<int>(axes)};
    const std::size_t src = call.build.view(call.operand(0), image), at = call.build.view(call.operand(1), places);
    Sizes result{dims[0], dims[1]};
    result.insert(result.end(), grid.begin() + 1, grid.end() - 1);
    call.give(call.build.operand(call.build.emit(params, {src, at}), call.build.image_dims(result)));
}

/// The product of the points of a regular grid, which are known, and the transposed matrix of each image.
inline void translate_affine_grid(Call& call) {
    Sizes const& theta = call.dims(0);
    const Sizes size = call.integers(1, "size");
    const std::size_t axes = size.size() < 2 ? 0 : size.size() - 2;
    const auto rows = static_cast<std::int64_t>(axes);
    if ((axes != 2 && axes != 3) || theta.size() != 3 || theta[1] != rows || theta[2] != rows + 1)
        fail("matrices of ", to_string(theta), " for a size of ", to_string(size));
    if (call.build.is_whole() && size[0] != theta[0])
        fail("matrices of ", to_string(theta), " for a size of ", to_string(size));
    const Sizes extents(size.begin() + 2, size.end()), strides = row_major(extents);
    const std::int64_t points = elements(extents);
    const bool corners = call.integer("align_corners", 0) != 0;
    // x, y and z are counted along the last axis, the one before, and so on; then comes a 1.
    const auto coordinate = [&](std::size_t i) {
        const std::size_t axis = i % (axes + 1), place = i / (axes + 1);
        if (axis == axes) return 1.0F;
        const std::int64_t extent = extents[axes - 1 - axis],
                           at = static_cast<std::int64_t>(place) / strides[axes - 1 - axis] % extent;
        if (!corners) return static_cast<float>(static_cast<double>(2 * at + 1) / static_cast<double>(extent) - 1);
        // One point is in the middle, as in PyTorch.
        return extent == 1 ? 0.0F
                           : static_cast<float>(2 * static_cast<double>(at) / static_cast<double>(extent - 1) - 1);
    };
    Builder& build = call.build;
    const Operand base = detail::made_constant(build, {points, rows + 1}, coordinate), matrices = call.operand(0);
    std::vector<std::size_t> order(matrices.dims.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::swap(order.end()[-1], order.end()[-2]);
    const Operand grid = detail::emit_matmul(build, base, build.strided(matrices, permutation(matrices.dims, order)));
    Sizes result{theta[0]};
    result.insert(result.end(), extents.begin(), extents.end());
    result.push_back(rows);
    call.give(build.reshape(grid, build.image_dims(result)));
}

inline void translate_roi_align(Call& call) {
    Sizes const &dims = call.dims(0), &boxes = call.dims(1);
    if (dims.size() != 4) fail("on a tensor of ", dims.size(), " dimensions");
    if (boxes.size() != 2 || boxes[1] != 4 || call.dims(2) != Sizes{boxes[0]})
        fail("boxes of ", to_string(boxes), " with images of ", to_string(call.dims(2)));
    if (!call.build.is_whole()) throw MixesImages{"its boxes may name other images"};
    const std::string_view mode = call.text("mode", "avg"),
                           coordinates = call.text("coordinate_transformation_mode",
                                                   call.opset() < 16 ? "output_half_pixel" : "half_pixel");
    if (mode != "avg" && mode != "max") fail("mode ", mode, " is unknown");
    if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
        fail("coordinate_transformation_mode ", coordinates, " is unknown");
    (void)elements(dims), (void)elements(boxes);
    const RoiAlignParams params{.size = {bounded(call.integer("output_height", 1), 1, largest_image, "a height"),
                                         bounded(call.integer("output_width", 1), 1, largest_image, "a width")},
                                .kind = mode == "max" ? PoolKind::max : PoolKind::average,
                                .images = static_cast<int>(dims[0]),
                                .samples = bounded(call.integer("sampling_ratio", 0), 0, 1024, "a sampling ratio"),
                                .scale = call.real("spatial_scale", 1.0F),
                                .half_pixel = coordinates == "half_pixel"};
    Builder& build = call.build;
    const int count = static_cast<int>(boxes[0]);
    const std::size_t images = build.view(call.operand(0), build.shape_of(dims)),
                      corners = build.view(call.operand(1), {.c = 1, .h = count, .w = 4}),
                      numbers = build.view(call.operand(2), {.c = 1, .h = 1, .w = count});
    const Sizes result{boxes[0], dims[1], params.size.h, params.size.w};
    (void)elements(result);
    call.give(build.operand(build.emit(params, {images, corners, numbers}), result));
}

/// A convolution of the pixels at places that are moved: those are sampled, as rows of a matrix, and multiplied.
inline void translate_deform_conv(Call& call) {
    Sizes const &dims = call.dims(0), &moves = call.dims(2);
    if (dims.size() != 4) fail("on a tensor of ", dims.size(), " dimensions; images have 4");
    require_one_image(call.build, dims);
    Builder& build = call.build;
    const OnnxTensor weight = call.floats(1, "weight");
    if (weight.dims.size() != 4) fail("a weight of ", to_string(weight.dims));
    (void)elements(weight.dims), (void)elements(dims), (void)elements(moves);
    const std::int64_t taps = weight.dims[2] * weight.dims[3];
    const int groups = bounded(call.integer("group", 1), 1, largest_tensor, "a number of groups"),
              sets = bounded(call.integer("offset_group", 1), 1, largest_tensor, "a number of offset groups");
    const Window window = read_window(call, dims, {weight.dims.begin() + 2, weight.dims.end()});
    if (moves.size() != 4 || moves[0] != dims[0] || moves[1] != 2 * taps * sets || dims[1] % sets != 0)
        fail("offsets of ", to_string(moves), " in ", sets, " groups for ", to_string(dims));
    if (weight.dims[1] * groups != dims[1])
        fail("a weight of ", to_string(weight.dims), " with ", groups, " groups for ", dims[1], " channels");
    const std::int64_t height = moves[2], width = moves[3], places = height * width, rows = taps * sets;
    // Places are y and x of every tap, and x and y for the sampling.
    const Strided turned{{rows, places, 2}, {2 * places, 1, -places}, places};
    const Operand moved = build.strided(build.reshape(call.operand(2), {rows * 2 * places}), turned);
    const Operand regular = detail::made_constant(build, {rows, places, 2}, [&](std::size_t i) {
        const auto at = static_cast<std::int64_t>(i) / 2 % places,
                   tap = static_cast<std::int64_t>(i) / 2 / places % taps;
        const bool is_x = i % 2 == 0;
        const std::int64_t out = is_x ? at % width : at / width,
                           kernel = is_x ? tap % weight.dims[3] : tap / weight.dims[3];
        const std::int64_t place = is_x ? out * window.stride.w - window.padding.left + kernel * window.dilation.w
                                        : out * window.stride.h - window.padding.top + kernel * window.dilation.h;
        return static_cast<float>(place);
    });
    const Operand grid = emit_binary(build, BinaryKind::add, moved, regular);
    const Shape image{.c = static_cast<int>(dims[1]), .h = static_cast<int>(dims[2]), .w = static_cast<int>(dims[3])},
        points{.c = static_cast<int>(rows), .h = static_cast<int>(places), .w = 2};
    const std::size_t src = build.view(call.operand(0), image), at = build.view(grid, points);
    const GridSampleParams params{.pixels = true, .groups = sets};
    const Sizes columns{sets, dims[1] / sets, taps, places};
    Operand sampled{columns, build.emit(params, {src, at}), {}};
    (void)elements(columns);
    sampled = build.operand(*sampled.node, columns);
    if (call.has(4)) {
        if (call.dims(4) != Sizes{dims[0], rows, height, width})
            fail("a mask of ", to_string(call.dims(4)), " in ", sets, " groups for offsets of ", to_string(moves));
        const Operand mask = build.reshape(call.operand(4), {sets, 1, taps, places});
        sampled = emit_binary(build, BinaryKind::multiply, sampled, mask);
    }
    const std::int64_t channels = weight.dims[0];
    const ConvParams conv{
        .k = bounded(channels, 1, largest_tensor, "a number of channels"), .groups = groups, .bias = call.has(3)};
    const Shape matrix{
        .c = static_cast<int>(dims[1] * taps), .h = static_cast<int>(height), .w = static_cast<int>(width)};
    const std::size_t node = build.emit(conv, {build.view(sampled, matrix)});
    build.add_weight(node, ".weight", {channels, weight.dims[1] * taps, 1, 1}, weight);
    if (conv.bias) {
        const OnnxTensor bias = call.floats(3, "bias");
        if (bias.dims != Sizes{channels}) fail("a bias of ", to_string(bias.dims), " for ", channels, " channels");
        build.add_weight(node, ".bias", {channels}, bias);
    }
    call.give(build.operand(node, build.image_dims({dims[0], channels, height, width})));
}

/// The transposed convolution in which each channel of a window has its own place.
inline void translate_col2im(Call& call) {
    Sizes const& dims = call.dims(0);
    const Sizes image = call.integers(1, "image_shape"), block = call.integers(2, "block_shape");
    const std::size_t axes = image.size();
    if (dims.size() != 3) fail("on a tensor of ", dims.size(), " dimensions");
    if (axes != 1 && axes != 2) fail("an image of ", axes, " axes; 1 or 2 are supported");
    Builder& build = call.build;
    if (build.trains()) fail("its windows would be trained; import without OnnxOptions::trains");
    require_one_image(build, dims);
    const Extent size = spatial(image, axes, 1, largest_image, "an image");
    Sizes shown{dims[0], 1};
    shown.insert(shown.end(), image.begin(), image.end());
    const Window window = read_window(call, shown, block);
    const std::int64_t taps = std::int64_t{window.kernel.h} * window.kernel.w;
    const auto windows = [](int in, int before, int after, int kernel, int dilation, int stride) {
        const std::int64_t rest = std::int64_t{in} + before + after - (std::int64_t{kernel} - 1) * dilation - 1;
        return rest < 0 ? 0 : rest / stride + 1;
    };
    const std::int64_t down = windows(size.h, window.padding.top, window.padding.bottom, window.kernel.h,
                                      window.dilation.h, window.stride.h),
                       across = windows(size.w, window.padding.left, window.padding.right, window.kernel.w,
                                        window.dilation.w, window.stride.w);
    if (dims[1] % taps != 0 || down * across != dims[2] || down == 0)
        fail("windows of ", to_string(dims), " for an image of ", to_string(image));
    const std::int64_t channels = dims[1] / taps;
    ConvTransposeParams params{.k = static_cast<int>(channels),
                               .kernel = window.kernel,
                               .stride = window.stride,
                               .padding = window.padding,
                               .dilation = window.dilation,
                               .groups = static_cast<int>(channels),
                               .bias = false};
    const Shape src{.c = static_cast<int>(dims[1]), .h = static_cast<int>(down), .w = static_cast<int>(across)};
    // Rows and columns that no window reaches.
    const Shape reached = params.check({&src, 1}) == Fault::none ? params.output({&src, 1}) : Shape{};
    params.extra_h = size.h - reached.h, params.extra_w = size.w - reached.w;
    const Operand weight =
        detail::made_constant(build, {dims[1], 1, window.kernel.h, window.kernel.w}, [&](std::size_t i) {
            const auto count = static_cast<std::size_t>(taps);
            return i / count % count == i % count ? 1.0F : 0.0F;
        });
    const std::size_t node = build.emit(params, {build.view(call.operand(0), src)});
    build.add_weight(node, ".weight", weight.dims, weight.constant);
    Sizes result{dims[0], channels};
    result.insert(result.end(), image.begin(), image.end());
    call.give(build.operand(node, build.image_dims(result)));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
