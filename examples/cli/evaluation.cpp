#include "evaluation.hpp"

#include <primsel/core/archive.hpp>
#include <primsel/io/dataset.hpp>
#include <primsel/plan/print.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

namespace cli {
namespace {

bool is_identity(std::string const& subject) {
    constexpr std::string_view to = "-to-";
    const std::size_t at = subject.find(to);
    return at != std::string::npos && subject.substr(0, at) == subject.substr(at + to.size());
}

ps::Json to_json(ps::RelativeError const& error) {
    return ps::Json::Object{{"name", error.subject}, {"samples", error.samples}, {"mdrae", error.median}};
}
ps::Json to_json(std::vector<ps::RelativeError> const& errors) {
    ps::Json::Array array;
    for (ps::RelativeError const& error : errors) array.push_back(to_json(error));
    return array;
}

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.2f %%", 100 * share);
    return text;
}

}  // namespace

void add_learning_options(CLI::App& command, std::uint64_t& seed, std::size_t& threads, bool& json) {
    command.add_option("--seed", seed, "Draws which rows are held back, and the model (default 1)")->type_name("S");
    command.add_option("--threads", threads, "Threads to train on (default 1)")
        ->check(CLI::Range(1, 1024))
        ->type_name("N");
    command.add_flag("--json", json, "Print one JSON object");
}

ps::Dataset read_times(std::string const& path, bool layouts) {
    ps::Dataset data = ps::read_dataset(path);
    const std::vector<std::string> wanted =
        layouts ? std::vector<std::string>{"c", "im"} : std::vector<std::string>{"c", "k", "im", "f", "s"};
    if (data.inputs != wanted) ps::fail(path, ": its configurations are not ", layouts ? "c, im" : "c, k, im, f, s");
    return data;
}

void require_same_arch(std::string const& path, ps::Dataset const& data, std::string const& other_path,
                       ps::Dataset const& other) {
    const auto here = data.about.find("arch"), there = other.about.find("arch");
    if (here == data.about.end() || there == other.about.end() || here->second == there->second) return;
    ps::fail(other_path, ": its arch is ", there->second, ", that of ", path, " is ", here->second);
}

ps::Dataset with_subjects(ps::Dataset const& data, std::vector<std::size_t> const& subjects) {
    ps::Dataset some;
    some.inputs = data.inputs;
    some.about = data.about;
    for (const std::size_t subject : subjects) some.subjects.push_back(data.subjects[subject]);
    std::vector<double> times(subjects.size());
    for (std::size_t row = 0; row < data.rows(); ++row) {
        for (std::size_t i = 0; i < subjects.size(); ++i) times[i] = data.time(row, subjects[i]);
        some.add(data.configuration(row), times);
    }
    return some;
}

ps::Dataset with_subjects(ps::Dataset const& data, std::vector<std::string> const& subjects) {
    ps::Dataset some{
        .inputs = data.inputs, .subjects = subjects, .about = data.about, .configurations = {}, .seconds = {}};
    std::vector<std::size_t> positions;
    for (std::string const& subject : subjects) positions.push_back(data.find(subject));
    std::vector<double> times(subjects.size());
    for (std::size_t row = 0; row < data.rows(); ++row) {
        for (std::size_t i = 0; i < subjects.size(); ++i) {
            times[i] = positions[i] < data.subjects.size() ? data.time(row, positions[i]) : 0;
        }
        some.add(data.configuration(row), times);
    }
    return some;
}

std::vector<std::string> labels_of(std::vector<std::string> const& subjects, bool layouts) {
    std::vector<std::string> labels;
    for (std::string const& subject : subjects) {
        labels.emplace_back(layouts ? "" : to_string_view(ps::family_of_id(subject)));
    }
    return labels;
}

ps::Dataset without_idle(ps::Dataset const& data) {
    std::vector<std::size_t> kept;
    for (std::size_t subject = 0; subject < data.subjects.size(); ++subject) {
        bool measured = false;
        for (std::size_t row = 0; row < data.rows() && !measured; ++row) measured = data.time(row, subject) > 0;
        if (measured && !is_identity(data.subjects[subject])) kept.push_back(subject);
    }
    return with_subjects(data, kept);
}

std::string fingerprint(ps::Dataset const& data) {
    const std::uint64_t sums[]{ps::checksum(std::as_bytes(std::span(data.configurations))),
                               ps::checksum(std::as_bytes(std::span(data.seconds)))};
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx",
                  static_cast<unsigned long long>(ps::checksum(std::as_bytes(std::span(sums)))));
    return text;
}

Judgement judge(ps::Dataset measured, ps::Table predicted) {
    Judgement result{.errors = {}, .rows = measured.rows()};
    for (std::size_t i = 0; i < measured.seconds.size(); ++i) {
        if (measured.seconds[i] > 0 && std::isnan(predicted.values[i])) {
            measured.seconds[i] = 0;
            ++result.not_predicted;
        }
    }
    result.errors = ps::evaluate(measured, predicted);
    return result;
}

ps::Json to_json(Judgement const& judgement) {
    ps::Evaluation const& errors = judgement.errors;
    return ps::Json::Object{{"rows", judgement.rows},
                            {"samples", errors.all.samples},
                            {"not_predicted", judgement.not_predicted},
                            {"mdrae", errors.all.median},
                            {"mean_of_medians", errors.mean_of_medians()},
                            {"families", to_json(errors.families)},
                            {"subjects", to_json(errors.subjects)}};
}

std::string to_text(std::string const& what, Judgement const& judgement, bool subjects) {
    ps::Evaluation const& errors = judgement.errors;
    ps::TextTable table;
    table.add({what, "samples", "MdRAE"});
    if (subjects) {
        for (ps::RelativeError const& one : errors.subjects) {
            table.add({one.subject, std::to_string(one.samples), percent(one.median)});
        }
    }
    for (ps::RelativeError const& one : errors.families) {
        table.add({"family " + one.subject, std::to_string(one.samples), percent(one.median)});
    }
    table.add({"mean of each", "", percent(errors.mean_of_medians())});
    table.add({"all", std::to_string(errors.all.samples), percent(errors.all.median)});
    std::string text = table.text();
    if (judgement.not_predicted > 0) text += ps::join(judgement.not_predicted, " more are beyond what it was taught\n");
    return text;
}

}  // namespace cli
