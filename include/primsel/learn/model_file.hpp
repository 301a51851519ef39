// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/io/file.hpp>
#include <primsel/learn/trained_model.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Writes a model, as write_file does: whole or not at all. Throws error, naming the file, when it cannot be written
/// or holds what is not finite.
inline void write_model(std::string const& path, TrainedModel const& model) { write_file(path, to_bytes(path, model)); }

/// Reads a model that write_model wrote. Throws error as read_file and parse_model do.
[[nodiscard]] inline TrainedModel read_model(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_model(path, file.bytes);
}

/// The cost model in a file that write_model wrote, of any regression or of the one that it must be. Throws error as
/// read_model does, and when it holds another kind of regression.
template <Regression R = AnyRegression>
[[nodiscard]] LearnedCost<R> read_learned_cost(std::string const& path) {
    TrainedModel model = read_model(path);
    try {
        return learned_cost<R>(std::move(model));
    } catch (error const& fault) {
        fail(path, ": ", std::string_view(fault.what()));
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
