#pragma once

#include <primsel/dynamic/detail/system_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#ifdef __linux__

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// The recent load of each core, from the lines "cpu0 ..." of /proc/stat.
class CoreTimes {
public:
    CoreTimes() = default;
    CoreTimes(std::string path, std::size_t cores)
        : file_(std::move(path)), text_(256 * (cores + 2)), last_(cores), busy_(cores, -1) {
        update();
    }

    /// The share of time, from 0 to 1, that the core was busy between the last two readings at least 10 ticks apart;
    /// negative if unknown.
    [[nodiscard]] double busy(std::size_t core) const noexcept { return core < busy_.size() ? busy_[core] : -1; }
    void update() noexcept {
        if (text_.empty()) return;
        std::string_view text = file_.read(text_.data(), text_.size());
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            if (line.starts_with("cpu") && !text.empty()) add(line.substr(3));
        }
    }

private:
    struct Ticks {
        std::int64_t all = 0, idle = 0;
    };

    void add(std::string_view line) noexcept {
        std::int64_t core = 0;
        std::size_t end = line.find(' ');
        if (end == 0 || end == std::string_view::npos || !read_whole(line.substr(0, end), core)) return;
        if (core < 0 || static_cast<std::size_t>(core) >= last_.size()) return;
        Ticks now;
        line.remove_prefix(end);
        // user, nice, system, idle, iowait, irq, softirq, steal; the fields after these are already contained in user
        // and nice.
        for (int field = 0; field < 8; ++field) {
            line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
            end = std::min(line.find(' '), line.size());
            std::int64_t ticks = 0;
            if (!read_whole(line.substr(0, end), ticks) || ticks < 0 || ticks > most_ticks) return;
            now.all += ticks;
            if (field == 3 || field == 4) now.idle += ticks;
            line.remove_prefix(end);
        }
        const auto i = static_cast<std::size_t>(core);
        const std::int64_t passed = now.all - last_[i].all, idle = now.idle - last_[i].idle;
        if (passed < enough_ticks && passed >= 0 && last_[i].all > 0) return;
        if (last_[i].all > 0 && passed > 0) {
            busy_[i] = std::clamp(1 - static_cast<double>(idle) / static_cast<double>(passed), 0.0, 1.0);
        }
        last_[i] = now;
    }

    /// In ticks of 10 ms (USER_HZ is 100).
    static constexpr std::int64_t enough_ticks = 10, most_ticks = std::int64_t{1} << 56;
    SystemFile file_;
    std::vector<char> text_;
    std::vector<Ticks> last_;
    std::vector<double> busy_;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail

#endif
