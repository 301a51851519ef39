#include "options.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/io/file.hpp>
#include <primsel/primitive/conv_args.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

namespace cli {
namespace {

constexpr int largest_extent = 1 << 20;

/// The whole text as a positive integer up to largest_extent, or nothing.
std::optional<int> positive(std::string_view text) {
    int value = 0;
    if (!primsel::read_number(text, value) || value < 1 || value > largest_extent) return {};
    return value;
}

std::pair<std::string, std::vector<std::int64_t>> parse_dims(std::string const& text) {
    const std::size_t equals = text.rfind('=');
    std::vector<std::int64_t> dims;
    for (std::size_t at = equals; at != std::string::npos; at = text.find('x', at + 1)) {
        const auto dim = positive(std::string_view(text).substr(at + 1, text.find('x', at + 1) - at - 1));
        if (!dim) dims.clear();
        if (!dim) break;
        dims.push_back(*dim);
    }
    if (dims.empty()) throw CLI::ValidationError("--dims", "expected NAME=1x3x224x224 or the like, not " + text);
    return {text.substr(0, equals), std::move(dims)};
}

/// Reads a finite number, which may begin with a plus.
template <class T>
bool read_option(std::string_view text, T& value) {
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    return primsel::read_number(text, value) && primsel::is_finite(value);
}

}  // namespace

std::optional<ps::Precision> precision_of(std::string const& name) {
    for (const ps::Precision each : ps::all_precisions) {
        if (name == to_string_view(each)) return each;
    }
    return {};
}

std::string finite_number(std::string const& text) {
    float value = 0;
    return read_option(text, value) ? "" : "expected a finite number that fits 32 bits, not " + text;
}
std::string positive_number(std::string const& text) {
    float value = 0;
    return read_option(text, value) && value > 0 ? ""
                                                 : "expected a finite number above 0 that fits 32 bits, not " + text;
}
std::string number_from_0(std::string const& text) {
    double value = 0;
    return read_option(text, value) && value >= 0 ? "" : "expected a finite number from 0, not " + text;
}
std::function<std::string(std::string const&)> number_range(double low, double high) {
    return [low, high](std::string const& text) {
        double value = 0;
        return read_option(text, value) && value >= low && value <= high
                   ? std::string()
                   : primsel::join("expected a number from ", low, " to ", high, ", not ", text);
    };
}

std::string writable_file(std::string const& path) {
    primsel::require_writable(path);
    return "";
}
std::string writable_network(std::string const& path) {
    const bool known = path.ends_with(".onnx") || path.ends_with(".safetensors");
    return known ? writable_file(path) : path + ": neither .onnx nor .safetensors";
}
std::string writable_onnx(std::string const& path) {
    return path.ends_with(".onnx") ? writable_file(path) : path + ": does not end in .onnx";
}
std::string weights_alone(std::string const& path) {
    return path.ends_with(".onnx") ? path + ": a network with its weights: give it as NET" : "";
}

void refuse_idle(CLI::App const& command, std::initializer_list<IdleOption> options) {
    for (IdleOption const& option : options) {
        const std::string name(option.name);
        if (!option.is_idle || command.get_option(name)->empty()) continue;
        throw CLI::ValidationError(name, "has no effect here: it needs " + std::string(option.needs));
    }
}
void refuse_all_but(CLI::App const& command, std::initializer_list<std::string_view> names, std::string_view needs) {
    for (CLI::Option const* option : command.get_options()) {
        const std::string name = option->get_name();
        if (std::ranges::find(names, name) == names.end()) refuse_idle(command, {{name, true, needs}});
    }
}
void refuse_same_file(CLI::App const& command, std::initializer_list<std::string_view> names) {
    std::map<std::string, std::string_view> written;
    for (const std::string_view name : names) {
        CLI::Option const& option = *command.get_option(std::string(name));
        if (option.empty()) continue;
        std::error_code ignored;
        const auto path =
            std::filesystem::weakly_canonical(std::filesystem::absolute(option.as<std::string>()), ignored);
        const auto [other, is_first] = written.emplace(path.string(), name);
        if (is_first) continue;
        throw CLI::ValidationError(
            std::string(name), option.as<std::string>() + " is the file of " + std::string(other->second) + ", too");
    }
}

Size parse_size(std::string const& text) {
    const std::size_t x = text.find('x');
    const auto h = positive(std::string_view(text).substr(0, x));
    const auto w = x == std::string::npos ? h : positive(std::string_view(text).substr(x + 1));
    if (!h || !w) throw CLI::ValidationError("--size", "expected a height and a width, as 224x224, not " + text);
    return {*h, *w};
}

std::size_t parse_bytes(std::string const& text) {
    double value = 0;
    const std::string_view units = "KMG", all = text;
    const std::size_t power = all.empty() ? 0 : units.find(all.back()) + 1;
    const bool is_number = primsel::read_number(all.substr(0, all.size() - (power == 0 ? 0 : 1)), value);
    for (std::size_t i = 0; i < power; ++i) value *= 1024;
    // Not a number is not below it either.
    if (!is_number || !(value >= 0 && value < 1e18)) {
        throw CLI::ValidationError("--max-arena", "expected bytes, as 1000000, 64K, 1.5M or 2G, not " + text);
    }
    return static_cast<std::size_t>(value);
}

void add_size_options(CLI::App& command, ModelOptions& options) {
    command
        .add_option_function<std::string>(
            "--size", [&options](std::string const& text) { options.size = parse_size(text); },
            "The images' height and width; in a file, where it leaves them open")
        ->type_name("HxW");
    command
        .add_option_function<std::vector<std::string>>(
            "--dims",
            [&options](std::vector<std::string> const& all) {
                for (std::string const& text : all) options.dims.push_back(parse_dims(text));
            },
            "All sizes of an input of an .onnx file, in place of those in it")
        ->type_name("NAME=1x3x224x224")
        ->allow_extra_args(false);
}

void add_model_options(CLI::App& command, ModelOptions& options) {
    command.add_option("NET", options.net, "An .onnx file, or a network of `primsel list networks`")->required();
    command.add_option("--batch", options.batch, "Images that run together (default 1)")
        ->check(CLI::Range(1, largest_extent))
        ->type_name("N");
    add_size_options(command, options);
    command.add_option("--seed", options.seed, "Of random weights and random input (default 1)")->type_name("S");
    command
        .add_option("--weights", options.weights,
                    "Its weights (default: those of the file; of a named network, random ones)")
        ->check(weights_alone)
        ->type_name("FILE.safetensors");
}

void add_precision_options(CLI::App& command, ModelOptions& model, ps::Precision& precision) {
    command
        .add_option_function<std::string>(
            "--precision", [&precision](std::string const& name) { precision = *precision_of(name); },
            "The least precise type to multiply in: float32 (default), or bf16 or int8 for layers that it makes "
            "faster, or f16 for weights of dense layers; without --ranges, or an ONNX file that is quantised, int8 is "
            "for those alone, too")
        ->check([](std::string const& name) {
            return precision_of(name) ? "" : "expected float32, f16, bf16 or int8, not " + name;
        })
        ->type_name("TYPE");
    command.add_option("--ranges", model.ranges, "The ranges of tensors, from `primsel quantise`")->type_name("F.json");
}

void add_threads_option(CLI::App& command, std::size_t& threads, std::string const& purpose) {
    command
        .add_option_function<std::size_t>(
            "--threads", [&threads](std::size_t n) { threads = n == 0 ? ps::usable_threads().count() : n; },
            purpose + " (default 1; 0: as many as this process can run at a time)")
        ->check(CLI::Range(0, 1024))
        ->type_name("N");
}

void add_options(CLI::App& command, Options& options, SavedPlan saved) {
    add_model_options(command, options.model);
    PlanningOptions& planning = options.planning;
    command
        .add_option("--costs", planning.costs,
                    "analytical, semi-empirical (default), measured, or a model that `primsel fit` wrote")
        ->type_name("NAME|FILE");
    command
        .add_option("--calibrate", planning.calibration_seconds,
                    "Correct the costs for so long by timing what could change the plan; remembered for the next time")
        ->check(number_range(0.0, 86'400.0))
        ->type_name("SECONDS");
    command.add_option("--solver", planning.solver, "exact (default), reduction, greedy, or uniform:ID")
        ->check([](std::string const& name) {
            const bool known = name == "exact" || name == "reduction" || name == "greedy" ||
                               (name.starts_with("uniform:") && name.size() > 8);
            return known ? "" : "expected exact, reduction, greedy or uniform:ID, not " + name;
        })
        ->type_name("NAME");
    add_precision_options(command, options.model, planning.precision);
    command
        .add_option("--max-error", planning.max_error,
                    "Only primitives whose error bound, relative to the RMS of the layer's output, is no larger")
        ->check(number_from_0)
        ->type_name("E");
    command.add_flag("--exact-support", planning.exact_support,
                     "No primitive with which one infinite, NaN or huge pixel spoils outputs that do not depend on it "
                     "(Winograd)");
    command
        .add_option_function<std::string>(
            "--max-arena", [&planning](std::string const& text) { planning.max_arena = parse_bytes(text); },
            "The most memory for tensors between layers; K, M and G stand for powers of 1024")
        ->type_name("BYTES");
    command.add_flag_callback(
        "--no-strips", [&planning] { planning.strips = false; },
        "Every layer by itself: no convolutions together in strips of rows");
    if (saved != SavedPlan::refused) {
        CLI::Option* const plan =
            command
                .add_option("--plan", planning.plan, "A plan that `primsel plan --save` wrote, in place of a new one")
                ->type_name("P.json");
        plan->excludes(command.get_option("--calibrate"));
        for (const char* name :
             {"--costs", "--solver", "--precision", "--max-error", "--exact-support", "--max-arena", "--no-strips"}) {
            if (saved == SavedPlan::instead) plan->excludes(command.get_option(name));
        }
    }
    add_threads_option(command, options.threads, "Threads to run on");
    command.add_flag("--json", options.json, "Print one JSON object");
}

void add_training_option(CLI::App& command, Options& options) {
    command
        .add_flag("--training", options.training,
                  "A step of training: forward, backward and the gradients of all weights; where --max-arena bytes do "
                  "not hold all results, some are computed twice")
        ->excludes(command.get_option("--calibrate"));
}

}  // namespace cli
