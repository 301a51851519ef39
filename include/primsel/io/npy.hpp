#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/core/half.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/foreign_file.hpp>
#include <primsel/network/weights.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NumPy's .npy format, versions 1 to 3: "\x93NUMPY", two bytes of version, the size of a header (two bytes in version
// 1, four later), the header, a Python dict with the element type, the order and the shape, and the elements.
namespace primsel::inline PRIMSEL_ABI {

static_assert(std::endian::native == std::endian::little, "primsel: npy files are written little-endian");

/// The element types of arrays in files. In memory all are floats.
enum class NpyType { float32, float64, int64, int32, uint8, boolean, float16, int8, uint16, int16, uint32, uint64 };

[[nodiscard]] constexpr std::string_view to_string(NpyType type) {
    constexpr std::string_view names[] = {"float32", "float64", "int64",  "int32", "uint8",  "bool",
                                          "float16", "int8",    "uint16", "int16", "uint32", "uint64"};
    return names[static_cast<std::size_t>(type)];
}

/// An array of any rank, row-major.
struct NpyArray {
    std::vector<std::int64_t> dims;
    std::vector<float> values;
    /// The element type in the file.
    NpyType type = NpyType::float32;
};

namespace io::detail {

inline constexpr std::size_t npy_max_rank = 64;  // NumPy's own
inline constexpr std::string_view npy_magic = "\x93NUMPY";

struct NpyCode {
    std::string_view code;  // as the header calls it
    NpyType type;
    std::size_t bytes;
};
inline constexpr NpyCode npy_codes[] = {
    {"<f4", NpyType::float32, 4}, {"<f8", NpyType::float64, 8}, {"<i8", NpyType::int64, 8},
    {"<i4", NpyType::int32, 4},   {"|u1", NpyType::uint8, 1},   {"|b1", NpyType::boolean, 1},
    {"<f2", NpyType::float16, 2}, {"|i1", NpyType::int8, 1},    {"<u2", NpyType::uint16, 2},
    {"<i2", NpyType::int16, 2},   {"<u4", NpyType::uint32, 4},  {"<u8", NpyType::uint64, 8},
};
[[nodiscard]] constexpr NpyCode const& npy_code(NpyType type) {
    return npy_codes[static_cast<std::size_t>(type)];  // in the order of the enumerators
}

/// The bits of a float16.
enum class NpyHalf : std::uint16_t {};

/// Calls call(T{}) with the C++ type T of the elements: std::uint8_t for bool.
template <class Call>
void with_npy_type(NpyType type, Call const& call) {
    switch (type) {
        case NpyType::float32:
            return call(float{});
        case NpyType::float64:
            return call(double{});
        case NpyType::int64:
            return call(std::int64_t{});
        case NpyType::int32:
            return call(std::int32_t{});
        case NpyType::uint8:
        case NpyType::boolean:
            return call(std::uint8_t{});
        case NpyType::float16:
            return call(NpyHalf{});
        case NpyType::int8:
            return call(std::int8_t{});
        case NpyType::uint16:
            return call(std::uint16_t{});
        case NpyType::int16:
            return call(std::int16_t{});
        case NpyType::uint32:
            return call(std::uint32_t{});
        case NpyType::uint64:
            return call(std::uint64_t{});
    }
}

struct NpyHeader {
    NpyCode code;
    bool fortran_order;
    std::vector<std::int64_t> dims;
};

/// Reads the header: a Python dict of a string, a bool and a tuple of integers.
class NpyHeaderParser {
public:
    NpyHeaderParser(std::string const& name, std::string_view text) : name_(name), text_(text) {}

    [[nodiscard]] NpyHeader parse() {
        std::optional<NpyCode> code;
        std::optional<bool> fortran_order;
        std::optional<std::vector<std::int64_t>> dims;
        expect('{');
        while (!accept('}')) {
            const std::string_view key = string();
            expect(':');
            if (key == "descr" && !code) {
                code = element();
            } else if (key == "fortran_order" && !fortran_order) {
                fortran_order = boolean();
            } else if (key == "shape" && !dims) {
                dims = shape();
            } else {
                refuse("unexpected key ", key);
            }
            if (accept('}')) break;
            expect(',');
        }
        skip_spaces();
        if (at_ != text_.size()) refuse("something follows the dict");
        if (!code || !fortran_order || !dims) refuse("descr, fortran_order or shape is missing");
        return {*code, *fortran_order, std::move(*dims)};
    }

private:
    template <class... Parts>
    [[noreturn]] void refuse(Parts const&... parts) const {
        fail(name_, ": header, byte ", at_, ": ", parts...);
    }
    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    bool accept(std::string_view word) {
        skip_spaces();
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    bool accept(char c) { return accept(std::string_view(&c, 1)); }
    void expect(char c) {
        if (!accept(c)) refuse("expected ", c);
    }
    [[nodiscard]] std::string_view string() {
        skip_spaces();
        const char quote = at_ < text_.size() ? text_[at_] : '\0';
        if (quote != '\'' && quote != '"') refuse("expected a string");
        const std::size_t end = text_.find(quote, ++at_);
        if (end == std::string_view::npos) refuse("a string does not end");
        const std::string_view result = text_.substr(at_, end - at_);
        at_ = end + 1;
        return result;
    }
    [[nodiscard]] bool boolean() {
        if (accept("True")) return true;
        if (!accept("False")) refuse("expected True or False");
        return false;
    }
    [[nodiscard]] NpyCode element() {
        skip_spaces();
        if (text_.substr(at_).starts_with('[')) refuse("structured elements are not supported");
        const std::string_view name = string();
        for (NpyCode const& code : npy_codes) {
            if (name == code.code) return code;
        }
        if (name.starts_with('>')) refuse("elements ", name, " are big-endian, which is not supported");
        refuse("elements ", name, " are not supported; floats of 2, 4 and 8 bytes, integers of 1 to 8 and |b1 are");
    }
    [[nodiscard]] std::int64_t integer() {
        skip_spaces();
        const std::size_t begin = at_;
        std::int64_t value = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
                __builtin_add_overflow(value, std::int64_t{text_[at_] - '0'}, &value)) {
                refuse("a dimension is too large");
            }
        }
        if (at_ == begin) refuse("expected a dimension");
        accept('L');  // of Python 2
        return value;
    }
    [[nodiscard]] std::vector<std::int64_t> shape() {
        std::vector<std::int64_t> dims;
        expect('(');
        while (!accept(')')) {
            if (dims.size() == npy_max_rank) refuse("more than ", npy_max_rank, " dimensions");
            dims.push_back(integer());
            if (accept(')')) {
                // (3) is a number, (3,) a tuple.
                if (dims.size() == 1) refuse("expected ,");
                break;
            }
            expect(',');
        }
        return dims;
    }

    std::string const& name_;
    std::string_view text_;
    std::size_t at_ = 0;
};

/// Changes column-major values (first axis innermost) to row-major ones (last axis innermost).
[[nodiscard]] inline std::vector<float> from_fortran_order(std::vector<std::int64_t> const& dims,
                                                           std::vector<float> const& src) {
    std::vector<float> dst(src.size());
    std::vector<std::size_t> strides, index(dims.size(), 0);
    std::size_t stride = 1, at = 0;
    for (const std::int64_t dim : dims) {
        strides.push_back(stride);
        stride *= static_cast<std::size_t>(dim);
    }
    for (float& value : dst) {
        value = src[at];
        for (std::size_t axis = dims.size(); axis-- > 0;) {
            at += strides[axis];
            if (++index[axis] < static_cast<std::size_t>(dims[axis])) break;
            at -= strides[axis] * index[axis];
            index[axis] = 0;
        }
    }
    return dst;
}

/// Converts a value to an element of the file. Throws error if an integer type cannot represent it.
template <class T>
[[nodiscard]] T npy_element(std::string const& name, std::size_t i, float value, NpyType type) {
    if constexpr (std::same_as<T, NpyHalf>) {
        return static_cast<NpyHalf>(core::float_to_half(value));
    } else {
        if (type == NpyType::boolean) return static_cast<T>(value != 0.0F);
        if constexpr (std::integral<T>) {
            // These bounds are exact floats: `beyond` is one more than the largest integer of the type.
            constexpr float low = static_cast<float>(std::numeric_limits<T>::min());
            constexpr float beyond = static_cast<float>(std::numeric_limits<T>::max() / 2 + 1) * 2.0F;
            const bool fits = value >= low && value < beyond && value == std::trunc(value);
            if (!fits) fail(name, ": element ", i, ", ", value, ", is no ", to_string(type));
        }
        return static_cast<T>(value);
    }
}

/// The bytes that elements of these dimensions take; nothing if the number overflows.
[[nodiscard]] inline std::optional<std::size_t> npy_bytes(std::vector<std::int64_t> const& dims, std::size_t each) {
    if (std::ranges::find(dims, 0) != dims.end()) return 0;
    for (const std::int64_t dim : dims) {
        if (__builtin_mul_overflow(each, static_cast<std::size_t>(dim), &each)) return std::nullopt;
    }
    return each;
}

}  // namespace io::detail

/// Reads an .npy file whose bytes are `file`; errors call it `name`. Every element becomes the nearest float: float64
/// and integers beyond 2^24 are rounded, float16 is exact, bools are 0 and 1. Arrays in Fortran order are transposed.
/// Throws error, naming the file, if the format is violated, the element type is another, a finite float64 exceeds the
/// floats, or the file is not exactly as long as its shape says.
[[nodiscard]] inline NpyArray parse_npy(std::string const& name, std::span<const std::byte> file) {
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    constexpr std::size_t version_end = io::detail::npy_magic.size() + 2;
    if (!text.starts_with(io::detail::npy_magic)) refuse_foreign_format(name, "an .npy file", text);
    if (!text.starts_with(io::detail::npy_magic) || text.size() < version_end) fail(name, ": not an .npy file");
    const int version = static_cast<unsigned char>(text[io::detail::npy_magic.size()]);
    if (version < 1 || version > 3) fail(name, ": .npy version ", version, " is not supported; 1, 2 and 3 are");

    const std::size_t size_bytes = version == 1 ? 2 : 4;
    if (text.size() < version_end + size_bytes) fail(name, ": the file ends before its header");
    std::uint32_t header_bytes = 0;
    std::memcpy(&header_bytes, text.data() + version_end, size_bytes);
    const std::size_t begin = version_end + size_bytes;
    if (header_bytes > text.size() - begin) {
        fail(name, ": the header has ", header_bytes, " bytes, but only ", text.size() - begin, " are there");
    }
    io::detail::NpyHeader header = io::detail::NpyHeaderParser(name, text.substr(begin, header_bytes)).parse();

    const std::span<const std::byte> data = file.subspan(begin + header_bytes);
    const auto bytes = io::detail::npy_bytes(header.dims, header.code.bytes);
    if (!bytes) fail(name, ": its shape ", to_string(header.dims), " is impossibly large");
    if (*bytes != data.size()) {
        fail(name, ": ", to_string(header.dims), " of ", to_string(header.code.type), " take ", *bytes,
             " bytes, but the file has ", data.size());
    }
    NpyArray array{std::move(header.dims), std::vector<float>(data.size() / header.code.bytes), header.code.type};
    io::detail::with_npy_type(array.type, [&]<class T>(T) {
        for (std::size_t i = 0; i < array.values.size(); ++i) {
            T value;
            std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
            if constexpr (std::same_as<T, double>) {
                // From half a step beyond the largest float on, the nearest float is infinity.
                if (is_finite(value) && std::abs(value) >= 0x1.ffffffp127) {
                    fail(name, ": element ", i, " is too large for a float");
                }
            }
            if constexpr (std::same_as<T, io::detail::NpyHalf>) {
                array.values[i] = core::half_to_float(static_cast<std::uint16_t>(value));
            } else {
                array.values[i] =
                    array.type == NpyType::boolean ? static_cast<float>(value != T{}) : static_cast<float>(value);
            }
        }
    });
    if (header.fortran_order) array.values = io::detail::from_fortran_order(array.dims, array.values);
    return array;
}

/// Reads an .npy file. Throws error as read_file and parse_npy do.
[[nodiscard]] inline NpyArray read_npy(std::string const& path) { return parse_npy(path, read_file(path).bytes); }

/// The bytes of an .npy file of version 1; errors call it `name`. As bool, any value but 0 is true. As float16, values
/// are rounded to the nearest; a magnitude of 65520 or more becomes infinity. Throws error if the values do not fill
/// the dimensions, a dimension is negative, there are more than 64 dimensions, or an integer type cannot represent a
/// value.
[[nodiscard]] inline std::string to_npy(std::string const& name, std::vector<std::int64_t> const& dims,
                                        std::span<const float> values, NpyType type = NpyType::float32) {
    std::string shape;
    for (const std::int64_t dim : dims) {
        if (dim < 0) fail(name, ": impossible dimensions ", to_string(dims));
        shape += (shape.empty() ? "" : ", ") + std::to_string(dim);
    }
    if (dims.size() == 1) shape += ',';
    if (dims.size() > io::detail::npy_max_rank) fail(name, ": more than ", io::detail::npy_max_rank, " dimensions");
    const io::detail::NpyCode code = io::detail::npy_code(type);
    if (io::detail::npy_bytes(dims, sizeof(float)) != values.size_bytes()) {
        fail(name, ": ", values.size(), " values cannot fill ", to_string(dims));
    }
    std::string header = join("{'descr': '", code.code, "', 'fortran_order': False, 'shape': (", shape, "), }");
    // Padded as by NumPy, so that the data are aligned to 64 bytes.
    constexpr std::size_t before = 10, alignment = 64;
    header.resize((before + header.size()) / alignment * alignment + alignment - before - 1, ' ');
    header += '\n';
    const auto header_bytes = static_cast<std::uint16_t>(header.size());  // 64 dimensions fill no 2 KiB

    std::string file(io::detail::npy_magic);
    file.append("\x01\x00", 2);
    file.append(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes)).append(header);
    file.reserve(file.size() + values.size() * code.bytes);
    io::detail::with_npy_type(type, [&]<class T>(T) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const T element = io::detail::npy_element<T>(name, i, values[i], type);
            file.append(reinterpret_cast<const char*>(&element), sizeof(T));
        }
    });
    return file;
}

/// Writes an .npy file; until all is written, `path` is unchanged, as with write_file. Throws error as write_file and
/// to_npy do.
inline void write_npy(std::string const& path, std::vector<std::int64_t> const& dims, std::span<const float> values,
                      NpyType type = NpyType::float32) {
    write_file(path, to_npy(path, dims, values, type));
}

}  // namespace primsel::inline PRIMSEL_ABI
