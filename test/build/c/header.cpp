// The C interface's header in C++.
#include <primsel/primsel.h>

static_assert(PRIMSEL_OK == 0);
static_assert(noexcept(sizeof(primsel_tensor)) && sizeof(primsel_tensor::dims) == sizeof(void*));
