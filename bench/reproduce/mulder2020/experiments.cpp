#include "experiments.hpp"

#include "plans.hpp"
#include "sources.hpp"
#include "transfer.hpp"

#include <primsel/cost/features.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/measure/choose_rows.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace reproduce {
namespace {

ps::Json to_json(ps::learn::Evaluation const& evaluation) {
    const auto list = [](std::vector<ps::learn::RelativeError> const& errors) {
        ps::Json::Object object;
        for (ps::learn::RelativeError const& one : errors) object.emplace_back(one.subject, 100 * one.median);
        return object;
    };
    return ps::Json::Object{{"all", 100 * evaluation.all.median},
                            {"mean_of_medians", 100 * evaluation.mean_of_medians()},
                            {"subjects", list(evaluation.subjects)},
                            {"families", list(evaluation.families)}};
}

ps::learn::Evaluation judge(ps::learn::Dataset const& data, ps::FloatTable const& features,
                            std::vector<std::size_t> const& test, AnyModel const& model) {
    return ps::learn::evaluate(data.select(test), model.predict(features.select(test)));
}

/// Figures 4 to 7 and table 4 of one model.
ps::Json try_model(World const& world, Effort effort, Kind kind, std::string_view name, std::uint64_t seed) {
    Platform const& platform = world.platform(name);
    const ps::learn::Split split = effort.split(platform, seed);
    const ps::learn::Split layout_split = ps::learn::split_rows(platform.layouts.rows(), seed);
    effort.seed = seed;
    const double begin = cpu_seconds();
    const AnyModel primitives =
        fit(kind, primitive_samples(platform, split), ps::ConvFeatures::raw, platform.families, effort);
    const double fitted = cpu_seconds();
    const AnyModel layouts = fit(kind, layout_samples(platform, layout_split), ps::LayoutFeatures::raw, {}, effort);
    const double layouts_fitted = cpu_seconds();
    ps::Json::Object networks;
    for (std::size_t i = 0; i < world.networks.size(); ++i) {
        if (!platform.best[i]) continue;
        const SelectionTime time = time_selection(world, platform, i, primitives, layouts, effort.quick ? 5 : 20);
        networks.emplace_back(world.networks[i].name,
                              ps::Json::Object{{"increase", increase_percent(world, platform, i, primitives, &layouts)},
                                               {"predict_ms", time.predict},
                                               {"solve_ms", time.solve}});
    }
    return ps::Json::Object{
        {"fit_seconds", fitted - begin},
        {"layout_fit_seconds", layouts_fitted - fitted},
        {"primitives", to_json(judge(platform.primitives, platform.features, split.test, primitives))},
        {"layouts", to_json(judge(platform.layouts, platform.layout_features, layout_split.test, layouts))},
        {"networks", std::move(networks)}};
}

/// Each change of layout from the five others of the same tensor: what is common to all of them, which a model of c and
/// im could know, is known; what is left was measured there and then, and bounds the noise from above.
ps::Json estimate_noise(World const& world, Effort const& effort, std::string_view name, std::uint64_t seed) {
    Platform const& platform = world.platform(name);
    const ps::learn::Split split = ps::learn::split_rows(platform.layouts.rows(), seed);
    ps::learn::Dataset const test = platform.layouts.select(split.test);
    ps::FloatTable predicted(test.rows(), test.subjects.size());
    for (std::size_t subject = 0; subject < test.subjects.size(); ++subject) {
        const auto features = [&](std::vector<std::size_t> const& rows) {
            ps::FloatTable const known = platform.layout_features.select(rows),
                                 times = platform.layout_times.select(rows);
            ps::FloatTable more(rows.size(), known.columns + times.columns - 1);
            for (std::size_t row = 0; row < rows.size(); ++row) {
                std::size_t at = 0;
                for (const float value : known.row(row)) more(row, at++) = value;
                for (std::size_t i = 0; i < times.columns; ++i) {
                    if (i != subject) more(row, at++) = times(row, i);
                }
            }
            return more;
        };
        const auto target = [&](std::vector<std::size_t> const& rows) {
            ps::FloatTable one(rows.size(), 1);
            for (std::size_t row = 0; row < rows.size(); ++row) one(row, 0) = platform.layout_times(rows[row], subject);
            return one;
        };
        const Samples samples{features(split.train), target(split.train), features(split.validation),
                              target(split.validation)};
        const ps::FloatTable one =
            fit(Kind::ours, samples, ps::LayoutFeatures::raw, {}, effort).predict(features(split.test));
        for (std::size_t row = 0; row < one.rows(); ++row) predicted(row, subject) = one(row, 0);
    }
    return to_json(ps::learn::evaluate(test, predicted));
}

/// Figure 6 as it is if each tensor stands in the table as often as a convolution reads one of its size. Rows are then
/// split at random, so that most tensors of the test set were trained with, too.
ps::Json try_merged_layouts(World const& world, Effort effort, Kind kind, std::string_view name, std::uint64_t seed) {
    Platform const& platform = world.platform(name);
    effort.seed = seed;
    std::map<ps::learn::TensorConfiguration, std::size_t> tensors;
    for (std::size_t row = 0; row < platform.layouts.rows(); ++row) {
        tensors.emplace(ps::learn::TensorConfiguration::of_row(platform.layouts.configuration(row)), row);
    }
    std::vector<std::size_t> merged;
    for (std::size_t row = 0; row < platform.primitives.rows(); ++row) {
        const ps::ConvShape shape = platform.primitives.conv(row);
        const auto found = tensors.find({shape.c, shape.h});
        if (found != tensors.end()) merged.push_back(found->second);
    }
    if (merged.empty()) return ps::Json::Object{};
    ps::learn::Split split = ps::learn::split_rows(merged.size(), seed);
    for (std::vector<std::size_t>* part : {&split.train, &split.validation, &split.test}) {
        for (std::size_t& row : *part) row = merged[row];
    }
    const std::set<std::size_t> trained(split.train.begin(), split.train.end());
    const auto leaked = std::ranges::count_if(split.test, [&](std::size_t row) { return trained.contains(row); });
    const AnyModel model = fit(kind, layout_samples(platform, split), ps::LayoutFeatures::raw, {}, effort);
    return ps::Json::Object{{"layouts", to_json(judge(platform.layouts, platform.layout_features, split.test, model))},
                            {"rows", merged.size()},
                            {"leaked", 100 * static_cast<double>(leaked) / static_cast<double>(split.test.size())}};
}

/// On the target: the error of all primitives, and what GoogLeNet loses; changes of layout as measured.
ps::Json try_on_target(Sources& sources, AnyModel const& model) {
    World const& world = sources.world();
    const ps::learn::Evaluation evaluation =
        judge(world.target.primitives, world.target.features, sources.split().test, model);
    ps::Json::Object result{{"primitives", to_json(evaluation)}};
    const std::size_t judged = world.network(judged_network);
    if (world.target.best[judged]) {
        result.emplace_back("increase", increase_percent(world, world.target, judged, model));
    }
    return result;
}

/// The plan of a network on the target: the source's model, and measurements that are chosen for the network.
ps::Json refine_on_target(Sources& sources, std::string_view network, std::size_t most) {
    World const& world = sources.world();
    const RefinedPlan refined =
        refine_plan(world, world.target, world.network(network), sources.regression(Kind::ours), most);
    return ps::Json::Object{{"measurements", refined.measurements},
                            {"seconds", refined.seconds},
                            {"increase", refined.increase_percent},
                            {"settled", refined.settled}};
}

std::size_t share_of(std::size_t rows, int fraction) {
    return std::max<std::size_t>(static_cast<std::size_t>(std::lround(static_cast<double>(rows) * fraction / 1000)), 1);
}

std::vector<std::size_t> first_of(std::vector<std::size_t> rows, std::size_t count) {
    rows.resize(std::min(rows.size(), count));
    return rows;
}

/// Those of the rows whose configuration none of the networks has.
std::vector<std::size_t> without_layers(World const& world, std::vector<std::size_t> rows) {
    std::set<std::vector<float>> layers;
    for (Network const& network : world.networks) {
        const ps::FloatTable features = features_of_layers(world, network.name);
        for (std::size_t i = 0; i < features.rows(); ++i)
            layers.emplace(features.row(i).begin(), features.row(i).end());
    }
    std::erase_if(rows, [&](std::size_t row) {
        const std::span<const float> features = world.target.features.row(row);
        return layers.contains({features.begin(), features.end()});
    });
    return rows;
}

/// As many of the training rows, those that tell most of all rows or of a network's layers. Each subset may choose
/// among another four fifths of the rows: how much depends on what happens to be there.
Samples choose_samples(Sources const& sources, Method method, int fraction, std::size_t subset) {
    Platform const& target = sources.world().target;
    const ps::learn::Split split = target.split(sources.effort().seed);
    std::vector<std::size_t> rows;
    for (const std::size_t i :
         first_of(ps::learn::shuffled(split.train.size(), sources.effort().seed * 1'000'003 + subset),
                  split.train.size() * 4 / 5)) {
        rows.push_back(split.train[i]);
    }
    if (chooses_others(method)) rows = without_layers(sources.world(), std::move(rows));
    const ps::FloatTable candidates = target.features.select(rows);
    constexpr std::size_t sample = 500;  // of all rows, to stand for them
    const bool for_network = method == Method::chosen_for_network || method == Method::others_for_network;
    const ps::FloatTable aims = for_network ? features_of_layers(sources.world(), judged_network)
                                            : target.features.select(first_of(rows, sample));
    ps::learn::Split chosen{.train = {}, .validation = {split.validation.front()}, .test = {}};
    for (const std::size_t row : ps::measure::choose_rows(candidates, aims, share_of(split.train.size(), fraction))) {
        chosen.train.push_back(rows[row]);
    }
    return primitive_samples(target, chosen);
}

/// Draws rows of each part by the subset's number alone: all methods see the same ones. The validation rows that decide
/// when to stop are as few in proportion.
Samples draw_samples(Sources const& sources, int fraction, std::size_t subset) {
    const ps::learn::Split split = sources.world().target.split(sources.effort().seed);
    ps::learn::Split some;
    const auto draw = [&](std::vector<std::size_t> const& from, std::vector<std::size_t>& to, std::uint64_t seed) {
        const std::vector<std::size_t> order = ps::learn::shuffled(from.size(), seed);
        for (std::size_t i = 0; i < share_of(from.size(), fraction); ++i) to.push_back(from[order[i]]);
    };
    const std::uint64_t seed = sources.effort().seed * 1'000'003 + 2 * subset;
    draw(split.train, some.train, seed);
    draw(split.validation, some.validation, seed + 1);
    return primitive_samples(sources.world().target, some);
}

/// Table 5: everything but one family's times is taken away.
ps::Json tune_with_family(Sources& sources, std::string_view family) {
    Platform const& target = sources.world().target;
    Samples samples = primitive_samples(target, sources.split());
    for (ps::FloatTable* targets : {&samples.targets, &samples.validation_targets}) {
        for (std::size_t i = 0; i < targets->values.size(); ++i) {
            if (target.families[i % targets->columns] != family) targets->values[i] = std::nanf("");
        }
    }
    return ps::Json::Object{{"primitives", to_json(judge(target.primitives, target.features, sources.split().test,
                                                         tune(sources, samples)))}};
}

/// Seconds on a core of 2020 or so; for the time that is left, nothing else.
double typical_seconds(Kind kind, bool quick) {
    constexpr std::array<double, kinds.size()> whole{1, 600, 300, 120, 200, 150}, rough{1, 8, 3, 3, 3, 4};
    return quick ? rough[static_cast<std::size_t>(kind)] : whole[static_cast<std::size_t>(kind)];
}
double typical_seconds(Method method, int fraction, bool quick) {
    const double share = fraction / 1000.0;
    switch (method) {
        case Method::scratch_nn2:
        case Method::tuned_nn2:
            return quick ? 0.3 + 20 * share : 2 + 250 * share;
        case Method::factor_nn2:
        case Method::factor_ours:
            return 0.5;
        case Method::scratch_ours:
            return 1 + 200 * share;
        case Method::transferred:
            return 2 + 200 * share;
        case Method::trusted:
        case Method::chosen_for_all:
        case Method::chosen_for_network:
        case Method::others_for_all:
        case Method::others_for_network:
            break;
    }
    return 2 + 300 * share;
}

}  // namespace

std::string_view to_string_view(Method method) {
    constexpr std::array<std::string_view, methods.size()> names{"NN2 from scratch",
                                                                 "NN2 fine-tuned",
                                                                 "NN2 x factor",
                                                                 "ours from scratch",
                                                                 "ours x factor",
                                                                 "ours transferred",
                                                                 "ours, as far as trusted",
                                                                 "trusted, rows chosen",
                                                                 "trusted, rows chosen for GoogLeNet",
                                                                 "trusted, other rows chosen",
                                                                 "trusted, other rows chosen for GoogLeNet"};
    return names[static_cast<std::size_t>(method)];
}

std::vector<int> fractions(Effort const& effort) {
    return effort.quick ? std::vector<int>{1, 10, 25} : std::vector<int>{1, 10, 25, 50, 100, 250};
}
std::size_t subsets(Effort const& effort) { return effort.quick ? 3 : 25; }
std::size_t subsets(Effort const& effort, Method method, int fraction) {
    if (effort.quick) return chooses(method) ? 1 : subsets(effort);
    if (chooses(method) || fraction > 50) return 5;
    return fraction > 10 ? 10 : subsets(effort);
}

std::string model_experiment(Kind kind, std::string_view platform, std::uint64_t seed) {
    return ps::join("model ", to_string_view(kind), " of ", platform, ", seed ", seed);
}
std::string merged_experiment(Kind kind, std::string_view platform, std::uint64_t seed) {
    return ps::join("layouts by ", to_string_view(kind), " of ", platform, ", tensors in many rows, seed ", seed);
}
std::string noise_experiment(std::string_view platform, std::uint64_t seed) {
    return ps::join("noise of layouts of ", platform, ", seed ", seed);
}
std::string direct_experiment(World const& world, Kind kind) {
    return ps::join(world.source.name, "'s ", to_string_view(kind), " on ", world.target.name);
}
std::string subset_experiment(Method method, int fraction, std::size_t subset) {
    return ps::join(to_string_view(method), ", ", fraction, " per mille, subset ", subset);
}
std::string refine_experiment(std::string_view network, std::size_t most) {
    return ps::join("refine ", network, " by ", most, " times");
}
std::string family_experiment(std::string_view family) { return ps::join("NN2 fine-tuned with ", family); }

std::vector<Experiment> list_experiments(World const& world, Effort const& effort) {
    const auto sources = std::make_shared<Sources>(world, effort);
    std::vector<Experiment> list;
    const auto add_models = [&](std::uint64_t seed, std::initializer_list<Kind> some) {
        for (Platform const* platform : {&world.source, &world.target}) {
            for (const Kind kind : some) {
                list.push_back({model_experiment(kind, platform->name, seed), typical_seconds(kind, effort.quick),
                                [&world, effort, kind, name = platform->name, seed] {
                                    return try_model(world, effort, kind, name, seed);
                                }});
            }
        }
    };
    const auto add_direct = [&](Kind kind) {
        list.push_back({direct_experiment(world, kind), typical_seconds(kind, effort.quick),  // fitted here
                        [sources, kind] { return try_on_target(*sources, sources->regression(kind)); }});
    };
    const auto add_merged = [&](std::uint64_t seed) {
        for (Platform const* platform : {&world.source, &world.target}) {
            for (const Kind kind : published_kinds) {
                list.push_back({merged_experiment(kind, platform->name, seed), typical_seconds(kind, effort.quick),
                                [&world, effort, kind, name = platform->name, seed] {
                                    return try_merged_layouts(world, effort, kind, name, seed);
                                }});
            }
        }
    };
    const auto add_quick_ones = [&](std::uint64_t seed) {
        add_models(seed, {Kind::lin, Kind::ours, Kind::boosted, Kind::forest});
        for (Platform const* platform : {&world.source, &world.target}) {
            list.push_back(
                {noise_experiment(platform->name, seed), effort.quick ? 1.0 : 5.0,
                 [&world, effort, name = platform->name, seed] { return estimate_noise(world, effort, name, seed); }});
        }
    };
    const auto add_subset = [&](Method method, int fraction, std::size_t subset) {
        list.push_back({subset_experiment(method, fraction, subset), typical_seconds(method, fraction, effort.quick),
                        [sources, method, fraction, subset] {
                            const Samples samples = chooses(method) ? choose_samples(*sources, method, fraction, subset)
                                                                    : draw_samples(*sources, fraction, subset);
                            return try_on_target(*sources, learn_by(method, *sources, samples));
                        }});
    };

    add_quick_ones(effort.seed);
    add_direct(Kind::ours);
    for (std::size_t i = 0; i < world.networks.size(); ++i) {
        if (!world.target.best[i]) continue;
        Network const& network = world.networks[i];
        for (const std::size_t most : refine_counts) {
            list.push_back({refine_experiment(network.name, most), 2.0,
                            [sources, name = network.name, most] { return refine_on_target(*sources, name, most); }});
        }
    }
    add_models(effort.seed, {Kind::nn2, Kind::nn1});
    add_merged(effort.seed);
    add_direct(Kind::nn2);
    for (const std::string_view family : families) {
        list.push_back({family_experiment(family), effort.quick ? 2.0 : 150.0,
                        [sources, family] { return tune_with_family(*sources, family); }});
    }
    for (std::size_t subset = 0; subset < subsets(effort); ++subset) {
        for (const int fraction : fractions(effort)) {
            for (const Method method : methods) {
                if (subset < subsets(effort, method, fraction)) add_subset(method, fraction, subset);
            }
        }
    }
    for (std::uint64_t seed = effort.seed + 1; seed < effort.seed + effort.seeds(); ++seed) {
        add_quick_ones(seed);
        add_models(seed, {Kind::nn2, Kind::nn1});
    }
    return list;
}

}  // namespace reproduce
