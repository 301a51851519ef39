#include <primsel/core/openmp.hpp>
#include <primsel/primsel.hpp>

int main() { return primsel::OpenMP{2}.concurrency() == 2 ? 0 : 1; }
