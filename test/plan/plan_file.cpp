// Plans as files: plan/plan_file.hpp.
#include <primsel/plan/plan_file.hpp>

#include "../io/scratch.hpp"
#include "fakes.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/pbqp/exact.hpp>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace plan_file {

namespace ps = primsel;
using scratch::error_of;

namespace {

ps::Plan small_plan() {
    ps::Plan plan;
    plan.key = {"0123456789abcdef", "fedcba9876543210", "0.1.0", "avx2", "A \"quoted\" \\ processor"};
    plan.cost_model = "analytical", plan.solver = "exact", plan.optimal = true;
    plan.layers = {{"input", "input", "3x8x8", "", "chw", "chw", 0, {}},
                   {"conv1",
                    "conv",
                    "3x8x8 -> 4x8x8, 3x3, pad 1",
                    "pixels",
                    "hwc",
                    "chw",
                    0.0125,
                    {{"pixels", 0.0125, ""}, {"plain", 0.5, ""}, {"short", 0, "needs a 1x1 kernel"}}}};
    plan.transforms = {{"input", "conv1", "3x8x8", "chw", "hwc", 2e-6}};
    plan.strips = {{{"conv1", "conv2"}, 4, 0.25}};
    plan.total_seconds = 0.012502, plan.bound_seconds = 0.012, plan.predict_seconds = 0.0015, plan.solve_seconds = 1e-4;
    return plan;
}
std::string text_of(ps::Plan const& plan) { return ps::to_string(ps::to_json(plan), 2); }

/// The error of a text in which something is replaced.
std::string error_with(std::string const& what, std::string const& by) {
    std::string text = text_of(small_plan());
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), by);
    return error_of([&] { (void)ps::parse_plan("p.json", text); });
}

/// Any bits that are a finite number above zero.
double any_seconds(std::mt19937_64& bits) {
    for (;;) {
        const double value = std::bit_cast<double>(bits() >> 1U);
        if (std::isfinite(value)) return value;
    }
}

}  // namespace

TEST_CASE("a plan's file can be read by people") {
    CHECK(text_of(small_plan()) == R"({
  "format": "primsel plan",
  "format_version": 3,
  "key": {
    "network": "0123456789abcdef",
    "primitives": "fedcba9876543210",
    "version": "0.1.0",
    "arch": "avx2",
    "cpu": "A \"quoted\" \\ processor"
  },
  "cost_model": "analytical",
  "solver": "exact",
  "totals": {
    "seconds": 0.012502,
    "optimal": true,
    "bound_seconds": 0.012,
    "predict_seconds": 0.0015,
    "solve_seconds": 1e-04
  },
  "layers": [
    {
      "name": "input",
      "kind": "input",
      "shape": "3x8x8",
      "primitive": "",
      "in_layout": "chw",
      "out_layout": "chw",
      "seconds": 0.0,
      "candidates": []
    },
    {
      "name": "conv1",
      "kind": "conv",
      "shape": "3x8x8 -> 4x8x8, 3x3, pad 1",
      "primitive": "pixels",
      "in_layout": "hwc",
      "out_layout": "chw",
      "seconds": 0.0125,
      "candidates": [
        ["pixels", 0.0125],
        ["plain", 0.5],
        ["short", 0.0, "needs a 1x1 kernel"]
      ]
    }
  ],
  "transforms": [
    {
      "writer": "input",
      "reader": "conv1",
      "shape": "3x8x8",
      "from": "chw",
      "to": "hwc",
      "seconds": 2e-06
    }
  ],
  "strips": [
    {
      "layers": ["conv1", "conv2"],
      "rows": 4,
      "seconds": 0.25
    }
  ]
})");
}

TEST_CASE("a plan reads back as it was written, to the last bit") {
    const scratch::Folder folder;
    const std::string path = folder.file("plan.json");
    const auto check = [&](ps::Plan const& plan) {
        ps::write_plan(path, plan);
        CHECK(ps::read_plan(path) == plan);
        CHECK(folder.entries() == 1);
    };
    check({});
    check(small_plan());
    ps::Plan odd = small_plan();
    odd.layers[1].name = "a\nb\t\"c\"\x01 \xc3\xa9 \xf0\x9f\x8e\x89", odd.layers[1].primitive = "";
    odd.layers[1].candidates.push_back({"priced and refused", 0.25, "no"});
    odd.layers[1].candidates.push_back(odd.layers[1].candidates[0]);
    odd.optimal = false, odd.bound_seconds = 0.0125;
    odd.transforms.clear(), odd.strips.clear();
    check(odd);

    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    fakes::HashedCosts costs(1);
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        check(ps::make_plan(ps::simplify(entry.graph(1)), kernels, costs, ps::ExactPbqp{}));
    }
    std::mt19937_64 bits(1);
    for (int round = 0; round < 200; ++round) {
        ps::Plan plan = small_plan();
        plan.total_seconds = any_seconds(bits), plan.predict_seconds = any_seconds(bits);
        plan.solve_seconds = any_seconds(bits), plan.layers[1].seconds = any_seconds(bits);
        plan.layers[1].candidates[1].seconds = any_seconds(bits), plan.transforms[0].seconds = any_seconds(bits);
        CHECK(ps::parse_plan("p.json", text_of(plan)) == plan);
    }
}

TEST_CASE("a plan that JSON cannot hold leaves the file as it is") {
    const scratch::Folder folder;
    const std::string path = folder.file("plan.json");
    scratch::write(path, "before");
    ps::Plan plan = small_plan();
    plan.layers[1].seconds = std::numeric_limits<double>::infinity();
    CHECK(error_of([&] { ps::write_plan(path, plan); }) ==
          path + ": cannot write the plan: JSON: the number inf is not finite");
    plan = small_plan();
    plan.layers[1].name = "\xff";
    CHECK(error_of([&] { ps::write_plan(path, plan); }).starts_with(path + ": cannot write the plan: JSON: "));
    CHECK(scratch::content(path) == "before");
    const std::string nowhere = folder.file("no/such/folder.json");
    CHECK(error_of([&] { ps::write_plan(nowhere, small_plan()); }).starts_with(nowhere + ": cannot write: "));
    CHECK(error_of([&] { (void)ps::read_plan(nowhere); }).starts_with(nowhere + ": cannot read: "));
}

TEST_CASE("every cut of a plan's text is an error that names the file") {
    const std::string text = text_of(small_plan());
    for (std::size_t length = 0; length < text.size(); ++length) {
        CHECK(error_of([&] { (void)ps::parse_plan("p.json", text.substr(0, length)); }).starts_with("p.json:"));
    }
    CHECK(error_of([&] { (void)ps::parse_plan("p.json", text + "}"); }).starts_with("p.json:"));
}

TEST_CASE("whatever is missing from a plan or of another type is an error that says where") {
    // Every value in turn is replaced by one of another type, and every member is left out.
    using Rebuild = std::function<std::string(ps::Json const&)>;  // the text with this value in the place
    int places = 0;
    const std::function<void(ps::Json const&, Rebuild const&, std::string const&)> check =
        [&](ps::Json const& value, Rebuild const& rebuild, std::string const& path) {
            const std::string at = path.empty() ? "p.json: " : "p.json: " + path + ": ";
            const auto error_by = [&](ps::Json const& other) {
                return error_of([&] { (void)ps::parse_plan("p.json", rebuild(other)); });
            };
            CHECK(error_by(value).empty());
            CHECK(error_by(value.get<bool>() == nullptr ? ps::Json(true) : ps::Json("text"))
                      .starts_with(at + "expected "));
            ++places;
            if (const auto* object = value.get<ps::Json::Object>()) {
                for (std::size_t i = 0; i < object->size(); ++i) {
                    std::string const& key = (*object)[i].first;
                    ps::Json::Object without = *object;
                    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
                    CHECK(error_by(without) == at + "has no member \"" + key + '"');
                    const Rebuild with = [&, i](ps::Json const& member) {
                        ps::Json::Object copy = *object;
                        copy[i].second = member;
                        return rebuild(copy);
                    };
                    check((*object)[i].second, with, path.empty() ? key : path + '.' + key);
                }
            } else if (const auto* array = value.get<ps::Json::Array>()) {
                for (std::size_t i = 0; i < array->size(); ++i) {
                    const Rebuild with = [&, i](ps::Json const& element) {
                        ps::Json::Array copy = *array;
                        copy[i] = element;
                        return rebuild(copy);
                    };
                    check((*array)[i], with, ps::join(path, '[', i, ']'));
                }
            }
        };
    check(
        ps::to_json(small_plan()), [](ps::Json const& whole) { return ps::to_string(whole); }, "");
    CHECK(places == 61);
}

TEST_CASE("impossible seconds, another format and another version of it are errors") {
    CHECK(error_with("0.012502", "-0.5") == "p.json: totals.seconds: expected seconds of at least 0, not -0.5");
    CHECK(error_with("0.0015", "-1") == "p.json: totals.predict_seconds: expected seconds of at least 0, not -1");
    CHECK(error_with("[\"plain\", 0.5]", "[\"plain\", -2.0]") ==
          "p.json: layers[1].candidates[1][1]: expected seconds of at least 0, not -2");
    CHECK(error_with("2e-06", "-2e-06").starts_with("p.json: transforms[0].seconds: expected seconds of at least 0"));
    for (const std::string number : {"NaN", "nan", "Infinity", "-inf"}) {
        CHECK(error_with("2e-06", number).find("not valid JSON") != std::string::npos);
    }
    CHECK(error_with("2e-06", "1e999").find("too big to be stored in double") != std::string::npos);
    CHECK(error_with("[\"plain\", 0.5]", "[\"plain\"]") ==
          "p.json: layers[1].candidates[1]: expected [primitive, seconds] or [primitive, seconds, refusal]");
    CHECK(error_with("[\"plain\", 0.5]", "[\"plain\", 1, \"a\", \"b\"]").find("expected [primitive") !=
          std::string::npos);
    CHECK(error_with("primsel plan", "other plan") == "p.json: format: expected \"primsel plan\", not \"other plan\"");
    CHECK(error_with("\"format_version\": 3", "\"format_version\": 2") ==
          "p.json: format_version: this version of the library reads format version 3, not 2");
    CHECK(error_with("\"rows\": 4", "\"rows\": 0").starts_with("p.json: strips[0].rows: "));
    CHECK(error_with("\"rows\": 4", "\"rows\": 1.5").starts_with("p.json: strips[0].rows: "));
    CHECK(error_with("0.25", "-0.25") == "p.json: strips[0].seconds: expected seconds of at least 0, not -0.25");
    CHECK(error_with("[\"conv1\", \"conv2\"]", "[\"conv1\"]") ==
          "p.json: strips[0].layers: expected two layers or more, not 1");
    CHECK(error_with("[\"conv1\", \"conv2\"]", "[\"conv1\", 2]").starts_with("p.json: strips[0].layers[1]: "));
    // An integer is a number too, and zero may have a sign.
    CHECK(error_with("0.012502", "1").empty());
    CHECK(error_with("0.012502", "-0.0").empty());
}

}  // namespace plan_file
