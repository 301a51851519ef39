#pragma once

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

}  // namespace cli
