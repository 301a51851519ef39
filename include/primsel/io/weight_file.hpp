#pragma once

#include <primsel/io/file.hpp>
#include <primsel/network/weights.hpp>

#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// Tells the weights that values of theirs are bytes of this file, if it is mapped.
inline void add_file(Weights& weights, SharedBytes const& file) {
    if (file.mapped == nullptr) return;
    weights.add_file({.check_unchanged = [mapped = file.mapped] { mapped->check_unchanged(); },
                      .release = [mapped = file.mapped](std::span<const std::byte> bytes) { mapped->release(bytes); }});
}

}  // namespace primsel::inline PRIMSEL_ABI
