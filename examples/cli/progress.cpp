#include "progress.hpp"

#include <unistd.h>

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

}  // namespace cli
