#include "transfer.hpp"

#include <primsel/cost/features.hpp>
#include <primsel/learn/chosen_correction.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/transfer.hpp>

#include <utility>

namespace reproduce {
namespace {

AnyModel factor(Sources& sources, Kind source, Samples const& samples) {
    return shared(ps::learn::transfer<ps::learn::FactorCorrection>(sources.regression(source), samples.features,
                                                                   samples.targets));
}

}  // namespace

AnyModel tune(Sources& sources, Samples const& samples) {
    ps::learn::Mlp mlp = sources.nn2();
    ps::learn::MlpOptions options = sources.effort().nn2(ps::ConvFeatures::raw, samples.features.rows());
    options.learning_rate /= 10;
    ps::Sequential executor;
    mlp.fine_tune(samples.features, sources.among_source(samples.targets), samples.validation_features,
                  sources.among_source(samples.validation_targets), options, executor);
    return sources.of_target(shared(std::move(mlp)));
}

AnyModel learn_by(Method method, Sources& sources, Samples const& samples) {
    std::vector<std::string> const& labels = sources.world().target.families;
    ps::Sequential executor;
    switch (method) {
        case Method::scratch_nn2:
            return shared(fit_nn2(samples, ps::ConvFeatures::raw, sources.effort()));
        case Method::tuned_nn2:
            return tune(sources, samples);
        case Method::factor_nn2:
            return factor(sources, Kind::nn2, samples);
        case Method::scratch_ours: {
            // Few samples: those of a family are fitted together.
            ps::learn::GaussianProcessOptions options{.rows = 400, .shared_from = 0};
            options.seed = sources.effort().seed;
            return shared(
                ps::learn::GaussianProcess::fit(samples.features, samples.targets, labels, options, executor));
        }
        case Method::factor_ours:
            return factor(sources, Kind::ours, samples);
        case Method::transferred:
            return shared(ps::learn::transfer<ps::learn::DeviationCorrection>(
                sources.regression(Kind::ours), samples.features, samples.targets, labels, executor));
        case Method::trusted:
        case Method::chosen_for_all:
        case Method::chosen_for_network:
        case Method::others_for_all:
        case Method::others_for_network:
            break;
    }
    return shared(ps::learn::transfer<ps::learn::ChosenCorrection>(sources.regression(Kind::ours), samples.features,
                                                                   samples.targets, labels, executor));
}

}  // namespace reproduce
