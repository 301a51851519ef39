// Operators of the user's own: their nodes become layers, and their layers nodes.
#pragma once

#include <primsel/layer/all.hpp>
#include <primsel/onnx/detail/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace onnx {
class Call;
}  // namespace onnx

/// A node of a model as the function sees it that makes a layer of it. Attributes that the node lacks are `otherwise`.
/// Throws error for one of another type.
class OnnxNode {
public:
    OnnxNode(onnx::Call const& call, std::vector<Shape> inputs) : call_(&call), inputs_(std::move(inputs)) {}

    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
    [[nodiscard]] float real(std::string_view name, float otherwise) const;
    [[nodiscard]] std::string_view text(std::string_view name, std::string_view otherwise) const;
    [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name,
                                                     std::vector<std::int64_t> otherwise = {}) const;
    /// Empty where the node lacks it.
    [[nodiscard]] std::span<const float> reals(std::string_view name) const;
    /// Shapes of the inputs that are computed at run time.
    [[nodiscard]] std::span<const Shape> inputs() const { return inputs_; }

private:
    const onnx::Call* call_;
    std::vector<Shape> inputs_;
};

/// Attributes to write: the names and texts must outlive the export.
using OnnxAttributes = std::vector<onnx::NewAttribute>;

/// An operator that the library does not know, by its domain and name. Its inputs that are computed at run time are the
/// layer's; constants after them are the layer's weights, in the order of its each_weight.
struct OnnxOwnOperator {
    std::string domain, name;
    /// The layer of a node, usually one of the user's own. May throw error. Null: nodes of it are not imported.
    AnyLayer (*layer)(OnnxNode const&) = nullptr;
    /// The attributes with which a layer is written as this operator, or none for a layer of another kind. Null: no
    /// layer is written as it.
    std::optional<OnnxAttributes> (*attributes)(AnyLayer const&) = nullptr;
};

}  // namespace primsel::inline PRIMSEL_ABI
