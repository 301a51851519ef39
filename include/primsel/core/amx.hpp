// The matrix unit of some processors: eight tiles of 16 rows of 64 bytes.
#pragma once

#include <primsel/core/config.hpp>

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__)
#define PRIMSEL_HAS_AMX 1
#include <immintrin.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#else
#define PRIMSEL_HAS_AMX 0
#endif

#include <cstdint>

namespace primsel::inline PRIMSEL_ABI::core {

/// Returns whether this process may use the matrix unit. Linux is asked at the first call; elsewhere it is left alone.
[[nodiscard]] inline bool may_use_amx() noexcept {
#if PRIMSEL_HAS_AMX && defined(__linux__)
    constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    static const bool allowed = ::syscall(SYS_arch_prctl, request, tile_data) == 0;
    return allowed;
#else
    return false;
#endif
}

/// The sizes of the tiles of a product: sums in tiles 0 to 3, rows of the first matrix in tiles 4 and 5, of the second
/// in tiles 6 and 7.
struct AmxTiles {
    int rows = 0;   ///< of a tile of the first matrix, at most 16
    int words = 0;  ///< of 4 bytes, of a row of the first matrix, at most 16
    friend bool operator==(AmxTiles const&, AmxTiles const&) = default;
};

#if PRIMSEL_HAS_AMX
/// Has all that was written before in memory. g++ does not know that loads of tiles, and of their sizes, read memory.
PRIMSEL_INLINE void seen_by_tiles() noexcept { asm volatile("" : : : "memory"); }

/// The calling thread's tiles, while this lives.
class AmxScope {
public:
    /// Does nothing for tiles without rows.
    explicit AmxScope(AmxTiles tiles) noexcept : used_(tiles.rows != 0) {
        if (!used_) return;
        struct alignas(64) {
            std::uint8_t palette = 1, start = 0, reserved[14]{};
            std::uint16_t row_bytes[16]{};
            std::uint8_t rows[16]{};
        } config;
        for (int i = 0; i < 8; ++i) {
            config.row_bytes[i] = static_cast<std::uint16_t>(i == 4 || i == 5 ? 4 * tiles.words : 64);
            config.rows[i] = static_cast<std::uint8_t>(i < 6 ? tiles.rows : tiles.words);
        }
        seen_by_tiles();
        _tile_loadconfig(&config);
    }
    AmxScope(AmxScope const&) = delete;
    AmxScope& operator=(AmxScope const&) = delete;
    ~AmxScope() {
        if (used_) _tile_release();
    }

private:
    bool used_;
};
#else
class AmxScope {
public:
    explicit AmxScope(AmxTiles) noexcept {}
};
#endif

}  // namespace primsel::inline PRIMSEL_ABI::core
