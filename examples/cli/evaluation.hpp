// Datasets that models are trained on and judged by, and how far off the models are.
#pragma once

#include "text.hpp"

#include <primsel/learn/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

/// Of every command that learns: --seed, --threads and --json.
void add_learning_options(CLI::App& command, std::uint64_t& seed, std::size_t& threads, bool& json);

/// Times of primitives (c, k, im, f, s) or of changes of layout (c, im). Throws error when the file has no such.
[[nodiscard]] ps::Dataset read_times(std::string const& path, bool layouts);
/// Throws error when one was measured with the kernels of another instruction set than the other.
void require_same_arch(std::string const& path, ps::Dataset const& data, std::string const& other_path,
                       ps::Dataset const& other);

/// The subjects at those positions only.
[[nodiscard]] ps::Dataset with_subjects(ps::Dataset const& data, std::vector<std::size_t> const& subjects);
/// Those subjects, without times for what was not measured.
[[nodiscard]] ps::Dataset with_subjects(ps::Dataset const& data, std::vector<std::string> const& subjects);
/// The families of primitives; changes of layout are all alike.
[[nodiscard]] std::vector<std::string> labels_of(std::vector<std::string> const& subjects, bool layouts);

/// Without the subjects that were never measured and the changes from a layout to itself.
[[nodiscard]] ps::Dataset without_idle(ps::Dataset const& data);

/// Tells a dataset's rows from others: a checksum of them.
[[nodiscard]] std::string fingerprint(ps::Dataset const& data);

/// evaluate(), but for what was not predicted (NaN).
struct Judgement {
    ps::Evaluation errors;
    std::size_t rows = 0;
    /// Measurements without a prediction.
    std::size_t not_predicted = 0;
};
[[nodiscard]] Judgement judge(ps::Dataset measured, ps::Table predicted);

[[nodiscard]] ps::Json to_json(Judgement const& judgement);
/// A heading, the errors of all and of families; of each subject if asked for.
[[nodiscard]] std::string to_text(std::string const& what, Judgement const& judgement, bool subjects);

}  // namespace cli
