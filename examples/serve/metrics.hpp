// Counters in the text format of Prometheus.
#pragma once

#include <primsel/core/error.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace serve {

/// A histogram of seconds.
class Seconds {
public:
    void add(double seconds) {
        for (std::size_t i = 0; i < bounds.size(); ++i) below_[i] += seconds <= bounds[i] ? 1 : 0;
        sum_ += seconds, ++count_;
    }
    [[nodiscard]] std::string text(std::string const& name) const {
        using primsel::join;
        std::string text = "# TYPE " + name + " histogram\n";
        for (std::size_t i = 0; i < bounds.size(); ++i) {
            text += join(name, "_bucket{le=\"", bounds[i], "\"} ", below_[i], '\n');
        }
        return text + join(name, "_bucket{le=\"+Inf\"} ", count_, '\n', name, "_sum ", sum_, '\n', name, "_count ",
                           count_, '\n');
    }

private:
    static constexpr std::array bounds{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0};
    std::array<std::size_t, bounds.size()> below_{};
    double sum_ = 0;
    std::size_t count_ = 0;
};

class Metrics {
public:
    void count_answer(int status) {
        const std::scoped_lock lock(mutex_);
        ++answers_[status];
    }
    void count_run(double waited_seconds, double ran_seconds) {
        const std::scoped_lock lock(mutex_);
        waited_.add(waited_seconds), ran_.add(ran_seconds);
    }
    [[nodiscard]] std::size_t answers() const {
        const std::scoped_lock lock(mutex_);
        std::size_t sum = 0;
        for (auto const& [status, count] : answers_) sum += count;
        return sum;
    }
    [[nodiscard]] std::string text() const {
        const std::scoped_lock lock(mutex_);
        std::string text = "# TYPE primsel_requests_total counter\n";
        for (auto const& [status, count] : answers_) {
            text += primsel::join("primsel_requests_total{code=\"", status, "\"} ", count, '\n');
        }
        return text + waited_.text("primsel_wait_seconds") + ran_.text("primsel_run_seconds");
    }

private:
    mutable std::mutex mutex_;
    std::map<int, std::size_t> answers_;
    Seconds waited_, ran_;
};

[[nodiscard]] inline std::string gauge(std::string const& name, std::size_t value) {
    return primsel::join("# TYPE ", name, " gauge\n", name, ' ', value, '\n');
}

}  // namespace serve
