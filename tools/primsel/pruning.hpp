// Options of the commands that prune: which filters are ranked, and by what.
#pragma once

#include "labelled_images.hpp"
#include "model.hpp"

#include <primsel/prune/coupling.hpp>
#include <primsel/prune/ranking.hpp>
#include <primsel/prune/surgery.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

struct RankingOptions {
    std::string criterion = "l1", type = "filters";
    /// The images that Taylor's criterion is measured on.
    ImageFiles data;
    std::size_t batches = 16;
};

/// --criterion, --type, and where images are not asked for anyway, --images and others for Taylor's criterion.
void add_ranking_options(CLI::App& command, RankingOptions& options, bool with_images);

/// A network whose filters are to go: its reshapes and transposes are joined, so that what they do to channels is
/// known. Throws error.
[[nodiscard]] Model load_to_prune(ModelOptions const& options);

/// The model's filters, by the criterion. Throws error.
[[nodiscard]] std::vector<ps::prune::Ranking> rankings_of(Model const& model, ModelOptions const& from,
                                                          ps::prune::Coupling const& coupling,
                                                          RankingOptions const& options);

/// Whether one of its layers has such a name, or its weight has: * stands for any characters.
[[nodiscard]] bool fits(std::string const& pattern, ps::prune::Ranking const& ranking);
/// Throws error where the pattern fits none of them, and says which name is nearest.
void check_fits(std::string const& option, std::string const& pattern, std::span<const ps::prune::Ranking> rankings);

}  // namespace cli
