// Plans and why they are as they are.
#include "rooms.hpp"

#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/dot.hpp>
#include <primsel/show/svg.hpp>
#include <primsel/show/xml.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sstream>

namespace bindings {

using nb::literals::operator""_a;

namespace {

std::string text_of(ps::Plan const& plan) {
    std::ostringstream out;
    out << plan;
    return out.str();
}
std::string explained(ps::PlannedLayer const& layer) {
    ps::Plan plan;
    plan.layers.push_back(layer);
    return plan.explain(layer.name);
}
/// A text in a notebook, as it is.
std::string html_of(std::string const& text) { return "<pre>" + ps::show::xml_text(text) + "</pre>"; }

}  // namespace

void add_plan(nb::module_& module) {
    nb::class_<ps::Candidate>(module, "Candidate",
                              "A way to compute a layer: its predicted seconds, or why it is none.")
        .def_ro("primitive", &ps::Candidate::primitive)
        .def_ro("seconds", &ps::Candidate::seconds)
        .def_ro("refusal", &ps::Candidate::refusal)
        .def("__repr__", [](ps::Candidate const& candidate) {
            return ps::join("Candidate(", candidate.primitive, ", ",
                            candidate.refusal.empty() ? ps::milliseconds(candidate.seconds) + " ms" : candidate.refusal,
                            ")");
        });
    nb::class_<ps::PlannedLayer>(module, "PlannedLayer", "A layer of a plan. Printed, it lists every candidate.")
        .def_ro("name", &ps::PlannedLayer::name)
        .def_ro("kind", &ps::PlannedLayer::kind)
        .def_ro("shape", &ps::PlannedLayer::shape)
        .def_ro("primitive", &ps::PlannedLayer::primitive)
        .def_ro("in_layout", &ps::PlannedLayer::in_layout)
        .def_ro("out_layout", &ps::PlannedLayer::out_layout)
        .def_ro("seconds", &ps::PlannedLayer::seconds)
        .def_ro("candidates", &ps::PlannedLayer::candidates, "The cheapest first, then the refused.")
        .def("__str__", &explained)
        .def("_repr_html_", [](ps::PlannedLayer const& layer) { return html_of(explained(layer)); })
        .def("__repr__", [](ps::PlannedLayer const& layer) {
            return ps::join("PlannedLayer(", layer.name, ", ", layer.primitive.empty() ? layer.kind : layer.primitive,
                            ", ", ps::milliseconds(layer.seconds), " ms)");
        });
    nb::class_<PlanOfGraph>(module, "Plan",
                            "Which way computes each layer, and what it is predicted to take. Printed, it is a table; "
                            "a notebook shows it as a picture.")
        .def_prop_ro(
            "seconds", [](PlanOfGraph const& self) { return self.plan.total_seconds; }, "Predicted, of a run.")
        .def_prop_ro(
            "optimal", [](PlanOfGraph const& self) { return self.plan.optimal; },
            "Whether no assignment is predicted to be faster.")
        .def_prop_ro("arch", [](PlanOfGraph const& self) { return self.plan.key.arch; })
        .def_prop_ro("layers", [](PlanOfGraph const& self) { return self.plan.layers; })
        .def(
            "explain", [](PlanOfGraph const& self, std::string const& layer) { return self.plan.layer(layer); },
            "layer"_a, "Every way to compute a layer.")
        .def("to_json", [](PlanOfGraph const& self) { return to_string(ps::to_json(self.plan), 2); })
        .def("to_svg", [](PlanOfGraph const& self) { return ps::show::to_svg(self.plan, *self.graph); })
        .def("_repr_svg_", [](PlanOfGraph const& self) { return ps::show::to_svg(self.plan, *self.graph); })
        .def(
            "to_dot", [](PlanOfGraph const& self) { return ps::show::to_dot(self.plan, *self.graph); }, "For Graphviz.")
        .def(
            "save", [](PlanOfGraph const& self, std::string const& path) { ps::write_plan(path, self.plan); }, "path"_a)
        .def_static(
            "read",
            [](std::string const& path, foreign::Network const& network) {
                return PlanOfGraph{ps::read_plan(path), std::make_shared<const ps::Graph>(ps::simplify(network.graph))};
            },
            "path"_a, "network"_a, "Reads a plan that save wrote, for the network that it was made for.")
        .def("__str__", [](PlanOfGraph const& self) { return text_of(self.plan); })
        .def("__repr__", [](PlanOfGraph const& self) {
            return ps::join("Plan(", self.plan.layers.size(), " layers, ", ps::milliseconds(self.plan.total_seconds),
                            " ms)");
        });
}

}  // namespace bindings
