// Against the published data: ids and layouts, and the shapes of real networks. Needs PRIMSEL_DATA.
#include "laws.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

using namespace laws;

namespace {

/// The cells of each line of a CSV of the published data; nothing, with a message, where there is none.
std::vector<std::vector<std::string>> read_published(std::string const& name) {
    std::vector<std::vector<std::string>> rows;
    const char* data = std::getenv("PRIMSEL_DATA");
    if (data == nullptr) {
        MESSAGE("PRIMSEL_DATA is not set: ", name, " is passed over");
        return rows;
    }
    std::ifstream file(std::string(data) + "/" + name);
    REQUIRE_MESSAGE(file, "PRIMSEL_DATA has no ", name);
    for (std::string line; std::getline(file, line);) {
        std::istringstream cells(line);
        rows.emplace_back();
        for (std::string cell; std::getline(cells, cell, ',');) {
            if (!cell.empty() && cell.back() == '\r') cell.pop_back();
            rows.back().push_back(cell);
        }
    }
    return rows;
}

}  // namespace

TEST_CASE("published primitives have their published layouts") {
    const ps::Kernels list = kernels();
    const auto rows = read_published("mulder2020/layouts_of_primitives.csv");
    std::size_t found = 0;
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        for (auto const& row : rows) {
            if (row[0] != entry.id) continue;
            ++found;
            CAPTURE(row[0]);
            CHECK(list.layouts[entry.in_layout].name == row[1]);
            CHECK(list.layouts[entry.out_layout].name == row[2]);
        }
    }
    // All but those that the papers do not have.
    if (!rows.empty()) CHECK(found + 1 >= list.primitives.size());
}

TEST_CASE("shapes of real networks, scaled down where they are large") {
    const auto rows = read_published("conv_shapes.csv");
    const ps::Kernels list = kernels();
    ps::Sequential sequential;
    double budget = 2e9;
    for (std::size_t i = 1; i < rows.size() && budget > 0; i += 7) {
        const auto number = [&](std::size_t column) { return std::atoi(rows[i][column].c_str()); };
        const int groups = number(12);
        ps::ConvShape shape{.c = number(0),
                            .k = number(1),
                            .h = std::min(number(2), 24),
                            .w = std::min(number(3), 21),
                            .fh = number(6),
                            .fw = number(7),
                            .stride_h = number(8),
                            .stride_w = number(9),
                            .pad_top = number(10),
                            .pad_bottom = number(16),
                            .pad_left = number(11),
                            .pad_right = number(17),
                            .dilation_h = number(13),
                            .dilation_w = number(15),
                            .groups = groups};
        if (groups == 1) shape.c = std::min(shape.c, 40), shape.k = std::min(shape.k, 50);
        if (!shape.valid() || shape.operations() > 2e7) continue;
        const Problem problem(shape, Values::integers);
        const std::vector<double> exact = problem.exact(false);
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            budget -= shape.operations();
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            const Outcome outcome = run(list, entry, problem, false, sequential);
            CHECK(outcome.intact);
            CHECK(error(outcome.dst, exact) <= (is_winograd(entry) ? entry.error_bound : 0.0));
        }
    }
}
