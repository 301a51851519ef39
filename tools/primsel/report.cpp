// primsel report LOG: a page that shows the trials of a sweep.
#include "commands.hpp"
#include "options.hpp"
#include "settings_file.hpp"
#include "sweep_trials.hpp"
#include "text.hpp"

#include <primsel/prune/sensitivity_file.hpp>
#include <primsel/search/sweep_file.hpp>
#include <primsel/search/trial_log.hpp>
#include <primsel/show/sweep_report.hpp>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <map>
#include <memory>

namespace cli {
namespace {

struct ReportCommand {
    std::string log, sensitivity, out, title;
    bool json = false;
};

void report(ReportCommand& options) {
    const ps::search::TrialLogHeader header = ps::search::read_log_header(options.log);
    ps::search::Sweep sweep = ps::search::parse_sweep(parse_settings(header.file, header.sweep));
    if (header.about.contains("measured")) take_measurements(sweep);
    const std::vector<ps::search::Trial> trials = ps::search::read_trials(options.log, sweep.space);
    ps::show::SweepReport page{
        .title = options.title.empty() ? header.file : options.title, .about = header.about, .sensitivity = {}};
    if (!options.sensitivity.empty()) {
        std::map<std::string, std::string> about;
        const ps::SharedBytes table = ps::read_file(options.sensitivity);
        page.sensitivity = ps::prune::parse_sensitivity(options.sensitivity, table.text(), about);
    }
    if (options.out.empty()) options.out = std::filesystem::path(options.log).replace_extension(".html").string();
    ps::write_file(options.out, ps::show::to_html(sweep, trials, page));
    if (options.json) return print_json(ps::Json::Object{{"trials", trials.size()}, {"file", options.out}});
    print_line(trials.size(), " trials; the page is ", options.out);
}

}  // namespace

void add_report(CLI::App& app) {
    const auto options = std::make_shared<ReportCommand>();
    CLI::App& command = *app.add_subcommand("report", "Show the trials of a sweep as a page of HTML that stands alone");
    command.add_option("log", options->log, "What primsel sweep wrote; it may still be writing")
        ->required()
        ->type_name("LOG");
    command.add_option("--out", options->out, "The page (default: LOG's name, .html)")
        ->check(writable_file)
        ->type_name("F.html");
    command.add_option("--sensitivity", options->sensitivity, "Show this too, from primsel sensitivity --out")
        ->type_name("F.csv");
    command.add_option("--title", options->title, "What the page is called (default: the sweep's file)")
        ->type_name("TEXT");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options] { report(*options); });
}

}  // namespace cli
