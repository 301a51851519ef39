// Models in ONNX's format. Needs protozero, a library of headers (Debian: libprotozero-dev); not part of primsel.hpp.
#pragma once

#include <primsel/io/weight_file.hpp>
#include <primsel/onnx/detail/import.hpp>

#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The model of which `file` holds all bytes; `name` is what errors call it. Weights that lie in the file in the form
/// that the graph needs are not copied: they share its bytes. Data in other files are looked for in `folder`; without
/// one, such models are refused.
/// Throws error, naming the file, the node with its operator, and the reason: for bytes that are no model, for
/// operators that are not supported, and for sizes that do not fit each other.
[[nodiscard]] inline OnnxModel parse_onnx(std::string const& name, SharedBytes const& file,
                                          OnnxOptions const& options = {}, std::string const& folder = "") {
    try {
        onnx::Files files{file.owner, onnx::ExternalData(folder)};
        OnnxModel model = onnx::import_model(onnx::read_model(file.text()), files, options);
        model.weights.set_source(name);
        // What was read is not needed again; weights are read when they are packed.
        const auto keep = [&model](SharedBytes const& bytes) {
            add_file(model.weights, bytes);
            if (bytes.mapped != nullptr) bytes.mapped->release(bytes.bytes);
        };
        keep(file);
        for (auto const& [location, beside] : files.external.files()) keep(beside);
        return model;
    } catch (error const& fault) {
        fail(name, ": ", std::string_view(fault.what()));
    } catch (protozero::exception const& fault) {
        fail(name, ": not an ONNX model: ", std::string_view(fault.what()));
    } catch (std::bad_alloc const&) {
        fail(name, ": there is not enough memory for it");
    } catch (std::length_error const&) {
        fail(name, ": there is not enough memory for it");
    }
}

/// The same of a file, which is mapped as are those beside it (see map_file). Throws error as map_file and parse_onnx
/// do.
[[nodiscard]] inline OnnxModel load_onnx(std::string const& path, OnnxOptions const& options = {}) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return parse_onnx(path, map_file(path), options, folder.empty() ? "." : folder);
}

}  // namespace primsel::inline PRIMSEL_ABI
