// Exported models, read with a reader of its own: with the field numbers of onnx.proto.
#pragma once

#include <doctest/doctest.h>

#include <primsel/network/prepare.hpp>
#include <primsel/onnx/export.hpp>

#include <protozero/pbf_reader.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace exports {

namespace ps = primsel;
using Strings = std::vector<std::string>;
using Ints = std::vector<std::int64_t>;

struct Tensor {
    Ints dims;
    int type = 0;
    std::string data;

    [[nodiscard]] std::vector<float> floats() const {
        std::vector<float> values(data.size() / sizeof(float));
        std::memcpy(values.data(), data.data(), data.size());
        return values;
    }
    template <class T>
    [[nodiscard]] Ints ints() const {
        std::vector<T> values(data.size() / sizeof(T));
        std::memcpy(values.data(), data.data(), data.size());
        return {values.begin(), values.end()};
    }
    [[nodiscard]] Ints ints() const { return ints<std::int64_t>(); }
};

struct ExportedModel {
    std::int64_t ir_version = 0, opset = 0;
    std::string producer;
    /// "name = Op(inputs) {attribute=value, ...}", with other results before the name.
    Strings nodes;
    std::map<std::string, Tensor> initializers;
    /// "float name[batch,3,8,8]"
    Strings inputs, outputs;
    /// The names of everything: results of nodes, initializers, inputs.
    std::multiset<std::string> names;
    std::vector<Strings> reads;
};

inline std::string attribute(protozero::pbf_reader field) {
    std::string name, value;
    std::int64_t type = 0;
    while (field.next()) {
        switch (field.tag()) {
            case 1:
                name = field.get_string();
                break;
            case 2: {
                std::ostringstream out;
                out << field.get_float();
                value = out.str();
                break;
            }
            case 3:
                value = std::to_string(field.get_int64());
                break;
            case 4:
                value = field.get_string();
                break;
            case 8:
                value += (value.empty() ? "" : " ") + std::to_string(field.get_int64());
                break;
            case 20:
                type = field.get_enum();
                break;
            default:
                FAIL("unexpected attribute field");
        }
    }
    CHECK((type == 1 || type == 2 || type == 3 || type == 7));
    return name + "=" + value;
}

inline void node(protozero::pbf_reader field, ExportedModel& model) {
    Strings inputs, outputs;
    std::string name, op, attributes;
    while (field.next()) {
        switch (field.tag()) {
            case 1:
                inputs.push_back(field.get_string());
                break;
            case 2:
                outputs.push_back(field.get_string());
                break;
            case 3:
                name = field.get_string();
                break;
            case 4:
                op = field.get_string();
                break;
            case 5:
                attributes += (attributes.empty() ? "" : ", ") + attribute(field.get_message());
                break;
            case 6:
                CHECK(op == "QuantizeLinear");
                CHECK(field.get_string() == "primsel: the range of " + inputs[0] + ", no bound");
                break;
            default:
                FAIL("unexpected node field");
        }
    }
    REQUIRE_FALSE(outputs.empty());
    CHECK(name == outputs[0]);
    std::string text;
    for (std::string const& output : outputs) {
        text += (text.empty() ? "" : ", ") + output;
        model.names.insert(output);
    }
    text += " = " + op + "(";
    for (std::size_t i = 0; i < inputs.size(); ++i) text += (i == 0 ? "" : ", ") + inputs[i];
    model.nodes.push_back(text + ")" + (attributes.empty() ? "" : " {" + attributes + "}"));
    model.reads.push_back(inputs);
}

inline void tensor(protozero::pbf_reader field, ExportedModel& model) {
    Tensor tensor;
    std::string name;
    while (field.next()) {
        switch (field.tag()) {
            case 1:
                tensor.dims.push_back(field.get_int64());
                break;
            case 2:
                tensor.type = field.get_int32();
                break;
            case 8:
                name = field.get_string();
                break;
            case 9:
                tensor.data = field.get_bytes();
                break;
            default:
                FAIL("unexpected tensor field");
        }
    }
    const std::map<int, std::int64_t> sizes{{1, 4}, {2, 1}, {3, 1}, {6, 4}, {7, 8}};
    REQUIRE(sizes.contains(tensor.type));
    std::int64_t bytes = sizes.at(tensor.type);
    for (const std::int64_t dim : tensor.dims) bytes *= dim;
    CHECK(bytes == static_cast<std::int64_t>(tensor.data.size()));
    model.names.insert(name);
    model.initializers[name] = tensor;
}

inline std::string value(protozero::pbf_reader field) {
    std::string name, type, dims;
    while (field.next()) {
        if (field.tag() == 1) {
            name = field.get_string();
            continue;
        }
        REQUIRE(field.tag() == 2);
        protozero::pbf_reader type_of(field.get_message());
        REQUIRE(type_of.next(1));
        protozero::pbf_reader tensor(type_of.get_message());
        while (tensor.next()) {
            if (tensor.tag() == 1) {
                const int code = tensor.get_int32();
                type = code == 1 ? "float" : code == 7 ? "int64" : "?";
                continue;
            }
            protozero::pbf_reader shape(tensor.get_message());
            while (shape.next(1)) {
                protozero::pbf_reader dim(shape.get_message());
                REQUIRE(dim.next());
                dims += dims.empty() ? "" : ",";
                dims += dim.tag() == 1 ? std::to_string(dim.get_int64()) : dim.get_string();
            }
        }
    }
    return type + " " + name + "[" + dims + "]";
}

inline ExportedModel read(std::string const& bytes) {
    ExportedModel model;
    protozero::pbf_reader field(bytes);
    while (field.next()) {
        if (field.tag() == 1) {
            model.ir_version = field.get_int64();
        } else if (field.tag() == 2) {
            model.producer = field.get_string();
        } else if (field.tag() == 8) {
            protozero::pbf_reader import(field.get_message());
            REQUIRE(import.next(2));
            model.opset = import.get_int64();
        } else if (field.tag() == 7) {
            protozero::pbf_reader graph(field.get_message());
            while (graph.next()) {
                switch (graph.tag()) {
                    case 1:
                        node(graph.get_message(), model);
                        break;
                    case 2:
                        CHECK_FALSE(graph.get_string().empty());
                        break;
                    case 5:
                        tensor(graph.get_message(), model);
                        break;
                    case 11:
                        model.inputs.push_back(value(graph.get_message()));
                        model.names.insert(model.inputs.back().substr(6, model.inputs.back().find('[') - 6));
                        break;
                    case 12:
                        model.outputs.push_back(value(graph.get_message()));
                        break;
                    default:
                        FAIL("unexpected graph field");
                }
            }
        } else {
            field.skip();
        }
    }
    return model;
}

inline ExportedModel exported(ps::Graph const& graph, ps::OnnxExportOptions const& options = {}) {
    return read(ps::to_onnx(graph, ps::random_weights(graph), options));
}

/// A graph of one layer on an input x of 4x6x5.
inline ps::Graph one(ps::AnyLayer const& layer, ps::Shape in = {.c = 4, .h = 6, .w = 5}, std::size_t inputs = 1) {
    ps::Graph graph;
    const std::size_t x = graph.add("x", ps::InputParams{in}, {});
    graph.add("y", layer, std::vector<std::size_t>(inputs, x));
    return graph;
}
inline Strings nodes_of(ps::AnyLayer const& layer, std::size_t inputs = 1) {
    return exported(one(layer, {.c = 4, .h = 6, .w = 5}, inputs)).nodes;
}

}  // namespace exports
