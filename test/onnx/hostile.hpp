// Files that are broken, or made to break their reader.
#pragma once

#include "../allocations.hpp"
#include "models.hpp"

#include <doctest/doctest.h>

#include <primsel/network/prepare.hpp>
#include <primsel/onnx/import.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace hostile {

namespace ps = primsel;

/// The message with which the bytes are refused; empty when they are a model.
inline std::string refusal(std::string_view bytes, ps::OnnxOptions const& options = {},
                           std::string const& folder = "") {
    try {
        const ps::OnnxModel model = ps::parse_onnx("file", models::shared(bytes), options, folder);
        ps::check_weights(model.graph, model.weights);
        return "";
    } catch (ps::error const& fault) {
        REQUIRE(std::string_view(fault.what()).starts_with("file: "));
        return fault.what();
    }
}

/// Whether the memory that reading takes beside the bytes is justified: a multiple of them, and a constant for the
/// rest.
inline bool is_justified(std::size_t allocated, std::size_t bytes) { return allocated <= 64 * bytes + 100'000; }

}  // namespace hostile
