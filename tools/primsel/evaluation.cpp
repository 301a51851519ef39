#include "evaluation.hpp"

#include "options.hpp"

#include <primsel/core/text_table.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>

namespace cli {
namespace {

ps::Json json_of(ps::learn::RelativeError const& error) {
    return ps::Json::Object{{"name", error.subject}, {"samples", error.samples}, {"mdrae", error.median}};
}
ps::Json json_of(std::vector<ps::learn::RelativeError> const& errors) {
    ps::Json::Array array;
    for (ps::learn::RelativeError const& error : errors) array.push_back(json_of(error));
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
    add_threads_option(command, threads, "Threads to train on");
    command.add_flag("--json", json, "Print one JSON object");
}

ps::Json to_json(ps::learn::Evaluation const& errors) {
    return ps::Json::Object{{"rows", errors.rows},
                            {"samples", errors.all.samples},
                            {"not_predicted", errors.not_predicted},
                            {"mdrae", errors.all.median},
                            {"mean_of_medians", errors.mean_of_medians()},
                            {"families", json_of(errors.families)},
                            {"subjects", json_of(errors.subjects)}};
}

std::string to_text(std::string const& what, ps::learn::Evaluation const& errors, bool subjects) {
    ps::TextTable table;
    table.add({what, "samples", "MdRAE"});
    if (subjects) {
        for (ps::learn::RelativeError const& one : errors.subjects) {
            table.add({one.subject, std::to_string(one.samples), percent(one.median)});
        }
    }
    for (ps::learn::RelativeError const& one : errors.families) {
        table.add({"family " + one.subject, std::to_string(one.samples), percent(one.median)});
    }
    table.add({"mean of each", "", percent(errors.mean_of_medians())});
    table.add({"all", std::to_string(errors.all.samples), percent(errors.all.median)});
    std::string text = table.text();
    if (errors.not_predicted > 0) text += ps::join(errors.not_predicted, " more are beyond what it was taught\n");
    return text;
}

}  // namespace cli
