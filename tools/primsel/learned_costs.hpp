// Costs from a model file, behind functions that are compiled once.
#pragma once

#include <primsel/cost/cost_model.hpp>

#include <memory>
#include <span>
#include <string>

namespace cli {

namespace ps = primsel;

/// Costs by a model that `primsel fit` wrote; Analytical answers what the model did not learn.
class LearnedCosts {
public:
    /// Throws error when the file is no model, or one for another arch. Says on the standard error when the processor
    /// or the library's version is another.
    explicit LearnedCosts(std::string const& path);
    LearnedCosts(LearnedCosts const&) = delete;
    LearnedCosts& operator=(LearnedCosts const&) = delete;
    ~LearnedCosts();

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds);
    void predict(ps::Kernels const& kernels, std::span<const ps::TransformQuery> queries, std::span<double> seconds);
    void predict(ps::Kernels const& kernels, std::span<const ps::OpQuery> queries, std::span<double> seconds);

private:
    struct Model;
    std::unique_ptr<Model> model_;
};

}  // namespace cli
