// Networks for less than floats: the ranges of their tensors.
#include "rooms.hpp"

#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/network/ranges.hpp>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

namespace bindings {

using nb::literals::operator""_a;

namespace {

ps::RangeMethod method_of(std::string const& name) {
    constexpr std::array methods{ps::RangeMethod::min_max, ps::RangeMethod::percentile, ps::RangeMethod::mse,
                                 ps::RangeMethod::kl};
    const auto* const found =
        std::ranges::find_if(methods, [&](ps::RangeMethod method) { return to_string_view(method) == name; });
    if (found == methods.end()) ps::fail("method ", name, ": there are min-max, percentile, mse and kl");
    return *found;
}

}  // namespace

void add_quantise(NetworkClass& network) {
    network.def(
        "quantised",
        [](foreign::Network const& network, nb::handle images, std::string const& method) {
            const FloatArray array(images, "images", false);
            const ps::RangeMethod by = method_of(method);
            const nb::gil_scoped_release released;
            foreign::Network result = network;
            const ps::TensorRanges ranges = ps::calibrate_ranges(network.graph, network.weights, array.span(), by);
            result.graph = ps::with_ranges(std::move(result.graph), ranges);
            return result;
        },
        "images"_a, "method"_a = "min-max",
        nb::sig("def quantised(self, images: numpy.typing.NDArray[numpy.float32], method: str = 'min-max') -> "
                "Network"),
        "The network with the ranges that its tensors have for these images (float32, N x C x H x W, a batch or a "
        "multiple): an Engine of it with precision=\"int8\" computes in 8 bits. method: min-max, percentile, mse "
        "or kl.");
}

}  // namespace bindings
