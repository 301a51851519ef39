// Compiled without optimisation, where g++'s intrinsics are macros that take less: every op, and a primitive of each
// kind of vector.
#include <primsel/kernels/op_table.hpp>
#include <primsel/kernels/primitive_table.hpp>
#include <primsel/primitive/direct.hpp>
#include <primsel/primitive/winograd.hpp>

namespace ps = primsel;

ps::OpTable const& ops() { return ps::op_table<ps::default_arch, ps::hwc>; }
std::span<const ps::PrimitiveEntry> primitives() {
    return ps::primitive_table<ps::TypeList<ps::DirectHwc, ps::Winograd<2, 3, 16>>, ps::default_arch,
                               ps::TypeList<ps::chw, ps::hwc>>;
}
