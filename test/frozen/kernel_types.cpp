// Types as C++ names them.
#include <primsel/engine/low_precision.hpp>
#include <primsel/frozen/kernel_types.hpp>

#include <doctest/doctest.h>

#include <string>

namespace frozen_kernel_types {

namespace ps = primsel;

TEST_CASE("a type's text names no instruction set") {
    CHECK(ps::frozen::type_text<ps::chw>() == "primsel::chw");
    CHECK(ps::frozen::type_text<ps::DirectHwc>() == "primsel::DirectHwc");
    CHECK(ps::frozen::type_text<ps::PoolKind>() == "primsel::PoolKind");
    const ps::frozen::KernelTypes types = ps::frozen::kernel_types<ps::EveryPrimitive, ps::EveryLayout>();
    CHECK(types.primitives.size() == ps::EveryPrimitive::size);
    CHECK(types.layouts[4] == "primsel::hwc_u8");
    for (auto const& [id, type] : types.primitives) {
        CHECK(type.starts_with("primsel::"));
        CHECK(type.find(PRIMSEL_ABI_TEXT) == std::string::npos);
    }
}

}  // namespace frozen_kernel_types
