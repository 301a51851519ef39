#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <primsel/io/npy.hpp>
#include <random>
#include <string>
#include <vector>

#include "../allocations.hpp"
#include "scratch.hpp"

namespace io_npy {

namespace ps = primsel;
using scratch::allocated_by;
using scratch::error_of;

namespace {

using scratch::bytes_of;
std::string npy_file_of(std::string const& header, std::string const& data, int version = 1) {
    const auto size = static_cast<std::uint32_t>(header.size());
    return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
           std::string(reinterpret_cast<const char*>(&size), version == 1 ? 2 : 4) + header + data;
}
std::string npy_header_of(std::string const& code, std::string const& shape, bool fortran = false) {
    return "{'descr': '" + code + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}
ps::NpyArray npy_of(std::string const& file) { return ps::parse_npy("f", std::as_bytes(std::span(file))); }
std::string npy_error_in(std::string const& file) {
    return error_of([&] { (void)npy_of(file); });
}
bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
using Dims = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("float32 goes both ways through a file, bit by bit") {
    const scratch::Folder folder;
    const std::string path = folder.file("x.npy");
    std::mt19937 random(5);
    for (Dims const& dims : {Dims{}, Dims{7}, Dims{2, 3}, Dims{1, 2, 3, 4}, Dims{0}, Dims{3, 0, 2}, Dims(64, 1)}) {
        CAPTURE(ps::to_string(dims));
        std::size_t size = 1;
        for (const std::int64_t dim : dims) size *= static_cast<std::size_t>(dim);
        std::vector<float> values(size);
        for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        ps::write_npy(path, dims, values);
        const ps::NpyArray array = ps::read_npy(path);
        CHECK(array.dims == dims);
        CHECK(array.type == ps::NpyType::float32);
        CHECK(same_bits(array.values, values));
    }
    CHECK(folder.entries() == 1);
}

TEST_CASE("a written file is NumPy's, byte by byte") {
    // numpy.save of numpy.array([1.5, -2], "<f4"), and of numpy.arange(6).reshape(1, 2, 3)
    CHECK(ps::to_npy("f", {2}, std::vector<float>{1.5F, -2.0F}) ==
          npy_file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" + std::string(60, ' ') + "\n",
                      std::string("\x00\x00\xc0\x3f\x00\x00\x00\xc0", 8)));
    CHECK(ps::to_npy("f", {1, 2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5}, ps::NpyType::int64) ==
          npy_file_of("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 3), }" + std::string(55, ' ') + "\n",
                      bytes_of<std::int64_t>({0, 1, 2, 3, 4, 5})));
}

TEST_CASE("elements of other types become the nearest floats") {
    CHECK(npy_of(npy_file_of(npy_header_of("<f8", "(3,)"), bytes_of<double>({0.1, -HUGE_VAL, 1.0 + 0x1p-24}))).values ==
          std::vector<float>{0.1F, -HUGE_VALF, 1.0F});
    CHECK(npy_of(npy_file_of(npy_header_of("<i8", "(3,)"), bytes_of<std::int64_t>({-3, 16777217, INT64_MAX}))).values ==
          std::vector<float>{-3.0F, 16777216.0F, 0x1p63F});
    CHECK(npy_of(npy_file_of(npy_header_of("<i4", "(2,)"), bytes_of<std::int32_t>({INT32_MIN, 5}))).values ==
          std::vector<float>{-0x1p31F, 5.0F});
    CHECK(npy_of(npy_file_of(npy_header_of("|u1", "(2,)"), "\xff\x01")).values == std::vector<float>{255.0F, 1.0F});
    CHECK(npy_of(npy_file_of(npy_header_of("|i1", "(2,)"), "\xff\x01")).values == std::vector<float>{-1.0F, 1.0F});
    CHECK(npy_of(npy_file_of(npy_header_of("|b1", "(3,)"), std::string("\x01\x00\x01", 3))).values ==
          std::vector<float>{1.0F, 0.0F, 1.0F});
    CHECK(npy_error_in(npy_file_of(npy_header_of("<f8", "(2,)"), bytes_of<double>({1.0, -0x1.ffffffp127}))) ==
          "f: element 1 is too large for a float");
}

TEST_CASE("float16 is read exactly and written to the nearest") {
    // numpy.save of numpy.array([1.5, -65504, 2**-24, inf], "<f2")
    const std::string data("\x00\x3e\xff\xfb\x01\x00\x00\x7c", 8);
    const std::vector<float> values{1.5F, -65504.0F, 0x1p-24F, HUGE_VALF};
    const ps::NpyArray array = npy_of(npy_file_of(npy_header_of("<f2", "(4,)"), data));
    CHECK(array.type == ps::NpyType::float16);
    CHECK(array.values == values);
    CHECK(ps::to_npy("f", {4}, values, ps::NpyType::float16).ends_with(data));
    CHECK(ps::to_string(ps::NpyType::float16) == "float16");
    const std::vector<float> between{1.0F + 0x1p-11F, 65520.0F};
    CHECK(npy_of(ps::to_npy("f", {2}, between, ps::NpyType::float16)).values == std::vector<float>{1.0F, HUGE_VALF});
}

TEST_CASE("every type reads back as it was written") {
    const std::vector<float> values{0.0F, 1.0F, 200.0F};
    for (const auto type :
         {ps::NpyType::float32, ps::NpyType::float64, ps::NpyType::int64, ps::NpyType::int32, ps::NpyType::uint8,
          ps::NpyType::float16, ps::NpyType::uint16, ps::NpyType::int16, ps::NpyType::uint32, ps::NpyType::uint64}) {
        CAPTURE(ps::to_string(type));
        const ps::NpyArray array = npy_of(ps::to_npy("f", {3, 1}, values, type));
        CHECK(array.type == type);
        CHECK(array.dims == Dims{3, 1});
        CHECK(array.values == values);
    }
    const ps::NpyArray truth = npy_of(ps::to_npy("f", {3}, values, ps::NpyType::boolean));
    CHECK(truth.type == ps::NpyType::boolean);
    CHECK(truth.values == std::vector<float>{0.0F, 1.0F, 1.0F});
}

TEST_CASE("a float that is no value of an integer type is not written") {
    const auto refused = [](float value, ps::NpyType type) {
        return error_of([&] { (void)ps::to_npy("f", {2}, std::vector<float>{0.0F, value}, type); });
    };
    CHECK(refused(1.5F, ps::NpyType::int64) == "f: element 1, 1.5, is no int64");
    for (const float value : {0x1p63F, std::nextafter(-0x1p63F, -HUGE_VALF), std::nanf(""), HUGE_VALF, -0.5F}) {
        CHECK_FALSE(refused(value, ps::NpyType::int64).empty());
        CHECK_FALSE(refused(value, ps::NpyType::uint8).empty());
        CHECK_FALSE(refused(value, ps::NpyType::int32).empty());
        CHECK(refused(value, ps::NpyType::boolean).empty());
    }
    CHECK(refused(std::nextafter(0x1p63F, 0.0F), ps::NpyType::int64).empty());
    CHECK(refused(-0x1p63F, ps::NpyType::int64).empty());
    CHECK(refused(std::nextafter(0x1p31F, 0.0F), ps::NpyType::int32).empty());
    CHECK_FALSE(refused(0x1p31F, ps::NpyType::int32).empty());
    CHECK(refused(255.0F, ps::NpyType::uint8).empty());
    CHECK_FALSE(refused(256.0F, ps::NpyType::uint8).empty());
    CHECK_FALSE(refused(-1.0F, ps::NpyType::uint8).empty());
    CHECK(refused(65535.0F, ps::NpyType::uint16).empty());
    CHECK_FALSE(refused(65536.0F, ps::NpyType::uint16).empty());
    CHECK(refused(-32768.0F, ps::NpyType::int16).empty());
    CHECK_FALSE(refused(32768.0F, ps::NpyType::int16).empty());
    CHECK(refused(std::nextafter(0x1p64F, 0.0F), ps::NpyType::uint64).empty());
    CHECK_FALSE(refused(0x1p64F, ps::NpyType::uint64).empty());
    CHECK_FALSE(refused(-1.0F, ps::NpyType::uint32).empty());
    // As NumPy writes them.
    const std::string two("\x01\x80\xff\xff", 4);
    CHECK(npy_of(ps::to_npy("f", {2}, std::vector<float>{32769, 65535}, ps::NpyType::uint16)).values ==
          std::vector<float>{32769, 65535});
    CHECK(ps::to_npy("f", {2}, std::vector<float>{32769, 65535}, ps::NpyType::uint16).ends_with(two));
    CHECK(ps::to_npy("f", {2}, std::vector<float>{-32767, -1}, ps::NpyType::int16).ends_with(two));
    CHECK(refused(-128.0F, ps::NpyType::int8).empty());
    CHECK(refused(127.0F, ps::NpyType::int8).empty());
    CHECK_FALSE(refused(128.0F, ps::NpyType::int8).empty());
    CHECK_FALSE(refused(-129.0F, ps::NpyType::int8).empty());
    CHECK(error_of([] { (void)ps::to_npy("f", {2, 2}, std::vector<float>(3)); }) == "f: 3 values cannot fill 2x2");
    CHECK(error_of([] { (void)ps::to_npy("f", {-1}, std::vector<float>(1)); }) == "f: impossible dimensions -1");
    CHECK(error_of([] { (void)ps::to_npy("f", Dims(65, 1), std::vector<float>(1)); }) == "f: more than 64 dimensions");
}

TEST_CASE("Fortran order is transposed") {
    CHECK(npy_of(npy_file_of(npy_header_of("<f4", "(2, 3)", true), bytes_of<float>({1, 2, 3, 4, 5, 6}))).values ==
          std::vector<float>{1, 3, 5, 2, 4, 6});
    // Element (i, j, k) of 2x3x4 lies at i + 2 j + 6 k.
    std::vector<float> stored(24);
    for (std::size_t i = 0; i < 24; ++i) stored[i] = static_cast<float>(i);
    const ps::NpyArray array = npy_of(npy_file_of(npy_header_of("<f4", "(2, 3, 4)", true), bytes_of(stored)));
    for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            for (std::size_t k = 0; k < 4; ++k) {
                CHECK(array.values[(i * 3 + j) * 4 + k] == static_cast<float>(i + 2 * j + 6 * k));
            }
        }
    }
    CHECK(npy_of(npy_file_of(npy_header_of("<f4", "()", true), bytes_of<float>({3}))).values == std::vector<float>{3});
    CHECK(npy_of(npy_file_of(npy_header_of("<f4", "(3, 0)", true), "")).values.empty());
}

TEST_CASE("headers as others write them") {
    const std::string data = bytes_of<float>({1, 2});
    for (const int version : {1, 2, 3}) {
        CHECK(npy_of(npy_file_of(npy_header_of("<f4", "(1, 2)"), data, version)).dims == Dims{1, 2});
    }
    CHECK(npy_of(npy_file_of("  {\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f4\"}\n\n", data)).dims ==
          Dims{2});
    // As Python 2 writes integers.
    CHECK(npy_of(npy_file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 2L), }", data)).dims ==
          std::vector<std::int64_t>{1, 2});
    CHECK(npy_of(npy_file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }", data)).dims ==
          std::vector<std::int64_t>{2});
    CHECK(npy_of(npy_file_of("{'shape': ( 1 , 2 , ), 'descr': '<f4', 'fortran_order': False}", data)).dims ==
          Dims{1, 2});
}

TEST_CASE("what the format does not allow is refused, naming the file") {
    const std::string four(4, 'x');
    CHECK(npy_error_in("") == "f: not an .npy file");
    CHECK(npy_error_in("\x93NUMPY") == "f: not an .npy file");
    CHECK(npy_error_in("PK\x03\x04 a zip file").starts_with("f: not an .npy file: it is a zip archive"));
    CHECK(npy_error_in(npy_file_of("", "", 4)) == "f: .npy version 4 is not supported; 1, 2 and 3 are");
    CHECK(npy_error_in(npy_file_of("", "", 0)) == "f: .npy version 0 is not supported; 1, 2 and 3 are");
    CHECK(npy_error_in(npy_file_of("", "").substr(0, 9)) == "f: the file ends before its header");
    CHECK(npy_error_in(npy_file_of(std::string(300, ' '), "").substr(0, 110)) ==
          "f: the header has 300 bytes, but only 100 are there");

    const auto header_error = [&](std::string const& header) { return npy_error_in(npy_file_of(header, four)); };
    CHECK(header_error("") == "f: header, byte 0: expected {");
    CHECK(header_error("{}") == "f: header, byte 2: descr, fortran_order or shape is missing");
    CHECK(header_error("{'descr': '<f4', 'fortran_order': False}").ends_with("is missing"));
    CHECK(header_error("{'descr': '<f4', 'descr': '<f4'}").ends_with("unexpected key descr"));
    CHECK(header_error("{'colour': 3}").ends_with("unexpected key colour"));
    CHECK(header_error("{'descr").ends_with("a string does not end"));
    CHECK(header_error("{descr: 1}").ends_with("expected a string"));
    CHECK(header_error("{'descr' '<f4'}").ends_with("expected :"));
    CHECK(header_error("{'descr': '<f4', 'fortran_order': False, 'shape': (1LL,)}").ends_with("expected ,"));
    CHECK(header_error("{'descr': '<f4', 'fortran_order': False, 'shape': (L,)}").ends_with("expected a dimension"));
    CHECK(header_error("{'descr': '<f4' 'shape': ()}").ends_with("expected ,"));
    CHECK(header_error("{'fortran_order': 0}").ends_with("expected True or False"));
    CHECK(header_error(npy_header_of("<f4", "(1,)") + "{").ends_with("something follows the dict"));
    CHECK(header_error("{'descr': [('a', '<f4')]}").ends_with("structured elements are not supported"));
    CHECK(header_error(npy_header_of(">f4", "(1,)")).find("big-endian") != std::string::npos);
    for (const std::string code : {"<c16", "<c8", "|O", "<U4", "", "float32"}) {
        CHECK(header_error(npy_header_of(code, "(1,)"))
                  .ends_with("elements " + code +
                             " are not supported; floats of 2, 4 and 8 bytes, integers of 1 to 8 and |b1 are"));
    }
    CHECK(header_error(npy_header_of("<f4", "(1)")).ends_with("expected ,"));
    CHECK(header_error(npy_header_of("<f4", "1")).ends_with("expected ("));
    CHECK(header_error(npy_header_of("<f4", "(-1,)")).ends_with("expected a dimension"));
    CHECK(header_error(npy_header_of("<f4", "(,)")).ends_with("expected a dimension"));
    CHECK(header_error(npy_header_of("<f4", "(1.0,)")).ends_with("expected ,"));
    CHECK(header_error(npy_header_of("<f4", "(9223372036854775808,)")).ends_with("a dimension is too large"));
    std::string many = "(";
    for (int i = 0; i < 65; ++i) many += "1,";
    CHECK(header_error(npy_header_of("<f4", many + ")")).ends_with("more than 64 dimensions"));
}

TEST_CASE("the file must be as long as its shape says, and a claim alone books no memory") {
    const std::string header = npy_header_of("<f4", "(2, 3)");
    CHECK(npy_error_in(npy_file_of(header, std::string(23, 'x'))) ==
          "f: 2x3 of float32 take 24 bytes, but the file has 23");
    CHECK(npy_error_in(npy_file_of(header, std::string(25, 'x'))) ==
          "f: 2x3 of float32 take 24 bytes, but the file has 25");
    const std::string huge = npy_file_of(npy_header_of("<f4", "(4000000000, 4000000000, 4)"), "1234");
    const std::string large = npy_file_of(npy_header_of("<f4", "(4000000000,)"), "1234");
    std::string message;
    const auto bytes = allocated_by([&] { message = npy_error_in(huge) + npy_error_in(large); });
    CHECK(message ==
          "f: its shape 4000000000x4000000000x4 is impossibly large"
          "f: 4000000000 of float32 take 16000000000 bytes, but the file has 4");
    CHECK(bytes < 10'000);
    CHECK(npy_of(npy_file_of(npy_header_of("<f4", "(4000000000, 4000000000, 4, 0)"), "")).values.empty());
}

TEST_CASE("every truncation and every changed bit of a file parses or is refused") {
    const std::string file = ps::to_npy("f", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}, ps::NpyType::float64);
    for (std::size_t size = 0; size < file.size(); ++size) {
        CAPTURE(size);
        CHECK(npy_error_in(file.substr(0, size)).starts_with("f: "));
    }
    for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
        CAPTURE(bit);
        std::string changed = file;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        const std::string message = npy_error_in(changed);
        CHECK((message.empty() || message.starts_with("f: ")));
    }
}

TEST_CASE("a file that cannot be written stays what it was") {
    const scratch::Folder folder;
    const std::string path = folder.file("x.npy");
    ps::write_npy(path, {1}, std::vector<float>{1.0F});
    const std::string before = scratch::content(path);
    {
        const scratch::SmallDisk disk(1000);
        const std::string message = error_of([&] { ps::write_npy(path, {1000}, std::vector<float>(1000)); });
        CHECK(message.starts_with(path + ": cannot write: "));
    }
    CHECK(error_of([&] { ps::write_npy(path, {1}, std::vector<float>{0.5F}, ps::NpyType::int32); }) ==
          path + ": element 0, 0.5, is no int32");
    CHECK(scratch::content(path) == before);
    CHECK(folder.entries() == 1);
    CHECK(error_of([&] { (void)ps::read_npy(folder.file("none")); }).starts_with(folder.file("none: cannot read")));
}

}  // namespace io_npy
