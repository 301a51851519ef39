// The module primsel._primsel.
#include "rooms.hpp"

#include <primsel/version.hpp>

NB_MODULE(_primsel, module) {
    nb::exception<ps::error>(module, "Error", PyExc_ValueError);
    module.attr("__version__") = PRIMSEL_VERSION;
    module.attr("arch") = ps::default_arch::name();
    bindings::add_plan(module);
    bindings::add_engine(module);
}
