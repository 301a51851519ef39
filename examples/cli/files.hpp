// Inputs from files, outputs to files.
#pragma once

#include "model.hpp"

#include <span>
#include <string>
#include <vector>

namespace cli {

/// How an image becomes numbers: (pixel * scale - mean) / std, of one value for all channels or one for each.
struct ImageOptions {
    std::vector<std::string> files;
    std::vector<float> mean{0.0F}, std{1.0F};
    float scale = 1.0F / 255.0F;
};

/// FILE or NAME=FILE, an .npy file or a TensorProto of ONNX. Throws error.
[[nodiscard]] GivenInput read_input(std::string const& argument);
/// Images of one size as batch x channels x height x width; 0 channels: those of the first file. Throws error.
[[nodiscard]] GivenInput read_images(ImageOptions const& options, int channels);

/// Copies the values to where they belong. Throws error when there are fewer or more than the input takes.
void fill(Port const& port, GivenInput const& given, std::span<float> dst);

/// What each input is given, in the model's order; null for those that are given nothing. Throws error for a name that
/// no input has, for two inputs for one, and for more than there are.
[[nodiscard]] std::vector<const GivenInput*> assign(Model const& model, std::vector<GivenInput> const& given);

/// Writes an output as DIR/<name>.npy, with whatever is no letter, digit, '.', '-' or '_' in the name replaced, and
/// returns the path. The folder is made if need be. Throws error.
std::string write_output(std::string const& folder, Model const& model, std::size_t output,
                         std::span<const float> values);

}  // namespace cli
