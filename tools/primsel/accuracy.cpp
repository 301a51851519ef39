// primsel accuracy NET: how often a network is right.
#include "commands.hpp"
#include "labelled_images.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/text_table.hpp>
#include <primsel/train/batches.hpp>
#include <primsel/train/metrics.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace cli {
namespace {

struct AccuracyCommand : Options {
    ImageFiles data;
    std::vector<float> mean, std;
};

/// As the options say, or the weights, which were trained so.
ps::Normalise normalise_for(AccuracyCommand const& options, Model const& model) {
    if (!options.mean.empty()) return {options.mean, options.std};
    return normalise_of(model, options.model.weights);
}

ps::Metrics metrics_of(Model const& model, AccuracyCommand const& options, AnyImages const& images) {
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    Session session(model, plan, options.threads);
    const int batch = model.graph.batch();
    const std::size_t results = require_scores(model.name, model.graph[model.graph.outputs()[0]].shape);
    if (session.inputs() != 1 || static_cast<std::size_t>(images.classes()) > results) {
        ps::fail(model.name, ": cannot be judged by images of ", images.classes(), " classes: it has ",
                 session.inputs(), " inputs, and ", results, " results for an image");
    }
    if (session.outputs() > 1) {
        warn(ps::join(model.name, ": is judged by its output ", model.outputs[0].name, ", the first of ",
                      session.outputs()));
    }
    ps::Metrics metrics(static_cast<int>(results));
    const ps::Normalise normalise = normalise_for(options, model);
    ps::Batches<AnyImages> batches(images, ps::evaluation_batches(batch), normalise);
    for (ps::Batch each = batches.next(); each.count > 0; each = batches.next()) {
        std::ranges::copy(each.images, session.input(0).begin());
        session.run();
        metrics.add(session.output(0), each.labels);
    }
    return metrics;
}

std::string in_percent(double share) {
    char text[16];
    std::snprintf(text, sizeof(text), "%.2f %%", 100 * share);
    return text;
}

void accuracy(AccuracyCommand const& options) {
    Model model = load_model(options.model);
    set_default_batch(model, options.model, 32);
    const AnyImages images = read_images(options.data, model.graph[model.graph.input()].shape);
    if (images.shape() != model.graph[model.graph.input()].shape) {
        ps::fail(model.name, ": the images are ", to_string(images.shape()), ", the network takes ",
                 to_string(model.graph[model.graph.input()].shape));
    }
    const ps::Metrics metrics = metrics_of(model, options, images);
    ps::Json::Array classes;
    ps::TextTable table;
    table.add({"class", "images", "right", "taken most often for"});
    for (int label = 0; label < images.classes(); ++label) {
        std::int64_t count = 0, most = 0;
        int other = -1;
        for (int largest = 0; largest < metrics.classes(); ++largest) {
            const std::int64_t taken = metrics.count(label, largest);
            count += taken;
            if (largest != label && taken > most) most = taken, other = largest;
        }
        // The network may know classes of which there is no image.
        const auto name_of = [&](int of) { return of < images.classes() ? images.class_name(of) : std::to_string(of); };
        const std::string name = name_of(label), confused = other < 0 ? "" : name_of(other);
        classes.push_back(ps::Json::Object{{"name", name},
                                           {"images", count},
                                           {"accuracy", metrics.class_accuracy(label)},
                                           {"taken_for", other < 0 ? ps::Json() : ps::Json(confused)}});
        table.add({name, std::to_string(count), in_percent(metrics.class_accuracy(label)), confused});
    }
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"images", metrics.samples()},
                                           {"accuracy", metrics.accuracy()},
                                           {"top5_accuracy", metrics.top5_accuracy()},
                                           {"classes", std::move(classes)}});
    }
    print(ps::join(table.text(), "accuracy ", in_percent(metrics.accuracy()), " of ", metrics.samples(),
                   " images; among the five best ", in_percent(metrics.top5_accuracy()), '\n'));
}

}  // namespace

void add_accuracy(CLI::App& app) {
    const auto options = std::make_shared<AccuracyCommand>();
    CLI::App& command = *app.add_subcommand("accuracy", "Judge a network by labelled images: how often it is right");
    add_options(command, *options, SavedPlan::instead);
    add_images(command, "", options->data, "Images to judge by");
    CLI::Option* const mean = command.add_option(
        "--mean", options->mean,
        "Taken from the pixels, which are 0 to 1, for each channel (default: as trained, or nothing)");
    CLI::Option* const deviation =
        command.add_option("--std", options->std, "What they are then divided by, for each channel");
    for (CLI::Option* const option : {mean, deviation}) option->expected(1, 4)->delimiter(',')->type_name("R,G,B");
    mean->needs(deviation)->check(finite_number);
    deviation->needs(mean)->check(positive_number);
    command.callback([options, &command] {
        if (!options->data.given()) throw CLI::RequiredError("--images and --labels, --cifar or --folder");
        refuse_idle(command, {{"--seed", !has_random_weights(options->model), random_weights_need},
                              {"--no-exif", options->data.folder.empty(), "--folder"}});
        accuracy(*options);
    });
}

}  // namespace cli
