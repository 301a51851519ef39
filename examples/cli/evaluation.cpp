#include "evaluation.hpp"

#include <primsel/cost/archive.hpp>
#include <primsel/plan/print.hpp>

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
    ps::detail::TextTable table;
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
