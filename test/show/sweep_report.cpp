// Reports of sweeps: well-formed whatever the names and values, and every trial is in them.
#include <primsel/show/sweep_report.hpp>

#include "../error_of.hpp"
#include "../xml_fault.hpp"
#include "count.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sweep_report {
namespace {

namespace ps = primsel;

ps::search::Sweep sweep_of(std::size_t goals) {
    ps::search::Sweep sweep{.goals = {{"ms<>", false}, {"top1", true}},
                            .bounds = {{.metric = "top1", .at_least = 0.5}},
                            .space = ps::search::Space({ps::search::Parameter::real("a & b", 0, 1),
                                                        ps::search::Parameter::values("kind", {"<x>", "y"}),
                                                        ps::search::Parameter::constant("epochs", 3)})};
    sweep.goals.resize(goals);
    return sweep;
}
std::vector<ps::search::Trial> trials_of(std::size_t count) {
    std::vector<ps::search::Trial> trials;
    for (std::size_t i = 0; i < count; ++i) {
        const double share = static_cast<double>(i % 7) / 7;
        trials.push_back({.number = i + 1000,
                          .point = {{share, i % 2 == 0 ? "<x>" : "y", std::int64_t{3}}},
                          .metrics = {{"ms<>", 2 - share}, {"top1", i % 5 == 0 ? std::nan("") : 1 - share}},
                          .seconds = 0.5});
        if (i % 6 == 5) trials.back().failure = "no \"memory\" & no \x01 luck";
        if (i % 4 == 3) trials.back().stopped = true;
    }
    return trials;
}

TEST_CASE("a page is one well-formed document that names every trial and needs nothing else") {
    for (const std::size_t goals : {std::size_t{1}, std::size_t{2}}) {
        for (const std::size_t count : {0U, 1U, 2U, 40U}) {
            const ps::search::Sweep sweep = sweep_of(goals);
            const std::vector<ps::search::Trial> trials = trials_of(count);
            const std::vector<ps::prune::SensitivityPoint> points{{"", 0, 0, 0, 0.9, 1e-3},
                                                                  {"c<1>", 0.5, 8, 4, 0.8, 5e-4}};
            const std::string page = ps::show::to_html(
                sweep, trials, {.title = "A <sweep>", .about = {{"network", "n & m"}}, .sensitivity = points});
            CAPTURE(count);
            const std::string start = "<!DOCTYPE html>\n";
            REQUIRE(page.starts_with(start));
            CHECK(xml_fault(std::string_view(page).substr(start.size())) == "");
            for (ps::search::Trial const& trial : trials)
                CHECK(page.find(std::to_string(trial.number)) != std::string::npos);
            CHECK(texts::count(page, "http") == texts::count(page, "http://www.w3.org/"));
            CHECK(page.find("Sensitivity") != std::string::npos);
            const std::size_t best = ps::search::best_of(sweep, trials).size();
            CHECK(texts::count(page, "class=\"chosen\"") == 2 * best);
            CHECK(texts::count(page, "stroke-width=\"2.4\"") == best);
        }
    }
}

TEST_CASE("what was measured stands beside what was predicted") {
    const ps::search::Sweep sweep = sweep_of(1);
    std::vector<ps::search::Trial> trials = trials_of(3);
    const auto page = [&] { return ps::show::to_html(sweep, trials, {.title = "t", .about = {}, .sensitivity = {}}); };
    CHECK(page().find("Measured") == std::string::npos);
    trials[0].measured = ps::search::TrialMeasurement{.milliseconds = 3,
                                                      .predicted = 2,
                                                      .images_per_second = 411,
                                                      .layers = {{"a<", 0.25}, {"b", 0.75}, {"c", 0.125}, {"d", 0.5}}};
    trials[1].measured = ps::search::TrialMeasurement{.failure = "no & file"};
    const std::string text = page();
    CHECK(text.find("<td>2</td><td>3</td><td>1.5</td><td>411</td><td>b 0.75, d 0.5, a&lt; 0.25</td>") !=
          std::string::npos);
    CHECK(text.find("no &amp; file") != std::string::npos);
    CHECK(xml_fault(std::string_view(text).substr(16)) == "");
}

TEST_CASE("what is no sweep or no line is refused") {
    ps::search::Sweep sweep = sweep_of(0);
    CHECK(tests::error_of([&] { (void)ps::show::to_html(sweep, {}, {}); }) == "sweep report: there is no goal");
    const std::vector<ps::show::CoordinateAxis> axes{{"a", {}}, {"b", {}}};
    const std::vector<ps::show::CoordinateLine> lines{{.name = "one", .places = {0.5}}};
    CHECK(tests::error_of([&] { (void)ps::show::parallel_coordinates(axes, lines); }) ==
          "parallel coordinates: line 'one' has 1 places on 2 axes");
}

}  // namespace
}  // namespace sweep_report
