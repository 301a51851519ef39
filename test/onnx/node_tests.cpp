// The ONNX standard's own tests, those in node_tests.txt and more_node_tests.txt: each is imported, planned and run,
// and all of its results are compared with the tolerance of the standard's runner. Needs Debian's libonnx-testdata, or
// PRIMSEL_ONNX_TESTS naming a folder with node/, simple/, pytorch-operator/ and pytorch-converted/.
#include "../skipped.hpp"

#include <doctest/doctest.h>

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/primsel.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace ps = primsel;
namespace fs = std::filesystem;

namespace {

std::vector<ps::OnnxTensor> read_tensors(fs::path const& folder, std::string const& stem) {
    std::vector<ps::OnnxTensor> tensors;
    for (std::size_t i = 0; fs::exists(folder / (stem + std::to_string(i) + ".pb")); ++i) {
        tensors.push_back(ps::read_onnx_tensor((folder / (stem + std::to_string(i) + ".pb")).string()));
    }
    return tensors;
}

/// The names of the inputs that the file gives no value, in its order.
std::vector<std::string> open_inputs(fs::path const& path) {
    const ps::SharedBytes file = ps::read_file(path.string());
    const ps::onnx::ModelProto model = ps::onnx::read_model(file.text());
    std::vector<std::string> names;
    for (auto const& input : model.inputs) {
        const auto is_same = [&](auto const& initializer) { return initializer.name == input.name; };
        if (std::ranges::none_of(model.initializers, is_same)) names.emplace_back(input.name);
    }
    return names;
}

/// The fault; empty if there is none.
std::string compare(ps::OnnxValueInfo const& info, std::vector<float> const& result, ps::OnnxTensor const& answer) {
    if (info.dims != answer.dims)
        return info.name + " is " + ps::to_string(info.dims) + ", not " + ps::to_string(answer.dims);
    if (info.type != answer.type) return info.name + " is of another type";
    if (result.size() != answer.size()) return info.name + " has another number of elements";
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double is = static_cast<double>(result[i]), should = answer.is_float()
                                                                       ? static_cast<double>(answer.floats[i])
                                                                       : static_cast<double>(answer.integers[i]);
        if (!(std::abs(is - should) <= 1e-7 + 1e-3 * std::abs(should))) {
            return ps::join(info.name, " [", i, "] is ", is, ", not ", should);
        }
    }
    return "";
}

/// Runs the model and compares all of its results.
void check_results(ps::OnnxModel const& model, ps::OnnxOptions const& options,
                   std::vector<ps::OnnxTensor> const& answers) {
    ps::check_weights(model.graph, model.weights);
    ps::Engine<ps::Graph> engine(model.graph, model.weights);
    std::vector<std::vector<float>> inputs;
    for (ps::OnnxValueInfo const& input : model.inputs) {
        ps::OnnxTensor const& value = options.values.at(input.name);
        if (value.is_float())
            inputs.emplace_back(value.floats.begin(), value.floats.end());
        else
            inputs.emplace_back(value.integers.begin(), value.integers.end());
    }
    const std::vector<std::span<const float>> srcs(inputs.begin(), inputs.end());
    std::vector<std::vector<float>> results;
    std::vector<std::span<float>> dsts;
    for (ps::Shape const& shape : engine.out_shapes()) {
        results.emplace_back(static_cast<std::size_t>(engine.batch()) * shape.size());
    }
    for (auto& result : results) dsts.emplace_back(result);
    engine.run(srcs, dsts);
    if (results.size() != answers.size()) ps::fail(results.size(), " results, not ", answers.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (answers[i].size() == 0) results[i].clear();
        const std::string fault = compare(model.outputs[i], results[i], answers[i]);
        if (!fault.empty()) ps::fail(fault);
    }
}

/// The model with all images as one, whatever its batch; nothing where a layer needs them apart.
std::optional<ps::OnnxModel> import_whole(fs::path const& path, ps::OnnxOptions const& options) {
    const ps::SharedBytes bytes = ps::read_file(path.string());
    const ps::onnx::ModelProto model = ps::onnx::read_model(bytes.text());
    const ps::onnx::Order order = ps::onnx::order_of(model);
    ps::onnx::Files files{bytes.owner, ps::onnx::ExternalData("")};
    try {
        return ps::onnx::Import(model, order, files, options, 0).run();
    } catch (ps::error const& fault) {
        if (!std::string_view(fault.what()).ends_with("needs separate images")) throw;
        return std::nullopt;
    }
}

void run(fs::path const& test, fs::path const& data) {
    const std::vector<std::string> names = open_inputs(test / "model.onnx");
    const std::vector<ps::OnnxTensor> inputs = read_tensors(data, "input_"), answers = read_tensors(data, "output_");
    if (names.size() != inputs.size() || answers.empty()) ps::fail("the test's data do not fit its model");
    ps::OnnxOptions options;
    for (std::size_t i = 0; i < names.size(); ++i) options.values[names[i]] = inputs[i];
    const ps::OnnxModel model = ps::load_onnx((test / "model.onnx").string(), options);
    check_results(model, options, answers);
    if (model.graph.batch() == 1) return;
    if (const auto whole = import_whole(test / "model.onnx", options)) check_results(*whole, options, answers);
}

/// Runs the tests of a list, a line each: name, operators.
void run_list(std::string const& path, std::size_t wanted) {
    const char* chosen = std::getenv("PRIMSEL_ONNX_TESTS");
    const fs::path folder = chosen != nullptr ? chosen : "/usr/share/libonnx-testdata/data";
    if (!fs::exists(folder)) {
        tests::skip(folder.string() + ": the ONNX standard's tests");
        return;
    }
    std::ifstream list(path);
    REQUIRE(list);
    std::size_t tests = 0, passed = 0;
    for (std::string name, operators; list >> name && std::getline(list, operators);) {
        ++tests;
        try {
            std::size_t sets = 0;
            for (; fs::exists(folder / name / ("test_data_set_" + std::to_string(sets))); ++sets) {
                run(folder / name, folder / name / ("test_data_set_" + std::to_string(sets)));
            }
            if (sets == 0) ps::fail("there are no data");
            ++passed;
        } catch (ps::error const& fault) {
            FAIL_CHECK(name << " (" << operators.substr(1) << "): " << std::string(fault.what()));
        }
    }
    MESSAGE(passed, " of ", tests, " tests of the ONNX standard pass");
    CHECK(tests == wanted);
}

}  // namespace

TEST_CASE("the tests of the ONNX standard for the operators of convolutional networks" *
          doctest::test_suite("outside")) {
    run_list("test/onnx/node_tests.txt", 202);
}
TEST_CASE("more tests of the ONNX standard" * doctest::test_suite("outside")) {
    run_list("test/onnx/more_node_tests.txt", 635);
}
