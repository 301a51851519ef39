#include "figures.hpp"

#include "sections.hpp"

#include <primsel/version.hpp>

#include <string>

namespace reproduce {

namespace {

[[nodiscard]] std::string described(Platform const& platform) {
    const auto known = [&](const char* key) {
        const auto found = platform.primitives.about.find(key);
        return found == platform.primitives.about.end() ? std::string("unknown") : found->second;
    };
    return ps::join(platform.name, " (", known("cpu"), ", ", known("arch"), ", ", platform.primitives.rows(), " rows)");
}

void introduce(Findings const& found, Report& report) {
    if (found.effort.quick) {
        report.paragraph(
            "QUICK: a rough run. Models learn from a third of the training rows, for a small part of the epochs, "
            "trees and steps, from one seed; transfer has fewer subsets and fractions. These figures are not the "
            "models' and are no reproduction; run without --quick for those.");
    }
    report.paragraph(
        found.world.published
            ? ps::join(
                  "The tables and figures of Mulder, Radu and Dubach, \"Optimising the Performance of Convolutional "
                  "Neural Networks across Computing Systems using Transfer Learning\" (2020), that its published "
                  "measurements (Intel i9-9900K, AMD A10-7850K) allow, made by primsel ",
                  ps::version,
                  " and set beside what the paper says. Its third machine, an ARM Cortex-A73, is not among "
                  "the data.")
            : ps::join("The tables and figures of Mulder et al. 2020, made by primsel ", ps::version,
                       " from other profiles: ", described(found.world.source), " and ", described(found.world.target),
                       ". What stands here of the paper is of its own machines."));
    report.paragraph(ps::join(
        "Rows are split 80/10/10 by seed into those that train, those that "
        "decide "
        "when to stop and those that judge",
        found.effort.quick ? ""
                           : ps::join("; figures 4 to 7 and table 4 are medians over ", found.effort.seeds(), " seeds"),
        ". MdRAE is the median of |predicted - measured| / measured, in percent."));
    for (std::string const& sentence : found.world.left_out) report.note(sentence);
    report.paragraph(
        "Lin is linear regression, NN1 a network for each primitive and NN2 one for all, as in the paper's table "
        "3; "
        "these see the five raw features. Random forest and gradient-boosted trees see derived features too, and "
        "so does "
        "ours, a Gaussian process for each family.");
}

}  // namespace

Report compose(World const& world, Effort const& effort, Journal const& journal) {
    const Findings found{world, effort, journal};
    Report report;
    introduce(found, report);
    table_2(found, report);
    figures_4_and_5(found, report);
    figure_6(found, report);
    table_4(found, report);
    figure_7(found, report);
    figure_8(found, report);
    figures_9_and_10(found, report);
    refined(found, report);
    table_5(found, report);
    return report;
}

}  // namespace reproduce
