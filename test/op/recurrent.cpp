// Recurrent layers agree with the reference over kinds, functions, options and odd sizes; a sequence that is given step
// by step has the same bits.
#include "laws.hpp"

#include <primsel/op/recurrent.hpp>

namespace op_recurrent {
namespace {

namespace ps = primsel;
using ps::RecurrentKind;
using ps::RecurrentParams;

constexpr RecurrentKind kinds[] = {RecurrentKind::lstm, RecurrentKind::gru, RecurrentKind::rnn};

/// Sizes of a layer: steps, sequences, hidden units.
struct Sizes {
    int steps, sequences, hidden;
};
/// Random inputs and weights of a layer, one of each further input.
struct Example {
    RecurrentParams params;
    Sizes sizes;
    std::size_t images = 1;
    std::vector<laws::Images> inputs{};
    std::vector<float> kernel{}, bias{};

    Example(RecurrentParams of, Sizes with, std::size_t batch = 1) : params(of), sizes(with), images(batch) {
        laws::Random random(static_cast<unsigned>(with.steps * 100 + with.sequences * 10 + with.hidden));
        const int n = with.hidden, width = params.gates() * n;
        add(random, {with.steps, with.sequences, width});
        if (params.starts_h) add(random, {1, with.sequences, n});
        if (params.starts_cell) add(random, {1, with.sequences, n});
        if (params.has_lengths) {
            add(random, {with.sequences, 1, 1});
            int next = 0;  // 0 and all steps are among them
            for (laws::Image& image : inputs.back()) {
                for (double& length : image.data) length = next++ % (with.steps + 2);
            }
        }
        if (params.has_peepholes) add(random, {1, 1, 3 * n});
        kernel = random.floats(static_cast<std::size_t>(width * n), 1.5F / std::sqrt(static_cast<float>(n)));
        if (params.bias) bias = random.floats(static_cast<std::size_t>(width), 0.5F);
    }
    [[nodiscard]] ps::OpWeights weights() const { return {.kernel = kernel, .bias = bias}; }
    void check(double tolerance = 2e-5) const {
        CAPTURE(sizes.steps);
        CAPTURE(sizes.sequences);
        CAPTURE(sizes.hidden);
        laws::check(params, inputs, weights(), tolerance);
    }

private:
    void add(laws::Random& random, ps::Shape shape) {
        inputs.emplace_back();
        for (std::size_t i = 0; i < images; ++i) inputs.back().push_back(random.image(shape, 1.0F));
    }
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
        last.gives_all = false, last.gives_last = true, last.has_lengths = true;
        if (kind == RecurrentKind::lstm) last.couples_gates = last.starts_cell = true;
        if (kind == RecurrentKind::gru) last.resets_product = last.reverse = true;
        all.push_back(last);
    }
    return all;
}

TEST_CASE("recurrent layers agree with the reference") {
    const std::vector<Sizes> sizes = quick() ? std::vector<Sizes>{{1, 1, 1}, {4, 3, 19}, {3, 14, 33}}
                                             : std::vector<Sizes>{{1, 1, 1},  {5, 1, 7},   {4, 3, 19}, {3, 14, 33},
                                                                  {7, 2, 16}, {2, 25, 40}, {3, 1, 129}};
    for (RecurrentParams const& params : variants()) {
        for (Sizes const& each : sizes) {
            for (const std::size_t batch : laws::batches(3)) Example(params, each, batch).check();
        }
    }
}

TEST_CASE("recurrent layers whose weights several threads read agree with the reference") {
    // More weights than a block of a sum has, of one sequence and of several.
    for (const RecurrentKind kind : kinds) {
        RecurrentParams params{.kind = kind};
        if (quick() && kind != RecurrentKind::gru) continue;
        Example(params, {2, 1, 530}).check(1e-4);
        Example(params, {2, 5, 530}).check(1e-4);
    }
}

TEST_CASE("every function of a gate") {
    for (int i = 0; i <= static_cast<int>(ps::GateFunction::softplus); ++i) {
        const auto function = static_cast<ps::GateFunction>(i);
        CAPTURE(i);
        // Bounded, so that no cell grows from step to step.
        const std::array<float, 3> alpha{0.6F, 0.7F, 0.8F}, beta{0.3F, 0.2F, 0.1F};
        for (const RecurrentKind kind : kinds) {
            RecurrentParams params{.kind = kind, .f = function, .alpha = alpha, .beta = beta, .clip = 0.9F};
            Example(params, {3, 2, 21}).check();
            if (kind == RecurrentKind::rnn) continue;
            params = {.kind = kind, .g = function, .h = function, .alpha = alpha, .beta = beta};
            Example(params, {3, 2, 21}).check();
        }
    }
}

/// Channels first .. last - 1 of an input or a result of one image.
std::vector<float> channels(std::vector<float> const& image, ps::Shape shape, int first, int last) {
    const auto at = [&](int c) { return image.begin() + static_cast<std::ptrdiff_t>(c) * shape.h * shape.w; };
    return {at(first), at(last)};
}
laws::Images image_of(ps::Shape shape, std::vector<float> const& values) {
    laws::Image image(shape);
    std::ranges::copy(values, image.data.begin());
    return {image};
}

TEST_CASE("a sequence step by step has the bits of the whole") {
    ps::Sequential sequential;
    for (const RecurrentKind kind : kinds) {
        for (const Sizes sizes : {Sizes{6, 1, 37}, Sizes{5, 2, 130}, Sizes{4, 13, 48}}) {
            const bool is_lstm = kind == RecurrentKind::lstm;
            RecurrentParams params{.kind = kind};
            params.resets_product = kind == RecurrentKind::gru && sizes.hidden == 37;
            params.starts_h = params.gives_last = true;
            params.starts_cell = params.gives_cell = is_lstm;
            const Example whole(params, sizes);
            const auto result = laws::run<ps::chw>(params, whole.inputs, whole.weights(), sequential);
            const ps::Shape in = whole.inputs[0][0].shape, of_step{1, in.h, in.w},
                            state{1, sizes.sequences, sizes.hidden};
            const std::vector<float> x = laws::lay_out<ps::chw>(whole.inputs[0]);
            std::vector<laws::Images> inputs = whole.inputs;
            std::vector<float> all;
            for (int step = 0; step < sizes.steps; ++step) {
                inputs[0] = image_of(of_step, channels(x, in, step, step + 1));
                const auto one = laws::run<ps::chw>(params, inputs, whole.weights(), sequential);
                const std::vector<float> y = channels(one, state, 0, 1);
                all.insert(all.end(), y.begin(), y.end());
                for (std::size_t i = 1; i < inputs.size(); ++i)
                    inputs[i] = image_of(state, channels(one, state, static_cast<int>(i), static_cast<int>(i) + 1));
                if (step + 1 == sizes.steps)
                    all.insert(all.end(), one.begin() + static_cast<std::ptrdiff_t>(y.size()), one.end());
            }
            CHECK(laws::same_bits(all, result));
        }
    }
}

TEST_CASE("a sequence alone has the bits that it has among others") {
    ps::Sequential sequential;
    for (const RecurrentKind kind : kinds) {
        for (const int hidden : {1, 5, 20, 37, 40, 64, 100}) {
            constexpr std::size_t steps = 3, sequences = 3;
            CAPTURE(hidden);
            const RecurrentParams params{.kind = kind, .resets_product = kind == RecurrentKind::gru && hidden % 2 == 0};
            const Example all(params, {steps, sequences, hidden});
            const auto result = laws::run<ps::chw>(params, all.inputs, all.weights(), sequential);
            const std::vector<float> x = laws::lay_out<ps::chw>(all.inputs[0]);
            const std::size_t width = x.size() / (steps * sequences), n = static_cast<std::size_t>(hidden);
            for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
                std::vector<float> own, expected;
                for (std::size_t row = sequence; row < steps * sequences; row += sequences) {
                    own.insert(own.end(), x.data() + row * width, x.data() + (row + 1) * width);
                    expected.insert(expected.end(), result.data() + row * n, result.data() + (row + 1) * n);
                }
                const std::vector<laws::Images> alone{image_of({steps, 1, static_cast<int>(width)}, own)};
                CHECK(laws::same_bits(laws::run<ps::chw>(params, alone, all.weights(), sequential), expected));
            }
        }
    }
}

TEST_CASE("lengths that are no number of steps are held, and NaN is none") {
    ps::Sequential sequential;
    RecurrentParams params{.kind = RecurrentKind::rnn, .has_lengths = true};
    Example example(params, {3, 4, 5});
    example.inputs[1] = image_of({4, 1, 1}, {-2.0F, std::nanf(""), 1e30F, 1.75F});
    const auto held = laws::run<ps::chw>(params, example.inputs, example.weights(), sequential);
    example.inputs[1] = image_of({4, 1, 1}, {0, 0, 3, 1});
    CHECK(laws::same_bits(held, laws::run<ps::chw>(params, example.inputs, example.weights(), sequential)));
}

}  // namespace
}  // namespace op_recurrent
