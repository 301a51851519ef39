#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// The ratios of measured to predicted times since their last lasting change, and a bound for the next ratio.
///
/// If values come in random order, the next one exceeds the k-th smallest of n with probability 1 - k / (n + 1), for
/// any distribution. k is the smallest for which this is at most 1 - `share`. Two tests detect a change. A rise: of the
/// ratio that exceeded the bound and the three after it, at least three are above the old bound. A fall: the last
/// ratios, at least 8, are each below at least nine tenths of the others.
class RecentRatios {
public:
    /// `share`: the share of ratios that must be within the bound. `margin`: the bound while nothing is measured.
    RecentRatios(double share, double margin) noexcept
        : share_(share), margin_(margin), step_((margin - 1) * 1.13 / 2.6) {}

    /// Returns whether the ratio was above the bound.
    bool add(double ratio) noexcept {
        const bool surprise = count_ > 0 && ratio > bound();
        if (surprise) {
            if (alarm_ == 0) above_ = settled_bound(), since_alarm_ = 0, high_ = 0, alarmed_ = 0;
            alarmed_ = std::max(alarmed_, ratio * spread());
            alarm_ = alarm_length;
            if (since_fall_ < capacity) fall_run_ = std::min(2 * fall_run_, longest_fall_run);
            since_fall_ = capacity;
        } else if (alarm_ > 0) {
            --alarm_;
        }
        if (count_ > 0) step_ += 0.02 * (std::min(std::abs(ratio / before(0) - 1), most_step) - step_);
        insert(ratio);
        follow_rise(ratio);
        follow_fall();
        return surprise;
    }
    void clear() noexcept { count_ = 0, alarm_ = 0, since_alarm_ = rise_run, has_exception_ = false; }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] double median() const noexcept { return count_ == 0 ? 1 : sorted_[count_ / 2]; }
    [[nodiscard]] double bound() const noexcept {
        return alarm_ > 0 ? std::max(settled_bound(), alarmed_) : settled_bound();
    }
    /// The bound as a multiple of the median while nothing changes. It is estimated from the differences of successive
    /// ratios, few of which are changes. For normal deviates the mean absolute difference is 2 / sqrt(pi) = 1.13
    /// standard deviations, and 2.6 standard deviations are exceeded once in 200.
    [[nodiscard]] double spread() const noexcept { return 1 + 2.6 / 1.13 * step_; }
    [[nodiscard]] bool is_alarmed() const noexcept { return alarm_ > 0; }
    /// Treats the last ratios above the bound as an exception: removes them and ends the alarm.
    void calm() noexcept {
        alarm_ = 0, since_alarm_ = rise_run;
        std::size_t surprises = 0;
        while (surprises < count_ && before(surprises) > above_) ++surprises;
        next_ = (next_ + capacity - surprises) % capacity;
        keep_last(count_ - surprises);
    }

private:
    static constexpr std::size_t capacity = 512, alarm_length = 8;
    static constexpr std::size_t rise_run = 4, shortest_fall_run = 8, longest_fall_run = 128;
    static constexpr double most_step = 0.4;
    /// The least ratio of an exception to the bound. A choice.
    static constexpr double exceptional = 1.2;

    [[nodiscard]] double settled_bound() const noexcept {
        if (count_ == 0) return margin_;
        const double rank = std::ceil(static_cast<double>(count_ + 1) * share_);
        const auto ranked = static_cast<std::size_t>(rank) - 1;
        // With few ratios a single exception would be the bound for long, so it is left out.
        const std::size_t largest = count_ - 1 - (has_exception_ && count_ > 1 ? 1 : 0);
        if (ranked < count_) return sorted_[std::min(ranked, largest)];
        // Too few for this rank: the largest, times a margin that shrinks as ratios are added.
        const double missing = 1 - static_cast<double>(count_) * (1 - share_);
        return sorted_[largest] * (1 + (margin_ - 1) * std::max(missing, 0.0));
    }
    /// The ratio `back` places before the latest.
    [[nodiscard]] double before(std::size_t back) const noexcept {
        return ring_[(next_ + 2 * capacity - 1 - back) % capacity];
    }
    void insert(double ratio) noexcept {
        if (count_ == capacity) {
            double* const end = sorted_.data() + count_;
            double* const oldest = std::lower_bound(sorted_.data(), end, ring_[next_]);
            std::move(oldest + 1, end, oldest);
            --count_;
        }
        double* const end = sorted_.data() + count_;
        double* const place = std::upper_bound(sorted_.data(), end, ratio);
        std::move_backward(place, end, end + 1);
        *place = ratio;
        ring_[next_] = ratio;
        next_ = (next_ + 1) % capacity;
        ++count_;
    }
    void keep_last(std::size_t count) noexcept {
        count_ = count;
        has_exception_ = false;
        for (std::size_t i = 0; i < count; ++i) sorted_[i] = before(i);
        std::sort(sorted_.data(), sorted_.data() + count);
    }
    /// Forgets the ratios before a rise, four ratios after the first one above the bound.
    void follow_rise(double ratio) noexcept {
        if (since_alarm_ >= rise_run) return;
        ++since_alarm_;
        if (ratio > above_) ++high_;
        if (since_alarm_ < rise_run) return;
        if (4 * high_ >= 3 * rise_run && count_ > rise_run) keep_last(rise_run);
        // A single ratio above the bound is expected now and then and counts as an exception; a second one does not.
        has_exception_ = high_ == 1 && !has_exception_ && alarmed_ > exceptional * above_ * spread();
    }
    /// Forgets the ratios before a fall. A ratio above the bound within 512 after a fall shows that the fall did not
    /// last, so the next fall needs a run twice as long.
    void follow_fall() noexcept {
        if (since_fall_ < capacity && ++since_fall_ == capacity) {
            fall_run_ = std::max(fall_run_ / 2, shortest_fall_run);
        }
        if (count_ < fall_run_ + rise_run) return;
        double highest = 0;
        for (std::size_t i = 0; i < fall_run_; ++i) highest = std::max(highest, before(i));
        const double* const begin = sorted_.data();
        const auto not_above = static_cast<std::size_t>(std::upper_bound(begin, begin + count_, highest) - begin);
        if (10 * (not_above - fall_run_) > count_ - fall_run_) return;
        keep_last(fall_run_);
        alarm_ = 0, since_fall_ = 0;
    }

    double share_, margin_, step_;
    /// The last `count_` elements before `next_` are in use, in order of time; the same values, sorted.
    std::array<double, capacity> ring_{}, sorted_{};
    std::size_t count_ = 0, next_ = 0;
    /// The number of ratios for which the bound is still at least `alarmed_`.
    std::size_t alarm_ = 0;
    double alarmed_ = 0;
    /// The bound before the alarm, and the number of ratios above it since.
    double above_ = 0;
    std::size_t since_alarm_ = rise_run, high_ = 0;
    /// Whether the largest ratio is an exception: far above the bound, with none of the next ones above it.
    bool has_exception_ = false;
    std::size_t fall_run_ = shortest_fall_run, since_fall_ = capacity;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
