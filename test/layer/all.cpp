#include <primsel/layer/all.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <set>
#include <string_view>

namespace {

namespace ps = primsel;

template <class Variant>
struct Alternatives;
template <class... Params>
struct Alternatives<std::variant<Params...>> {
    static_assert((ps::LayerParams<Params> && ...));
    static std::set<std::string_view> names() { return {name<Params>()...}; }

private:
    template <class P>
    static std::string_view name() {
        // The user's own layers have names of their own.
        if constexpr (std::same_as<P, ps::OwnLayerParams>)
            return "";
        else
            return P{}.name();
    }
};

TEST_CASE("any layer is one of several parameters with names of their own") {
    CHECK(Alternatives<ps::AnyLayer>::names().size() == std::variant_size_v<ps::AnyLayer>);
}

}  // namespace
