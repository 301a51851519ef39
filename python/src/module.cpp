// The module primsel._primsel.
#include "rooms.hpp"

#include <primsel/version.hpp>

NB_MODULE(_primsel, module) {
    nb::exception<ps::error>(module, "Error", PyExc_ValueError);
    module.attr("__version__") = PRIMSEL_VERSION;
    module.attr("arch") = ps::default_arch::name();
    bindings::add_plan(module);
    bindings::NetworkClass network(module, "Network", "A network and its weights. Made by load() and zoo().");
    bindings::add_engine(module, network);
    bindings::add_forecast(module, network);
    bindings::add_prune(network);
    bindings::add_quantise(network);
    bindings::add_train(module);
}
