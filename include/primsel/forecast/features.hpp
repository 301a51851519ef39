// The features of a training, known before it runs: Rajagopal and Bouganis, "perf4sight: A toolflow to
// model CNN training performance on Edge GPUs", 2021, appendix B. docs/forecast/features.md has every formula, and what
// was taken where the paper's notation leaves a choice.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// A convolution as the features see it: n filters over m channels in groups, and the sizes of kernel, input and
/// output. Stride, padding and dilation are in the size of the output.
struct ConvSizes {
    int n = 1, m = 1;
    int kernel_h = 1, kernel_w = 1;
    int groups = 1;
    int in_h = 1, in_w = 1;
    int out_h = 1, out_w = 1;
    friend bool operator==(ConvSizes const&, ConvSizes const&) = default;
};

[[nodiscard]] inline ConvSizes conv_sizes(ConvParams const& conv, Shape const& input) {
    const Shape output = conv.output(std::span(&input, 1));
    return {.n = conv.k,
            .m = input.c,
            .kernel_h = conv.kernel.h,
            .kernel_w = conv.kernel.w,
            .groups = conv.groups,
            .in_h = input.h,
            .in_w = input.w,
            .out_h = output.h,
            .out_w = output.w};
}
/// A transposed convolution multiplies and adds as the convolution does whose gradient it is: that reads its result.
[[nodiscard]] inline ConvSizes conv_sizes(ConvTransposeParams const& conv, Shape const& input) {
    const Shape output = conv.output(std::span(&input, 1));
    return {.n = input.c,
            .m = conv.k,
            .kernel_h = conv.kernel.h,
            .kernel_w = conv.kernel.w,
            .groups = conv.groups,
            .in_h = output.h,
            .in_w = output.w,
            .out_h = input.h,
            .out_w = input.w};
}
/// Those of a graph, in its order; other layers have no features.
[[nodiscard]] inline std::vector<ConvSizes> conv_sizes(Graph const& graph) {
    std::vector<ConvSizes> sizes;
    for (Node const& node : graph.nodes()) {
        const auto add = [&]<class Params>(Params const& layer) {
            if constexpr (requires(Shape input) { conv_sizes(layer, input); }) {
                sizes.push_back(conv_sizes(layer, graph[node.inputs[0]].shape));
            }
        };
        core::visit(add, node.layer);
    }
    return sizes;
}

/// The 42 features, those of Winograd twice: 1 to 42 for tiles of (q, r) = (4, 3), then 29 to 42 for (3, 2).
struct NetworkFeatures {
    static constexpr std::size_t count = 56;
    std::array<double, count> values{};

    /// By its number in the paper, 1 to 42.
    [[nodiscard]] double operator()(std::size_t number) const { return values[number - 1]; }
    /// Features 29 to 42, of the tiles (3, 2).
    [[nodiscard]] double small_tiles(std::size_t number) const { return values[number - 1 + 14]; }
    NetworkFeatures& operator+=(NetworkFeatures const& other) {
        for (std::size_t i = 0; i < count; ++i) values[i] += other.values[i];
        return *this;
    }
};

/// As the paper calls them.
inline constexpr std::array<std::string_view, NetworkFeatures::count> network_feature_names{
    "mem_w",
    "mem_w_grad",
    "mem_ifm_grad",
    "mem_ofm_grad",
    "mem_w + mem_w_grad + mem_ifm_grad + mem_ofm_grad",
    "mem_i2c_fwd_total(mm)",
    "mem_i2c_bwd_w_total(mm)",
    "mem_i2c_fwd_index(mm)",
    "mem_i2c_bwd_x_total(mm)",
    "mem_i2c_bwd_x_index(mm)",
    "mem_i2c_total(mm)",
    "mem_i2c_index(mm)",
    "ops_fwd(mm)",
    "ops_bwd_x(mm)",
    "2 ops_fwd + ops_bwd_x(mm)",
    "mem_w_fwd(fft)",
    "mem_ifm_fwd(fft)",
    "mem_ofm_bwd_w(fft)",
    "mem_w_bwd_x(fft)",
    "mem_ofm_bwd_x(fft)",
    "mem_w_fwd + mem_ifm_fwd(fft)",
    "mem_ofm_bwd_x + mem_ofm_bwd_w(fft)",
    "mem_ofm_bwd_w + mem_ifm_fwd(fft)",
    "mem_total(fft)",
    "ops_fwd(fft)",
    "ops_bwd_x(fft)",
    "ops_bwd_w(fft)",
    "ops_total(fft)",
    "mem_fwd(wino 4,3)",
    "mem_bwd_x(wino 4,3)",
    "mem_bwd_w(wino 4,3)",
    "mem_fwd + mem_bwd_x(wino 4,3)",
    "mem_fwd + mem_bwd_w(wino 4,3)",
    "mem_bwd_w + mem_bwd_x(wino 4,3)",
    "mem_total(wino 4,3)",
    "ops_fwd(wino 4,3)",
    "ops_bwd_x(wino 4,3)",
    "ops_bwd_w(wino 4,3)",
    "ops_fwd + ops_bwd_x(wino 4,3)",
    "ops_fwd + ops_bwd_w(wino 4,3)",
    "ops_bwd_x + ops_bwd_w(wino 4,3)",
    "ops_total(wino 4,3)",
    "mem_fwd(wino 3,2)",
    "mem_bwd_x(wino 3,2)",
    "mem_bwd_w(wino 3,2)",
    "mem_fwd + mem_bwd_x(wino 3,2)",
    "mem_fwd + mem_bwd_w(wino 3,2)",
    "mem_bwd_w + mem_bwd_x(wino 3,2)",
    "mem_total(wino 3,2)",
    "ops_fwd(wino 3,2)",
    "ops_bwd_x(wino 3,2)",
    "ops_bwd_w(wino 3,2)",
    "ops_fwd + ops_bwd_x(wino 3,2)",
    "ops_fwd + ops_bwd_w(wino 3,2)",
    "ops_bwd_x + ops_bwd_w(wino 3,2)",
    "ops_total(wino 3,2)",
};

namespace detail {

/// The quantities of which appendix B makes its features. Areas stand where it has squares: no image need be square.
struct ConvQuantities {
    double batch, n, m, per_group, kernel, in, out;
    ConvSizes const& sizes;

    ConvQuantities(ConvSizes const& conv, double images)
        : batch(images),
          n(conv.n),
          m(conv.m),
          per_group(m / conv.groups),
          kernel(static_cast<double>(conv.kernel_h) * conv.kernel_w),
          in(static_cast<double>(conv.in_h) * conv.in_w),
          out(static_cast<double>(conv.out_h) * conv.out_w),
          sizes(conv) {}

    /// Complex values of a half spectrum, as twice as many reals.
    [[nodiscard]] double in_spectrum() const { return static_cast<double>(sizes.in_h) * (1.0 + sizes.in_w); }
    [[nodiscard]] double out_spectrum() const { return static_cast<double>(sizes.out_h) * (1.0 + sizes.out_w); }
    /// Planes that are transformed: of images, results and weights.
    [[nodiscard]] double planes() const { return batch * (m + n) + n * per_group; }

    [[nodiscard]] static double tiles(int h, int w, int tile) {
        return std::ceil(static_cast<double>(h) / tile) * std::ceil(static_cast<double>(w) / tile);
    }
};

/// Features 29 to 42 for outputs of q x q and kernels of r x r.
inline void add_winograd(ConvQuantities const& c, int q, int r, double* f) {
    const double products = static_cast<double>(q + r - 1) * (q + r - 1);
    const double in = ConvQuantities::tiles(c.sizes.in_h, c.sizes.in_w, q),
                 out = ConvQuantities::tiles(c.sizes.out_h, c.sizes.out_w, q),
                 kernel = ConvQuantities::tiles(c.sizes.kernel_h, c.sizes.kernel_w, r),
                 gradient = ConvQuantities::tiles(c.sizes.out_h, c.sizes.out_w, r);
    const double memory[] = {c.batch * c.n * in * 3 * products, c.batch * c.m * out * 3 * products,
                             c.batch * c.n * c.per_group * in * 3 * products};
    const double work[] = {c.batch * c.n * c.per_group * in * kernel * products,
                           c.batch * c.m * c.n * out * kernel * products,
                           c.batch * c.n * c.per_group * c.per_group * in * gradient * products};
    const auto add = [&f](const double* of) {
        const double forward = of[0], input = of[1], weights = of[2];
        for (const double value : {forward, input, weights, forward + input, forward + weights, weights + input}) {
            *f++ = value;
        }
        *f++ = 2 * (forward + input + weights);
    };
    add(memory), add(work);
}

}  // namespace detail

/// The features of one convolution for `batch` images. Throws error where a size is less than 1, or the groups do not
/// divide the channels.
[[nodiscard]] inline NetworkFeatures network_features(ConvSizes const& conv, int batch) {
    if (batch < 1) fail("forecast: impossible batch ", batch);
    for (const int size :
         {conv.n, conv.m, conv.kernel_h, conv.kernel_w, conv.groups, conv.in_h, conv.in_w, conv.out_h, conv.out_w}) {
        if (size < 1) fail("forecast: a convolution with a size of ", size);
    }
    if (conv.m % conv.groups != 0) fail("forecast: ", conv.groups, " groups do not divide ", conv.m, " channels");
    const detail::ConvQuantities c(conv, batch);
    NetworkFeatures features;
    double* f = features.values.data() - 1;  // f[i] is feature i
    f[1] = c.n * c.per_group * c.kernel;
    f[2] = c.batch * f[1];
    f[3] = c.batch * c.m * c.in;
    f[4] = c.batch * c.n * c.out;
    f[5] = f[1] + f[2] + f[3] + f[4];

    f[6] = c.batch * c.out * c.kernel * c.m;
    f[7] = c.batch * c.out * c.kernel * c.per_group;
    f[8] = c.batch * c.out;
    f[9] = c.batch * c.in * c.kernel * c.m;
    f[10] = c.batch * c.in;
    f[11] = f[6] + f[7] + f[9];
    f[12] = 2 * f[8] + f[10];
    f[13] = c.batch * c.n * c.out * c.kernel * c.per_group;
    f[14] = c.batch * c.m * c.in * c.kernel * c.n;
    f[15] = 2 * f[13] + f[14];

    f[16] = c.n * c.per_group * c.in_spectrum();
    f[17] = c.batch * c.m * c.in_spectrum();
    f[18] = c.batch * c.n * c.in_spectrum();
    f[19] = c.n * c.per_group * c.out_spectrum();
    f[20] = c.batch * c.n * c.out_spectrum();
    f[21] = f[16] + f[17];
    f[22] = f[20] + f[18];
    f[23] = f[18] + f[17];
    f[24] = f[21] + f[22] + f[23];
    const double pairs = c.batch * c.n * c.m;
    f[25] = c.in * 0.5 * std::log2(c.in) * c.planes() + pairs * c.in;
    f[26] = c.out * 0.5 * std::log2(c.out) * c.planes() + pairs * c.out;
    f[27] = std::sqrt(c.in) * std::log2(c.in) * c.planes() + pairs * c.in;
    f[28] = f[25] + f[26] + f[27];

    detail::add_winograd(c, 4, 3, f + 29);
    detail::add_winograd(c, 3, 2, f + 43);
    return features;
}

/// Summed over the convolutions of a network.
[[nodiscard]] inline NetworkFeatures network_features(std::span<const ConvSizes> convolutions, int batch) {
    NetworkFeatures sum;
    for (ConvSizes const& conv : convolutions) sum += network_features(conv, batch);
    return sum;
}
/// The features of a graph, whatever its own batch is.
[[nodiscard]] inline NetworkFeatures network_features(Graph const& graph, int batch) {
    return network_features(conv_sizes(graph), batch);
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
