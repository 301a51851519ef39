// Any text parses as a sweep or as a trial or message of one or of a profile, or is refused with primsel::error; what
// parsed reads back as the same when written.
#include "refusal.hpp"

#include <primsel/search/measure_trials.hpp>
#include <primsel/search/profile_parts.hpp>
#include <primsel/search/sweep_file.hpp>
#include <primsel/search/trial_log.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz_sweep {

int run(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const primsel::search::Sweep sweep = primsel::search::parse_sweep(primsel::parse_json_settings("fuzz", text));
        const std::size_t parameters = sweep.space.parameters().size();
        if (!sweep.space.has(sweep.space.at(std::vector<double>(parameters, 0.5)))) std::abort();
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    static const primsel::search::Space space(
        {primsel::search::Parameter::real("x", 0, 1), primsel::search::Parameter::values("k", {"a", 2})});
    try {
        const primsel::search::Trial trial = primsel::search::parse_trial("fuzz", text, space);
        const std::string line = primsel::search::line_of(space, trial);
        if (primsel::search::line_of(space, primsel::search::parse_trial("again", line, space)) != line) std::abort();
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    try {
        const primsel::search::TrialTask task = primsel::search::parse_task("fuzz", text, space);
        const std::string line = primsel::search::line_of(space, task);
        if (primsel::search::line_of(space, primsel::search::parse_task("again", line, space)) != line) std::abort();
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    try {
        if (const auto header = primsel::search::parse_log_header("fuzz", text)) {
            if (primsel::search::parse_log_header("again", primsel::search::line_of(*header)) != header) std::abort();
        }
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    try {
        const primsel::search::TrialMeasurement measured = primsel::search::parse_measurement("fuzz", text, 1);
        const std::string line = primsel::search::line_of(1, measured);
        if (primsel::search::line_of(1, primsel::search::parse_measurement("again", line, 1)) != line) std::abort();
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    try {
        (void)primsel::search::parse_profile_work("fuzz", text);
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    static const std::vector<primsel::search::ProfiledTable> tables{
        {"convolutions", primsel::learn::ConvConfiguration::inputs(), {"one", "other"}, 1e-5},
        {"layouts", primsel::learn::TensorConfiguration::inputs(), {"one"}, 1e-5}};
    try {
        const primsel::search::ProfilePart part = primsel::search::parse_part("fuzz", text, tables);
        const std::string line = primsel::search::line_of(part);
        if (primsel::search::line_of(primsel::search::parse_part("again", line, tables)) != line) std::abort();
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    try {
        const primsel::search::ProfilePart part{.number = 1, .table = "layouts", .rows = {{1, 2}}};
        const primsel::search::ProfiledRows rows = primsel::search::parse_rows("fuzz", text, part, 1);
        const std::string line = primsel::search::line_of(part, rows);
        if (primsel::search::line_of(part, primsel::search::parse_rows("again", line, part, 1)) != line) std::abort();
    } catch (primsel::error const& error) {
        check_refusal(error);
    }
    return 0;
}

}  // namespace fuzz_sweep
