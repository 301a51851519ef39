#include <primsel/layer/all.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string_view>

namespace {

namespace ps = primsel;

template <class Variant>
struct Alternatives;
template <class... Params>
struct Alternatives<std::variant<Params...>> {
    static_assert((ps::LayerParams<Params> && ...));
    static std::set<std::string_view> names() { return {Params{}.name()...}; }
};

TEST_CASE("any layer is one of several parameters with names of their own") {
    CHECK(Alternatives<ps::AnyLayer>::names().size() == std::variant_size_v<ps::AnyLayer>);
}

}  // namespace
