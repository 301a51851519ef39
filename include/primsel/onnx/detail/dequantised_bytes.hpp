#pragma once

#include <primsel/network/stored_floats.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// The real numbers scale * (q - zero point) of bytes q, computed when somebody reads them: the bytes take a quarter of
/// the memory.
class DequantisedBytes final : public ValueFile {
public:
    /// Neighbours of which so many share a scale and a zero point; scales follow one another and begin again.
    struct Steps {
        std::size_t run = 0;
        std::vector<float> scales;
        std::vector<std::int32_t> zero_points;
    };
    /// `owner` keeps the bytes alive.
    DequantisedBytes(std::span<const std::byte> bytes, bool is_signed, std::shared_ptr<const void> owner, Steps steps)
        : bytes_(bytes), is_signed_(is_signed), owner_(std::move(owner)), steps_(std::move(steps)) {}

    void read(std::size_t offset, std::span<std::byte> dst) const override {
        std::size_t from = offset / sizeof(float);
        const std::size_t end = from + dst.size() / sizeof(float);
        std::byte* to = dst.data();
        while (from < end) {
            const std::size_t place = from / steps_.run % steps_.scales.size(),
                              count = std::min(steps_.run - from % steps_.run, end - from);
            const float scale = steps_.scales[place];
            const std::int32_t zero = steps_.zero_points[place];
            for (std::size_t i = 0; i < count; ++i, to += sizeof(float)) {
                const auto byte = std::to_integer<std::uint8_t>(bytes_[from + i]);
                const std::int32_t q = is_signed_ ? static_cast<std::int8_t>(byte) : std::int32_t{byte};
                const float value = static_cast<float>(q - zero) * scale;
                std::memcpy(to, &value, sizeof(float));
            }
            from += count;
        }
    }

private:
    std::span<const std::byte> bytes_;
    bool is_signed_;
    std::shared_ptr<const void> owner_;
    Steps steps_;
};

}  // namespace primsel::inline PRIMSEL_ABI::onnx
