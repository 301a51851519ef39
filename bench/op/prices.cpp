// The law of prices: each op and layout transform is priced by SemiEmpirical as it runs. Draws layers at random, times
// each in every layout on this machine, and prints by op how many prices are within 1.5 times and twice of the time,
// and the worst. Arguments: the seed (2) and the number of layers (300). The aim, of times above 20 microseconds: 95 %
// within 1.5 times and 99 % within twice.
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/kernels/make_kernels.hpp>
#include <primsel/measure/drawn_layers.hpp>
#include <primsel/measure/measured.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string>

namespace {

namespace ps = primsel;

constexpr double least_seconds = 20e-6;

struct Share {
    int count = 0, near = 0, within_twice = 0;
    double worst = 1;
    std::string where{};

    void add(double price, double time, std::string const& what) {
        const double ratio = price / time, off = std::max(ratio, 1 / ratio);
        ++count, near += off <= 1.5, within_twice += off <= 2;
        if (off < worst) return;
        char text[80];
        std::snprintf(text, sizeof(text), "%.2f of %.0f us: ", ratio, 1e6 * time);
        worst = off, where = text + what;
    }
    void print(std::string const& name) const {
        if (count == 0) return;
        std::printf("%-40s %5d %5.0f %% %5.0f %%  %s\n", name.c_str(), count, 100.0 * near / count,
                    100.0 * within_twice / count, where.c_str());
    }
};

}  // namespace

int main(int count, char** arguments) {
    const auto seed = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 2;
    const std::size_t layers = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 300;
    const ps::Kernels kernels = ps::make_kernels<ps::TypeList<>, ps::default_arch, ps::AllLayouts>();
    const ps::SemiEmpiricalCosts model;
    std::map<std::string, Share> ops;
    Share all;
    const auto add = [&](auto const& query, std::string const& op, std::string const& what) {
        double seconds = 0, price = 0;
        ps::measure::LeastMeasured{}.predict(kernels, std::span(&query, 1), std::span(&seconds, 1));
        if (seconds < least_seconds) return;
        model.predict(kernels, std::span(&query, 1), std::span(&price, 1));
        all.add(price, seconds, op + ' ' + what);
        ops[op].add(price, seconds, what);
    };
    const std::size_t layouts = kernels.layouts.size();
    for (std::size_t i = 0; i < layers; ++i) {
        const ps::measure::DrawnLayer drawn = ps::measure::draw_layer(seed, i);
        for (std::size_t layout = 0; layout < layouts; ++layout) {
            const ps::OpQuery query{&drawn.layer, drawn.inputs, drawn.output, layout, {.batch = drawn.batch}};
            add(query, ps::join(ps::layer_kind(drawn.layer), ' ', kernels.layouts[layout].name), drawn.text());
        }
        for (std::size_t from = 0; i % 4 == 0 && from < layouts; ++from) {
            for (std::size_t to = 0; to < layouts; ++to) {
                if (kernels.same_placement(drawn.inputs[0], from, to)) continue;
                add(ps::TransformQuery{drawn.inputs[0], from, to},
                    ps::join(kernels.layouts[from].name, " to ", kernels.layouts[to].name), ps::join(drawn.inputs[0]));
            }
        }
    }
    std::printf("%-40s %5s %7s %7s  %s\n", "op", "times", "1.5", "2", "the worst price");
    for (auto const& [name, share] : ops) share.print(name);
    all.print("all");
}
