#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/io/settings.hpp>
#include <primsel/search/sweep.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

namespace detail {

/// Reads a sweep. Throws error with the line for what is not understood.
class SweepReader {
public:
    [[nodiscard]] static Sweep read(Settings const& file) {
        file.allow({"program", "method", "metric", "metrics", "constraints", "parameters", "budget", "early_terminate",
                    "seed", "options"});
        Sweep sweep{.space = Space(parameters(file.at("parameters")))};
        if (const auto* program = file.find("program")) sweep.program = program->text();
        if (const auto* method = file.find("method")) sweep.method = method_of(*method);
        if (const auto* metric = file.find("metric")) sweep.goals.push_back(goal(*metric));
        if (const auto* metrics = file.find("metrics")) {
            for (Settings const& metric : metrics->elements()) sweep.goals.push_back(goal(metric));
        }
        if (sweep.goals.empty() || sweep.goals.size() > 2) {
            file.fail("needs one metric or two, not ", sweep.goals.size());
        }
        if (const auto* bounds = file.find("constraints")) {
            for (Settings const& each : bounds->elements()) sweep.bounds.push_back(bound(each));
        }
        if (const auto* budget = file.find("budget")) read_budget(*budget, sweep);
        if (const auto* early = file.find("early_terminate")) {
            sweep.early_terminate = halving(*early);
            if (sweep.goals.size() != 1) early->fail("goes with one metric, not ", sweep.goals.size());
        }
        if (const auto* seed = file.find("seed")) {
            sweep.seed = static_cast<std::uint64_t>(seed->integer(0, std::numeric_limits<std::int64_t>::max()));
        }
        if (const auto* options = file.find("options")) {
            for (auto const& [name, value] : options->members()) sweep.options.emplace_back(name, texts(value));
        }
        return sweep;
    }

private:
    static constexpr double largest = 1e300;

    [[nodiscard]] static SweepMethod method_of(Settings const& at) {
        std::string const& method = at.one_of({"grid", "random", "bayes"});
        if (method == "grid") return SweepMethod::grid;
        return method == "random" ? SweepMethod::random : SweepMethod::bayes;
    }
    [[nodiscard]] static SweepGoal goal(Settings const& at) {
        at.allow({"name", "goal"});
        SweepGoal goal{.metric = at.at("name").text()};
        if (const auto* direction = at.find("goal")) {
            goal.maximize = direction->one_of({"minimize", "maximize"}) == "maximize";
        }
        return goal;
    }
    [[nodiscard]] static MetricBound bound(Settings const& at) {
        at.allow({"name", "at_least", "at_most"});
        MetricBound bound{.metric = at.at("name").text()};
        if (const auto* least = at.find("at_least")) bound.at_least = least->number(-largest, largest);
        if (const auto* most = at.find("at_most")) bound.at_most = most->number(-largest, largest);
        if (!is_finite(bound.at_least) && !is_finite(bound.at_most)) at.fail("needs at_least or at_most");
        return bound;
    }
    static void read_budget(Settings const& at, Sweep& sweep) {
        at.allow({"trials", "seconds"});
        const auto *trials = at.find("trials"), *seconds = at.find("seconds");
        if (trials == nullptr && seconds == nullptr) at.fail("needs trials or seconds");
        sweep.trials = std::numeric_limits<std::size_t>::max();
        if (trials != nullptr) {
            sweep.trials = static_cast<std::size_t>(trials->integer(1, std::numeric_limits<std::int64_t>::max()));
        }
        if (seconds != nullptr) sweep.seconds = seconds->number(std::numeric_limits<double>::min(), largest);
    }
    [[nodiscard]] static HalvingOptions halving(Settings const& at) {
        at.allow({"type", "min_iter", "eta"});
        if (const auto* type = at.find("type")) (void)type->one_of({"successive_halving"});
        HalvingOptions options;
        if (const auto* least = at.find("min_iter")) {
            options.least_steps = static_cast<std::size_t>(least->integer(1, 1'000'000));
        }
        if (const auto* eta = at.find("eta")) options.factor = static_cast<std::size_t>(eta->integer(2, 1'000));
        return options;
    }

    [[nodiscard]] static std::vector<std::string> texts(Settings const& at) {
        if (at.kind() != Settings::Kind::list) return {at.text()};
        std::vector<std::string> all;
        for (Settings const& each : at.elements()) all.push_back(each.text());
        return all;
    }
    [[nodiscard]] static bool is_integer(Settings const& at) {
        std::int64_t integer = 0;
        return at.is_number(integer);
    }
    /// The value as an integer or a real number if it can be read as one, else as text.
    [[nodiscard]] static Value value(Settings const& at) {
        std::int64_t integer = 0;
        if (at.is_number(integer)) return integer;
        double real = 0;
        if (at.is_number(real) && is_finite(real)) return real;
        return at.text();
    }
    [[nodiscard]] static std::vector<primsel::search::Parameter> parameters(Settings const& at) {
        std::vector<primsel::search::Parameter> parameters;
        for (auto const& [name, settings] : at.members()) {
            // The errors of parameters lack their place in the file, which is added.
            try {
                parameters.push_back(parameter(name, settings));
            } catch (error const& refused) {
                const std::string_view what = refused.what();
                if (!what.starts_with("parameter ") && !what.starts_with("a parameter ")) throw;
                settings.fail(what);
            }
        }
        if (parameters.empty()) at.fail("there are no parameters");
        return parameters;
    }
    [[nodiscard]] static primsel::search::Parameter parameter(std::string name, Settings const& at) {
        at.allow({"min", "max", "values", "value", "distribution"});
        const auto *min = at.find("min"), *max = at.find("max"), *values = at.find("values"), *one = at.find("value");
        const int kinds = (min || max ? 1 : 0) + (values ? 1 : 0) + (one ? 1 : 0);
        if (kinds != 1) at.fail("'", name, "' needs one of: min and max, values, value");
        const auto* distribution = at.find("distribution");
        if (distribution && !min) distribution->fail("'distribution' goes with min and max");
        if (one) return primsel::search::Parameter::constant(std::move(name), value(*one));
        if (values) {
            std::vector<Value> all;
            for (Settings const& each : values->elements()) all.push_back(value(each));
            return primsel::search::Parameter::values(std::move(name), std::move(all));
        }
        Settings const &low = at.at("min"), &high = at.at("max");
        // A range between integers has integers, unless the distribution says otherwise.
        bool integers = is_integer(low) && is_integer(high);
        Spacing spacing = Spacing::linear;
        if (distribution) {
            std::string const& kind =
                distribution->one_of({"uniform", "log_uniform_values", "int_uniform", "int_log_uniform"});
            if (kind == "log_uniform_values" || kind == "int_log_uniform") spacing = Spacing::logarithmic;
            integers = kind.starts_with("int_");
        }
        if (integers) {
            constexpr std::int64_t most = std::int64_t{1} << 52;
            return primsel::search::Parameter::integer(std::move(name), low.integer(-most, most),
                                                       high.integer(-most, most), spacing);
        }
        return primsel::search::Parameter::real(std::move(name), low.number(-largest, largest),
                                                high.number(-largest, largest), spacing);
    }
};

}  // namespace detail

/// A sweep from a file in JSON or YAML. The keys are those of the published format (Fay and Hunt 2021, figure 16):
/// program (ignored), method (grid, random, bayes), metric {name, goal} or metrics (two), parameters {name: {min, max,
/// distribution} | {values} | {value}}; and constraints [{name, at_least, at_most}], budget {trials, seconds},
/// early_terminate {type, min_iter, eta}, seed, options {name: text | [texts]}. Throws error, naming the file and the
/// line, for whatever is not understood, with what is nearest.
[[nodiscard]] inline Sweep parse_sweep(Settings const& file) { return detail::SweepReader::read(file); }

}  // namespace primsel::inline PRIMSEL_ABI::search
