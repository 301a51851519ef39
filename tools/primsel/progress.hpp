#pragma once

#include <primsel/core/timer.hpp>

#include <cstddef>
#include <string>

namespace cli {

/// A line on the standard error that says how far long work has come; nothing where that is not a terminal.
class Progress {
public:
    explicit Progress(std::string what, std::size_t total = 0);
    Progress(Progress const&) = delete;
    Progress& operator=(Progress const&) = delete;
    ~Progress();

    /// More work than was known of before.
    void expect(std::size_t more) { total_ += more; }
    void tick();

private:
    std::string what_;
    std::size_t total_, done_ = 0;
    int shown_ = -1;
    bool visible_;
};

/// A line on the standard error that work of hours rewrites; a new one each minute where that is not a terminal.
class ProgressLine {
public:
    ProgressLine();
    ProgressLine(ProgressLine const&) = delete;
    ProgressLine& operator=(ProgressLine const&) = delete;
    ~ProgressLine();

    enum class Urgency { when_due, at_once };
    /// At once: on a terminal, for work that takes another turn. Elsewhere lines come when they are due.
    void show(std::string const& text, Urgency urgency = Urgency::when_due);
    /// Whether it is time for another text.
    [[nodiscard]] bool is_due() const { return since_.seconds() >= (terminal_ ? 0.1 : 60.0); }
    /// Makes room for another line.
    void clear();

private:
    bool terminal_, shown_ = false;
    primsel::Timer since_;
};

/// "40 s", "12 min", "3 h 5 min".
[[nodiscard]] std::string duration(double seconds);

}  // namespace cli
