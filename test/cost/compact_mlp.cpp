#include <primsel/cost/compact_mlp.hpp>
#include <primsel/cost/standardizer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace cost_compact_mlp {

namespace ps = primsel;

namespace {

/// Three features, a hidden layer of two, two targets: small enough to follow by hand.
ps::CompactMlp small() {
    return {ps::Standardizer({1, 2, 3}, {2, 1, 0}),
            ps::Standardizer({10, -1}, {1, 4}),
            {{3, {1, 0.5F, 1, -1, 0.25F, 1}, {0.5F, 0}}, {2, {1, 2, -1, 0.5F}, {0, 1}}}};
}
ps::Table row(std::vector<float> values) {
    ps::Table table;
    table.columns = values.size();
    table.values = std::move(values);
    return table;
}

}  // namespace

TEST_CASE("a compact perceptron computes what its layers say") {
    const ps::CompactMlp model = small();
    CHECK(model.features() == 3);
    CHECK(model.targets() == 2);
    // Standardised: 1, -1, 0; hidden: 1 - 0.5 + 0.5 = 1 and -1 - 0.25 -> 0; out: 1 and -1 + 1 = 0.
    ps::Table predicted = model.predict(row({3, 1, 9}));
    CHECK(predicted(0, 0) == doctest::Approx(10 + 1).epsilon(1e-4));
    CHECK(predicted(0, 1) == doctest::Approx(-1).epsilon(1e-4));
    // -1, 2, 0: hidden -1 + 1 + 0.5 = 0.5 and 1 + 0.5 = 1.5; out: 3.5 and -0.5 + 0.75 + 1 = 1.25.
    predicted = model.predict(row({-1, 4, 9}));
    CHECK(predicted(0, 0) == doctest::Approx(13.5).epsilon(1e-4));
    CHECK(predicted(0, 1) == doctest::Approx(4).epsilon(1e-4));
    CHECK(model.predict(ps::Table(0, 3)).rows() == 0);
}

TEST_CASE("a compact perceptron comes back from its text to the bit") {
    const ps::CompactMlp model = small(), again = ps::CompactMlp::parse("text", model.text());
    const ps::Table features = row({0.3F, -4, 1e3F});
    CHECK(again.predict(features).values == model.predict(features).values);
    CHECK(again.text() == model.text());
}

TEST_CASE("a damaged text is refused or is another model, whatever character was changed") {
    const std::string text = small().text();
    for (std::size_t i = 0; i < text.size(); ++i) {
        for (const char other : {'A', '/', '=', ' '}) {
            std::string damaged = text;
            damaged[i] = other;
            try {
                const ps::CompactMlp model = ps::CompactMlp::parse("text", damaged);
                CHECK(model.predict(ps::Table(1, model.features(), 0.0F)).columns == model.targets());
            } catch (ps::error const& error) {
                CHECK(std::string_view(error.what()).starts_with("text: "));
            }
        }
        CHECK_THROWS_AS((void)ps::CompactMlp::parse("text", std::string_view(text).substr(0, i)), ps::error);
    }
}

}  // namespace cost_compact_mlp
