// Plans as JSON:
//     {
//       "format": "primsel plan",
//       "format_version": 3,
//       "key": { "network": "...", "primitives": "...", "version": "...", "arch": "...", "cpu": "..." },
//       "cost_model": "...", "solver": "...",
//       "totals": { "seconds": ..., "optimal": ..., "predict_seconds": ..., "solve_seconds": ... },
//       "layers": [ { "name": "...", "kind": "...", "shape": "...", "primitive": "...", "in_layout": "...",
//                     "out_layout": "...", "seconds": ...,
//                     "candidates": [ ["<primitive>", <seconds>], ["<primitive>", <seconds>, "<refusal>"], ... ] }, ...
//                     ],
//       "transforms": [ { "writer": "...", "reader": "...", "shape": "...", "from": "...", "to": "...",
//                         "seconds": ... }, ... ],
//       "strips": [ { "layers": [ "...", ... ], "rows": ..., "seconds": ... }, ... ],
//       "images_apart": true    only where threads run images of their own
//     }
#pragma once

#include <primsel/io/json.hpp>
#include <primsel/plan/plan.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace plan::detail {

inline constexpr std::string_view plan_format = "primsel plan";
inline constexpr std::int64_t plan_format_version = 3;

[[nodiscard]] inline Json to_json(Candidate const& candidate) {
    Json::Array values{candidate.primitive, candidate.seconds};
    if (!candidate.refusal.empty()) values.emplace_back(candidate.refusal);
    return values;
}
[[nodiscard]] inline Json to_json(PlannedLayer const& layer) {
    Json::Array candidates;
    for (Candidate const& candidate : layer.candidates) candidates.push_back(to_json(candidate));
    return Json::Object{{"name", layer.name},           {"kind", layer.kind},
                        {"shape", layer.shape},         {"primitive", layer.primitive},
                        {"in_layout", layer.in_layout}, {"out_layout", layer.out_layout},
                        {"seconds", layer.seconds},     {"candidates", std::move(candidates)}};
}
[[nodiscard]] inline Json to_json(PlannedTransform const& transform) {
    return Json::Object{{"writer", transform.writer}, {"reader", transform.reader}, {"shape", transform.shape},
                        {"from", transform.from},     {"to", transform.to},         {"seconds", transform.seconds}};
}
[[nodiscard]] inline Json to_json(PlannedStrips const& strips) {
    Json::Array layers;
    for (std::string const& layer : strips.layers) layers.emplace_back(layer);
    return Json::Object{{"layers", std::move(layers)}, {"rows", strips.rows}, {"seconds", strips.seconds}};
}

[[nodiscard]] inline double read_seconds(JsonCursor const& at) {
    const double seconds = at.number();
    if (seconds < 0) at.fail("expected seconds of at least 0, not ", seconds);
    return seconds;
}
[[nodiscard]] inline Candidate read_candidate(JsonCursor const& at) {
    const std::size_t size = at.size();
    if (size != 2 && size != 3) at.fail("expected [primitive, seconds] or [primitive, seconds, refusal]");
    return {at[0].string(), read_seconds(at[1]), size == 3 ? at[2].string() : std::string()};
}
[[nodiscard]] inline PlannedLayer read_planned_layer(JsonCursor const& at) {
    PlannedLayer layer{.name = at["name"].string(),
                       .kind = at["kind"].string(),
                       .shape = at["shape"].string(),
                       .primitive = at["primitive"].string(),
                       .in_layout = at["in_layout"].string(),
                       .out_layout = at["out_layout"].string(),
                       .seconds = read_seconds(at["seconds"]),
                       .candidates = {}};
    for (JsonCursor const& candidate : at["candidates"].elements()) {
        layer.candidates.push_back(read_candidate(candidate));
    }
    return layer;
}
[[nodiscard]] inline PlannedTransform read_planned_transform(JsonCursor const& at) {
    return {at["writer"].string(), at["reader"].string(), at["shape"].string(),
            at["from"].string(),   at["to"].string(),     read_seconds(at["seconds"])};
}
[[nodiscard]] inline PlannedStrips read_planned_strips(JsonCursor const& at) {
    PlannedStrips strips{.layers = {},
                         .rows = static_cast<int>(at["rows"].integer(1, std::numeric_limits<int>::max())),
                         .seconds = read_seconds(at["seconds"])};
    for (JsonCursor const& layer : at["layers"].elements()) strips.layers.push_back(layer.string());
    if (strips.layers.size() < 2) at["layers"].fail("expected two layers or more, not ", strips.layers.size());
    return strips;
}

}  // namespace plan::detail

/// The plan as a JSON value, from which parse_plan reads the same plan back, every bit of its seconds included.
[[nodiscard]] inline Json to_json(Plan const& plan) {
    Json::Array layers, transforms, strips;
    for (PlannedLayer const& layer : plan.layers) layers.push_back(plan::detail::to_json(layer));
    for (PlannedTransform const& transform : plan.transforms) transforms.push_back(plan::detail::to_json(transform));
    for (PlannedStrips const& each : plan.strips) strips.push_back(plan::detail::to_json(each));
    Json::Object result{{"format", plan::detail::plan_format},
                        {"format_version", plan::detail::plan_format_version},
                        {"key", Json::Object{{"network", plan.key.network},
                                             {"primitives", plan.key.primitives},
                                             {"version", plan.key.version},
                                             {"arch", plan.key.arch},
                                             {"cpu", plan.key.cpu}}},
                        {"cost_model", plan.cost_model},
                        {"solver", plan.solver},
                        {"totals", Json::Object{{"seconds", plan.total_seconds},
                                                {"optimal", plan.optimal},
                                                {"bound_seconds", plan.bound_seconds},
                                                {"predict_seconds", plan.predict_seconds},
                                                {"solve_seconds", plan.solve_seconds}}},
                        {"layers", std::move(layers)},
                        {"transforms", std::move(transforms)},
                        {"strips", std::move(strips)}};
    if (plan.images_apart) result.emplace_back("images_apart", true);
    return result;
}

/// Writes a plan as JSON, as write_file does: whole or not at all. Throws error, naming the file, when it cannot be
/// written or the plan has what JSON cannot say: seconds that are not finite, a name that is not UTF-8.
inline void write_plan(std::string const& path, Plan const& plan) {
    std::string text;
    try {
        text = to_string(to_json(plan), 2) + '\n';
    } catch (error const& reason) {
        fail(path, ": cannot write the plan: ", reason.what());
    }
    write_file(path, text);
}

/// Reads a plan from a JSON text; `name` is what errors call it. Throws error, naming it and the place in it, when the
/// text is not JSON, something is missing, of another type or impossible, or the format is of another version. Whether
/// the plan fits a network and this machine is for the Engine to say.
[[nodiscard]] inline Plan parse_plan(std::string const& name, std::string_view text) {
    const JsonCursor root = parse_json(name, text);
    const JsonCursor format = root["format"], format_version = root["format_version"];
    if (format.string() != plan::detail::plan_format) {
        format.fail("expected \"", plan::detail::plan_format, "\", not \"", format.string(), '"');
    }
    if (format_version.integer() != plan::detail::plan_format_version) {
        format_version.fail("this version of the library reads format version ", plan::detail::plan_format_version,
                            ", not ", format_version.integer());
    }
    const JsonCursor key = root["key"], totals = root["totals"];
    Plan plan;
    plan.key = {key["network"].string(), key["primitives"].string(), key["version"].string(), key["arch"].string(),
                key["cpu"].string()};
    plan.cost_model = root["cost_model"].string();
    plan.solver = root["solver"].string();
    if (const auto apart = root.find("images_apart")) plan.images_apart = apart->boolean();
    plan.total_seconds = plan::detail::read_seconds(totals["seconds"]);
    plan.optimal = totals["optimal"].boolean();
    plan.bound_seconds = plan::detail::read_seconds(totals["bound_seconds"]);
    plan.predict_seconds = plan::detail::read_seconds(totals["predict_seconds"]);
    plan.solve_seconds = plan::detail::read_seconds(totals["solve_seconds"]);
    for (JsonCursor const& layer : root["layers"].elements()) {
        plan.layers.push_back(plan::detail::read_planned_layer(layer));
    }
    for (JsonCursor const& transform : root["transforms"].elements()) {
        plan.transforms.push_back(plan::detail::read_planned_transform(transform));
    }
    for (JsonCursor const& strips : root["strips"].elements()) {
        plan.strips.push_back(plan::detail::read_planned_strips(strips));
    }
    return plan;
}

/// Reads a plan that write_plan wrote. Throws error as read_file and parse_plan do.
[[nodiscard]] inline Plan read_plan(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_plan(path, file.text());
}

}  // namespace primsel::inline PRIMSEL_ABI
