#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/half.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/foreign_file.hpp>
#include <primsel/io/json.hpp>
#include <primsel/io/weight_file.hpp>
#include <primsel/network/weights.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The safetensors format: 8 bytes with the size of a header; the header, a JSON object from names to dtype, shape and
// data_offsets; and the data, row-major, which the tensors fill without overlap or hole. All of it little-endian.
namespace primsel::inline PRIMSEL_ABI {

static_assert(std::endian::native == std::endian::little, "primsel: safetensors files are little-endian");

/// Names and texts that a file may carry beside its tensors.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// The longest header in bytes; the format itself has this limit.
inline constexpr std::size_t safetensors_header_limit = 100'000'000;

namespace io {

// A tensor's description has three levels (the object of tensors, the tensor, its shape) and six values beside its
// dimensions: this is enough for half a million tensors.
inline constexpr JsonLimits safetensors_limits{.depth = 3, .values = std::size_t{1} << 22};

/// An element type of tensors in files.
struct Dtype {
    std::string_view name;
    std::size_t bytes;
    bool is_read;
};
inline constexpr Dtype dtypes[] = {
    {"F32", 4, true},  {"F16", 2, true},  {"BF16", 2, true},  {"F64", 8, true},      {"I64", 8, false},
    {"I32", 4, false}, {"I16", 2, false}, {"I8", 1, false},   {"U64", 8, false},     {"U32", 4, false},
    {"U16", 2, false}, {"U8", 1, false},  {"BOOL", 1, false}, {"F8_E4M3", 1, false}, {"F8_E5M2", 1, false},
};

/// A tensor as the header describes it; begin and end count bytes of the data.
struct TensorEntry {
    std::string_view name;
    JsonCursor at;
    Dtype dtype;
    std::vector<std::int64_t> dims;
    std::size_t begin;
    std::size_t end;
};

/// Whether a tensor is batch normalisation's count of training steps, an integer that inference does not need.
[[nodiscard]] inline bool is_step_count(std::string_view name) {
    return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
}

[[nodiscard]] inline Dtype read_dtype(JsonCursor const& at) {
    for (Dtype const& dtype : dtypes) {
        if (at.string() == dtype.name) return dtype;
    }
    at.fail("unknown dtype ", at.string());
}

/// Reads a tensor's description. Throws error unless the offsets lie in the data, the shape fills the bytes between
/// them, and the dtype is known.
[[nodiscard]] inline TensorEntry read_entry(std::string_view name, JsonCursor const& at, std::size_t data_bytes) {
    for (auto const& [key, value] : at.members()) {
        if (key != "dtype" && key != "shape" && key != "data_offsets") value.fail("unknown member");
    }
    TensorEntry entry{name, at, read_dtype(at["dtype"]), {}, 0, 0};
    std::size_t bytes = entry.dtype.bytes;
    for (JsonCursor const& dim : at["shape"].elements()) {
        entry.dims.push_back(dim.integer(0));
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(entry.dims.back()), &bytes)) {
            at.fail("its shape is impossibly large");
        }
    }
    const JsonCursor offsets = at["data_offsets"];
    if (offsets.size() != 2) offsets.fail("expected two elements, not ", offsets.size());
    entry.begin = static_cast<std::size_t>(offsets[0].integer(0));
    entry.end = static_cast<std::size_t>(offsets[1].integer(offsets[0].integer()));
    if (entry.end > data_bytes) offsets.fail("reach byte ", entry.end, " of the ", data_bytes, " bytes of data");
    if (entry.end - entry.begin != bytes) {
        at.fail("shape ", to_string(entry.dims), " of ", entry.dtype.name, " takes ", bytes,
                " bytes, but the data_offsets leave ", entry.end - entry.begin);
    }
    return entry;
}

/// Sorts the tensors by their offsets. Throws error unless they fill the data without overlap or hole.
inline void require_full_cover(JsonCursor const& header, std::vector<TensorEntry>& entries, std::size_t data_bytes) {
    std::sort(entries.begin(), entries.end(), [](TensorEntry const& left, TensorEntry const& right) {
        return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    });
    std::size_t covered = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        TensorEntry const& entry = entries[i];
        if (entry.begin < covered) entry.at.fail("overlaps ", entries[i - 1].name);
        if (entry.begin > covered) entry.at.fail("leaves bytes ", covered, " to ", entry.begin, " to no tensor");
        covered = entry.end;
    }
    if (covered != data_bytes) header.fail("leaves bytes ", covered, " to ", data_bytes, " to no tensor");
}

template <class T>
[[nodiscard]] T read_unaligned(const std::byte* src) {
    T value;
    std::memcpy(&value, src, sizeof(T));
    return value;
}

/// The values of a tensor as floats. F16 and BF16 convert exactly, NaN and infinity included. F64 is rounded to the
/// nearest float; throws error for a finite value beyond the floats.
[[nodiscard]] inline std::vector<float> read_floats(TensorEntry const& entry, std::span<const std::byte> bytes) {
    std::vector<float> values(bytes.size() / entry.dtype.bytes);
    const auto convert = [&]<class From>(From, auto to_float) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = to_float(read_unaligned<From>(bytes.data() + i * sizeof(From)));
        }
    };
    if (entry.dtype.name == "F16") {
        convert(std::uint16_t{}, core::half_to_float);
    } else if (entry.dtype.name == "BF16") {
        // A BF16 value is the upper half of a float.
        convert(std::uint16_t{}, [](std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16U); });
    } else if (entry.dtype.name == "F64") {
        convert(double{}, [&](double value) {
            const bool is_finite = (std::bit_cast<std::uint64_t>(value) >> 52U & 0x7ffU) != 0x7ffU;
            // From half a step beyond the largest float on, the nearest float is infinity.
            if (is_finite && std::abs(value) >= 0x1.ffffffp127) entry.at.fail("has a value too large for a float");
            return static_cast<float>(value);
        });
    } else {
        convert(float{}, [](float value) { return value; });
    }
    return values;
}

/// The header's size and the header, padded with spaces so that the data are aligned to 8 bytes. Throws error for a
/// name that is reserved or not UTF-8, and if the header exceeds the limits.
[[nodiscard]] inline std::string safetensors_header(std::string const& path, Weights const& weights,
                                                    SafetensorsMetadata const& metadata = {}) {
    Json::Object header;
    std::size_t offset = 0, values = 1;
    if (!metadata.empty()) {
        Json::Object texts;
        for (auto const& [name, text] : metadata) texts.emplace_back(name, text);
        values += 1 + metadata.size();
        header.emplace_back("__metadata__", std::move(texts));
    }
    for (auto const& [name, tensor] : weights) {
        values += 6 + tensor.dims.size();
        if (name == "__metadata__") fail(path, ": weight ", name, ": safetensors reserves this name");
        if (utf8_prefix(name) != name.size()) fail(path, ": weight ", name, ": its name is not UTF-8");
        const std::size_t end = offset + tensor.values.size_bytes();
        header.emplace_back(name, Json::Object{{"dtype", "F32"},
                                               {"shape", Json::Array(tensor.dims.begin(), tensor.dims.end())},
                                               {"data_offsets", Json::Array{offset, end}}});
        offset = end;
    }
    if (values > safetensors_limits.values) fail(path, ": these are more tensors than a header can describe");
    std::string text = to_string(Json(std::move(header)));
    text.resize((text.size() + 7) / 8 * 8, ' ');
    if (text.size() > safetensors_header_limit) {
        fail(path, ": a header of ", text.size(), " bytes is longer than the ", safetensors_header_limit, " allowed");
    }
    const std::uint64_t size = text.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + text;
}

/// A safetensors file whose bytes are in memory.
struct SafetensorsInMemory {
    std::string const& name;
    SharedBytes const& file;
    [[nodiscard]] std::size_t size() const { return file.bytes.size(); }
    [[nodiscard]] std::string_view text(std::size_t at, std::size_t count) const {
        return file.text().substr(at, count);
    }
    [[nodiscard]] std::span<const std::byte> bytes(std::size_t at, std::size_t count) const {
        return file.bytes.subspan(at, count);
    }
    [[nodiscard]] WeightTensor weight(std::vector<std::int64_t> dims, std::size_t at, std::size_t count) const {
        return {std::move(dims), StoredFloats::of_bytes(bytes(at, count)), file.owner};
    }
};
/// A safetensors file on disk, of which parts are read on demand.
struct SafetensorsOnDisk {
    std::string const& name;
    std::shared_ptr<const HeldFile> file;
    [[nodiscard]] std::size_t size() const { return file->file().size(); }
    [[nodiscard]] std::string text(std::size_t at, std::size_t count) const {
        std::string read(count, '\0');
        file->read(at, std::as_writable_bytes(std::span(read)));
        return read;
    }
    [[nodiscard]] std::vector<std::byte> bytes(std::size_t at, std::size_t count) const {
        std::vector<std::byte> read(count);
        file->read(at, read);
        return read;
    }
    [[nodiscard]] WeightTensor weight(std::vector<std::int64_t> dims, std::size_t at, std::size_t count) const {
        return weight_of_file(std::move(dims), file, at, count / sizeof(float));
    }
};

inline constexpr std::size_t safetensors_size_bytes = sizeof(std::uint64_t);

/// The text of the header; the data begin behind it. Throws error if the file is of another format or shorter than its
/// header.
template <class File>
[[nodiscard]] auto header_of(File const& file) {
    constexpr std::size_t size_bytes = safetensors_size_bytes;
    const std::string head(file.text(0, std::min(file.size(), std::size_t{512})));
    if (head.find('{') != size_bytes) refuse_foreign_format(file.name, "a safetensors file", head);
    if (file.size() < size_bytes) {
        fail(file.name, ": not a safetensors file: ", file.size(), " bytes are too few");
    }
    const auto size = file.bytes(0, size_bytes);
    const auto header_bytes = read_unaligned<std::uint64_t>(size.data());
    if (header_bytes > safetensors_header_limit) {
        fail(file.name, ": not a safetensors file: a header of ", header_bytes, " bytes is longer than the ",
             safetensors_header_limit, " allowed");
    }
    const std::size_t rest = file.size() - size_bytes;
    if (header_bytes > rest) {
        fail(file.name, ": the header has ", header_bytes, " bytes, but only ", rest, " are there");
    }
    return file.text(size_bytes, static_cast<std::size_t>(header_bytes));
}

[[nodiscard]] inline JsonCursor parse_header(std::string const& name, std::string_view text) {
    return parse_json(name + ": header", text, safetensors_limits);
}

template <class File>
[[nodiscard]] Weights weights_of(File const& file) {
    const auto text = header_of(file);
    const JsonCursor header = parse_header(file.name, text);
    const std::size_t begin = safetensors_size_bytes + text.size(), data_bytes = file.size() - begin;
    std::vector<TensorEntry> entries;
    for (auto const& [key, value] : header.members()) {
        if (key == "__metadata__") {
            for (auto const& [_, metadata] : value.members()) (void)metadata.string();
        } else {
            entries.push_back(read_entry(key, value, data_bytes));
        }
    }
    require_full_cover(header, entries, data_bytes);

    Weights weights(file.name);
    for (TensorEntry& entry : entries) {
        if (is_step_count(entry.name)) continue;
        const std::string name(entry.name);
        if (!entry.dtype.is_read) {
            weights.add_unread(
                name, join(to_string(entry.dims), " of ", entry.dtype.name, "; only F32, F16, BF16 and F64 are read"));
            continue;
        }
        const std::size_t at = begin + entry.begin, count = entry.end - entry.begin;
        if (entry.dtype.name == "F32") {
            weights.add(name, file.weight(std::move(entry.dims), at, count));
        } else {
            std::vector<float> values = read_floats(entry, file.bytes(at, count));
            weights.add(name, std::move(entry.dims), std::move(values));
        }
    }
    return weights;
}

/// The weights of all files that an index names. Throws error if a file is not in the index's folder or lacks a tensor.
[[nodiscard]] inline Weights read_shards(std::string const& path) {
    const SharedBytes text = read_file(path);
    const JsonCursor index = parse_json(path, text.text(), safetensors_limits);
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    std::map<std::string, Weights, std::less<>> shards;
    Weights weights(path);
    for (auto const& [name, file] : index["weight_map"].members()) {
        const std::string shard(file.string());
        if (shard.empty() || shard.find('/') != std::string::npos || shard == "..") {
            file.fail("is not the name of a file beside the index");
        }
        const auto [place, is_new] = shards.try_emplace(shard);
        if (is_new) {
            const std::string beside = folder + shard;
            place->second = weights_of(SafetensorsOnDisk{beside, std::make_shared<const HeldFile>(beside)});
        }
        const std::string tensor(name);
        if (const WeightTensor* found = place->second.find(tensor)) {
            weights.add(tensor, *found);
        } else if (const auto unread = place->second.unread().find(tensor); unread != place->second.unread().end()) {
            weights.add_unread(tensor, unread->second);
        } else if (!is_step_count(tensor)) {
            fail(path, ": ", shard, " has no tensor ", tensor);
        }
    }
    return weights;
}

template <class File>
[[nodiscard]] SafetensorsMetadata metadata_of(File const& file) {
    SafetensorsMetadata metadata;
    const auto text = header_of(file);
    const JsonCursor header = parse_header(file.name, text);
    for (auto const& [key, value] : header.members()) {
        if (key != "__metadata__") continue;
        for (auto const& [of, entry] : value.members()) metadata.emplace_back(of, entry.string());
    }
    return metadata;
}

}  // namespace io

/// The weights of a safetensors file whose bytes are `file`; errors call it `name`. F32 tensors share the bytes; others
/// are converted to F32. Tensors named num_batches_tracked are left out, and those of integers are unread. Throws
/// error, naming file and tensor, if the format is violated.
[[nodiscard]] inline Weights parse_safetensors(std::string const& name, SharedBytes const& file) {
    return io::weights_of(io::SafetensorsInMemory{name, file});
}

/// The weights of a safetensors file, which stays open as long as they live. Large F32 tensors are read when they are
/// needed; reading throws error if the file was changed meanwhile. For an index (model.safetensors.index.json), those
/// of the files beside it that it names. Throws error as OpenFile and parse_safetensors do.
[[nodiscard]] inline Weights read_safetensors(std::string const& path) {
    if (path.ends_with(".json")) return io::read_shards(path);
    return io::weights_of(io::SafetensorsOnDisk{path, std::make_shared<const HeldFile>(path)});
}

/// The names and texts that a file carries beside its tensors, in their order. Throws error, naming the file, if the
/// header violates the format.
[[nodiscard]] inline SafetensorsMetadata safetensors_metadata(std::string const& name, SharedBytes const& file) {
    return io::metadata_of(io::SafetensorsInMemory{name, file});
}
/// The same of a file on disk, of which only the header is read.
[[nodiscard]] inline SafetensorsMetadata read_safetensors_metadata(std::string const& path) {
    return io::metadata_of(io::SafetensorsOnDisk{path, std::make_shared<const HeldFile>(path)});
}

/// Writes the weights as F32, in the order of their names, without copying them. Until all is written, `path` is
/// unchanged, as with write_file. Throws error as write_file does, and for names that are reserved or not UTF-8.
inline void write_safetensors(std::string const& path, Weights const& weights,
                              SafetensorsMetadata const& metadata = {}) {
    const std::string header = io::safetensors_header(path, weights, metadata);
    std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(header))};
    for (auto const& [name, tensor] : weights) parts.push_back(tensor.values.bytes());
    write_file(path, parts);
}

}  // namespace primsel::inline PRIMSEL_ABI
