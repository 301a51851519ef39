// Ranges of tensors as JSON:
//     {
//       "format": "primsel ranges", "format_version": 1,
//       "tensors": [ { "name": "...", "scale": ..., "zero_point": ... }, ... ]
//     }
// An error budget adds the layers, see precision_file.hpp.
#pragma once

#include <primsel/io/json.hpp>
#include <primsel/network/ranges.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

namespace plan::detail {
inline constexpr std::string_view ranges_format = "primsel ranges";
inline constexpr std::int64_t ranges_format_version = 1;
}  // namespace plan::detail

/// The ranges as a JSON value, from which parse_ranges reads the same.
[[nodiscard]] inline Json to_json(TensorRanges const& ranges) {
    Json::Array tensors;
    for (auto const& [name, range] : ranges) {
        tensors.push_back(Json::Object{
            {"name", name}, {"scale", static_cast<double>(range.scale)}, {"zero_point", range.zero_point}});
    }
    return Json::Object{{"format", plan::detail::ranges_format},
                        {"format_version", plan::detail::ranges_format_version},
                        {"tensors", std::move(tensors)}};
}
/// Throws error, naming the file, when it cannot be written.
inline void write_ranges(std::string const& path, TensorRanges const& ranges) {
    write_file(path, to_string(to_json(ranges), 2) + '\n');
}

namespace plan::detail {
[[nodiscard]] inline TensorRanges read_tensor_ranges(JsonCursor const& root) {
    if (const JsonCursor format = root["format"]; format.string() != ranges_format) {
        format.fail("expected \"", ranges_format, "\", not \"", format.string(), '"');
    }
    (void)root["format_version"].integer(ranges_format_version, ranges_format_version);
    TensorRanges ranges;
    for (JsonCursor const& tensor : root["tensors"].elements()) {
        const TensorRange range{.scale = static_cast<float>(tensor["scale"].number()),
                                .zero_point = static_cast<std::int32_t>(tensor["zero_point"].integer(0, 255))};
        // The reciprocal of a subnormal scale may be no float.
        if (!(range.scale >= std::numeric_limits<float>::min() && range.scale <= std::numeric_limits<float>::max())) {
            tensor["scale"].fail("expected a positive normal float, not ", tensor["scale"].number());
        }
        if (!ranges.emplace(tensor["name"].string(), range).second) tensor["name"].fail("is given twice");
    }
    return ranges;
}
}  // namespace plan::detail

/// Reads ranges from a JSON text; `name` is what errors call it. Throws error, naming it and the place in it, when the
/// text is not JSON, something is missing, impossible or given twice, or the format is of another version.
[[nodiscard]] inline TensorRanges parse_ranges(std::string const& name, std::string_view text) {
    return plan::detail::read_tensor_ranges(parse_json(name, text));
}
/// Reads ranges that write_ranges wrote. Throws error as read_file and parse_ranges do.
[[nodiscard]] inline TensorRanges read_ranges(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_ranges(path, file.text());
}

}  // namespace primsel::inline PRIMSEL_ABI
