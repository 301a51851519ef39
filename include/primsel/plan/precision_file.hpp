// Ranges with the errors and the precision of layers, as JSON: that of ranges_file.hpp with one more member,
//       "layers": [ { "name": "...", "bf16_squared_error": ..., "int8_squared_error": ...,
//                     "precision": "float32" | "f16" | "bf16" | "int8", "reason": "..." }, ... ]
// of which all but the name may be missing.
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/work.hpp>
#include <primsel/plan/layer_errors.hpp>
#include <primsel/plan/ranges_file.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The ranges of a network's tensors, its layers' errors, and the bounds on their precision that an error budget chose.
struct PrecisionFile {
    TensorRanges ranges;
    LayerErrors errors;
    std::vector<LayerPrecision> layer_precisions;
};

/// The JSON value from which parse_precision_file reads the same, every bit of the errors included. Layers are in the
/// order of their names.
[[nodiscard]] inline Json to_json(PrecisionFile const& file) {
    std::vector<std::string> names;
    for (auto const& [name, error] : file.errors) names.push_back(name);
    for (LayerPrecision const& bound : file.layer_precisions) names.push_back(bound.layer);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    Json::Array layers;
    for (std::string const& name : names) {
        Json::Object layer{{"name", name}};
        if (const auto error = file.errors.find(name); error != file.errors.end()) {
            if (error->second.bf16) layer.emplace_back("bf16_squared_error", *error->second.bf16);
            if (error->second.int8) layer.emplace_back("int8_squared_error", *error->second.int8);
        }
        const auto bound = std::ranges::find(file.layer_precisions, name, &LayerPrecision::layer);
        if (bound != file.layer_precisions.end()) {
            layer.emplace_back("precision", to_string_view(bound->precision));
            layer.emplace_back("reason", bound->reason);
        }
        layers.emplace_back(std::move(layer));
    }
    Json::Object members = *to_json(file.ranges).get<Json::Object>();
    members.emplace_back("layers", std::move(layers));
    return members;
}
/// Throws error, naming the file, when it cannot be written.
inline void write_precision_file(std::string const& path, PrecisionFile const& file) {
    write_file(path, to_string(to_json(file), 2) + '\n');
}

/// Reads the text of such a file, or one of ranges alone; `name` is what errors call it. Throws error as parse_ranges
/// does, and for an error that is negative.
[[nodiscard]] inline PrecisionFile parse_precision_file(std::string const& name, std::string_view text) {
    const JsonCursor root = parse_json(name, text);
    PrecisionFile file{.ranges = plan::detail::read_tensor_ranges(root), .errors = {}, .layer_precisions = {}};
    const std::optional<JsonCursor> layers = root.find("layers");
    if (!layers) return file;
    std::vector<std::string> names;
    for (JsonCursor const& layer : layers->elements()) {
        std::string const& own = names.emplace_back(layer["name"].string());
        if (std::ranges::find(names, own) != names.end() - 1) layer["name"].fail("is given twice");
        LayerError error;
        for (auto const& [key, value] :
             {std::pair<std::string_view, std::optional<double>&>{"bf16_squared_error", error.bf16},
              {"int8_squared_error", error.int8}}) {
            const std::optional<JsonCursor> given = layer.find(key);
            if (!given) continue;
            value = given->number();
            if (!(*value >= 0 && is_finite(*value)))
                given->fail("expected a number that is not negative, not ", *value);
        }
        if (error != LayerError{}) file.errors.emplace(own, error);
        const std::optional<JsonCursor> precision = layer.find("precision");
        if (!precision) continue;
        LayerPrecision bound{.layer = own, .reason = {}};
        const auto* const type = std::ranges::find_if(all_precisions, [&](Precision each) {
            return to_string_view(each) == std::string_view(precision->string());
        });
        if (type == all_precisions.end())
            precision->fail("expected float32, f16, bf16 or int8, not ", precision->string());
        bound.precision = *type;
        if (const auto reason = layer.find("reason")) bound.reason = reason->string();
        file.layer_precisions.push_back(std::move(bound));
    }
    return file;
}
/// Reads a file that write_precision_file or write_ranges wrote. Throws error as read_file and parse_precision_file do.
[[nodiscard]] inline PrecisionFile read_precision_file(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_precision_file(path, file.text());
}

}  // namespace primsel::inline PRIMSEL_ABI
