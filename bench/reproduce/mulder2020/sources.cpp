#include "sources.hpp"

#include <primsel/cost/features.hpp>

#include <utility>

namespace reproduce {

Sources::Sources(World const& world, Effort const& effort)
    : world_(world), effort_(effort), split_(effort.split(world.target.primitives.rows(), effort.seed)) {
    for (std::string const& id : world.target.primitives.subjects)
        positions_.push_back(world.source.primitives.find(id));
}

ps::learn::Mlp const& Sources::nn2() {
    std::call_once(nn2_once_, [this] {
        nn2_ = fit_nn2(primitive_samples(world_.source, split_), ps::ConvFeatures::raw, effort_);
        nn2_regression_ = of_target(as_regression(*nn2_, ps::ConvFeatures::raw));
    });
    return *nn2_;
}

AnyModel Sources::regression(Kind kind) {
    if (kind == Kind::nn2) {
        static_cast<void>(nn2());
        return *nn2_regression_;
    }
    std::call_once(ours_once_, [this] {
        ours_ = of_target(fit(Kind::ours, primitive_samples(world_.source, split_), ps::ConvFeatures::raw,
                              world_.source.families, effort_));
    });
    return *ours_;
}

AnyModel Sources::of_target(AnyModel source) const {
    return {[source = std::move(source), positions = positions_](ps::FloatTable const& x) {
        const ps::FloatTable all = source.predict(x);
        ps::FloatTable some(x.rows(), positions.size());
        for (std::size_t row = 0; row < some.rows(); ++row) {
            for (std::size_t i = 0; i < positions.size(); ++i) some(row, i) = all(row, positions[i]);
        }
        return some;
    }};
}

ps::FloatTable Sources::among_source(ps::FloatTable const& target) const {
    ps::FloatTable all(target.rows(), world_.source.primitives.subjects.size());
    for (std::size_t row = 0; row < target.rows(); ++row) {
        for (std::size_t i = 0; i < positions_.size(); ++i) all(row, positions_[i]) = target(row, i);
    }
    return all;
}

}  // namespace reproduce
