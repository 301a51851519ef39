#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/io/settings.hpp>
#include <primsel/search/sweep.hpp>

#include <algorithm>
#include <cmath>
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
        file.allow({"program", "command", "method", "metric", "metrics", "constraints", "parameters", "budget",
                    "run_cap", "early_terminate", "seed", "options", "name", "description", "project", "entity"});
        Sweep sweep{.space = Space(parameters(file.at("parameters")))};
        if (const auto* program = file.find("program")) sweep.program = program->text();
        if (const auto* command = file.find("command")) sweep.command = texts(*command);
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
        if (const auto* cap = file.find("run_cap")) {
            const auto most = static_cast<std::size_t>(cap->integer(1, std::numeric_limits<std::int64_t>::max()));
            sweep.trials = file.find("budget") == nullptr ? most : std::min(most, sweep.trials);
        }
        if (const auto* early = file.find("early_terminate")) {
            sweep.early_terminate = halving(*early);
            if (sweep.goals.size() != 1) early->fail("goes with one metric, not ", sweep.goals.size());
        }
        for (SweepGoal const& goal : sweep.goals) {
            if (goal.target && sweep.goals.size() != 1) file.fail("'target' goes with one metric, not two");
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
        at.allow({"name", "goal", "target"});
        SweepGoal goal{.metric = at.at("name").text()};
        if (const auto* target = at.find("target")) goal.target = target->number(-largest, largest);
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
    /// Weights & Biases' hyperband stops runs at brackets: min_iter, eta times that, and so on; or max_iter / eta and
    /// so on down, `s` brackets in all. Its rungs are those of successive halving.
    [[nodiscard]] static HalvingOptions halving(Settings const& at) {
        at.allow({"type", "min_iter", "max_iter", "s", "eta", "strict"});
        if (const auto* type = at.find("type")) (void)type->one_of({"hyperband", "successive_halving"});
        HalvingOptions options;
        if (const auto* eta = at.find("eta")) options.factor = static_cast<std::size_t>(eta->integer(2, 1'000));
        const auto *least = at.find("min_iter"), *most = at.find("max_iter"), *brackets = at.find("s");
        if (least != nullptr && most != nullptr) most->fail("'max_iter' and 'min_iter' exclude each other");
        if ((most == nullptr) != (brackets == nullptr)) at.fail("'max_iter' and 's' go together");
        if (least != nullptr) options.least_steps = static_cast<std::size_t>(least->integer(1, 1'000'000));
        if (most != nullptr) {
            options.least_steps = static_cast<std::size_t>(most->integer(1, 1'000'000));
            for (std::int64_t i = brackets->integer(1, 20); i > 0; --i) options.least_steps /= options.factor;
            if (options.least_steps == 0) most->fail("so many brackets begin before the first iteration");
        }
        if (const auto* strict = at.find("strict")) options.strict = strict->one_of({"true", "false"}) == "true";
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
        at.allow({"min", "max", "values", "value", "distribution", "probabilities", "mu", "sigma", "q"});
        const auto *min = at.find("min"), *max = at.find("max"), *values = at.find("values"), *one = at.find("value");
        const bool is_normal = at.find("mu") != nullptr || at.find("sigma") != nullptr;
        const auto* distribution = at.find("distribution");
        std::string kind;
        if (distribution != nullptr) {
            kind = distribution->one_of(
                {"constant", "categorical", "categorical_w_probabilities", "uniform", "q_uniform", "int_uniform",
                 "int_log_uniform", "log_uniform", "log_uniform_values", "q_log_uniform", "q_log_uniform_values",
                 "inv_log_uniform", "inv_log_uniform_values", "normal", "q_normal", "log_normal", "q_log_normal"});
        }
        const bool draws_normal = is_normal || kind.ends_with("normal");
        const int kinds = (min || max ? 1 : 0) + (values ? 1 : 0) + (one ? 1 : 0) + (draws_normal ? 1 : 0);
        if (kinds != 1) at.fail("'", name, "' needs one of: min and max, values, value, mu and sigma");
        if (const auto* likely = at.find("probabilities"); likely != nullptr && values == nullptr) {
            likely->fail("'probabilities' go with values");
        }
        const auto* step = at.find("q");
        if (step != nullptr && !kind.starts_with("q_")) step->fail("'q' goes with a distribution q_...");
        if (one) {
            require(distribution, kind.empty() || kind == "constant", "value");
            return primsel::search::Parameter::constant(std::move(name), value(*one));
        }
        if (values) {
            require(distribution, kind.empty() || kind.starts_with("categorical"), "values");
            return listed(std::move(name), *values, at.find("probabilities"));
        }
        if (draws_normal) {
            require(distribution, kind.empty() || kind.ends_with("normal"), "mu and sigma");
        } else {
            require(distribution, kind.empty() || kind.ends_with("uniform") || kind.ends_with("uniform_values"),
                    "min and max");
        }
        if (kind.starts_with("q_")) {
            primsel::search::Parameter range = ranged(std::move(name), at, kind.substr(2), draws_normal);
            return primsel::search::Parameter::multiples(
                std::move(range), step != nullptr ? step->number(std::numeric_limits<double>::min(), largest) : 1);
        }
        return ranged(std::move(name), at, kind, draws_normal);
    }
    static void require(const Settings* distribution, bool fits, const char* keys) {
        if (!fits) distribution->fail('\'', distribution->text(), "' does not go with ", keys);
    }
    [[nodiscard]] static primsel::search::Parameter listed(std::string name, Settings const& values,
                                                           const Settings* likely) {
        std::vector<Value> all;
        for (Settings const& each : values.elements()) all.push_back(value(each));
        std::vector<double> probabilities;
        if (likely != nullptr) {
            for (Settings const& each : likely->elements()) probabilities.push_back(each.number(0, 1));
            if (probabilities.empty()) likely->fail("there are no probabilities");
        }
        return primsel::search::Parameter::values(std::move(name), std::move(all), std::move(probabilities));
    }
    /// A range by its distribution without the prefix q_; by default a range between integers has integers.
    [[nodiscard]] static primsel::search::Parameter ranged(std::string name, Settings const& at,
                                                           std::string const& kind, bool draws_normal) {
        using primsel::search::Parameter;
        if (draws_normal) {
            const auto *mean = at.find("mu"), *deviation = at.find("sigma");
            return Parameter::normal(std::move(name), mean != nullptr ? mean->number(-largest, largest) : 0,
                                     deviation != nullptr ? deviation->number(0, largest) : 1,
                                     kind == "log_normal" ? Spacing::logarithmic : Spacing::linear);
        }
        Settings const &low = at.at("min"), &high = at.at("max");
        constexpr double exponent = 700;  // of a finite number
        const auto power = [](Settings const& of, double sign) {
            return std::exp(sign * of.number(-exponent, exponent));
        };
        if (kind == "log_uniform")
            return Parameter::real(std::move(name), power(low, 1), power(high, 1), Spacing::logarithmic);
        if (kind == "inv_log_uniform") {
            return Parameter::real(std::move(name), power(high, -1), power(low, -1), Spacing::logarithmic);
        }
        const bool by_default = at.find("distribution") == nullptr;
        if (by_default ? is_integer(low) && is_integer(high) : kind.starts_with("int_")) {
            constexpr std::int64_t most = std::int64_t{1} << 52;
            return Parameter::integer(std::move(name), low.integer(-most, most), high.integer(-most, most),
                                      kind == "int_log_uniform" ? Spacing::logarithmic : Spacing::linear);
        }
        return Parameter::real(std::move(name), low.number(-largest, largest), high.number(-largest, largest),
                               kind.ends_with("log_uniform_values") ? Spacing::logarithmic : Spacing::linear);
    }
};

}  // namespace detail

/// A sweep from a file in JSON or YAML. The keys are those of Weights & Biases (Fay-Hunt 2021, figure 16): program and
/// command, method (grid, random, bayes), metric {name, goal, target}, run_cap, early_terminate {type, min_iter |
/// max_iter and s, eta, strict}, parameters {name: {min, max | mu, sigma | values, probabilities | value, distribution,
/// q}}; and metrics (two), constraints [{name, at_least, at_most}], budget {trials, seconds}, seed, options {name: text
/// | [texts]}. name, description, project and entity are ignored. Throws error, naming the file and the line, for
/// whatever is not understood, with what is nearest.
[[nodiscard]] inline Sweep parse_sweep(Settings const& file) { return detail::SweepReader::read(file); }

}  // namespace primsel::inline PRIMSEL_ABI::search
