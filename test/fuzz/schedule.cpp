// Any text parses as a schedule of pruning in JSON, or as the table of a sensitivity analysis, or is refused with
// primsel::error that names the file.
#include "refusal.hpp"

#include <primsel/prune/schedule_file.hpp>
#include <primsel/prune/sensitivity_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace fuzz_schedule {

int run(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const primsel::prune::PruningSchedule schedule =
            primsel::prune::parse_schedule(primsel::parse_json_settings("fuzz", text));
        for (primsel::prune::SchedulePolicy const& policy : schedule.policies) {
            const std::size_t count = policy.prunes ? schedule.pruners.size() : schedule.rates.size();
            if (policy.instance >= count || policy.epochs.empty()) std::abort();
        }
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    try {
        std::map<std::string, std::string> about;
        (void)primsel::prune::parse_sensitivity("fuzz", text, about);
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    return 0;
}

}  // namespace fuzz_schedule
