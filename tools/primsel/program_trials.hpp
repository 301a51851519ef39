// The trials of a sweep that a program does.
#pragma once

#include "sweep_trials.hpp"

#include <map>
#include <string>
#include <vector>

namespace cli {

/// Runs the sweep's program once for each trial, with the parameters as arguments. Each line of its output that is a
/// JSON object reports metrics; the last value of each counts. A line with "epoch" or "step", or else the number of
/// lines so far, is a step at which hopeless trials are stopped. The environment has PRIMSEL_TRIAL, PRIMSEL_SEED, and
/// with
/// --measure PRIMSEL_MODEL, the file that the network is to be written to.
class ProgramTrials : public SweepTrials {
public:
    /// Throws error for --out, and for a macro of the command that there is not.
    ProgramTrials(SweepCommand const& options, SweepFile const& file);

    [[nodiscard]] Metrics known(ps::search::SearchPoint const&) const override { return {}; }
    void operator()(ps::search::Trial& trial, GoesOn const& goes_on) const override;
    [[nodiscard]] std::map<std::string, std::string> about() const override;
    void write(std::string const&, ps::search::Trial const&) const override {}

private:
    [[nodiscard]] std::vector<std::string> words(ps::search::SearchPoint const& point) const;

    SweepCommand options_;
    ps::search::Space space_;
    std::string program_;
    std::vector<std::string> command_, metrics_;
};

/// Measures the network of a file by a shell command, whose last line of output that is a JSON object has latency in
/// milliseconds, and may have throughput, predicted, layers and machine. Throws error.
[[nodiscard]] ps::search::TrialMeasurement measure_by_command(std::string const& command, std::string const& file);

}  // namespace cli
