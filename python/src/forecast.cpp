// Time and memory, before anything runs.
#include "rooms.hpp"

#include <primsel/forecast/engine_forecast.hpp>

namespace bindings {

using nb::literals::operator""_a;

void add_forecast(nb::module_& module, NetworkClass& network) {
    using Forecast = ps::forecast::EngineForecast;
    nb::class_<Forecast>(module, "Forecast", "Predicted time, and memory to the byte.")
        .def_ro("seconds", &Forecast::seconds)
        .def_prop_ro(
            "bytes", [](Forecast const& of) { return of.memory.total(); },
            "What an engine or a training holds; images and results come on top.")
        .def_prop_ro("arena_bytes", [](Forecast const& of) { return of.memory.arena; })
        .def_prop_ro("packed_bytes", [](Forecast const& of) { return of.memory.packed; })
        .def("__repr__", [](Forecast const& of) {
            return ps::join("Forecast(", ps::milliseconds(of.seconds), " ms, ", of.memory.total(), " bytes)");
        });
    network
        .def(
            "forecast",
            [](foreign::Network const& of, std::size_t threads) {
                return ps::forecast::forecast_inference(of.graph, foreign::threads_of(threads));
            },
            nb::kw_only(), "threads"_a = 1, nb::call_guard<nb::gil_scoped_release>(),
            "What a run in float32 will take. Nothing runs and nothing is allocated.")
        .def(
            "forecast_training",
            [](foreign::Network const& of, std::size_t threads) {
                const ps::TrainingOptions options{.batch = of.graph.batch()};
                return ps::forecast::forecast_training<Training>(of.graph, options, {}, foreign::threads_of(threads));
            },
            nb::kw_only(), "threads"_a = 1, nb::call_guard<nb::gil_scoped_release>(),
            "What a step of train() will take, with the network's batch.");
}

}  // namespace bindings
