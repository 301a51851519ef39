// Spaces that every law is tried on.
#pragma once

#include <primsel/search/space.hpp>

#include <vector>

namespace spaces {

namespace ps = primsel;

inline ps::Space mixed() {
    return ps::Space({ps::Parameter::real("share", 0.01, 0.99), ps::Parameter::integer("count", 1, 64),
                      ps::Parameter::values("kind", {"Filters", "Channels", "Rows"}),
                      ps::Parameter::real("rate", 1e-5, 1, ps::Spacing::logarithmic),
                      ps::Parameter::constant("epochs", 3)});
}
inline ps::Space small() {
    return ps::Space({ps::Parameter::integer("count", 0, 4), ps::Parameter::values("kind", {"a", "b", "c"}),
                      ps::Parameter::values("size", {0.5, 0.25, 1})});
}
inline std::vector<ps::Space> any() {
    return {
        mixed(), small(), ps::Space({ps::Parameter::real("x", -2, 3)}),
        ps::Space({ps::Parameter::integer("n", 1, 100'000, ps::Spacing::logarithmic), ps::Parameter::real("y", 5, 5)})};
}

}  // namespace spaces
