// expect: primsel: a layer of your own refuses its input; this RefusedInput says why
#include <primsel/kernels/own_layer.hpp>
#include <primsel/network/network.hpp>

namespace ps = primsel;
using namespace ps::layer;

/// The network's 8 channels do not fit it.
struct Twice {
    static constexpr std::string_view name = "twice";
    static constexpr ps::Support supports(std::span<const ps::Shape> inputs) {
#ifdef PRIMSEL_TEST_FIXED
        return inputs[0].c == 8 ? ps::Support::yes() : ps::Support::no("needs 8 channels");
#else
        return inputs[0].c == 3 ? ps::Support::yes() : ps::Support::no("needs 3 channels");
#endif
    }
    static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    template <class Arch, class L>
    void run(ps::OpArgs const&) const noexcept {}
};

struct Net : ps::Network<Input<3, 8, 8>, Conv<8, 3>, Own<Twice>> {};
