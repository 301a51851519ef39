#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/tensor.hpp>
#include <primsel/version.hpp>

#include <cstdio>

int main() {
    const primsel::Tensor<primsel::hwc> image(primsel::Shape{.c = 3, .h = 32, .w = 32});
    std::printf("%.*s %zu\n", static_cast<int>(primsel::version.size()), primsel::version.data(), image.size());
    return image.size() == 3 * 32 * 32 ? 0 : 1;
}
