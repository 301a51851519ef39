#include "labelled_images.hpp"

#include "text.hpp"

#include <image.hpp>

#include <primsel/core/csv.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/train/cifar.hpp>
#include <primsel/train/idx.hpp>
#include <primsel/train/npy_images.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <sstream>

namespace cli {
namespace {

constexpr const char* mean_key = "mean of the images";
constexpr const char* deviation_key = "deviation of the images";

/// From 0 to 1.
ps::Tensor<ps::chw> read_image(std::string const& path, int channels, image::Orientation orientation) {
    const image::Image picture = image::read(path, channels, orientation);
    ps::Tensor<ps::chw> tensor({channels, picture.h, picture.w});
    const std::size_t count = static_cast<std::size_t>(picture.h) * static_cast<std::size_t>(picture.w);
    const auto each = static_cast<std::size_t>(channels);
    for (std::size_t c = 0; c < each; ++c) {
        const std::uint8_t* const src = picture.pixels.data() + c;
        float* const dst = tensor.data() + c * count;
        for (std::size_t i = 0; i < count; ++i) dst[i] = static_cast<float>(src[i * each]) / 255.0F;
    }
    return tensor;
}

/// Read back, they are the same numbers.
std::string text_of_numbers(std::vector<float> const& numbers) {
    std::string text;
    for (const float number : numbers) {
        char digits[32];
        const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
        text += (text.empty() ? "" : " ") + std::string(digits, end);
    }
    return text;
}
std::vector<float> numbers_of(std::string const& path, std::string const& text) {
    std::vector<float> numbers;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        float number = 0;
        if (!ps::read_number(std::string_view(word), number)) {
            ps::fail(path, ": its images are normalised by ", word, ", which is no number");
        }
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace

std::vector<std::string> const& AnyImages::class_names() const {
    auto const* folder = std::get_if<Folder>(&images_);
    return folder != nullptr ? folder->class_names() : std::get<ps::LabelledImages>(images_).class_names;
}
std::string AnyImages::class_name(int label) const {
    return class_names().empty() ? std::to_string(label) : class_names()[static_cast<std::size_t>(label)];
}

void require_same_classes(AnyImages const& trained, AnyImages const& judged) {
    std::vector<std::string> const &those = trained.class_names(), &these = judged.class_names();
    if (those.empty() || these.empty() || those == these) return;
    ps::fail("the classes to judge by are ", list_of_names(these), "; trained are ", list_of_names(those));
}

std::size_t require_scores(std::string const& network, ps::Shape result) {
    const bool is_row = (result.c > 1) + (result.h > 1) + (result.w > 1) == 1;
    if (!is_row) {
        ps::fail(network, ": its result for an image is ", to_string(result),
                 ": not a value for each of several classes");
    }
    return result.size();
}

AnyImages read_images(ImageFiles const& from, ps::Shape shape) {
    if (!from.folder.empty()) {
        if (shape.c != 1 && shape.c != 3)
            ps::fail(from.folder, ": the network takes ", to_string(shape), ", no images");
        const bool no_exif = from.no_exif != nullptr && from.no_exif->count() > 0;
        const auto orientation = no_exif ? image::Orientation::as_stored : image::Orientation::from_exif;
        const auto read = [channels = shape.c, orientation](std::string const& path) {
            return read_image(path, channels, orientation);
        };
        AnyImages::Folder images(from.folder, shape, read, image::endings());
        if (const std::string left_out = images.left_out_summary(); !left_out.empty()) {
            warn(ps::join(from.folder, ": ", left_out, "; ", image::kinds("and"), " files are read"));
        }
        return AnyImages(std::move(images));
    }
    if (!from.cifar10.empty()) return AnyImages(ps::read_cifar10(from.cifar10));
    if (from.images.ends_with(".npy")) return AnyImages(ps::read_npy_images(from.images, from.labels));
    return AnyImages(ps::read_idx(from.images, from.labels));
}

void add_images(CLI::App& command, std::string const& prefix, ImageFiles& images, std::string const& what) {
    CLI::Option* const files = command.add_option("--" + prefix + "images", images.images, what + ": idx or .npy");
    CLI::Option* const labels = command.add_option("--" + prefix + "labels", images.labels, "Their labels");
    files->type_name("F")->needs(labels);
    labels->type_name("F")->needs(files);
    CLI::Option* const cifar =
        command.add_option("--" + prefix + "cifar", images.cifar10, what + ": files of CIFAR-10's binary version")
            ->excludes(files)
            ->type_name("F.bin ...");
    command
        .add_option("--" + prefix + "folder", images.folder,
                    what + ": " + image::kinds("and") + " files of the network's size, in a folder for each class")
        ->excludes(files)
        ->excludes(cifar)
        ->type_name("DIR");
    images.no_exif = command.get_option_no_throw("--no-exif");
    if (images.no_exif == nullptr) {
        images.no_exif =
            command.add_flag("--no-exif")->description("Do not turn images of folders as their EXIF data say");
    }
}

std::vector<std::pair<std::string, std::string>> metadata_of(ps::Normalise const& normalise) {
    if (normalise.mean.empty()) return {};
    return {{mean_key, text_of_numbers(normalise.mean)}, {deviation_key, text_of_numbers(normalise.deviation)}};
}

ps::Normalise normalise_of(Model const& model, std::string const& weights) {
    std::string const& path = weights.empty() ? model.name : weights;
    ps::Normalise normalise;
    for (auto const& [key, text] :
         weights.empty() ? model.signature.metadata : ps::read_safetensors_metadata(weights)) {
        if (key == mean_key) normalise.mean = numbers_of(path, text);
        if (key == deviation_key) normalise.deviation = numbers_of(path, text);
    }
    return normalise;
}

}  // namespace cli
