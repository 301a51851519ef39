#include <primsel/core/nearest.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ps = primsel;

TEST_CASE("edit_distance: known distances, and the same both ways") {
    const struct {
        const char *a, *b;
        std::size_t distance;
    } known[] = {{"", "", 0},
                 {"", "abc", 3},
                 {"abc", "abc", 0},
                 {"kitten", "sitting", 3},
                 {"flaw", "lawn", 2},
                 {"saturday", "sunday", 3},
                 {"gumbo", "gambol", 2},
                 {"ab", "ba", 2}};
    for (auto const& each : known) {
        CAPTURE(each.a);
        CAPTURE(each.b);
        CHECK(ps::edit_distance(each.a, each.b) == each.distance);
        CHECK(ps::edit_distance(each.b, each.a) == each.distance);
    }
}

TEST_CASE("nearest_of: the nearest name, the first of several, nothing where half of the word would change") {
    const std::vector<std::string> names = {"grid", "random", "bayes"};
    CHECK(ps::nearest_of("bayse", names) == "; did you mean bayes?");
    CHECK(ps::nearest_of("gird", names) == "; did you mean grid?");
    CHECK(ps::nearest_of("xyzw", names).empty());
    CHECK(ps::nearest_of("random", std::vector<std::string>{}).empty());
    CHECK(ps::nearest_of("ac", std::vector<std::string>{"ab", "bc"}) == "; did you mean ab?");
    CHECK(ps::nearest_of(std::string(256, 'a'), std::vector{std::string(256, 'a')}) != "");
    CHECK(ps::nearest_of(std::string(257, 'a'), std::vector{std::string(257, 'a')}).empty());
}
