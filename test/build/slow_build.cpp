// Says on the standard error stream how it was compiled, once.
#include <primsel/engine/slow_build.hpp>

int main() {
    primsel::engine::detail::warn_of_slow_build();
    primsel::engine::detail::warn_of_slow_build();
}
