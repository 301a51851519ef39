#pragma once

#include <primsel/core/aligned_buffer.hpp>

#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Memory shared by programs of which no two run at a time: one arena, and one copy of weights that several packed
/// alike. It must outlive them.
class SharedRoom {
public:
    /// Throws std::bad_alloc.
    explicit SharedRoom(std::size_t arena_bytes) : arena_(floats_for_bytes(arena_bytes)) {}

    [[nodiscard]] float* arena() noexcept { return arena_.data(); }
    [[nodiscard]] std::size_t arena_bytes() const { return arena_.size() * sizeof(float); }

    /// Replaces the arena. Programs that use it must be rearranged then. Throws std::bad_alloc.
    void replace_arena(std::size_t bytes) {
        arena_ = AlignedBuffer();
        arena_ = AlignedBuffer(floats_for_bytes(bytes));
    }

    /// Keeps what was packed of a layer's weights, or, where it has something of the same layer that begins with the
    /// same bytes, gives that. Those who pack the most come first.
    [[nodiscard]] const float* keep(std::string const& layer, AlignedBuffer packed) {
        std::vector<AlignedBuffer>& known = kept_[layer];
        for (AlignedBuffer const& other : known) {
            const bool fits = packed.size() <= other.size();
            if (fits && std::memcmp(other.data(), packed.data(), packed.size() * sizeof(float)) == 0) {
                return other.data();
            }
        }
        weight_bytes_ += packed.size() * sizeof(float);
        return known.emplace_back(std::move(packed)).data();
    }
    /// Bytes of all weights that it keeps.
    [[nodiscard]] std::size_t weight_bytes() const { return weight_bytes_; }
    /// Bytes that it keeps of a layer.
    [[nodiscard]] std::size_t weight_bytes(std::string const& layer) const {
        std::size_t bytes = 0;
        if (const auto found = kept_.find(layer); found != kept_.end()) {
            for (AlignedBuffer const& each : found->second) bytes += each.size() * sizeof(float);
        }
        return bytes;
    }

private:
    AlignedBuffer arena_;
    std::map<std::string, std::vector<AlignedBuffer>> kept_;
    std::size_t weight_bytes_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
