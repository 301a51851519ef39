// Inputs from files, outputs to files.
#pragma once

#include "model.hpp"

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cli {

/// How an image of another size than the network's becomes one of its size.
enum class Resizing { crop_unless_equal, crop, stretch, exact };

/// How an image becomes numbers: (pixel * scale - mean) / std, of one value for all channels or one for each.
struct ImageOptions {
    std::vector<std::string> files;
    Resizing resizing = Resizing::crop_unless_equal;
    /// The pixels of the short side before an image is cropped; 0: 256 where the network has 224.
    int short_side = 0;
    std::vector<float> mean{0.0F}, std{1.0F};
    float scale = 1.0F / 255.0F;
    bool no_exif = false;
};

/// --resize, --mean, --std, --scale and --no-exif, which need the option that gives images.
void add_pixel_options(CLI::App& command, ImageOptions& options, CLI::Option* images);

/// The images of an .npy file, or of the files of a folder in the order of their names, one after another in chw order.
/// Those of files are resized. Throws error unless all then have the shape.
[[nodiscard]] std::vector<float> read_images(std::string const& path, ImageOptions options, ps::Shape shape);

/// The inputs that are given: FILE for the next that has none, or NAME=FILE; .npy files or TensorProtos of ONNX. Then
/// the images, for the first input that is left. Throws error for a name that no input has, for an input that is given
/// twice, for more than there are, and for sizes other than the declared.
[[nodiscard]] std::vector<GivenInput> read_inputs(Source const& source, std::vector<std::string> const& arguments,
                                                  ImageOptions const& images);

/// Copies the values.
void fill(GivenInput const& given, std::span<float> dst);

/// Writes an output as DIR/<name>.npy, with whatever is no letter, digit, '.', '-' or '_' in the name replaced, and
/// returns the path. The folder is made if need be. Throws error.
std::string write_output(std::string const& folder, Model const& model, std::size_t output,
                         std::span<const float> values);

}  // namespace cli
