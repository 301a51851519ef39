#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/error.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/onnx/detail/message.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// What the elements of an ONNX tensor are, with the numbers of the standard.
using OnnxType = onnx::DataType;

[[nodiscard]] constexpr std::string_view to_string(OnnxType type) {
    constexpr std::string_view names[] = {"undefined", "float32", "uint8",     "int8",       "uint16",  "int16",
                                          "int32",     "int64",   "string",    "boolean",    "float16", "float64",
                                          "uint32",    "uint64",  "complex64", "complex128", "bfloat16"};
    const auto number = static_cast<std::uint32_t>(type);
    return number < std::size(names) ? names[number] : "unknown type";
}

namespace onnx {
/// Whether elements are held as float; those of all other types are integers.
[[nodiscard]] constexpr bool is_float(OnnxType type) {
    return type == OnnxType::float32 || type == OnnxType::float16 || type == OnnxType::bfloat16 ||
           type == OnnxType::float64;
}
}  // namespace onnx

/// Numbers of any rank, row-major. Copies share the elements.
struct OnnxTensor {
    std::string name;
    std::vector<std::int64_t> dims;
    /// As in the file. Elements of float32, float16, bfloat16 and float64 are held as float (float64 rounded), those of
    /// the integer types and of boolean as std::int64_t.
    OnnxType type = OnnxType::float32;
    /// One of the two is filled.
    std::span<const float> floats;
    std::span<const std::int64_t> integers;
    /// Keeps the elements alive.
    std::shared_ptr<const void> owner;

    [[nodiscard]] bool is_float() const { return onnx::is_float(type); }
    [[nodiscard]] std::size_t size() const { return is_float() ? floats.size() : integers.size(); }
};

/// A tensor of float32 that owns its elements. Throws error when they do not fill the dimensions.
[[nodiscard]] inline OnnxTensor make_onnx_tensor(std::string name, std::vector<std::int64_t> dims,
                                                 std::vector<float> values);
/// The same of int64.
[[nodiscard]] inline OnnxTensor make_onnx_tensor(std::string name, std::vector<std::int64_t> dims,
                                                 std::vector<std::int64_t> values);

namespace onnx {

/// Elements of a tensor. Throws error when a dimension is negative or the product overflows.
[[nodiscard]] inline std::size_t count_of(std::vector<std::int64_t> const& dims) {
    // A zero anywhere makes it empty, however large the others are.
    if (std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; })) {
        fail("impossible dimensions ", to_string(dims));
    }
    if (std::ranges::find(dims, 0) != dims.end()) return 0;
    std::size_t count = 1;
    for (const std::int64_t dim : dims) {
        if (__builtin_mul_overflow(count, static_cast<std::size_t>(dim), &count)) {
            fail("impossibly large dimensions ", to_string(dims));
        }
    }
    return count;
}

template <class T>
[[nodiscard]] OnnxTensor own_elements(std::vector<std::int64_t> dims, OnnxType type, std::vector<T> values) {
    OnnxTensor tensor{.name = {}, .dims = std::move(dims), .type = type, .floats = {}, .integers = {}, .owner = {}};
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    if constexpr (std::is_same_v<T, float>)
        tensor.floats = *owner;
    else
        tensor.integers = *owner;
    tensor.owner = std::move(owner);
    return tensor;
}

/// A tensor with an extent of 0.
[[nodiscard]] inline OnnxTensor empty_tensor(std::vector<std::int64_t> dims, OnnxType type) {
    return is_float(type) ? own_elements<float>(std::move(dims), type, {})
                          : own_elements<std::int64_t>(std::move(dims), type, {});
}

/// A TensorProto: where its elements lie, not yet what they are.
struct TensorProto {
    std::string_view name;
    std::vector<std::int64_t> dims;
    OnnxType type = OnnxType::undefined;
    bool is_external = false, has_raw = false, has_segment = false;
    std::string_view raw;
    /// The elements of a type of their own, where they are not raw: as packed lists. Those that come one by one are
    /// gathered in `single` instead.
    std::string_view packed;
    std::vector<std::string_view> more_packed;
    std::vector<std::int64_t> single_integers;
    std::vector<float> single_floats;
    std::vector<StringEntry> external;
};

[[nodiscard]] inline TensorProto read_tensor_proto(std::string_view bytes) {
    TensorProto tensor;
    const auto add_packed = [&](std::string_view packed) {
        if (tensor.packed.empty())
            tensor.packed = packed;
        else
            tensor.more_packed.push_back(packed);
    };
    for (Message<TensorField> message(bytes); message.next();) {
        switch (message.field()) {
            case TensorField::dims:
                message.append_integers(tensor.dims);
                break;
            case TensorField::data_type:
                tensor.type = static_cast<OnnxType>(message.integer());
                break;
            case TensorField::segment:
                tensor.has_segment = true;
                message.skip();
                break;
            case TensorField::float_data:
                if (message.is_packed())
                    add_packed(message.bytes());
                else
                    tensor.single_floats.push_back(message.real());
                break;
            case TensorField::double_data:
                add_packed(message.bytes());
                break;
            case TensorField::int32_data:
            case TensorField::int64_data:
            case TensorField::uint64_data:
                if (message.is_packed())
                    add_packed(message.bytes());
                else
                    tensor.single_integers.push_back(message.integer());
                break;
            case TensorField::name:
                tensor.name = message.bytes();
                break;
            case TensorField::raw_data:
                tensor.has_raw = true;
                tensor.raw = message.bytes();
                break;
            case TensorField::external_data:
                tensor.external.push_back(read_string_entry(message.bytes()));
                break;
            case TensorField::data_location:
                tensor.is_external = message.integer() == static_cast<std::int64_t>(DataLocation::external);
                break;
            default:
                message.skip();
        }
    }
    if (tensor.dims.size() > 64) fail("a tensor of ", tensor.dims.size(), " dimensions");
    return tensor;
}

/// Bytes of an element; 0 for what is not read.
[[nodiscard]] constexpr std::size_t element_bytes(OnnxType type) {
    switch (type) {
        case OnnxType::uint8:
        case OnnxType::int8:
        case OnnxType::boolean:
            return 1;
        case OnnxType::uint16:
        case OnnxType::int16:
        case OnnxType::float16:
        case OnnxType::bfloat16:
            return 2;
        case OnnxType::float32:
        case OnnxType::int32:
        case OnnxType::uint32:
            return 4;
        case OnnxType::float64:
        case OnnxType::int64:
        case OnnxType::uint64:
            return 8;
        default:
            return 0;
    }
}

/// Calls f with a number of the C++ type of the elements; halves as std::uint16_t.
template <class F>
void with_type(OnnxType type, F const& f) {
    switch (type) {
        case OnnxType::boolean:
        case OnnxType::uint8:
            return f(std::uint8_t{});
        case OnnxType::int8:
            return f(std::int8_t{});
        case OnnxType::uint16:
        case OnnxType::float16:
        case OnnxType::bfloat16:
            return f(std::uint16_t{});
        case OnnxType::int16:
            return f(std::int16_t{});
        case OnnxType::float32:
            return f(float{});
        case OnnxType::int32:
            return f(std::int32_t{});
        case OnnxType::uint32:
            return f(std::uint32_t{});
        case OnnxType::float64:
            return f(double{});
        case OnnxType::int64:
            return f(std::int64_t{});
        case OnnxType::uint64:
            return f(std::uint64_t{});
        default:
            return;
    }
}

[[nodiscard]] inline float to_float(double value) {
    // Beyond the largest float a conversion is undefined; infinity is what rounding gives.
    constexpr double limit = 0x1.ffffffp127, infinity = std::numeric_limits<double>::infinity();
    return static_cast<float>(value >= limit ? infinity : value <= -limit ? -infinity : value);
}
[[nodiscard]] inline float half_to_float(OnnxType type, std::uint16_t half) {
    return type == OnnxType::float16 ? primsel::detail::half_to_float(half)
                                     : std::bit_cast<float>(std::uint32_t{half} << 16U);
}

/// The elements that lie at `raw`, as the file has them. float32 that is aligned is not copied but shares `owner`.
[[nodiscard]] inline OnnxTensor read_raw(std::vector<std::int64_t> dims, OnnxType type, std::string_view raw,
                                         std::shared_ptr<const void> const& owner) {
    const std::size_t count = count_of(dims), bytes = element_bytes(type);
    if (bytes == 0) fail("elements of ", to_string(type), " are not supported");
    if (raw.size() % bytes != 0 || raw.size() / bytes != count) {
        fail(raw.size(), " bytes cannot fill ", to_string(dims), " of ", to_string(type));
    }
    if (type == OnnxType::float32) {
        std::shared_ptr<const void> held = owner;
        const void* values = raw.data();
        if (reinterpret_cast<std::uintptr_t>(values) % alignof(float) != 0) {
            const auto copy = std::make_shared<AlignedBuffer>(count);
            if (count > 0) std::memcpy(copy->data(), values, raw.size());
            values = copy->data(), held = copy;
        }
        return {.name = {},
                .dims = std::move(dims),
                .type = type,
                .floats = std::span(static_cast<const float*>(values), count),
                .integers = {},
                .owner = std::move(held)};
    }
    OnnxTensor tensor;
    const auto* src = reinterpret_cast<const std::byte*>(raw.data());
    with_type(type, [&]<class From>(From) {
        const auto at = [&](std::size_t i) { return primsel::detail::read_unaligned<From>(src + i * sizeof(From)); };
        if (type == OnnxType::float16 || type == OnnxType::bfloat16 || std::is_floating_point_v<From>) {
            std::vector<float> values(count);
            for (std::size_t i = 0; i < count; ++i) {
                if constexpr (std::is_same_v<From, double>)
                    values[i] = to_float(at(i));
                else if constexpr (std::is_same_v<From, float>)
                    values[i] = at(i);
                else
                    values[i] = half_to_float(type, static_cast<std::uint16_t>(at(i)));
            }
            tensor = own_elements(std::move(dims), type, std::move(values));
        } else {
            std::vector<std::int64_t> values(count);
            for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(at(i));
            tensor = own_elements(std::move(dims), type, std::move(values));
        }
    });
    return tensor;
}

/// The elements of a tensor that has them in a list of their type.
[[nodiscard]] inline OnnxTensor read_typed(TensorProto const& proto) {
    const std::size_t count = count_of(proto.dims), bytes = element_bytes(proto.type);
    if (bytes == 0) fail("elements of ", to_string(proto.type), " are not supported");
    const auto require_full = [&](std::size_t found) {
        if (found != count) fail(found, " elements cannot fill ", to_string(proto.dims));
    };
    std::vector<std::string_view> lists{proto.packed};
    lists.insert(lists.end(), proto.more_packed.begin(), proto.more_packed.end());
    if (proto.type == OnnxType::float32 || proto.type == OnnxType::float64) {
        std::vector<float> values = proto.single_floats;
        for (const std::string_view list : lists) {
            if (list.size() % bytes != 0) fail("a list of floats ends within one");
            for (std::size_t i = 0; i < list.size(); i += bytes) {
                const auto* src = reinterpret_cast<const std::byte*>(list.data()) + i;
                values.push_back(bytes == 4 ? primsel::detail::read_unaligned<float>(src)
                                            : to_float(primsel::detail::read_unaligned<double>(src)));
            }
        }
        require_full(values.size());
        return own_elements(proto.dims, proto.type, std::move(values));
    }
    std::vector<std::int64_t> values = proto.single_integers;
    for (const std::string_view list : lists) {
        const char *at = list.data(), *const end = at + list.size();
        while (at != end) values.push_back(static_cast<std::int64_t>(protozero::decode_varint(&at, end)));
    }
    require_full(values.size());
    if (proto.type != OnnxType::float16 && proto.type != OnnxType::bfloat16) {
        return own_elements(proto.dims, proto.type, std::move(values));
    }
    std::vector<float> halves(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        halves[i] = half_to_float(proto.type, static_cast<std::uint16_t>(values[i]));
    }
    return own_elements(proto.dims, proto.type, std::move(halves));
}

/// The files beside a model that hold elements of its tensors; each is read once.
class ExternalData {
public:
    /// An empty folder: there are none.
    explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

    /// Throws error unless the tensor's location is a file in the folder (or beneath it) that holds all its elements.
    [[nodiscard]] OnnxTensor read(TensorProto const& proto) {
        std::string_view location;
        std::size_t offset = 0, length = 0;
        bool has_length = false;
        for (auto const& [key, value] : proto.external) {
            if (key == "location") location = value;
            if (key == "offset") offset = number(key, value);
            if (key == "length") length = number(key, value), has_length = true;
        }
        const SharedBytes& file = open(location);
        if (offset > file.bytes.size()) {
            fail("its data begin at byte ", offset, " of ", location, ", which has ", file.bytes.size());
        }
        const std::size_t rest = file.bytes.size() - offset;
        if (!has_length) {
            const std::size_t count = count_of(proto.dims), bytes = element_bytes(proto.type);
            if (bytes == 0 || count > rest / bytes) fail(location, " has only ", rest, " bytes for its data");
            length = count * bytes;
        }
        if (length > rest) {
            fail("its data reach byte ", offset, " + ", length, " of ", location, ", which has ", file.bytes.size());
        }
        return read_raw(proto.dims, proto.type, file.text().substr(offset, length), file.owner);
    }

private:
    [[nodiscard]] static std::size_t number(std::string_view key, std::string_view text) {
        std::size_t value = 0;
        const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (fault != std::errc{} || end != text.data() + text.size() || text.empty()) {
            fail("its external ", key, " is no number: ", text);
        }
        return value;
    }
    [[nodiscard]] SharedBytes const& open(std::string_view location) {
        const auto found = files_.find(location);
        if (found != files_.end()) return found->second;
        namespace fs = std::filesystem;
        if (folder_.empty()) fail("its data are in another file, ", location, ", and there is no folder to look in");
        const fs::path relative(location);
        bool leaves = relative.empty() || relative.is_absolute() || location.find('\0') != std::string_view::npos;
        for (fs::path const& part : relative) leaves = leaves || part == "..";
        if (leaves) fail("its data are at ", location, ": only files beside the model are read");
        // Nor may a symbolic link lead out of the folder.
        std::error_code fault;
        const fs::path folder = fs::canonical(folder_, fault), file = fs::canonical(folder_ / relative, fault);
        if (fault) fail("its data are in ", location, ", which cannot be read: ", fault.message());
        if (std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first != folder.end()) {
            fail("its data are at ", location, ", which is a link that leads away from the model");
        }
        return files_.emplace(location, read_file(file.string())).first->second;
    }

    std::filesystem::path folder_;
    std::map<std::string, SharedBytes, std::less<>> files_;
};

/// All of a tensor. Throws error, naming it, when its elements do not fill its dimensions exactly.
[[nodiscard]] inline OnnxTensor read_tensor(TensorProto const& proto, std::shared_ptr<const void> const& owner,
                                            ExternalData& external) {
    try {
        if (proto.has_segment) fail("tensors in segments are not supported");
        OnnxTensor tensor = proto.is_external ? external.read(proto)
                            : proto.has_raw   ? read_raw(proto.dims, proto.type, proto.raw, owner)
                                              : read_typed(proto);
        tensor.name = proto.name;
        return tensor;
    } catch (error const& fault) {
        fail("tensor ", proto.name.empty() ? "without a name" : proto.name, ": ", std::string_view(fault.what()));
    }
}

}  // namespace onnx

[[nodiscard]] inline OnnxTensor make_onnx_tensor(std::string name, std::vector<std::int64_t> dims,
                                                 std::vector<float> values) {
    if (onnx::count_of(dims) != values.size()) fail(name, ": ", values.size(), " values cannot fill ", to_string(dims));
    OnnxTensor tensor = onnx::own_elements(std::move(dims), OnnxType::float32, std::move(values));
    tensor.name = std::move(name);
    return tensor;
}
[[nodiscard]] inline OnnxTensor make_onnx_tensor(std::string name, std::vector<std::int64_t> dims,
                                                 std::vector<std::int64_t> values) {
    if (onnx::count_of(dims) != values.size()) fail(name, ": ", values.size(), " values cannot fill ", to_string(dims));
    OnnxTensor tensor = onnx::own_elements(std::move(dims), OnnxType::int64, std::move(values));
    tensor.name = std::move(name);
    return tensor;
}

/// A TensorProto of which `file` holds all bytes; `name` is what errors call it. Throws error.
[[nodiscard]] inline OnnxTensor parse_onnx_tensor(std::string const& name, SharedBytes const& file) {
    try {
        onnx::ExternalData none("");
        return onnx::read_tensor(onnx::read_tensor_proto(file.text()), file.owner, none);
    } catch (error const& fault) {
        fail(name, ": ", std::string_view(fault.what()));
    } catch (protozero::exception const& fault) {
        fail(name, ": not an ONNX tensor: ", std::string_view(fault.what()));
    }
}
/// A file with one TensorProto, such as the .pb files of ONNX's tests. Throws error.
[[nodiscard]] inline OnnxTensor read_onnx_tensor(std::string const& path) {
    return parse_onnx_tensor(path, read_file(path));
}

}  // namespace primsel::inline PRIMSEL_ABI
