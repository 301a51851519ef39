#include "journal.hpp"

#include <string_view>
#include <utility>

namespace reproduce {

Journal::Journal(std::string path, std::string settings) : settings_(std::move(settings)), file_(std::move(path)) {
    const std::string_view text = file_.text();
    const std::size_t whole = file_.whole();
    file_.cut(whole);
    std::size_t number = 0;
    for (std::size_t at = 0; at < whole;) {
        const std::size_t end = text.find('\n', at);
        const ps::JsonCursor line =
            ps::parse_json(ps::join(file_.path(), ": line ", ++number), text.substr(at, end - at));
        at = end + 1;
        if (line["settings"].string() != settings_) continue;
        entries_.insert_or_assign(line["experiment"].string(), Entry{line["seconds"].number(), line["value"]});
    }
}

std::optional<ps::JsonCursor> Journal::find(std::string const& experiment) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(experiment);
    return found == entries_.end() ? std::nullopt : std::optional(found->second.value);
}

void Journal::add(std::string const& experiment, double seconds, ps::Json value) {
    const std::string line =
        to_string(ps::Json(ps::Json::Object{
            {"experiment", experiment}, {"settings", settings_}, {"seconds", seconds}, {"value", value}})) +
        '\n';
    const std::lock_guard lock(mutex_);
    file_.append(line);
    entries_.insert_or_assign(experiment, Entry{seconds, ps::JsonCursor(experiment, std::move(value))});
}

double Journal::seconds() const {
    const std::lock_guard lock(mutex_);
    double sum = 0;
    for (auto const& [experiment, entry] : entries_) sum += entry.seconds;
    return sum;
}

}  // namespace reproduce
