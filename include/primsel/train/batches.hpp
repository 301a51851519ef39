#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/own_process.hpp>
#include <primsel/train/augment.hpp>
#include <primsel/train/data.hpp>
#include <primsel/train/random.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

struct BatchOptions {
    int batch = 32;
    /// The seed of the order and of augmentation.
    std::uint64_t seed = 0;
    /// Each epoch in an order of its own; otherwise in that of the source.
    bool shuffle = true;
    /// The images of an epoch beyond whole batches are a batch filled up with padding; otherwise they are left out.
    bool pad_last = false;
    /// The batch to begin with, counted from the first one of the first epoch: that which an earlier training was to do
    /// next.
    std::int64_t first = 0;
    /// After so many epochs there are no more batches.
    std::int64_t epochs = std::numeric_limits<std::int64_t>::max();
    /// Batches that have memory: one is with the caller, the others are made ahead.
    int buffers = 3;
};
/// For judging a network: every sample once, in the source's order.
[[nodiscard]] inline BatchOptions evaluation_batches(int batch) {
    return {.batch = batch, .shuffle = false, .pad_last = true, .epochs = 1};
}

/// Images, chw, one after the other, and their labels. Padding is images of zeros with the label -1.
struct Batch {
    std::span<const float> images, labels;
    /// Images that are no padding; 0 when there are no more batches.
    int count = 0;
    std::int64_t epoch = 0;
    /// The value of BatchOptions::first that begins with this batch.
    std::int64_t number = 0;
};

/// The samples of a source in batches, made ahead on a thread of its own: read, augmented, normalised. They are the
/// same whatever the timing, and from whichever batch one begins. The source must outlive it, and be readable from
/// another thread.
template <DataSource Source, Augmentation Augments = NoAugment>
class Batches {
public:
    /// Throws error for options out of range, a source of fewer samples than a batch (unless padded) or none, and a
    /// normalisation for other images.
    explicit Batches(Source const& source, BatchOptions options = {}, Normalise normalise = {}, Augments augment = {})
        : source_(source), options_(options), normalise_(std::move(normalise)), augment_(std::move(augment)) {
        if (options.batch < 1 || options.buffers < 1 || options.first < 0 || options.epochs < 0) {
            fail("batches: impossible options: batch ", options.batch, ", buffers ", options.buffers, ", first ",
                 options.first, ", epochs ", options.epochs);
        }
        const auto batch = static_cast<std::size_t>(options.batch);
        per_epoch_ = static_cast<std::int64_t>((source.size() + (options.pad_last ? batch - 1 : 0)) / batch);
        if (per_epoch_ == 0) fail("batches: ", source.size(), " samples are less than a batch of ", batch);
        const Shape shape = source.shape();
        if (bounded_product({options.batch, shape.c, shape.h, shape.w}) > max_floats) {
            fail("batches: ", options.batch, " images of ", to_string(shape), " are too large");
        }
        check_normalise(normalise_, shape);
        floats_ = shape.size();
        for (int i = 0; i < options.buffers; ++i)
            slots_.push_back({AlignedBuffer(batch * floats_), AlignedBuffer(batch)});
        scratch_ = AlignedBuffer(floats_);
        order_.resize(source.size());
        try {
            thread_ = std::thread([this] { serve(); });
        } catch (std::system_error const& refusal) {
            fail("batches: cannot start a thread: ", refusal.what());
        }
    }
    Batches(Source const&& source, BatchOptions options = {}, Normalise normalise = {}, Augments augment = {}) = delete;
    Batches(Batches const&) = delete;
    Batches& operator=(Batches const&) = delete;
    ~Batches() {
        if (!process_.is_this()) {
            core::forget(mutex_), core::forget(changed_), core::forget(thread_);
            return;
        }
        {
            const std::scoped_lock lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    [[nodiscard]] std::int64_t batches_per_epoch() const { return per_epoch_; }

    /// The next batch, valid until the next call; one of count 0 after the last. Waits where the source is slower.
    /// Rethrows what the source threw, each time from then on. Throws error in a child of fork, which does not have the
    /// thread.
    [[nodiscard]] Batch next() {
        if (!process_.is_this()) fail("batches: the thread that makes them is not in this process, a child of fork");
        std::unique_lock lock(mutex_);
        released_ = taken_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return made_ > taken_ || ended_; });
        if (made_ == taken_) {
            if (error_) std::rethrow_exception(error_);
            return {};
        }
        Slot const& slot = slots_[slot_of(taken_)];
        const std::int64_t number = options_.first + taken_++;
        return {slot.images.span(), slot.labels.span(), count_of(number), number / per_epoch_, number};
    }

private:
    struct Slot {
        AlignedBuffer images, labels;
    };

    [[nodiscard]] std::size_t slot_of(std::int64_t made) const {
        return static_cast<std::size_t>(made) % slots_.size();
    }
    /// Samples of a batch.
    [[nodiscard]] int count_of(std::int64_t number) const {
        const std::size_t begin = begin_of(number);
        return static_cast<int>(std::min(static_cast<std::size_t>(options_.batch), order_.size() - begin));
    }
    /// Its first place in the epoch's order.
    [[nodiscard]] std::size_t begin_of(std::int64_t number) const {
        return static_cast<std::size_t>(number % per_epoch_) * static_cast<std::size_t>(options_.batch);
    }

    /// The thread: makes batches until told to stop.
    void serve() noexcept {
        std::exception_ptr error;
        try {
            while (may_make()) {
                make(options_.first + made_, slots_[slot_of(made_)]);
                const std::scoped_lock lock(mutex_);
                ++made_;
                changed_.notify_all();
            }
        } catch (...) {
            error = std::current_exception();
        }
        const std::scoped_lock lock(mutex_);
        error_ = std::move(error);
        ended_ = true;
        changed_.notify_all();
    }
    /// Waits for a free buffer. False when there is nothing more to do.
    [[nodiscard]] bool may_make() {
        std::unique_lock lock(mutex_);
        if ((options_.first + made_) / per_epoch_ >= options_.epochs) return false;
        changed_.wait(lock, [this] { return stopped_ || made_ - released_ < options_.buffers; });
        return !stopped_;
    }
    void make(std::int64_t number, Slot& slot) {
        const std::int64_t epoch = number / per_epoch_;
        if (epoch != ordered_epoch_) {
            arrange(epoch);
            ordered_epoch_ = epoch;
        }
        const auto count = static_cast<std::size_t>(count_of(number));
        const Shape shape = source_.shape();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t index = order_[begin_of(number) + i];
            float* image = slot.images.data() + i * floats_;
            source_.read(index, image);
            slot.labels.data()[i] = static_cast<float>(source_.label(index));
            Random random(options_.seed, epoch, index);
            augment_(shape, image, scratch_.data(), random);
            normalise_(shape, image);
        }
        std::ranges::fill(slot.images.span().subspan(count * floats_), 0.0F);
        std::ranges::fill(slot.labels.span().subspan(count), -1.0F);
    }
    void arrange(std::int64_t epoch) {
        if (options_.shuffle) {
            permute(order_, Random(options_.seed, epoch));
        } else {
            std::iota(order_.begin(), order_.end(), std::size_t{0});
        }
    }

    Source const& source_;
    BatchOptions options_;
    Normalise normalise_;
    Augments augment_;
    std::int64_t per_epoch_ = 0;
    std::size_t floats_ = 0;
    std::vector<Slot> slots_;

    // The thread's alone.
    AlignedBuffer scratch_;
    std::vector<std::size_t> order_;
    std::int64_t ordered_epoch_ = -1;

    // Batches made, handed out and given back, all since the beginning.
    std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t made_ = 0, taken_ = 0, released_ = 0;
    bool stopped_ = false, ended_ = false;
    std::exception_ptr error_;
    core::OwnProcess process_;
    std::thread thread_;
};

}  // namespace primsel::inline PRIMSEL_ABI
