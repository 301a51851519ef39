#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/network/detail/tape.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace network::detail {

/// A name where it counts only whether another is the same: FNV-1a, 64 bits.
struct NameHash {
    std::uint64_t value = 0xcbf29ce484222325ULL;
    constexpr NameHash& operator+=(std::string_view text) {
        for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        return *this;
    }
};

/// Where layers are named: with a prefix, and with a count for each kind. Text is a std::string, or
/// what there is in its place at compile time.
template <class Text>
class Scope {
public:
    constexpr Scope() = default;
    constexpr explicit Scope(Text name) : own(name), prefix_(std::move(name)) { prefix_ += "."; }

    /// The name of the scope itself.
    Text own;

    [[nodiscard]] constexpr Text named(std::string_view name) const {
        Text result = prefix_;
        result += name;
        return result;
    }
    [[nodiscard]] constexpr Text next(std::string_view kind) {
        Text result = named(kind);
        char digits[10];
        std::size_t first = 10;
        for (int rest = ++count(kind); rest > 0; rest /= 10) digits[--first] = static_cast<char>('0' + rest % 10);
        result += std::string_view(digits + first, 10 - first);
        return result;
    }

private:
    constexpr int& count(std::string_view kind) {
        for (auto& [counted, so_far] : counts_) {
            if (counted == kind) return so_far;
        }
        return counts_.emplace_back(kind, 0).second;
    }

    Text prefix_;
    std::vector<std::pair<std::string_view, int>> counts_;
};

/// Calls back with the name of each layer that the steps add, in order.
template <class Text, class Function>
constexpr void each_name(std::span<const TapeMark> steps, Function const& function) {
    std::vector<Scope<Text>> scopes(1);
    for (TapeMark const& step : steps) {
        switch (step.kind) {
            case TapeMark::Kind::layer:
            case TapeMark::Kind::source:
            case TapeMark::Kind::join:
                function(step.name.empty() ? scopes.back().next(layer_kind(*step.layer))
                                           : scopes.back().named(step.name));
                break;
            case TapeMark::Kind::enter:
                scopes.push_back(Scope<Text>(scopes.back().named(step.name)));
                break;
            case TapeMark::Kind::enter_counted:
                scopes.push_back(Scope<Text>(scopes.back().next(step.name)));
                break;
            case TapeMark::Kind::whole:
                function(scopes.back().own);
                scopes.pop_back();
                break;
            case TapeMark::Kind::leave:
                scopes.pop_back();
                break;
            case TapeMark::Kind::fork:
            case TapeMark::Kind::branch:
                break;
        }
    }
}

inline constexpr std::size_t no_name = static_cast<std::size_t>(-1);

/// The first among the layers that the steps add whose name one before it has, or the graph's input.
constexpr std::size_t first_name_taken(std::span<const TapeMark> steps) {
    // A hash table, twice as large as it need be: sorting takes a compiler several times as long.
    const std::size_t slots = std::bit_ceil(2 * (steps.size() + 1));
    std::vector<std::uint64_t> names(slots, 0);
    const auto add = [&](NameHash name) {
        std::size_t slot = name.value & (slots - 1);
        for (; names[slot] != 0; slot = (slot + 1) & (slots - 1)) {
            if (names[slot] == name.value) return false;
        }
        names[slot] = name.value;
        return true;
    };
    add(NameHash{} += "input");
    std::size_t at = 0, first = no_name;
    each_name<NameHash>(steps, [&](NameHash name) {
        if (!add(name) && first == no_name) first = at;
        ++at;
    });
    return first;
}
/// The beginning of a name, to print: g++ 12 has no std::string at compile time.
struct NameText {
    char text[256] = {};
    std::size_t size = 0;
    constexpr NameText& operator+=(std::string_view more) {
        const std::size_t room = std::min(more.size(), sizeof(text) - size);
        std::copy_n(more.begin(), room, text + size);
        size += room;
        return *this;
    }
};
constexpr NameText name_at(std::span<const TapeMark> steps, std::size_t position) {
    NameText result;
    std::size_t at = 0;
    each_name<NameText>(steps, [&](NameText const& name) {
        if (at++ == position) result = name;
    });
    return result;
}
template <std::size_t size>
constexpr FixedString<size + 1> fixed(NameText const& name) {
    FixedString<size + 1> result;
    std::copy_n(name.text, size, result.text);
    return result;
}
/// Says which name it is.
template <FixedString name>
struct NameTaken {
    static_assert(sizeof(name) == 0, "primsel: two layers of this network have the same name, that of this NameTaken");
    static constexpr bool value = false;
};

}  // namespace network::detail

}  // namespace primsel::inline PRIMSEL_ABI
