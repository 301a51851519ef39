#pragma once

#include <primsel/network/zoo/alexnet.hpp>
#include <primsel/network/zoo/googlenet.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/network/zoo/vgg.hpp>

#include <array>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::zoo {

/// A network and how to make it, for so many images at once.
struct Entry {
    std::string_view name;
    Graph (*graph)(int batch);
};

/// The six networks of the papers' table 4 (Mulder et al. 2020).
inline constexpr std::array entries{
    Entry{"alexnet", &AlexNet::graph},     Entry{"vgg11", &Vgg11::graph},       Entry{"vgg19", &Vgg19::graph},
    Entry{"googlenet", &GoogLeNet::graph}, Entry{"resnet18", &ResNet18::graph}, Entry{"resnet34", &ResNet34::graph},
};

/// Throws error for an unknown name, and says which there are.
[[nodiscard]] inline Graph graph(std::string_view name, int batch = 1) {
    std::string names;
    for (Entry const& entry : entries) {
        if (entry.name == name) return entry.graph(batch);
        names += (names.empty() ? "" : ", ") + std::string(entry.name);
    }
    fail("zoo: no network is named ", name, "; there are ", names);
}

}  // namespace primsel::inline PRIMSEL_ABI::zoo
