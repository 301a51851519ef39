// Laws of every plan, on every network of the zoo and with the whole list of primitives.
#include "fakes.hpp"

#include <doctest/doctest.h>
#include <primsel/cost/analytical.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/pbqp/greedy.hpp>
#include <primsel/pbqp/reduce.hpp>
#include <primsel/plan/print.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace plan_laws {

namespace ps = primsel;

namespace {

const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();

/// Every network, simplified.
std::vector<std::pair<std::string, ps::Graph>> networks() {
    std::vector<std::pair<std::string, ps::Graph>> result;
    for (ps::zoo::Entry const& entry : ps::zoo::entries) result.emplace_back(entry.name, ps::simplify(entry.graph(1)));
    return result;
}

ps::PrimitiveEntry const& entry_of(std::string const& id) { return kernels.primitives[kernels.find(id)]; }
ps::ConvShape shape_of(ps::Graph const& graph, std::size_t conv) { return ps::conv_shape_of(graph, conv); }
bool is_conv(ps::Node const& node) { return std::holds_alternative<ps::ConvParams>(node.layer); }

/// The parts add up, the layouts are those of the primitives, and a change of layout stands between two that differ and
/// nowhere else.
void check_whole(ps::Plan const& plan, ps::Graph const& graph) {
    REQUIRE(plan.layers.size() == graph.size());
    std::set<std::string> needed, planned;
    double sum = 0;
    const auto layout = [](std::string const& name) { return kernels.find_layout(name); };
    const auto need = [&](std::size_t writer, std::string const& to) {
        std::string const& from = plan.layers[writer].out_layout;
        if (kernels.same_placement(graph[writer].shape, layout(from), layout(to))) return;
        needed.insert(graph[writer].name + ' ' + from + ' ' + to);
    };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        ps::PlannedLayer const& layer = plan.layers[i];
        CHECK(layer.name == graph[i].name);
        sum += layer.seconds;
        if (is_conv(graph[i])) {
            ps::PrimitiveEntry const& entry = entry_of(layer.primitive);
            CHECK(entry.supports(shape_of(graph, i)));
            CHECK(kernels.layouts[entry.in_layout].name == layer.in_layout);
            CHECK(kernels.layouts[entry.out_layout].name == layer.out_layout);
        } else {
            CHECK(layer.primitive.empty());
            CHECK(layer.in_layout == layer.out_layout);
        }
        for (std::size_t position = 0; position < graph[i].inputs.size(); ++position) {
            need(graph[i].inputs[position], is_conv(graph[i]) && position == 1 ? layer.out_layout : layer.in_layout);
        }
    }
    need(graph.output_node(), "chw");
    for (ps::PlannedTransform const& transform : plan.transforms) {
        sum += transform.seconds;
        CHECK(planned.insert(transform.writer + ' ' + transform.from + ' ' + transform.to).second);
    }
    CHECK(planned == needed);
    CHECK(plan.total_seconds == doctest::Approx(sum).epsilon(1e-12));
}

}  // namespace

TEST_CASE("the plan of every network is proven optimal, adds up, and is no dearer than any other") {
    for (auto const& network : networks()) {
        CAPTURE(network.first);
        const auto check = [&, &whole = network.second](auto& model) {
            const ps::Plan plan = ps::make_plan(whole, kernels, model, ps::ExactPbqp{});
            CHECK(plan.optimal);
            check_whole(plan, whole);
            const auto check_rival = [&](ps::Plan const& rival) {
                check_whole(rival, whole);
                CHECK(plan.total_seconds <= rival.total_seconds * (1 + 1e-12));
            };
            check_rival(ps::make_plan(whole, kernels, model, ps::GreedyPbqp{}));
            check_rival(ps::make_plan(whole, kernels, model, ps::ReductionPbqp{}));
            check_rival(ps::make_plan(whole, kernels, model, ps::ExactPbqp{}, {.family = ps::Family::im2}));
            check_rival(ps::make_plan(whole, kernels, model, ps::ExactPbqp{}, {.max_error = 5e-5}));
        };
        ps::Analytical roofline{ps::Machine{}};
        check(roofline);
        for (const unsigned seed : {1U, 2U, 3U}) {
            fakes::HashedCosts hashed(seed, 0.3);
            check(hashed);
        }
    }
}

TEST_CASE("explain lists every primitive once, with its cost or its reason, and marks the chosen one") {
    ps::Analytical model{ps::Machine{}};
    const ps::Graph graph = ps::simplify(ps::zoo::ResNet18::graph());
    const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{});
    for (std::size_t i = 0; i < graph.size(); ++i) {
        std::istringstream text(plan.explain(graph[i].name));
        std::string line;
        std::getline(text, line);
        CHECK(line == graph[i].name + ": " + plan.layers[i].kind + ' ' + plan.layers[i].shape);
        if (!is_conv(graph[i])) {
            std::getline(text, line);
            CHECK(line == "  runs in " + plan.layers[i].in_layout + "; nothing to choose but its layout");
            continue;
        }
        std::set<std::string> seen;
        std::string marked;
        double cheapest = 0;
        while (std::getline(text, line)) {
            const bool chosen = line.starts_with("  *  ");
            CHECK((chosen || line.starts_with("     ")));
            const std::size_t end = line.find(' ', 5), rest = line.find_first_not_of(' ', end);
            const std::string id = line.substr(5, end - 5), answer = line.substr(rest);
            CHECK(seen.insert(id).second);
            if (chosen) marked += id;
            const ps::Support support = entry_of(id).supports(shape_of(graph, i));
            if (!support) {
                CHECK(answer == support.reason());
                continue;
            }
            CHECK(answer.ends_with(" ms"));
            CHECK(std::stod(answer) >= cheapest);
            cheapest = std::stod(answer);
        }
        CHECK(marked == plan.layers[i].primitive);
        CHECK(seen.size() == kernels.primitives.size());
    }
}

TEST_CASE("a uniform plan uses its family wherever it can, and im2 elsewhere") {
    fakes::HashedCosts model(4);
    const ps::Graph graph = ps::simplify(ps::zoo::GoogLeNet::graph());
    std::set<ps::Family> families;
    for (ps::PrimitiveEntry const& entry : kernels.primitives) families.insert(entry.family);
    CHECK(families.size() == 8);
    for (const ps::Family family : families) {
        CAPTURE(ps::to_string_view(family));
        const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.family = family});
        check_whole(plan, graph);
        for (std::size_t i = 0; i < graph.size(); ++i) {
            if (!is_conv(graph[i])) continue;
            const bool can = std::ranges::any_of(kernels.primitives, [&](ps::PrimitiveEntry const& entry) {
                return entry.family == family && entry.supports(shape_of(graph, i));
            });
            const ps::Family used = can ? family : ps::Family::im2;
            CHECK(entry_of(plan.layers[i].primitive).family == used);
            for (ps::Candidate const& candidate : plan.layers[i].candidates) {
                ps::PrimitiveEntry const& entry = entry_of(candidate.primitive);
                if (entry.supports(shape_of(graph, i))) {
                    CHECK(candidate.refusal == (entry.family == used ? "" : "not asked for"));
                }
            }
        }
    }
}

TEST_CASE("a uniform plan uses its primitive wherever it can, and im2 elsewhere") {
    fakes::HashedCosts model(4);
    const ps::Graph graph = ps::simplify(ps::zoo::GoogLeNet::graph());
    for (const std::string id : {"kn2row", "winograd-4x4-3x3", "mec-col", "conv-1x1-gemm-ab-ki"}) {
        CAPTURE(id);
        const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.primitive = id});
        check_whole(plan, graph);
        for (std::size_t i = 0; i < graph.size(); ++i) {
            if (!is_conv(graph[i])) continue;
            if (entry_of(id).supports(shape_of(graph, i))) {
                CHECK(plan.layers[i].primitive == id);
            } else {
                CHECK(entry_of(plan.layers[i].primitive).family == ps::Family::im2);
            }
        }
    }
}

TEST_CASE("a bound on the error leaves out what exceeds it, Winograd's large tiles first") {
    fakes::HashedCosts model(4);
    const ps::Graph graph = ps::simplify(ps::zoo::Vgg11::graph());
    for (const double bound : {5e-5, 2e-5}) {
        const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.max_error = bound});
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (ps::Candidate const& candidate : plan.layers[i].candidates) {
                ps::PrimitiveEntry const& entry = entry_of(candidate.primitive);
                if (!entry.supports(shape_of(graph, i))) continue;
                CHECK(candidate.refusal ==
                      (entry.error_bound > bound ? "its error bound exceeds the allowed error" : ""));
            }
            if (is_conv(graph[i])) CHECK(entry_of(plan.layers[i].primitive).error_bound <= bound);
        }
    }
    // Without a bound the roofline chooses F(4x4, 3x3) in VGG; with one it falls back on F(2x2, 3x3) or less.
    ps::Analytical roofline{ps::Machine{}};
    const auto large_tiles = [](ps::Plan const& plan) {
        return std::ranges::count_if(
            plan.layers, [](ps::PlannedLayer const& layer) { return layer.primitive.starts_with("winograd-4x4-3x3"); });
    };
    CHECK(large_tiles(ps::make_plan(graph, kernels, roofline, ps::ExactPbqp{})) > 0);
    CHECK(large_tiles(ps::make_plan(graph, kernels, roofline, ps::ExactPbqp{}, {.max_error = 5e-5})) == 0);
}

}  // namespace plan_laws
