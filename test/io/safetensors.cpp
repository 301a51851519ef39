#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <primsel/io/safetensors.hpp>
#include <random>

#include "../allocations.hpp"
#include "scratch.hpp"

namespace io_safetensors {

namespace ps = primsel;
using scratch::allocated_by;
using scratch::error_of;

namespace {

std::string file_of(std::string const& header, std::string const& data = "") {
    const std::uint64_t size = header.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + header + data;
}
using scratch::bytes_of;
/// {"x":{"dtype":dtype,"shape":shape,"data_offsets":[0,bytes]}}
std::string header_of(std::string const& dtype, std::string const& shape, std::size_t bytes) {
    return ps::join(R"({"x":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":[0,)", bytes, "]}}");
}

/// Parses a file's bytes that start at an address with this remainder modulo 64.
ps::Weights parse(std::string const& file, std::size_t remainder = 0) {
    auto buffer = std::make_shared<ps::AlignedBuffer>(file.size() / sizeof(float) + 17);
    const auto bytes = std::as_writable_bytes(buffer->span()).subspan(remainder, file.size());
    std::memcpy(bytes.data(), file.data(), file.size());
    return ps::parse_safetensors("f", {bytes, std::move(buffer)});
}
std::string error_in(std::string const& file) {
    return error_of([&] { (void)parse(file); });
}

/// Names, shapes and the bits of the values.
bool same(ps::Weights const& left, ps::Weights const& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](auto const& a, auto const& b) {
        return a.first == b.first && a.second.dims == b.second.dims &&
               std::equal(
                   a.second.values.begin(), a.second.values.end(), b.second.values.begin(), b.second.values.end(),
                   [](float x, float y) { return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y); });
    });
}

/// A file with something of each kind, in few bytes.
std::string small_file() {
    return file_of(R"({"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                   R"("a.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[8,16]},)"
                   R"("b":{"dtype":"F16","shape":[3],"data_offsets":[16,22]}}  )",
                   bytes_of<float>({1.5F, -2.0F}) + bytes_of<std::int64_t>({7}) +
                       bytes_of<std::uint16_t>({0x3c00, 0xbc00, 0x0001}));
}

}  // namespace

TEST_CASE("weights go both ways through a file, bit by bit") {
    const scratch::Folder folder;
    const std::string path = folder.file("model.safetensors");
    ps::Weights weights;
    std::mt19937 random(3);
    std::vector<float> values(210);
    for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    weights.add("conv1.weight", {2, 3, 5, 7}, values);
    weights.add("scalar", std::vector<std::int64_t>{}, {42.0F});
    weights.add("empty", {0, 3}, std::vector<float>{});
    weights.add("empty too", {3, 0, 2}, std::vector<float>{});
    weights.add("", {1}, {1.0F});
    weights.add("été/重み \"😀\"\\\n", {1, 1}, {-0.0F});
    weights.add("special", {5}, {std::nanf("7"), -HUGE_VALF, std::numeric_limits<float>::denorm_min(), -0.0F, 3e38F});
    ps::write_safetensors(path, weights);
    const ps::Weights read = ps::read_safetensors(path);
    CHECK(same(read, weights));
    CHECK(folder.entries() == 1);

    SUBCASE("written again over itself it is the same file") {
        const std::string before = scratch::content(path);
        ps::write_safetensors(path, read);
        CHECK((scratch::content(path) == before));
        CHECK(same(read, weights));
    }
}

TEST_CASE("a written file begins with a padded header in the order of names") {
    const scratch::Folder folder;
    const std::string path = folder.file("f");
    ps::Weights weights;
    weights.add("b", {2}, {1.0F, 2.0F});
    weights.add("a", std::vector<std::int64_t>{}, {3.0F});
    ps::write_safetensors(path, weights);
    const std::string header = R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                               R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
    REQUIRE(header.size() % 8 == 3);
    CHECK(scratch::content(path) == file_of(header + "     ", bytes_of<float>({3.0F, 1.0F, 2.0F})));
    ps::write_safetensors(path, {});
    CHECK(scratch::content(path) == file_of("{}      "));
    CHECK(ps::read_safetensors(path).size() == 0);
}

TEST_CASE("a file of Python's") {
    const ps::Weights weights = ps::read_safetensors("test/data/mixed.safetensors");
    ps::Weights expected;
    expected.add("conv.weight", {2, 1, 1, 3}, {0.0F, 0.5F, -1.25F, 3.0e38F, 1.0e-45F, -0.0F});
    expected.add("bn.weight", {4}, {1.0F, -2.5F, 65504.0F, 0x1p-24F});
    expected.add("bn.bias", {3}, {1.0F, -2.5F, HUGE_VALF});
    expected.add("été/重み", {1, 2}, {0.1F, -1.0e10F});
    expected.add("scalar", std::vector<std::int64_t>{}, {7.0F});
    expected.add("empty", {0, 5}, std::vector<float>{});
    CHECK(same(weights, expected));
}

TEST_CASE(
    "F32 shares the file's bytes, which live as long as the weights; unaligned it is copied when read as floats") {
    const std::string file = file_of(header_of("F32", "[3]", 12) + "  ", bytes_of<float>({1.0F, 2.0F, 3.0F}));
    const std::vector<float> expected{1.0F, 2.0F, 3.0F};
    for (std::size_t remainder = 0; remainder < 8; ++remainder) {
        CAPTURE(remainder);
        auto buffer = std::make_shared<ps::AlignedBuffer>(file.size() / sizeof(float) + 17);
        const auto bytes = std::as_writable_bytes(buffer->span()).subspan(remainder, file.size());
        std::memcpy(bytes.data(), file.data(), file.size());
        ps::Weights weights = ps::parse_safetensors("f", {bytes, buffer});
        const ps::WeightTensor tensor = weights.at("x");
        weights = {};
        CHECK(tensor.values.bytes().data() == bytes.data() + bytes.size() - 12);
        CHECK(tensor.values.is_ready() == ((remainder + file.size() - 12) % 4 == 0));
        CHECK(buffer.use_count() > 1);
        buffer.reset();
        std::vector<float> read(3), last(1);
        tensor.values.read(0, read), tensor.values.read(2, last);
        CHECK((read == expected && last[0] == 3.0F));
        const auto* start = reinterpret_cast<const std::byte*>(tensor.values.data());
        CHECK((start == tensor.values.bytes().data()) == tensor.values.is_ready());
        CHECK(tensor.values.first(2).data() == tensor.values.data());
        CHECK(std::equal(tensor.values.begin(), tensor.values.end(), expected.begin(), expected.end()));
    }
}

TEST_CASE("F16 and BF16 convert exactly") {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    const ps::Weights halves = parse(file_of(header_of("F16", "[65536]", 131072), bytes_of(all)));
    const ps::Weights brains = parse(file_of(header_of("BF16", "[256,256]", 131072), bytes_of(all)));
    std::size_t different = 0;
    for (const std::uint16_t bits : all) {
        // sign, exponent and fraction as IEEE 754 defines their meaning
        const auto meaning = [bits](int exponent_bits, int fraction_bits) {
            const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
            const int exponent = bits >> fraction_bits & top, fraction = bits & ((1 << fraction_bits) - 1);
            double value = std::ldexp(fraction + (exponent > 0 ? 1 << fraction_bits : 0),
                                      std::max(exponent, 1) - bias - fraction_bits);
            if (exponent == top) value = fraction == 0 ? HUGE_VAL : std::nan("");
            return (bits & 0x8000) != 0 ? -value : value;
        };
        const auto equal = [](float got, double expected) {
            return std::isnan(expected) ? std::isnan(got)
                                        : got == expected && std::signbit(got) == std::signbit(expected);
        };
        if (!equal(halves.at("x").values[bits], meaning(5, 10))) ++different;
        if (!equal(brains.at("x").values[bits], meaning(8, 7))) ++different;
    }
    CHECK(different == 0);
}

TEST_CASE("F64 is rounded to the nearest float; a finite value beyond floats is refused") {
    constexpr float most = std::numeric_limits<float>::max();
    const std::vector<double> values{0.1,
                                     1.0 + 0x1p-24,
                                     1.0 + 0x1p-24 + 0x1p-50,
                                     1.0 + 3 * 0x1p-24,
                                     -0.0,
                                     1e-320,
                                     0x1p-150,
                                     0x1.8p-149,
                                     HUGE_VAL,
                                     -HUGE_VAL,
                                     std::nan(""),
                                     most,
                                     std::nextafter(0x1.ffffffp127, 0.0)};
    const std::vector<float> expected{0.1F,      1.0F,      1.0F + 0x1p-23F, 1.0F + 0x1p-22F, -0.0F, 0.0F, 0.0F,
                                      0x1p-148F, HUGE_VALF, -HUGE_VALF,      std::nanf(""),   most,  most};
    const ps::Weights weights = parse(file_of(header_of("F64", "[13]", 104), bytes_of(values)));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        const float got = weights.at("x").values[i];
        CHECK((std::isnan(expected[i]) ? std::isnan(got) : got == expected[i]));
        CHECK(std::signbit(got) == std::signbit(values[i]));
    }
    for (const double value : {0x1.ffffffp127, -0x1.ffffffp127, 1e39, -1e300}) {
        CHECK(error_in(file_of(header_of("F64", "[2]", 16), bytes_of<double>({1.0, value}))) ==
              "f: header: x: has a value too large for a float");
    }
}

TEST_CASE("integers are not read, and batch normalisation's step count is left out") {
    for (const std::string dtype : {"I64", "U64"}) {
        const ps::Weights weights = parse(file_of(header_of(dtype, "[1]", 8), std::string(8, '\0')));
        CHECK(weights.size() == 0);
        CHECK(weights.unread().at("x") == "1 of " + dtype + "; only F32, F16, BF16 and F64 are read");
    }
    CHECK(parse(file_of(header_of("BOOL", "[1]", 1), "x")).unread().contains("x"));
    CHECK(error_in(file_of(header_of("F31", "[1]", 4), "data")) == "f: header: x.dtype: unknown dtype F31");
    const auto named = [](std::string const& name) {
        return file_of("{\"" + name + R"(":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})", std::string(8, '\0'));
    };
    CHECK(parse(named("bn.num_batches_tracked")).size() == 0);
    CHECK(parse(named("num_batches_tracked")).size() == 0);
    CHECK(parse(named("bn.num_batches_tracked")).unread().empty());
    CHECK(parse(named("num_batches_tracked.x")).unread().contains("num_batches_tracked.x"));
    CHECK(parse(named("my_num_batches_tracked")).unread().contains("my_num_batches_tracked"));
}

TEST_CASE("an index is the weights of the files that it names") {
    const scratch::Folder folder;
    const std::string index = folder.file("model.safetensors.index.json");
    ps::Weights first, second, all;
    first.add("a", {2}, {1, 2});
    second.add("b", {1}, {3}), second.add("c", {1}, {4});
    ps::write_safetensors(folder.file("one.safetensors"), first);
    ps::write_safetensors(folder.file("two.safetensors"), second);
    const auto read = [&](std::string const& map) {
        ps::write_file(index, R"({"metadata":{"total_size":16},"weight_map":{)" + map + "}}");
        return ps::read_safetensors(index);
    };
    const auto refusal = [&](std::string const& map) { return error_of([&] { (void)read(map); }); };
    const ps::Weights both = read(R"("a":"one.safetensors","c":"two.safetensors","b":"two.safetensors")");
    CHECK(both.size() == 3);
    CHECK(both.source() == index);
    CHECK(both.at("a").values[1] == 2.0F);
    CHECK(both.at("c").values[0] == 4.0F);
    CHECK(read(R"("a":"one.safetensors")").size() == 1);
    CHECK(refusal(R"("z":"one.safetensors")") == index + ": one.safetensors has no tensor z");
    CHECK(refusal(R"("a":"three.safetensors")").find("three.safetensors") != std::string::npos);
    for (const char* outside : {"../one.safetensors", "/etc/passwd", "", ".."}) {
        CHECK(refusal(R"("a":")" + std::string(outside) + '"').find("is not the name of a file beside") !=
              std::string::npos);
    }
    ps::write_file(index, std::string_view("{}"));
    CHECK_FALSE(error_of([&] { (void)ps::read_safetensors(index); }).empty());
}

TEST_CASE("what the format does not allow is refused, naming file and tensor") {
    const auto refused = [](std::string const& file, std::string const& message) { CHECK(error_in(file) == message); };
    const std::string four(4, 'x'), eight(8, 'x');

    refused("", "f: not a safetensors file: 0 bytes are too few");
    refused("1234567", "f: not a safetensors file: 7 bytes are too few");
    refused(file_of("{}").substr(0, 9), "f: the header has 2 bytes, but only 1 are there");
    refused(std::string(8, '\xff'),
            "f: not a safetensors file: a header of 18446744073709551615 bytes is longer than the "
            "100000000 allowed");
    refused(bytes_of<std::uint64_t>({100'000'000}), "f: the header has 100000000 bytes, but only 0 are there");
    refused(bytes_of<std::uint64_t>({100'000'001}),
            "f: not a safetensors file: a header of 100000001 bytes is longer than the 100000000 allowed");
    refused(file_of(""), "f: header:1:1: not valid JSON: The document is empty.");
    refused(file_of("{]"), "f: header:1:2: not valid JSON: Missing a name for object member.");
    refused(file_of("{} x"), "f: header:1:4: not valid JSON: The document root must not be followed by other values.");
    refused(file_of("[]"), "f: header: expected an object, not an array");
    refused(file_of(R"({"x":[[[[]]]]})"), "f: header:1:9: not valid JSON: it is nested deeper than 3 levels");
    refused(file_of(R"({"x":1})"), "f: header: x: expected an object, not an integer");
    refused(file_of(R"({"__metadata__":{"a":1}})"), "f: header: __metadata__.a: expected a string, not an integer");
    refused(file_of(R"({"__metadata__":"a"})"), "f: header: __metadata__: expected an object, not a string");
    refused(file_of(R"({"x":{"shape":[1],"data_offsets":[0,4]}})", four), "f: header: x: has no member \"dtype\"");
    refused(file_of(R"({"x":{"dtype":"F32","data_offsets":[0,4]}})", four), "f: header: x: has no member \"shape\"");
    refused(file_of(R"({"x":{"dtype":"F32","shape":[1]}})", four), "f: header: x: has no member \"data_offsets\"");
    refused(file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", four),
            "f: header: x.more: unknown member");
    refused(file_of(R"({"x":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", four),
            "f: header: x.dtype: expected a string, not an integer");
    refused(file_of(header_of("F32", "4", 4), four), "f: header: x.shape: expected an array, not an integer");
    refused(file_of(header_of("F32", "[1,\"1\"]", 4), four),
            "f: header: x.shape[1]: expected an integer, not a string");
    refused(file_of(header_of("F32", "[1.0]", 4), four), "f: header: x.shape[0]: expected an integer, not a number");
    refused(file_of(header_of("F32", "[-1]", 4), four), "f: header: x.shape[0]: expected at least 0, not -1");
    refused(file_of(header_of("F32", "[9223372036854775808]", 4), four),
            "f: header: x.shape[0]: expected an integer, not a number");
    // 2^64 bytes, and 2^65 + 4, which 64 bits would take for 0 and 4.
    refused(file_of(header_of("F32", "[4611686018427387904]", 4), four), "f: header: x: its shape is impossibly large");
    refused(file_of(header_of("F16", "[3,3074457345618258603,2]", 4), four),
            "f: header: x: its shape is impossibly large");
    refused(file_of(header_of("F32", "[2]", 4), four),
            "f: header: x: shape 2 of F32 takes 8 bytes, but the data_offsets leave 4");
    refused(file_of(header_of("F32", "[0]", 4), four),
            "f: header: x: shape 0 of F32 takes 0 bytes, but the data_offsets leave 4");
    refused(file_of(header_of("F32", "[]", 8), eight),
            "f: header: x: shape scalar of F32 takes 4 bytes, but the data_offsets leave 8");

    const auto offsets = [](std::string const& pair) {
        return R"({"x":{"dtype":"F32","shape":[1],"data_offsets":)" + pair + "}}";
    };
    refused(file_of(offsets("[0,4]"), "123"), "f: header: x.data_offsets: reach byte 4 of the 3 bytes of data");
    refused(file_of(offsets("[4,8]"), four), "f: header: x.data_offsets: reach byte 8 of the 4 bytes of data");
    refused(file_of(offsets("[-4,0]"), four), "f: header: x.data_offsets[0]: expected at least 0, not -4");
    refused(file_of(offsets("[4,0]"), four), "f: header: x.data_offsets[1]: expected at least 4, not 0");
    refused(file_of(offsets("[0,4,8]"), eight), "f: header: x.data_offsets: expected two elements, not 3");
    refused(file_of(offsets("[9223372036854775804,9223372036854775807]"), four),
            "f: header: x.data_offsets: reach byte 9223372036854775807 of the 4 bytes of data");
    refused(file_of(offsets("[4,8]"), eight), "f: header: x: leaves bytes 0 to 4 to no tensor");
    refused(file_of(offsets("[0,4]"), eight), "f: header: leaves bytes 4 to 8 to no tensor");
    refused(file_of("{}", "x"), "f: header: leaves bytes 0 to 1 to no tensor");

    const auto two = [](std::string const& name, std::string const& a, std::string const& b) {
        return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + a + "},\"" + name +
               R"(":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}";
    };
    refused(file_of(two("b", "[0,4]", "[0,4]"), four), "f: header: b: overlaps a");
    refused(file_of(two("b", "[2,6]", "[0,4]"), eight), "f: header: a: overlaps b");
    refused(file_of(two("b", "[8,12]", "[0,4]"), eight + four), "f: header: a: leaves bytes 4 to 8 to no tensor");
    refused(file_of(two("a", "[0,4]", "[4,8]"), eight),
            "f: header:1:108: not valid JSON: the key \"a\" is given twice, in lines 1 and 1");
    CHECK(parse(file_of(two("b", "[4,8]", "[0,4]"), eight)).size() == 2);
    // An empty tensor may lie between others, not inside of one.
    const auto empty_at = [](std::string const& place) {
        return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0],"data_offsets":[)" +
               place + "," + place + "]}}";
    };
    CHECK(parse(file_of(empty_at("0"), four)).size() == 2);
    CHECK(parse(file_of(empty_at("4"), four)).size() == 2);
    refused(file_of(empty_at("2"), four), "f: header: e: overlaps a");
}

TEST_CASE("a file cut short anywhere is refused") {
    const std::string file = small_file();
    REQUIRE(parse(file).size() == 2);
    for (std::size_t size = 0; size < file.size(); ++size) {
        CAPTURE(size);
        CHECK(error_in(file.substr(0, size)).starts_with("f: "));
    }
    CHECK(error_in(file + '\0').ends_with("leaves bytes 22 to 23 to no tensor"));
}

TEST_CASE(
    "flipped bits parse or are refused, never anything else, and never cost more memory than the file justifies") {
    const std::string file = small_file();
    std::mt19937 random(11);
    std::size_t parsed = 0, refused = 0, most = 0;
    for (int i = 0; i < 50'000; ++i) {
        std::string flipped = file;
        for (auto flips = random() % 4; flips > 0; --flips) {
            flipped[random() % flipped.size()] ^= static_cast<char>(1U << random() % 8);
        }
        most = std::max(most, allocated_by([&] { error_in(flipped).empty() ? ++parsed : ++refused; }));
    }
    CHECK(parsed > 1000);
    CHECK(refused > 1000);
    CHECK(most < 20'000);
}

TEST_CASE("hostile headers cost no more memory than the file justifies") {
    const auto allocated = [](std::string const& file) {
        return allocated_by([&] { CHECK(error_in(file).starts_with("f: ")); });
    };
    CHECK(allocated(bytes_of<std::uint64_t>({99'999'999}) + "{}") < 2'000);
    CHECK(allocated(file_of(header_of("F32", "[1000000000]", 4'000'000'000))) < 20'000);
    CHECK(allocated(file_of(header_of("F64", "[1000000000,1000000000]", 8))) < 20'000);
    // Many values in few bytes. An element is 32 bytes for 2 of text, a member 64 for 5 and 16 more to find its key
    // twice; vectors that grow by doubling allocate up to four times what they hold in the end.
    std::string zeros = R"({"x":{"dtype":"F32","shape":[0)", objects = R"({"x":{"a":0)", nested(3'000'000, '[');
    for (int i = 0; i < 5'000'000; ++i) zeros += ",0";
    for (int i = 0; i < 1'500'000; ++i) objects += ",\"\":0";
    CHECK(allocated(file_of(zeros + "],\"data_offsets\":[0,0]}}")) < 4 * 32 / 2 * zeros.size());
    CHECK(allocated(file_of(objects + "}}")) < 4 * 80 / 5 * objects.size());
    CHECK(allocated(file_of(nested)) < 2 * nested.size() + 20'000);
    // A name of a megabyte is not copied for each dimension.
    std::string dims = "[1";
    for (int i = 0; i < 10'000; ++i) dims += ",1";
    const std::string name(1'000'000, 'n');
    const std::string long_name =
        file_of("{\"" + name + R"(":{"dtype":"F32","shape":)" + dims + R"(],"data_offsets":[0,4]}})", "data");
    CHECK(allocated_by([&] { CHECK(parse(long_name).size() == 1); }) < 8'000'000);
}

TEST_CASE("large weights are neither copied to be read nor to be written") {
    const scratch::Folder folder;
    const std::string path = folder.file("large.safetensors");
    constexpr std::size_t floats = 3'000'000;
    ps::Weights weights;
    weights.add("large", {3, 1'000'000}, std::vector<float>(floats, 0.5F));
    CHECK(allocated_by([&] { ps::write_safetensors(path, weights); }) < 10'000);
    ps::Weights read;
    const std::size_t reading = allocated_by([&] { read = ps::read_safetensors(path); });
    CHECK(reading < 10'000);
    CHECK(same(read, weights));
    const std::size_t copying = allocated_by([&] { read = ps::parse_safetensors(path, ps::read_file(path)); });
    CHECK(copying > floats * sizeof(float));
    CHECK(copying < floats * sizeof(float) + 10'000);
    CHECK(same(read, weights));
}

TEST_CASE("weights of a file that was cut, overwritten, replaced or removed are what they were, or say so") {
    const scratch::Folder folder;
    const std::string path = folder.file("w.safetensors");
    ps::Weights weights;
    std::vector<float> many(100'000);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
    weights.add("few", {2}, {1.0F, 2.0F});
    weights.add("many", {1000, 100}, many);
    const auto is_what_it_was = [&](ps::Weights const& read) {
        std::vector<float> last(100);
        read.at("many").values.read(many.size() - 100, last);
        CHECK(last == std::vector<float>(many.end() - 100, many.end()));
        CHECK(same(read, weights));
    };
    const auto is_refused = [&](ps::Weights const& read) {
        ps::StoredFloats const& values = read.at("many").values;
        const std::string reason = path + ": was changed while it was in use";
        std::vector<float> some(10);
        CHECK(error_of([&] { values.read(0, some); }) == reason);
        CHECK(error_of([&] { values.read(many.size() - 10, some); }) == reason);
        CHECK(error_of([&] { (void)values.data(); }) == reason);
        CHECK(error_of([&] { values.each_part([](std::span<const std::byte>) {}); }) == reason);
        CHECK(read.at("few").values[1] == 2.0F);
    };
    const auto written = [&] {
        ps::write_safetensors(path, weights);
        return ps::read_safetensors(path);
    };
    for (const std::uintmax_t size : {0U, 9U, 200'000U, 399'999U, 500'000U}) {
        const ps::Weights read = written();
        std::filesystem::resize_file(path, size);
        is_refused(read);
    }
    {
        const ps::Weights read = written(), copied = ps::parse_safetensors(path, ps::read_file(path));
        scratch::write(path, std::string(4096, ' '));
        is_refused(read);
        is_what_it_was(copied);
    }
    {
        const ps::Weights read = written(), ready = ps::read_safetensors(path);
        (void)ready.at("many").values.data();
        ps::write_file(path, "another");
        is_what_it_was(read);
        std::filesystem::remove(path);
        is_what_it_was(read);
        is_what_it_was(ready);
    }
}

TEST_CASE("an error in writing names the file and keeps what was there") {
    const scratch::Folder folder;
    const std::string path = folder.file("model.safetensors");
    ps::Weights old, large, reserved, unprintable, fits, endless;
    old.add("x", {1}, {1.0F});
    large.add("x", {5000}, std::vector<float>(5000));
    reserved.add("__metadata__", {1}, {1.0F});
    unprintable.add("\xff", {1}, {1.0F});
    fits.add("x", std::vector<std::int64_t>((1 << 22) - 7, 1), {1.0F});
    endless.add("x", std::vector<std::int64_t>((1 << 22) - 6, 1), {1.0F});
    ps::write_safetensors(path, old);
    std::string message;
    {
        const scratch::SmallDisk disk(8192);
        message = error_of([&] { ps::write_safetensors(path, large); });
    }
    CHECK(message == path + ": cannot write: File too large");
    CHECK(error_of([&] { ps::write_safetensors("/dev/full", old); }) ==
          "/dev/full: cannot write: No space left on device");
    CHECK(error_of([&] { ps::write_safetensors(path, reserved); }) ==
          path + ": weight __metadata__: safetensors reserves this name");
    CHECK(error_of([&] { ps::write_safetensors(path, unprintable); }) == path + ": weight \xff: its name is not UTF-8");
    CHECK(error_of([&] { ps::write_safetensors(path, endless); }) ==
          path + ": these are more tensors than a header can describe");
    CHECK(same(ps::read_safetensors(path), old));
    ps::write_safetensors(path, fits);
    CHECK(same(ps::read_safetensors(path), fits));
    CHECK(folder.entries() == 1);
    CHECK(error_of([&] { (void)ps::read_safetensors(folder.file("none")); }) ==
          folder.file("none") + ": cannot read: No such file or directory");
    scratch::write(path, "not safetensors at all");
    CHECK(error_of([&] {
              (void)ps::read_safetensors(path);
          }).starts_with(path + ": not a safetensors file: a header of "));
}

}  // namespace io_safetensors
