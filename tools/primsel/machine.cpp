// primsel machine
#include "commands.hpp"
#include "present_speed.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/machine/all_precisions.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/measure/machine_file.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

namespace cli {
namespace {

std::string giga(double rate, const char* unit) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.1f %s", rate * 1e-9, unit);
    return text;
}

/// The bound of the number of threads, in words.
std::string bound_of(ps::UsableThreads const& threads) {
    if (static_cast<double>(threads.processors) <= threads.quota) {
        return threads.processors == 1 ? "the one processor that this process may run on"
                                       : "the processors that this process may run on";
    }
    return ps::join("the quota of ", ps::core::rounded_text(threads.quota, 3), " processors of ",
                    ps::printable(threads.group));
}

void machine(bool json, bool renew) {
    const ps::Kernels all = kernels();
    const ps::measure::MachineFile file(all.arch);
    if (renew) file.write(ps::this_machine_in_all_precisions<ps::default_arch>());
    ps::Machine const& here = all.machine(2);  // with the speeds of several threads
    const PresentSpeed present = present_speed();
    const ps::UsableThreads threads = ps::usable_threads();
    if (json) {
        ps::Json::Array bandwidth;
        for (std::size_t i = 0; i < here.bandwidth.size(); ++i) {
            bandwidth.push_back(ps::Json::Object{{"working_set_bytes", ps::Machine::working_sets[i]},
                                                 {"bytes_per_second", here.bandwidth[i]}});
        }
        return print_json(
            ps::Json::Object{{"cpu", ps::cpu_name()},
                             {"arch", all.arch},
                             {"version", ps::version},
                             {"gemm_flops", here.fma_flops},
                             {"half_flops", here.half_flops},
                             {"product_flops", here.matmul_flops},
                             {"bf16_flops", here.bf16_flops},
                             {"int8_flops", here.int8_flops},
                             {"vector_flops", here.vector_flops},
                             {"scalar_flops", here.scalar_flops},
                             {"bandwidth", std::move(bandwidth)},
                             {"idle_bandwidth", here.idle_bandwidth},
                             {"l2_bytes", here.l2_bytes},
                             {"threads_measured", here.threads},
                             {"threads_flops", here.threads_flops},
                             {"threads_cache_bandwidth", here.threads_cache_bandwidth},
                             {"threads_memory_bandwidth", here.threads_memory_bandwidth},
                             {"threads_loops", here.threads_loops},
                             {"threads", threads.count()},
                             {"threads_bound_by", bound_of(threads)},
                             {"present_speed", present.networks == 0 ? ps::Json() : ps::Json(1 / present.factor)},
                             {"file", file.read() ? file.path() : std::string()}});
    }
    ps::TextTable table;
    table.add({"processor", ps::cpu_name()});
    table.add({"compiled for", std::string(all.arch)});
    table.add({"multiply-adds in registers", giga(here.fma_flops, "GFLOP/s")});
    table.add({"the same in half as wide vectors", giga(here.half_flops, "GFLOP/s")});
    table.add({"the same, of cached matrices", giga(here.matmul_flops, "GFLOP/s")});
    table.add({"the same, in bfloat16", giga(here.bf16_flops, "GFLOP/s")});
    table.add({"the same, of bytes", giga(here.int8_flops, "Gop/s")});
    table.add({"vector operations in L1", giga(here.vector_flops, "GFLOP/s")});
    table.add({"scalar operations", giga(here.scalar_flops, "GFLOP/s")});
    for (std::size_t i = 0; i + 1 < here.bandwidth.size(); ++i) {
        char what[64];
        std::snprintf(what, sizeof(what), "copies within %.0f kB", ps::Machine::working_sets[i] * 1e-3);
        table.add({what, giga(here.bandwidth[i], "GB/s")});
    }
    table.add({"the same, after 2 ms without use", giga(here.idle_bandwidth, "GB/s")});
    table.add({"copies from memory to memory", giga(here.bandwidth.back(), "GB/s")});
    if (here.l2_bytes > 0) table.add({"L2", std::to_string(std::llround(here.l2_bytes / 1024)) + " KiB"});
    if (here.knows_threads()) {
        const std::string together = ps::join(" by ", std::llround(here.threads), " threads together");
        table.add({"multiply-adds" + together, giga(here.threads_flops, "GFLOP/s")});
        table.add({"copies beyond L2" + together, giga(here.threads_cache_bandwidth, "GB/s")});
        table.add({"copies from memory" + together, giga(here.threads_memory_bandwidth, "GB/s")});
        table.add({"empty loops" + together, ps::core::rounded_text(here.threads_loops * 1e-6, 3) + " million/s"});
    }
    table.add({"threads at a time", ps::join(threads.count(), ": ", bound_of(threads))});
    if (present.networks > 0) {
        table.add({"present speed",
                   ps::join(ps::core::rounded_text(1 / present.factor, 3), " of these, ", source_of(present))});
    }
    if (file.read()) table.add({"kept in", file.path()});
    print(table.text());
}

}  // namespace

void add_machine(CLI::App& app) {
    const auto json = std::make_shared<bool>(false), renew = std::make_shared<bool>(false);
    CLI::App& command = *app.add_subcommand("machine",
                                            "This machine's speeds on one core and on several, from which costs are "
                                            "predicted, measured once and then kept");
    command.add_flag("--renew", *renew, "Measure them again");
    command.add_flag("--json", *json, "Print one JSON object");
    command.callback([json, renew] { machine(*json, *renew); });
}

}  // namespace cli
