// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/cost/trained_model.hpp>
#include <primsel/io/file.hpp>

#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// Writes a model, as write_file does: whole or not at all. Throws error, naming the file, when it cannot be written
/// or holds what is not finite.
inline void write_model(std::string const& path, TrainedModel const& model) { write_file(path, to_bytes(path, model)); }

/// Reads a model that write_model wrote. Throws error as read_file and parse_model do.
[[nodiscard]] inline TrainedModel read_model(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_model(path, file.bytes);
}

}  // namespace primsel::inline PRIMSEL_ABI
