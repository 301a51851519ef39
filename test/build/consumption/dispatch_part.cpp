#include <primsel/core/simd.hpp>

extern "C" int most_lanes() { return primsel::lanes<primsel::default_arch>; }
