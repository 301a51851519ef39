// expect: primsel: Policies::solver is not a
#include <primsel/engine/policies.hpp>

struct Mine : primsel::DefaultPolicies {
#ifndef PRIMSEL_TEST_FIXED
    struct solver {};
#endif
};
static_assert(primsel::detail::CheckPolicies<Mine>::value);
