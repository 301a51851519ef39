// In place of what needs Eigen, where there is none: its commands are not there, and models in files are refused.
#include "commands.hpp"
#include "learned_costs.hpp"

#include <primsel/core/error.hpp>

namespace cli {

void add_fit(CLI::App&) {}
void add_transfer(CLI::App&) {}
void add_pretrain(CLI::App&) {}
void add_evaluate(CLI::App&) {}
void add_sweep(CLI::App&) {}

struct LearnedCosts::Model {};
LearnedCosts::LearnedCosts(std::string const& path) {
    ps::fail("--costs ", path,
             ": models need Eigen, without which this program was built; use analytical, semi-empirical or measured");
}
LearnedCosts::~LearnedCosts() = default;
void LearnedCosts::predict(ps::Kernels const&, std::span<const ps::ConvQuery>, std::span<double>) {}
void LearnedCosts::predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double>) {}
void LearnedCosts::predict(ps::Kernels const&, std::span<const ps::OpQuery>, std::span<double>) {}

}  // namespace cli
