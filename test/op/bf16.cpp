#include <primsel/op/all.hpp>
#include <primsel/op/bf16.hpp>
#include <primsel/tensor/transform.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace ps = primsel;

namespace bf16_ops {

/// Results of one op in hwc of floats and in hwc_bf16, for inputs that bfloat16 has.
struct Results {
    std::vector<float> floats, narrow;
    bool zeros = true;  ///< behind the channels
};

template <class Params>
Results results_of(Params const& params, std::vector<ps::Shape> const& shapes, int batch, ps::Clamp clamp = {},
                   float odd_one = 0.0F) {
    ps::Sequential here;
    const auto images = static_cast<std::size_t>(batch);
    const ps::Shape out = params.output(shapes);
    std::vector<std::vector<float>> floats, narrow;
    for (ps::Shape const& shape : shapes) {
        std::vector<float>& values = floats.emplace_back(images * shape.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>((i * 37 + floats.size() * 11) % 61) / 4 - 7.0F;
        }
        if (odd_one != 0.0F) values[values.size() / 2] = odd_one;
        std::vector<float>& stored = narrow.emplace_back(images * ps::hwc_bf16::size(shape) / 2);
        for (std::size_t i = 0; i < images; ++i) {
            ps::transform<ps::hwc, ps::hwc_bf16>(shape, values.data() + i * shape.size(),
                                                 stored.data() + i * ps::hwc_bf16::size(shape) / 2, here);
        }
    }
    const auto pointers = [](std::vector<std::vector<float>> const& of) {
        std::vector<const float*> all;
        for (auto const& values : of) all.push_back(values.data());
        return all;
    };
    const std::vector<const float*> floats_of = pointers(floats), narrow_of = pointers(narrow);
    Results results{std::vector<float>(images * out.size()), std::vector<float>(images * out.size())};
    std::vector<float> stored(images * ps::hwc_bf16::size(out) / 2, std::numeric_limits<float>::quiet_NaN());
    ps::Op<Params>::template run<ps::default_arch, ps::hwc>(params, {.src = floats_of,
                                                                     .src_shape = shapes,
                                                                     .dst = results.floats.data(),
                                                                     .dst_shape = out,
                                                                     .batch = batch,
                                                                     .clamp = clamp,
                                                                     .executor = here});
    ps::OpIn<Params, ps::hwc_bf16>::template run<ps::default_arch>(params, {.src = narrow_of,
                                                                            .src_shape = shapes,
                                                                            .dst = stored.data(),
                                                                            .dst_shape = out,
                                                                            .batch = batch,
                                                                            .clamp = clamp,
                                                                            .executor = here});
    for (std::size_t i = 0; i < images; ++i) {
        ps::transform<ps::hwc_bf16, ps::hwc>(out, stored.data() + i * ps::hwc_bf16::size(out) / 2,
                                             results.narrow.data() + i * out.size(), here);
    }
    const auto* const elements = reinterpret_cast<const ps::bfloat16*>(stored.data());
    const std::size_t pixel = ps::hwc_bf16::pixel(out.c), channels = static_cast<std::size_t>(out.c);
    for (std::size_t at = 0; at < stored.size() * 2; ++at) {
        if (at % pixel >= channels && elements[at].bits != 0) results.zeros = false;
    }
    return results;
}

/// The result in bfloat16 is that of floats, rounded; sums may differ by their order.
void check(Results const& results) {
    CHECK(results.zeros);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < results.floats.size(); ++i) {
        const float exact = results.floats[i], here = results.narrow[i];
        if (std::isnan(exact) || std::isinf(exact)) {
            wrong += (std::isnan(exact) ? std::isnan(here) : here == exact) ? 0U : 1U;
        } else {
            wrong += std::abs(here - exact) <= std::abs(exact) * 0x1p-8F + 1e-5F ? 0U : 1U;
        }
    }
    CHECK(wrong == 0);
}

const ps::Shape shapes[] = {{1, 1, 1}, {3, 5, 7}, {16, 4, 6}, {17, 3, 9}, {40, 7, 5}, {64, 2, 3}, {70, 6, 6}};

TEST_CASE("pools in bfloat16 are pools of floats, rounded once") {
    for (ps::Shape const& shape : shapes) {
        for (const ps::PoolKind kind : {ps::PoolKind::max, ps::PoolKind::average}) {
            for (const int batch : {1, 2}) {
                CAPTURE(to_string(shape));
                for (const bool counts : {false, true}) {
                    std::vector<ps::PoolParams> pools(4, ps::PoolParams{.kind = kind, .count_include_pad = counts});
                    pools[0].window = pools[0].stride = ps::Extent{1};
                    pools[1].window = ps::Extent{3}, pools[1].padding = {1, 1, 1, 1}, pools[1].ceil_mode = true;
                    pools[2].window = ps::Extent{2, 3}, pools[2].stride = ps::Extent{1},
                    pools[2].padding = {1, 0, 2, 1};
                    pools[3].window = ps::Extent{3}, pools[3].padding = {1, 1, 1, 1}, pools[3].dilation = ps::Extent{2};
                    for (ps::PoolParams const& pool : pools) {
                        const std::vector<ps::Shape> inputs{shape};
                        if (pool.check(inputs) != ps::Fault::none) continue;
                        check(results_of(pool, inputs, batch));
                        check(results_of(pool, inputs, batch, {}, std::numeric_limits<float>::quiet_NaN()));
                        check(results_of(pool, inputs, batch, {}, -std::numeric_limits<float>::infinity()));
                    }
                }
                check(results_of(ps::GlobalPoolParams{kind}, {shape}, batch));
            }
        }
    }
}

TEST_CASE("sums, concatenations and activations in bfloat16 are those of floats, rounded once") {
    for (ps::Shape const& shape : shapes) {
        for (const int batch : {1, 3}) {
            CAPTURE(to_string(shape));
            check(results_of(ps::AddParams{}, {shape, shape}, batch));
            check(results_of(ps::AddParams{}, {shape, shape, shape}, batch, {.low = 1.0F, .high = 5.0F}));
            for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
                ps::Shape other = shape;
                extent(other, axis) += 2;
                check(results_of(ps::ConcatParams{axis}, {shape, other, shape}, batch));
            }
            for (const ps::ActivationKind kind :
                 {ps::ActivationKind::relu, ps::ActivationKind::sigmoid, ps::ActivationKind::hard_swish,
                  ps::ActivationKind::silu, ps::ActivationKind::leaky_relu, ps::ActivationKind::exp}) {
                check(results_of(ps::ActivationParams{.kind = kind, .alpha = 0.1F}, {shape}, batch));
            }
        }
    }
}

}  // namespace bf16_ops
