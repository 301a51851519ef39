#include <primsel/gemm/gemm_eigen.hpp>

int main() {
    const auto run = &primsel::EigenGemm::run<primsel::default_arch>;
    return run != nullptr ? 0 : 1;
}
