#include "files.hpp"

#include <image.hpp>
#include <resize.hpp>

#include <primsel/core/read_number.hpp>
#include <primsel/io/npy.hpp>
#include <primsel/onnx/detail/read_tensor.hpp>

#include <sys/stat.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cli {
namespace {

ps::OnnxTensor tensor_of(ps::NpyArray array) {
    constexpr ps::OnnxType types[] = {ps::OnnxType::float32, ps::OnnxType::float64, ps::OnnxType::int64,
                                      ps::OnnxType::int32,   ps::OnnxType::uint8,   ps::OnnxType::boolean,
                                      ps::OnnxType::float16, ps::OnnxType::int8,    ps::OnnxType::uint16,
                                      ps::OnnxType::int16,   ps::OnnxType::uint32,  ps::OnnxType::uint64};
    const ps::OnnxType type = types[static_cast<std::size_t>(array.type)];
    ps::OnnxTensor tensor;
    if (ps::onnx::is_float(type)) {
        tensor = ps::make_onnx_tensor("", std::move(array.dims), std::move(array.values));
    } else {
        std::vector<std::int64_t> values(array.values.size());
        std::ranges::transform(array.values, values.begin(), [](float value) {
            // The largest of 64 bits are held as the largest with a sign.
            return value < 0x1p63F ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::max();
        });
        tensor = ps::make_onnx_tensor("", std::move(array.dims), std::move(values));
    }
    tensor.type = type;
    return tensor;
}

ps::OnnxTensor read_tensor(std::string const& path) {
    if (path.ends_with(".npy")) return tensor_of(ps::read_npy(path));
    if (path.ends_with(".pb")) return ps::read_onnx_tensor(path);
    ps::fail(path, ": inputs are .npy files or .pb files");
}

/// One image as channels x height x width at the end of the values.
void append(image::Image const& image, ImageOptions const& options, std::vector<float>& values) {
    const auto channels = static_cast<std::size_t>(image.channels);
    const auto of = [](std::vector<float> const& numbers, std::size_t channel) {
        return numbers.size() == 1 ? numbers[0] : numbers[channel];
    };
    for (std::size_t c = 0; c < channels; ++c) {
        const float mean = of(options.mean, c), deviation = of(options.std, c);
        for (std::size_t i = c; i < image.pixels.size(); i += channels) {
            values.push_back((static_cast<float>(image.pixels[i]) * options.scale - mean) / deviation);
        }
    }
}

void check_channels(const char* option, std::vector<float> const& numbers, int channels) {
    if (numbers.size() != 1 && numbers.size() != static_cast<std::size_t>(channels)) {
        ps::fail(option, ": ", numbers.size(), " numbers for ", channels, " channels");
    }
}

/// The image at the network's size.
image::Image fitted(image::Image picture, ImageOptions const& options, Size size) {
    const bool equal = picture.h == size.h && picture.w == size.w;
    switch (options.resizing) {
        case Resizing::exact:
            return picture;
        case Resizing::stretch:
            return image::resized(picture, size.h, size.w);
        case Resizing::crop_unless_equal:
            if (equal) return picture;
            break;
        case Resizing::crop:
            break;
    }
    const int network = std::min(size.h, size.w);
    if (options.short_side != 0 && options.short_side < network) {
        ps::fail("--resize ", options.short_side, ": the network's images are ", size.h, 'x', size.w);
    }
    const double factor = options.short_side == 0 ? 256.0 / 224.0 : static_cast<double>(options.short_side) / network;
    const auto side = [factor](int own) { return static_cast<int>(std::lround(factor * own)); };
    return image::cropped(picture, side(size.h), side(size.w), size.h, size.w);
}

/// Images of one size, that of the network where it is known, as batch x channels x height x width.
ps::OnnxTensor read_images(ImageOptions const& options, int channels, std::optional<Size> size) {
    std::vector<float> values;
    int h = 0, w = 0;
    for (std::string const& file : options.files) {
        image::Image picture = image::read(
            file, channels, options.no_exif ? image::Orientation::as_stored : image::Orientation::from_exif);
        if (size) picture = fitted(std::move(picture), options, *size);
        if (h != 0 && (picture.h != h || picture.w != w)) {
            ps::fail(file, ": ", picture.h, 'x', picture.w, ", but ", options.files[0], " is ", h, 'x', w);
        }
        h = picture.h, w = picture.w;
        append(picture, options, values);
    }
    const auto count = static_cast<std::int64_t>(options.files.size());
    return ps::make_onnx_tensor("", {count, channels, h, w}, std::move(values));
}

/// Without its ones at the front.
std::vector<std::int64_t> significant(std::vector<std::int64_t> dims) {
    while (!dims.empty() && dims.front() == 1) dims.erase(dims.begin());
    return dims;
}

/// Throws error unless the values have the declared sizes, but for ones at the front, which they are given.
void check_dims(DeclaredInput const& input, GivenInput& given) {
    if (!input.dims) return;
    std::vector<std::int64_t> expected;
    std::string text;
    const bool same_rank = given.tensor.dims.size() == input.dims->size();
    for (std::size_t i = 0; i < input.dims->size(); ++i) {
        std::optional<std::int64_t> const& dim = (*input.dims)[i];
        text += (i == 0 ? "" : "x") + (dim ? std::to_string(*dim) : "?");
        // An open dimension is what the values have; without one of their own, one image.
        expected.push_back(dim ? *dim : same_rank ? given.tensor.dims[i] : 1);
    }
    if (significant(given.tensor.dims) != significant(expected)) {
        ps::fail(given.file, ": has ", ps::to_string(given.tensor.dims), "; the network's input ", input.name, " is ",
                 text);
    }
    given.tensor.dims = expected;
}

std::string names_of(std::vector<DeclaredInput> const& inputs) {
    std::string names;
    for (DeclaredInput const& input : inputs) {
        if (!input.has_default) names += (names.empty() ? "" : ", ") + input.name;
    }
    return names;
}

}  // namespace

void add_pixel_options(CLI::App& command, ImageOptions& options, CLI::Option* images) {
    command
        .add_option_function<std::string>(
            "--resize",
            [&options](std::string const& text) {
                constexpr std::pair<std::string_view, Resizing> ways[] = {
                    {"crop", Resizing::crop}, {"stretch", Resizing::stretch}, {"exact", Resizing::exact}};
                for (auto const& [name, way] : ways) {
                    if (text == name) options.resizing = way;
                    if (text == name) return;
                }
                if (!ps::read_number(text, options.short_side) || options.short_side < 1 ||
                    options.short_side > image::most_extent) {
                    throw CLI::ValidationError("--resize",
                                               "expected crop, stretch, exact or the pixels of the short "
                                               "side before it is cropped, not " +
                                                   text);
                }
                options.resizing = Resizing::crop;
            },
            "How images get the network's size: crop resizes the short side to 256 where the network has 224, or to N, "
            "and takes the centre; stretch; exact refuses others (default: crop, unless they have the size)")
        ->needs(images)
        ->type_name("crop|stretch|exact|N");
    command.add_option("--mean", options.mean, "Taken from the scaled pixels, for each channel (default 0)")
        ->needs(images)
        ->check(finite_number)
        ->expected(1, 4)
        ->delimiter(',')
        ->type_name("R,G,B");
    command.add_option("--std", options.std, "What they are then divided by, for each channel (default 1)")
        ->needs(images)
        ->expected(1, 4)
        ->delimiter(',')
        ->check(positive_number)
        ->type_name("R,G,B");
    command.add_option("--scale", options.scale, "The factor of the pixels, which are 0 to 255 (default 1/255)")
        ->needs(images)
        ->check(finite_number)
        ->type_name("X");
    command.add_flag("--no-exif", options.no_exif, "Do not turn images as their EXIF data say")->needs(images);
}

std::vector<float> read_images(std::string const& path, ImageOptions options, ps::Shape shape) {
    const std::vector<std::int64_t> dims{shape.c, shape.h, shape.w};
    const auto check = [&](std::vector<std::int64_t> const& given) {
        if (given.size() >= 3 && std::equal(given.end() - 3, given.end(), dims.begin())) return;
        ps::fail(path, ": has ", ps::to_string(given), "; the network takes images of ", shape);
    };
    if (path.ends_with(".npy")) {
        ps::NpyArray array = ps::read_npy(path);
        check(array.dims);
        return std::move(array.values);
    }
    const std::vector<std::string> endings = image::endings();
    try {
        for (auto const& entry : std::filesystem::directory_iterator(path)) {
            const std::string file = entry.path().string();
            const bool is_image =
                std::ranges::any_of(endings, [&](std::string const& end) { return file.ends_with(end); });
            if (is_image) options.files.push_back(file);
        }
    } catch (std::filesystem::filesystem_error const& reason) {
        ps::fail(path, ": cannot read: ", reason.code().message());
    }
    if (options.files.empty()) ps::fail(path, ": has no images: ", image::kinds("and"), " files");
    std::ranges::sort(options.files);
    check_channels("--mean", options.mean, shape.c);
    check_channels("--std", options.std, shape.c);
    const ps::OnnxTensor images = read_images(options, shape.c, Size{shape.h, shape.w});
    check(images.dims);
    return {images.floats.begin(), images.floats.end()};
}

std::vector<GivenInput> read_inputs(Source const& source, std::vector<std::string> const& arguments,
                                    ImageOptions const& images) {
    std::string const& net = source.options.net;
    std::vector<GivenInput> given;
    const auto is_given = [&](std::string const& name) {
        return std::ranges::find(given, name, &GivenInput::name) != given.end();
    };
    std::vector<std::string> unnamed;
    for (std::string const& argument : arguments) {
        // A file of that name is meant even if there is a = in it.
        struct stat status {};
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos || ::stat(argument.c_str(), &status) == 0) {
            unnamed.push_back(argument);
            continue;
        }
        const std::string name = argument.substr(0, equals), file = argument.substr(equals + 1);
        if (std::ranges::find(source.inputs, name, &DeclaredInput::name) == source.inputs.end()) {
            ps::fail(file, ": ", net, " has no input ", name, "; it has ", names_of(source.inputs));
        }
        if (is_given(name)) ps::fail(file, ": the input ", name, " is given twice");
        given.push_back({name, file, read_tensor(file)});
    }
    const auto next_input = [&](std::string const& file) -> DeclaredInput const& {
        for (DeclaredInput const& input : source.inputs) {
            if (!input.has_default && !is_given(input.name)) return input;
        }
        const auto count = std::ranges::count(source.inputs, false, &DeclaredInput::has_default);
        ps::fail(file, ": ", net, " takes no more than ", count, count == 1 ? " input" : " inputs");
    };
    for (std::string const& file : unnamed) {
        const std::string name = next_input(file).name;
        given.push_back({name, file, read_tensor(file)});
    }
    if (!images.files.empty()) {
        DeclaredInput const& input = next_input(images.files[0]);
        const std::int64_t channels = input.dims && input.dims->size() == 4 ? (*input.dims)[1].value_or(3) : 3;
        if (channels != 1 && channels != 3 && channels != 4) {
            ps::fail(images.files[0], ": the network's input ", input.name, " has ", channels, " channels: no image");
        }
        check_channels("--mean", images.mean, static_cast<int>(channels));
        check_channels("--std", images.std, static_cast<int>(channels));
        std::optional<Size> size;
        if (input.dims && input.dims->size() == 4 && (*input.dims)[2] && (*input.dims)[3]) {
            const auto extent = [&](std::size_t axis) {
                return static_cast<int>(std::clamp<std::int64_t>(*(*input.dims)[axis], 1, image::most_extent));
            };
            size = Size{extent(2), extent(3)};
        }
        ps::OnnxTensor values = read_images(images, static_cast<int>(channels), size);
        if (ps::onnx::is_float(input.type)) values.type = input.type;
        given.push_back({input.name, images.files[0], std::move(values)});
    }
    for (GivenInput& next : given) check_dims(*std::ranges::find(source.inputs, next.name, &DeclaredInput::name), next);
    return given;
}

void fill(GivenInput const& given, std::span<float> dst) {
    ps::OnnxTensor const& tensor = given.tensor;
    if (tensor.size() != dst.size()) {
        ps::fail(given.file, ": ", tensor.size(), " values for the ", dst.size(), " of input ", given.name);
    }
    if (tensor.is_float()) {
        std::ranges::copy(tensor.floats, dst.begin());
    } else {
        std::ranges::transform(tensor.integers, dst.begin(),
                               [](std::int64_t value) { return static_cast<float>(value); });
    }
}

namespace {

/// The names of the outputs' files: of letters, digits and "._-", short enough for any file system, and unlike each
/// other also where case does not count.
std::vector<std::string> output_names(Model const& model) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    constexpr std::size_t longest = 200;
    std::vector<std::string> names;
    std::set<std::string> taken;
    for (std::size_t i = 0; i < model.outputs.size(); ++i) {
        std::string name = model.outputs[i].name.substr(0, longest);
        for (char& c : name) c = plain.find(c) == std::string_view::npos ? '_' : c;
        if (name.empty() || name[0] == '.') name = "output" + name;
        const auto lower = [](std::string text) {
            for (char& c : text) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            return text;
        };
        std::string unique = name;
        for (std::size_t n = 1; !taken.insert(lower(unique)).second; ++n) unique = name + '-' + std::to_string(n);
        names.push_back(std::move(unique));
    }
    return names;
}

}  // namespace

std::string write_output(std::string const& folder, Model const& model, std::size_t output,
                         std::span<const float> values) {
    const std::string name = output_names(model)[output];
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
        ps::fail(folder, ": cannot make the folder: ", std::strerror(errno));
    }
    std::string path = folder + '/' + name + ".npy";
    std::vector<std::int64_t> const& dims = model.outputs[output].dims;
    // An output without elements is an image of one that does not count.
    if (std::ranges::find(dims, 0) != dims.end()) values = {};
    ps::write_npy(path, dims, values, model.outputs[output].type);
    return path;
}

}  // namespace cli
