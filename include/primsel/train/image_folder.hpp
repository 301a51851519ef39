#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/file.hpp>
#include <primsel/tensor/tensor.hpp>
#include <primsel/train/data.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace train::detail {

/// The names in a folder but for those that begin with a dot, in the order of their bytes. Throws error when it cannot
/// be read.
[[nodiscard]] inline std::vector<std::string> names_in(std::string const& path) {
    std::vector<std::string> names;
    if (!io::list_folder(path, names)) io::fail_of_system(path, "cannot read");
    std::erase_if(names, [](std::string const& name) { return name.starts_with('.'); });
    std::ranges::sort(names);
    return names;
}
[[nodiscard]] inline bool is_folder(std::string const& path) {
    io::FileStatus status;
    return io::status_of(path, status) && status.kind == io::FileStatus::Kind::folder;
}
/// Whether the name ends in one of these, in small letters or large.
[[nodiscard]] inline bool ends_in(std::string_view name, std::vector<std::string> const& endings) {
    return std::ranges::any_of(endings, [name](std::string_view ending) {
        if (name.size() < ending.size()) return false;
        return std::ranges::equal(name.substr(name.size() - ending.size()), ending, [](char a, char b) {
            return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
        });
    });
}

/// The first three names, and the number of the others.
[[nodiscard]] inline std::string first_of(std::vector<std::string> const& names) {
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
    return names.size() > most ? join(text, " and ", names.size() - most, " more") : text;
}

}  // namespace train::detail

/// A folder with a folder for each class, whose files are its images: classes in the order of their names. The images
/// stay on the disk: each is read when a batch wants it, by `read_image(path)`, which returns a Tensor<chw> of the
/// given shape, by custom 0 to 1, and may throw; it is called from the thread of Batches.
template <std::invocable<std::string const&> ReadImage>
class ImageFolder {
public:
    /// `endings`: of names of images, in small letters; other files are left out. Throws error, naming the folder,
    /// when it cannot be read, has no folder, or one of them no image.
    ImageFolder(std::string const& folder, Shape shape, ReadImage read_image,
                std::vector<std::string> const& endings = {".png", ".jpg", ".jpeg"})
        : shape_(shape), read_image_(std::move(read_image)) {
        // Windows writes them into any folder, as macOS does .DS_Store.
        const std::vector<std::string> system_files = {"thumbs.db", "desktop.ini"};
        for (std::string const& name : train::detail::names_in(folder)) {
            const std::string path = join(folder, '/', name);
            if (!train::detail::is_folder(path)) continue;
            const std::size_t before = files_.size(), left_out_before = left_out_.size();
            for (std::string const& file : train::detail::names_in(path)) {
                if (train::detail::ends_in(file, endings)) {
                    files_.push_back(join(path, '/', file));
                    labels_.push_back(static_cast<int>(names_.size()));
                } else if (!train::detail::ends_in(file, system_files)) {
                    left_out_.push_back(join(name, '/', file));
                }
            }
            if (files_.size() == before) {
                const std::vector<std::string> others(left_out_.begin() + static_cast<std::ptrdiff_t>(left_out_before),
                                                      left_out_.end());
                fail(path, ": has no images", others.empty() ? "" : "; left out: ", train::detail::first_of(others));
            }
            names_.push_back(name);
        }
        if (names_.empty()) fail(folder, ": has no folder for a class");
    }

    [[nodiscard]] std::size_t size() const { return files_.size(); }
    [[nodiscard]] Shape shape() const { return shape_; }
    [[nodiscard]] int classes() const { return static_cast<int>(names_.size()); }
    [[nodiscard]] std::vector<std::string> const& class_names() const { return names_; }
    [[nodiscard]] std::string const& path(std::size_t index) const { return files_[index]; }
    [[nodiscard]] int label(std::size_t index) const { return labels_[index]; }
    /// The files, and folders, that lie in a class's folder and are no image by their name, each as class/file. Those
    /// whose name begins with a dot and the system's own, as Thumbs.db, are passed over.
    [[nodiscard]] std::vector<std::string> const& left_out() const { return left_out_; }
    /// A line that counts them and names the first; empty where there are none.
    [[nodiscard]] std::string left_out_summary() const {
        if (left_out_.empty()) return "";
        return join(left_out_.size(), left_out_.size() == 1 ? " file is left out: " : " files are left out: ",
                    train::detail::first_of(left_out_));
    }
    /// Throws error when the image is of another shape, and what read_image throws.
    void read(std::size_t index, float* dst) const {
        const Tensor<chw> image = read_image_(files_[index]);
        if (image.shape() != shape_ || image.batch() != 1) {
            fail(files_[index], ": is ", image.batch(), 'x', to_string(image.shape()), ", not ", to_string(shape_));
        }
        std::copy_n(image.data(), shape_.size(), dst);
    }

private:
    Shape shape_;
    ReadImage read_image_;
    std::vector<std::string> names_, files_, left_out_;
    std::vector<int> labels_;
};

}  // namespace primsel::inline PRIMSEL_ABI
