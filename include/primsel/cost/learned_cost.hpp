#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/table.hpp>

#include <algorithm>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Predicts a row of targets, logarithms of seconds, for each row of features; NaN for what it cannot tell.
template <class R>
concept Regression = requires(R const& regression, FloatTable const& features) {
    { regression.predict(features) } -> std::same_as<FloatTable>;
};

/// The size of a kernel and its stride.
struct KernelKind {
    int f = 1, s = 1;

    void archive(Archive& archive) { archive(f, s); }
    friend constexpr auto operator<=>(KernelKind const&, KernelKind const&) = default;
};

/// A regression and what its targets are called: ids of primitives, or changes of layout ("chw-to-hwc").
template <Regression R>
struct Trained {
    std::vector<std::string> subjects;
    R regression;
    /// Whether targets are log(seconds / seconds that LearnedCost's `Rest` predicts) instead of log(seconds).
    bool relative = false;
    /// For each subject the kinds of convolutions that it was measured by, sorted. LearnedCost asks `Rest` for others:
    /// what a regression says of a stride that it has never seen is no prediction. Empty: every kind is predicted.
    std::vector<std::vector<KernelKind>> kinds = {};

    [[nodiscard]] bool knows(std::size_t subject, ConvShape const& shape) const {
        return subject >= kinds.size() ||
               std::ranges::binary_search(kinds[subject], KernelKind{shape.fh, shape.stride_h});
    }
};
template <class R>
Trained(std::vector<std::string>, R) -> Trained<R>;
template <class R>
Trained(std::vector<std::string>, R, bool) -> Trained<R>;

/// A cost model that was learned from profiles. One regression predicts primitives from ConvFeatures; an optional
/// second one predicts layout transforms from LayoutFeatures. Each predict call evaluates the regression once, for all
/// distinct shapes. `Rest` predicts everything else: primitives that were not learned, grouped or dilated convolutions,
/// kernels with fh != fw, and other layers. If a regression is relative (Trained::relative), its prediction multiplies
/// that of `Rest`. Profiles are of one thread: on several, predictions change as those of `Rest` do.
template <Regression R, CostModel Rest = Analytical>
class LearnedCost {
public:
    static constexpr std::string_view name = "learned";
    /// Profiles hold times of one image with packed weights that are read from memory. They say nothing of these
    /// fields.
    static constexpr std::string_view ignores[] = {"packs", "layer_by_layer", "data_reuse_bytes", "weight_reuse_bytes",
                                                   "weight_reuse_operations"};

    explicit LearnedCost(Trained<R> primitives, Rest rest = Rest())
        : primitives_(std::move(primitives)), rest_(std::move(rest)) {}
    LearnedCost(Trained<R> primitives, Trained<R> layouts, Rest rest = Rest())
        : primitives_(std::move(primitives)), layouts_(std::move(layouts)), rest_(std::move(rest)) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) {
        std::vector<std::size_t> subject_of(kernels.primitives.size());
        for (std::size_t p = 0; p < subject_of.size(); ++p) {
            subject_of[p] = find(&primitives_, kernels.primitives[p].id);
        }
        Batch<ConvShape> batch(queries.size());
        for (std::size_t i = 0; i < queries.size(); ++i) {
            ConvShape const& shape = queries[i].shape;
            const std::size_t subject = subject_of[queries[i].primitive];
            if (shape.groups != 1 || shape.dilated() || shape.fh != shape.fw) continue;
            if (subject != none && primitives_.knows(subject, shape)) {
                batch.ask(i, subject, shape, queries[i].run.batch);
            }
        }
        answer(kernels, batch, &primitives_, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) {
        const Trained<R>* layouts = layouts_ ? &*layouts_ : nullptr;
        Batch<Shape> batch(queries.size());
        for (std::size_t i = 0; i < queries.size(); ++i) {
            TransformQuery const& query = queries[i];
            const std::size_t subject =
                find(layouts, join(kernels.layouts[query.from].name, "-to-", kernels.layouts[query.to].name));
            if (subject != none) batch.ask(i, subject, query.shape, query.run.batch);
        }
        answer(kernels, batch, layouts, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
        rest_.predict(kernels, queries, seconds);
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    [[nodiscard]] static auto features(ConvShape const& shape) { return ConvFeatures::of(shape); }
    [[nodiscard]] static auto features(Shape const& shape) {
        return LayoutFeatures::of(shape.c, std::sqrt(static_cast<double>(shape.pixels())));
    }
    /// The distinct shapes of the queries, their features (a row each), and the row and subject that answer each query.
    template <class Asked>
    struct Batch {
        struct Question {
            std::size_t row = none, subject = 0;
            int images = 1;
        };
        explicit Batch(std::size_t count) : questions(count) {}

        void ask(std::size_t question, std::size_t subject, Asked const& shape, int images) {
            // Searches from the end: a network's queries for all primitives of one layer follow each other.
            const auto found = std::find(shapes.rbegin(), shapes.rend(), shape);
            std::size_t row = static_cast<std::size_t>(shapes.rend() - found) - 1;
            if (found == shapes.rend()) {
                row = shapes.size();
                shapes.push_back(shape);
                const auto values = features(shape);
                rows.columns = values.size();
                rows.values.insert(rows.values.end(), values.begin(), values.end());
            }
            questions[question] = {row, subject, images};
        }
        std::vector<Question> questions;
        std::vector<Asked> shapes;
        FloatTable rows;
    };

    [[nodiscard]] static std::size_t find(Trained<R> const* trained, std::string_view subject) {
        if (trained == nullptr) return none;
        const auto found = std::ranges::find(trained->subjects, subject);
        return found == trained->subjects.end() ? none : static_cast<std::size_t>(found - trained->subjects.begin());
    }

    template <class Query, class Asked>
    void answer(Kernels const& kernels, Batch<Asked> const& batch, Trained<R> const* trained,
                std::span<const Query> queries, std::span<double> seconds) {
        FloatTable predicted;
        if (batch.rows.rows() > 0) predicted = trained->regression.predict(batch.rows);
        const bool relative = trained != nullptr && trained->relative;
        std::vector<Query> others;
        std::vector<std::size_t> positions;
        for (std::size_t i = 0; i < queries.size(); ++i) {
            auto const& [row, subject, images] = batch.questions[i];
            const double value = row == none ? std::numeric_limits<double>::quiet_NaN()
                                             : std::exp(static_cast<double>(predicted(row, subject)));
            seconds[i] = relative ? value : images * value;
            if (!relative && is_finite(value)) continue;
            others.push_back(queries[i]);
            others.back().run.threads = others.back().run.apart = 1;
            positions.push_back(i);
        }
        std::vector<double> rest(others.size());
        rest_.predict(kernels, std::span<const Query>(others), std::span(rest));
        for (std::size_t i = 0; i < rest.size(); ++i) {
            double& answer = seconds[positions[i]];
            answer = is_finite(answer) ? answer * rest[i] : rest[i];
        }
        scale_to_threads(rest_, kernels, queries, seconds);
    }

    Trained<R> primitives_;
    std::optional<Trained<R>> layouts_;
    Rest rest_;
};
template <class R>
LearnedCost(Trained<R>) -> LearnedCost<R>;
template <class R>
LearnedCost(Trained<R>, Trained<R>) -> LearnedCost<R>;
template <class R, CostModel Rest>
LearnedCost(Trained<R>, Trained<R>, Rest) -> LearnedCost<R, Rest>;
template <class R, CostModel Rest>
LearnedCost(Trained<R>, Rest) -> LearnedCost<R, Rest>;

}  // namespace primsel::inline PRIMSEL_ABI
