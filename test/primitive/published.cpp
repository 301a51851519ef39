// Against the published data: ids, layouts and applicability, and the shapes of real networks. Needs PRIMSEL_DATA.
#include "../skipped.hpp"
#include "laws.hpp"

#include <primsel/core/csv.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace laws;

namespace {

/// Every `step`th line of a CSV of the published data, by name of column; nothing where PRIMSEL_DATA is not set.
using Row = std::map<std::string, std::string, std::less<>>;
std::vector<Row> read_published(std::string const& name, std::size_t step = 1) {
    std::vector<Row> rows;
    const char* data = std::getenv("PRIMSEL_DATA");
    if (data == nullptr) {
        tests::skip("PRIMSEL_DATA");
        return rows;
    }
    std::ifstream file(std::string(data) + "/" + name);
    REQUIRE_MESSAGE(file, "PRIMSEL_DATA has no ", name);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::map<std::string, std::string> about;
    ps::core::CsvLines lines(text, about);
    std::string_view line;
    REQUIRE(lines.next(line));
    const std::vector<std::string> names = ps::core::cells_of(line);
    for (std::size_t index = 0; lines.next(line); ++index) {
        if (index % step != 0) continue;
        const std::vector<std::string> cells = ps::core::cells_of(line);
        REQUIRE(cells.size() <= names.size());
        Row& row = rows.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i) row[names[i]] = cells[i];
    }
    REQUIRE_FALSE(rows.empty());
    return rows;
}

int number(Row const& row, const char* name) { return std::stoi(row.at(name)); }

}  // namespace

TEST_CASE("published primitives have their published layouts and families" * doctest::test_suite("outside")) {
    const auto rows = read_published("mulder2020/layouts_of_primitives.csv");
    if (rows.empty()) return;
    const List list = all_primitives();
    const std::map<std::string_view, ps::Family> family_of_prefix = {{"direct-", ps::Family::direct},
                                                                     {"im2", ps::Family::im2},
                                                                     {"kn2", ps::Family::kn2},
                                                                     {"conv-1x1-", ps::Family::conv_1x1},
                                                                     {"mec-", ps::Family::mec},
                                                                     {"winograd-2-3", ps::Family::wino3},
                                                                     {"winograd-3-3", ps::Family::wino3},
                                                                     {"winograd-2x2-3x3", ps::Family::wino3},
                                                                     {"winograd-3x3-3x3", ps::Family::wino3},
                                                                     {"winograd-4x4-3x3", ps::Family::wino3},
                                                                     {"winograd-2-5", ps::Family::wino5},
                                                                     {"winograd-3-5", ps::Family::wino5},
                                                                     {"winograd-2x2-5x5", ps::Family::wino5},
                                                                     {"winograd-3x3-5x5", ps::Family::wino5},
                                                                     {"winograd-4x4-5x5", ps::Family::wino5}};
    std::size_t found = 0;
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        for (Row const& row : rows) {
            if (row.at("primitive") != entry.id) continue;
            ++found;
            CAPTURE(std::string(entry.id));
            CHECK(list.layouts[entry.in_layout].name == row.at("input_layout"));
            CHECK(list.layouts[entry.out_layout].name == row.at("output_layout"));
            std::size_t families = 0;
            for (auto const& [prefix, family] : family_of_prefix) {
                if (!entry.id.starts_with(prefix)) continue;
                ++families;
                CHECK(entry.family == family);
            }
            CHECK(families == 1);
        }
    }
    CHECK(found == ps::PublishedPrimitives::size);
    CHECK(found == 75);
}

TEST_CASE("published primitives support what they were published to support" * doctest::test_suite("outside")) {
    const auto rows = read_published("mulder2020/intel_primitives.csv", quick() ? 19 : 1);
    if (rows.empty()) return;
    const List list = all_primitives();
    const std::set<std::string_view> partly_published = {"winograd-2-3-vec-8", "winograd-3-3-vec-8",
                                                         "winograd-2-5-vec-8", "winograd-3-5-vec-8"};
    std::size_t compared = 0;
    for (Row const& row : rows) {
        const int f = number(row, "f"), im = number(row, "im");
        ps::ConvShape shape = same_shape(number(row, "c"), number(row, "k"), im, im, f);
        shape.stride_h = shape.stride_w = number(row, "s");
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            const auto published = row.find(entry.id);
            if (published == row.end()) continue;
            ++compared;
            // A time of 0 stands for "not applicable".
            const bool applicable = std::stod(published->second) != 0;
            if (static_cast<bool>(entry.supports(shape)) == applicable) continue;
            // The one-dimensional Winograds of eight lanes were published for some of their shapes only.
            if (!applicable && partly_published.contains(entry.id)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            FAIL_CHECK("published as ", applicable ? "applicable" : "not applicable");
        }
    }
    CHECK(compared >= (quick() ? 5'000 : 100'000));
}

TEST_CASE("shapes of real networks: their outputs, and every primitive on them, scaled down where they are large" *
          doctest::test_suite("outside")) {
    const auto rows = read_published("conv_shapes.csv");
    if (rows.empty()) return;
    const List list = all_primitives();
    ps::Sequential sequential;
    std::size_t computed = 0, line = 0;
    for (Row const& row : rows) {
        ps::ConvShape shape{.c = number(row, "c"),
                            .k = number(row, "k"),
                            .h = number(row, "ih"),
                            .w = number(row, "iw"),
                            .fh = number(row, "fh"),
                            .fw = number(row, "fw"),
                            .stride_h = number(row, "sh"),
                            .stride_w = number(row, "sw"),
                            .pad_top = number(row, "ph"),
                            .pad_bottom = number(row, "ph_end"),
                            .pad_left = number(row, "pw"),
                            .pad_right = number(row, "pw_end"),
                            .dilation_h = number(row, "dilation"),
                            .dilation_w = number(row, "dilation_w"),
                            .groups = number(row, "groups")};
        CAPTURE(row.at("name"));
        CHECK(shape.valid());
        CHECK(shape.out_shape() == ps::Shape{.c = number(row, "k"), .h = number(row, "oh"), .w = number(row, "ow")});
        if (quick() && line++ % 60 != 0) continue;

        // Fewer rows and columns, then fewer channels in a group, then fewer groups.
        shape.h = std::min(shape.h, shape.span_h() + 7), shape.w = std::min(shape.w, shape.span_w() + 9);
        const int group_c = std::min(shape.group_c(), 19), group_k = std::min(shape.group_k(), 37);
        shape.groups = std::min(shape.groups, 21);
        shape.c = group_c * shape.groups, shape.k = group_k * shape.groups;
        if (shape.operations() > 2e7) continue;
        ++computed;
        const Problem integers(shape, Values::integers), normal(shape, Values::normal);
        const std::vector<double> exact = integers.exact({}), exact_normal = normal.exact({});
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            const Outcome outcome = run(list, entry, is_exact(entry) ? integers : normal, {}, sequential, Watch::zones);
            CHECK(outcome.intact);
            if (is_exact(entry)) {
                CHECK(equal(outcome.dst, exact));
            } else {
                CHECK(error(outcome.dst, exact_normal) <= entry.error_bound);
            }
        }
    }
    CHECK(computed >= (quick() ? 10 : 900));
}
