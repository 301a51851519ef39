#include "../tensor/chw8c.hpp"
#include "../worse.hpp"
#include "laws.hpp"

#include <primsel/op/epilogue.hpp>

namespace {

namespace ps = primsel;

template <class L>
void check(ps::Shape shape, std::size_t batch, bool has_bias, bool has_residual, ps::Clamp summand, ps::Clamp clamp) {
    laws::Random random(11);
    laws::Images images, residuals;
    for (std::size_t n = 0; n < batch; ++n) {
        images.push_back(random.image(shape));
        residuals.push_back(random.image(shape));
    }
    const std::vector<float> bias = random.floats(static_cast<std::size_t>(shape.c)),
                             residual = laws::lay_out<L>(residuals);
    const auto run = [&](ps::ExecutorRef executor) {
        std::vector<float> data = laws::lay_out<L>(images);
        ps::apply_epilogue<ps::default_arch, L>(shape, static_cast<int>(batch), data.data(),
                                                has_bias ? bias.data() : nullptr,
                                                has_residual ? residual.data() : nullptr, summand, clamp, executor);
        return data;
    };
    ps::Sequential sequential;
    ps::CallerPool pool(3, laws::Threads{});
    const std::vector<float> actual = run(sequential);
    CHECK(laws::same_bits(actual, run(pool)));
    double worst = 0;
    for (std::size_t n = 0; n < batch; ++n) {
        for (int c = 0; c < shape.c; ++c) {
            for (int h = 0; h < shape.h; ++h) {
                for (int w = 0; w < shape.w; ++w) {
                    double want = images[n](c, h, w);
                    if (has_bias) want += bias[static_cast<std::size_t>(c)];
                    if (has_residual) want = reference::held(want, summand) + residuals[n](c, h, w);
                    want = reference::held(want, clamp);
                    const double error = std::abs(actual[n * L::size(shape) + L::offset(shape, {c, h, w})] - want);
                    worst = worse(worst, error);
                }
            }
        }
    }
    CHECK(worst <= 1e-6);
}

TEST_CASE("the epilogue adds bias, bounds a summand, adds the residual, then clamps") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const std::size_t batch : {1U, 3U}) {
            for (const ps::Clamp clamp : {ps::Clamp{}, ps::relu_clamp, ps::Clamp{-0.5F, 0.75F}}) {
                for (int with = 0; with < 4; ++with) {
                    CAPTURE(ps::to_string(shape));
                    CAPTURE(with);
                    const bool bias = (with & 1) != 0, residual = (with & 2) != 0;
                    const ps::Clamp summand = bias ? ps::Clamp{} : ps::Clamp{-0.25F, 0.5F};
                    for_each_order_of_ops([&]<class L>(L) { check<L>(shape, batch, bias, residual, summand, clamp); });
                    check<chw8c>(shape, batch, bias, residual, summand, clamp);
                }
            }
        }
    }
}

}  // namespace
