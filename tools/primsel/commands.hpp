// One command a file. Each function adds its command, which runs when it has been parsed. Errors are exceptions.
#pragma once

namespace CLI {
class App;
}

namespace cli {

void add_run(CLI::App& app);
void add_plan(CLI::App& app);
void add_explain(CLI::App& app);
void add_trace(CLI::App& app);
void add_compare(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_profile(CLI::App& app);
void add_fit(CLI::App& app);
void add_transfer(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_pretrain(CLI::App& app);
void add_train(CLI::App& app);
void add_accuracy(CLI::App& app);
void add_quantise(CLI::App& app);
void add_prune(CLI::App& app);
void add_sensitivity(CLI::App& app);
void add_sweep(CLI::App& app);
void add_worker(CLI::App& app);
void add_report(CLI::App& app);
void add_dynamic(CLI::App& app);
void add_forecast(CLI::App& app);
void add_search(CLI::App& app);
void add_list(CLI::App& app);
void add_machine(CLI::App& app);
void add_export(CLI::App& app);
void add_freeze(CLI::App& app);
void add_completion(CLI::App& app);
void add_manual(CLI::App& app);

}  // namespace cli
