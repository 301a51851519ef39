#pragma once

#include <primsel/core/error.hpp>
#include <primsel/tensor/shape.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The network, kernels and machine that a plan was made for. It is good for nothing else: other weights are fine,
/// another network, primitive list, library or processor is not.
struct PlanKey {
    std::string network;     ///< fingerprint of the simplified graph
    std::string primitives;  ///< fingerprint of the primitives and layouts
    std::string version;     ///< of the library
    std::string arch;        ///< instruction set
    std::string cpu;         ///< the processor's name
    friend bool operator==(PlanKey const&, PlanKey const&) = default;
};

/// One way to compute a layer: its predicted seconds, or the reason why it is not one.
struct Candidate {
    std::string primitive;
    double seconds = 0;
    std::string refusal;
    friend bool operator==(Candidate const&, Candidate const&) = default;
};

/// A layer of the plan.
struct PlannedLayer {
    std::string name;
    std::string kind;
    /// Input and output extents, and for a convolution all that its cost depends on.
    std::string shape;
    /// For a layer that is not a convolution: OpEntry::id of the op whose weights or products are not floats, or empty.
    std::string primitive;
    std::string in_layout, out_layout;
    double seconds = 0;
    /// The cheapest first, then the refused; empty for a layer with nothing to choose but its layout.
    std::vector<Candidate> candidates;
    friend bool operator==(PlannedLayer const&, PlannedLayer const&) = default;
};

/// A change of layout between two layers; `reader` is empty for the network's result.
struct PlannedTransform {
    std::string writer, reader;
    std::string shape;
    std::string from, to;
    double seconds = 0;
    friend bool operator==(PlannedTransform const&, PlannedTransform const&) = default;
};

/// Convolutions, each of which reads the one before it, that are computed together: some rows of the last one's result
/// at a time, with those of the others that they need, so that what lies between them stays in the caches.
struct PlannedStrips {
    std::vector<std::string> layers;
    int rows = 0;
    /// Predicted for the whole chain; replaces the seconds of its layers.
    double seconds = 0;
    friend bool operator==(PlannedStrips const&, PlannedStrips const&) = default;
};

/// Which primitive and layout each layer uses, and why. A plain value: print it, explain it, save it.
class Plan {
public:
    PlanKey key;
    std::string cost_model, solver;
    std::vector<PlannedLayer> layers;
    std::vector<PlannedTransform> transforms;
    std::vector<PlannedStrips> strips;
    /// Whether a batch is divided among the threads, each of which runs images of its own, in place of sharing each
    /// layer (see parts_of_batch). The seconds are then those of one thread, and optimal and bound_seconds are said of
    /// such plans.
    bool images_apart = false;
    /// Predicted, for one run.
    double total_seconds = 0;
    /// Whether no cheaper assignment exists, as far as the predictions are right.
    bool optimal = false;
    /// A lower bound on the predicted seconds of every assignment; 0 if unknown.
    double bound_seconds = 0;
    /// Seconds spent on predicting and on solving.
    double predict_seconds = 0, solve_seconds = 0;

    /// Throws error when no layer has the name, and says which have.
    [[nodiscard]] PlannedLayer const& layer(std::string_view name) const {
        std::string names;
        for (PlannedLayer const& layer : layers) {
            if (layer.name == name) return layer;
            names += (names.empty() ? "" : ", ") + layer.name;
        }
        fail("plan: no layer is named ", name, "; there are ", names);
    }
    /// The quality of the solution in words: "proven optimal", "within 0.9 % of optimal", ...
    [[nodiscard]] std::string optimality() const;
    /// Every candidate of a layer with its predicted cost or refusal, as a table. Throws error as layer does.
    [[nodiscard]] std::string explain(std::string_view name) const;

    friend bool operator==(Plan const&, Plan const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
