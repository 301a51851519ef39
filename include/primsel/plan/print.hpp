#pragma once

#include <primsel/core/number_text.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/core/text_table.hpp>
#include <primsel/plan/plan.hpp>

#include <ostream>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

inline std::string Plan::optimality() const {
    if (optimal) return "proven optimal";
    if (!(bound_seconds > 0)) return "not proven optimal";
    return "within " + core::rounded_text((total_seconds / bound_seconds - 1) * 100, 2) + " % of optimal";
}

inline std::string Plan::explain(std::string_view name) const {
    PlannedLayer const& found = layer(name);
    std::string text = printable(found.name + ": " + found.kind + " " + found.shape) + '\n';
    if (found.candidates.empty())
        return text + "  runs in " + printable(found.in_layout) + "; nothing to choose but its layout\n";
    TextTable table;
    for (Candidate const& candidate : found.candidates) {
        const bool chosen = candidate.primitive == (found.primitive.empty() ? found.kind : found.primitive);
        const bool refused = !candidate.refusal.empty();
        table.add({chosen ? "  *" : "   ", candidate.primitive,
                   refused ? candidate.refusal : milliseconds(candidate.seconds) + " ms"});
    }
    return text + table.text();
}

/// A line a layer, with the changes of layout where they happen, then the totals.
inline std::ostream& operator<<(std::ostream& out, Plan const& plan) {
    TextTable table;
    table.add({"layer", "shape", "primitive", "layouts", "ms"});
    for (PlannedLayer const& layer : plan.layers) {
        for (PlannedTransform const& transform : plan.transforms) {
            if (transform.reader != layer.name) continue;
            table.add({"  (" + transform.writer + ")", transform.shape, "transform",
                       transform.from + " -> " + transform.to, milliseconds(transform.seconds)});
        }
        const bool one_layout = layer.in_layout == layer.out_layout;
        table.add({layer.name, layer.shape, layer.primitive.empty() ? layer.kind : layer.primitive,
                   one_layout ? layer.in_layout : layer.in_layout + " -> " + layer.out_layout,
                   milliseconds(layer.seconds)});
        for (PlannedStrips const& strips : plan.strips) {
            if (strips.layers.empty() || strips.layers.back() != layer.name) continue;
            table.add({"  (from " + strips.layers.front() + " on)", "",
                       "strips of " + std::to_string(strips.rows) + " rows", "together", milliseconds(strips.seconds)});
        }
    }
    for (PlannedTransform const& transform : plan.transforms) {
        if (!transform.reader.empty()) continue;
        table.add({"  (" + transform.writer + ")", transform.shape, "transform", transform.from + " -> " + transform.to,
                   milliseconds(transform.seconds)});
    }
    if (plan.images_apart) table.add({"each thread runs images of its own"});
    return out << table.text() << "total " << milliseconds(plan.total_seconds) << " ms predicted by "
               << printable(plan.cost_model) << ", " << plan.optimality() << " by " << printable(plan.solver)
               << "; predicted in " << milliseconds(plan.predict_seconds) << " ms, solved in "
               << milliseconds(plan.solve_seconds) << " ms; for " << printable(plan.key.arch) << '\n';
}

}  // namespace primsel::inline PRIMSEL_ABI
