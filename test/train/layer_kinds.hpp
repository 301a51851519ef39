// Small networks around one layer, and their loss in double precision, from the definitions.
#pragma once

#include "../op/reference.hpp"
#include "squares.hpp"

#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/weights.hpp>

#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace layer_kinds {

namespace ps = primsel;
using squares::numbers, squares::Squares;

inline constexpr ps::Shape in_shape{3, 6, 5};

/// A layer that reads so many convolutions of the image, each 4 x 6 x 5 or brought to the shape that is given.
struct Example {
    ps::AnyLayer layer;
    std::size_t inputs = 1;
    /// The text of its refusal; empty: it has gradients.
    std::string_view refused = "";
    /// Its input lies near this number, unless 0.
    double around = 0;
    std::vector<ps::Shape> shapes = {};
    /// Its second input lies near this number, unless 0.
    double second = 0;
};

/// The image, convolutions "a0", "a1", ..., the layer "tested", and a last convolution, but for dropout: its zeros are
/// to be seen.
inline ps::Graph graph_of(Example const& example) {
    ps::Graph graph(3);
    const std::size_t image = graph.add("image", ps::InputParams{in_shape}, {});
    std::vector<std::size_t> inputs;
    for (std::size_t i = 0; i < example.inputs; ++i) {
        const std::string name = ps::join('a', i);
        std::size_t at = graph.add(name, ps::ConvParams{.k = 4, .kernel = 1}, {image});
        if (i < example.shapes.size() && example.shapes[i] != graph[at].shape) {
            const ps::Shape shape = example.shapes[i];
            at = graph.add(name + "/enough", ps::ConvParams{.k = shape.c * shape.h * shape.w}, {at});
            at = graph.add(name + "/one", ps::GlobalPoolParams{}, {at});
            at = graph.add(name + "/shaped", ps::ReshapeParams{shape}, {at});
        }
        inputs.push_back(at);
    }
    const std::size_t tested = graph.add("tested", example.layer, inputs);
    if (!std::holds_alternative<ps::DropoutParams>(example.layer)) graph.add("b", ps::ConvParams{.k = 3}, {tested});
    return graph;
}

inline ps::Weights weights_of(ps::Graph const& graph, Example const& example) {
    ps::Weights weights;
    unsigned seed = 10;
    for (ps::WeightSpec const& spec : ps::weight_specs(graph)) {
        std::size_t count = 1;
        for (const std::int64_t dim : spec.dims) count *= static_cast<std::size_t>(dim);
        std::vector<float> values = numbers(count, ++seed);
        for (float& value : values) {
            if (spec.name.ends_with("running_var")) value = std::abs(value);
            if (example.around != 0 && spec.name.starts_with("a")) value *= 0.05F;
            if (example.around != 0 && spec.name.starts_with("a") && spec.name.ends_with(".bias"))
                value += static_cast<float>(example.second != 0 && spec.name.starts_with("a1") ? example.second
                                                                                               : example.around);
        }
        weights.add(spec.name, {spec.dims.begin(), spec.dims.end()}, std::move(values));
    }
    return weights;
}

/// A network as it trains, in double precision.
class Exactly {
public:
    using Images = reference::Images;

    Exactly(ps::Graph const& graph, ps::Weights const& weights, std::span<const float> images,
            std::span<const float> targets)
        : graph_(graph), images_(of(in_shape, images)), targets_(targets.begin(), targets.end()) {
        for (auto const& [name, tensor] : weights) values_[name].assign(tensor.values.begin(), tensor.values.end());
    }
    [[nodiscard]] std::vector<double>& values(std::string const& weight) { return values_.at(weight); }
    /// Elements that the last dropout made zero stay zero.
    void drop_as(std::span<const float> result) {
        for (const float value : result) kept_.push_back(value != 0.0F);
    }
    /// The first layer that has the weight.
    [[nodiscard]] std::size_t first_with(std::string const& weight) const {
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (weight == graph_[i].name || weight.starts_with(graph_[i].name + '.')) return i;
        }
        return 0;
    }
    /// The results of the layers before that one are those of the call before.
    [[nodiscard]] double loss(std::size_t first = 0) {
        results_.resize(first);
        for (std::size_t i = first; i < graph_.size(); ++i) {
            results_.push_back(std::visit([&](auto const& layer) { return run(i, layer, results_); }, graph_[i].layer));
        }
        double sum = 0;
        std::size_t at = 0;
        for (reference::Image const& image : results_.back()) {
            for (const double value : image.data) {
                const double apart = value - static_cast<double>(targets_[at++]);
                sum += 0.5 * apart * apart / graph_.batch();
            }
        }
        return sum;
    }

private:
    [[nodiscard]] Images of(ps::Shape shape, std::span<const float> floats) const {
        Images result(floats.size() / shape.size(), reference::Image(shape));
        for (std::size_t i = 0; i < floats.size(); ++i) {
            result[i / shape.size()].data[i % shape.size()] = static_cast<double>(floats[i]);
        }
        return result;
    }
    [[nodiscard]] std::vector<double> const& weight(std::size_t node, std::string_view name) const {
        return values_.at(ps::network::weight_name(graph_[node].name, name));
    }
    /// The bias of each output; zeros without one.
    [[nodiscard]] std::vector<double> biases(std::size_t node, bool are_there, int outputs) const {
        return are_there ? weight(node, "bias") : std::vector<double>(static_cast<std::size_t>(outputs));
    }
    [[nodiscard]] Images run(std::size_t, ps::InputParams const&, std::vector<Images> const&) const { return images_; }
    [[nodiscard]] Images run(std::size_t i, ps::ConvParams const& conv, std::vector<Images> const& results) const {
        std::vector<double> const& kernel = weight(i, "weight");
        const std::vector<double> bias = biases(i, conv.bias, conv.k);
        Images result;
        for (reference::Image const& in : results[graph_[i].inputs[0]]) {
            const int of_group = in.shape.c / conv.groups;
            result.push_back(reference::build(graph_[i].shape, [&](int k, int oh, int ow) {
                double sum = bias[static_cast<std::size_t>(k)];
                auto at = static_cast<std::size_t>(k * of_group * conv.kernel.h * conv.kernel.w);
                for (int c = 0; c < of_group; ++c) {
                    for (int fh = 0; fh < conv.kernel.h; ++fh) {
                        for (int fw = 0; fw < conv.kernel.w; ++fw, ++at) {
                            const int h = oh * conv.stride.h + fh * conv.dilation.h - conv.padding.top,
                                      w = ow * conv.stride.w + fw * conv.dilation.w - conv.padding.left;
                            if (h < 0 || w < 0 || h >= in.shape.h || w >= in.shape.w) continue;
                            sum += kernel[at] * in(k / (conv.k / conv.groups) * of_group + c, h, w);
                        }
                    }
                }
                return sum;
            }));
        }
        return result;
    }
    [[nodiscard]] Images run(std::size_t i, ps::ConvTransposeParams const& conv,
                             std::vector<Images> const& results) const {
        std::vector<double> const& kernel = weight(i, "weight");
        const std::vector<double> bias = biases(i, conv.bias, conv.k);
        Images result;
        for (reference::Image const& in : results[graph_[i].inputs[0]]) {
            const int k_of_group = conv.k / conv.groups, c_of_group = in.shape.c / conv.groups;
            reference::Image out =
                reference::build(graph_[i].shape, [&](int k, int, int) { return bias[static_cast<std::size_t>(k)]; });
            std::size_t at = 0;
            for (int c = 0; c < in.shape.c; ++c) {
                for (int k = c / c_of_group * k_of_group; k < (c / c_of_group + 1) * k_of_group; ++k) {
                    for (int fh = 0; fh < conv.kernel.h; ++fh) {
                        for (int fw = 0; fw < conv.kernel.w; ++fw, ++at) {
                            for (int ih = 0; ih < in.shape.h; ++ih) {
                                for (int iw = 0; iw < in.shape.w; ++iw) {
                                    const int h = ih * conv.stride.h + fh * conv.dilation.h - conv.padding.top,
                                              w = iw * conv.stride.w + fw * conv.dilation.w - conv.padding.left;
                                    if (h < 0 || w < 0 || h >= out.shape.h || w >= out.shape.w) continue;
                                    out(k, h, w) += kernel[at] * in(c, ih, iw);
                                }
                            }
                        }
                    }
                }
            }
            result.push_back(std::move(out));
        }
        return result;
    }
    [[nodiscard]] Images run(std::size_t i, ps::ConstantParams const& constant, std::vector<Images> const&) const {
        reference::Image image(constant.shape);
        image.data = weight(i, constant.weight_name());
        return Images(static_cast<std::size_t>(graph_.batch()), image);
    }
    [[nodiscard]] Images run(std::size_t i, ps::DenseParams const& dense, std::vector<Images> const& results) const {
        std::vector<double> const& matrix = weight(i, "weight");
        const std::vector<double> bias = biases(i, dense.bias, dense.k);
        Images result;
        for (reference::Image const& in : results[graph_[i].inputs[0]]) {
            result.push_back(reference::build(graph_[i].shape, [&](int k, int, int) {
                double sum = bias[static_cast<std::size_t>(k)];
                for (std::size_t j = 0; j < in.data.size(); ++j) {
                    sum += in.data[j] * matrix[static_cast<std::size_t>(k) * in.data.size() + j];
                }
                return sum;
            }));
        }
        return result;
    }
    [[nodiscard]] Images run(std::size_t i, ps::DenseRowsParams const& rows, std::vector<Images> const& results) const {
        std::vector<double> const& matrix = weight(i, "weight");
        const std::vector<double> bias = biases(i, rows.bias, rows.k);
        Images result;
        for (reference::Image const& in : results[graph_[i].inputs[0]]) {
            result.push_back(reference::build(graph_[i].shape, [&](int c, int h, int k) {
                double sum = bias[static_cast<std::size_t>(k)];
                for (int j = 0; j < in.shape.w; ++j) {
                    sum += in(c, h, j) * matrix[static_cast<std::size_t>(j * rows.k + k)];
                }
                return sum;
            }));
        }
        return result;
    }
    [[nodiscard]] Images run(std::size_t i, ps::BatchNormParams const& norm, std::vector<Images> const& results) const {
        Images result = results[graph_[i].inputs[0]];
        const std::size_t pixels = graph_[i].shape.pixels();
        for (std::size_t c = 0; c < static_cast<std::size_t>(graph_[i].shape.c); ++c) {
            double sum = 0, squares = 0;
            const auto each = [&](auto const& visit) {
                for (reference::Image& image : result) {
                    for (std::size_t p = 0; p < pixels; ++p) visit(image.data[c * pixels + p]);
                }
            };
            const double count = static_cast<double>(pixels * result.size());
            each([&](double value) { sum += value / count; });
            each([&](double value) { squares += (value - sum) * (value - sum) / count; });
            const double factor = weight(i, "weight")[c] / std::sqrt(squares + static_cast<double>(norm.epsilon)),
                         shift = weight(i, "bias")[c];
            each([&](double& value) { value = (value - sum) * factor + shift; });
        }
        return result;
    }
    [[nodiscard]] Images run(std::size_t i, ps::DropoutParams const& dropout,
                             std::vector<Images> const& results) const {
        Images result = results[graph_[i].inputs[0]];
        std::size_t at = 0;
        for (reference::Image& image : result) {
            for (double& value : image.data) {
                value = kept_[at++] ? value / (1 - static_cast<double>(dropout.rate)) : 0.0;
            }
        }
        return result;
    }
    [[nodiscard]] Images run(std::size_t i, ps::ScaleParams const& scale, std::vector<Images> const& results) const {
        Images result = results[graph_[i].inputs[0]];
        for (reference::Image& image : result) {
            for (double& value : image.data) {
                value = value * static_cast<double>(scale.factor) + static_cast<double>(scale.shift);
            }
        }
        if (scale.known) return result;
        result = results[graph_[i].inputs[0]];
        const std::size_t pixels = graph_[i].shape.pixels();
        std::vector<double> const &factors = weight(i, "weight"), &shifts = weight(i, "bias");
        for (reference::Image& image : result) {
            for (std::size_t at = 0; at < image.data.size(); ++at) {
                image.data[at] = image.data[at] * factors[at / pixels] + shifts[at / pixels];
            }
        }
        return result;
    }
    [[nodiscard]] Images run(std::size_t i, ps::StandardizeParams const& norm,
                             std::vector<Images> const& results) const {
        Images result;
        const std::vector<float> ones(static_cast<std::size_t>(graph_[i].shape.c), 1.0F), zeros(ones.size());
        for (std::size_t n = 0; n < static_cast<std::size_t>(graph_.batch()); ++n) {
            Images inputs;
            for (const std::size_t input : graph_[i].inputs) inputs.push_back(results[input][n]);
            result.push_back(reference::run(norm, inputs, ps::OpWeights{ones, zeros}, graph_[i].shape));
        }
        return result;
    }
    [[nodiscard]] Images run(std::size_t i, ps::RecurrentParams recurrent, std::vector<Images> const& results) const {
        recurrent.reads_weights = true;
        Images result, weights;
        for (const std::string name : {"weight", "bias"}) {
            if (name == "bias" && !recurrent.bias) continue;
            std::vector<double> const& values = weight(i, name);
            weights.emplace_back(ps::Shape{static_cast<int>(values.size()), 1, 1});
            weights.back().data = values;
        }
        for (std::size_t n = 0; n < static_cast<std::size_t>(graph_.batch()); ++n) {
            Images inputs;
            for (const std::size_t input : graph_[i].inputs) inputs.push_back(results[input][n]);
            inputs.insert(inputs.end(), weights.begin(), weights.end());
            result.push_back(reference::run(recurrent, inputs, ps::OpWeights{}, graph_[i].shape));
        }
        return result;
    }
    template <class Params>
    [[nodiscard]] Images run(std::size_t i, Params const& layer, std::vector<Images> const& results) const {
        Images result;
        for (std::size_t n = 0; n < static_cast<std::size_t>(graph_.batch()); ++n) {
            Images inputs;
            for (const std::size_t input : graph_[i].inputs) inputs.push_back(results[input][n]);
            if constexpr (requires { reference::run(layer, inputs, ps::OpWeights{}, graph_[i].shape); }) {
                result.push_back(reference::run(layer, inputs, ps::OpWeights{}, graph_[i].shape));
            }
        }
        return result;
    }

    ps::Graph const& graph_;
    Images images_;
    std::vector<float> targets_;
    std::vector<bool> kept_;
    std::vector<Images> results_;
    std::map<std::string, std::vector<double>, std::less<>> values_;
};

}  // namespace layer_kinds
