#include "files.hpp"

#include "image.hpp"

#include <primsel/io/npy.hpp>
#include <primsel/io/onnx/tensor.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cli {
namespace {

ps::OnnxTensor tensor_of(ps::NpyArray array) {
    constexpr ps::OnnxType types[] = {ps::OnnxType::float32, ps::OnnxType::float64, ps::OnnxType::int64,
                                      ps::OnnxType::int32,   ps::OnnxType::uint8,   ps::OnnxType::boolean};
    const ps::OnnxType type = types[static_cast<std::size_t>(array.type)];
    ps::OnnxTensor tensor;
    if (array.type == ps::NpyType::float32 || array.type == ps::NpyType::float64) {
        tensor = ps::make_onnx_tensor("", std::move(array.dims), std::move(array.values));
    } else {
        tensor = ps::make_onnx_tensor("", std::move(array.dims),
                                      std::vector<std::int64_t>(array.values.begin(), array.values.end()));
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
void append(Image const& image, ImageOptions const& options, std::vector<float>& values) {
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

/// Without its ones at the front.
std::vector<std::int64_t> significant(std::vector<std::int64_t> dims) {
    while (!dims.empty() && dims.front() == 1) dims.erase(dims.begin());
    return dims;
}

}  // namespace

GivenInput read_input(std::string const& argument) {
    // A file of that name is meant even if there is a = in it.
    struct stat status {};
    const std::size_t equals = ::stat(argument.c_str(), &status) == 0 ? std::string::npos : argument.find('=');
    GivenInput given{equals == std::string::npos ? "" : argument.substr(0, equals),
                     equals == std::string::npos ? argument : argument.substr(equals + 1),
                     {}};
    given.tensor = read_tensor(given.file);
    return given;
}

GivenInput read_images(ImageOptions const& options, int channels) {
    std::vector<float> values;
    int h = 0, w = 0;
    for (std::string const& file : options.files) {
        const Image image = read_image(file, channels);
        channels = image.channels;
        check_channels("--mean", options.mean, channels);
        check_channels("--std", options.std, channels);
        if (h != 0 && (image.h != h || image.w != w)) {
            ps::fail(file, ": ", image.h, 'x', image.w, ", but ", options.files[0], " is ", h, 'x', w);
        }
        h = image.h, w = image.w;
        append(image, options, values);
    }
    const auto count = static_cast<std::int64_t>(options.files.size());
    return {"", options.files[0], ps::make_onnx_tensor("", {count, channels, h, w}, std::move(values))};
}

void fill(Port const& port, GivenInput const& given, std::span<float> dst) {
    ps::OnnxTensor const& tensor = given.tensor;
    if (tensor.size() != dst.size() || significant(tensor.dims) != significant(port.dims)) {
        ps::fail(given.file, ": has ", ps::to_string(tensor.dims), "; the network's input ", port.name, " is ",
                 ps::to_string(port.dims));
    }
    if (tensor.is_float()) {
        std::ranges::copy(tensor.floats, dst.begin());
    } else {
        std::ranges::transform(tensor.integers, dst.begin(),
                               [](std::int64_t value) { return static_cast<float>(value); });
    }
}

std::vector<const GivenInput*> assign(Model const& model, std::vector<GivenInput> const& given) {
    std::vector<const GivenInput*> assigned(model.inputs.size(), nullptr);
    for (GivenInput const& next : given) {
        if (next.name.empty()) continue;
        const auto port = std::ranges::find(model.inputs, next.name, &Port::name);
        if (port == model.inputs.end()) {
            std::string names;
            for (Port const& input : model.inputs) names += (names.empty() ? "" : ", ") + input.name;
            ps::fail(next.file, ": ", model.name, " has no input ", next.name, "; it has ", names);
        }
        const GivenInput*& place = assigned[static_cast<std::size_t>(port - model.inputs.begin())];
        if (place != nullptr) ps::fail(next.file, ": the input ", next.name, " is given twice");
        place = &next;
    }
    for (GivenInput const& next : given) {
        if (!next.name.empty()) continue;
        const auto place = std::ranges::find(assigned, nullptr);
        if (place == assigned.end()) {
            ps::fail(next.file, ": ", model.name, " takes no more than ", assigned.size(),
                     assigned.size() == 1 ? " input" : " inputs");
        }
        *place = &next;
    }
    return assigned;
}

std::string write_output(std::string const& folder, Model const& model, std::size_t output,
                         std::span<const float> values) {
    const auto file_name = [&](std::size_t i) {
        std::string name = model.outputs[i].name;
        for (char& c : name) {
            const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
            if (!plain) c = '_';
        }
        if (name.empty() || name[0] == '.') name = "output" + name;
        return name;
    };
    std::string name = file_name(output);
    for (std::size_t i = 0; i < output; ++i) {
        if (file_name(i) == file_name(output)) name = file_name(output) + '-' + std::to_string(output);
    }
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
        ps::fail(folder, ": cannot make the folder: ", std::strerror(errno));
    }
    std::string path = folder + '/' + name + ".npy";
    ps::write_npy(path, model.outputs[output].dims, values, model.outputs[output].type);
    return path;
}

}  // namespace cli
