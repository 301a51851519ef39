#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/json.hpp>
#include <primsel/search/queue.hpp>
#include <primsel/search/sweep.hpp>
#include <primsel/search/trial_log.hpp>
#include <primsel/search/work_off.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::search {

/// One line of JSON by which a consumer reports a trial that it measured.
[[nodiscard]] inline std::string line_of(std::uint64_t trial, TrialMeasurement const& measured) {
    return to_string(Json(Json::Object{{"trial", trial}, {"measured", detail::json_of(measured)}}), 0,
                     JsonStrings::any);
}
/// Reads such a line; errors call it `name`. Throws error if it is no measurement of that trial.
[[nodiscard]] inline TrialMeasurement parse_measurement(std::string_view name, std::string_view line,
                                                        std::uint64_t trial) {
    const JsonCursor at = parse_json(std::string(name), line, detail::trial_limits);
    if (static_cast<std::uint64_t>(at["trial"].integer(0)) != trial) at["trial"].fail("is not trial ", trial);
    return detail::measurement_of(at["measured"]);
}

/// Measures nothing.
struct NotMeasured {
    [[nodiscard]] std::optional<TrialMeasurement> operator()(Trial const&) const { return std::nullopt; }
};

/// Has trials measured by workers that take their numbers from a queue, one trial after the other. Results of an
/// earlier run that the queue still has are used.
template <Queue Q>
class MeasuredElsewhere {
public:
    /// After `wait_seconds` without an answer, the queue is asked whether the message was set aside, and the message is
    /// put again.
    explicit MeasuredElsewhere(Q& queue, double wait_seconds = 5) : queue_(&queue), wait_(wait_seconds) {}

    [[nodiscard]] std::optional<TrialMeasurement> operator()(Trial const& trial) {
        const std::string message = to_string(Json(Json::Object{{"trial", trial.number}}));
        for (;;) {
            if (const auto found = answers_.find(trial.number); found != answers_.end()) {
                try {
                    return parse_measurement("measurement", found->second, trial.number);
                } catch (error const& fault) {
                    return TrialMeasurement{.failure = fault.what()};
                }
            }
            queue_->put(trial.number, message);
            if (const std::optional<QueuedResult> result = queue_->next_result(wait_)) {
                answers_.emplace(result->number, result->message);
                continue;
            }
            for (SetAside const& aside : queue_->aside()) {
                if (aside.number == trial.number) return TrialMeasurement{.failure = aside.reason};
            }
        }
    }

private:
    Q* queue_;
    double wait_;
    std::map<std::uint64_t, std::string> answers_;
};

/// Takes numbers of trials from the queue and measures them until stop() returns true or none comes for
/// options.patience seconds. measure(number) returns a TrialMeasurement; an exception becomes its failure. Returns the
/// number of results that counted.
template <Queue Q, class Measure, class Stop>
std::size_t work_on_measurements(Q& queue, WorkOptions const& options, Measure&& measure, Stop const& stop) {
    const auto result_of = [&](Lease const& lease) {
        const JsonCursor at = parse_json("message", lease.message, detail::trial_limits);
        const auto number = static_cast<std::uint64_t>(at["trial"].integer(0));
        if (number != lease.number) fail("message: is trial ", number, ", not ", lease.number);
        TrialMeasurement measured;
        try {
            measured = measure(number);
        } catch (std::exception const& fault) {
            measured.failure = fault.what();
            if (measured.failure.empty()) measured.failure = "for no reason given";
        }
        return line_of(number, measured);
    };
    return work_off(queue, options, result_of, stop);
}

}  // namespace primsel::inline PRIMSEL_ABI::search
