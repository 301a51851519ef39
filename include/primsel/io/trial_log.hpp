#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/json.hpp>
#include <primsel/io/line_file.hpp>
#include <primsel/search/sweep.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

[[nodiscard]] inline Json json_of(Value const& value) {
    return std::visit([](auto const& held) { return Json(held); }, value);
}

}  // namespace detail

/// A trial as one line of JSON, without its end. A metric that is not finite is null.
[[nodiscard]] inline std::string line_of(Space const& space, Trial const& trial) {
    Json::Object parameters, metrics;
    for (std::size_t i = 0; i < trial.point.values.size(); ++i) {
        parameters.emplace_back(space.parameters().at(i).name(), detail::json_of(trial.point.values[i]));
    }
    for (auto const& [name, value] : trial.metrics) {
        metrics.emplace_back(name, std::isfinite(value) ? Json(value) : Json());
    }
    Json::Object line{{"trial", trial.number},    {"parameters", std::move(parameters)},
                      {"seed", trial.seed},       {"metrics", std::move(metrics)},
                      {"seconds", trial.seconds}, {"plan", trial.plan},
                      {"version", trial.version}};
    if (!trial.failure.empty()) line.emplace_back("failure", trial.failure);
    return to_string(Json(std::move(line)), 0, JsonStrings::any);
}
/// What line_of wrote; `name` is what errors call it. Throws error for anything else, and a point of another space.
[[nodiscard]] inline Trial parse_trial(std::string_view name, std::string_view line, Space const& space) {
    const JsonCursor at = parse_json(std::string(name), line, {.depth = 8, .values = 10'000});
    Trial trial;
    trial.number = static_cast<std::uint64_t>(at["trial"].integer(0));
    const JsonCursor values = at["parameters"];
    for (Parameter const& parameter : space.parameters()) {
        const JsonCursor value = values[parameter.name()];
        Value read = value.value().get<std::string>() != nullptr ? Value(value.string()) : Value(0.0);
        if (const auto* integer = value.value().get<std::int64_t>()) read = *integer;
        if (read == Value(0.0)) read = value.number();
        if (!parameter.has(read)) value.fail("is no value of this parameter");
        trial.point.values.push_back(std::move(read));
    }
    if (values.members().size() != space.parameters().size()) values.fail("has parameters that the sweep has not");
    for (JsonCursor::Member const& metric : at["metrics"].members()) {
        const bool none = metric.value.is_null();
        trial.metrics[std::string(metric.key)] =
            none ? std::numeric_limits<double>::quiet_NaN() : metric.value.number();
    }
    trial.seed = static_cast<std::uint64_t>(at["seed"].integer(0));
    trial.seconds = at["seconds"].number();
    trial.plan = at["plan"].string();
    trial.version = at["version"].string();
    if (const auto failure = at.find("failure")) trial.failure = failure->string();
    return trial;
}

/// The trials of a sweep, a line each, kept as they come: a sweep that was killed goes on from them.
class TrialLog {
public:
    /// Opens or creates the file. A last line that was cut short is dropped, and warning() says so. Throws error,
    /// naming the line, for any other that is no trial of the space, or a second one of its number.
    TrialLog(std::string const& path, Space space) : file_(path), space_(std::move(space)) {
        const std::string_view text = file_.text();
        const std::size_t whole = file_.whole();
        if (whole < text.size()) {
            warning_ = join(path, ": the last line was cut short and is dropped; its trial is done again");
            file_.cut(whole);
        }
        std::size_t number = 0;
        for (std::string_view rest = text.substr(0, whole); !rest.empty();) {
            const std::size_t end = rest.find('\n');
            Trial trial = parse_trial(join(path, ": line ", ++number), rest.substr(0, end), space_);
            for (Trial const& before : trials_) {
                if (before.number == trial.number) fail(path, ": line ", number, ": a second trial ", trial.number);
            }
            trials_.push_back(std::move(trial));
            rest.remove_prefix(end + 1);
        }
    }

    /// Those of the file, in its order, and those added.
    [[nodiscard]] std::vector<Trial> const& trials() const { return trials_; }
    /// Empty where there is nothing to say.
    [[nodiscard]] std::string const& warning() const { return warning_; }
    /// Throws error where it cannot be written.
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

}  // namespace primsel::inline PRIMSEL_ABI
