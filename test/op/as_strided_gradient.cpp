#include "gradient_laws.hpp"

#include <primsel/op/as_strided_gradient.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

TEST_CASE("the gradient of elements in another order is its transpose") {
    const ps::Shape in{3, 4, 5};
    for (ps::AsStridedParams const& params :
         {ps::AsStridedParams{{60}, {1}, 0, {3, 4, 5}}, ps::AsStridedParams{{60}, {-1}, 59, {4, 15, 1}},
          ps::AsStridedParams{{3, 2, 2}, {20, 10, 3}, 1, {3, 2, 2}}, ps::AsStridedParams{{2, 7}, {0, 0}, 8, {14, 1, 1}},
          ps::AsStridedParams{{3, 3, 2, 5}, {20, 5, 5, 1}, 0, {9, 2, 5}}, ps::AsStridedParams{{}, {}, 17, {1, 1, 1}}}) {
        laws::check_transposed(params, in, ps::AsStridedGradientParams{params, in});
    }
}

}  // namespace
