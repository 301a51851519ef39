// Models of the target from those of the source and few measurements of the target.
#pragma once

#include "experiments.hpp"
#include "sources.hpp"

namespace reproduce {

[[nodiscard]] AnyModel learn_by(Method method, Sources& sources, Samples const& samples);
/// The source's NN2 trained on with those samples, at a tenth of the learning rate.
[[nodiscard]] AnyModel tune(Sources& sources, Samples const& samples);

}  // namespace reproduce
