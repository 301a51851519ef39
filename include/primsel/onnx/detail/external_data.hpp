// Tensors' elements in files beside the model.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/core/sha1.hpp>
#include <primsel/io/foreign_file.hpp>
#include <primsel/io/weight_file.hpp>
#include <primsel/onnx/detail/tensor_elements.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// A file that was read, and is held open.
struct ReadFile {
    std::shared_ptr<const HeldFile> file;
    SharedBytes bytes;
    /// The digest of all its bytes; empty until it is needed.
    std::string digest{};

    explicit ReadFile(std::string const& path)
        : file(std::make_shared<const HeldFile>(path)), bytes(read_file(file->file())) {}
};

/// The files beside a model that hold elements of its tensors; each is read once.
class ExternalData {
public:
    /// An empty folder: there are none. `model` is the model's file, if it is one: links may lead to the folder to
    /// which the model's own link leads, as in the cache of Hugging Face's hub.
    explicit ExternalData(std::string folder, std::string model = "")
        : folder_(std::move(folder)), model_(std::move(model)) {}

    /// Throws error unless the tensor's location is a file in the folder (or beneath it) that holds all its elements.
    [[nodiscard]] OnnxTensor read(TensorProto const& proto) {
        const auto [bytes, owner] = raw(proto);
        return read_raw(proto.dims, proto.type, bytes, owner);
    }
    /// The bytes of its elements, and what keeps them alive. Throws error as read does.
    [[nodiscard]] std::pair<std::string_view, std::shared_ptr<const void>> raw(TensorProto const& proto) {
        std::string_view location, checksum;
        std::size_t offset = 0, length = 0;
        bool has_length = false;
        for (auto const& [key, value] : proto.external) {
            if (key == "location") location = value;
            if (key == "offset") offset = number(key, value);
            if (key == "checksum") checksum = value;
            if (key == "length") length = number(key, value), has_length = true;
        }
        ReadFile& read = open(location);
        if (!checksum.empty()) require_checksum(location, read, checksum);
        const SharedBytes& file = read.bytes;
        if (offset > file.bytes.size()) {
            fail("its data begin at byte ", offset, " of ", location, ", which has ", file.bytes.size());
        }
        const std::size_t rest = file.bytes.size() - offset;
        if (!has_length) {
            const std::size_t count = count_of(proto.dims), bytes = element_bytes(proto.type);
            if (bytes == 0 || count > rest / bytes) fail(location, " has only ", rest, " bytes for its data");
            length = count * bytes;
        }
        if (length > rest) {
            fail("its data reach byte ", offset, " + ", length, " of ", location, ", which has ", file.bytes.size());
        }
        return {file.text().substr(offset, length), file.owner};
    }

    [[nodiscard]] std::map<std::string, ReadFile, std::less<>> const& files() const { return files_; }

private:
    [[nodiscard]] static std::size_t number(std::string_view key, std::string_view text) {
        std::size_t value = 0;
        if (!read_number(text, value)) fail("its external ", key, " is no number: ", text);
        return value;
    }
    /// The standard's checksum is that of the whole file.
    static void require_checksum(std::string_view location, ReadFile& read, std::string_view checksum) {
        if (read.digest.empty()) read.digest = sha1(read.bytes.bytes);
        const auto is_same = [](char a, char b) { return a == (b >= 'A' && b <= 'F' ? b - 'A' + 'a' : b); };
        if (!std::ranges::equal(read.digest, checksum, is_same)) {
            fail("its data are in ", location, ", which is another file than the model's: its SHA-1 is ", read.digest,
                 ", not ", checksum);
        }
    }
    [[nodiscard]] ReadFile& open(std::string_view location) {
        const auto found = files_.find(location);
        if (found != files_.end()) return found->second;
        namespace fs = std::filesystem;
        if (folder_.empty()) fail("its data are in another file, ", location, ", and there is no folder to look in");
        const fs::path relative(location);
        bool leaves = relative.empty() || relative.is_absolute() || location.find('\0') != std::string_view::npos;
        for (fs::path const& part : relative) leaves = leaves || part == "..";
        if (leaves) fail("its data are at ", location, ": only files beside the model are read");
        // Nor may a symbolic link lead out of the folder, unless the model is a link to the same place.
        std::error_code fault;
        const fs::path folder = fs::canonical(folder_, fault), file = fs::canonical(folder_ / relative, fault);
        if (fault) fail("its data are in ", location, ", which cannot be read: ", fault.message());
        const bool is_within =
            std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
        if (!is_within && file.parent_path() != fs::canonical(model_, fault).parent_path()) {
            fail("its data are at ", location, ", which is a link that leads away from the model, to ", file.string(),
                 "; it may lead to another file of the model's folder, or to where the model's own file is a link to");
        }
        ReadFile& read = files_.try_emplace(std::string(location), file.string()).first->second;
        // Other formats' first bytes may be those of numbers.
        if (read.bytes.text().starts_with("version https://git-lfs")) {
            fail("its data are in ", location, ", which is ", foreign_format(read.bytes.text()));
        }
        return read;
    }

    std::filesystem::path folder_, model_;
    std::map<std::string, ReadFile, std::less<>> files_;
};

}  // namespace primsel::inline PRIMSEL_ABI::onnx
