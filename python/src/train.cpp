// Training on arrays.
#include "rooms.hpp"

#include <primsel/train.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

namespace bindings {

using nb::literals::operator""_a;

namespace {

/// Images of a NumPy array, which is not copied, and their labels.
class Images {
public:
    Images(std::string const& name, nb::handle array, std::vector<int> labels)
        : array_(array, name, false), labels_(std::move(labels)) {
        const std::vector<std::int64_t> dims = array_.dims();
        if (dims.size() != 4 || dims[0] == 0)
            ps::fail(name, ": of the shape ", ps::to_string(dims), ", not N x C x H x W");
        if (dims[0] != static_cast<std::int64_t>(labels_.size())) {
            ps::fail(name, ": ", dims[0], " images and ", labels_.size(), " labels");
        }
        const auto extent = [&](std::size_t i) {
            if (dims[i] < 1 || dims[i] > ps::max_extent) ps::fail(name, ": of the shape ", ps::to_string(dims));
            return static_cast<int>(dims[i]);
        };
        shape_ = {extent(1), extent(2), extent(3)};
        const auto [least, most] = std::ranges::minmax(labels_);
        if (least < 0 || most == std::numeric_limits<int>::max()) {
            ps::fail(name, ": a label is ", least < 0 ? least : most);
        }
        classes_ = most + 1;
    }
    [[nodiscard]] std::size_t size() const { return labels_.size(); }
    [[nodiscard]] ps::Shape shape() const { return shape_; }
    [[nodiscard]] int classes() const { return classes_; }
    [[nodiscard]] int label(std::size_t i) const { return labels_[i]; }
    void read(std::size_t i, float* dst) const {
        std::ranges::copy(array_.span().subspan(i * shape_.size(), shape_.size()), dst);
    }

private:
    FloatArray array_;
    std::vector<int> labels_;
    ps::Shape shape_{};
    int classes_ = 0;
};

foreign::Network train(foreign::Network const& network, nb::handle images, std::vector<int> labels,
                       std::optional<std::pair<nb::object, std::vector<int>>> validation, std::int64_t epochs,
                       int batch, double learning_rate, double weight_decay, std::uint64_t seed, std::size_t threads,
                       nb::object const& progress) {
    const Images source("images", images, std::move(labels));
    std::optional<Images> judged;
    if (validation) judged.emplace("validation", validation->first, std::move(validation->second));
    const ps::TrainingOptions options{
        .batch = batch, .epochs = epochs, .learning_rate = learning_rate, .weight_decay = weight_decay, .seed = seed};
    const auto report = [&](ps::EpochReport const& epoch) {
        const nb::gil_scoped_acquire held;
        return progress.is_none() || !progress(epoch).is(nb::bool_(false));
    };
    const auto updated = [](std::int64_t) {
        const nb::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return true;
    };
    const nb::gil_scoped_release released;
    ps::Trainer<ps::Graph, Training> trainer(network.graph, network.weights, options, {},
                                             ps::ThreadPool(foreign::threads_of(threads)));
    if (judged) {
        trainer.fit(source, {}, ps::NoAugment{}, *judged, report, updated);
    } else {
        trainer.fit(source, {}, ps::NoAugment{}, ps::NoValidation{}, report, updated);
    }
    foreign::Network result = network;
    result.weights = trainer.best_weights();
    return result;
}

}  // namespace

void add_train(nb::module_& module) {
    nb::class_<ps::EpochReport>(module, "EpochReport", "An epoch of a training.")
        .def_ro("epoch", &ps::EpochReport::epoch, "How many are done.")
        .def_ro("loss", &ps::EpochReport::loss, "The mean over its batches.")
        .def_ro("seconds", &ps::EpochReport::seconds)
        .def_prop_ro(
            "accuracy",
            [](ps::EpochReport const& epoch) -> std::optional<double> {
                if (!epoch.validation) return std::nullopt;
                return epoch.validation->accuracy();
            },
            "The share of validation's images that were classified correctly.")
        .def("__repr__", [](ps::EpochReport const& epoch) {
            return ps::join("EpochReport(", epoch.epoch, ", loss ", epoch.loss, ")");
        });
    module.def(
        "train", &train, "network"_a, "images"_a, "labels"_a, nb::kw_only(), "validation"_a = nb::none(),
        "epochs"_a = 1, "batch"_a = 32, "learning_rate"_a = 0.001, "weight_decay"_a = 0.0, "seed"_a = 1,
        "threads"_a = 1, "progress"_a = nb::none(),
        nb::sig("def train(network: Network, images: numpy.typing.NDArray[numpy.float32], labels: "
                "typing.Sequence[int], *, validation: tuple[numpy.typing.NDArray[numpy.float32], "
                "typing.Sequence[int]] | None = None, epochs: int = 1, batch: int = 32, learning_rate: float = "
                "0.001, weight_decay: float = 0.0, seed: int = 1, threads: int = 1, progress: "
                "typing.Callable[[EpochReport], bool | None] | None = None) -> Network"),
        "Trains a classifier on images (float32, N x C x H x W) by AdamW at a rate that falls as a cosine, and "
        "returns it with the weights that validation found best, or the last ones. progress is called after each "
        "epoch; False ends the training. The same arguments give the same bits. Load files with trains=True.");
}

}  // namespace bindings
