// Convolutions whose weights are inputs or computed.
#include "imported.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace import_computed_weights {

using namespace imported;

struct Case {
    std::int64_t images = 1, groups = 1, stride = 1, pad = 0, dilation = 1;
    bool bias = false, is_signal = false;
};

TEST_CASE("a convolution by a computed weight is that of a known one") {
    for (Case const& c :
         {Case{}, Case{.stride = 2, .pad = 1}, Case{.groups = 2, .pad = 2, .dilation = 2, .bias = true},
          Case{.images = 3, .groups = 4, .bias = true}, Case{.images = 2, .stride = 2, .is_signal = true},
          Case{.groups = 2, .pad = 1, .bias = true, .is_signal = true}}) {
        const std::int64_t channels = 4, k = 8, h = c.is_signal ? 1 : 7, w = 6, kernel = c.is_signal ? 1 : 3;
        Ints x_dims{c.images, channels, h, w}, w_dims{k, channels / c.groups, kernel, 2};
        const std::vector<float> x = numbers(static_cast<std::size_t>(c.images * channels * h * w), 1),
                                 weight = numbers(static_cast<std::size_t>(k * channels / c.groups * kernel * 2), 2),
                                 bias = numbers(static_cast<std::size_t>(k), 3);
        Ints pads{c.pad, 0, 0, c.pad};
        if (c.is_signal) {
            x_dims.erase(x_dims.begin() + 2), w_dims.erase(w_dims.begin() + 2);
            pads = {0, c.pad};
        }
        const std::size_t axes = pads.size() / 2;
        Model model(x_dims);
        model.input("w", w_dims);
        std::vector<std::vector<float>> inputs{x, weight};
        Strings names{"x", "w"};
        if (c.bias) model.input("b", {k}), names.emplace_back("b"), inputs.push_back(bias);
        const ps::OnnxModel made = parse(model
                                             .node("Conv", names, {"y"},
                                                   {{"group", c.groups},
                                                    {"strides", Ints(axes, c.stride)},
                                                    {"dilations", Ints(axes, c.dilation)},
                                                    {"pads", pads}})
                                             .bytes());
        CAPTURE(ps::to_string(x_dims));
        CAPTURE(c.groups);
        const std::int64_t out_h = (h + (c.is_signal ? 0 : c.pad) - (kernel - 1) * c.dilation - 1) / c.stride + 1,
                           out_w = (w + c.pad - c.dilation - 1) / c.stride + 1;
        std::vector<double> expected;
        for (std::int64_t n = 0; n < c.images; ++n) {
            for (std::int64_t o = 0; o < k; ++o) {
                for (std::int64_t i = 0; i < out_h; ++i) {
                    for (std::int64_t j = 0; j < out_w; ++j) {
                        double sum = c.bias ? static_cast<double>(bias[static_cast<std::size_t>(o)]) : 0;
                        for (std::int64_t at = 0; at < channels / c.groups; ++at) {
                            for (std::int64_t fh = 0; fh < kernel; ++fh) {
                                for (std::int64_t fw = 0; fw < 2; ++fw) {
                                    const std::int64_t from = o / (k / c.groups) * (channels / c.groups) + at;
                                    const std::int64_t y = i * c.stride + fh * c.dilation - (c.is_signal ? 0 : c.pad),
                                                       z = j * c.stride + fw * c.dilation;
                                    if (y < 0 || y >= h || z >= w) continue;
                                    const auto place =
                                        static_cast<std::size_t>(((n * channels + from) * h + y) * w + z);
                                    const auto tap = static_cast<std::size_t>(
                                        ((o * (channels / c.groups) + at) * kernel + fh) * 2 + fw);
                                    sum += static_cast<double>(x[place]) * static_cast<double>(weight[tap]);
                                }
                            }
                        }
                        expected.push_back(sum);
                    }
                }
            }
        }
        CHECK(is_close(run_inputs(made, inputs)[0], expected));
    }
    const auto fault = [](Ints const& w, std::int64_t groups) {
        return refusal(Model({1, 4, 5, 5}).input("w", w).node("Conv", {"x", "w"}, {"y"}, {{"group", groups}}).bytes());
    };
    const std::string node = "file: node the node (Conv): ";
    CHECK(fault({2, 4, 3}, 1) == node + "a weight of 2x4x3 for a tensor of 4 dimensions");
    CHECK(fault({2, 3, 3, 3}, 1) == node + "a weight of 2x3x3x3 with 1 groups for 4 channels");
    CHECK(fault({2, 4, 6, 3}, 1) == node + "its kernel is larger than the padded image");
}

}  // namespace import_computed_weights
