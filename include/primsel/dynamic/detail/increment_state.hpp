#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/dynamic/incremental_options.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/train/checkpoint.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// The numbers as text that reads back to the same bits, separated by spaces.
[[nodiscard]] inline std::string exact_texts(std::vector<double> const& numbers) {
    std::string text;
    for (const double number : numbers) text += (text.empty() ? "" : " ") + core::exact_text(number);
    return text;
}

/// The state of an incremental training, without the trainer of the present attempt.
struct IncrementState {
    /// A model that the step may end with.
    struct Candidate {
        /// Weights of the whole network.
        Weights weights;
        /// Validation accuracies of all sub-networks up to the one that is trained.
        std::vector<double> accuracies;
        bool limit_kept = true;
        /// The largest loss of accuracy of an earlier sub-network.
        double worst_loss = 0;

        [[nodiscard]] bool better_than(Candidate const& other) const {
            if (limit_kept != other.limit_kept) return limit_kept;
            return limit_kept ? accuracies.back() > other.accuracies.back() : worst_loss < other.worst_loss;
        }
    };

    int step = 1, attempt = 1;
    bool in_attempt = false;
    /// Weights of the whole network after the last finished step.
    Weights base;
    std::optional<Candidate> candidate;
    std::vector<Increment> increments;

    void write(Checkpoint& to) const {
        const auto add = [&](std::string const& prefix, Weights const& weights) {
            for (auto const& [name, tensor] : weights) to.tensors.add(prefix + name, tensor);
        };
        add("whole/", base);
        to.facts.insert_or_assign("increment", core::exact_text(step));
        to.facts.insert_or_assign("attempt", core::exact_text(attempt));
        to.facts.insert_or_assign("in an attempt", in_attempt ? "yes" : "no");
        to.facts.insert_or_assign("has a model", candidate ? "yes" : "no");
        if (candidate) {
            add("model/", candidate->weights);
            to.facts.insert_or_assign("model", exact_texts(candidate->accuracies));
            to.facts.insert_or_assign("model's limit", candidate->limit_kept ? "yes" : "no");
            to.facts.insert_or_assign("model's loss", core::exact_text(candidate->worst_loss));
        }
        for (Increment const& done : increments) {
            const std::string name = join("increment ", done.configuration);
            to.facts.insert_or_assign(name, exact_texts(done.accuracies));
            to.facts.insert_or_assign(name + " attempts", core::exact_text(done.attempts));
            to.facts.insert_or_assign(name + " target", done.target_met ? "yes" : "no");
            to.facts.insert_or_assign(name + " limit", done.limit_kept ? "yes" : "no");
        }
    }

    /// Throws error, naming the checkpoint, if it is no incremental training of this graph in this number of steps.
    [[nodiscard]] static IncrementState read(Checkpoint const& from, Graph const& graph, std::size_t steps) {
        const train::CheckpointReader reader(from);
        IncrementState state;
        state.step = reader.number<int>("increment");
        state.attempt = reader.number<int>("attempt");
        if (state.step < 1 || state.step > static_cast<int>(steps) + 1 || state.attempt < 1) {
            fail(from.tensors.source(), ": it is in increment ", state.step, " of ", steps, ", attempt ",
                 state.attempt);
        }
        state.in_attempt = is(from, "in an attempt");
        const auto weights = [&](std::string const& prefix) {
            Weights read(from.tensors.source());
            for (WeightSpec const& spec : weight_specs(graph)) {
                const WeightTensor* tensor = from.tensors.find(prefix + spec.name);
                if (tensor == nullptr) fail(from.tensors.source(), ": ", prefix, spec.name, " is missing");
                read.add(spec.name, *tensor);
            }
            check_weights(graph, read);
            return read;
        };
        state.base = weights("whole/");
        if (is(from, "has a model")) {
            state.candidate = Candidate{weights("model/"), numbers(from, "model", state.step),
                                        is(from, "model's limit"), reader.number<double>("model's loss")};
        }
        for (int done = 1; done < state.step; ++done) {
            const std::string name = join("increment ", done);
            state.increments.push_back({done, reader.number<int>(name + " attempts"), numbers(from, name, done),
                                        is(from, name + " target"), is(from, name + " limit")});
        }
        if (state.in_attempt && state.step > static_cast<int>(steps)) {
            fail(from.tensors.source(), ": an attempt after the last increment");
        }
        return state;
    }

private:
    [[nodiscard]] static bool is(Checkpoint const& from, std::string const& what) {
        const auto found = from.facts.find(what);
        return found != from.facts.end() && found->second == "yes";
    }
    [[nodiscard]] static std::vector<double> numbers(Checkpoint const& from, std::string const& what, int count) {
        const auto found = from.facts.find(what);
        std::vector<double> numbers;
        if (found != from.facts.end()) {
            double number = 0;
            core::Pieces pieces(found->second, ' ');
            for (std::string_view text; pieces.next(text);) {
                if (read_number(text, number)) numbers.push_back(number);
            }
        }
        if (numbers.size() != static_cast<std::size_t>(count)) {
            fail(from.tensors.source(), ": its ", what, " has ", numbers.size(), " accuracies, not ", count);
        }
        return numbers;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
