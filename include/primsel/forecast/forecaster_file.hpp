#pragma once

#include <primsel/forecast/forecaster.hpp>
#include <primsel/io/file.hpp>

#include <string>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// Writes a forecaster, as write_file does: whole or not at all.
template <class Policies>
void write_forecaster(std::string const& path, Forecaster<Policies> const& forecaster) {
    write_file(path, to_bytes(path, forecaster));
}
/// Reads a forecaster that write_forecaster wrote. Throws error as read_file and parse_forecaster do.
template <class Policies = DefaultForecast>
[[nodiscard]] Forecaster<Policies> read_forecaster(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_forecaster<Policies>(path, file.bytes);
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
