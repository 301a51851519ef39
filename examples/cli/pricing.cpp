#include "pricing.hpp"

#include "session.hpp"

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/pretrained.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/kernels/extern_kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cli {
namespace {

std::optional<std::size_t> primitive_of(std::string_view name) {
    const auto primitives = kernels().primitives;
    const auto found = std::ranges::find(primitives, name, &ps::PrimitiveEntry::id);
    if (found == primitives.end()) return std::nullopt;
    return static_cast<std::size_t>(found - primitives.begin());
}
std::optional<std::pair<std::size_t, std::size_t>> layouts_of(std::string_view name) {
    const auto layouts = kernels().layouts;
    for (std::size_t from = 0; from < layouts.size(); ++from) {
        for (std::size_t to = 0; to < layouts.size(); ++to) {
            if (name == ps::join(layouts[from].name, "-to-", layouts[to].name)) return std::pair{from, to};
        }
    }
    return std::nullopt;
}
bool of_layouts(ps::Dataset const& data) { return data.inputs.size() == 2; }

/// Asks for everything that was measured and that `question(row, subject)` makes a question of.
template <class Query>
ps::Table ask(ps::Dataset const& data, std::string_view costs, auto const& question) {
    std::vector<Query> queries;
    std::vector<std::size_t> cells;
    for (std::size_t row = 0; row < data.rows(); ++row) {
        for (std::size_t i = 0; i < data.subjects.size(); ++i) {
            if (!(data.time(row, i) > 0)) continue;
            if (const std::optional<Query> query = question(row, data.subjects[i])) {
                queries.push_back(*query);
                cells.push_back(row * data.subjects.size() + i);
            }
        }
    }
    std::vector<double> seconds(queries.size());
    // Of primitives and changes of layout, which are all that is asked here, semi-empirical costs say the same.
    if (costs == ps::PretrainedCosts::name)
        ps::PretrainedCosts().predict(kernels(), std::span<const Query>(queries), std::span(seconds));
    else
        ps::Analytical().predict(kernels(), std::span<const Query>(queries), std::span(seconds));
    ps::Table result(data.rows(), data.subjects.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        result.values[cells[i]] = static_cast<float>(std::log(seconds[i]));
    }
    return result;
}

}  // namespace

bool is_subject(ps::Dataset const& data, std::string_view name) {
    return of_layouts(data) ? layouts_of(name).has_value() : primitive_of(name).has_value();
}

bool is_computed(std::string_view costs) {
    return costs == ps::Analytical::name || costs == ps::SemiEmpiricalCosts::name || costs == ps::PretrainedCosts::name;
}

ps::Table log_predictions(ps::Dataset const& data, std::string_view costs) {
    if (of_layouts(data)) {
        return ask<ps::TransformQuery>(data, costs, [&](std::size_t row, std::string const& name) {
            const auto at = data.configuration(row);
            const auto layouts = layouts_of(name);
            return layouts
                       ? std::optional<ps::TransformQuery>({{at[0], at[1], at[1]}, 1, layouts->first, layouts->second})
                       : std::nullopt;
        });
    }
    const ps::Kernels all = kernels();
    return ask<ps::ConvQuery>(data, costs, [&](std::size_t row, std::string const& name) {
        const auto primitive = primitive_of(name);
        const ps::ConvShape shape = data.conv(row);
        return primitive && all.primitives[*primitive].supports(shape)
                   ? std::optional<ps::ConvQuery>({shape, *primitive})
                   : std::nullopt;
    });
}

}  // namespace cli
