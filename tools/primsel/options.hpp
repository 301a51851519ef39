// Options of the commands.
#pragma once

#include <primsel/primitive/conv_args.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

namespace ps = primsel;

struct Size {
    int h, w;
};

/// Which network, and of what size.
struct ModelOptions {
    std::string net;
    /// 0: not given.
    int batch = 0;
    std::optional<Size> size;
    /// All sizes of an input, by its name.
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> dims;
    /// The seed of weights where there are no others, and of the input.
    unsigned seed = 1;
    /// A safetensors file, or empty.
    std::string weights;
    /// A file of ranges, or empty.
    std::string ranges;
    /// Whether it is loaded to be trained: an .onnx file's nodes in training mode are then the ordinary layers.
    bool trains = false;
};

/// How to choose.
struct PlanningOptions {
    /// Empty: what an engine takes.
    std::string costs;
    /// Seconds for measuring what could change the plan.
    double calibration_seconds = 0;
    std::string solver = "exact";
    ps::Precision precision = ps::Precision::float32;
    double max_error = std::numeric_limits<double>::infinity();
    /// Only primitives that mix no pixels.
    bool exact_support = false;
    std::size_t max_arena = std::numeric_limits<std::size_t>::max();
    /// Whether convolutions may be computed together in strips of rows.
    bool strips = true;
    /// Whether threads may run images of their own.
    bool images_apart = true;
    /// A plan that was saved, in place of predicting and solving; or empty.
    std::string plan;
};

struct Options {
    ModelOptions model;
    PlanningOptions planning;
    std::size_t threads = 1;
    bool json = false;
    /// A step of training in place of a run.
    bool training = false;
};

/// Adds the options of a network, by name or file: NET, --batch, --size, --dims, --seed, --weights.
void add_model_options(CLI::App& command, ModelOptions& options);
/// --size and --dims alone.
void add_size_options(CLI::App& command, ModelOptions& options);
/// --precision and --ranges.
void add_precision_options(CLI::App& command, ModelOptions& model, ps::Precision& precision);
/// The use of a saved plan to a command: in place of a new one, which makes the options of planning idle; beside
/// plans that those still make; or nothing that it could use.
enum class SavedPlan { instead, beside, refused };
/// --threads; 0 becomes as many as the process can run at a time.
void add_threads_option(CLI::App& command, std::size_t& threads, std::string const& purpose);
/// Those, --costs, --calibrate, --solver, --max-error, --max-arena, --plan, --threads and --json.
void add_options(CLI::App& command, Options& options, SavedPlan saved);
/// --training.
void add_training_option(CLI::App& command, Options& options);

/// float32, f16, bf16 or int8; nothing for another name.
[[nodiscard]] std::optional<ps::Precision> precision_of(std::string const& name);

/// Checks of options: what is wrong with the text, or nothing. None takes infinity or what is not a number;
/// the first two take what a float holds.
[[nodiscard]] std::string finite_number(std::string const& text);
[[nodiscard]] std::string positive_number(std::string const& text);
[[nodiscard]] std::string number_from_0(std::string const& text);
[[nodiscard]] std::function<std::string(std::string const&)> number_range(double low, double high);

/// A file that can be written, when the work is done: throws error where it cannot be.
[[nodiscard]] std::string writable_file(std::string const& path);
/// The same of one that ends in .onnx or .safetensors, or in .onnx alone.
[[nodiscard]] std::string writable_network(std::string const& path);
[[nodiscard]] std::string writable_onnx(std::string const& path);

/// A file of weights: no network, which has weights of its own.
[[nodiscard]] std::string weights_alone(std::string const& path);

/// An option that does nothing with the values of others, and what it needs.
struct IdleOption {
    std::string_view name;
    bool is_idle;
    std::string_view needs;
};
/// The condition of --seed where nothing but weights is random.
inline constexpr std::string_view random_weights_need = "a network by name without --weights";
/// Throws CLI::ValidationError for the first that is given and idle.
void refuse_idle(CLI::App const& command, std::initializer_list<IdleOption> options);
/// The same for every option but these.
void refuse_all_but(CLI::App const& command, std::initializer_list<std::string_view> names, std::string_view needs);
/// Throws CLI::ValidationError where two of these options name one file, which each would write.
void refuse_same_file(CLI::App const& command, std::initializer_list<std::string_view> names);

/// "224x160" and "224", which is 224x224. Throws CLI::ValidationError for anything else.
[[nodiscard]] Size parse_size(std::string const& text);
/// "1000", "64K", "1.5M", "2G": of 1024 each. Throws CLI::ValidationError for anything else.
[[nodiscard]] std::size_t parse_bytes(std::string const& text);

}  // namespace cli
