#pragma once

#include <primsel/primitive/conv_args.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A primitive, or an op with weights that are not floats, that a layer must not use, and why.
struct Refused {
    std::string layer, primitive, reason;
};

/// The least precise type in which a layer may compute and store its result, and why.
struct LayerPrecision {
    std::string layer;
    Precision precision = Precision::float32;
    std::string reason;
    friend bool operator==(LayerPrecision const&, LayerPrecision const&) = default;
};

/// The primitives, memory and threads that a plan may use.
struct PlanOptions {
    /// A uniform plan: only primitives of this family; where none of them can compute the layer, im2, which can compute
    /// any.
    std::optional<Family> family = std::nullopt;
    /// A uniform plan of the primitive with this id, with im2 where it cannot compute the layer. Empty: no restriction.
    std::string primitive = {};
    /// The least precise type in which a primitive may multiply, and of a dense layer's weights. With bf16 the plan
    /// takes bfloat16 where it is faster, with int8 also bytes where ranges are known; with f16 it keeps weights of
    /// dense layers in float16 where that is faster, and takes neither of the others. An engine has such primitives if
    /// its policies list them (LowPrecision).
    Precision precision = Precision::float32;
    /// Layers that must be more precise than that, such as an error budget chooses (PrecisionPlanner).
    std::vector<LayerPrecision> layer_precisions = {};
    /// Dense layers whose weights float16 has exactly (layers_of_f16_weights): they may keep them in it, whatever
    /// precision and max_error are.
    std::vector<std::string> f16_weights = {};
    /// The largest error bound (relative to the RMS of a layer's output) that a primitive, or what rounds the weights
    /// of a dense layer, may have.
    double max_error = std::numeric_limits<double>::infinity();
    /// Only primitives that compute each output from the pixels it depends on alone: with Winograd's algorithm a pixel
    /// that is infinite, NaN or huge spoils its whole tile.
    bool exact_support = false;
    /// The largest arena in bytes. make_fitting_plan (engine/fit.hpp) keeps to it; make_plan ignores it.
    std::size_t max_arena = std::numeric_limits<std::size_t>::max();
    std::vector<Refused> refused = {};
    /// Whether convolutions may be computed together in strips of rows (see PlannedStrips).
    bool strips = true;
    /// The number of threads that run the plan. Predictions are for as many.
    std::size_t workers = 1;
    /// The number of runs of the plan that take place at a time, each on other threads. Predictions are for one of
    /// them.
    std::size_t apart = 1;
    /// Whether threads may run images of their own (see parts_of_batch). make_fitting_plan keeps to it; make_plan
    /// ignores it.
    bool images_apart = true;
    /// Whether the plan keeps all candidates of each layer for explain(). Planning is faster without.
    bool keep_candidates = true;
};

}  // namespace primsel::inline PRIMSEL_ABI
