#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/train/training_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A training between two updates: all that goes on to the same bits. train/checkpoint_file.hpp writes and reads it.
struct Checkpoint {
    /// The weights by their names, what the optimiser remembers of each as "optimizer/" and its name, and the best
    /// weights as "best/" and their names.
    Weights tensors;
    /// How far the training is, and what else the bits depend on.
    std::map<std::string, std::string, std::less<>> facts;
    /// The plan of a step. Another plan may round otherwise, and a machine is not measured the same twice.
    std::optional<Plan> plan{};
};

namespace train {

/// The options that decide the bits of a training. The patience is left out; the number of epochs counts for the
/// schedule.
[[nodiscard]] inline std::map<std::string, std::string, std::less<>> facts_of(TrainingOptions const& options) {
    std::map<std::string, std::string, std::less<>> facts{
        {"batch", core::exact_text(options.batch)},
        {"images at once", core::exact_text(options.images_at_once())},
        {"epochs", core::exact_text(options.epochs)},
        {"learning rate", core::exact_text(options.learning_rate)},
        {"weight decay", core::exact_text(options.weight_decay)},
        {"length of gradients", core::exact_text(options.clip_norm)},
        {"seed", core::exact_text(options.seed)},
    };
    if (options.statistics_momentum) {
        facts.emplace("momentum of statistics", core::exact_text(*options.statistics_momentum));
    }
    std::string groups;
    for (WeightGroup const& group : options.groups) {
        groups += join(group.pattern, " x ", core::exact_text(group.rate));
        if (group.weight_decay) groups += " decay " + core::exact_text(*group.weight_decay);
        groups += "; ";
    }
    facts.emplace("groups of weights", groups);
    std::string fixed;
    for (auto const& [name, positions] : options.fixed) fixed += join(positions.size(), " of ", name, "; ");
    if (!fixed.empty()) facts.emplace("values that stay", fixed);
    return facts;
}

/// Whether both compute every layer alike.
[[nodiscard]] inline bool same_choices(Plan const& a, Plan const& b) {
    return std::ranges::equal(a.layers, b.layers, [](PlannedLayer const& left, PlannedLayer const& right) {
        return left.name == right.name && left.primitive == right.primitive && left.in_layout == right.in_layout &&
               left.out_layout == right.out_layout;
    });
}

/// A plan that is known, where it was made for this, or else one that the policies' model predicts.
struct KnownOrPredicted : Predict<> {
    explicit KnownOrPredicted(std::optional<Plan> plan) : known(std::move(plan)) {}
    std::optional<Plan> known;
};

/// Reads a checkpoint, with errors that name it.
class CheckpointReader {
public:
    explicit CheckpointReader(Checkpoint const& checkpoint) : checkpoint_(checkpoint) {}

    /// Throws error when it was made with something else.
    void require(std::string_view what, std::string_view here) const {
        if (const std::string_view there = text(what); there != here) {
            fail(name(), ": its ", what, " is ", there, ", here ", here);
        }
    }
    template <class Number>
    [[nodiscard]] Number number(std::string_view what) const {
        const std::string_view from = text(what);
        Number result{};
        if (!read_number(from, result)) fail(name(), ": its ", what, " is ", from, ", which is no such number");
        return result;
    }
    /// As many values as expected.
    [[nodiscard]] std::span<const float> values(std::string const& tensor, std::size_t count) const {
        const WeightTensor* found = checkpoint_.tensors.find(tensor);
        if (found == nullptr) fail(name(), ": ", tensor, " is missing");
        if (found->values.size() != count) {
            fail(name(), ": ", tensor, " has ", found->values.size(), " values, here ", count);
        }
        return found->values;
    }

private:
    [[nodiscard]] std::string const& name() const { return checkpoint_.tensors.source(); }
    [[nodiscard]] std::string_view text(std::string_view what) const {
        const auto found = checkpoint_.facts.find(what);
        if (found == checkpoint_.facts.end()) fail(name(), ": no checkpoint of a training: it does not say its ", what);
        return found->second;
    }

    Checkpoint const& checkpoint_;
};

}  // namespace train

}  // namespace primsel::inline PRIMSEL_ABI
