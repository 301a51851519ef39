#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/json.hpp>
#include <primsel/search/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// How many letters must change, come or go (Levenshtein 1966).
[[nodiscard]] inline std::size_t letters_apart(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t same = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = std::exchange(row[j + 1], std::min({same, row[j] + 1, row[j + 1] + 1}));
        }
    }
    return row[b.size()];
}
/// "did you mean X?", the nearest of some names.
[[nodiscard]] inline std::string nearest_of(std::string_view word, std::initializer_list<std::string_view> names) {
    const std::string_view short_word = word.substr(0, 64);
    const auto nearest =
        std::ranges::min(names, {}, [&](std::string_view name) { return letters_apart(short_word, name); });
    return join("did you mean ", nearest, '?');
}

/// Reads a sweep from a document; what is not understood is refused with the way to it.
class SweepReader {
public:
    [[nodiscard]] static Sweep read(JsonCursor const& file) {
        check_keys(file, {"program", "method", "metric", "metrics", "constraints", "parameters", "budget",
                          "early_terminate", "seed"});
        Sweep sweep{.space = Space(parameters(file["parameters"]))};
        if (const auto program = file.find("program")) sweep.program = program->string();
        if (const auto method = file.find("method")) sweep.method = method_of(*method);
        if (const auto metric = file.find("metric")) sweep.goals.push_back(goal(*metric));
        if (const auto metrics = file.find("metrics")) {
            for (JsonCursor const& metric : metrics->elements()) sweep.goals.push_back(goal(metric));
        }
        if (sweep.goals.empty() || sweep.goals.size() > 2)
            file.fail("needs one metric or two, not ", sweep.goals.size());
        if (const auto bounds = file.find("constraints")) {
            for (JsonCursor const& each : bounds->elements()) sweep.bounds.push_back(bound(each));
        }
        if (const auto budget = file.find("budget")) read_budget(*budget, sweep);
        if (const auto early = file.find("early_terminate")) sweep.early_terminate = halving(*early);
        if (const auto seed = file.find("seed")) sweep.seed = static_cast<std::uint64_t>(seed->integer(0));
        return sweep;
    }

private:
    static void check_keys(JsonCursor const& object, std::initializer_list<std::string_view> keys) {
        for (JsonCursor::Member const& member : object.members()) {
            if (std::ranges::find(keys, member.key) != keys.end()) continue;
            member.value.fail("unknown key; ", nearest_of(member.key, keys));
        }
    }
    [[noreturn]] static void fail_word(JsonCursor const& at, std::initializer_list<std::string_view> words) {
        at.fail("cannot be \"", at.string(), "\"; ", nearest_of(at.string(), words));
    }
    [[nodiscard]] static SweepMethod method_of(JsonCursor const& at) {
        if (at.string() == "grid") return SweepMethod::grid;
        if (at.string() == "random") return SweepMethod::random;
        if (at.string() == "bayes") return SweepMethod::bayes;
        fail_word(at, {"grid", "random", "bayes"});
    }
    [[nodiscard]] static Goal goal(JsonCursor const& at) {
        check_keys(at, {"name", "goal"});
        Goal goal{.metric = at["name"].string()};
        if (const auto direction = at.find("goal")) {
            goal.maximize = direction->string() == "maximize";
            if (!goal.maximize && direction->string() != "minimize") fail_word(*direction, {"minimize", "maximize"});
        }
        return goal;
    }
    [[nodiscard]] static Bound bound(JsonCursor const& at) {
        check_keys(at, {"name", "at_least", "at_most"});
        Bound bound{.metric = at["name"].string()};
        if (const auto least = at.find("at_least")) bound.at_least = least->number();
        if (const auto most = at.find("at_most")) bound.at_most = most->number();
        if (!std::isfinite(bound.at_least) && !std::isfinite(bound.at_most)) at.fail("needs at_least or at_most");
        return bound;
    }
    static void read_budget(JsonCursor const& at, Sweep& sweep) {
        check_keys(at, {"trials", "seconds"});
        const auto trials = at.find("trials"), seconds = at.find("seconds");
        if (!trials && !seconds) at.fail("needs trials or seconds");
        sweep.trials = trials ? static_cast<std::size_t>(trials->integer(1)) : std::numeric_limits<std::size_t>::max();
        if (seconds) sweep.seconds = seconds->number();
        if (!(sweep.seconds > 0)) seconds->fail("expected more than 0");
    }
    [[nodiscard]] static HalvingOptions halving(JsonCursor const& at) {
        check_keys(at, {"type", "min_iter", "eta"});
        if (const auto type = at.find("type")) {
            if (type->string() != "successive_halving") fail_word(*type, {"successive_halving"});
        }
        HalvingOptions options;
        if (const auto least = at.find("min_iter")) {
            options.least_steps = static_cast<std::size_t>(least->integer(1, 1'000'000));
        }
        if (const auto eta = at.find("eta")) options.factor = static_cast<std::size_t>(eta->integer(2, 1'000));
        return options;
    }

    [[nodiscard]] static Value value(JsonCursor const& at) {
        if (const auto* integer = at.value().get<std::int64_t>()) return *integer;
        if (const auto* boolean = at.value().get<bool>()) return std::string(*boolean ? "true" : "false");
        if (at.value().get<double>() != nullptr) return at.number();
        return at.string();
    }
    [[nodiscard]] static std::vector<Parameter> parameters(JsonCursor const& at) {
        std::vector<Parameter> parameters;
        for (JsonCursor::Member const& member : at.members()) {
            // Parameters name themselves in their errors; the way to them is put before.
            try {
                parameters.push_back(parameter(std::string(member.key), member.value));
            } catch (error const& refused) {
                const std::string_view what = refused.what();
                if (!what.starts_with("parameter ")) throw;
                member.value.fail(what);
            }
        }
        if (parameters.empty()) at.fail("has no parameters");
        return parameters;
    }
    [[nodiscard]] static Parameter parameter(std::string name, JsonCursor const& at) {
        check_keys(at, {"min", "max", "values", "value", "distribution"});
        const auto min = at.find("min"), max = at.find("max"), values = at.find("values"), one = at.find("value");
        const int kinds = (min || max ? 1 : 0) + (values ? 1 : 0) + (one ? 1 : 0);
        if (kinds != 1) at.fail("needs one of: min and max, values, value");
        const auto distribution = at.find("distribution");
        if (distribution && !min) distribution->fail("goes with min and max");
        if (one) return Parameter::constant(std::move(name), value(*one));
        if (values) {
            std::vector<Value> all;
            for (JsonCursor const& each : values->elements()) all.push_back(value(each));
            return Parameter::values(std::move(name), std::move(all));
        }
        const JsonCursor low = at["min"], high = at["max"];
        // Between integers lie integers, unless the file says otherwise.
        bool integers = low.value().get<std::int64_t>() != nullptr && high.value().get<std::int64_t>() != nullptr;
        Spacing spacing = Spacing::linear;
        if (distribution) {
            std::string_view kind = distribution->string();
            if (kind == "log_uniform_values" || kind == "int_log_uniform")
                spacing = Spacing::logarithmic;
            else if (kind != "uniform" && kind != "int_uniform")
                fail_word(*distribution, {"uniform", "log_uniform_values", "int_uniform", "int_log_uniform"});
            integers = kind.starts_with("int_");
        }
        if (integers) return Parameter::integer(std::move(name), low.integer(), high.integer(), spacing);
        return Parameter::real(std::move(name), low.number(), high.number(), spacing);
    }
};

}  // namespace detail

/// A sweep from JSON; `name` is what errors call it. The keys are those of the published format: program (ignored),
/// method (grid, random, bayes), metric {name, goal} or metrics (two), parameters {name: {min, max, distribution} |
/// {values} | {value}}; and constraints [{name, at_least, at_most}], budget {trials, seconds}, early_terminate {type,
/// min_iter, eta}, seed. Throws error with the way to whatever is not understood, and of an unknown key the nearest.
[[nodiscard]] inline Sweep parse_sweep(std::string_view name, std::string_view text) {
    return detail::SweepReader::read(parse_json(std::string(name), text, {.depth = 16, .values = 100'000}));
}

}  // namespace primsel::inline PRIMSEL_ABI
