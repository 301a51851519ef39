// Images with labels from files of any kind, for the commands that train and judge.
#pragma once

#include "model.hpp"

#include <primsel/train/data.hpp>
#include <primsel/train/image_folder.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cli {

namespace ps = primsel;

/// Where they are: one of the kinds.
struct ImageFiles {
    std::string images, labels, folder;
    std::vector<std::string> cifar10;
    /// --no-exif, which a command has once.
    const CLI::Option* no_exif = nullptr;
    [[nodiscard]] bool given() const { return !images.empty() || !cifar10.empty() || !folder.empty(); }
};

/// A source of whichever kind.
class AnyImages {
public:
    using Folder = ps::ImageFolder<std::function<ps::Tensor<ps::chw>(std::string const&)>>;

    explicit AnyImages(std::variant<ps::LabelledImages, Folder> images) : images_(std::move(images)) {}

    [[nodiscard]] std::size_t size() const {
        return std::visit([](auto const& images) { return images.size(); }, images_);
    }
    [[nodiscard]] ps::Shape shape() const {
        return std::visit([](auto const& images) { return images.shape(); }, images_);
    }
    [[nodiscard]] int classes() const {
        return std::visit([](auto const& images) { return images.classes(); }, images_);
    }
    [[nodiscard]] int label(std::size_t i) const {
        return std::visit([i](auto const& images) { return images.label(i); }, images_);
    }
    void read(std::size_t i, float* dst) const {
        std::visit([&](auto const& images) { images.read(i, dst); }, images_);
    }
    /// Those of a folder's classes, and of others that name them.
    [[nodiscard]] std::vector<std::string> const& class_names() const;
    /// The name of a class; its number where it has none.
    [[nodiscard]] std::string class_name(int label) const;

private:
    std::variant<ps::LabelledImages, Folder> images_;
};

/// Throws error where both name their classes, and not the same: their labels would mean something else.
void require_same_classes(AnyImages const& trained, AnyImages const& judged);

/// Throws error. The images of a folder must be of the shape.
[[nodiscard]] AnyImages read_images(ImageFiles const& from, ps::Shape shape);

/// The values that the network has for an image, one for each class. Throws error for fewer than two, and for a result
/// that is an image.
std::size_t require_scores(std::string const& network, ps::Shape result);

/// --images and --labels, --cifar, --folder, with the prefix; --no-exif, for all prefixes.
void add_images(CLI::App& command, std::string const& prefix, ImageFiles& images, std::string const& what);

/// As texts in a file of weights that were trained on images so normalised.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> metadata_of(ps::Normalise const& normalise);
/// That of the file of weights, or without one the network's own; nothing where it says nothing. Throws error for
/// what are no numbers.
[[nodiscard]] ps::Normalise normalise_of(Model const& model, std::string const& weights);

}  // namespace cli
