#include <primsel/plan/ranges_file.hpp>

#include "../io/scratch.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace ps = primsel;

TEST_CASE("ranges are read as they were written, every bit") {
    const scratch::Folder folder;
    const ps::TensorRanges ranges{{"a", ps::range_of(-0.3F, 1.7F)},
                                  {"b \"x\"", {std::numeric_limits<float>::min(), 255}},
                                  {"c", {std::numeric_limits<float>::max(), 0}}};
    ps::write_ranges(folder.file("r.json"), ranges);
    CHECK(ps::read_ranges(folder.file("r.json")) == ranges);
    CHECK(ps::parse_ranges("r", to_string(ps::to_json(ps::TensorRanges{}))).empty());
}

TEST_CASE("ranges that are none are refused, and where they are is said") {
    const auto refused = [](std::string const& tensors, std::string const& what) {
        const std::string text = R"({"format": "primsel ranges", "format_version": 1, "tensors": [)" + tensors + "]}";
        try {
            (void)ps::parse_ranges("r.json", text);
            FAIL("is read: ", text);
        } catch (ps::error const& reason) {
            CAPTURE(reason.what());
            CHECK(std::string(reason.what()).find(what) != std::string::npos);
            CHECK(std::string(reason.what()).find("r.json") == 0);
        }
    };
    refused(R"({"name": "a", "scale": 0, "zero_point": 1})", "expected a positive normal float, not 0");
    for (const char* scale : {"1e-60", "1e-40", "1e60", "-1"}) {
        refused(ps::join(R"({"name": "a", "scale": )", scale, R"(, "zero_point": 1})"),
                "expected a positive normal float");
    }
    refused(R"({"name": "a", "scale": 1, "zero_point": 256})", "256");
    refused(R"({"name": "a", "scale": 1})", "zero_point");
    refused(R"({"scale": 1, "zero_point": 1})", "name");
    refused(R"({"name": "a", "scale": 1, "zero_point": 1}, {"name": "a", "scale": 1, "zero_point": 1})", "twice");
    CHECK_THROWS_AS((void)ps::parse_ranges("r", R"({"format": "primsel plan", "format_version": 1, "tensors": []})"),
                    ps::error);
    CHECK_THROWS_AS((void)ps::parse_ranges("r", R"({"format": "primsel ranges", "format_version": 2, "tensors": []})"),
                    ps::error);
}
