// Links units that both run a network, compiled for the same instruction set or for two: `main same` says that they
// must share primsel's symbols, `main different` that they must not.
#include "answer.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

/// The largest difference of a score, relative to the root mean square of a's scores; 1 if the counts differ.
float difference(Answer const& a, Answer const& b) {
    if (a.scores.empty() || a.scores.size() != b.scores.size()) return 1.0F;
    float largest = 0.0F, squares = 0.0F;
    for (std::size_t i = 0; i < a.scores.size(); ++i) {
        largest = std::fmax(largest, std::fabs(a.scores[i] - b.scores[i]));
        squares += a.scores[i] * a.scores[i];
    }
    return squares > 0.0F ? largest / std::sqrt(squares / static_cast<float>(a.scores.size())) : 1.0F;
}

}  // namespace

int main(int count, char** arguments) {
    const bool same = count == 2 && std::strcmp(arguments[1], "same") == 0;
    const Answer a = answer_of_a(), b = answer_of_b();
    const float off = difference(a, b);
    std::printf("a: %s\nb: %s\ndifference: %g\n", a.symbol.c_str(), b.symbol.c_str(), static_cast<double>(off));
    if (!(off < 1e-4F)) {
        std::puts("the units compute different scores");
        return 1;
    }
    if ((a.symbol == b.symbol) != same) {
        std::puts(same ? "the units should share their symbols" : "the units should not share their symbols");
        return 1;
    }
    return 0;
}
