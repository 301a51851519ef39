// Links units that both include primsel, compiled for the same instruction set or for two: `main same` says that they
// must share primsel's symbols, `main different` that they must not.
#include "answer.hpp"

#include <primsel/primsel.hpp>

#include <cstdio>
#include <cstring>

int main(int count, char** arguments) {
    const bool same = count == 2 && std::strcmp(arguments[1], "same") == 0;
    const Answer a = answer_of_a(), b = answer_of_b();
    std::printf("a: %s\nb: %s\n", a.symbol.c_str(), b.symbol.c_str());
    if (a.values.empty() || a.values != b.values) {
        std::puts("the units compute different values");
        return 1;
    }
    if ((a.symbol == b.symbol) != same) {
        std::puts(same ? "the units should share their symbols" : "the units should not share their symbols");
        return 1;
    }
    return 0;
}
