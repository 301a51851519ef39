// The message of the error that a call throws.
#pragma once

#include <primsel/core/error.hpp>

#include <string>

namespace tests {

/// The message of the primsel::error that the call throws; empty when it throws none. Other exceptions pass.
template <class Call>
std::string error_of(Call const& call) {
    try {
        call();
    } catch (primsel::error const& error) {
        return error.what();
    }
    return {};
}

}  // namespace tests
