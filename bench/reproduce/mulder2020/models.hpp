// The models that are compared, behind one type.
#pragma once

#include "platform.hpp"

#include <primsel/cost/table.hpp>
#include <primsel/learn/evaluate.hpp>
#include <primsel/learn/mlp.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reproduce {

/// Any regression on all features of a configuration. What it cannot tell it says takes a second: longer than any layer
/// of the networks, so that no plan chooses it.
struct AnyModel {
    std::function<ps::FloatTable(ps::FloatTable const&)> tell;

    [[nodiscard]] ps::FloatTable predict(ps::FloatTable const& features) const;
};

/// A model that may be large is shared by the copies of its regression.
template <class Model>
[[nodiscard]] AnyModel shared(Model model) {
    return {[model = std::make_shared<const Model>(std::move(model))](ps::FloatTable const& x) {
        return model->predict(x);
    }};
}

enum class Kind { lin, nn1, nn2, forest, boosted, ours };
inline constexpr std::array kinds{Kind::lin, Kind::nn1, Kind::nn2, Kind::forest, Kind::boosted, Kind::ours};
/// The paper's.
inline constexpr std::array published_kinds{Kind::lin, Kind::nn1, Kind::nn2};
[[nodiscard]] std::string_view to_string_view(Kind kind);

/// Features and logarithms of times, to learn from and to stop by.
struct Samples {
    ps::FloatTable features, targets, validation_features, validation_targets;
};

/// How much is spent on training.
struct Effort {
    bool quick = false;
    std::uint64_t seed = 1;

    [[nodiscard]] std::uint64_t seeds() const { return quick ? 1 : 3; }
    /// All, or every third of them.
    [[nodiscard]] ps::learn::Split split(Platform const& platform, std::uint64_t by) const;
    /// To learn from so many rows.
    [[nodiscard]] ps::learn::MlpOptions nn1(std::size_t features, std::size_t rows) const;
    [[nodiscard]] ps::learn::MlpOptions nn2(std::size_t features, std::size_t rows) const;
};

[[nodiscard]] Samples primitive_samples(Platform const& platform, ps::learn::Split const& split);
[[nodiscard]] Samples layout_samples(Platform const& platform, ps::learn::Split const& split);

/// Lin and the networks see the raw features, `raw` of them; the others all. Labels group targets that are alike.
[[nodiscard]] AnyModel fit(Kind kind, Samples const& samples, std::size_t raw, std::vector<std::string> const& labels,
                           Effort const& effort);

/// NN2 by itself, to be tuned later.
[[nodiscard]] ps::learn::Mlp fit_nn2(Samples const& samples, std::size_t raw, Effort const& effort);

}  // namespace reproduce
