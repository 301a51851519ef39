// Any text parses as a sweep or a schedule of pruning in YAML, or is refused with primsel::error that names the file.
#include "refusal.hpp"

#include <primsel/io/yaml.hpp>
#include <primsel/prune/schedule_file.hpp>
#include <primsel/search/sweep_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace fuzz_yaml {

int run(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const primsel::Settings settings = primsel::parse_yaml("fuzz", text);
        try {
            const primsel::search::Sweep sweep = primsel::search::parse_sweep(settings);
            const std::size_t parameters = sweep.space.parameters().size();
            if (!sweep.space.has(sweep.space.at(std::vector<double>(parameters, 0.5)))) std::abort();
        } catch (primsel::error const& error) {
            check_refusal(error);
        }
        (void)primsel::prune::parse_schedule(settings);
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    return 0;
}

}  // namespace fuzz_yaml
