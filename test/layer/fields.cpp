// Every kind of layer visits all of its parameters, each under a name of its own.
#include <primsel/layer/all.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace {

namespace ps = primsel;

/// Converts to anything, so that counting how many of them initialise an aggregate counts its members.
struct Anything {
    template <class T>
    operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class P, class... Given>
consteval std::size_t members() {
    if constexpr (requires { P{Given{}..., Anything{}}; }) {
        return members<P, Given..., Anything>();
    } else {
        return sizeof...(Given);
    }
}

struct Two {
    ps::Padding padding{};
    int number = 0;
};
static_assert(members<Two>() == 2);

template <class P>
void check() {
    static_assert(std::is_aggregate_v<P>);
    std::set<std::string_view> names;
    std::size_t visited = 0;
    P{}.each_field([&](std::string_view name, auto const&) {
        names.insert(name);
        ++visited;
    });
    CAPTURE(P{}.name());
    CHECK(visited == members<P>());
    CHECK(names.size() == visited);
}

TEST_CASE("no parameter of a layer is left out") {
    // The last kind is that of the user's own layers: test/layer/own_layer.cpp.
    constexpr std::size_t kinds = std::variant_size_v<ps::AnyLayer> - 1;
    static_assert(std::same_as<std::variant_alternative_t<kinds, ps::AnyLayer>, ps::OwnLayerParams>);
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        (check<std::variant_alternative_t<i, ps::AnyLayer>>(), ...);
    }(std::make_index_sequence<kinds>{});
}

}  // namespace
