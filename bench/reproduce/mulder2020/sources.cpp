#include "sources.hpp"

#include <primsel/cost/features.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace reproduce {

Sources::Sources(World const& world, Effort const& effort)
    : world_(world), effort_(effort), split_(effort.split(world.target, effort.seed)) {
    for (std::string const& id : world.target.primitives.subjects)
        positions_.push_back(world.source.primitives.find(id));
}

ps::learn::Mlp const& Sources::nn2() {
    std::call_once(nn2_once_, [this] {
        nn2_ = fit_nn2(primitive_samples(world_.source, effort_.split(world_.source, effort_.seed)),
                       ps::ConvFeatures::raw, effort_);
        nn2_regression_ = of_target(shared(*nn2_));
    });
    return *nn2_;
}

AnyModel Sources::regression(Kind kind) {
    if (kind == Kind::nn2) {
        static_cast<void>(nn2());
        return *nn2_regression_;
    }
    std::call_once(ours_once_, [this] {
        ours_ = of_target(fit(Kind::ours, primitive_samples(world_.source, effort_.split(world_.source, effort_.seed)),
                              ps::ConvFeatures::raw, world_.source.families, effort_));
    });
    return *ours_;
}

AnyModel Sources::of_target(AnyModel source) const {
    return {[this, source = std::move(source), positions = positions_](ps::FloatTable const& x) {
        const ps::FloatTable all = source.predict(as_source(x));
        ps::FloatTable some(x.rows(), positions.size());
        for (std::size_t row = 0; row < some.rows(); ++row) {
            for (std::size_t i = 0; i < positions.size(); ++i) some(row, i) = all(row, positions[i]);
        }
        return some;
    }};
}

ps::FloatTable Sources::as_source(ps::FloatTable const& features) const {
    ps::FloatTable result = features;
    for (std::size_t row = 0; row < features.rows(); ++row) {
        const auto value = [&](std::size_t at) { return static_cast<int>(std::lround(std::exp(features(row, at)))); };
        const ps::ConvShape shape =
            ps::learn::ConvConfiguration{value(0), value(1), value(2), value(3), value(4)}.shape();
        if (world_.source.truth.knows_stride(shape)) continue;
        const auto known = ps::ConvFeatures::of(world_.source.truth.as_measured(shape));
        std::copy(known.begin(), known.end(),
                  result.values.begin() + static_cast<std::ptrdiff_t>(row * result.columns));
    }
    return result;
}

ps::FloatTable Sources::among_source(ps::FloatTable const& target) const {
    ps::FloatTable all(target.rows(), world_.source.primitives.subjects.size());
    for (std::size_t row = 0; row < target.rows(); ++row) {
        for (std::size_t i = 0; i < positions_.size(); ++i) all(row, positions_[i]) = target(row, i);
    }
    return all;
}

}  // namespace reproduce
