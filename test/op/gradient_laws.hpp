// Shared parts of the tests of a training step's ops: runs in each layout, and plain references in double precision.
#pragma once

#include "../worse.hpp"
#include "laws.hpp"

namespace laws {

/// The inputs and the result of an op: one image a batch entry, in chw order. An input or result of the whole batch is
/// one image.
struct Step {
    std::vector<Images> inputs;
    int batch = 1;
};

inline constexpr float untouched = 12345.0F;

/// The op's result in a layout, brought back to chw, which is one image if it is of the batch.
inline Images run_step(Order const& order, ps::OpEntry const& op, ps::AnyLayer const& layer, ps::Shape output,
                       std::size_t images, Step const& step, bool in_place, ps::Clamp clamp, std::size_t first_image) {
    const Sources sources = sources_of(order, step.inputs);
    std::vector<const float*> src;
    for (std::vector<float> const& source : sources.data) src.push_back(source.data());
    constexpr std::size_t guard = 32;
    const auto once = [&](ps::ExecutorRef executor) {
        std::vector<float> room(guard + output.size() * images + guard, untouched);
        float* dst = room.data() + guard;
        std::vector<const float*> from = src;
        if (in_place) {
            std::ranges::copy(sources.data[0], dst);
            from[0] = dst;
        }
        std::vector<float> scratch;
        if (op.scratch_bytes != nullptr) {
            scratch.assign(op.scratch_bytes(layer, sources.shapes, executor.concurrency()) / sizeof(float),
                           std::nanf(""));
        }
        const ps::OpArgs args{.src = from,
                              .src_shape = sources.shapes,
                              .dst = dst,
                              .dst_shape = output,
                              .batch = step.batch,
                              .first_image = first_image,
                              .clamp = clamp,
                              .scratch = scratch.empty() ? nullptr : scratch.data(),
                              .executor = executor};
        op.run(layer, args);
        const auto is_untouched = [](float x) { return x == untouched; };
        CHECK(std::all_of(room.begin(), room.begin() + guard, is_untouched));
        CHECK(std::all_of(room.end() - guard, room.end(), is_untouched));
        return std::vector<float>(dst, dst + output.size() * images);
    };
    ps::Sequential sequential;
    const std::vector<float> actual = once(sequential);
    for (const std::size_t workers : {2U, 3U}) {
        ps::CallerPool pool(workers, Threads{});
        CHECK(same_bits(actual, once(pool)));
    }
    Images result(images, Image(output));
    const float* from = actual.data();
    for (Image& image : result) {
        double* to = image.data.data();
        for_each_offset(order, output, [&](std::size_t at) { *to++ = static_cast<double>(from[at]); });
        from += output.size();
    }
    return result;
}
template <class L, class Params>
Images run_step(Params const& params, Step const& step, bool in_place = false, ps::Clamp clamp = {},
                std::size_t first_image = 0) {
    std::vector<ps::Shape> shapes;
    for (Images const& input : step.inputs) shapes.push_back(input[0].shape);
    REQUIRE(params.check(shapes) == ps::Fault::none);
    constexpr bool whole = requires { Params::of_batch; };
    return run_step(order_of<L>, entry_of<L>(params), params, params.output(shapes),
                    whole ? 1 : static_cast<std::size_t>(step.batch), step, in_place, clamp, first_image);
}

/// error <= tolerance * scale, where scale is 1 or the largest expected value.
inline void check_images(Images const& actual, Images const& expected, double tolerance) {
    REQUIRE(actual.size() == expected.size());
    double scale = 1, worst = 0;
    for (Image const& image : expected) {
        for (const double value : image.data) scale = std::max(scale, std::abs(value));
    }
    for (std::size_t n = 0; n < actual.size(); ++n) {
        REQUIRE(actual[n].shape == expected[n].shape);
        for (std::size_t i = 0; i < actual[n].data.size(); ++i) {
            const double error = std::abs(actual[n].data[i] - expected[n].data[i]);
            worst = worse(worst, error);
        }
    }
    CHECK(worst <= tolerance * scale);
}

/// The op agrees with what is expected, in every layout.
template <class Params>
void check_step(Params const& params, Step const& step, Images const& expected, double tolerance,
                ps::Clamp clamp = {}) {
    CAPTURE(params.name());
    CAPTURE(ps::to_string(step.inputs[0][0].shape));
    CAPTURE(step.batch);
    for_each_order_of_ops([&]<class L>(L) {
        CAPTURE(L::name);
        check_images(run_step<L>(params, step, false, clamp), expected, tolerance);
        if constexpr (ps::Op<Params>::in_place)
            check_images(run_step<L>(params, step, true, clamp), expected, tolerance);
    });
}

/// dL/dx of a function of a batch for L = sum of dy * function(x), by central differences.
template <class Function>
Images differences(Images x, Images const& dy, Function const& function, double step = 1e-4) {
    const auto loss = [&] {
        const Images y = function(x);
        double sum = 0;
        for (std::size_t n = 0; n < y.size(); ++n) {
            for (std::size_t i = 0; i < y[n].data.size(); ++i) sum += dy[n].data[i] * y[n].data[i];
        }
        return sum;
    };
    Images result = x;
    for (std::size_t n = 0; n < x.size(); ++n) {
        for (std::size_t i = 0; i < x[n].data.size(); ++i) {
            const double kept = x[n].data[i];
            x[n].data[i] = kept + step;
            const double above = loss();
            x[n].data[i] = kept - step;
            result[n].data[i] = (above - loss()) / (2 * step);
            x[n].data[i] = kept;
        }
    }
    return result;
}

/// The same for a function of each element for itself, of all elements at once.
template <class Function>
Images differences_of_elements(Images const& x, Images const& dy, Function const& function, double step) {
    const auto moved = [&](double by) {
        Images images = x;
        for (Image& image : images) {
            for (double& value : image.data) value += by;
        }
        return function(images);
    };
    const Images above = moved(step), below = moved(-step);
    Images result = dy;
    for (std::size_t n = 0; n < dy.size(); ++n) {
        for (std::size_t i = 0; i < dy[n].data.size(); ++i) {
            result[n].data[i] *= (above[n].data[i] - below[n].data[i]) / (2 * step);
        }
    }
    return result;
}

/// The function of each image for itself.
template <class Params>
Images forward(Params const& params, Images const& x) {
    Images result;
    for (Image const& image : x) {
        const ps::Shape shape = image.shape;
        result.push_back(reference::run(params, {image}, ps::OpWeights{}, params.output({&shape, 1})));
    }
    return result;
}

inline Images random_images(Random& random, ps::Shape shape, int count, float range = 2.0F) {
    Images result;
    for (int n = 0; n < count; ++n) result.push_back(random.image(shape, range));
    return result;
}

/// The layer's own result, as its op computes it.
template <class Params>
[[nodiscard]] Images by_op(Params const& params, Images const& x) {
    return run_step<ps::chw>(params, {{x}, static_cast<int>(x.size())});
}

/// dx of a linear layer: the products of dy with its result for each image that has a single pixel of 1.
template <class Params>
[[nodiscard]] Images transposed(Params const& params, ps::Shape input, Images const& dy) {
    Images result;
    for (Image const& gradient : dy) {
        Image of(input);
        for (std::size_t at = 0; at < of.data.size(); ++at) {
            Image one(input);
            one.data[at] = 1;
            const Image y = by_op(params, {one})[0];
            for (std::size_t i = 0; i < y.data.size(); ++i) of.data[at] += y.data[i] * gradient.data[i];
        }
        result.push_back(std::move(of));
    }
    return result;
}

template <class Params>
void check_transposed(Params const& params, ps::Shape input, auto const& gradient) {
    Random random(3);
    CAPTURE(ps::to_string(input));
    const std::vector<ps::Shape> inputs{input};
    REQUIRE(params.check(inputs) == ps::Fault::none);
    const Images dy = random_images(random, params.output(inputs), 3);
    check_images(run_step<ps::chw>(gradient, {{dy}, 3}), transposed(params, input, dy), 2e-6);
}

}  // namespace laws
