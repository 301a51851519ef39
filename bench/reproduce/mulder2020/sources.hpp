// The source's models, from which those of the target start: each is fitted when it is first asked for, and kept.
#pragma once

#include "models.hpp"

#include <memory>
#include <mutex>
#include <optional>

namespace reproduce {

class Sources {
public:
    Sources(World const& world, Effort const& effort);
    Sources(Sources const&) = delete;
    Sources& operator=(Sources const&) = delete;

    /// NN2 of the source's primitives; from any thread.
    [[nodiscard]] ps::learn::Mlp const& nn2();
    /// NN2 or ours, of the target's primitives.
    [[nodiscard]] AnyModel regression(Kind kind);
    /// A model of the source's primitives as one of the target's.
    [[nodiscard]] AnyModel of_target(AnyModel source) const;
    /// Times of the target's primitives among the source's; NaN for those that the target has not.
    [[nodiscard]] ps::FloatTable among_source(ps::FloatTable const& target) const;

    [[nodiscard]] World const& world() const { return world_; }
    [[nodiscard]] Effort const& effort() const { return effort_; }
    [[nodiscard]] ps::learn::Split const& split() const { return split_; }

private:
    World const& world_;
    Effort effort_;
    ps::learn::Split split_;
    /// The position of each of the target's primitives among the source's.
    std::vector<std::size_t> positions_;
    /// Those features as the source's models know them: Truth::as_measured.
    [[nodiscard]] ps::FloatTable as_source(ps::FloatTable const& features) const;

    std::once_flag nn2_once_, ours_once_;
    std::optional<ps::learn::Mlp> nn2_;
    std::optional<AnyModel> nn2_regression_, ours_;
};

}  // namespace reproduce
