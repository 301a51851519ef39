#pragma once

#include <primsel/core/printable.hpp>
#include <primsel/plan/plan.hpp>

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

[[nodiscard]] inline std::string milliseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.3f", seconds * 1e3);
    return text;
}

/// Rows of text in columns as wide as they need to be; the last column is not padded.
class TextTable {
public:
    void add(std::vector<std::string> row) {
        for (std::string& cell : row) cell = printable(cell);  // names come from files
        widths_.resize(std::max(widths_.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], row[i].size());
        rows_.push_back(std::move(row));
    }
    [[nodiscard]] std::string text() const {
        std::string out;
        for (auto const& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                out += row[i];
                if (i + 1 < row.size()) out.append(widths_[i] - row[i].size() + 2, ' ');
            }
            out += '\n';
        }
        return out;
    }

private:
    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> widths_;
};

}  // namespace detail

inline std::string Plan::optimality() const {
    if (optimal) return "proven optimal";
    if (!(bound_seconds > 0)) return "not proven optimal";
    char text[64];
    std::snprintf(text, sizeof(text), "within %.2g %% of optimal", (total_seconds / bound_seconds - 1) * 100);
    return text;
}

inline std::string Plan::explain(std::string_view name) const {
    PlannedLayer const& found = layer(name);
    std::string text = printable(found.name + ": " + found.kind + " " + found.shape) + '\n';
    if (found.candidates.empty())
        return text + "  runs in " + printable(found.in_layout) + "; nothing to choose but its layout\n";
    detail::TextTable table;
    for (Candidate const& candidate : found.candidates) {
        const bool chosen = candidate.primitive == found.primitive;
        const bool refused = !candidate.refusal.empty();
        table.add({chosen ? "  *" : "   ", candidate.primitive,
                   refused ? candidate.refusal : detail::milliseconds(candidate.seconds) + " ms"});
    }
    return text + table.text();
}

/// A line a layer, with the changes of layout where they happen, then the totals.
inline std::ostream& operator<<(std::ostream& out, Plan const& plan) {
    detail::TextTable table;
    table.add({"layer", "shape", "primitive", "layouts", "ms"});
    for (PlannedLayer const& layer : plan.layers) {
        for (PlannedTransform const& transform : plan.transforms) {
            if (transform.reader != layer.name) continue;
            table.add({"  (" + transform.writer + ")", transform.shape, "transform",
                       transform.from + " -> " + transform.to, detail::milliseconds(transform.seconds)});
        }
        const bool one_layout = layer.in_layout == layer.out_layout;
        table.add({layer.name, layer.shape, layer.primitive.empty() ? layer.kind : layer.primitive,
                   one_layout ? layer.in_layout : layer.in_layout + " -> " + layer.out_layout,
                   detail::milliseconds(layer.seconds)});
    }
    for (PlannedTransform const& transform : plan.transforms) {
        if (!transform.reader.empty()) continue;
        table.add({"  (" + transform.writer + ")", transform.shape, "transform", transform.from + " -> " + transform.to,
                   detail::milliseconds(transform.seconds)});
    }
    return out << table.text() << "total " << detail::milliseconds(plan.total_seconds) << " ms predicted by "
               << printable(plan.cost_model) << ", " << plan.optimality() << " by " << printable(plan.solver)
               << "; predicted in " << detail::milliseconds(plan.predict_seconds) << " ms, solved in "
               << detail::milliseconds(plan.solve_seconds) << " ms\n";
}

}  // namespace primsel::inline PRIMSEL_ABI
