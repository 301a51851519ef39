#include <primsel/core/type_list.hpp>

#include <doctest/doctest.h>

#include <tuple>

namespace type_lists {

namespace {

namespace ps = primsel;

template <class... Ts>
using List = ps::TypeList<Ts...>;

TEST_CASE("with appends, without removes, every occurrence and in any order") {
    CHECK(std::is_same_v<List<int>::with<char, float>, List<int, char, float>>);
    CHECK(std::is_same_v<List<>::with<>, List<>>);
    CHECK(std::is_same_v<List<int, char, int, float>::without<int>, List<char, float>>);
    CHECK(std::is_same_v<List<int, char, float>::without<float, int>, List<char>>);
    CHECK(std::is_same_v<List<int, char>::without<double>, List<int, char>>);
    CHECK(std::is_same_v<List<int, char>::without<>, List<int, char>>);
    CHECK(std::is_same_v<List<>::without<int>, List<>>);
    CHECK(std::is_same_v<List<int, char>::without<char>::with<char>, List<int, char>>);
}

TEST_CASE("size, contains and index_of") {
    using Three = List<int, char, float>;
    CHECK(Three::size == 3);
    CHECK(List<>::size == 0);
    CHECK(Three::contains<char>);
    CHECK_FALSE(Three::contains<const char>);
    CHECK_FALSE(List<>::contains<int>);
    CHECK(Three::index_of<int> == 0);
    CHECK(Three::index_of<float> == 2);
    CHECK(Three::index_of<double> == 3);
    CHECK(List<int, char, int>::index_of<int> == 0);
    CHECK(List<>::index_of<int> == 0);
}

TEST_CASE("apply and concatenate") {
    CHECK(std::is_same_v<List<int, char>::apply<std::tuple>, std::tuple<int, char>>);
    CHECK(std::is_same_v<ps::concatenate<List<int>>, List<int>>);
    CHECK(
        std::is_same_v<ps::concatenate<List<int>, List<>, List<char, float>, List<int>>, List<int, char, float, int>>);
}

}  // namespace

}  // namespace type_lists
