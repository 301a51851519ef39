// expect: primsel: this network was frozen for another instruction set than this unit is compiled for
#include <primsel/frozen/frozen_engine.hpp>

struct Net {
#ifdef PRIMSEL_TEST_FIXED
    static constexpr primsel::frozen::WeightsKey weights_key{PRIMSEL_VERSION, primsel::frozen::arch_name, 0};
#else
    static constexpr primsel::frozen::WeightsKey weights_key{PRIMSEL_VERSION, "sse4_2_8086", 0};
#endif
    static constexpr std::size_t batch = 1, workers = 1, arena_bytes = 64, op_srcs = 0;
    static constexpr std::array<std::size_t, 0> image_bytes{}, weights{};
};

bool open(primsel::FrozenEngine<Net> const& engine) { return engine.is_open(); }
