#include <primsel/core/error.hpp>
#include <primsel/plan/parts_of_batch.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace plan_parts_of_batch_tests {

namespace ps = primsel;

namespace {

ps::Graph network(int batch) {
    ps::Graph graph(batch);
    const std::size_t image = graph.add("image", ps::InputParams{{3, 8, 8}}, {});
    graph.add("stem", ps::ConvParams{.k = 4, .kernel = 3}, {image});
    return graph;
}

TEST_CASE("parts_of_batch: as many equal parts as there are threads for, and one where images depend on each other") {
    const auto parts = [](int batch, std::size_t threads) { return ps::parts_of_batch(network(batch), threads); };
    for (int batch = 1; batch <= 12; ++batch) {
        for (std::size_t threads = 1; threads <= 12; ++threads) {
            const std::size_t found = parts(batch, threads);
            CHECK((found <= threads && static_cast<std::size_t>(batch) % found == 0));
            for (std::size_t more = found + 1; more <= threads; ++more)
                CHECK(static_cast<std::size_t>(batch) % more != 0);
        }
    }
    CHECK_THROWS_WITH_AS(parts(4, 0), doctest::Contains("0 threads"), ps::error);
    ps::Graph trained = network(4);
    trained.set_trainable({"stem.weight"});
    CHECK(ps::parts_of_batch(trained, 4) == 1);
}

}  // namespace

}  // namespace plan_parts_of_batch_tests
