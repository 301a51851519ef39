// The trials of `primsel sweep`: a network without some of its filters, retrained or not, and what it is then.
#pragma once

#include "labelled_images.hpp"
#include "model.hpp"
#include "options.hpp"
#include "pruning.hpp"
#include "retraining.hpp"
#include "session.hpp"

#include <primsel/io/settings.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/schedule.hpp>
#include <primsel/prune/surgery.hpp>
#include <primsel/search/sweep.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

struct SweepCommand : Options {
    /// Files that say what is looked for, and how a network is pruned; or empty.
    std::string file, schedule;
    /// Its images are those that judge.
    RankingOptions ranking;
    ImageFiles training;
    std::vector<float> mean, std;
    std::int64_t epochs = 0;
    double learning_rate = 0.01;
    int training_batch = 64;
    /// The threshold of the metric hybrid; below 0: one point less than the whole network's accuracy.
    double threshold = -1;
    std::string log, report, sensitivity, out;
    /// A folder for the networks of trials, of which those that are kept are measured; or empty. And the command that
    /// measures them, or empty.
    std::string measure, measure_command;
    std::string queue, queue_name = "primsel";
    std::size_t ahead = 4;
    double lease = 60;
};

/// All options of `primsel sweep`.
void add_sweep_options(CLI::App& command, SweepCommand& options);
/// --queue, --queue-name and --lease.
void add_queue_options(CLI::App& command, std::string& queue, std::string& name, double& lease);
/// The name of the queue of trials that are to be measured.
[[nodiscard]] inline std::string measuring_queue(std::string const& name) { return name + "-measure"; }
/// The options that were given, by their names.
[[nodiscard]] std::map<std::string, std::vector<std::string>> given_options(CLI::App const& command);
/// Sets the option unless it was given. Throws error, beginning with `where`, where there is none or it is refused.
void set_option(CLI::App& command, std::string const& where, std::string const& name,
                std::vector<std::string> const& values);

/// A sweep of the command line: the file's text is kept for the log.
struct SweepFile {
    std::string name, text;
    ps::search::Sweep sweep;
};
/// Has measured latencies judge the trials of the sweep.
void take_measurements(ps::search::Sweep& sweep);
/// Reads it, and sets the command's options that it says and that were not given.
[[nodiscard]] SweepFile read_sweep(CLI::App& command, std::string const& name, std::string text);

/// Whether a goal or bound is of the metric, however the file spells it.
[[nodiscard]] bool sweep_uses(ps::search::Sweep const& sweep, std::string const& metric);

using Metrics = std::map<std::string, double>;
using GoesOn = std::function<bool(std::size_t, Metrics const&)>;

/// The property of a network's file that says in which precision it is to run.
inline constexpr const char* precision_key = "primsel.precision";
/// Where the network of a trial is, until it is measured.
[[nodiscard]] std::string network_file(std::string const& folder, std::uint64_t trial);
/// Runs the network of the file and nothing beside, here or by the measuring command. Throws error.
[[nodiscard]] ps::search::TrialMeasurement measure_network(std::string const& file, SweepCommand const& options);
/// This processor and its instruction set, for which latencies are predicted.
[[nodiscard]] std::string machine_name();

/// The trials of a sweep.
struct SweepTrials {
    SweepTrials() = default;
    SweepTrials(SweepTrials const&) = delete;
    SweepTrials& operator=(SweepTrials const&) = delete;
    virtual ~SweepTrials() = default;
    /// Those metrics of the goals and bounds that are computed without a trial.
    [[nodiscard]] virtual Metrics known(ps::search::SearchPoint const& point) const = 0;
    /// Has a trial done.
    virtual void operator()(ps::search::Trial& trial, GoesOn const& goes_on) const = 0;
    /// Facts without which trials are not comparable.
    [[nodiscard]] virtual std::map<std::string, std::string> about() const = 0;
    /// The accuracy that the metric hybrid bears.
    [[nodiscard]] virtual double threshold() const { return 0; }
    /// Writes the network of a trial.
    virtual void write(std::string const& file, ps::search::Trial const& trial) const = 0;
};
/// The trials that the options and the file ask for: pruning of a network, or a program. `threshold`: of the metric
/// hybrid, where it is known from before. Throws error, as PruningTrials and ProgramTrials do.
[[nodiscard]] std::unique_ptr<SweepTrials> make_trials(SweepCommand const& options, SweepFile const& file,
                                                       std::optional<double> threshold);

class PruningTrials : public SweepTrials {
public:
    /// Loads the network and the images. `threshold`: of the metric hybrid, where it is known from before. Throws
    /// error, naming what is near, for parameters and metrics that there are not.
    PruningTrials(SweepCommand const& options, SweepFile const& file, std::optional<double> threshold);

    /// Networks whose layers lose equally many filters are computed once. Without a value are the metrics of networks
    /// whose filters are chosen while they are trained, where training decides how many go of which layer.
    [[nodiscard]] Metrics known(ps::search::SearchPoint const& point) const override;
    void operator()(ps::search::Trial& trial, GoesOn const& goes_on) const override;
    [[nodiscard]] double threshold() const override { return threshold_; }
    [[nodiscard]] std::map<std::string, std::string> about() const override;
    /// For one image or as many as --batch says, retrained as the trial was.
    void write(std::string const& file, ps::search::Trial const& trial) const override;

private:
    struct Pruner {
        std::string name, criterion;
        std::vector<std::string> patterns;
        std::string sparsity, initial, type;  // parameters; empty: fixed
        double fixed_sparsity = 0;
        std::string fixed_type;
        bool together = false;
    };
    /// How many filters go of the layers that a pruner names.
    struct Thinning {
        std::vector<ps::prune::Ranking> const* rankings;
        bool of_channels = false;
        std::vector<std::size_t> counts{};
    };
    void bind_schedule();
    /// Whether the schedule prunes while the network is trained.
    [[nodiscard]] bool prunes_in_training() const { return retrains_ && schedule_.has_value(); }
    /// The value of a parameter that is a share, or the fixed one where there is no parameter.
    [[nodiscard]] double share(std::string const& parameter, double fixed, ps::search::SearchPoint const& point) const;
    [[nodiscard]] std::string type(Pruner const& pruner, ps::search::SearchPoint const& point) const;
    [[nodiscard]] std::int64_t epochs(ps::search::SearchPoint const& point) const;
    /// The schedule with the point's parameters.
    [[nodiscard]] ps::prune::PruningSchedule schedule(ps::search::SearchPoint const& point) const;
    /// How a trial is trained, by the options and those parameters that are training's.
    [[nodiscard]] Retraining retraining(ps::search::SearchPoint const& point, std::uint64_t seed) const;
    /// The metrics by counts of filters alone.
    [[nodiscard]] Metrics computed(ps::search::SearchPoint const& point) const;
    /// Whether the counts of filters that go follow from the point, whatever training does.
    [[nodiscard]] bool counts_are_known() const;
    /// The network of a trial.
    [[nodiscard]] ps::prune::Pruned network(ps::search::SearchPoint const& point, std::uint64_t seed,
                                            std::function<bool(std::int64_t, double)> const& goes_on) const;
    /// The network as an ONNX file, whose names, types and metadata are those of the whole network's.
    [[nodiscard]] std::string onnx(ps::prune::Pruned const& network, ps::Precision precision) const;
    /// The precision of a trial: the parameter of that name, or else --precision.
    [[nodiscard]] ps::Precision precision(ps::search::SearchPoint const& point) const;
    void bind_patterns();
    void bind_metrics(ps::search::Sweep const& sweep);
    void find_threshold(std::optional<double> threshold);
    [[nodiscard]] std::vector<ps::prune::Ranking> const& rankings(std::string const& criterion,
                                                                  std::string const& type) const;
    [[nodiscard]] std::vector<ps::prune::Ranking> const& named(std::size_t pruner, std::string const& type) const;
    [[nodiscard]] std::vector<Thinning> thinnings(ps::search::SearchPoint const& point) const;
    [[nodiscard]] ps::prune::RemovedGroups choice(std::vector<Thinning> const& thinnings) const;
    /// Throws error for a value that is no precision, and for int8 without images to choose ranges by.
    void bind_precision(ps::search::Parameter const& parameter);
    /// With ranges by the images, where it is to run in 8 bits.
    [[nodiscard]] ps::Graph calibrated(ps::prune::Pruned const& network, ps::Precision precision) const;
    [[nodiscard]] double accuracy(ps::prune::Pruned const& network, ps::Precision precision) const;
    [[nodiscard]] double computed(std::string const& metric, ps::Graph const& graph, ps::Precision precision) const;
    void export_network(ps::search::Trial const& trial, ps::prune::Pruned const& network) const;
    void add(Metrics& metrics, std::string const& name, double value) const;
    void add_accuracy(Metrics& metrics, double accuracy) const;

    /// Metrics that are computed, and not measured with images.
    static constexpr std::array computed_{"latency", "operations", "parameters"};

    SweepCommand options_;
    ps::search::Space space_;
    Model model_;
    ps::prune::Coupling coupling_;
    std::vector<Pruner> pruners_;
    std::optional<ps::prune::PruningSchedule> schedule_;
    std::map<std::string, std::string> trained_by_;  // options of training, by parameter
    std::map<std::string, std::size_t> gammas_;      // the schedule's rates, by parameter
    std::map<std::string, std::string> names_;       // of metrics, as the file spells them
    std::optional<AnyImages> images_, training_;
    ps::Normalise normalise_;
    double whole_latency_ = 0, threshold_ = 0;
    bool retrains_ = false, known_counts_ = true;
    bool needs_accuracy_ = false, needs_hybrid_ = false, varies_precision_ = false, may_be_int8_ = false;
    std::map<ps::Precision, SecondsPredictor> predicted_seconds_;
    mutable std::mutex mutex_;
    mutable std::map<std::vector<std::size_t>, Metrics> known_;  // by the precision and the counts of all thinnings
    mutable std::map<std::string, std::vector<ps::prune::Ranking>> rankings_;
    mutable std::map<std::pair<std::size_t, std::string>, std::vector<ps::prune::Ranking>> named_;
};

}  // namespace cli
