// The tables and figures of Mulder et al. 2020 ("Optimising the Performance of Convolutional Neural Networks across
// Computing Systems using Transfer Learning"), made again from its published measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace reproduce {

/// The files' names up to _primitives.csv and _layouts.csv.
struct Machines {
    std::string source = "intel", target = "amd";
};

struct Options {
    /// Holds mulder2020/*.csv, or those files themselves.
    std::string data;
    Machines machines;
    std::string out = "report";
    /// A minute and rough, in place of hours.
    bool quick = false;
    /// Experiments at a time; each runs on one thread.
    std::size_t threads = 1;
    std::uint64_t seed = 1;
    /// Runs the experiments whose name has this.
    std::string only;
    bool json = false;
};

/// Runs what experiments are not in out/results.jsonl yet, writes out/index.html and out/results.json and prints a
/// summary. Throws error.
void run(Options const& options);

}  // namespace reproduce
