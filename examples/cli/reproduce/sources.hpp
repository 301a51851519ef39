// Intel's models, from which those of AMD start: each is fitted when it is first asked for, and kept.
#pragma once

#include "models.hpp"

#include <memory>
#include <mutex>
#include <optional>

namespace cli::reproduce {

class Sources {
public:
    Sources(World const& world, Effort const& effort);
    Sources(Sources const&) = delete;
    Sources& operator=(Sources const&) = delete;

    /// Intel's NN2, with Intel's targets; from any thread.
    [[nodiscard]] ps::Mlp const& nn2();
    /// NN2 or ours, with AMD's targets.
    [[nodiscard]] AnyModel regression(Kind kind);
    /// A model of Intel's targets as one of AMD's.
    [[nodiscard]] AnyModel of_amd(AnyModel intel) const;
    /// AMD's targets among Intel's; NaN for those that AMD has not.
    [[nodiscard]] ps::Table among_intel(ps::Table const& amd) const;

    [[nodiscard]] World const& world() const { return world_; }
    [[nodiscard]] Effort const& effort() const { return effort_; }
    [[nodiscard]] ps::Split const& split() const { return split_; }

private:
    World const& world_;
    Effort effort_;
    ps::Split split_;
    /// Of each of AMD's targets its position among Intel's.
    std::vector<std::size_t> positions_;
    std::once_flag nn2_once_, ours_once_;
    std::optional<ps::Mlp> nn2_;
    std::optional<AnyModel> nn2_regression_, ours_;
};

}  // namespace cli::reproduce
