// The trials of a sweep that a program does, and measurements by a command.
#include "program_trials.hpp"
#include "program.hpp"
#include "text.hpp"

#include <primsel/core/finite.hpp>
#include <primsel/io/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <variant>

namespace cli {
namespace {

constexpr ps::JsonLimits output_limits{.depth = 8, .values = 10'000};

/// The object of a line of output; nothing for any other line.
std::optional<ps::Json> object_of(std::string_view line) {
    if (!line.starts_with('{')) return std::nullopt;
    try {
        ps::Json json = ps::parse_json("output", line, output_limits).value();
        if (json.get<ps::Json::Object>() != nullptr) return json;
    } catch (ps::error const&) {  // a line for people
    }
    return std::nullopt;
}
std::optional<double> json_number(ps::Json const& value) {
    if (const auto* integer = value.get<std::int64_t>()) return static_cast<double>(*integer);
    if (const auto* real = value.get<double>()) return *real;
    return std::nullopt;
}

void replace_macro(std::vector<std::string>& words, std::string const& macro, std::vector<std::string> const& by) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] != macro) continue;
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), by.begin(), by.end());
        i += by.size();
        --i;
    }
}

}  // namespace

ProgramTrials::ProgramTrials(SweepCommand const& options, SweepFile const& file)
    : options_(options), space_(file.sweep.space), program_(file.sweep.program), command_(file.sweep.command) {
    if (!options_.out.empty()) ps::fail("--out: ", program_, " writes networks itself, see --measure");
    if (command_.empty()) command_ = {"${env}", "${interpreter}", "${program}", "${args}"};
    // A program that is no script in Python runs by itself.
    if (file.sweep.command.empty() && !program_.ends_with(".py")) command_ = {"${program}", "${args}"};
    const std::vector<std::string> all{"${env}",  "${interpreter}",     "${program}",
                                       "${args}", "${args_no_hyphens}", "${args_json}"};
    for (std::string const& word : command_) {
        if (!word.starts_with("${") || std::ranges::find(all, word) != all.end()) continue;
        ps::fail(options_.file, ": command: there is no macro ", word, "; ", did_you_mean(word, all), "there are ",
                 list_of_names(all));
    }
    for (ps::search::SweepGoal const& goal : file.sweep.goals) metrics_.push_back(goal.metric);
    for (ps::search::MetricBound const& bound : file.sweep.bounds) metrics_.push_back(bound.metric);
}

std::vector<std::string> ProgramTrials::words(ps::search::SearchPoint const& point) const {
    std::vector<std::string> arguments, plain;
    ps::Json::Object json;
    for (std::size_t i = 0; i < point.values.size(); ++i) {
        std::string const& name = space_.parameters()[i].name();
        plain.push_back(ps::join(name, '=', ps::search::text_of(point.values[i])));
        arguments.push_back("--" + plain.back());
        json.emplace_back(name, std::visit([](auto const& held) { return ps::Json(held); }, point.values[i]));
    }
    std::vector<std::string> words = command_;
    // Values are not searched for macros: they come last.
    replace_macro(words, "${env}", {"/usr/bin/env"});
    replace_macro(words, "${interpreter}", {"python3"});
    replace_macro(words, "${program}", {program_});
    replace_macro(words, "${args}", arguments);
    replace_macro(words, "${args_no_hyphens}", plain);
    replace_macro(words, "${args_json}", {ps::to_string(ps::Json(std::move(json)), 0, ps::JsonStrings::any)});
    return words;
}

void ProgramTrials::operator()(ps::search::Trial& trial, GoesOn const& goes_on) const {
    trial.machine = machine_name();
    std::map<std::string, std::string> environment{{"PRIMSEL_TRIAL", std::to_string(trial.number)},
                                                   {"PRIMSEL_SEED", std::to_string(trial.seed)}};
    if (!options_.measure.empty()) {
        std::filesystem::create_directories(options_.measure);
        const std::string file = network_file(options_.measure, trial.number);
        std::filesystem::remove(file);  // of an earlier sweep
        environment.emplace("PRIMSEL_MODEL", file);
    }
    std::size_t steps = 0;
    bool numbered = false;  // by the program
    run_program(words(trial.point), environment, [&](std::string_view line) {
        const std::optional<ps::Json> report = object_of(line);
        if (!report) return true;
        bool is_step = !numbered;
        std::size_t number_of_step = steps + 1;
        for (auto const& [name, value] : *report->get<ps::Json::Object>()) {
            const std::optional<double> number = json_number(value);
            if (number && (name == "epoch" || name == "step") && *number >= 0 && *number <= 1e9) {
                number_of_step = static_cast<std::size_t>(*number);
                is_step = numbered = true;
            } else if (number) {
                trial.metrics[name] = *number;
            }
        }
        const auto known = [&](std::string const& metric) { return trial.metrics.contains(metric); };
        if (!is_step || !std::ranges::all_of(metrics_, known)) return true;
        steps = number_of_step;
        return goes_on(steps, trial.metrics);
    });
    for (std::string const& metric : metrics_) {
        if (trial.metrics.contains(metric)) continue;
        ps::fail(program_, ": no line of its output is JSON with the number ", metric);
    }
    if (options_.measure.empty() || trial.stopped) return;
    if (!std::filesystem::exists(environment.at("PRIMSEL_MODEL"))) {
        ps::fail(program_, ": did not write the network to be measured, ", environment.at("PRIMSEL_MODEL"));
    }
}

std::map<std::string, std::string> ProgramTrials::about() const {
    std::string command;
    for (std::string const& word : command_) command += (command.empty() ? "" : " ") + word;
    std::map<std::string, std::string> about{{"program", program_}, {"command", command}};
    if (!options_.measure.empty()) about.emplace("measured", "yes");
    return about;
}

ps::search::TrialMeasurement measure_by_command(std::string const& command, std::string const& file) {
    std::optional<ps::Json> last;
    run_program(shell_command(command, file), {{"PRIMSEL_MODEL", file}}, [&](std::string_view line) {
        if (std::optional<ps::Json> report = object_of(line)) last = std::move(report);
        return true;
    });
    if (!last) ps::fail("--measure-command: no line of its output is a JSON object");
    ps::search::TrialMeasurement measured{.machine = machine_name()};
    for (auto const& [name, value] : *last->get<ps::Json::Object>()) {
        const double number = json_number(value).value_or(0);
        if (name == "latency") measured.milliseconds = number;
        if (name == "predicted") measured.predicted = number;
        if (name == "throughput") measured.images_per_second = number;
        if (const auto* text = value.get<std::string>(); text != nullptr && name == "machine") measured.machine = *text;
        const auto* layers = value.get<ps::Json::Object>();
        for (std::size_t i = 0; layers != nullptr && name == "layers" && i < layers->size(); ++i) {
            if (const auto each = json_number((*layers)[i].second))
                measured.layers.emplace_back((*layers)[i].first, *each);
        }
    }
    if (!(measured.milliseconds > 0) || !ps::is_finite(measured.milliseconds)) {
        ps::fail("--measure-command: its JSON needs latency, in milliseconds above 0");
    }
    if (!(measured.images_per_second > 0)) measured.images_per_second = 1e3 / measured.milliseconds;
    return measured;
}

}  // namespace cli
