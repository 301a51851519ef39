#include "laws.hpp"

#include <primsel/op/matmul.hpp>

namespace {

namespace ps = primsel;

TEST_CASE("matmul agrees with the reference, and one matrix meets all of the other input's") {
    for (const int m : {1, 2, 5, 6, 7, 11, 12, 23}) {
        for (const int n : {1, 3, 16, 31, 32, 33, 48, 64, 70, 150}) {
            for (const int depth : {1, 2, 17, 90}) {
                if (quick() && (m + n + depth) % 3 != 0) continue;
                CAPTURE(n);
                for (const auto& [a, b] : {std::pair{1, 1}, {3, 3}, {1, 3}, {2, 1}}) {
                    laws::check(ps::MatMulParams{}, {{a, m, depth}, {b, depth, n}}, 2e-5);
                }
            }
        }
    }
}

TEST_CASE("matmul with a second matrix whose panels are copied agrees with the reference") {
    for (const auto& [m, channels] : {std::pair{13, 1}, {6, 3}, {18, 2}}) {
        for (const int n : {500, 512}) {
            if (quick() && (n == 512) != (m == 6)) continue;
            CAPTURE(n);
            laws::check(ps::MatMulParams{}, {{channels, m, 1100}, {m == 18 ? channels : 1, 1100, n}}, 2e-4);
        }
    }
    for (const int channels : {1, 2}) laws::check(ps::MatMulParams{}, {{2, 194, 50}, {channels, 50, 256}}, 2e-5);
}

TEST_CASE("matmul of known matrices") {
    laws::Image a({1, 2, 3}), b({1, 3, 2});
    a.data = {1, 2, 3, 4, 5, 6};
    b.data = {7, 8, 9, 10, 11, 12};
    ps::Sequential sequential;
    CHECK(laws::run<ps::chw>(ps::MatMulParams{}, {{a}, {b}}, {}, sequential) == std::vector<float>{58, 64, 139, 154});
}

}  // namespace
