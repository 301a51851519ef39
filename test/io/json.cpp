#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <primsel/io/json.hpp>
#include <random>

#include "scratch.hpp"

namespace io_json {

namespace ps = primsel;
using ps::Json;
using scratch::error_of;

namespace {
std::string error_in(std::string_view text, ps::JsonLimits limits = {}) {
    return error_of([&] { (void)ps::parse_json("f.json", text, limits); });
}
}  // namespace

TEST_CASE("a JSON text becomes values of each type, members in their order") {
    const ps::JsonCursor root = ps::parse_json("f.json", R"( {"z": null, "a": [true, false, -3, 2.5, "text", {}, []],
        "nested": {"deep": [[[1]]]} , "e": 1E2} )");
    CHECK(root["z"].is_null());
    CHECK(root["a"][0].boolean());
    CHECK_FALSE(root["a"][1].boolean());
    CHECK(root["a"][2].integer() == -3);
    CHECK(root["a"][2].number() == -3.0);
    CHECK(root["a"][3].number() == 2.5);
    CHECK(root["a"][4].string() == "text");
    CHECK(root["a"][5].members().empty());
    CHECK(root["a"][6].size() == 0);
    CHECK(root["nested"]["deep"][0][0][0].integer() == 1);
    CHECK(root["e"].number() == 100.0);
    std::string keys;
    for (auto const& [key, value] : root.members()) keys += key;
    CHECK(keys == "zanestede");
    std::size_t elements = 0;
    for (ps::JsonCursor const& element : root["a"].elements()) elements += element.is_null() ? 0 : 1;
    CHECK(elements == 7);
    CHECK(root.find("a").has_value());
    CHECK_FALSE(root.find("b").has_value());
    CHECK(ps::parse_json("f.json", "7").integer() == 7);
}

TEST_CASE("a value knows the line where it begins; line feeds within strings do not count") {
    const ps::JsonCursor root = ps::parse_json("f.json", "\n{\"a\\n\\n\": 1,\n\"b\": [\n\"\\n\", {\"c\":\n2}\n]}");
    CHECK(root.value().line() == 2);
    CHECK(root["a\n\n"].value().line() == 2);
    CHECK(root["b"].value().line() == 3);
    CHECK(root["b"][0].value().line() == 4);
    CHECK(root["b"][1].value().line() == 4);
    CHECK(root["b"][1]["c"].value().line() == 5);
    CHECK(Json(1).line() == 0);
}

TEST_CASE("a cursor keeps its document alive") {
    const ps::JsonCursor place = ps::parse_json("f.json", R"({"a": ["kept"]})")["a"][0];
    CHECK(place.string() == "kept");
    CHECK(place.path() == "f.json: a[0]");
}

TEST_CASE("strings: escapes, surrogate pairs, bytes of UTF-8, zero") {
    const ps::JsonCursor root =
        ps::parse_json("f.json", R"(["\"\\\/\b\f\n\r\t", "\u00e9\u4E2D\ud83d\ude00", "é中😀", "\u0000"])");
    CHECK(root[0].string() == "\"\\/\b\f\n\r\t");
    CHECK(root[1].string() == "é中😀");
    CHECK(root[2].string() == "é中😀");
    CHECK(root[3].string() == std::string(1, '\0'));
    const std::string every_ascii = [] {
        std::string text;
        for (char c = 0; c < 127; ++c) text += c;
        return text;
    }();
    CHECK(ps::parse_json("f.json", ps::to_string(Json(every_ascii))).string() == every_ascii);
}

TEST_CASE("integers are exact to 64 bits; larger ones are floating-point numbers") {
    const ps::JsonCursor root = ps::parse_json(
        "f.json",
        "[9223372036854775807, -9223372036854775808, 9223372036854775808, 123456789012345678901234567890, 0]");
    CHECK(root[0].integer() == std::numeric_limits<std::int64_t>::max());
    CHECK(root[1].integer() == std::numeric_limits<std::int64_t>::min());
    CHECK(root[2].number() == 0x1p63);
    CHECK(root[3].number() == 123456789012345678901234567890.0);
    CHECK(root[4].integer(0, 0) == 0);
    CHECK(error_of([&] { (void)root[2].integer(); }) == "f.json: [2]: expected an integer, not a number");
    CHECK(error_of([&] { (void)root[0].integer(-1, 5); }) ==
          "f.json: [0]: expected at most 5, not 9223372036854775807");
    CHECK(error_of([&] { (void)root[4].integer(1); }) == "f.json: [4]: expected at least 1, not 0");
}

TEST_CASE("every finite double reads back as the same bits, and stays a floating-point number") {
    std::mt19937_64 random(1);
    using limits = std::numeric_limits<double>;
    std::vector<double> numbers{
        0.0,    -0.0, 1.0, 0.1, 1e22, 1e23, 5e-324, limits::min(), limits::max(), -limits::max(), limits::denorm_min(),
        1e-300, 1e15, 1e17};
    while (numbers.size() < 100'000) {
        const auto number = std::bit_cast<double>(random());
        if (std::isfinite(number)) numbers.push_back(number);
    }
    const ps::JsonCursor read = ps::parse_json("f.json", ps::to_string(Json::Array(numbers.begin(), numbers.end())));
    std::size_t different = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto* number = read.value().get<Json::Array>()->at(i).get<double>();
        if (number == nullptr || std::bit_cast<std::uint64_t>(*number) != std::bit_cast<std::uint64_t>(numbers[i])) {
            ++different;
        }
    }
    CHECK(different == 0);
}

TEST_CASE("numbers that once broke parsers") {
    // Far more digits than a double holds, rounded correctly.
    CHECK(ps::parse_json("f.json", "0.1000000000000000055511151231257827021181583404541015625").number() == 0.1);
    CHECK(ps::parse_json("f.json", "2.2250738585072012e-308").number() == 0x1p-1022);
    CHECK(ps::parse_json("f.json", "9007199254740993.0").number() == 9007199254740992.0);
    CHECK(ps::parse_json("f.json", "9007199254740993.00000000000000000000000000001").number() == 9007199254740994.0);
    CHECK(ps::parse_json("f.json", "1" + std::string(300, '0')).number() == 1e300);
    CHECK(ps::parse_json("f.json", "0." + std::string(300, '0') + "1e301").number() == 1.0);
    CHECK(error_in("0." + std::string(100, '0') + "1e-300").find("does not fit double precision") != std::string::npos);
    for (const std::string text : {"1e309", "-1e309", "1e-400", "1e99999999999", "1e-99999999999"}) {
        CHECK(error_in(text).starts_with("f.json:1:1: not valid JSON: "));
    }
}

TEST_CASE("a text that is not JSON is refused with line and column") {
    const std::string start = "f.json:1:1: not valid JSON: ";
    CHECK(error_in("") == start + "The document is empty.");
    CHECK(error_in(" \n ") == "f.json:2:2: not valid JSON: The document is empty.");
    CHECK(error_in("nul") == "f.json:1:4: not valid JSON: Invalid value.");
    CHECK(error_in("{\n  \"a\" 1}") == "f.json:2:7: not valid JSON: Missing a colon after a name of object member.");
    CHECK(error_in("{\"a\":1 \"b\"}") == "f.json:1:8: not valid JSON: Missing a comma or '}' after an object member.");
    CHECK(error_in("[1 2]") == "f.json:1:4: not valid JSON: Missing a comma or ']' after an array element.");
    CHECK(error_in("1 2") == "f.json:1:3: not valid JSON: The document root must not be followed by other values.");
    CHECK(error_in("{\"a\":1,\n\"b\":2,\n\"a\":3}")
              .ends_with(": not valid JSON: the key \"a\" is given twice, in lines 1 and 3"));
    CHECK(error_in(std::string_view("[1]\0", 4)) == "f.json:1:4: not valid JSON: a zero byte");
    for (const std::string text : {"{a:1}",
                                   "{'a':1}",
                                   "[1,]",
                                   "{\"a\":1,}",
                                   "[,1]",
                                   "[",
                                   "]",
                                   "}",
                                   "{",
                                   "\"open",
                                   "\"\\x\"",
                                   "\"\\u12\"",
                                   "\"\\ud800\"",
                                   "\"\\ud800\\u0041\"",
                                   "\"tab\t\"",
                                   "01",
                                   "1.",
                                   ".5",
                                   "+1",
                                   "-",
                                   "1e",
                                   "NaN",
                                   "Infinity",
                                   "-inf",
                                   "True",
                                   "// no",
                                   "/* no */ 1",
                                   "\xEF\xBB\xBF"
                                   "1",
                                   "0x10",
                                   "tru",
                                   "1 //",
                                   "[1}",
                                   "{\"a\":1]"}) {
        CAPTURE(text);
        CHECK(error_in(text).find(": not valid JSON: ") != std::string::npos);
    }
}

TEST_CASE("strings that are not UTF-8 are refused, in keys and values, raw and escaped") {
    for (const std::string bad : {"\xff", "\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                                  "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x98"}) {
        CAPTURE(bad);
        CHECK(error_in("[\"" + bad + "\"]").ends_with("a string is not UTF-8"));
        CHECK(error_in("{\"" + bad + "\":1}").ends_with("a string is not UTF-8"));
        // Cut off inside of the sequence.
        CHECK(error_in("\"" + bad) != "");
    }
    // RapidJSON 1.1 lets half of a surrogate pair pass, later versions do not.
    CHECK(error_in("\"\\udc00\"").find(": not valid JSON: ") != std::string::npos);
}

TEST_CASE("UTF-8 is recognised as Unicode's table 3-7 defines it") {
    const auto in = [](unsigned value, unsigned low, unsigned high) { return value >= low && value <= high; };
    const auto valid = [&](unsigned a, unsigned b, unsigned c, unsigned d) {
        return in(a, 0, 0x7f) || (in(a, 0xc2, 0xdf) && in(b, 0x80, 0xbf)) ||
               (in(c, 0x80, 0xbf) && ((a == 0xe0 && in(b, 0xa0, 0xbf)) || (in(a, 0xe1, 0xec) && in(b, 0x80, 0xbf)) ||
                                      (a == 0xed && in(b, 0x80, 0x9f)) || (in(a, 0xee, 0xef) && in(b, 0x80, 0xbf)))) ||
               (in(c, 0x80, 0xbf) && in(d, 0x80, 0xbf) &&
                ((a == 0xf0 && in(b, 0x90, 0xbf)) || (in(a, 0xf1, 0xf3) && in(b, 0x80, 0xbf)) ||
                 (a == 0xf4 && in(b, 0x80, 0x8f))));
    };
    std::size_t different = 0;
    for (unsigned a = 0; a < 256; ++a) {
        for (unsigned b = 0; b < 256; ++b) {
            for (const unsigned c : {0U, 0x41U, 0x7fU, 0x80U, 0x8fU, 0x90U, 0xa0U, 0xbfU, 0xc0U, 0xffU}) {
                for (const unsigned d : {0x22U, 0x7fU, 0x80U, 0xbfU, 0xc0U}) {
                    const char bytes[] = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                                          static_cast<char>(d)};
                    const std::size_t prefix = ps::io::utf8_prefix({bytes, 4});
                    if ((prefix > 0) != valid(a, b, c, d)) ++different;
                }
            }
        }
    }
    CHECK(different == 0);
}

TEST_CASE("depth and number of values are limited") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(error_in(nested(64)) == "");
    CHECK(error_in(nested(65)) == "f.json:1:66: not valid JSON: it is nested deeper than 64 levels");
    CHECK(error_in(nested(1'000'000)) == "f.json:1:66: not valid JSON: it is nested deeper than 64 levels");
    std::string objects;
    for (int i = 0; i < 65; ++i) objects += "{\"a\":";
    CHECK(error_in(objects).find("nested deeper than 64 levels") != std::string::npos);
    CHECK(error_in("[1,2,3]", {.depth = 1, .values = 4}) == "");
    CHECK(error_in("[1,2,3]", {.depth = 1, .values = 3}).find("there are more than 3 values") != std::string::npos);
    CHECK(error_in("[1,2,3]", {.depth = 0}).find("nested deeper than 0 levels") != std::string::npos);
}

TEST_CASE("what is not as asked for is refused with the way to it") {
    const ps::JsonCursor plan = ps::parse_json(
        "plan.json", R"({"nodes": [{"primitive": "a"}, {"primitive": 3, "cost": 1}], "name": {"x y": [[true]]}})");
    const auto expect = [](std::string const& message, auto const& call) { CHECK(error_of(call) == message); };
    expect("plan.json: nodes[1].primitive: expected a string, not an integer",
           [&] { (void)plan["nodes"][1]["primitive"].string(); });
    expect("plan.json: nodes[0].primitive: expected a number, not a string",
           [&] { (void)plan["nodes"][0]["primitive"].number(); });
    expect("plan.json: nodes[0]: has no member \"cost\"", [&] { (void)plan["nodes"][0]["cost"]; });
    expect("plan.json: nodes: expected more than 2 elements", [&] { (void)plan["nodes"][2]; });
    expect("plan.json: nodes: expected an object, not an array", [&] { (void)plan["nodes"]["x"]; });
    expect("plan.json: expected an array, not an object", [&] { (void)plan.elements(); });
    expect("plan.json: name.x y[0][0]: expected an array, not a boolean",
           [&] { (void)plan["name"]["x y"][0][0].size(); });
    expect("plan.json: name: expected a boolean, not an object", [&] { (void)plan["name"].boolean(); });
    expect("plan.json: nodes[1]: no 3 is known", [&] { plan["nodes"][1].fail("no ", 3, " is known"); });
}

TEST_CASE("values print compactly or with a line per member") {
    const Json json = Json::Object{{"name", "a\"b\\c\n"},
                                   {"shape", Json::Array{64, 3, -7}},
                                   {"layers", Json::Array{Json::Object{{"cost", 0.25}, {"on", true}}, nullptr}},
                                   {"none", Json::Object{}},
                                   {"empty", Json::Array{}},
                                   {"whole", 3.0}};
    CHECK(
        ps::to_string(json) ==
        R"({"name":"a\"b\\c\u000a","shape":[64,3,-7],"layers":[{"cost":0.25,"on":true},null],"none":{},"empty":[],"whole":3.0})");
    CHECK(ps::to_string(json, 2) == R"({
  "name": "a\"b\\c\u000a",
  "shape": [64, 3, -7],
  "layers": [
    {
      "cost": 0.25,
      "on": true
    },
    null
  ],
  "none": {},
  "empty": [],
  "whole": 3.0
})");
    CHECK(ps::to_string(ps::parse_json("f.json", ps::to_string(json, 4)).value()) == ps::to_string(json));
}

TEST_CASE("what JSON cannot say is refused") {
    CHECK(error_of([] { (void)ps::to_string(Json(std::nan(""))); }) == "JSON: the number nan is not finite");
    CHECK(error_of([] { (void)ps::to_string(Json(-HUGE_VAL)); }) == "JSON: the number -inf is not finite");
    CHECK(error_of([] { (void)ps::to_string(Json("\xff")); }) == "JSON: the string \"\xff\" is not UTF-8");
    CHECK(error_of([] { (void)ps::to_string(Json::Object{{"\xff", 1}}); }) == "JSON: the string \"\xff\" is not UTF-8");
    CHECK(error_of([] { (void)Json(std::numeric_limits<std::uint64_t>::max()); }) ==
          "JSON: the integer 18446744073709551615 is too large");
}

TEST_CASE("where strings may be any, JSON says them all, without what a terminal would obey") {
    const auto text = [](std::string value) { return ps::to_string(Json(std::move(value)), 0, ps::JsonStrings::any); };
    // Python's json.dumps(os.fsdecode(b"p\xff/\xc3\xa9")), but for the letter that is no control character.
    CHECK(text("p\xff/\xc3\xa9") == "\"p\\udcff/\xc3\xa9\"");
    CHECK(text("\"\\") == R"("\"\\")");
    CHECK(text("\n\x1b\x7f\xc2\x9b\xe2\x80\xae") == R"("\u000a\u001b\u007f\u009b\u202e")");
    const std::string controls = "\n\x1b\x7f\xc2\x9b\xe2\x80\xae";
    CHECK(ps::parse_json("t", text(controls)).string() == controls);
}

TEST_CASE("JSON files go both ways") {
    const scratch::Folder folder;
    const std::string path = folder.file("plan.json");
    ps::write_json(path, Json::Object{{"version", 1}, {"name", "été"}});
    CHECK(scratch::content(path) == "{\n  \"version\": 1,\n  \"name\": \"été\"\n}\n");
    CHECK(ps::read_json(path)["name"].string() == "été");
    CHECK(error_of([&] { (void)ps::read_json(path)["nam"]; }) == path + ": has no member \"nam\"");
    scratch::write(path, "{\n?");
    CHECK(error_of([&] { (void)ps::read_json(path); }) ==
          path + ":2:1: not valid JSON: Missing a name for object member.");
}

TEST_CASE("a text cut short or with flipped bits parses or is refused, never anything else") {
    const std::string text =
        R"({"name": "été \u00e9\ud83d\ude00 \"q\"", "shape": [64, 3, -7], "cost": [1.5e-3, 0.1, 12345678901234567890],
            "on": [true, false, null], "deep": {"a": {"b": [[{"c": []}]]}}})";
    REQUIRE(error_in(text) == "");
    for (std::size_t size = 0; size < text.size(); ++size) {
        CHECK(error_in(std::string_view(text).substr(0, size)).find("not valid JSON") != std::string::npos);
    }
    std::mt19937 random(7);
    std::size_t parsed = 0, refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string flipped = text;
        for (auto flips = 1 + random() % 3; flips > 0; --flips) {
            flipped[random() % flipped.size()] ^= static_cast<char>(1U << random() % 8);
        }
        error_in(flipped).empty() ? ++parsed : ++refused;
    }
    CHECK(parsed > 100);
    CHECK(refused > 100);
}

}  // namespace io_json
