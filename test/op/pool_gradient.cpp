#include "gradient_laws.hpp"

#include <primsel/op/pool_gradient.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

// From the definition: each window gives its gradient to its first maximum, or to all of its elements.
Images pool_gradient(ps::PoolParams const& p, Images const& x, Images const& dy) {
    Images dx;
    for (std::size_t n = 0; n < x.size(); ++n) {
        const ps::Shape in = x[n].shape;
        Image result(in);
        for (int c = 0; c < in.c; ++c) {
            for (int oh = 0; oh < dy[n].shape.h; ++oh) {
                for (int ow = 0; ow < dy[n].shape.w; ++ow) {
                    int inside = 0, in_padded = 0, best_h = -1, best_w = -1;
                    const auto each = [&](auto const& visit) {
                        for (int i = 0; i < p.window.h; ++i) {
                            for (int j = 0; j < p.window.w; ++j) {
                                const int h = oh * p.stride.h - p.padding.top + i * p.dilation.h,
                                          w = ow * p.stride.w - p.padding.left + j * p.dilation.w;
                                visit(h, w, h >= 0 && w >= 0 && h < in.h && w < in.w);
                            }
                        }
                    };
                    each([&](int h, int w, bool is_inside) {
                        in_padded += h < in.h + p.padding.bottom && w < in.w + p.padding.right;
                        inside += is_inside;
                        if (is_inside && (best_h < 0 || x[n](c, h, w) > x[n](c, best_h, best_w)))
                            best_h = h, best_w = w;
                    });
                    const double gradient = dy[n](c, oh, ow);
                    if (p.kind == ps::PoolKind::max) {
                        if (best_h >= 0) result(c, best_h, best_w) += gradient;  // a window may lie in the padding
                    } else {
                        each([&](int h, int w, bool is_inside) {
                            if (is_inside) result(c, h, w) += gradient / (p.count_include_pad ? in_padded : inside);
                        });
                    }
                }
            }
        }
        dx.push_back(result);
    }
    return dx;
}

ps::PoolGradientParams gradient_of(ps::PoolParams const& pool, ps::Shape shape) { return {pool, shape}; }

laws::Step pool_step(ps::PoolParams const& pool, Images const& x, Images const& dy) {
    if (pool.kind == ps::PoolKind::average) return {{dy}, static_cast<int>(x.size())};
    return {{x, laws::forward(pool, x), dy}, static_cast<int>(x.size())};
}

std::vector<ps::PoolParams> pools() {
    std::vector<ps::PoolParams> result;
    for (const ps::PoolKind kind : {ps::PoolKind::max, ps::PoolKind::average}) {
        result.push_back({.kind = kind});
        result.push_back({.kind = kind, .window = 3, .stride = 2});
        result.push_back({.kind = kind, .window = 3, .stride = 2, .padding = 1});
        result.push_back({.kind = kind, .window = 3, .stride = 1, .padding = 1, .count_include_pad = false});
        result.push_back({.kind = kind, .window = 3, .stride = 2, .padding = {0, 1}, .ceil_mode = true});
        result.push_back({.kind = kind, .window = {2, 5}, .stride = {3, 4}, .padding = {1, 0, 2, 0}});
        result.push_back({.kind = kind, .window = {5, 1}, .stride = {1, 7}});
        result.push_back({.kind = kind, .window = 1, .stride = 100});
        result.push_back({.kind = kind, .window = 7, .stride = 3, .padding = 3, .count_include_pad = false});
        result.push_back({.kind = kind, .window = {2, 3}, .stride = 2, .padding = 1, .dilation = {3, 2}});
        result.push_back({.kind = kind, .window = {3, 2}, .stride = {1, 3}, .dilation = {2, 4}});
    }
    return result;
}

TEST_CASE("the gradient of pooling agrees with its definition") {
    laws::Random random(1);
    std::vector<ps::Shape> shapes = laws::odd_shapes();
    shapes.push_back({1, 3, 2500});
    shapes.push_back({2, 40, 41});
    for (ps::PoolParams const& pool : pools()) {
        for (ps::Shape const& shape : shapes) {
            if (pool.check({&shape, 1}) != ps::Fault::none) continue;
            CAPTURE(pool.window.h);
            CAPTURE(pool.window.w);
            CAPTURE(pool.dilation.w);
            for (const int batch : {1, 2}) {
                Images x = laws::random_images(random, shape, batch);
                // Many equal maxima.
                if (batch == 2) {
                    for (Image& image : x) {
                        for (double& value : image.data) value = std::max(std::floor(value), 0.0);
                    }
                }
                const Images dy = laws::random_images(random, pool.output({&shape, 1}), batch);
                laws::check_step(gradient_of(pool, shape), pool_step(pool, x, dy), pool_gradient(pool, x, dy), 2e-6);
            }
        }
    }
}

TEST_CASE("the gradient of pooling is the slope of the loss") {
    laws::Random random(2);
    const ps::Shape shape{2, 7, 8};
    for (ps::PoolParams const& pool : pools()) {
        if (pool.check({&shape, 1}) != ps::Fault::none) continue;
        const Images x = laws::random_images(random, shape, 1);
        const Images dy = laws::random_images(random, pool.output({&shape, 1}), 1);
        const Images slopes = laws::differences(
            x, dy, [&](Images const& at) { return laws::forward(pool, at); }, 1e-6);
        laws::check_step(gradient_of(pool, shape), pool_step(pool, x, dy), slopes, 1e-6);
    }
}

TEST_CASE("windows wider than what is worked on at once") {
    laws::Random random(3);
    for (const ps::PoolKind kind : {ps::PoolKind::max, ps::PoolKind::average}) {
        const ps::PoolParams pool{.kind = kind, .window = {2, 600}, .stride = {1, 500}};
        const Images x = laws::random_images(random, {2, 3, 1700}, 1);
        const Images dy = laws::random_images(random, pool.output({&x[0].shape, 1}), 1);
        laws::check_step(gradient_of(pool, x[0].shape), pool_step(pool, x, dy), pool_gradient(pool, x, dy), 2e-6);
    }
}

TEST_CASE("the gradient of pooling over whole images") {
    laws::Random random(4);
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const int batch : {1, 3}) {
            Images x = laws::random_images(random, shape, batch);
            if (batch == 3) {
                for (Image& image : x) {
                    for (double& value : image.data) value = std::floor(value);
                }
            }
            const Images dy = laws::random_images(random, {shape.c, 1, 1}, batch);
            for (const ps::PoolKind kind : {ps::PoolKind::max, ps::PoolKind::average}) {
                const ps::PoolParams whole{.kind = kind, .window = {shape.h, shape.w}};
                laws::check_step(ps::GlobalPoolGradientParams{kind, shape}, pool_step(whole, x, dy),
                                 pool_gradient(whole, x, dy), 1e-6);
            }
        }
    }
}

}  // namespace
