#include "journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

namespace cli::reproduce {

Journal::Journal(std::string path, std::string settings)
    : path_(std::move(path)),
      settings_(std::move(settings)),
      file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (!file_.is_open()) ps::detail::fail_of_system(path_, "cannot write");
    if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) ps::fail(path_, ": another program appends to it");
        ps::detail::fail_of_system(path_, "cannot lock");
    }
    read();
}

void Journal::read() {
    const ps::SharedBytes bytes = ps::read_file(path_);
    const std::string_view text = bytes.text();
    const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is none
    if (whole < text.size() && ::ftruncate(file_.number(), static_cast<off_t>(whole)) != 0) {
        ps::detail::fail_of_system(path_, "cannot shorten");
    }
    std::size_t number = 0;
    for (std::size_t at = 0; at < whole;) {
        const std::size_t end = text.find('\n', at);
        const ps::JsonCursor line = ps::parse_json(ps::join(path_, ": line ", ++number), text.substr(at, end - at));
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
    if (!ps::detail::write_all(file_.number(), std::as_bytes(std::span(line)))) {
        ps::detail::fail_of_system(path_, "cannot write");
    }
    entries_.insert_or_assign(experiment, Entry{seconds, ps::JsonCursor(experiment, std::move(value))});
}

double Journal::seconds() const {
    const std::lock_guard lock(mutex_);
    double sum = 0;
    for (auto const& [experiment, entry] : entries_) sum += entry.seconds;
    return sum;
}

}  // namespace cli::reproduce
