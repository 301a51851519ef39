#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/plan/detail/strip_seconds.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/plan/plan_options.hpp>
#include <primsel/plan/questions.hpp>
#include <primsel/plan/strips.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace plan {

/// One way to run a node: a primitive with its layouts, by itself or in a chain of strips, or an op in a layout.
struct Alternative {
    static constexpr std::size_t no_chain = static_cast<std::size_t>(-1);

    std::size_t primitive = 0;
    std::size_t in_layout = 0, out_layout = 0;
    double seconds = 0;
    /// The position of its chain in Pricing::chains, and the seconds of the node when it is computed by itself.
    std::size_t chain = no_chain;
    double by_itself = 0;
    /// The least precise type of what it multiplies, reads and writes.
    Precision precision = Precision::float32;
    /// Seconds that count beside its own for a plan that is to be more than fast.
    double penalty = 0;
    /// The layout whose op it is; that of the tensors unless the weights or products alone are not floats.
    std::size_t op_layout = 0;
};
/// The alternatives of each node of a graph.
using Alternatives = std::vector<std::vector<Alternative>>;

/// Whether an extra pass must add bias and residual and clamp after the primitive.
[[nodiscard]] inline bool needs_pass(PrimitiveEntry const& entry, Node const& node) {
    const auto* conv = std::get_if<ConvParams>(&node.layer);
    const bool fuses = entry.fuses_epilogue && (entry.bounds_summand || !node.epilogue.summand.known());
    return conv != nullptr && (conv->bias || node.epilogue.changes_result()) && !fuses;
}

/// The least precise type of what a primitive multiplies, reads and writes.
[[nodiscard]] inline Precision precision_of(Kernels const& kernels, PrimitiveEntry const& entry) {
    return std::max(
        {entry.precision, kernels.layouts[entry.in_layout].precision, kernels.layouts[entry.out_layout].precision});
}

/// The alternatives of a node with equal layouts that are kept: the cheapest, or the cheapest of each precision.
enum class KeptAlternatives { cheapest, of_each_precision };

/// Asks a cost model for every price that a plan needs, one batch of questions for each kind, and keeps the answers.
template <CostModel Model>
class Pricing {
public:
    Pricing(Questions questions, Model& model, PlanOptions const& options,
            KeptAlternatives kept = KeptAlternatives::cheapest)
        : questions_(std::move(questions)),
          graph_(questions_.graph()),
          kernels_(questions_.kernels()),
          options_(options),
          kept_(kept),
          alternatives(graph_.size()),
          in_chains(graph_.size()),
          by_rows_(graph_.size()),
          candidates_(graph_.size()) {
        check_options();
        check_refused();
        ask();
        conv_seconds_.resize(convs_.size());
        op_seconds_.resize(ops_.size());
        transform_seconds_.resize(transforms_.size());
        model.predict(kernels_, std::span<const ConvQuery>(convs_), std::span(conv_seconds_));
        model.predict(kernels_, std::span<const OpQuery>(ops_), std::span(op_seconds_));
        model.predict(kernels_, std::span<const TransformQuery>(transforms_), std::span(transform_seconds_));
        answer();
        if (options.strips && !goes_layer_by_layer(graph_) && kernels_.find_layout_if_any(hwc::name)) {
            price_chains(model);
        }
    }
    Pricing(Pricing const&) = delete;  // questions refer to it
    Pricing& operator=(Pricing const&) = delete;

    /// Seconds of changing the layout of a node's result; 0 where the bytes stay as they are.
    [[nodiscard]] double transform_seconds(std::size_t node, std::size_t from, std::size_t to) const {
        const std::size_t query = transform_of_[place_of(shape_of_[node], from, to)];
        return query == nothing ? 0 : transform_seconds_[query];
    }
    /// The primitives for a convolution, the cheapest first and those that are refused last, where the options keep
    /// them.
    [[nodiscard]] std::vector<Candidate> const& candidates(std::size_t node) const { return candidates_[alike_[node]]; }

    [[nodiscard]] Graph const& graph() const { return graph_; }

    /// The ways to run each node that are worth considering, by themselves and, of each chain, by the cheapest
    /// primitive.
    [[nodiscard]] Alternatives all() const {
        Alternatives result = alternatives;
        for (std::size_t i = 0; i < result.size(); ++i) {
            for (Alternative const& way : in_chains[i]) consider(result[i], way);
        }
        return result;
    }
    /// The ways to run each node by the primitive and in the layouts of one of its alternatives.
    [[nodiscard]] Alternatives like(std::span<const std::size_t> choice) const {
        Alternatives result(alternatives.size());
        for (std::size_t i = 0; i < result.size(); ++i) {
            result[i].push_back(alternatives[i][choice[i]]);
            for (Alternative const& way : in_chains[i]) {
                if (way.primitive == result[i][0].primitive && way.in_layout == result[i][0].in_layout &&
                    way.out_layout == result[i][0].out_layout) {
                    result[i].push_back(way);
                }
            }
        }
        return result;
    }

private:
    Questions questions_;
    Graph const& graph_;
    Kernels const& kernels_;
    PlanOptions const& options_;
    KeptAlternatives kept_;

public:
    /// The ways to run each node by itself; of those with the same layouts, those that are kept.
    Alternatives alternatives;
    /// The ways to run each node in a chain, one for each primitive that computes rows by themselves.
    Alternatives in_chains;
    std::vector<StripChain> chains;

private:
    static constexpr double infinite = std::numeric_limits<double>::infinity();
    static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();

    void check_options() const {
        if (is_nan(options_.max_error) || !(options_.max_error >= 0)) {
            fail("plan: max_error is ", options_.max_error, "; it must be a number that is not negative");
        }
        const auto can_be_int8 = [this](Node const& node) { return node.range.known() || has_int8_weights(node); };
        if (options_.precision == Precision::int8 && std::ranges::none_of(graph_.nodes(), can_be_int8)) {
            fail("plan: precision int8 needs ranges of tensors, and the network has none: see docs/plan/precision.md");
        }
        if (options_.primitive.empty()) return;
        PrimitiveEntry const& entry = kernels_.primitives[kernels_.find(options_.primitive)];
        if (options_.family && entry.family != *options_.family) {
            fail("plan: primitive ", options_.primitive, " is of family ", to_string_view(entry.family), ", not ",
                 to_string_view(*options_.family));
        }
    }
    /// Whether the layer can have its weights alone in 8 bits.
    [[nodiscard]] bool has_int8_weights(Node const& node) const {
        for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
            OpEntry const& op = kernels_.op(node.layer, layout);
            if (!op.tensors.empty() && op.precision == Precision::int8 && !op.rounds_inputs()) return true;
        }
        return false;
    }
    void check_refused() {
        for (Refused const& refused : options_.refused) {
            AnyLayer const& layer = graph_[graph_.find(refused.layer)].layer;
            bool is_op = false;
            for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
                is_op = is_op || kernels_.op(layer, layout).id == refused.primitive;
            }
            if (!is_op || refused.primitive.empty()) (void)kernels_.find(refused.primitive);
        }
        bounds_.assign(graph_.size(), nullptr);
        for (LayerPrecision const& bound : options_.layer_precisions) bounds_[graph_.find(bound.layer)] = &bound;
    }
    /// The least precise type that is allowed to a node.
    [[nodiscard]] Precision allowed(std::size_t i) const {
        return bounds_[i] == nullptr ? options_.precision : std::min(bounds_[i]->precision, options_.precision);
    }
    /// Throws error, and names the question, unless the answer is a cost: not negative, and infinite where the model
    /// has no price.
    template <class... What>
    [[nodiscard]] static double priced(double seconds, What const&... what) {
        if (is_nan(seconds) || !(seconds >= 0))
            fail("plan: cost model ", Model::name, " predicts ", seconds, " seconds for ", what...);
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
    /// The rank of a primitive against the one that the options name: 0 for that one, 1 for its substitute, 2 for
    /// others.
    [[nodiscard]] int distance(PrimitiveEntry const& entry) const {
        const bool wanted = (!options_.family || entry.family == *options_.family) &&
                            (options_.primitive.empty() || entry.id == options_.primitive);
        return wanted ? 0 : entry.family == Family::im2 ? 1 : 2;
    }
    /// Whether the tensors that node i reads and writes may be in this layout.
    [[nodiscard]] bool allows(std::size_t layout, std::size_t i) const {
        LayoutEntry const& entry = kernels_.layouts[layout];
        return primsel::allows(allowed(i), entry.precision) && (!entry.needs_range || ranges_[i].all);
    }
    /// The ranges that are known of a node's tensors: of its first input, of its inputs, and of all.
    struct KnownRanges {
        bool input = false, inputs = false, all = false;
        friend bool operator==(KnownRanges const&, KnownRanges const&) = default;
    };
    [[nodiscard]] KnownRanges known_ranges(Node const& node) const {
        const auto known = [this](std::size_t input) { return graph_[input].range.known(); };
        const bool inputs = std::ranges::all_of(node.inputs, known);
        return {!node.inputs.empty() && known(node.inputs[0]), inputs, inputs && node.range.known()};
    }
    [[nodiscard]] std::string refusal(PrimitiveEntry const& entry, std::size_t i, ConvTask const& task) const {
        Node const& node = graph_[i];
        if (const Support support = supports(entry, task); !support) return std::string(support.reason());
        if (const std::string reason = refusal(precision_of(kernels_, entry), i); !reason.empty()) return reason;
        if (entry.precision == Precision::int8 && !ranges_[i].input) return "the range of its input is unknown";
        if (kernels_.layouts[entry.out_layout].needs_range && !ranges_[i].all) {
            return "the range of its result, or of what is added to it, is unknown";
        }
        if (options_.exact_support && entry.mixes_pixels) return "it mixes pixels that outputs do not depend on";
        if (entry.error_bound > options_.max_error) return "its error bound exceeds the allowed error";
        if (needs_pass(entry, node) && kernels_.layouts[entry.out_layout].epilogue == nullptr) {
            return "it must add bias and activation itself, as elements of its layout are no floats";
        }
        return refusal_by_name(entry.id, node);
    }
    [[nodiscard]] std::string refusal(Precision own, std::size_t i) const {
        if (primsel::allows(allowed(i), own)) return "";
        const bool by_bound =
            bounds_[i] != nullptr && primsel::allows(options_.precision, own) && !bounds_[i]->reason.empty();
        return by_bound ? bounds_[i]->reason : "its precision is below the allowed one";
    }
    [[nodiscard]] bool has_f16_weights(std::size_t i) const {
        return std::ranges::find(options_.f16_weights, graph_[i].name) != options_.f16_weights.end();
    }
    [[nodiscard]] std::string refusal_by_name(std::string_view id, Node const& node) const {
        for (Refused const& refused : options_.refused) {
            if (refused.layer == node.name && refused.primitive == id) return refused.reason;
        }
        return "";
    }
    /// Why an op whose weights or products are not floats must not run.
    [[nodiscard]] std::string refusal(OpEntry const& op, std::size_t i) const {
        const bool is_exact = op.precision == Precision::f16 && !op.tensors.empty() && has_f16_weights(i);
        if (is_exact) return refusal_by_name(op.id, graph_[i]);
        if (const std::string reason = refusal(op.precision, i); !reason.empty()) return reason;
        if (op.rounds_inputs() && !ranges_[i].inputs) return "the range of an input is unknown";
        if (op.error_bound > options_.max_error) return "its error bound exceeds the allowed error";
        return refusal_by_name(op.id, graph_[i]);
    }
    [[nodiscard]] std::size_t place_of(std::size_t shape, std::size_t from, std::size_t to) const {
        return (shape * kernels_.layouts.size() + from) * kernels_.layouts.size() + to;
    }
    /// Asks for each change of layout once, for all results of one shape that are equally near.
    void ask_transforms() {
        std::map<std::tuple<int, int, int, double>, std::size_t> shapes;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            Node const& node = graph_[i];
            const double near = questions_.transform(i, 0, 0).run.data_reuse_bytes;
            const auto [known, is_new] =
                shapes.try_emplace({node.shape.c, node.shape.h, node.shape.w, near}, shapes.size());
            shape_of_.push_back(known->second);
            if (!is_new) continue;
            for (std::size_t from = 0; from < kernels_.layouts.size(); ++from) {
                for (std::size_t to = 0; to < kernels_.layouts.size(); ++to) {
                    const bool same = kernels_.same_placement(node.shape, from, to);
                    transform_of_.push_back(same ? nothing : transforms_.size());
                    if (!same) transforms_.push_back(questions_.transform(i, from, to));
                }
            }
        }
    }
    void ask_conv(std::size_t i, ConvTask const& task) {
        candidates_[i].reserve(kernels_.primitives.size());
        int nearest = 2;
        for (PrimitiveEntry const& entry : kernels_.primitives) {
            std::string id(options_.keep_candidates ? entry.id : std::string_view());
            candidates_[i].push_back({std::move(id), 0, refusal(entry, i, task)});
            if (candidates_[i].back().refusal.empty()) nearest = std::min(nearest, distance(entry));
        }
        for (std::size_t p = 0; p < kernels_.primitives.size(); ++p) {
            PrimitiveEntry const& entry = kernels_.primitives[p];
            std::string& reason = candidates_[i][p].refusal;
            if (reason.empty() && distance(entry) > nearest) reason = "not asked for";
            if (reason.empty()) convs_.push_back(questions_.conv(i, p));
        }
    }
    /// The first node that differs from this one in its name alone; of those before, `asked` are different.
    [[nodiscard]] std::size_t first_alike(std::size_t i, std::vector<std::size_t> const& asked,
                                          std::vector<bool> const& packs) const {
        Node const& node = graph_[i];
        const auto is_named = [&](std::size_t named) {
            return bounds_[named] != nullptr || has_f16_weights(named) ||
                   std::ranges::find(options_.refused, graph_[named].name, &Refused::layer) != options_.refused.end();
        };
        if (is_named(i)) return i;
        const auto found = std::ranges::find_if(asked, [&](std::size_t other) {
            Node const& before = graph_[other];
            return before.shape == node.shape && before.layer == node.layer &&
                   std::ranges::equal(questions_.inputs(other), questions_.inputs(i)) &&
                   questions_.context(other) == questions_.context(i) && packs[other] == packs[i] &&
                   ranges_[other] == ranges_[i] && before.epilogue.changes_result() == node.epilogue.changes_result() &&
                   before.epilogue.summand.known() == node.epilogue.summand.known() && !is_named(other);
        });
        return found == asked.end() ? i : *found;
    }
    /// Networks repeat layers: of those that differ in their names alone, only the first is asked for.
    void ask() {
        ask_transforms();
        std::vector<std::size_t> asked;
        std::vector<bool> packs;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            Node const& node = graph_[i];
            const auto task = conv_task(graph_, i);
            packs.push_back(task && task->packs);
            ranges_.push_back(known_ranges(node));
            alike_.push_back(first_alike(i, asked, packs));
            if (alike_[i] != i) continue;
            asked.push_back(i);
            if (task) ask_conv(i, *task);
            for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
                kernels_.layouts[layout].check_strides(node.shape, node.name);
                ops_.push_back(questions_.op(i, layout));
            }
        }
    }

    void answer() {
        check_transforms();
        std::size_t conv = 0, op = 0;
        const std::size_t layouts = kernels_.layouts.size();
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (alike_[i] != i) {
                alternatives[i] = alternatives[alike_[i]];
                by_rows_[i] = by_rows_[alike_[i]];
                continue;
            }
            Node const& node = graph_[i];
            const std::size_t first_op = layouts * op++;
            const auto op_seconds = [&](std::size_t layout) {
                return priced(op_seconds_[first_op + layout], "layer ", node.name, " (", layer_kind(node.layer), " -> ",
                              node.shape, ") in layout ", kernels_.layouts[layout].name);
            };
            if (std::holds_alternative<InputParams>(node.layer)) {
                alternatives[i].push_back({});  // images come in the first layout
            } else if (std::holds_alternative<ConstantParams>(node.layer) ||
                       std::holds_alternative<ParameterParams>(node.layer)) {
                // A constant is stored in the layout that its reader wants.
                for (std::size_t layout = 0; layout < layouts; ++layout) {
                    if (!allows(layout, i)) continue;
                    alternatives[i].push_back(
                        {.in_layout = layout, .out_layout = layout, .precision = kernels_.layouts[layout].precision});
                }
            } else if (const auto task = conv_task(graph_, i)) {
                for (std::size_t p = 0; p < candidates_[i].size(); ++p) {
                    Candidate& candidate = candidates_[i][p];
                    if (!candidate.refusal.empty()) continue;
                    PrimitiveEntry const& entry = kernels_.primitives[p];
                    candidate.seconds = conv_seconds_[conv++];
                    if (is_nan(candidate.seconds) || !(candidate.seconds >= 0)) {
                        (void)priced(candidate.seconds, "primitive ", entry.id, " on layer ", node.name, " (",
                                     to_string(task->shape, graph_.batch()), ")");
                    }
                    if (needs_pass(entry, node)) candidate.seconds += op_seconds(entry.out_layout);
                    if (candidate.seconds == infinite) {
                        candidate.seconds = 0;
                        candidate.refusal = "the cost model has no price for it";
                        continue;
                    }
                    consider(alternatives[i], {.primitive = p,
                                               .in_layout = entry.in_layout,
                                               .out_layout = entry.out_layout,
                                               .seconds = candidate.seconds,
                                               .by_itself = candidate.seconds,
                                               .precision = precision_of(kernels_, entry)});
                    if (joins_strips(kernels_, entry)) by_rows_[i].push_back({p, candidate.seconds});
                }
                if (alternatives[i].empty()) fail_for(node, i);
                if (options_.keep_candidates) sort(candidates_[i]);
            } else {
                bool runs = false, narrow = false;
                for (std::size_t layout = 0; layout < layouts; ++layout) {
                    OpEntry const& op = kernels_.op(node.layer, layout);
                    const auto tensors = kernels_.op_tensors(node.layer, layout);
                    const bool of_weights = !op.tensors.empty();
                    if (op.run == nullptr || !tensors || (!of_weights && !allows(layout, i))) continue;
                    runs = true, narrow = narrow || of_weights;
                    const double seconds = op_seconds(layout);
                    const std::string reason = op.error_bound > 0 ? refusal(op, i) : "";
                    if (options_.keep_candidates) {
                        add_candidate(candidates_[i], of_weights ? op.id : layer_kind(node.layer), seconds, reason);
                    }
                    if (seconds == infinite || !reason.empty()) continue;
                    alternatives[i].push_back(
                        {.in_layout = *tensors,
                         .out_layout = *tensors,
                         .seconds = seconds,
                         .by_itself = seconds,
                         .precision = std::max(op.precision, kernels_.layouts[*tensors].precision),
                         .op_layout = layout});
                }
                if (!narrow) candidates_[i].clear();
                sort(candidates_[i]);
                if (alternatives[i].empty()) {
                    fail("plan: layer ", node.name, " (", layer_kind(node.layer), ") runs in none of the layouts",
                         runs ? join(" for which cost model ", Model::name, " has a price") : "");
                }
            }
        }
    }

    /// Asks for chains whose layers all have a primitive that computes rows by themselves.
    void price_chains(Model& model) {
        for (StripChain& chain : strip_chains(graph_)) {
            Alternatives ways(chain.shapes.size());
            for (std::size_t place = 0; place < ways.size(); ++place) {
                const std::size_t node = chain.first + place;
                if (by_rows_[node].empty()) break;
                const std::vector<double> seconds =
                    detail::strip_seconds(questions_, model, chain, place, options_.workers, by_rows_[node]);
                for (std::size_t i = 0; i < seconds.size(); ++i) {
                    auto const& [p, by_itself] = by_rows_[node][i];
                    if (!is_finite(seconds[i])) continue;
                    PrimitiveEntry const& entry = kernels_.primitives[p];
                    ways[place].push_back({p, entry.in_layout, entry.out_layout, seconds[i], chains.size(), by_itself,
                                           precision_of(kernels_, entry)});
                }
            }
            if (std::ranges::any_of(ways, &std::vector<Alternative>::empty)) continue;
            for (std::size_t place = 0; place < ways.size(); ++place) {
                auto& known = in_chains[chain.first + place];
                known.insert(known.end(), ways[place].begin(), ways[place].end());
            }
            chains.push_back(std::move(chain));
        }
    }

    /// An op in several layouts is one candidate.
    static void add_candidate(std::vector<Candidate>& known, std::string_view id, double seconds,
                              std::string const& refusal) {
        if (seconds == infinite) return;
        const auto same = std::ranges::find(known, id, &Candidate::primitive);
        if (same == known.end()) {
            known.push_back({std::string(id), refusal.empty() ? seconds : 0, refusal});
        } else {
            same->seconds = std::min(same->seconds, seconds);
        }
    }
    void consider(std::vector<Alternative>& known, Alternative const& next) const {
        for (Alternative& other : known) {
            if (other.in_layout != next.in_layout || other.out_layout != next.out_layout || other.chain != next.chain ||
                (kept_ == KeptAlternatives::of_each_precision && other.precision != next.precision)) {
                continue;
            }
            if (next.seconds < other.seconds) other = next;
            return;
        }
        known.push_back(next);
    }
    static void sort(std::vector<Candidate>& list) {
        std::vector<std::tuple<bool, double, std::size_t>> order;  // refused, seconds, place
        for (Candidate const& candidate : list) {
            const bool refused = !candidate.refusal.empty();
            order.emplace_back(refused, refused ? 0 : candidate.seconds, order.size());
        }
        std::ranges::sort(order);
        std::vector<Candidate> sorted;
        for (auto const& [refused, seconds, place] : order) sorted.push_back(std::move(list[place]));
        list = std::move(sorted);
    }
    [[noreturn]] void fail_for(Node const& node, std::size_t i) const {
        std::string reasons;
        for (std::size_t p = 0; p < candidates_[i].size(); ++p) {
            reasons += join("\n  ", kernels_.primitives[p].id, ": ", candidates_[i][p].refusal);
        }
        fail("plan: no primitive can compute layer ", node.name, " (",
             to_string(conv_task(graph_, i)->shape, graph_.batch()), ")", reasons);
    }

    /// The primitives that can compute some rows of a layer without the others.
    std::vector<std::vector<detail::PricedPrimitive>> by_rows_;
    std::vector<ConvQuery> convs_;
    std::vector<OpQuery> ops_;
    std::vector<TransformQuery> transforms_;
    std::vector<double> conv_seconds_, op_seconds_, transform_seconds_;
    std::vector<std::size_t> alike_, shape_of_;
    std::vector<KnownRanges> ranges_;
    std::vector<LayerPrecision const*> bounds_;  // of the options, or null
    std::vector<std::vector<Candidate>> candidates_;
    std::vector<std::size_t> transform_of_;  // the query of a shape, from a layout to another
};

}  // namespace plan

}  // namespace primsel::inline PRIMSEL_ABI
