// Any bytes parse as a file of CIFAR-10 and of CIFAR-100 or are refused with primsel::error; what parsed can be trained
// with.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <primsel/train/cifar.hpp>
#include <span>
#include <string_view>

namespace fuzz_cifar {

template <class Parse>
void check(Parse const& parse) {
    try {
        primsel::check_images("image", parse());
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
    }
}

int run(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    check([&] { return primsel::parse_cifar10("fuzz", bytes); });
    check([&] { return primsel::parse_cifar100("fuzz", bytes); });
    check([&] { return primsel::parse_cifar100("fuzz", bytes, primsel::CifarLabel::coarse); });
    return 0;
}

}  // namespace fuzz_cifar
