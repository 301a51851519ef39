#pragma once

#include <primsel/kernels/kernels.hpp>
#include <primsel/network/fingerprint.hpp>

#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// Returns a 64-bit FNV-1a hash, as sixteen hexadecimal digits, of the primitives with their layouts and of the
/// layouts.
[[nodiscard]] inline std::string fingerprint(Kernels const& kernels) {
    network::Fingerprint print;
    for (PrimitiveEntry const& entry : kernels.primitives)
        print.add(entry.id), print.add(entry.in_layout), print.add(entry.out_layout);
    for (LayoutEntry const& layout : kernels.layouts) print.add(layout.name);
    return print.text();
}

}  // namespace primsel::inline PRIMSEL_ABI
