#pragma once

#include <primsel/core/error.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/learn/configuration.hpp>
#include <primsel/learn/dataset.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Times that were measured before, looked up: what predictions are judged by. A convolution is known by its c, k, im,
/// f and s and its primitive's id; one that was not measured is beyond reach (`beyond` seconds). A change of layout
/// that was not measured takes what the nearest in size took, a value. Other layers take nothing: these are records of
/// primitives.
class Recorded {
public:
    static constexpr std::string_view name = "recorded";
    static constexpr std::string_view ignores[] = {
        "packs",   "layer_by_layer", "data_reuse_bytes",       "weight_reuse_bytes",
        "threads", "apart",          "weight_reuse_operations"};
    /// Seconds of what was not measured: no plan chooses it while there is anything else.
    static constexpr double beyond = 1e3;

    /// Primitives by c, k, im, f, s; layouts ("chw-to-hwc") by c, im. Throws error where a dataset that has rows has
    /// other columns.
    Recorded(Dataset primitives, Dataset layouts) : primitives_(std::move(primitives)), layouts_(std::move(layouts)) {
        if (primitives_.rows() > 0 && primitives_.inputs != ConvConfiguration::inputs()) {
            fail("recorded: the configurations of the primitives are not c, k, im, f, s");
        }
        if (layouts_.rows() > 0 && layouts_.inputs != TensorConfiguration::inputs()) {
            fail("recorded: the configurations of the changes of layout are not c, im");
        }
        for (std::size_t row = 0; row < primitives_.rows(); ++row) {
            rows_.emplace(ConvConfiguration::of_row(primitives_.configuration(row)), row);
        }
    }

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            ConvShape const& shape = queries[i].shape;
            const std::size_t subject = primitives_.find(kernels.primitives[queries[i].primitive].id);
            const auto configuration = ConvConfiguration::of(shape);
            const auto row = configuration ? rows_.find(*configuration) : rows_.end();
            const bool known = row != rows_.end() && subject < primitives_.subjects.size();
            const double time = known ? primitives_.time(row->second, subject) : 0;
            seconds[i] = time > 0 ? queries[i].run.batch * time : beyond;
        }
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            TransformQuery const& query = queries[i];
            const std::string subject = join(kernels.layouts[query.from].name, "-to-", kernels.layouts[query.to].name);
            seconds[i] = query.run.batch * transform_seconds(query.shape, layouts_.find(subject));
        }
    }
    void predict(Kernels const&, std::span<const OpQuery>, std::span<double> seconds) const {
        for (double& time : seconds) time = 0;
    }

private:
    [[nodiscard]] double transform_seconds(Shape shape, std::size_t subject) const {
        if (subject >= layouts_.subjects.size()) return beyond;
        double nearest = std::numeric_limits<double>::infinity(), seconds = beyond;
        for (std::size_t row = 0; row < layouts_.rows(); ++row) {
            const auto at = TensorConfiguration::of_row(layouts_.configuration(row));
            const double time = layouts_.time(row, subject), c = at.c, im = at.im;
            if (time <= 0) continue;
            const double in_c = std::log(c / shape.c),
                         in_pixels = std::log(im * im / static_cast<double>(shape.pixels())),
                         distance = in_c * in_c + in_pixels * in_pixels;
            if (distance >= nearest) continue;
            nearest = distance;
            seconds = time * static_cast<double>(shape.size()) / (c * im * im);
        }
        return seconds;
    }

    Dataset primitives_, layouts_;
    std::map<ConvConfiguration, std::size_t> rows_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
