#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/json.hpp>
#include <primsel/io/line_file.hpp>
#include <primsel/search/sweep.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

namespace detail {

[[nodiscard]] inline Json json_of(Value const& value) {
    return core::visit([](auto const& held) { return Json(held); }, value);
}
[[nodiscard]] inline Json json_of(Space const& space, SearchPoint const& point) {
    Json::Object parameters;
    for (std::size_t i = 0; i < point.values.size(); ++i) {
        parameters.emplace_back(space.parameters().at(i).name(), json_of(point.values[i]));
    }
    return parameters;
}
[[nodiscard]] inline Json json_of(std::map<std::size_t, double> const& steps) {
    Json::Object object;
    for (auto const& [step, value] : steps) object.emplace_back(std::to_string(step), value);
    return object;
}

[[nodiscard]] inline Json json_of(TrialMeasurement const& measured) {
    if (!measured.failure.empty()) return Json::Object{{"failure", measured.failure}, {"machine", measured.machine}};
    Json::Object layers;
    for (auto const& [name, milliseconds] : measured.layers) layers.emplace_back(name, milliseconds);
    return Json::Object{{"latency", measured.milliseconds},
                        {"predicted", measured.predicted},
                        {"throughput", measured.images_per_second},
                        {"machine", measured.machine},
                        {"layers", std::move(layers)}};
}
[[nodiscard]] inline TrialMeasurement measurement_of(JsonCursor const& at) {
    TrialMeasurement measured;
    if (const auto machine = at.find("machine")) measured.machine = machine->string();
    if (const auto failure = at.find("failure")) {
        measured.failure = failure->string();
        return measured;
    }
    measured.milliseconds = at["latency"].number();
    measured.predicted = at["predicted"].number();
    measured.images_per_second = at["throughput"].number();
    for (JsonCursor::Member const& layer : at["layers"].members()) {
        measured.layers.emplace_back(std::string(layer.key), layer.value.number());
    }
    return measured;
}

[[nodiscard]] inline SearchPoint point_of(JsonCursor const& values, Space const& space) {
    SearchPoint point;
    for (primsel::search::Parameter const& parameter : space.parameters()) {
        const JsonCursor value = values[parameter.name()];
        Value read;
        if (value.value().get<std::string>() != nullptr) {
            read = value.string();
        } else if (const auto* integer = value.value().get<std::int64_t>()) {
            read = *integer;
        } else {
            read = value.number();
        }
        if (!parameter.has(read)) value.fail("is no value of this parameter");
        point.values.push_back(std::move(read));
    }
    if (values.members().size() != space.parameters().size()) values.fail("has parameters that the sweep has not");
    return point;
}
[[nodiscard]] inline std::map<std::size_t, double> steps_of(JsonCursor const& object) {
    std::map<std::size_t, double> steps;
    for (JsonCursor::Member const& member : object.members()) {
        std::size_t step = 0;
        if (!read_number(member.key, step)) member.value.fail("is behind no number of steps");
        steps[step] = member.value.number();
    }
    return steps;
}
inline constexpr JsonLimits trial_limits{.depth = 8, .values = 10'000};

}  // namespace detail

/// A trial as one line of JSON, without its end. A metric that is not finite is null.
[[nodiscard]] inline std::string line_of(Space const& space, Trial const& trial) {
    Json::Object metrics;
    for (auto const& [name, value] : trial.metrics) {
        metrics.emplace_back(name, is_finite(value) ? Json(value) : Json());
    }
    Json::Object line{{"trial", trial.number},    {"parameters", detail::json_of(space, trial.point)},
                      {"seed", trial.seed},       {"metrics", std::move(metrics)},
                      {"seconds", trial.seconds}, {"plan", trial.plan},
                      {"version", trial.version}};
    if (!trial.machine.empty()) line.emplace_back("machine", trial.machine);
    if (!trial.rungs.empty()) line.emplace_back("rungs", detail::json_of(trial.rungs));
    if (trial.stopped) line.emplace_back("stopped", true);
    if (trial.measured) line.emplace_back("measured", detail::json_of(*trial.measured));
    if (!trial.failure.empty()) line.emplace_back("failure", trial.failure);
    return to_string(Json(std::move(line)), 0, JsonStrings::any);
}
/// Parses the line that line_of writes; errors call it `name`. Throws error for anything else, and for a point of
/// another space.
[[nodiscard]] inline Trial parse_trial(std::string_view name, std::string_view line, Space const& space) {
    const JsonCursor at = parse_json(std::string(name), line, detail::trial_limits);
    Trial trial;
    trial.number = static_cast<std::uint64_t>(at["trial"].integer(0));
    trial.point = detail::point_of(at["parameters"], space);
    for (JsonCursor::Member const& metric : at["metrics"].members()) {
        const bool none = metric.value.is_null();
        trial.metrics[std::string(metric.key)] =
            none ? std::numeric_limits<double>::quiet_NaN() : metric.value.number();
    }
    trial.seed = static_cast<std::uint64_t>(at["seed"].integer(0));
    trial.seconds = at["seconds"].number();
    trial.plan = at["plan"].string();
    trial.version = at["version"].string();
    if (const auto machine = at.find("machine")) trial.machine = machine->string();
    if (const auto rungs = at.find("rungs")) trial.rungs = detail::steps_of(*rungs);
    if (const auto stopped = at.find("stopped")) trial.stopped = stopped->boolean();
    if (const auto measured = at.find("measured")) trial.measured = detail::measurement_of(*measured);
    if (const auto failure = at.find("failure")) trial.failure = failure->string();
    return trial;
}

/// A task as a line of JSON, and back. parse_task throws error as parse_trial does.
[[nodiscard]] inline std::string line_of(Space const& space, TrialTask const& task) {
    return to_string(Json(Json::Object{{"trial", task.number},
                                       {"parameters", detail::json_of(space, task.point)},
                                       {"seed", task.seed},
                                       {"limits", detail::json_of(task.limits)}}),
                     0, JsonStrings::any);
}
[[nodiscard]] inline TrialTask parse_task(std::string_view name, std::string_view line, Space const& space) {
    const JsonCursor at = parse_json(std::string(name), line, detail::trial_limits);
    return {.number = static_cast<std::uint64_t>(at["trial"].integer(0)),
            .point = detail::point_of(at["parameters"], space),
            .seed = static_cast<std::uint64_t>(at["seed"].integer(0)),
            .limits = detail::steps_of(at["limits"])};
}

/// The first line of a log: the name and text of the sweep's file, and facts that must be equal for trials to be
/// comparable.
struct TrialLogHeader {
    std::string file{}, sweep{};
    std::map<std::string, std::string> about{};
    friend bool operator==(TrialLogHeader const&, TrialLogHeader const&) = default;
};
[[nodiscard]] inline std::string line_of(TrialLogHeader const& header) {
    Json::Object about;
    for (auto const& [key, value] : header.about) about.emplace_back(key, value);
    return to_string(
        Json(Json::Object{{"file", header.file}, {"sweep", header.sweep}, {"about", Json(std::move(about))}}), 0,
        JsonStrings::any);
}
/// Reads the first line of a log; nothing if it is a trial. Throws error if it is neither.
[[nodiscard]] inline std::optional<TrialLogHeader> parse_log_header(std::string_view name, std::string_view line) {
    const JsonCursor at = parse_json(std::string(name), line, detail::trial_limits);
    if (at.find("trial")) return std::nullopt;
    TrialLogHeader header{.file = at["file"].string(), .sweep = at["sweep"].string()};
    for (JsonCursor::Member const& fact : at["about"].members()) {
        header.about.emplace(std::string(fact.key), fact.value.string());
    }
    return header;
}

namespace detail {

/// Calls each(name in errors, line, number) for each line of a log.
template <class Each>
void for_lines(std::string const& path, std::string_view whole, Each const& each) {
    for (std::size_t number = 1; !whole.empty(); ++number) {
        const std::size_t end = whole.find('\n');
        each(join(path, ": line ", number), whole.substr(0, end), number);
        whole.remove_prefix(end + 1);
    }
}

/// The trials of whole lines. Throws error, naming the line, if one is no trial of the space, or two have the same
/// number.
[[nodiscard]] inline std::vector<Trial> trials_of(std::string const& path, std::string_view whole, Space const& space) {
    std::vector<Trial> trials;
    std::set<std::uint64_t> numbers;
    for_lines(path, whole, [&](std::string const& name, std::string_view line, std::size_t number) {
        if (number == 1 && parse_log_header(name, line)) return;
        trials.push_back(parse_trial(name, line, space));
        if (!numbers.insert(trials.back().number).second) fail(name, ": a second trial ", trials.back().number);
    });
    return trials;
}

}  // namespace detail

/// Whether a text without a whole line is the beginning of a log, as a killed writer leaves it.
[[nodiscard]] inline bool is_torn_log(std::string_view text) {
    constexpr std::string_view header = R"({"file":)", trial = R"({"trial":)";
    const auto begins = [&](std::string_view line) { return text.starts_with(line) || line.starts_with(text); };
    return begins(header) || begins(trial);
}

/// Reads the first line of a log. Throws error if there is no whole line, or it is no header.
[[nodiscard]] inline TrialLogHeader read_log_header(std::string const& path) {
    const SharedBytes file = read_file(path);
    const std::size_t end = file.text().find('\n');
    if (end == std::string_view::npos) fail(path, ": has no whole line");
    const auto header = parse_log_header(path + ": line 1", file.text().substr(0, end));
    if (!header) fail(path, ": line 1: does not say of which sweep the trials are");
    return *header;
}
/// The trials of a log that may still be written to; an incomplete last line is ignored. Throws error as TrialLog does.
[[nodiscard]] inline std::vector<Trial> read_trials(std::string const& path, Space const& space) {
    const SharedBytes file = read_file(path);
    return detail::trials_of(path, file.text().substr(0, file.text().rfind('\n') + 1), space);
}

/// The log of a sweep's trials, one line each, written as they finish. A killed sweep continues from it.
class TrialLog {
public:
    /// Opens or creates the file. An incomplete last line is dropped, and warning() says so. Throws error, naming the
    /// line, if another is no trial of the space or repeats a number; and if the log's header has other facts than
    /// `header`.
    TrialLog(std::string const& path, Space space, TrialLogHeader const& header = {})
        : file_(path), space_(std::move(space)) {
        const std::string_view text = file_.text();
        const std::string_view whole = text.substr(0, file_.whole());
        if (whole.empty() && !is_torn_log(text)) fail(path, ": is no log of trials");
        if (whole.size() < text.size()) {
            warning_ = join(path, ": the last line was cut short and is dropped; its trial is done again");
            file_.cut(whole.size());
        }
        trials_ = detail::trials_of(path, whole, space_);
        if (header == TrialLogHeader{}) return;
        if (whole.empty()) {
            file_.append(line_of(header) + '\n');
        } else if (const auto there = parse_log_header(path, whole.substr(0, whole.find('\n')))) {
            for (auto const& [key, value] : header.about) {
                const auto found = there->about.find(key);
                const std::string other = found == there->about.end() ? "not known" : found->second;
                if (other != value) fail(path, ": cannot go on with it: its ", key, " is ", other, ", here ", value);
            }
        }
    }

    /// The trials of the file, in its order, and those added.
    [[nodiscard]] std::vector<Trial> const& trials() const { return trials_; }
    /// A warning about an incomplete last line; else empty.
    [[nodiscard]] std::string const& warning() const { return warning_; }
    /// Appends a trial. Throws error if the file cannot be written.
    void add(Trial trial) {
        file_.append(line_of(space_, trial) + '\n');
        trials_.push_back(std::move(trial));
    }

private:
    LineFile file_;
    Space space_;
    std::vector<Trial> trials_;
    std::string warning_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
