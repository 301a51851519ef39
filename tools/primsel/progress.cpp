#include "progress.hpp"

#include <primsel/core/error.hpp>

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>

namespace cli {

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)), total_(total), visible_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (visible_ && shown_ >= 0) std::fputs("\r\x1b[K", stderr);  // leaves no trace
}

void Progress::tick() {
    ++done_;
    const int percent = static_cast<int>(100 * done_ / (total_ < done_ ? done_ : total_));
    if (!visible_ || percent == shown_) return;
    shown_ = percent;
    constexpr int width = 30;
    const std::string bar(static_cast<std::size_t>(width * percent / 100), '#');
    std::fprintf(stderr, "\r%s [%-*s] %d %%", what_.c_str(), width, bar.c_str(), percent);
    std::fflush(stderr);
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
    if (!terminal_ || !std::exchange(shown_, false)) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
}

void ProgressLine::show(std::string const& text, Urgency urgency) {
    if (!is_due() && !(terminal_ && urgency == Urgency::at_once)) return;
    if (urgency == Urgency::when_due || !terminal_) since_.restart();
    std::fprintf(stderr, terminal_ ? "\r\x1b[K%s" : "%s\n", text.c_str());
    std::fflush(stderr);
    shown_ = true;
}

std::string duration(double seconds) {
    const auto minutes = static_cast<long>(std::lround(seconds / 60));
    if (minutes == 0) return primsel::join(std::lround(seconds), " s");
    return minutes < 60 ? primsel::join(minutes, " min") : primsel::join(minutes / 60, " h ", minutes % 60, " min");
}

}  // namespace cli
