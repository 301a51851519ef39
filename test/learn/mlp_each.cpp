// Laws of perceptrons for each target, and of those that see some features.
#include <primsel/learn/mlp_each.hpp>

#include "two_targets.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace ps = primsel;

namespace {

using two_targets::TwoTargets;

}  // namespace

TEST_CASE("a perceptron of the first features does not see the others; one for each target is those of each target") {
    const TwoTargets train(300, 6), validation(60, 7), test(50, 8, false);
    ps::learn::MlpOptions options;
    options.features = 2;
    options.hidden = {8};
    options.learning_rate = 1e-2;
    options.most_epochs = 20;
    ps::FloatTable elsewhere = test.features;
    for (std::size_t row = 0; row < elsewhere.rows(); ++row)
        elsewhere(row, 2) += 5, elsewhere(row, 3) = machines::missing;
    const auto fit = [&]<class Net>(ps::ExecutorRef executor, ps::FloatTable const& y, ps::FloatTable const& vy) {
        return Net::fit(train.features, y, validation.features, vy, options, executor);
    };
    ps::Sequential alone;
    const auto one = fit.operator()<ps::learn::Mlp>(alone, train.targets, validation.targets);
    CHECK(one.predict(elsewhere).values == one.predict(test.features).values);
    const auto each = fit.operator()<ps::learn::MlpEach>(alone, train.targets, validation.targets);
    const ps::FloatTable predicted = each.predict(test.features);
    CHECK(each.predict(elsewhere).values == predicted.values);
    for (const std::size_t target : {0U, 1U}) {
        std::vector<std::size_t> rows, validation_rows;
        const auto column = [target](ps::FloatTable const& all, std::vector<std::size_t>& kept) {
            ps::FloatTable values;
            values.columns = 1;
            for (std::size_t row = 0; row < all.rows(); ++row) {
                if (std::isnan(all(row, target))) continue;
                kept.push_back(row);
                values.values.push_back(all(row, target));
            }
            return values;
        };
        const ps::FloatTable y = column(train.targets, rows), vy = column(validation.targets, validation_rows);
        const auto single = ps::learn::Mlp::fit(train.features.select(rows), y,
                                                validation.features.select(validation_rows), vy, options, alone);
        const ps::FloatTable alone_predicted = single.predict(test.features);
        for (std::size_t row = 0; row < test.features.rows(); ++row) {
            CHECK(predicted(row, target) == alone_predicted(row, 0));
        }
    }
}
