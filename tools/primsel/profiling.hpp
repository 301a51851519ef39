// The measurements of `primsel profile`, here or by others.
#pragma once

#include "model.hpp"
#include "remote_queue.hpp"

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/measure/profiler.hpp>
#include <primsel/search/work_off.hpp>

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cli {

struct ProfilingOptions {
    std::string out, layouts_out, ops_out;
    std::size_t ops_drawn = 1500;
    std::vector<std::string> networks, primitives;
    double budget = std::numeric_limits<double>::infinity();
    std::size_t count = std::numeric_limits<std::size_t>::max();
    bool mixed = false, telling = false, training = false;
    /// The size of the images of networks by name, where it is not their own.
    std::optional<Size> size;
    /// Nanoseconds of the reference for another profile; 0: measured.
    double reference_ns = 0;
    ps::measure::SampleOptions sample;
    ps::measure::ProfileOptions measuring;
    bool json = false;
    /// Where others measure.
    std::string queue, queue_name = "primsel";
    double lease = 60, tolerance = 0.05;
    std::size_t ahead = 64;
};

/// Those of the primitives that are named, themselves or by their family; all where none is. Throws error.
[[nodiscard]] std::vector<ps::PrimitiveEntry> chosen_primitives(bool training, std::vector<std::string> const& names);

/// Measures on this machine, on the processor that it was made on.
class Profiling {
public:
    Profiling(std::vector<ps::PrimitiveEntry> primitives, ps::measure::ProfileOptions const& options);

    /// Facts about the times of a file: this machine, and the clock that they are for.
    [[nodiscard]] std::map<std::string, std::string> about() const;
    /// The seconds of each primitive for c, k, im, f, s, or of each change of layout for c, im.
    [[nodiscard]] std::vector<double> measure(std::span<const int> row);
    [[nodiscard]] ps::measure::Profiler<>& profiler() { return profiler_; }

private:
    std::vector<ps::PrimitiveEntry> primitives_;
    ps::measure::ProfileOptions options_;
    ps::measure::Profiler<> profiler_;
};

/// A file that a profile fills: its columns, and the configurations that it is to have, in order.
struct ProfilingTable {
    std::string what, path;
    ps::learn::Dataset header{};
    std::vector<std::vector<int>> rows{};
    /// How many of them are there, and how many of these are new.
    std::size_t done = 0, now = 0;
};
[[nodiscard]] std::vector<ProfilingTable> tables_of(ProfilingOptions const& options, Profiling& profiling);
/// The reference's time, in nanoseconds, that the times of the file are for. Throws error where the options ask for
/// another.
[[nodiscard]] double reference_ns_of(std::string const& path, ps::learn::DatasetFile const& file,
                                     ProfilingOptions const& options);

/// Until stop() says so or all is measured, others measure what the tables' files do not have. Sets done and now.
/// Returns who did.
std::set<std::string> hand_out(ProfilingOptions const& options, std::vector<ProfilingTable>& tables, bool (*stop)());
/// Whether what a queue says of its work is a profile.
[[nodiscard]] bool is_profile(std::string const& about);
/// Measures parts of that profile, on that processor; negative: the current one. Returns how many counted. Throws error
/// where this machine is of another kind.
std::size_t work_on_profile(std::string const& about, RemoteQueue& queue, ps::search::WorkOptions const& options,
                            int cpu);

}  // namespace cli
