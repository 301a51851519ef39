#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/config.hpp>

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// One copy of weights that several programs packed alike, for as long as one of them holds it. Any number of threads
/// may use it.
class WeightStore {
public:
    using Kept = std::shared_ptr<const AlignedBuffer>;

    /// Returns what was packed of a layer's weights, or, where something of the same layer begins with the same bytes,
    /// that. Those who pack the most come first.
    [[nodiscard]] Kept keep(std::string const& layer, AlignedBuffer packed) {
        const std::scoped_lock lock(mutex_);
        std::vector<std::weak_ptr<const AlignedBuffer>>& known = kept_[layer];
        std::erase_if(known, [](auto const& each) { return each.expired(); });
        for (auto const& each : known) {
            const Kept other = each.lock();
            const bool fits = other && packed.size() <= other->size();
            if (fits && std::memcmp(other->data(), packed.data(), packed.size() * sizeof(float)) == 0) return other;
        }
        Kept kept = std::make_shared<const AlignedBuffer>(std::move(packed));
        known.push_back(kept);
        return kept;
    }
    /// Bytes of all weights that somebody holds.
    [[nodiscard]] std::size_t bytes() const {
        const std::scoped_lock lock(mutex_);
        std::size_t bytes = 0;
        for (auto const& [layer, known] : kept_) bytes += bytes_of(known);
        return bytes;
    }
    /// Those of a layer.
    [[nodiscard]] std::size_t bytes(std::string const& layer) const {
        const std::scoped_lock lock(mutex_);
        const auto found = kept_.find(layer);
        return found == kept_.end() ? 0 : bytes_of(found->second);
    }

private:
    [[nodiscard]] static std::size_t bytes_of(std::vector<std::weak_ptr<const AlignedBuffer>> const& known) {
        std::size_t bytes = 0;
        for (auto const& each : known) {
            if (const Kept kept = each.lock()) bytes += kept->size() * sizeof(float);
        }
        return bytes;
    }

    mutable std::mutex mutex_;
    std::map<std::string, std::vector<std::weak_ptr<const AlignedBuffer>>> kept_;
};

/// Memory shared by programs of which no two run at a time: one arena, and packed weights, which programs elsewhere may
/// share. It must outlive them.
class SharedRoom {
public:
    /// Throws std::bad_alloc.
    explicit SharedRoom(std::size_t arena_bytes, std::shared_ptr<WeightStore> weights = std::make_shared<WeightStore>())
        : arena_(std::make_shared<AlignedBuffer>(floats_for_bytes(arena_bytes))), weights_(std::move(weights)) {}
    /// Returns a room with the same arena and the same packed weights, which holds only those of its own programs.
    [[nodiscard]] SharedRoom beside() const { return SharedRoom(arena_, weights_); }

    [[nodiscard]] float* arena() noexcept { return arena_->data(); }
    [[nodiscard]] std::size_t arena_bytes() const { return arena_->size() * sizeof(float); }
    /// Replaces the arena, of rooms beside it too. Programs that use it must be rearranged then. Throws std::bad_alloc,
    /// and keeps the arena then.
    void replace_arena(std::size_t bytes) { *arena_ = AlignedBuffer(floats_for_bytes(bytes)); }

    /// Keeps what was packed of a layer's weights; see WeightStore::keep.
    [[nodiscard]] const float* keep(std::string const& layer, AlignedBuffer packed) {
        return held_.emplace_back(weights_->keep(layer, std::move(packed)))->data();
    }
    /// Bytes of all weights that it shares.
    [[nodiscard]] std::size_t weight_bytes() const { return weights_->bytes(); }
    /// Those of a layer.
    [[nodiscard]] std::size_t weight_bytes(std::string const& layer) const { return weights_->bytes(layer); }

private:
    SharedRoom(std::shared_ptr<AlignedBuffer> arena, std::shared_ptr<WeightStore> weights)
        : arena_(std::move(arena)), weights_(std::move(weights)) {}

    std::shared_ptr<AlignedBuffer> arena_;
    std::shared_ptr<WeightStore> weights_;
    std::vector<WeightStore::Kept> held_;
};

}  // namespace primsel::inline PRIMSEL_ABI
