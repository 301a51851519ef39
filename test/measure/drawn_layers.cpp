// Layers drawn at random: the same from the same seed, valid, and of every kind of op.
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/measure/drawn_layers.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace measure_drawn_layers {

namespace ps = primsel;

TEST_CASE("drawn layers are valid, and repeat with their seed") {
    std::set<std::string> texts;
    std::size_t differ = 0;
    for (std::size_t i = 0; i < 20 * ps::measure::drawn_kinds; ++i) {
        const ps::measure::DrawnLayer one = ps::measure::draw_layer(1, i), again = ps::measure::draw_layer(1, i);
        CAPTURE(one.text());
        CHECK(one.layer == again.layer);
        CHECK(one.inputs == again.inputs);
        CHECK(one.text().find(',') == std::string::npos);
        if (!std::holds_alternative<ps::ConvParams>(one.layer)) {
            std::visit([&](auto const& params) { CHECK(params.check(one.inputs) == ps::Fault::none); }, one.layer);
            std::visit([&](auto const& params) { CHECK(params.output(one.inputs) == one.output); }, one.layer);
        }
        texts.insert(std::string(ps::layer_kind(one.layer)) + one.text());
        differ += one.text() != ps::measure::draw_layer(2, i).text() ? 1U : 0U;
    }
    CHECK(texts.size() > 15 * ps::measure::drawn_kinds);
    CHECK(differ > 15 * ps::measure::drawn_kinds);
}

TEST_CASE("every op that can take time is drawn") {
    const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();
    std::set<std::size_t> drawn;
    for (std::size_t i = 0; i < 4 * ps::measure::drawn_kinds; ++i)
        drawn.insert(ps::measure::draw_layer(1, i).layer.index());
    ps::OpTable const& ops = kernels.layouts[kernels.find_layout("chw")].ops();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        CAPTURE(i);
        const bool is_free =
            i == ps::AnyLayer(ps::ReshapeParams{}).index() || i == ps::AnyLayer(ps::DropoutParams{}).index();
        if (ops[i].run != nullptr && !is_free) CHECK(drawn.contains(i));
    }
}

}  // namespace measure_drawn_layers
