// The gradients of recurrent layers are the slopes of the reference, over kinds, functions, options and odd sizes.
#include "gradient_laws.hpp"

#include <primsel/op/recurrent_gradient.hpp>

#include <limits>

namespace recurrent_gradients {
namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;
using ps::RecurrentKind;
using ps::RecurrentParams;

constexpr RecurrentKind kinds[] = {RecurrentKind::lstm, RecurrentKind::gru, RecurrentKind::rnn};

/// Steps, sequences of an image, hidden units, images.
struct Sizes {
    int steps, sequences, hidden, images;
};

/// Inputs of a layer, among them its weights, and dy.
struct Example {
    RecurrentParams params;
    std::vector<Images> inputs{};
    Images dy{};
    std::size_t weights = 0;
    int images = 1;

    Example(RecurrentParams of, Sizes sizes) : params(of), images(sizes.images) {
        params.reads_weights = true;
        laws::Random random(static_cast<unsigned>(sizes.steps * 100 + sizes.sequences * 10 + sizes.hidden));
        const int n = sizes.hidden, width = params.gates() * n;
        const auto add = [&](ps::Shape shape, int count, float range) {
            inputs.push_back(laws::random_images(random, shape, count, range));
        };
        add({sizes.steps, sizes.sequences, width}, images, 1.0F);
        if (params.starts_h) add({1, sizes.sequences, n}, images, 1.0F);
        if (params.starts_cell) add({1, sizes.sequences, n}, images, 1.0F);
        if (params.has_lengths) {
            add({sizes.sequences, 1, 1}, images, 1.0F);
            int next = 0;  // 0 and all steps are among them
            for (Image& image : inputs.back()) {
                for (double& length : image.data) length = next++ % (sizes.steps + 2);
            }
        }
        if (params.has_peepholes) add({1, 1, 3 * n}, images, 1.0F);
        weights = inputs.size();
        add({width * n, 1, 1}, 1, 1.5F / std::sqrt(static_cast<float>(n)));
        if (params.bias) add({width, 1, 1}, 1, 0.5F);
        std::vector<ps::Shape> shapes;
        for (Images const& input : inputs) shapes.push_back(input[0].shape);
        dy = laws::random_images(random, params.output(shapes), images, 1.0F);
    }
    /// The slope of the sum of dy * result with respect to an input; an input of the batch has one image.
    [[nodiscard]] Images slopes(std::size_t input) const {
        return laws::differences(
            inputs[input], dy,
            [&](Images const& changed) {
                Images results;
                for (std::size_t n = 0; n < dy.size(); ++n) {
                    Images of;
                    for (std::size_t i = 0; i < inputs.size(); ++i) {
                        Images const& from = i == input ? changed : inputs[i];
                        of.push_back(from[i < weights ? n : 0]);
                    }
                    results.push_back(reference::run(params, of, ps::OpWeights{}, dy[0].shape));
                }
                return results;
            },
            1e-6);
    }
    [[nodiscard]] Images gradients() const {
        std::vector<Images> all = inputs;
        all.push_back(dy);
        return laws::run_step<ps::chw>(ps::RecurrentGradientParams{params}, {all, images});
    }
    void check() const {
        const ps::Shape x = inputs[0][0].shape;
        const int n = params.hidden(x);
        const Images rows = gradients();
        const ps::Shape row = rows[0].shape;
        const auto part = [&](ps::Shape shape, int channel, int column) {
            Images result;
            for (Image const& image : rows) {
                result.push_back(
                    reference::build(shape, [&](int c, int h, int w) { return image(channel + c, h, column + w); }));
            }
            return result;
        };
        laws::check_images(part(x, 0, 0), slopes(0), tolerance);
        std::size_t input = 1;
        const ps::Shape state{1, x.h, n};
        if (params.starts_h) laws::check_images(part(state, x.c, 0), slopes(input++), tolerance);
        if (params.starts_cell) laws::check_images(part(state, x.c, n), slopes(input++), tolerance);
        if (params.has_lengths) ++input;
        if (params.has_peepholes) {
            Images sums(rows.size(), Image({1, 1, 3 * n}));
            for (std::size_t image = 0; image < rows.size(); ++image) {
                for (int s = 0; s < x.h; ++s) {
                    for (int i = 0; i < 3 * n; ++i) sums[image](0, 0, i) += rows[image](x.c, s, 2 * n + i);
                }
            }
            laws::check_images(sums, slopes(input), tolerance);
        }
        const bool is_gru = params.kind == RecurrentKind::gru;
        Images kernel{Image({x.w * n, 1, 1})}, bias{Image({x.w, 1, 1})};
        for (Image const& image : rows) {
            for (int step = 0; step < x.c; ++step) {
                for (int s = 0; s < x.h; ++s) {
                    for (int gate = 0; gate < x.w; ++gate) {
                        const bool last = is_gru && gate >= 2 * n, resets_state = last && !params.resets_product;
                        const double d = image(step, s, last && params.resets_product ? gate + n : gate);
                        bias[0].data[static_cast<std::size_t>(gate)] += d;
                        for (int i = 0; i < n; ++i) {
                            const double state_before = image(step, s, (resets_state ? x.w : row.w - n) + i);
                            kernel[0].data[static_cast<std::size_t>(gate * n + i)] += d * state_before;
                        }
                    }
                }
            }
        }
        laws::check_images(kernel, slopes(weights), tolerance);
        if (params.bias) laws::check_images(bias, slopes(weights + 1), tolerance);
    }

private:
    static constexpr double tolerance = 2e-5;
};

std::vector<RecurrentParams> variants() {
    std::vector<RecurrentParams> all;
    for (const RecurrentKind kind : kinds) {
        RecurrentParams plain{.kind = kind};
        if (kind == RecurrentKind::rnn) plain.f = ps::GateFunction::tanh;
        all.push_back(plain);
        RecurrentParams other = plain;
        other.reverse = other.gives_last = other.starts_h = other.has_lengths = true;
        other.bias = false;
        other.clip = 0.4F;
        if (kind == RecurrentKind::lstm) other.starts_cell = other.gives_cell = other.has_peepholes = true;
        if (kind == RecurrentKind::gru) other.resets_product = true;
        all.push_back(other);
        RecurrentParams last = plain;
        last.gives_all = false, last.gives_last = last.has_lengths = last.starts_h = true;
        if (kind == RecurrentKind::lstm) last.couples_gates = last.starts_cell = true;
        if (kind == RecurrentKind::gru) last.reverse = true;
        all.push_back(last);
    }
    return all;
}

}  // namespace

TEST_CASE("the gradients of recurrent layers are the slopes of the reference") {
    for (RecurrentParams const& params : variants()) {
        CAPTURE(params.name());
        Example(params, {1, 1, 1, 1}).check();
        Example(params, {4, 3, 2, 2}).check();
        Example(params, {3, 1, 5, 1}).check();
        // More sequences than meet the weights at a time, and more units than a vector has.
        Example(params, {2, 10, 1, 2}).check();
        if (!quick()) Example(params, {2, 1, 17, 1}).check();
    }
}

TEST_CASE("every function of a gate has its slope") {
    for (int i = 0; i <= static_cast<int>(ps::GateFunction::softplus); ++i) {
        const auto function = static_cast<ps::GateFunction>(i);
        CAPTURE(i);
        const std::array<float, 3> alpha{0.6F, 0.7F, 0.8F}, beta{0.3F, 0.2F, 0.1F};
        for (const RecurrentKind kind : kinds) {
            RecurrentParams params{.kind = kind, .f = function, .alpha = alpha, .beta = beta, .clip = 0.9F};
            Example(params, {3, 2, 3, 1}).check();
            if (kind == RecurrentKind::rnn) continue;
            params = {.kind = kind, .g = function, .h = function, .alpha = alpha, .beta = beta};
            Example(params, {3, 2, 3, 1}).check();
        }
    }
}

}  // namespace recurrent_gradients
