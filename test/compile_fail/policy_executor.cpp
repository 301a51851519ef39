// expect: primsel: Policies::executor is not a
#include <primsel/engine/policies.hpp>

struct Mine : primsel::DefaultPolicies {
#ifndef PRIMSEL_TEST_FIXED
    struct executor {};
#endif
};
static_assert(primsel::detail::CheckPolicies<Mine>::value);
