#pragma once

// Profiles as machines: what was measured there, as a cost model, and what a model of one machine guesses of another.
#include <primsel/core/error.hpp>
#include <primsel/cost/learned_cost.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/learn/fit_model.hpp>
#include <primsel/learn/recorded.hpp>
#include <primsel/measure/corrected.hpp>
#include <primsel/measure/refine.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/pbqp/exact.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ps = primsel;

namespace machines {

/// The measured times, as a cost model. A 1x1 convolution with a stride that was not measured has the time of the same
/// one with stride 1.
class Records {
public:
    static constexpr std::string_view name = "records";

    explicit Records(ps::learn::Profile const& profile)
        : recorded_(std::make_shared<const ps::learn::Recorded>(profile.primitives.data, profile.layouts->data)) {
        for (std::size_t row = 0; row < profile.primitives.data.rows(); ++row) {
            const ps::ConvShape shape = profile.primitives.data.conv(row);
            strided_shortcuts_ = strided_shortcuts_ || (shape.fh == 1 && shape.stride_h > 1);
        }
    }
    [[nodiscard]] ps::ConvShape as_measured(ps::ConvShape shape) const {
        if (!strided_shortcuts_ && shape.fh == 1 && shape.fw == 1) shape.stride_h = shape.stride_w = 1;
        shape.pad_top = shape.pad_bottom = shape.fh / 2;
        shape.pad_left = shape.pad_right = shape.fw / 2;
        return shape;
    }
    [[nodiscard]] std::vector<ps::ConvQuery> as_measured(std::span<const ps::ConvQuery> queries) const {
        std::vector<ps::ConvQuery> result(queries.begin(), queries.end());
        for (ps::ConvQuery& query : result) query.shape = as_measured(query.shape);
        return result;
    }
    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        recorded_->predict(kernels, std::span<const ps::ConvQuery>(as_measured(queries)), seconds);
    }
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) const {
        recorded_->predict(kernels, queries, seconds);
    }

private:
    std::shared_ptr<const ps::learn::Recorded> recorded_;
    bool strided_shortcuts_ = false;
};

/// Another machine's model, of what there are records to judge it by. What it does not know is beyond reach.
class Guess {
public:
    static constexpr std::string_view name = "guess";

    Guess(ps::Trained<ps::learn::AnyRegression> const& trained, Records records)
        : subjects_(trained.subjects), learned_(trained, records), records_(std::move(records)) {}

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = of_all(kernels, queries[i].shape)[queries[i].primitive];
        }
    }
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        records_.predict(kernels, queries, seconds);
    }

private:
    /// The times of all primitives, computed once a configuration, because a plan asks again and again.
    std::vector<double> const& of_all(ps::Kernels const& kernels, ps::ConvShape const& shape) {
        const auto found = std::ranges::find(known_, shape, &std::pair<ps::ConvShape, std::vector<double>>::first);
        if (found != known_.end()) return found->second;
        std::vector<ps::ConvQuery> queries;
        for (std::size_t p = 0; p < kernels.primitives.size(); ++p) {
            if (kernels.primitives[p].supports(shape)) queries.push_back({shape, p});
        }
        std::vector<double> recorded(queries.size()), learned(queries.size());
        records_.predict(kernels, std::span<const ps::ConvQuery>(queries), std::span(recorded));
        learned_.predict(kernels, std::span<const ps::ConvQuery>(records_.as_measured(queries)), std::span(learned));
        std::vector<double> all(kernels.primitives.size(), ps::learn::Recorded::beyond);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            const std::size_t p = queries[i].primitive;
            const bool known = std::ranges::count(subjects_, kernels.primitives[p].id) > 0 && std::isfinite(learned[i]);
            if (known && recorded[i] < ps::learn::Recorded::beyond) all[p] = learned[i];
        }
        return known_.emplace_back(shape, std::move(all)).second;
    }

    std::vector<std::string> subjects_;
    ps::LearnedCost<ps::learn::AnyRegression, Records> learned_;
    Records records_;
    std::vector<std::pair<ps::ConvShape, std::vector<double>>> known_;
};

struct Machine {
    std::string name;
    ps::learn::Profile profile;
    ps::Trained<ps::learn::AnyRegression> model;
};

inline std::string layouts_path(std::string const& path) {
    const std::string suffix = "_primitives.csv";
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size()) + "_layouts.csv";
    return path.substr(0, path.rfind(".csv")) + "-layouts.csv";
}

inline Machine read_machine(std::string const& path, ps::ExecutorRef executor) {
    constexpr std::size_t most = 800;  // rows to learn from
    Machine machine{.name = path.substr(path.rfind('/') + 1),
                    .profile = ps::learn::read_profile(path, layouts_path(path)),
                    .model = {}};
    machine.name.resize(machine.name.find_first_of("_."));
    ps::learn::Profile some = machine.profile;
    std::vector<std::size_t> rows = ps::learn::shuffled(some.primitives.data.rows(), 1);
    rows.resize(std::min(rows.size(), most));
    some.primitives.data = some.primitives.data.select(rows);
    some.layouts.reset();
    machine.model = ps::learn::fit_model(some, {}, executor).model.primitives;
    return machine;
}

/// The primitives that the profile has.
inline ps::Kernels kernels_of(ps::learn::Profile const& profile, std::vector<ps::PrimitiveEntry>& entries) {
    ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    for (ps::PrimitiveEntry const& entry : kernels.primitives) {
        if (profile.primitives.data.find(entry.id) < profile.primitives.data.subjects.size()) entries.push_back(entry);
    }
    kernels.primitives = entries;
    return kernels;
}

/// The records of what another machine's model knows.
class Judged {
public:
    static constexpr std::string_view name = "judged";

    Judged(Guess guess, Records records) : guess_(std::move(guess)), records_(std::move(records)) {}

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) {
        std::vector<double> guessed(queries.size());
        guess_.predict(kernels, queries, std::span(guessed));
        records_.predict(kernels, queries, seconds);
        for (std::size_t i = 0; i < guessed.size(); ++i) {
            if (guessed[i] >= ps::learn::Recorded::beyond) seconds[i] = ps::learn::Recorded::beyond;
        }
    }
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        records_.predict(kernels, queries, seconds);
    }

private:
    Guess guess_;
    Records records_;
};

/// Some of a profile's convolutions, as a network without connections.
inline ps::Graph convolutions_of(ps::learn::Profile const& profile, std::size_t most) {
    ps::Graph graph;
    std::vector<std::size_t> rows = ps::learn::shuffled(profile.primitives.data.rows(), 1);
    rows.resize(std::min(rows.size(), most));
    for (const std::size_t row : rows) {
        const ps::ConvShape shape = profile.primitives.data.conv(row);
        const std::size_t input = graph.add(ps::join("input", row), ps::InputParams{shape.in_shape()}, {});
        graph.add(
            ps::join("conv", row),
            ps::ConvParams{
                .k = shape.k, .kernel = shape.fh, .stride = shape.stride_h, .padding = shape.pad_top, .bias = false},
            {input});
    }
    return graph;
}

/// Refines a guess by records, until it settles or so many have been looked up; calls each(query) for each of them.
template <class Each>
ps::measure::Refinement refine_by(Records const& truth, ps::Graph const& graph, ps::Kernels const& kernels,
                                  ps::measure::Corrected<Guess>& model, std::size_t most, Each&& each) {
    const auto measure = [&](ps::ConvQuery const& query) {
        double seconds = 0;
        truth.predict(kernels, std::span(&query, 1), std::span(&seconds, 1));
        each(query);
        return ps::measure::Measurement{.seconds = seconds, .spent = 0};
    };
    return ps::measure::refine(graph, kernels, model, ps::ExactPbqp{}, measure,
                               {.seconds = std::numeric_limits<double>::infinity(), .most = most});
}

/// All there are records of and that a guess knows: what it deviates by, the logarithm of recorded over guessed.
template <class Each>
void each_deviation(ps::Graph const& graph, ps::Kernels const& kernels, Guess& guess, Records const& truth,
                    Each&& each) {
    std::vector<ps::ConvShape> shapes;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (!std::holds_alternative<ps::ConvParams>(graph[i].layer)) continue;
        const ps::ConvShape shape = ps::conv_shape_of(graph, i);
        if (std::ranges::find(shapes, shape) != shapes.end()) continue;
        shapes.push_back(shape);
        for (std::size_t p = 0; p < kernels.primitives.size(); ++p) {
            const ps::ConvQuery query{shape, p};
            if (!kernels.primitives[p].supports(shape)) continue;
            double recorded = 0, guessed = 0;
            truth.predict(kernels, std::span(&query, 1), std::span(&recorded, 1));
            guess.predict(kernels, std::span(&query, 1), std::span(&guessed, 1));
            if (recorded >= ps::learn::Recorded::beyond || guessed >= ps::learn::Recorded::beyond) continue;
            each(query, guessed, std::log(recorded / guessed));
        }
    }
}

}  // namespace machines
