#include "training_log.hpp"

#include "text.hpp"

#include <primsel/io/file.hpp>
#include <primsel/show/chart.hpp>

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

namespace cli {
namespace {

/// With the time that it took, or without: the rest is the same each time.
ps::Json json_of_epoch(ps::EpochReport const& epoch, bool with_time) {
    ps::Json::Object line{{"epoch", epoch.epoch}, {"loss", epoch.loss}, {"learning_rate", epoch.learning_rate}};
    if (with_time) {
        line.emplace_back("seconds", epoch.seconds);
        line.emplace_back("images_per_second", epoch.images_per_second);
    }
    if (epoch.validation) {
        line.emplace_back("validation_loss", epoch.validation->loss());
        line.emplace_back("accuracy", epoch.validation->accuracy());
        line.emplace_back("best", epoch.best);
    }
    return line;
}
std::string text_of_epoch(ps::EpochReport const& epoch, std::int64_t epochs) {
    char text[160];
    std::snprintf(text, sizeof(text), "epoch %lld of %lld: loss %.4f, %.0f images a second",
                  static_cast<long long>(epoch.epoch), static_cast<long long>(epochs), epoch.loss,
                  epoch.images_per_second);
    std::string line = text;
    if (epoch.validation) {
        std::snprintf(text, sizeof(text), "; accuracy %.2f %%%s", 100 * epoch.validation->accuracy(),
                      epoch.best ? ", the best until now" : "");
        line += text;
    }
    return line;
}

/// A value over the epochs that have it.
ps::show::Series series_of(ps::Json::Array const& history, std::string name, std::string_view key, double times = 1) {
    ps::show::Series series{std::move(name), {}, {}};
    for (ps::Json const& epoch : history) {
        const ps::JsonCursor cursor("", epoch);
        const std::optional<ps::JsonCursor> value = cursor.find(key);
        if (!value || value->is_null()) continue;
        series.x.push_back(cursor["epoch"].number());
        series.y.push_back(times * value->number());
    }
    return series;
}

}  // namespace

TrainingLog::TrainingLog(Form form, std::int64_t epochs, std::int64_t updates_per_epoch)
    : form_(std::move(form)), epochs_(epochs), updates_per_epoch_(updates_per_epoch) {}

void TrainingLog::resume(std::string_view history, std::string const& source, std::int64_t updates) {
    first_update_ = updates;
    history_.clear();
    for (ps::JsonCursor const& epoch : ps::parse_json(source, history).elements()) {
        (void)epoch["epoch"].number();
        history_.push_back(epoch.value());
    }
    draw();
}

void TrainingLog::add(ps::EpochReport const& epoch) {
    line_.clear();
    print((form_.json ? ps::to_string(json_of_epoch(epoch, true)) : text_of_epoch(epoch, epochs_)) + '\n');
    history_.push_back(json_of_epoch(epoch, false));
    draw();
}

void TrainingLog::tick(std::int64_t updates) {
    const std::int64_t total = epochs_ * updates_per_epoch_, here = updates - first_update_;
    if (here < 1 || updates >= total) return;
    const double left = since_.seconds() / static_cast<double>(here) * static_cast<double>(total - updates);
    line_.show(ps::join("epoch ", (updates - 1) / updates_per_epoch_ + 1, " of ", epochs_, ": update ",
                        (updates - 1) % updates_per_epoch_ + 1, " of ", updates_per_epoch_, ", ", duration(left),
                        " left"));
}

std::string TrainingLog::history() const { return ps::to_string(ps::Json(history_)); }

void TrainingLog::draw() const {
    if (form_.curves.empty() || history_.empty()) return;
    std::vector<ps::show::Chart> charts{{"Loss", "epochs", {series_of(history_, "training", "loss")}}};
    ps::show::Series accuracy = series_of(history_, "validation", "accuracy", 100);
    if (!accuracy.x.empty()) {
        charts[0].series.push_back(series_of(history_, "validation", "validation_loss"));
        charts.push_back({"Accuracy, %", "epochs", {std::move(accuracy)}});
    }
    charts.push_back({"Learning rate", "epochs", {series_of(history_, "of the last update", "learning_rate")}});
    ps::write_file(form_.curves, ps::show::to_svg(charts));
}

}  // namespace cli
