// Spaces that every law is tried on.
#pragma once

#include <primsel/search/space.hpp>

#include <vector>

namespace spaces {

namespace ps = primsel;

inline ps::search::Space mixed() {
    return ps::search::Space({ps::search::Parameter::real("share", 0.01, 0.99),
                              ps::search::Parameter::integer("count", 1, 64),
                              ps::search::Parameter::values("kind", {"Filters", "Channels", "Rows"}),
                              ps::search::Parameter::real("rate", 1e-5, 1, ps::search::Spacing::logarithmic),
                              ps::search::Parameter::constant("epochs", 3)});
}
inline ps::search::Space small() {
    return ps::search::Space({ps::search::Parameter::integer("count", 0, 4),
                              ps::search::Parameter::values("kind", {"a", "b", "c"}),
                              ps::search::Parameter::values("size", {0.5, 0.25, 1})});
}
inline std::vector<ps::search::Space> any() {
    return {mixed(), small(), ps::search::Space({ps::search::Parameter::real("x", -2, 3)}),
            ps::search::Space({ps::search::Parameter::integer("n", 1, 100'000, ps::search::Spacing::logarithmic),
                               ps::search::Parameter::real("y", 5, 5)}),
            ps::search::Space({ps::search::Parameter::multiples(ps::search::Parameter::real("batch", 1, 70), 8),
                               ps::search::Parameter::values("likely", {"a", "b", "c"}, {0.7, 0.1, 0.2}),
                               ps::search::Parameter::normal("normal", 0, 0.5, ps::search::Spacing::logarithmic),
                               ps::search::Parameter::multiples(ps::search::Parameter::normal("tenths", 3, 1), 0.1)})};
}

}  // namespace spaces
