// Answers of the primitives for convolutions that are as large as the bounds on sizes allow: run with
// -fsanitize=undefined, no sum or product may overflow.
#include "../quick.hpp"

#include <primsel/core/error.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/layer/conv.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace {

namespace ps = primsel;

/// A size between 1 and the bound, all magnitudes alike; every other one is small.
int size(std::mt19937& bits) {
    if (bits() % 2 == 0) return static_cast<int>(bits() % 8) + 1;
    const int power = 1 << (bits() % 30);
    return std::min(ps::max_extent, power + static_cast<int>(bits() % static_cast<unsigned>(power)));
}

/// A convolution that a graph accepts.
ps::ConvShape random_shape(std::mt19937& bits) {
    for (;;) {
        const int groups = bits() % 4 == 0 ? size(bits) : 1;
        const bool depthwise = bits() % 2 == 0;
        ps::ConvParams params{.k = depthwise ? groups : size(bits),
                              .kernel = {size(bits), size(bits)},
                              .stride = {size(bits), size(bits)},
                              .padding = {size(bits) - 1, size(bits) - 1, size(bits) - 1, size(bits) - 1},
                              .dilation = {size(bits), size(bits)},
                              .groups = groups};
        if (bits() % 2 == 0) params.kernel = static_cast<int>(bits() % 4) * 2 + 1;
        if (bits() % 2 == 0) params.stride = 1;
        if (bits() % 2 == 0) params.dilation = 1;
        if (bits() % 2 == 0) params.padding = params.kernel.h / 2;
        const ps::Shape in{depthwise ? groups : size(bits), size(bits), size(bits)};
        if (params.check({&in, 1}) != ps::Fault::none) continue;
        return {.c = in.c,
                .k = params.k,
                .h = in.h,
                .w = in.w,
                .fh = params.kernel.h,
                .fw = params.kernel.w,
                .stride_h = params.stride.h,
                .stride_w = params.stride.w,
                .pad_top = params.padding.top,
                .pad_bottom = params.padding.bottom,
                .pad_left = params.padding.left,
                .pad_right = params.padding.right,
                .dilation_h = params.dilation.h,
                .dilation_w = params.dilation.w,
                .groups = params.groups};
    }
}

/// Asks a primitive all that planning asks; returns the errors.
template <class P>
std::string fault_on(ps::ConvShape const& shape) {
    using Traits = ps::PrimitiveTraits<P, ps::default_arch>;
    if (!P::supports(shape)) return "";
    constexpr double most = static_cast<double>(ps::max_floats) * 1024;
    const auto scratch = static_cast<double>(Traits::scratch_floats(shape, 4));
    if (scratch > most) return ps::join(P::id, " on ", shape, ": scratch of ", scratch, " floats");
    const auto packed = static_cast<double>(Traits::packed_floats(shape));
    // Every packing has room for all weights.
    if (packed > most) return ps::join(P::id, " on ", shape, ": ", packed, " floats of weights");
    for (ps::Phase const& phase : Traits::work(shape)) {
        const bool possible = phase.operations >= 0 && phase.bytes >= 0 && phase.working_set >= 0 &&
                              std::isfinite(phase.operations) && std::isfinite(phase.bytes);
        if (!possible) return ps::join(P::id, " on ", shape, ": impossible work");
    }
    return "";
}

TEST_CASE("bounds: no primitive's sizes wrap around on a convolution that a graph accepts") {
    std::mt19937 bits(3);
    for (int i = 0; i < (quick() ? 100 : 4000); ++i) {
        const ps::ConvShape shape = random_shape(bits);
        REQUIRE(shape.valid());
        const std::vector<std::string> faults = [&]<class... P>(ps::TypeList<P...>) {
            return std::vector<std::string>{fault_on<P>(shape)...};
        }(ps::EveryPrimitive{});
        for (std::string const& fault : faults) {
            if (!fault.empty()) FAIL_CHECK(fault);
        }
    }
}

}  // namespace
