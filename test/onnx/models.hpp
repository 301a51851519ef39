// Models written for a test.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/io/file.hpp>
#include <primsel/onnx/detail/writer.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace models {

namespace ps = primsel;
namespace onnx = primsel::onnx;
using Ints = std::vector<std::int64_t>;

/// A copy of the bytes, aligned as those of a file are.
inline ps::SharedBytes shared(std::string_view bytes) {
    auto owner = std::make_shared<ps::AlignedBuffer>(bytes.size() / sizeof(float) + 1);
    const auto copy = std::as_writable_bytes(owner->span()).first(bytes.size());
    if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
    return {copy, std::move(owner)};
}

/// A model around what a test is about: an input x of the given size, an output, and what is added between.
struct Model {
    onnx::ModelWriter writer;

    explicit Model(Ints const& dims = {1, 2, 4, 4}, int opset = 13) : writer(opset, "test", "1", 1 << 12) {
        input("x", dims);
    }
    struct WriterOnly {};
    static constexpr WriterOnly writer_only{};
    /// One that declares its own inputs.
    Model(WriterOnly, int opset) : writer(opset, "test", "1", 1 << 12) {}
    Model& input(std::string const& name, Ints const& dims, onnx::DataType type = onnx::DataType::float32) {
        writer.value(onnx::GraphField::input, name, type, dims);
        return *this;
    }
    Model& node(std::string_view op, std::vector<std::string> const& inputs, std::vector<std::string> const& outputs,
                std::vector<onnx::NewAttribute> const& attributes = {}, std::string const& name = "the node") {
        writer.node(name, op, inputs, outputs, attributes);
        return *this;
    }
    Model& node_of(std::string_view domain, std::string_view op, std::vector<std::string> const& inputs,
                   std::vector<std::string> const& outputs, std::vector<onnx::NewAttribute> const& attributes = {}) {
        writer.node("the node", op, inputs, outputs, attributes, domain);
        return *this;
    }
    Model& integers(std::string const& name, Ints const& values) {
        const std::int64_t size[] = {static_cast<std::int64_t>(values.size())};
        writer.initializer(name, size, std::span<const std::int64_t>(values));
        return *this;
    }
    /// Adds integers, or the bits of halves, of a type of 8, 16 or 32 bits.
    Model& numbers_of(onnx::DataType type, std::string const& name, Ints const& dims, Ints const& values) {
        std::string raw;
        const auto append = [&raw](auto value) {
            char bytes[sizeof(value)];
            std::memcpy(bytes, &value, sizeof(value));
            raw.append(bytes, sizeof(value));
        };
        for (const std::int64_t value : values) {
            if (type == onnx::DataType::int8 || type == onnx::DataType::uint8)
                append(static_cast<std::uint8_t>(value));
            else if (type == onnx::DataType::int32)
                append(static_cast<std::int32_t>(value));
            else
                append(static_cast<std::uint16_t>(value));
        }
        writer.initializer(name, type, dims, std::as_bytes(std::span(raw)));
        return *this;
    }
    Model& floats(std::string const& name, Ints const& dims, std::vector<float> const& values) {
        writer.initializer(name, dims, std::span<const float>(values));
        return *this;
    }
    [[nodiscard]] std::string bytes(std::string const& output = "y") { return bytes_of({output}); }
    [[nodiscard]] std::string bytes_of(std::vector<std::string> const& outputs) {
        for (std::string const& output : outputs) {
            writer.value(onnx::GraphField::output, output, onnx::DataType::float32, Ints{});
        }
        return writer.finish();
    }
};

}  // namespace models
