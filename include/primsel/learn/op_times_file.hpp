#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/op_coefficients.hpp>
#include <primsel/io/table_file.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/learn/op_regression.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A TableFormat.
struct OpTimesFormat {
    using Row = OpTime;
    static constexpr std::string_view columns =
        "op,layout,form,images,bytes,working_set,operations,scalars,weights,rows,ns,what";

    [[nodiscard]] static std::string line(OpTime const& time) {
        using core::exact_text;
        OpWork const& work = time.work;
        OpCounts const& counts = work.counts;
        return join(time.op, ',', time.layout, ',', time.form, ',', time.batch, ',', exact_text(counts.bytes), ',',
                    exact_text(work.working_set), ',', exact_text(counts.operations), ',', exact_text(counts.scalars),
                    ',', exact_text(work.weights), ',', exact_text(counts.rows), ',', std::llround(time.seconds * 1e9),
                    ',', time.what);
    }
    [[nodiscard]] static bool read(std::vector<std::string> const& cells, OpTime& time) {
        if (cells.size() != 12) return false;
        time.op = cells[0];
        time.layout = cells[1];
        time.form = cells[2];
        time.what = cells[11];
        OpCounts& counts = time.work.counts;
        double* const numbers[] = {&counts.bytes,      &time.work.working_set, &counts.operations, &counts.scalars,
                                   &time.work.weights, &counts.rows,           &time.seconds};
        if (!read_number(cells[3], time.batch) || time.batch < 1) return false;
        for (std::size_t i = 0; i < std::size(numbers); ++i) {
            if (!read_number(cells[4 + i], *numbers[i]) || !(*numbers[i] >= 0 && is_finite(*numbers[i]))) return false;
        }
        time.seconds *= 1e-9;
        return true;
    }
};

/// Whether the text is a table of what ops took.
[[nodiscard]] inline bool is_op_times(std::string_view text) {
    return text.find(OpTimesFormat::columns) != std::string_view::npos;
}

/// The samples of such a table for OpRegression; its comment lines give the machine's speeds. Throws error, naming the
/// file and, where it is at fault, the line.
[[nodiscard]] inline std::vector<OpRegression::Sample> op_samples(std::string const& name, std::string_view text,
                                                                  std::map<std::string, std::string>& about) {
    const std::vector<OpTime> times = parse_table<OpTimesFormat>(name, text, about);
    const Machine machine = machine_about(name, about);
    std::vector<OpRegression::Sample> samples;
    for (OpTime const& time : times) samples.push_back(OpRegression::sample(machine, time));
    return samples;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
