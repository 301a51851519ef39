#include "learned_costs.hpp"

#include "session.hpp"
#include "text.hpp"

#include <primsel/cost/analytical.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/model_file.hpp>
#include <primsel/version.hpp>

#include <utility>

namespace cli {
namespace {

std::string_view known(std::string_view value) { return value.empty() ? "not known" : value; }

/// Throws error for another instruction set, whose kernels are others; warns of what changes their speed.
void check_origin(std::string const& path, ps::learn::TrainedModel const& model) {
    const std::string_view arch = model.about_of("arch");
    if (!arch.empty() && arch != kernels().arch) {
        ps::fail("--costs ", path, ": was trained for ", arch, "; this program is compiled for ", kernels().arch);
    }
    const std::string cpu = ps::cpu_name();
    const std::pair<const char*, std::string_view> wanted[]{
        {"arch", kernels().arch}, {"cpu", cpu}, {"version", ps::version}};
    for (auto const& [key, here] : wanted) {
        const std::string_view there = model.about_of(key);
        if (there == here) continue;
        warn(ps::join(path, ": its ", key, " is ", known(there), "; here it is ", here));
    }
}

using Costs = ps::LearnedCost<ps::learn::AnyRegression>;

Costs costs_from(std::string const& path) {
    ps::learn::TrainedModel model = ps::learn::read_model(path);
    check_origin(path, model);
    return ps::learn::learned_cost(std::move(model));
}

}  // namespace

struct LearnedCosts::Model {
    Costs costs;
};

LearnedCosts::LearnedCosts(std::string const& path) : model_(std::make_unique<Model>(Model{costs_from(path)})) {}
LearnedCosts::~LearnedCosts() = default;

void LearnedCosts::predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries,
                           std::span<double> seconds) {
    model_->costs.predict(kernels, queries, seconds);
}
void LearnedCosts::predict(ps::Kernels const& kernels, std::span<const ps::TransformQuery> queries,
                           std::span<double> seconds) {
    model_->costs.predict(kernels, queries, seconds);
}
void LearnedCosts::predict(ps::Kernels const& kernels, std::span<const ps::OpQuery> queries,
                           std::span<double> seconds) {
    model_->costs.predict(kernels, queries, seconds);
}

}  // namespace cli
