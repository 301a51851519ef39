// The Conv tests of the ONNX standard through every primitive that supports them. Needs Debian's libonnx-testdata, or
// PRIMSEL_ONNX_TESTS naming a folder with node/ and pytorch-converted/.
#include "../skipped.hpp"
#include "laws.hpp"

#include <doctest/doctest.h>
#include <protozero/pbf_reader.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

using namespace laws;

namespace {

constexpr const char* conv_tests[] = {"node/test_basic_conv_with_padding",
                                      "node/test_basic_conv_without_padding",
                                      "node/test_conv_with_autopad_same",
                                      "node/test_conv_with_strides_and_asymmetric_padding",
                                      "node/test_conv_with_strides_no_padding",
                                      "node/test_conv_with_strides_padding",
                                      "pytorch-operator/test_operator_conv",
                                      "pytorch-converted/test_Conv2d",
                                      "pytorch-converted/test_Conv2d_depthwise",
                                      "pytorch-converted/test_Conv2d_depthwise_padded",
                                      "pytorch-converted/test_Conv2d_depthwise_strided",
                                      "pytorch-converted/test_Conv2d_depthwise_with_multiplier",
                                      "pytorch-converted/test_Conv2d_dilated",
                                      "pytorch-converted/test_Conv2d_groups",
                                      "pytorch-converted/test_Conv2d_groups_thnn",
                                      "pytorch-converted/test_Conv2d_no_bias",
                                      "pytorch-converted/test_Conv2d_padding",
                                      "pytorch-converted/test_Conv2d_strided"};

std::string read(std::filesystem::path const& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file, path.string());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The few fields of ONNX's messages that a single Conv uses, by their numbers in onnx.proto.
struct Tensor {
    std::string name;
    std::vector<int> dims;
    std::vector<float> values;
};
Tensor read_tensor(protozero::pbf_reader message) {
    Tensor tensor;
    while (message.next()) {
        switch (message.tag()) {
            case 1:
                if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
                    for (const std::int64_t dim : message.get_packed_int64())
                        tensor.dims.push_back(static_cast<int>(dim));
                } else {
                    tensor.dims.push_back(static_cast<int>(message.get_int64()));
                }
                break;
            case 4:
                for (const float value : message.get_packed_float()) tensor.values.push_back(value);
                break;
            case 8:
                tensor.name = message.get_string();
                break;
            case 9: {
                const protozero::data_view raw = message.get_view();
                tensor.values.resize(raw.size() / sizeof(float));
                std::memcpy(tensor.values.data(), raw.data(), raw.size());
                break;
            }
            default:
                message.skip();
        }
    }
    return tensor;
}

struct Model {
    std::vector<std::string> conv_inputs, graph_inputs;
    std::map<std::string, Tensor> tensors;
    std::map<std::string, std::vector<int>> attributes;
    std::string auto_pad;

    [[nodiscard]] int attribute(std::string const& name, std::size_t i, int otherwise) const {
        const auto found = attributes.find(name);
        return found == attributes.end() ? otherwise : found->second.at(i);
    }
};
void read_attribute(protozero::pbf_reader message, Model& model) {
    std::string name;
    std::vector<int> values;
    while (message.next()) {
        switch (message.tag()) {
            case 1:
                name = message.get_string();
                break;
            case 3:
                values.push_back(static_cast<int>(message.get_int64()));
                break;
            case 4:
                if (name == "auto_pad") {
                    model.auto_pad = message.get_string();
                } else {
                    message.skip();
                }
                break;
            case 8:
                if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
                    for (const std::int64_t value : message.get_packed_int64())
                        values.push_back(static_cast<int>(value));
                } else {
                    values.push_back(static_cast<int>(message.get_int64()));
                }
                break;
            default:
                message.skip();
        }
    }
    if (!values.empty()) model.attributes[name] = values;
}
Model read_model(std::string const& bytes) {
    Model model;
    protozero::pbf_reader file(bytes);
    REQUIRE(file.next(7));
    for (protozero::pbf_reader graph = file.get_message(); graph.next();) {
        if (graph.tag() == 1) {
            for (protozero::pbf_reader node = graph.get_message(); node.next();) {
                if (node.tag() == 1) {
                    model.conv_inputs.push_back(node.get_string());
                } else if (node.tag() == 4) {
                    REQUIRE(node.get_string() == "Conv");
                } else if (node.tag() == 5) {
                    read_attribute(node.get_message(), model);
                } else {
                    node.skip();
                }
            }
        } else if (graph.tag() == 5) {
            const Tensor tensor = read_tensor(graph.get_message());
            model.tensors[tensor.name] = tensor;
        } else if (graph.tag() == 11) {
            protozero::pbf_reader input = graph.get_message();
            REQUIRE(input.next(1));
            model.graph_inputs.push_back(input.get_string());
        } else {
            graph.skip();
        }
    }
    return model;
}

ps::ConvShape shape_of(Model const& model, Tensor const& image, Tensor const& kernel) {
    ps::ConvShape s{.c = image.dims.at(1),
                    .k = kernel.dims.at(0),
                    .h = image.dims.at(2),
                    .w = image.dims.at(3),
                    .fh = kernel.dims.at(2),
                    .fw = kernel.dims.at(3),
                    .stride_h = model.attribute("strides", 0, 1),
                    .stride_w = model.attribute("strides", 1, 1),
                    .pad_top = model.attribute("pads", 0, 0),
                    .pad_bottom = model.attribute("pads", 2, 0),
                    .pad_left = model.attribute("pads", 1, 0),
                    .pad_right = model.attribute("pads", 3, 0),
                    .dilation_h = model.attribute("dilations", 0, 1),
                    .dilation_w = model.attribute("dilations", 1, 1),
                    .groups = model.attribute("group", 0, 1)};
    if (model.auto_pad == "SAME_LOWER") {
        const int h = std::max(0, ((s.h + s.stride_h - 1) / s.stride_h - 1) * s.stride_h + s.span_h() - s.h),
                  w = std::max(0, ((s.w + s.stride_w - 1) / s.stride_w - 1) * s.stride_w + s.span_w() - s.w);
        s.pad_bottom = h / 2, s.pad_top = h - h / 2, s.pad_right = w / 2, s.pad_left = w - w / 2;
    } else {
        REQUIRE(model.auto_pad.empty());
    }
    return s;
}

}  // namespace

TEST_CASE("the Conv tests of the ONNX standard, through every primitive that supports them" *
          doctest::test_suite("outside")) {
    const char* chosen = std::getenv("PRIMSEL_ONNX_TESTS");
    const std::filesystem::path folder = chosen != nullptr ? chosen : "/usr/share/libonnx-testdata/data";
    if (!std::filesystem::exists(folder)) {
        tests::skip(folder.string() + ": the ONNX standard's tests");
        return;
    }
    const List list = all_primitives();
    ps::Sequential sequential;
    for (const char* test : conv_tests) {
        CAPTURE(test);
        Model model = read_model(read(folder / test / "model.onnx"));
        const std::filesystem::path data = folder / test / "test_data_set_0";
        std::size_t given = 0;
        for (std::string const& name : model.graph_inputs) {
            if (model.tensors.contains(name)) continue;
            model.tensors[name] =
                read_tensor(protozero::pbf_reader(read(data / ("input_" + std::to_string(given++) + ".pb"))));
        }
        const std::string answer_bytes = read(data / "output_0.pb");
        const Tensor answer = read_tensor(protozero::pbf_reader(answer_bytes));
        Tensor const &image = model.tensors.at(model.conv_inputs.at(0)),
                     &kernel = model.tensors.at(model.conv_inputs.at(1));
        const ps::ConvShape shape = shape_of(model, image, kernel);
        CAPTURE(to_string(shape));
        const std::size_t in = shape.in_shape().size(), out = shape.out_shape().size(),
                          batch = static_cast<std::size_t>(image.dims.at(0));
        REQUIRE(answer.values.size() == batch * out);

        Problem problem(shape, Values::normal);
        problem.kernel = kernel.values;
        problem.bias.assign(problem.bias.size(), 0.0F);
        if (model.conv_inputs.size() == 3) problem.bias = model.tensors.at(model.conv_inputs[2]).values;
        std::size_t supporting = 0;
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            ++supporting;
            CAPTURE(std::string(entry.id));
            for (std::size_t i = 0; i < batch; ++i) {
                std::copy_n(image.values.begin() + static_cast<std::ptrdiff_t>(i * in), in, problem.src.begin());
                Outcome outcome = run(list, entry, problem, {.bias = entry.fuses_epilogue}, sequential, Watch::heap);
                for (std::size_t j = 0; j < out && !entry.fuses_epilogue; ++j) {
                    outcome.dst[j] += problem.bias[j / shape.out_pixels()];
                }
                const auto first = answer.values.begin() + static_cast<std::ptrdiff_t>(i * out);
                CHECK(error(outcome.dst, {first, first + static_cast<std::ptrdiff_t>(out)}) <= entry.error_bound);
            }
        }
        CHECK(supporting >= 2);
    }
}
