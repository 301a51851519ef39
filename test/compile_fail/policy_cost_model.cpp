// expect: primsel: Policies::cost_model is not a
#include <primsel/engine/policies.hpp>

struct Mine : primsel::DefaultPolicies {
#ifndef PRIMSEL_TEST_FIXED
    struct cost_model {};
#endif
};
static_assert(primsel::detail::CheckPolicies<Mine>::value);
