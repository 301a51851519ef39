#include <primsel/core/visit.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <variant>

namespace visit_of_variants {
namespace {

using namespace primsel;

template <std::size_t I>
struct Kind {
    std::size_t value = I;
};
template <class Indices>
struct KindsOf;
template <std::size_t... I>
struct KindsOf<std::index_sequence<I...>> {
    using Variant = std::variant<Kind<I>...>;
};
template <std::size_t Count>
using Kinds = typename KindsOf<std::make_index_sequence<Count>>::Variant;

struct Copied {
    Copied() = default;
    Copied(Copied const& /*other*/) { throw 1; }
    Copied& operator=(Copied const&) = default;
};

template <std::size_t Count, std::size_t... I>
constexpr bool each_is_found(std::index_sequence<I...> /*all*/) {
    constexpr auto value_of = [](auto const& kind) { return kind.value; };
    return ((core::visit(value_of, Kinds<Count>(Kind<I>{})) == I) && ...);
}
template <std::size_t... Counts>
constexpr bool each_of_counts_is_found(std::index_sequence<Counts...> /*all*/) {
    return (each_is_found<Counts + 1>(std::make_index_sequence<Counts + 1>{}) && ...);
}
static_assert(each_of_counts_is_found(std::make_index_sequence<20>{}));

TEST_CASE("visit changes what the variant holds, and returns references") {
    Kinds<11> kinds(Kind<9>{});
    core::visit([](auto& kind) -> std::size_t& { return kind.value; }, kinds) = 5;
    CHECK_EQ(std::get<9>(kinds).value, 5);
}

TEST_CASE("visit of a variant that holds nothing throws as std::visit does") {
    std::variant<int, Copied> variant;
    const Copied copied;
    CHECK_THROWS_AS(variant.emplace<Copied>(copied), int);
    REQUIRE(variant.valueless_by_exception());
    CHECK_THROWS_AS(core::visit([](auto const& /*held*/) {}, variant), std::bad_variant_access);
}

}  // namespace
}  // namespace visit_of_variants
