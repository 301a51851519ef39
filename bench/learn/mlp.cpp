// bench_learn_mlp: the milliseconds of an epoch of NN2 (Mulder et al. 2020), by the rows that it is trained with: the
// shares of the training rows of figure 9 and all of them. A tenth as many rows decide when to stop.
#include <primsel/core/timer.hpp>
#include <primsel/learn/mlp.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

namespace ps = primsel;

int main() {
    constexpr std::size_t features = 5, targets = 78;
    std::mt19937 generator(1);
    const auto table = [&](std::size_t rows, std::size_t columns) {
        ps::FloatTable result(rows, columns);
        for (float& value : result.values) value = static_cast<float>(generator() % 1000) / 100.0F;
        return result;
    };
    ps::Sequential executor;
    std::printf("  rows  ms an epoch\n");
    for (const std::size_t rows : {4U, 37U, 93U, 187U, 373U, 933U, 3732U}) {
        const ps::FloatTable x = table(rows, features), y = table(rows, targets), vx = table(rows / 8 + 1, features),
                             vy = table(rows / 8 + 1, targets);
        ps::learn::MlpOptions options;
        options.most_epochs = options.patience = std::max<std::size_t>(4000 / rows, 10);
        options.most_epochs = std::min<std::size_t>(options.most_epochs, 100);
        double best = 1e9;
        for (int i = 0; i < 3; ++i) {
            const ps::Timer timer;
            (void)ps::learn::Mlp::fit(x, y, vx, vy, options, executor);
            best = std::min(best, 1e3 * timer.seconds() / static_cast<double>(options.most_epochs));
        }
        std::printf("%6zu %12.2f\n", rows, best);
    }
}
