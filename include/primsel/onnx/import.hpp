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
/// one, such models are refused. If the file `name` is a link, links in the folder may lead to where that one leads.
/// Throws error, naming the file, the node with its operator, and the reason: for bytes that are no model, for
/// operators that are not supported, and for sizes that do not fit each other.
[[nodiscard]] inline OnnxModel parse_onnx(std::string const& name, SharedBytes const& file,
                                          OnnxOptions const& options = {}, std::string const& folder = "") {
    onnx::refuse_foreign_model(name, file.text());
    try {
        onnx::Files files{file.owner, onnx::ExternalData(folder, name)};
        OnnxModel model = onnx::import_model(onnx::read_model(file.text()), files, options);
        model.weights.set_source(name);
        for (auto const& [location, beside] : files.external.files()) {
            model.weights = left_in_file(model.weights, beside.bytes, beside.file);
        }
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

/// The same of a file. It and those beside it are held open as long as the weights, which are read again when they are
/// needed: then a file that was changed is an error. Throws error as read_file and parse_onnx do.
[[nodiscard]] inline OnnxModel load_onnx(std::string const& path, OnnxOptions const& options = {}) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const onnx::ReadFile model(path);
    OnnxModel result = parse_onnx(path, model.bytes, options, folder.empty() ? "." : folder);
    result.weights = left_in_file(result.weights, model.bytes, model.file);
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
