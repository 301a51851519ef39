// Safetensors files as fuzzers make them.
#pragma once

#include <primsel/io/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

inline std::string safetensors_file(primsel::Weights const& weights, primsel::SafetensorsMetadata const& metadata) {
    std::string file = primsel::io::safetensors_header("fuzz", weights, metadata);
    for (auto const& [name, tensor] : weights) {
        const auto bytes = tensor.values.bytes();
        file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return file;
}

/// Checks the input as a file, and once more as a header after a byte with the size of the data: few changes of a whole
/// file keep its header's size right.
template <class Check>
void check_as_file_and_header(const std::uint8_t* data, std::size_t size, Check const& check) {
    check(std::as_bytes(std::span(data, size)));
    if (size == 0) return;
    const std::uint64_t header_bytes = size - 1;
    std::string file(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes));
    file.append(reinterpret_cast<const char*>(data + 1), size - 1).append(data[0], '\x7e');
    check(std::as_bytes(std::span(file)));
}
