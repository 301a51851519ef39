#include <primsel/plan/precision_file.hpp>

#include "../io/scratch.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ps = primsel;

namespace precision_file_tests {

TEST_CASE("precision files are read as they were written, and files of ranges as well") {
    const scratch::Folder folder;
    const ps::PrecisionFile file{
        .ranges = {{"a", ps::range_of(-0.3F, 1.7F)}, {"b", ps::range_of(0, 1)}},
        .errors = {{"a", {.bf16 = 0.1, .int8 = 1.0 / 3}}, {"b", {.int8 = 1e-300}}, {"c", {.bf16 = 0}}},
        .layer_precisions = {{"a", ps::Precision::bf16, "8 bits are \"too few\""},
                             {"d", ps::Precision::float32, ""},
                             {"e", ps::Precision::f16, ""}}};
    const std::string path = folder.file("p.json");
    ps::write_precision_file(path, file);
    const ps::PrecisionFile again = ps::read_precision_file(path);
    CHECK(again.ranges == file.ranges);
    CHECK(again.errors == file.errors);
    CHECK(again.layer_precisions == file.layer_precisions);
    CHECK(ps::read_ranges(path) == file.ranges);

    ps::write_ranges(path, file.ranges);
    const ps::PrecisionFile ranges = ps::read_precision_file(path);
    CHECK(ranges.ranges == file.ranges);
    CHECK(ranges.errors.empty());
    CHECK(ranges.layer_precisions.empty());
}

TEST_CASE("precision files that are none are refused, and where they are is said") {
    const auto refused = [](std::string const& layers, std::string const& what) {
        const std::string text =
            R"({"format": "primsel ranges", "format_version": 1, "tensors": [], "layers": [)" + layers + "]}";
        try {
            (void)ps::parse_precision_file("p.json", text);
            FAIL("is read: ", text);
        } catch (ps::error const& reason) {
            CAPTURE(reason.what());
            CHECK(std::string(reason.what()).find(what) != std::string::npos);
            CHECK(std::string(reason.what()).find("p.json: ") == 0);
        }
    };
    refused(R"({"precision": "bf16"})", "name");
    refused(R"({"name": "a"}, {"name": "a"})", "layers[1].name: is given twice");
    refused(R"({"name": "a", "precision": "half"})", "expected float32, f16, bf16 or int8, not half");
    refused(R"({"name": "a", "precision": 8})", "expected a string");
    refused(R"({"name": "a", "bf16_squared_error": -1e-9})", "expected a number that is not negative");
    refused(R"({"name": "a", "int8_squared_error": "large"})", "expected a number");
    refused("3", "expected an object");
    CHECK_THROWS_AS((void)ps::parse_precision_file("p", R"({"format": "primsel plan", "format_version": 1})"),
                    ps::error);
}

}  // namespace precision_file_tests
