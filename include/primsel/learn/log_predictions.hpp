#pragma once

#include <primsel/core/error.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

namespace detail {

[[nodiscard]] inline std::optional<std::pair<std::size_t, std::size_t>> layouts_of(Kernels const& kernels,
                                                                                   std::string_view name) {
    for (std::size_t from = 0; from < kernels.layouts.size(); ++from) {
        for (std::size_t to = 0; to < kernels.layouts.size(); ++to) {
            if (name == join(kernels.layouts[from].name, "-to-", kernels.layouts[to].name)) return std::pair{from, to};
        }
    }
    return std::nullopt;
}

/// Asks for everything that was measured and that `question(row, subject)` makes a question of.
template <class Query, class Model, class Question>
[[nodiscard]] FloatTable ask(Dataset const& data, Kernels const& kernels, Model& model, Question const& question) {
    std::vector<Query> queries;
    std::vector<std::size_t> cells;
    for (std::size_t row = 0; row < data.rows(); ++row) {
        for (std::size_t i = 0; i < data.subjects.size(); ++i) {
            if (!(data.time(row, i) > 0)) continue;
            if (const std::optional<Query> query = question(row, i)) {
                queries.push_back(*query);
                cells.push_back(row * data.subjects.size() + i);
            }
        }
    }
    std::vector<double> seconds(queries.size());
    model.predict(kernels, std::span<const Query>(queries), std::span(seconds));
    FloatTable result(data.rows(), data.subjects.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        result.values[cells[i]] = static_cast<float>(std::log(seconds[i]));
    }
    return result;
}

}  // namespace detail

/// Whether there is a primitive of that name; of a dataset of layouts, such a change between layouts.
[[nodiscard]] inline bool is_subject(Kernels const& kernels, Dataset const& data, std::string_view name) {
    return data.of_layouts() ? detail::layouts_of(kernels, name).has_value() : kernels.find_if_any(name).has_value();
}

/// A cost model's predictions for everything that was measured, logarithms of seconds: a row for each row of the data
/// and a column for each subject. NaN where nothing was measured, and for subjects that are none of the kernels.
template <CostModel Model>
[[nodiscard]] FloatTable log_predictions(Dataset const& data, Kernels const& kernels, Model& model) {
    if (data.of_layouts()) {
        std::vector<std::optional<std::pair<std::size_t, std::size_t>>> changes;
        for (std::string const& subject : data.subjects) changes.push_back(detail::layouts_of(kernels, subject));
        return detail::ask<TransformQuery>(data, kernels, model, [&](std::size_t row, std::size_t subject) {
            const Shape shape = TensorConfiguration::of_row(data.configuration(row)).shape();
            auto const& change = changes[subject];
            return change ? std::optional<TransformQuery>({shape, change->first, change->second}) : std::nullopt;
        });
    }
    std::vector<std::optional<std::size_t>> primitives;
    for (std::string const& subject : data.subjects) primitives.push_back(kernels.find_if_any(subject));
    return detail::ask<ConvQuery>(data, kernels, model, [&](std::size_t row, std::size_t subject) {
        const ConvShape shape = data.conv(row);
        auto const& primitive = primitives[subject];
        return primitive && kernels.primitives[*primitive].supports(shape)
                   ? std::optional<ConvQuery>({shape, *primitive})
                   : std::nullopt;
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
