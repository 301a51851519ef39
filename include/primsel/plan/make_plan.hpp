#pragma once

#include <primsel/core/timer.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/kernels/machine.hpp>
#include <primsel/pbqp/solver.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/plan/fingerprint.hpp>
#include <primsel/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A primitive that a layer must not use, and why.
struct Refused {
    std::string layer, primitive, reason;
};

/// What a plan may use.
struct PlanOptions {
    /// A uniform plan: only primitives of this family; where none of them can compute the layer, im2, which can compute
    /// any.
    std::optional<Family> family = std::nullopt;
    /// The same with a single primitive.
    std::string primitive = {};
    /// The largest error bound (relative to the RMS of a layer's output) that a primitive may have.
    double max_error = std::numeric_limits<double>::infinity();
    /// The largest arena in bytes: whoever packs and books sees to it (engine/fit.hpp).
    std::size_t max_arena = std::numeric_limits<std::size_t>::max();
    std::vector<Refused> refused = {};
};

namespace detail {

/// One way to run a node: a primitive with its layouts, or an op in a layout.
struct Alternative {
    std::size_t primitive = 0;
    std::size_t in_layout = 0, out_layout = 0;
    double seconds = 0;
};

/// Whether a pass of its own must add bias and residual and clamp after the primitive.
[[nodiscard]] inline bool needs_pass(PrimitiveEntry const& entry, Node const& node) {
    auto const& conv = std::get<ConvParams>(node.layer);
    const bool epilogue = conv.bias || !node.folded.empty() || conv.residual || conv.clamp != Clamp{};
    return epilogue && !entry.fuses_epilogue;
}

/// The questions to a cost model and its answers, all of a kind at once.
template <CostModel Model>
class Pricing {
public:
    Pricing(Graph const& graph, Kernels const& kernels, Model& model, PlanOptions const& options)
        : graph_(graph), kernels_(kernels), options_(options), alternatives(graph.size()), candidates(graph.size()) {
        check_options();
        check_refused();
        ask();
        conv_seconds_.resize(convs_.size());
        op_seconds_.resize(ops_.size());
        transform_seconds_.resize(transforms_.size());
        model.predict(kernels, std::span<const ConvQuery>(convs_), std::span(conv_seconds_));
        model.predict(kernels, std::span<const OpQuery>(ops_), std::span(op_seconds_));
        model.predict(kernels, std::span<const TransformQuery>(transforms_), std::span(transform_seconds_));
        answer();
    }

    /// Seconds of the change of layout of a node's result; 0 where nothing need move.
    [[nodiscard]] double transform_seconds(std::size_t node, std::size_t from, std::size_t to) const {
        const Shape shape = graph_[node].shape;
        if (kernels_.same_placement(shape, from, to)) return 0;
        return transform_seconds_[transform_index_.at({shape.c, shape.h, shape.w, from, to})];
    }

private:
    Graph const& graph_;
    Kernels const& kernels_;
    PlanOptions const& options_;

public:
    /// The ways to run each node that are worth considering: of those with the same layouts only the cheapest.
    std::vector<std::vector<Alternative>> alternatives;
    std::vector<std::vector<Candidate>> candidates;

private:
    static constexpr double infinite = std::numeric_limits<double>::infinity();

    void check_options() const {
        if (!(options_.max_error >= 0)) {
            fail("plan: max_error is ", options_.max_error, "; it must be a number that is not negative");
        }
        if (options_.primitive.empty()) return;
        PrimitiveEntry const& entry = find_primitive(options_.primitive);
        if (options_.family && entry.family != *options_.family) {
            fail("plan: primitive ", options_.primitive, " is of family ", to_string_view(entry.family), ", not ",
                 to_string_view(*options_.family));
        }
    }
    void check_refused() const {
        for (Refused const& refused : options_.refused) {
            (void)graph_.find(refused.layer);
            (void)find_primitive(refused.primitive);
        }
    }
    [[nodiscard]] PrimitiveEntry const& find_primitive(std::string_view id) const {
        const auto found = std::ranges::find(kernels_.primitives, id, &PrimitiveEntry::id);
        if (found != kernels_.primitives.end()) return *found;
        std::string ids;
        for (PrimitiveEntry const& entry : kernels_.primitives)
            ids += (ids.empty() ? "" : ", ") + std::string(entry.id);
        fail("plan: no primitive is named ", id, "; there are ", ids);
    }
    /// Throws error, saying what was asked, unless the answer is a cost; an infinite one says that there is no price.
    template <class... What>
    [[nodiscard]] static double priced(double seconds, What const&... what) {
        if (!(seconds >= 0)) fail("plan: cost model ", Model::name, " predicts ", seconds, " seconds for ", what...);
        return seconds;
    }
    void check_transforms() const {
        for (std::size_t i = 0; i < transforms_.size(); ++i) {
            if (transform_seconds_[i] >= 0) continue;
            TransformQuery const& query = transforms_[i];
            const auto node = std::ranges::find(graph_.nodes(), query.shape, &Node::shape);
            (void)priced(transform_seconds_[i], "changing ", query.shape, ", the result of layer ", node->name,
                         ", from layout ", kernels_.layouts[query.from].name, " to ", kernels_.layouts[query.to].name);
        }
    }
    /// How far a primitive is from what was asked for: 0 is that itself, 1 what stands in for it, 2 anything else.
    [[nodiscard]] int distance(PrimitiveEntry const& entry) const {
        const bool wanted = (!options_.family || entry.family == *options_.family) &&
                            (options_.primitive.empty() || entry.id == options_.primitive);
        return wanted ? 0 : entry.family == Family::im2 ? 1 : 2;
    }
    [[nodiscard]] std::string refusal(PrimitiveEntry const& entry, Node const& node, ConvShape const& shape,
                                      int nearest) const {
        if (const Support support = entry.supports(shape); !support) return std::string(support.reason());
        if (entry.error_bound > options_.max_error) return "its error bound exceeds the allowed error";
        if (needs_pass(entry, node) && kernels_.layouts[entry.out_layout].epilogue == nullptr) {
            return "its layout has no bias and activation";
        }
        for (Refused const& refused : options_.refused) {
            if (refused.layer == node.name && refused.primitive == entry.id) return refused.reason;
        }
        return distance(entry) > nearest ? "not asked for" : "";
    }
    [[nodiscard]] ConvShape shape_of(std::size_t node) const {
        return conv_shape_of(std::get<ConvParams>(graph_[node].layer), graph_[graph_[node].inputs[0]].shape,
                             graph_.batch());
    }

    void ask() {
        input_shapes_.reserve(graph_.size());
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            Node const& node = graph_[i];
            input_shapes_.push_back(graph_.input_shapes(i));
            for (std::size_t from = 0; from < kernels_.layouts.size(); ++from) {
                for (std::size_t to = 0; to < kernels_.layouts.size(); ++to) {
                    if (kernels_.same_placement(node.shape, from, to)) continue;
                    const auto key = std::tuple{node.shape.c, node.shape.h, node.shape.w, from, to};
                    if (!transform_index_.emplace(key, transforms_.size()).second) continue;
                    transforms_.push_back({node.shape, graph_.batch(), from, to});
                }
            }
            if (std::holds_alternative<ConvParams>(node.layer)) {
                const ConvShape shape = shape_of(i);
                int nearest = 2;
                for (PrimitiveEntry const& entry : kernels_.primitives) {
                    if (refusal(entry, node, shape, 2).empty()) nearest = std::min(nearest, distance(entry));
                }
                for (std::size_t p = 0; p < kernels_.primitives.size(); ++p) {
                    std::string reason = refusal(kernels_.primitives[p], node, shape, nearest);
                    if (reason.empty()) convs_.push_back({shape, p});
                    candidates[i].push_back({std::string(kernels_.primitives[p].id), 0, std::move(reason)});
                }
            }
            for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
                ops_.push_back({&node.layer, input_shapes_[i], node.shape, graph_.batch(), layout});
            }
        }
    }

    void answer() {
        check_transforms();
        std::size_t conv = 0;
        const std::size_t layouts = kernels_.layouts.size();
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            Node const& node = graph_[i];
            const auto op_seconds = [&](std::size_t layout) {
                return priced(op_seconds_[i * layouts + layout], "layer ", node.name, " (", kind(node.layer), " -> ",
                              node.shape, ") in layout ", kernels_.layouts[layout].name);
            };
            if (std::holds_alternative<InputParams>(node.layer)) {
                alternatives[i].push_back({});  // images come in the first layout
            } else if (std::holds_alternative<ConstantParams>(node.layer)) {
                // Stored in whichever is wanted.
                for (std::size_t layout = 0; layout < layouts; ++layout) {
                    alternatives[i].push_back({0, layout, layout, 0.0});
                }
            } else if (std::holds_alternative<ConvParams>(node.layer)) {
                const ConvShape shape = shape_of(i);
                for (std::size_t p = 0; p < candidates[i].size(); ++p) {
                    Candidate& candidate = candidates[i][p];
                    if (!candidate.refusal.empty()) continue;
                    PrimitiveEntry const& entry = kernels_.primitives[p];
                    candidate.seconds = priced(conv_seconds_[conv++], "primitive ", entry.id, " on layer ", node.name,
                                               " (", shape, ")");
                    if (needs_pass(entry, node)) candidate.seconds += op_seconds(entry.out_layout);
                    if (candidate.seconds == infinite) {
                        candidate.seconds = 0;
                        candidate.refusal = "the cost model has no price for it";
                        continue;
                    }
                    consider(alternatives[i], {p, entry.in_layout, entry.out_layout, candidate.seconds});
                }
                if (alternatives[i].empty()) fail_for(node, i);
                sort(candidates[i]);
            } else {
                bool runs = false;
                for (std::size_t layout = 0; layout < layouts; ++layout) {
                    if (kernels_.op(node.layer, layout).run == nullptr) continue;
                    runs = true;
                    const double seconds = op_seconds(layout);
                    if (seconds < infinite) alternatives[i].push_back({0, layout, layout, seconds});
                }
                if (alternatives[i].empty()) {
                    fail("plan: layer ", node.name, " (", kind(node.layer), ") runs in none of the layouts",
                         runs ? join(" for which cost model ", Model::name, " has a price") : "");
                }
            }
        }
    }

    static void consider(std::vector<Alternative>& known, Alternative const& next) {
        for (Alternative& other : known) {
            if (other.in_layout != next.in_layout || other.out_layout != next.out_layout) continue;
            if (next.seconds < other.seconds) other = next;
            return;
        }
        known.push_back(next);
    }
    static void sort(std::vector<Candidate>& list) {
        std::ranges::stable_sort(list, [](Candidate const& a, Candidate const& b) {
            if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
            return a.refusal.empty() && a.seconds < b.seconds;
        });
    }
    [[noreturn]] void fail_for(Node const& node, std::size_t i) const {
        std::string reasons;
        for (Candidate const& candidate : candidates[i])
            reasons += "\n  " + candidate.primitive + ": " + candidate.refusal;
        fail("plan: no primitive can compute layer ", node.name, " (", to_string(shape_of(i)), ")", reasons);
    }

    std::vector<std::vector<Shape>> input_shapes_;
    std::vector<ConvQuery> convs_;
    std::vector<OpQuery> ops_;
    std::vector<TransformQuery> transforms_;
    std::vector<double> conv_seconds_, op_seconds_, transform_seconds_;
    std::map<std::tuple<int, int, int, std::size_t, std::size_t>, std::size_t> transform_index_;
};

/// The layout in which a node reads its input at `position`: a convolution's residual is laid out as its result.
[[nodiscard]] inline std::size_t read_layout(Node const& node, std::size_t position, std::size_t in_layout,
                                             std::size_t out_layout) {
    return std::holds_alternative<ConvParams>(node.layer) && position == 1 ? out_layout : in_layout;
}

/// A node's input that another node's result fills.
struct Reading {
    std::size_t reader, position;
};

/// Nodes are layers, alternatives their layout pairs, edges the changes of layout between them; results must leave in
/// the first layout. Readers that want the same layout share one copy: for a result with several readers a node of
/// its own chooses in which layouts it is there for them.
template <class Prices>
class Formulation {
public:
    Formulation(Graph const& graph, Prices const& prices) : graph_(graph), prices_(prices) {
        std::vector<std::vector<Reading>> readings(graph.size());
        const std::vector<std::size_t> outputs = graph.outputs();
        for (std::size_t i = 0; i < graph.size(); ++i) {
            std::vector<double> costs;
            for (Alternative const& way : prices.alternatives[i]) {
                const auto results = static_cast<double>(std::ranges::count(outputs, i));
                costs.push_back(way.seconds +
                                (results > 0 ? results * prices.transform_seconds(i, way.out_layout, 0) : 0));
            }
            problem.add_node(std::move(costs));
            for (std::size_t position = 0; position < graph[i].inputs.size(); ++position) {
                readings[graph[i].inputs[position]].push_back({i, position});
            }
        }
        for (std::size_t writer = 0; writer < graph.size(); ++writer) {
            if (readings[writer].size() == 1) add_edge(writer, readings[writer][0]);
            if (readings[writer].size() > 1) add_copies(writer, readings[writer]);
        }
    }

    /// Its first nodes are the graph's.
    PbqpProblem problem;

    /// Throws error, naming solver and layer, unless the solution takes one of the alternatives of each node. Whether
    /// the copies that it takes serve their readers does not matter: a plan makes those that its layers need.
    void check(PbqpSolution const& solution, std::string_view solver) const {
        const std::vector<std::size_t>& choice = solution.choice;
        if (choice.size() != problem.node_count()) {
            fail("plan: solver ", solver, " chose ", choice.size(), " alternatives for a problem of ",
                 problem.node_count(), " nodes, one for each layer and each set of copies");
        }
        for (std::size_t node = 0; node < choice.size(); ++node) {
            const std::size_t count = problem.costs(node).size();
            if (choice[node] >= count) {
                fail("plan: solver ", solver, " chose alternative ", choice[node], " for ", name_of(node),
                     ", which has ", count, ", from 0 on");
            }
        }
    }

private:
    static constexpr double infinite = std::numeric_limits<double>::infinity();

    [[nodiscard]] std::string name_of(std::size_t node) const {
        if (node < graph_.size()) return join("layer ", graph_[node].name);
        return join("the copies of the result of layer ", graph_[copied_[node - graph_.size()]].name);
    }
    [[nodiscard]] std::size_t layout_of(Reading const& reading, Alternative const& way) const {
        return read_layout(graph_[reading.reader], reading.position, way.in_layout, way.out_layout);
    }
    void add_edge(std::size_t writer, Reading const& reading) {
        auto const &from = prices_.alternatives[writer], &to = prices_.alternatives[reading.reader];
        std::vector<double> costs;
        for (Alternative const& write : from) {
            for (Alternative const& read : to) {
                costs.push_back(prices_.transform_seconds(writer, write.out_layout, layout_of(reading, read)));
            }
        }
        problem.add_edge(writer, reading.reader, PbqpMatrix{from.size(), to.size(), std::move(costs)});
    }
    void add_copies(std::size_t writer, std::vector<Reading> const& readings) {
        std::vector<std::size_t> layouts;
        for (Reading const& reading : readings) {
            for (Alternative const& way : prices_.alternatives[reading.reader]) {
                layouts.push_back(layout_of(reading, way));
            }
        }
        std::ranges::sort(layouts);
        layouts.erase(std::ranges::unique(layouts).begin(), layouts.end());
        // An alternative is a set of layouts: bit i of its number plus one stands for layouts[i].
        const std::size_t sets = (std::size_t{1} << layouts.size()) - 1;
        const auto contains = [](std::size_t set, std::size_t i) { return (((set + 1) >> i) & 1U) != 0; };
        const std::size_t copies = problem.add_node(std::vector<double>(sets, 0.0));
        copied_.push_back(writer);

        std::vector<double> costs;
        for (Alternative const& write : prices_.alternatives[writer]) {
            for (std::size_t set = 0; set < sets; ++set) {
                double seconds = 0;
                for (std::size_t i = 0; i < layouts.size(); ++i) {
                    if (contains(set, i)) seconds += prices_.transform_seconds(writer, write.out_layout, layouts[i]);
                }
                costs.push_back(seconds);
            }
        }
        problem.add_edge(writer, copies, PbqpMatrix{prices_.alternatives[writer].size(), sets, std::move(costs)});
        for (Reading const& reading : readings) {
            auto const& to = prices_.alternatives[reading.reader];
            std::vector<double> allowed;
            for (std::size_t set = 0; set < sets; ++set) {
                for (Alternative const& read : to) {
                    const auto i = std::ranges::find(layouts, layout_of(reading, read)) - layouts.begin();
                    allowed.push_back(contains(set, static_cast<std::size_t>(i)) ? 0.0 : infinite);
                }
            }
            problem.add_edge(copies, reading.reader, PbqpMatrix{sets, to.size(), std::move(allowed)});
        }
    }

    Graph const& graph_;
    Prices const& prices_;
    std::vector<std::size_t> copied_;  // whose results the nodes after the graph's are the copies of
};

}  // namespace detail

[[nodiscard]] inline PlanKey make_key(Graph const& graph, Kernels const& kernels) {
    return {fingerprint(graph), fingerprint(kernels), PRIMSEL_VERSION, std::string(kernels.arch), cpu_name()};
}

/// Prices every way to run every layer of a (simplified) graph and solves for the cheapest whole, changes of layout
/// included. Images come and results go in the kernels' first layout. Throws error when a layer cannot be computed at
/// all, with each primitive's reason; when the options name a layer or primitive that is not there or bound the error
/// by what is no bound; when the model's answer is no cost; and when the solver's is no choice, or a forbidden one.
template <CostModel Model, Solver S>
[[nodiscard]] Plan make_plan(Graph const& graph, Kernels const& kernels, Model& model, S const& solver,
                             PlanOptions const& options = {}) {
    Plan plan;
    plan.key = make_key(graph, kernels);
    plan.cost_model = Model::name;
    plan.solver = S::name;
    Timer timer;
    const detail::Pricing<Model> prices(graph, kernels, model, options);
    plan.predict_seconds = timer.seconds();
    timer.restart();
    const detail::Formulation formulation(graph, prices);
    const PbqpSolution solution = solver.solve(formulation.problem);
    formulation.check(solution, S::name);
    plan.solve_seconds = timer.seconds();
    plan.optimal = solution.optimal;
    plan.bound_seconds = solution.bound;

    std::map<std::pair<std::size_t, std::size_t>, bool> moved;
    const auto move = [&](std::size_t writer, std::size_t from, std::size_t to, std::string const& reader) {
        if (kernels.same_placement(graph[writer].shape, from, to)) return;
        // Readers that want the same layout share one copy; a result is one of its own.
        if (!reader.empty() && !moved.emplace(std::pair{writer, to}, true).second) return;
        const double seconds = prices.transform_seconds(writer, from, to);
        if (seconds == std::numeric_limits<double>::infinity()) {
            fail("plan: solver ", S::name, " found no plan that is allowed: cost model ", Model::name,
                 " has no price for changing ", graph[writer].shape, ", the result of layer ", graph[writer].name,
                 ", from layout ", kernels.layouts[from].name, " to ", kernels.layouts[to].name);
        }
        plan.transforms.push_back({graph[writer].name, reader, to_string(graph[writer].shape),
                                   std::string(kernels.layouts[from].name), std::string(kernels.layouts[to].name),
                                   seconds});
        plan.total_seconds += seconds;
    };
    const auto chosen = [&](std::size_t i) { return prices.alternatives[i][solution.choice[i]]; };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        const detail::Alternative way = chosen(i);
        for (std::size_t position = 0; position < node.inputs.size(); ++position) {
            const std::size_t writer = node.inputs[position];
            move(writer, chosen(writer).out_layout, detail::read_layout(node, position, way.in_layout, way.out_layout),
                 node.name);
        }
        PlannedLayer layer{.name = node.name,
                           .kind = std::string(kind(node.layer)),
                           .shape = to_string(node.shape),
                           .primitive = {},
                           .in_layout = std::string(kernels.layouts[way.in_layout].name),
                           .out_layout = std::string(kernels.layouts[way.out_layout].name),
                           .seconds = way.seconds,
                           .candidates = prices.candidates[i]};
        if (const auto* conv = std::get_if<ConvParams>(&node.layer)) {
            layer.primitive = kernels.primitives[way.primitive].id;
            layer.shape = to_string(conv_shape_of(*conv, graph[node.inputs[0]].shape, graph.batch()));
        }
        plan.layers.push_back(std::move(layer));
        plan.total_seconds += way.seconds;
    }
    for (const std::size_t output : graph.outputs()) move(output, chosen(output).out_layout, 0, "");
    return plan;
}

}  // namespace primsel::inline PRIMSEL_ABI
