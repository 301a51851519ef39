#pragma once

#include <primsel/plan/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::show::detail {

/// "#rrggbb", so much of the way to white.
[[nodiscard]] inline std::string paler(unsigned rgb, double share) {
    std::string text = "#";
    for (unsigned shift = 24; shift > 0;) {
        shift -= 8;
        const double value = static_cast<double>((rgb >> shift) & 0xffU);
        const auto mixed = static_cast<unsigned>(value + (255.0 - value) * share + 0.5);
        text += "0123456789abcdef"[mixed >> 4U];
        text += "0123456789abcdef"[mixed & 15U];
    }
    return text;
}

/// The colours of a plan: one a family of primitives (what precedes the first '-' of the id) in a shade for each
/// primitive that is used, and one a layout.
class Colours {
public:
    explicit Colours(Plan const& plan) {
        std::set<std::string, std::less<>> families, used, layouts;
        for (PlannedLayer const& layer : plan.layers) {
            for (Candidate const& candidate : layer.candidates) families.insert(family(candidate.primitive));
            if (!layer.primitive.empty()) used.insert(layer.primitive), families.insert(family(layer.primitive));
            layouts.insert({layer.in_layout, layer.out_layout});
        }
        for (std::string const& id : used) {
            const auto place = std::distance(families.begin(), families.find(family(id)));
            const unsigned colour = primitive_colours[static_cast<std::size_t>(place) % primitive_colours.size()];
            const auto shade = shades_[family(id)]++;
            primitives_[id] = paler(colour, 0.85 * (1.0 - 1.0 / (1.0 + shade)));
        }
        std::size_t others = 0;
        for (std::string const& layout : layouts) {
            const auto known = std::ranges::find(known_layouts, layout);
            const auto place = static_cast<std::size_t>(known - known_layouts.begin());
            const std::size_t colour = place < known_layouts.size() ? place : known_layouts.size() + others++;
            layouts_[layout] = paler(layout_colours[colour % layout_colours.size()], 0);
        }
    }

    /// Grey for a layer that is not a convolution.
    [[nodiscard]] std::string const& primitive(std::string const& id) const {
        static const std::string grey = "#eef0f2";
        const auto found = primitives_.find(id);
        return found == primitives_.end() ? grey : found->second;
    }
    [[nodiscard]] std::string const& layout(std::string const& name) const { return layouts_.at(name); }
    [[nodiscard]] std::map<std::string, std::string> const& layouts() const { return layouts_; }

private:
    static constexpr std::array<unsigned, 10> primitive_colours{0x7fc9bd, 0xf2d75c, 0xb5addf, 0xf49a8c, 0x86b8dc,
                                                                0xf5b56b, 0xa9cf6a, 0xf0a8d0, 0xd9c29b, 0x9fd3a4};
    static constexpr std::array<std::string_view, 3> known_layouts{"chw", "hcw", "hwc"};
    static constexpr std::array<unsigned, 7> layout_colours{0x1f5fa8, 0x7d3c98, 0xc0392b, 0x1e8449,
                                                            0xb9770e, 0x117a8b, 0x5d4037};
    [[nodiscard]] static std::string family(std::string const& id) { return id.substr(0, id.find('-')); }

    std::map<std::string, int> shades_;
    std::map<std::string, std::string> primitives_, layouts_;
};

}  // namespace primsel::inline PRIMSEL_ABI::show::detail
