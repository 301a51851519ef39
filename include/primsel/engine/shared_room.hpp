#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/config.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The way in which a kernel is packed.
struct Packing {
    const void* how = nullptr;  ///< the primitive or op
    /// The shape of a convolution, without height and width where the primitive packs for any size.
    ConvShape shape{};
    /// The input of an op, as far as its packing depends on it (OpEntry::packed_for).
    Shape input{};
    bool rotated = false;
    std::size_t bytes = 0;
    friend bool operator==(Packing const&, Packing const&) = default;
};

/// Everything that packed weights depend on besides the weights of a network.
struct PackedKey {
    std::string name;  ///< the layer's, and so that of its weights
    AnyLayer layer;
    std::vector<Folded> folded;
    KernelPart kernel;
    Packing packing;
    friend bool operator==(PackedKey const&, PackedKey const&) = default;
};

/// One copy of weights that several programs packed alike, while one of them holds it, and for some time after. Any
/// number of threads may use it.
class WeightStore {
public:
    using Kept = std::shared_ptr<const AlignedBuffer>;
    struct Packed {
        Kept kernel, bias;  ///< bias is null if there is none
    };
    /// The work since the store was made.
    struct Counts {
        std::size_t found = 0;         ///< kernels that were packed already
        std::size_t packed = 0;        ///< kernels that were not
        std::size_t packed_bytes = 0;  ///< their bytes
        std::size_t evicted = 0;       ///< buffers that went although they might have been asked for again
        double packing_seconds = 0;    ///< the time that packing took, including the check of the weights' values
    };

    /// `spare_bytes`: the most bytes of weights that nobody holds and that stay; those released last stay longest.
    explicit WeightStore(std::size_t spare_bytes = 0) : most_spare_(spare_bytes) {}

    /// Returns what was packed of a layer's weights, or, where something of the same layer begins with the same bytes,
    /// that. Those who pack the most come first.
    [[nodiscard]] Kept keep(std::string const& layer, AlignedBuffer packed) {
        const std::scoped_lock lock(mutex_);
        return kept(layer, std::move(packed));
    }
    /// Returns the weights that were kept with this key, or nothing if they are gone.
    [[nodiscard]] std::optional<Packed> find(PackedKey const& key) {
        const std::scoped_lock lock(mutex_);
        const auto layer = keyed_.find(key.name);
        if (layer == keyed_.end()) return std::nullopt;
        for (Keyed const& each : layer->second) {
            if (!(each.key == key)) continue;
            Packed result{each.kernel.lock(), each.bias.lock()};
            if (result.kernel == nullptr || (each.has_bias && result.bias == nullptr)) continue;
            std::erase(spare_, result.kernel), std::erase(spare_, result.bias);
            ++counts_.found;
            return result;
        }
        return std::nullopt;
    }
    /// Keeps a kernel and its bias, if there is one, under a key. All who use keys must have the same weights.
    [[nodiscard]] Packed keep(PackedKey const& key, AlignedBuffer kernel, AlignedBuffer bias, double seconds) {
        const std::scoped_lock lock(mutex_);
        ++counts_.packed, counts_.packing_seconds += seconds;
        counts_.packed_bytes += kernel.size() * sizeof(float);
        Packed result{kept(key.name, std::move(kernel)), nullptr};
        if (bias.size() > 0) result.bias = kept(key.name, std::move(bias));
        std::vector<Keyed>& known = keyed_[key.name];
        std::erase_if(known, [&key](Keyed const& each) { return each.kernel.expired() || each.key == key; });
        // Where each size of image packs anew, only the latest are looked for.
        constexpr std::size_t most_keys = 64;
        if (known.size() == most_keys) known.erase(known.begin());
        known.push_back({key, result.kernel, result.bias, result.bias != nullptr});
        return result;
    }
    /// Takes back what a holder of weights no longer needs.
    void release(std::vector<Kept> held) noexcept {
        const std::scoped_lock lock(mutex_);
        for (Kept& each : held) {
            if (each.use_count() > 1 || most_spare_ == 0) {
                each.reset();
                continue;
            }
            try {
                spare_.push_back(std::move(each));
            } catch (std::bad_alloc const&) {
                continue;
            }
        }
        for (std::size_t bytes = bytes_of(spare_); bytes > most_spare_; ++counts_.evicted) {
            bytes -= bytes_of(spare_.front());
            spare_.pop_front();
        }
    }
    /// Bytes of all weights in memory.
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
    /// Bytes of those that nobody holds.
    [[nodiscard]] std::size_t spare_bytes() const {
        const std::scoped_lock lock(mutex_);
        return bytes_of(spare_);
    }
    [[nodiscard]] Counts counts() const {
        const std::scoped_lock lock(mutex_);
        return counts_;
    }

private:
    struct Keyed {
        PackedKey key;
        std::weak_ptr<const AlignedBuffer> kernel, bias;
        bool has_bias;
    };

    [[nodiscard]] Kept kept(std::string const& layer, AlignedBuffer packed) {
        std::vector<std::weak_ptr<const AlignedBuffer>>& known = kept_[layer];
        std::erase_if(known, [](auto const& each) { return each.expired(); });
        for (auto const& each : known) {
            const Kept other = each.lock();
            const bool fits = other && packed.size() <= other->size();
            if (!fits || std::memcmp(other->data(), packed.data(), packed.size() * sizeof(float)) != 0) continue;
            std::erase(spare_, other);
            return other;
        }
        Kept kept = std::make_shared<const AlignedBuffer>(std::move(packed));
        known.push_back(kept);
        return kept;
    }
    [[nodiscard]] static std::size_t bytes_of(Kept const& kept) { return kept ? kept->size() * sizeof(float) : 0; }
    [[nodiscard]] static std::size_t bytes_of(std::weak_ptr<const AlignedBuffer> const& kept) {
        return bytes_of(kept.lock());
    }
    template <class Range>
    [[nodiscard]] static std::size_t bytes_of(Range const& all) {
        std::size_t bytes = 0;
        for (auto const& each : all) bytes += bytes_of(each);
        return bytes;
    }

    const std::size_t most_spare_;
    mutable std::mutex mutex_;
    std::map<std::string, std::vector<std::weak_ptr<const AlignedBuffer>>> kept_;
    std::map<std::string, std::vector<Keyed>> keyed_;
    std::deque<Kept> spare_;  // those released last at the end
    Counts counts_;
};

/// The weights of the programs of a room.
enum class RoomWeights {
    of_one_network,  ///< the same for all: one that needs them packed as another did takes what the other packed
    of_parts,        ///< those of several parts of a network: what they pack is compared
};

/// Memory shared by programs of which no two run at a time: one arena, and packed weights, which programs elsewhere may
/// share. It must outlive them.
class SharedRoom {
public:
    /// Throws std::bad_alloc.
    explicit SharedRoom(std::size_t arena_bytes, std::shared_ptr<WeightStore> weights = std::make_shared<WeightStore>(),
                        RoomWeights which = RoomWeights::of_one_network)
        : SharedRoom(std::make_shared<AlignedBuffer>(floats_for_bytes(arena_bytes)), std::move(weights), which) {}
    SharedRoom(SharedRoom const&) = delete;
    SharedRoom& operator=(SharedRoom const&) = delete;
    ~SharedRoom() { weights_->release(std::move(held_)); }
    /// Returns a room with the same arena and the same packed weights, which holds only those of its own programs.
    [[nodiscard]] std::unique_ptr<SharedRoom> beside() const {
        return std::unique_ptr<SharedRoom>(new SharedRoom(arena_, weights_, which_));
    }

    [[nodiscard]] float* arena() noexcept { return arena_->data(); }
    [[nodiscard]] std::size_t arena_bytes() const { return arena_->size() * sizeof(float); }
    /// Replaces the arena, of rooms beside it too. Programs that use it must be rearranged then. Throws std::bad_alloc,
    /// and keeps the arena then.
    void replace_arena(std::size_t bytes) { *arena_ = AlignedBuffer(floats_for_bytes(bytes)); }

    /// Keeps what was packed of a layer's weights; see WeightStore::keep.
    [[nodiscard]] const float* keep(std::string const& layer, AlignedBuffer packed) {
        return held_.emplace_back(weights_->keep(layer, std::move(packed)))->data();
    }
    /// Returns and holds the weights of this key, if somebody packed them; see WeightStore::find.
    [[nodiscard]] std::optional<WeightStore::Packed> find(PackedKey const& key) {
        if (which_ == RoomWeights::of_parts) return std::nullopt;
        const std::optional<WeightStore::Packed> found = weights_->find(key);
        if (found) hold(*found);
        return found;
    }
    WeightStore::Packed keep(PackedKey const& key, AlignedBuffer kernel, AlignedBuffer bias, double seconds) {
        WeightStore::Packed kept = weights_->keep(key, std::move(kernel), std::move(bias), seconds);
        hold(kept);
        return kept;
    }
    /// Bytes of all weights that it shares.
    [[nodiscard]] std::size_t weight_bytes() const { return weights_->bytes(); }
    /// Those of a layer.
    [[nodiscard]] std::size_t weight_bytes(std::string const& layer) const { return weights_->bytes(layer); }

private:
    SharedRoom(std::shared_ptr<AlignedBuffer> arena, std::shared_ptr<WeightStore> weights, RoomWeights which)
        : arena_(std::move(arena)), weights_(std::move(weights)), which_(which) {}
    void hold(WeightStore::Packed const& packed) {
        held_.push_back(packed.kernel);
        if (packed.bias) held_.push_back(packed.bias);
    }

    std::shared_ptr<AlignedBuffer> arena_;
    std::shared_ptr<WeightStore> weights_;
    RoomWeights which_;
    std::vector<WeightStore::Kept> held_;
};

}  // namespace primsel::inline PRIMSEL_ABI
