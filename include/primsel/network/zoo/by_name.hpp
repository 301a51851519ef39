#pragma once

#include <primsel/core/type_list.hpp>
#include <primsel/network/zoo/alexnet.hpp>
#include <primsel/network/zoo/densenet.hpp>
#include <primsel/network/zoo/googlenet.hpp>
#include <primsel/network/zoo/inception_v3.hpp>
#include <primsel/network/zoo/mnasnet.hpp>
#include <primsel/network/zoo/mobilenet.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/network/zoo/shufflenet.hpp>
#include <primsel/network/zoo/squeezenet.hpp>
#include <primsel/network/zoo/vgg.hpp>

#include <array>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <FixedString text, class Net>
struct Known {
    static constexpr std::string_view name = text.view();
    using network = Net;
};

}  // namespace detail

/// The networks of the papers' table 4 (Mulder et al. 2020).
using Table4 = TypeList<detail::Known<"alexnet", AlexNet>, detail::Known<"vgg11", Vgg11>, detail::Known<"vgg19", Vgg19>,
                        detail::Known<"googlenet", GoogLeNet>, detail::Known<"resnet18", ResNet18>,
                        detail::Known<"resnet34", ResNet34>>;

/// Every network, under torchvision's name where it has one. Its googlenet is googlenet-bn here.
using AllNetworks = TypeList<
    detail::Known<"alexnet", AlexNet>, detail::Known<"alexnet_cifar", AlexNetCifar>,  //
    detail::Known<"densenet121", DenseNet121>, detail::Known<"densenet161", DenseNet161>,
    detail::Known<"densenet169", DenseNet169>,  //
    detail::Known<"densenet201", DenseNet201>, detail::Known<"googlenet", GoogLeNet>,
    detail::Known<"googlenet-bn", GoogLeNetBn>,  //
    detail::Known<"inception_v3", InceptionV3>, detail::Known<"mnasnet0_5", MnasNet05>,
    detail::Known<"mnasnet0_75", MnasNet075>,  //
    detail::Known<"mnasnet1_0", MnasNet10>, detail::Known<"mnasnet1_3", MnasNet13>,
    detail::Known<"mobilenet_v1", MobileNetV1>,  //
    detail::Known<"mobilenet_v2", MobileNetV2>, detail::Known<"resnet18", ResNet18>,
    detail::Known<"resnet34", ResNet34>,                                                                              //
    detail::Known<"resnet50", ResNet50>, detail::Known<"resnet56", ResNet56>, detail::Known<"resnet101", ResNet101>,  //
    detail::Known<"resnet152", ResNet152>, detail::Known<"resnext50_32x4d", ResNeXt50>,
    detail::Known<"resnext101_32x8d", ResNeXt101>,                                                               //
    detail::Known<"shufflenet_v2_x0_5", ShuffleNetV2X05>, detail::Known<"shufflenet_v2_x1_0", ShuffleNetV2X10>,  //
    detail::Known<"shufflenet_v2_x1_5", ShuffleNetV2X15>, detail::Known<"shufflenet_v2_x2_0", ShuffleNetV2X20>,  //
    detail::Known<"squeezenet1_0", SqueezeNet10>, detail::Known<"squeezenet1_1", SqueezeNet11>,
    detail::Known<"vgg11", Vgg11>,  //
    detail::Known<"vgg13", Vgg13>, detail::Known<"vgg16", Vgg16>, detail::Known<"vgg19", Vgg19>>;

namespace detail {

template <class Networks>
struct Names;
template <class... Networks>
struct Names<TypeList<Networks...>> {
    static constexpr std::array value{Networks::name...};
};

template <class Networks>
struct ByName;
template <class... Networks>
struct ByName<TypeList<Networks...>> {
    [[nodiscard]] static Graph graph(std::string_view name, int batch) {
        struct Maker {
            std::string_view name;
            Graph (*graph)(int);
        };
        static constexpr std::array makers{Maker{Networks::name, &Networks::network::graph}...};
        std::string names;
        for (Maker const& maker : makers) {
            if (maker.name == name) return maker.graph(batch);
            names += (names.empty() ? "" : ", ") + std::string(maker.name);
        }
        fail("zoo: no network is named ", name, "; there are ", names);
    }
};

}  // namespace detail

/// The names of all networks.
inline constexpr auto const& names = detail::Names<AllNetworks>::value;

/// The network of that name, for so many images at once. Throws error for an unknown name, and says which there are.
/// A template, so that only those who call it compile all networks.
template <class Networks = AllNetworks>
[[nodiscard]] Graph graph(std::string_view name, int batch = 1) {
    return detail::ByName<Networks>::graph(name, batch);
}

/// A network and how to make it, for so many images at once.
struct Entry {
    std::string_view name;
    template <class Networks = Table4>
    [[nodiscard]] Graph graph(int batch = 1) const {
        return zoo::graph<Networks>(name, batch);
    }
};

/// The six networks of the papers' table 4 (Mulder et al. 2020).
inline constexpr std::array entries{Entry{"alexnet"},   Entry{"vgg11"},    Entry{"vgg19"},
                                    Entry{"googlenet"}, Entry{"resnet18"}, Entry{"resnet34"}};

#ifdef PRIMSEL_EXTERN_KERNELS
// Compiled by engine/instantiate.hpp: all networks take longer than what most programs do with them.
extern template Graph graph<AllNetworks>(std::string_view, int);
extern template Graph graph<Table4>(std::string_view, int);
#endif

}  // namespace primsel::inline PRIMSEL_ABI::zoo
