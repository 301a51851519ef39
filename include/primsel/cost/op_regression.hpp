#pragma once

#include <primsel/core/error.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// What layers that are no convolutions take, and the passes that add bias and activation to those: for each op and
/// layout a sum of what Analytical knows of it (OpTerms) and of the rows that its loops run over, with weights that
/// measurements taught. An op in a layout without any is left to Analytical.
class OpRegression {
public:
    /// A call, an image's traffic and arithmetic, the weights' traffic, and a row of values that follow each other.
    static constexpr std::size_t terms = 5;
    using Terms = std::array<double, terms>;

    struct Sample {
        std::string op, layout;
        Terms terms{};
        double seconds = 0;
    };

    [[nodiscard]] static std::string_view name_of(AnyLayer const& op) {
        return std::visit([](auto const& params) { return std::string_view(params.name()); }, op);
    }
    [[nodiscard]] static Terms terms_of(Analytical const& analytical, Kernels const& kernels, OpQuery const& query) {
        const OpTerms parts = analytical.terms(kernels, query);
        const bool pass = std::holds_alternative<ConvParams>(*query.layer),
                   by_pixel = kernels.layouts[query.layout].name == hwc::name;
        const auto rows_of = [&](Shape const& shape) {
            return static_cast<double>(
                by_pixel ? shape.pixels() : static_cast<std::size_t>(shape.c) * static_cast<std::size_t>(shape.h));
        };
        double rows = rows_of(query.output);
        if (!pass && !query.inputs.empty()) rows = std::max(rows, rows_of(query.inputs[0]));
        return {1, query.batch * parts.memory, query.batch * parts.arithmetic, parts.weights, query.batch * rows};
    }

    /// The weights, none of them negative, with the least relative squared errors; ops with fewer samples in a layout
    /// than `least` have none.
    [[nodiscard]] static OpRegression fit(std::span<const Sample> samples, std::size_t least = 8) {
        std::map<std::pair<std::string, std::string>, std::vector<Sample const*>> grouped;
        for (Sample const& sample : samples) {
            if (sample.seconds > 0) grouped[{sample.op, sample.layout}].push_back(&sample);
        }
        OpRegression result;
        for (auto const& [key, group] : grouped) {
            if (group.size() >= least) result.entries_.push_back({key.first, key.second, weigh(group)});
        }
        return result;
    }

    /// A line for each op and layout: their names and the weights. Throws error for anything else, with the name.
    [[nodiscard]] static OpRegression parse(std::string_view name, std::span<const std::string_view> lines) {
        OpRegression result;
        for (const std::string_view line : lines) {
            std::vector<std::string_view> words;
            for (std::size_t at = 0; at < line.size();) {
                const std::size_t end = std::min(line.find(' ', at), line.size());
                words.push_back(line.substr(at, end - at));
                at = end + 1;
            }
            Entry entry;
            bool good = words.size() == 2 + terms && !words[0].empty() && !words[1].empty();
            if (good) entry.op = words[0], entry.layout = words[1];
            for (std::size_t i = 0; good && i < terms; ++i) {
                const std::string_view word = words[2 + i];
                double& weight = entry.weights[i];
                const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), weight);
                good = fault == std::errc{} && end == word.data() + word.size() && weight >= 0 && std::isfinite(weight);
            }
            if (!good) fail(name, ": an op, a layout and ", std::size_t{terms}, " weights are not: ", line);
            result.entries_.push_back(std::move(entry));
        }
        std::ranges::sort(result.entries_, {}, &Entry::key);
        return result;
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> result;
        for (Entry const& entry : entries_) {
            std::string line = entry.op + ' ' + entry.layout;
            for (const double weight : entry.weights) {
                std::array<char, 32> digits{};
                const auto end =
                    std::to_chars(digits.data(), digits.data() + digits.size(), weight, std::chars_format::general, 4)
                        .ptr;
                line.append(1, ' ').append(digits.data(), end);
            }
            result.push_back(std::move(line));
        }
        return result;
    }

    void predict(Analytical const& analytical, Kernels const& kernels, std::span<const OpQuery> queries,
                 std::span<double> seconds) const {
        analytical.predict(kernels, queries, seconds);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            const auto key = std::pair(name_of(*queries[i].layer), kernels.layouts[queries[i].layout].name);
            const auto found = std::ranges::lower_bound(entries_, key, {}, &Entry::key);
            if (found == entries_.end() || found->key() != key) continue;
            const Terms parts = terms_of(analytical, kernels, queries[i]);
            if (parts[1] + parts[2] + parts[3] == 0) continue;  // nothing is done
            // Weights were learned from the layers of some networks: never far below what the machine can do.
            double learned = 0;
            for (std::size_t j = 0; j < terms; ++j) learned += found->weights[j] * parts[j];
            seconds[i] = std::max(learned, 0.1 * std::max(parts[1], parts[2]));
        }
    }

private:
    struct Entry {
        std::string op, layout;
        Terms weights{};

        [[nodiscard]] std::pair<std::string_view, std::string_view> key() const { return {op, layout}; }
    };

    /// By coordinate descent. What takes less than a few microseconds need not be known to the percent.
    [[nodiscard]] static Terms weigh(std::span<Sample const* const> samples) {
        constexpr double coarse = 2e-6;
        Terms weights{}, squares{};
        std::vector<Terms> rows;
        std::vector<double> left;
        for (Sample const* sample : samples) {
            Terms row = sample->terms;
            for (double& value : row) value /= sample->seconds + coarse;
            for (std::size_t j = 0; j < terms; ++j) squares[j] += row[j] * row[j];
            rows.push_back(row);
            left.push_back(sample->seconds / (sample->seconds + coarse));
        }
        for (int round = 0; round < 3000; ++round) {
            for (std::size_t j = 0; j < terms; ++j) {
                if (!(squares[j] > 0)) continue;
                double along = 0;
                for (std::size_t i = 0; i < rows.size(); ++i) along += rows[i][j] * left[i];
                const double step = std::max(along / squares[j], -weights[j]);
                weights[j] += step;
                for (std::size_t i = 0; i < rows.size(); ++i) left[i] -= step * rows[i][j];
            }
        }
        return weights;
    }

    std::vector<Entry> entries_;  // sorted
};

}  // namespace primsel::inline PRIMSEL_ABI
