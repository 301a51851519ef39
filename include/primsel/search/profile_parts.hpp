#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/io/json.hpp>
#include <primsel/learn/configuration.hpp>
#include <primsel/learn/dataset.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// The properties of a machine that measured times depend on. Machines of one kind agree in all of them.
struct ProfiledMachine {
    std::string arch{}, cpu{}, compiler{}, version{};
    /// Floats in a vector.
    int lanes = 0;
    /// Seconds of the profiler's reference (docs/measure/profiler.md).
    double reference_seconds = 0;
    /// The peak of multiply-adds in registers, in flop/s.
    double peak_flops = 0;
};

/// A table of a profile: its name, its input and subject columns, and the seconds of the reference at the clock that
/// its times are for.
struct ProfiledTable {
    std::string name{};
    std::vector<std::string> inputs{}, subjects{};
    double reference_seconds = 0;
};

/// The facts that a worker needs to measure parts of a profile.
struct ProfileWork {
    ProfiledMachine machine{};
    /// The relative difference of reference and peak that another machine may have.
    double tolerance = 0.05;
    /// The number of images that a time is for.
    int images = 1;
    /// Whether the primitives of a training step are measured.
    bool training = false;
    std::vector<ProfiledTable> tables{};
    /// A fingerprint of the configurations.
    std::string sample{};
};

/// Says why times measured `here` do not belong to the machine `there`, with both values of the property that differs;
/// empty if they do.
[[nodiscard]] inline std::string difference(ProfiledMachine const& there, ProfiledMachine const& here,
                                            double tolerance) {
    const auto differ = [](std::string_view what, auto const& is, auto const& was) {
        return join("its ", what, " is ", is, ", and ", was, " of the machine that is profiled");
    };
    if (here.arch != there.arch) return differ("instruction set", here.arch, there.arch);
    if (here.cpu != there.cpu) return differ("processor", here.cpu, there.cpu);
    if (here.lanes != there.lanes) return differ("vector width in floats", here.lanes, there.lanes);
    if (here.version != there.version) return differ("version of primsel", here.version, there.version);
    if (here.compiler != there.compiler) return differ("compiler", here.compiler, there.compiler);
    const auto far = [&](double is, double was) { return !(std::abs(is - was) <= tolerance * was); };
    const auto beyond = [&] { return "; at most " + core::rounded_text(100 * tolerance, 3) + " % are borne"; };
    if (far(here.reference_seconds, there.reference_seconds)) {
        return differ("reference's time", core::fixed_text(here.reference_seconds * 1e6, 3) + " us",
                      core::fixed_text(there.reference_seconds * 1e6, 3) + " us") +
               beyond();
    }
    if (far(here.peak_flops, there.peak_flops)) {
        return differ("peak of multiply-adds", core::fixed_text(here.peak_flops * 1e-9, 1) + " GFLOP/s",
                      core::fixed_text(there.peak_flops * 1e-9, 1) + " GFLOP/s") +
               beyond();
    }
    return {};
}

/// One line of JSON.
[[nodiscard]] inline std::string line_of(ProfileWork const& work) {
    Json::Array tables;
    for (ProfiledTable const& table : work.tables) {
        tables.push_back(Json::Object{{"name", table.name},
                                      {"inputs", Json::Array(table.inputs.begin(), table.inputs.end())},
                                      {"subjects", Json::Array(table.subjects.begin(), table.subjects.end())},
                                      {"reference_ns", table.reference_seconds * 1e9}});
    }
    Json machine = Json::Object{{"arch", work.machine.arch},
                                {"cpu", work.machine.cpu},
                                {"compiler", work.machine.compiler},
                                {"version", work.machine.version},
                                {"lanes", work.machine.lanes},
                                {"reference_ns", work.machine.reference_seconds * 1e9},
                                {"gemm_flops", work.machine.peak_flops}};
    return to_string(Json(Json::Object{{"profile", Json::Object{{"machine", std::move(machine)},
                                                                {"tolerance", work.tolerance},
                                                                {"images", work.images},
                                                                {"training", work.training},
                                                                {"sample", work.sample},
                                                                {"tables", std::move(tables)}}}}),
                     0, JsonStrings::any);
}
/// Parses the line that line_of writes; errors call it `name`. Throws error for anything else.
[[nodiscard]] inline ProfileWork parse_profile_work(std::string_view name, std::string_view line) {
    const auto strings = [](JsonCursor const& at) {
        std::vector<std::string> all;
        for (JsonCursor const& each : at.elements()) all.push_back(each.string());
        return all;
    };
    const JsonCursor at = parse_json(std::string(name), line, {.depth = 8, .values = 100'000})["profile"];
    const JsonCursor machine = at["machine"];
    ProfileWork work{.machine = {.arch = machine["arch"].string(),
                                 .cpu = machine["cpu"].string(),
                                 .compiler = machine["compiler"].string(),
                                 .version = machine["version"].string(),
                                 .lanes = static_cast<int>(machine["lanes"].integer(1, 1024)),
                                 .reference_seconds = machine["reference_ns"].number() * 1e-9,
                                 .peak_flops = machine["gemm_flops"].number()},
                     .tolerance = at["tolerance"].number(),
                     .images = static_cast<int>(at["images"].integer(1, 1 << 20)),
                     .training = at["training"].boolean(),
                     .sample = at["sample"].string()};
    for (JsonCursor const& table : at["tables"].elements()) {
        work.tables.push_back({.name = table["name"].string(),
                               .inputs = strings(table["inputs"]),
                               .subjects = strings(table["subjects"]),
                               .reference_seconds = table["reference_ns"].number() * 1e-9});
    }
    return work;
}

/// Configurations of one table that are measured together.
struct ProfilePart {
    std::uint64_t number = 0;
    std::string table{};
    std::vector<std::vector<int>> rows{};
};
/// The measured times of a part's rows, in their order, and the worker that measured them.
struct ProfiledRows {
    std::string worker{};
    std::vector<std::vector<double>> seconds{};
};

[[nodiscard]] inline std::string line_of(ProfilePart const& part) {
    Json::Array rows;
    for (std::vector<int> const& row : part.rows) rows.push_back(Json::Array(row.begin(), row.end()));
    return to_string(Json(Json::Object{{"part", part.number}, {"table", part.table}, {"rows", std::move(rows)}}), 0,
                     JsonStrings::any);
}
namespace detail {
inline constexpr JsonLimits part_limits{.depth = 4, .values = 1'000'000};
}  // namespace detail
/// Reads the line that line_of writes. Throws error for anything else, for a table that the profile lacks, and for
/// numbers that are no configuration that can be measured.
[[nodiscard]] inline ProfilePart parse_part(std::string_view name, std::string_view line,
                                            std::span<const ProfiledTable> tables) {
    const JsonCursor at = parse_json(std::string(name), line, detail::part_limits);
    ProfilePart part{.number = static_cast<std::uint64_t>(at["part"].integer(0)), .table = at["table"].string()};
    const ProfiledTable* table = nullptr;
    for (ProfiledTable const& each : tables) table = each.name == part.table ? &each : table;
    if (table == nullptr) at["table"].fail("the profile has no table '", part.table, "'");
    for (JsonCursor const& row : at["rows"].elements()) {
        std::vector<int> values;
        for (JsonCursor const& value : row.elements()) values.push_back(static_cast<int>(value.integer(1, 1 << 20)));
        if (values.size() != table->inputs.size()) {
            row.fail("has ", values.size(), " values, not ", table->inputs.size());
        }
        constexpr double most_values = 1e9;
        const bool fits = values.size() == learn::ConvConfiguration::columns.size()
                              ? learn::plausible(learn::ConvConfiguration::of_row(values).shape())
                              : values.size() == learn::TensorConfiguration::columns.size() &&
                                    static_cast<double>(values[0]) * values[1] * values[1] <= most_values;
        if (!fits) row.fail("is no configuration that can be measured");
        part.rows.push_back(std::move(values));
    }
    return part;
}

/// One line with the measured times of a part, in whole nanoseconds, as the file of the profile has them.
[[nodiscard]] inline std::string line_of(ProfilePart const& part, ProfiledRows const& measured) {
    Json::Array rows;
    for (std::vector<double> const& seconds : measured.seconds) {
        Json::Array row;
        for (const double time : seconds) row.push_back(time > 0 ? learn::nanoseconds(time) : std::int64_t{0});
        rows.push_back(std::move(row));
    }
    return to_string(
        Json(Json::Object{
            {"part", part.number}, {"table", part.table}, {"worker", measured.worker}, {"ns", std::move(rows)}}),
        0, JsonStrings::any);
}
/// Reads such a line. Throws error if it is no result of that part, or a row has not `subjects` times.
[[nodiscard]] inline ProfiledRows parse_rows(std::string_view name, std::string_view line, ProfilePart const& part,
                                             std::size_t subjects) {
    constexpr std::int64_t longest = 1'000'000'000'000'000;
    const JsonCursor at = parse_json(std::string(name), line, detail::part_limits);
    const std::int64_t number = at["part"].integer(0);
    if (static_cast<std::uint64_t>(number) != part.number) at["part"].fail("is ", number, ", not ", part.number);
    if (at["table"].string() != part.table) at["table"].fail("is not ", part.table);
    ProfiledRows measured{.worker = at["worker"].string()};
    for (JsonCursor const& row : at["ns"].elements()) {
        std::vector<double> seconds;
        for (JsonCursor const& time : row.elements()) {
            seconds.push_back(static_cast<double>(time.integer(0, longest)) * 1e-9);
        }
        if (seconds.size() != subjects) row.fail("has ", seconds.size(), " times, not ", subjects);
        measured.seconds.push_back(std::move(seconds));
    }
    if (measured.seconds.size() != part.rows.size()) {
        at["ns"].fail("has ", measured.seconds.size(), " rows, not ", part.rows.size());
    }
    return measured;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
