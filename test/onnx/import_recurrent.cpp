// LSTM, GRU and RNN: what they compute by the standard's words, drawn options and dimensions, and refusals.
#include "imported.hpp"

#include <primsel/layer/recurrent.hpp>
#include <primsel/onnx/export.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace import_recurrent {
namespace {

using namespace imported;
using Attributes = std::vector<onnx::NewAttribute>;
using Doubles = std::vector<double>;
using Texts = std::vector<std::string_view>;

onnx::NewAttribute whole(std::string_view name, std::int64_t value) { return {name, value}; }

/// The results of a graph of several inputs, in double precision; they come by the names of the inputs.
std::vector<Doubles> results(ps::OnnxModel const& model, std::map<std::string, std::vector<float>> const& values) {
    const ps::Graph graph = ps::simplify(model.graph);
    std::vector<Doubles> all(graph.outputs().size());
    for (std::size_t n = 0; n < static_cast<std::size_t>(graph.batch()); ++n) {
        reference::Images done;
        std::size_t place = 0;
        for (std::size_t i = 0; i < graph.size(); ++i) {
            ps::Node const& node = graph[i];
            reference::Images inputs;
            for (const std::size_t input : node.inputs) inputs.push_back(done[input]);
            done.push_back(evaluate::layer(node, inputs, model.weights));
            if (!std::holds_alternative<ps::InputParams>(node.layer)) continue;
            std::vector<float> const& value = values.at(model.inputs[place++].name);
            for (std::size_t j = 0; j < node.shape.size(); ++j)
                done.back().data[j] = static_cast<double>(value[n * node.shape.size() + j]);
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            Doubles const& data = done[graph.outputs()[i]].data;
            all[i].insert(all[i].end(), data.begin(), data.end());
        }
    }
    return all;
}

/// A node of one of the three operators, drawn, and what it computes.
class Case {
public:
    explicit Case(unsigned seed) : bits_(seed) {
        const int kind = pick(0, 2);
        op = kind == 0 ? "LSTM" : kind == 1 ? "GRU" : "RNN";
        gates_ = kind == 0 ? 4 : kind == 1 ? 3 : 1;
        functions_ = kind == 0 ? 3 : kind == 1 ? 2 : 1;
        directions_ = pick(1, 2), steps_ = pick(1, 5), count_ = pick(1, 3), inputs_ = pick(1, 4), hidden_ = pick(1, 4);
        images_first_ = pick(0, 2) == 0;
        is_reverse_ = directions_ == 1 && pick(0, 1) == 1;
        if (directions_ == 2 || is_reverse_)
            attributes.push_back({"direction", std::string_view(is_reverse_ ? "reverse" : "bidirectional")});
        if (pick(0, 1) == 1) attributes.push_back(whole("hidden_size", hidden_));
        if (images_first_ || pick(0, 2) == 0) attributes.push_back(whole("layout", images_first_ ? 1 : 0));
        if (pick(0, 2) == 0) attributes.push_back({"clip", clip_ = 0.5F});
        if (kind == 0 && pick(0, 2) == 0) attributes.push_back(whole("input_forget", couples_ = 1));
        if (kind == 1 && pick(0, 1) == 0) attributes.push_back(whole("linear_before_reset", resets_product_ = 1));
        draw_functions();
        tensors["x"] = values(image_order({steps_, count_, inputs_}));
        tensors["w"] = values({directions_, gates_ * hidden_, inputs_});
        tensors["r"] = values({directions_, gates_ * hidden_, hidden_});
        const auto sometimes = [&](std::string const& name, Ints dims) {
            if (pick(0, 1) == 1) tensors[name] = values(std::move(dims));
        };
        sometimes("b", {directions_, 2 * gates_ * hidden_});
        sometimes("h", image_order({directions_, count_, hidden_}));
        if (kind == 0) sometimes("c", image_order({directions_, count_, hidden_}));
        if (kind == 0) sometimes("p", {directions_, 3 * hidden_});
        if (pick(0, 1) == 1) {
            for (std::int64_t i = 0; i < count_; ++i) lengths.push_back(pick(0, static_cast<int>(steps_)));
        }
        for (const char* name : {"h", "c", "lengths"}) {
            if (pick(0, 1) == 1) at_run_time.push_back(name);
        }
        wanted = pick(1, kind == 0 ? 7 : 3);
    }

    std::string op;
    Attributes attributes;
    std::map<std::string, std::pair<Ints, std::vector<float>>> tensors;
    Ints lengths;
    std::vector<std::string> at_run_time;
    int wanted;

    [[nodiscard]] bool runs(std::string const& name) const {
        return name == "x" || std::ranges::find(at_run_time, name) != at_run_time.end();
    }
    [[nodiscard]] std::string model() const {
        Model model(Model::writer_only, 14);
        for (auto const& [name, tensor] : tensors) {
            if (runs(name))
                model.input(name, tensor.first);
            else
                model.floats(name, tensor.first, tensor.second);
        }
        const auto name_of = [&](std::string const& name) { return tensors.contains(name) ? name : ""; };
        std::vector<std::string> inputs{"x", "w", "r", name_of("b"), lengths.empty() ? "" : "lengths", name_of("h")};
        if (!lengths.empty() && runs("lengths"))
            model.input("lengths", {count_}, onnx::DataType::int32);
        else if (!lengths.empty())
            model.numbers_of(onnx::DataType::int32, "lengths", {count_}, lengths);
        if (op == "LSTM") inputs.push_back(name_of("c")), inputs.push_back(name_of("p"));
        while (inputs.back().empty()) inputs.pop_back();
        std::vector<std::string> outputs, names;
        for (int i = 0; i < 3; ++i) {
            outputs.push_back((wanted >> i & 1) != 0 ? "y" + std::to_string(i) : "");
            if (!outputs.back().empty()) names.push_back(outputs.back());
        }
        while (outputs.back().empty()) outputs.pop_back();
        model.node(op, inputs, outputs, attributes);
        return model.bytes_of(names);
    }
    [[nodiscard]] std::map<std::string, std::vector<float>> run_time_values() const {
        std::map<std::string, std::vector<float>> all;
        for (auto const& [name, tensor] : tensors) all[name] = tensor.second;
        all["lengths"] = {lengths.begin(), lengths.end()};
        return all;
    }

    /// The results that are wanted.
    [[nodiscard]] std::vector<Doubles> expected() const {
        const auto size = [&](Ints const& dims) {
            std::size_t count = 1;
            for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
            return Doubles(count, 0.0);
        };
        Doubles all = size({steps_, directions_, count_, hidden_}), last = size({directions_, count_, hidden_}),
                last_cell = last;
        for (std::int64_t d = 0; d < directions_; ++d) {
            for (std::int64_t n = 0; n < count_; ++n) one(d, n, all, last, last_cell);
        }
        std::vector<Doubles> results;
        for (int i = 0; i < 3; ++i) {
            if ((wanted >> i & 1) != 0) results.push_back(i == 0 ? all : i == 1 ? last : last_cell);
        }
        return results;
    }

private:
    int pick(int low, int high) { return low + static_cast<int>(bits_() % static_cast<unsigned>(high - low + 1)); }
    std::pair<Ints, std::vector<float>> values(Ints dims) {
        std::size_t count = 1;
        for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
        return {std::move(dims), numbers(count, static_cast<unsigned>(bits_()))};
    }
    /// Images second, or first.
    [[nodiscard]] Ints image_order(Ints dims) const {
        if (images_first_) std::swap(dims[0], dims[1]);
        return dims;
    }
    void draw_functions() {
        names_ = {"Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", "Tanh"};
        if (op == "GRU") names_ = {"Sigmoid", "Tanh", "Sigmoid", "Tanh"};
        if (op == "RNN") names_ = {"Tanh", "Tanh"};
        names_.resize(functions_ * static_cast<std::size_t>(directions_));
        alpha_.resize(names_.size()), beta_.resize(names_.size());
        if (pick(0, 1) == 0) return;
        const Texts known{"sigmoid",    "TANH",        "Relu", "Affine",   "LeakyRelu", "ThresholdedRelu",
                          "ScaledTanh", "HardSigmoid", "Elu",  "Softsign", "softPlus"};
        std::vector<float> alphas, betas;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            const int which = pick(0, 10);
            names_[i] = known[static_cast<std::size_t>(which)];
            const bool has_alpha = (which >= 3 && which <= 8), has_beta = which == 3 || which == 6 || which == 7;
            if (has_alpha) alphas.push_back(alpha_[i] = 0.25F * static_cast<float>(pick(1, 3)));
            if (has_beta) betas.push_back(beta_[i] = 0.25F * static_cast<float>(pick(1, 3)));
        }
        attributes.push_back({"activations", names_});
        if (!alphas.empty()) attributes.push_back({"activation_alpha", alphas});
        if (!betas.empty()) attributes.push_back({"activation_beta", betas});
    }
    [[nodiscard]] double apply(std::int64_t d, std::size_t which, double x) const {
        const std::size_t at = static_cast<std::size_t>(d) * functions_ + which;
        std::string name(names_[at]);
        std::ranges::transform(name, name.begin(), [](char c) { return c < 'a' ? static_cast<char>(c + 32) : c; });
        const double alpha = static_cast<double>(alpha_[at]), beta = static_cast<double>(beta_[at]);
        if (name == "sigmoid") return 1 / (1 + std::exp(-x));
        if (name == "tanh") return std::tanh(x);
        if (name == "relu") return std::max(x, 0.0);
        if (name == "affine") return alpha * x + beta;
        if (name == "leakyrelu") return x < 0 ? alpha * x : x;
        if (name == "thresholdedrelu") return x >= alpha ? x : 0;
        if (name == "scaledtanh") return alpha * std::tanh(beta * x);
        if (name == "hardsigmoid") return std::min(std::max(alpha * x + beta, 0.0), 1.0);
        if (name == "elu") return x < 0 ? alpha * (std::exp(x) - 1) : x;
        if (name == "softsign") return x / (1 + std::abs(x));
        return x > 30 ? x : std::log(1 + std::exp(x));
    }
    [[nodiscard]] double at(std::string const& name, std::int64_t index) const {
        const auto found = tensors.find(name);
        return found == tensors.end() ? 0.0
                                      : static_cast<double>(found->second.second[static_cast<std::size_t>(index)]);
    }
    [[nodiscard]] std::int64_t state_index(std::int64_t d, std::int64_t n) const {
        return (images_first_ ? n * directions_ + d : d * count_ + n) * hidden_;
    }
    /// A sequence in a direction, in the standard's terms.
    void one(std::int64_t d, std::int64_t n, Doubles& all, Doubles& last, Doubles& last_cell) const {
        const auto size = static_cast<std::size_t>(hidden_);
        const std::int64_t rows = gates_ * hidden_;
        const std::int64_t steps = lengths.empty() ? steps_ : lengths[static_cast<std::size_t>(n)];
        Doubles h(size), cell(size);
        for (std::size_t i = 0; i < size; ++i) {
            h[i] = at("h", state_index(d, n) + static_cast<std::int64_t>(i));
            cell[i] = at("c", state_index(d, n) + static_cast<std::int64_t>(i));
        }
        for (std::int64_t step = 0; step < steps; ++step) {
            const std::int64_t t = (d == 1 || is_reverse_) ? steps - 1 - step : step;
            const std::int64_t x_at = (images_first_ ? n * steps_ + t : t * count_ + n) * inputs_;
            const auto of_x = [&](std::int64_t row) {
                double sum = at("b", d * 2 * rows + row);
                for (std::int64_t j = 0; j < inputs_; ++j)
                    sum += at("w", (d * rows + row) * inputs_ + j) * at("x", x_at + j);
                return sum;
            };
            const auto of_h = [&](std::int64_t row, Doubles const& state) {
                double sum = at("b", (d * 2 + 1) * rows + row);
                for (std::int64_t j = 0; j < hidden_; ++j)
                    sum += at("r", (d * rows + row) * hidden_ + j) * state[static_cast<std::size_t>(j)];
                return sum;
            };
            const auto held = [&](double value) {
                return clip_ > 0 ? std::clamp(value, -static_cast<double>(clip_), static_cast<double>(clip_)) : value;
            };
            Doubles next(size), reset(size);
            for (std::int64_t i = 0; i < hidden_; ++i) {
                const auto at_i = static_cast<std::size_t>(i);
                const auto both = [&](std::int64_t gate) {
                    return of_x(gate * hidden_ + i) + of_h(gate * hidden_ + i, h);
                };
                const auto peep = [&](std::int64_t gate) { return at("p", (d * 3 + gate) * hidden_ + i); };
                if (op == "RNN") next[at_i] = apply(d, 0, held(both(0)));
                if (op == "GRU") reset[at_i] = apply(d, 0, held(both(1)));
                if (op != "LSTM") continue;
                const double in = apply(d, 0, held(both(0) + peep(0) * cell[at_i])),
                             forget = couples_ != 0 ? 1 - in : apply(d, 0, held(both(2) + peep(2) * cell[at_i]));
                cell[at_i] = forget * cell[at_i] + in * apply(d, 1, held(both(3)));
                next[at_i] = apply(d, 0, held(both(1) + peep(1) * cell[at_i])) * apply(d, 2, cell[at_i]);
            }
            if (op == "GRU") {
                Doubles kept(size);
                for (std::size_t i = 0; i < size; ++i) kept[i] = reset[i] * h[i];
                for (std::int64_t i = 0; i < hidden_; ++i) {
                    const auto at_i = static_cast<std::size_t>(i);
                    const std::int64_t row = 2 * hidden_ + i;
                    const double z = apply(d, 0, held(of_x(i) + of_h(i, h))),
                                 of = resets_product_ != 0 ? reset[at_i] * of_h(row, h) : of_h(row, kept);
                    next[at_i] = (1 - z) * apply(d, 1, held(of_x(row) + of)) + z * h[at_i];
                }
            }
            h = next;
            const std::int64_t y_at =
                images_first_ ? (n * steps_ + t) * directions_ + d : (t * directions_ + d) * count_ + n;
            std::ranges::copy(h, all.begin() + static_cast<std::ptrdiff_t>(y_at * hidden_));
        }
        if (steps == 0) return;
        std::ranges::copy(h, last.begin() + static_cast<std::ptrdiff_t>(state_index(d, n)));
        std::ranges::copy(cell, last_cell.begin() + static_cast<std::ptrdiff_t>(state_index(d, n)));
    }

    std::mt19937 bits_;
    std::int64_t gates_ = 1, directions_ = 1, steps_ = 1, count_ = 1, inputs_ = 1, hidden_ = 1;
    std::size_t functions_ = 1;
    bool images_first_ = false, is_reverse_ = false;
    float clip_ = 0;
    std::int64_t couples_ = 0, resets_product_ = 0;
    Texts names_;
    std::vector<float> alpha_, beta_;
};

void check(ps::OnnxModel const& model, Case const& drawn) {
    const std::vector<Doubles> got = results(model, drawn.run_time_values()), want = drawn.expected();
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(is_close(got[i], want[i]));
}

}  // namespace

TEST_CASE("LSTM, GRU and RNN are those of the standard, and so are they when they are written again") {
    std::size_t apart = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        const Case drawn(seed);
        CAPTURE(drawn.op);
        const ps::OnnxModel model = parse(drawn.model());
        apart += model.graph.batch() > 1 ? 1U : 0U;
        check(model, drawn);
        const std::string written = ps::to_onnx(model.graph, model.weights, {.signature = model});
        const ps::OnnxModel again = parse(written);
        for (std::size_t i = 0; i < model.outputs.size(); ++i) CHECK(again.outputs[i].dims == model.outputs[i].dims);
        check(again, drawn);
    }
    CHECK(apart > 20);  // images that run one by one
}

namespace {

/// An LSTM of 3 steps, 2 images, 5 inputs and 4 hidden units.
struct Small {
    Model model{{3, 2, 5}, 14};
    Ints w{1, 16, 5}, r{1, 16, 4}, b{1, 32}, h{1, 2, 4}, c{1, 2, 4}, p{1, 12};

    [[nodiscard]] std::string bytes(std::string_view op = "LSTM", Attributes const& attributes = {}) {
        const auto add = [&](std::string const& name, Ints const& dims) {
            std::size_t count = 1;
            for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
            model.floats(name, dims, numbers(count));
        };
        add("w", w), add("r", r), add("b", b), add("h", h), add("c", c), add("p", p);
        model.node(op, {"x", "w", "r", "b", "", "h", "c", "p"}, {"y"}, attributes);
        return model.bytes();
    }
};
std::string told(std::string const& bytes) {
    const std::string all = refusal(bytes);
    const std::size_t at = all.find("): ");
    return at == std::string::npos ? all : all.substr(at + 3);
}

}  // namespace

TEST_CASE("a layer of the inputs of all steps and one of the steps, named after the node") {
    const ps::OnnxModel model = parse(Small().bytes());
    CHECK(kinds_of(model) == Kinds{"input", "reshape", "dense_rows", "constant", "constant", "constant", "lstm"});
    CHECK(model.weights.find("the node.input.weight") != nullptr);
    CHECK(model.weights.find("the node.weight") != nullptr);
    CHECK(model.origins.at("the node.weight").tensor == "r");
    CHECK(model.origins.at("the node.input.weight") == ps::OnnxOrigin{"w", true});
}

TEST_CASE("recurrent nodes that do not fit are refused by their dimensions") {
    const auto with = [](Ints Small::*which, Ints dims) {
        Small small;
        small.*which = std::move(dims);
        return told(small.bytes());
    };
    CHECK(with(&Small::w, {1, 12, 5}) == "its W is 1x12x5; it should be 1x16x5");
    CHECK(with(&Small::w, {1, 16, 6}) == "its W is 1x16x6; it should be 1x16x5");
    CHECK(with(&Small::r, {16, 4}) == "its R is 16x4; it should have 3 dimensions");
    CHECK(with(&Small::b, {1, 16}) == "its B is 1x16; it should be 1x32");
    CHECK(with(&Small::h, {2, 1, 4}) == "its initial_h is 2x1x4; it should be 1x2x4");
    // As PyTorch writes an LSTM with a projection.
    CHECK(with(&Small::c, {1, 2, 7}) == "its initial_c is 1x2x7; it should be 1x2x4");
    CHECK(with(&Small::p, {1, 16}) == "its P is 1x16; it should be 1x12");
    CHECK(told(Small().bytes("LSTM", {whole("hidden_size", 5)})) == "its R is 1x16x4, but hidden_size is 5");
    CHECK(told(Small().bytes("LSTM", {{"direction", std::string_view("bidirectional")}})) ==
          "its W is 1x16x5; it should be 2x16x5");
    Small flat;
    flat.model.node("Flatten", {"x"}, {"flat"});
    CHECK(told(Small().bytes("GRU")) == "its W is 1x16x5; it should be 1x12x5");
}

TEST_CASE("attributes of recurrent nodes that mean nothing are refused") {
    const auto with = [](Attributes const& attributes) { return told(Small().bytes("LSTM", attributes)); };
    const auto functions = [](Texts const& names) { return onnx::NewAttribute{"activations", names}; };
    CHECK(with({whole("layout", 2)}) == "layout 2 is unknown");
    CHECK(with({{"direction", std::string_view("up")}}) == "direction up is unknown");
    CHECK(with({{"clip", 0.0F}}) == "a clip of 0; it must be above 0");
    CHECK(with({functions({"Sigmoid", "Tanh"})}) == "2 activations; it has 3");
    CHECK(with({functions({"Sigmoid", "Tanh", "Mish"})}) == "activation Mish is unknown");
    CHECK(with({functions({"Affine", "Tanh", "Tanh"})}) ==
          "its activation Affine needs a value in activation_alpha, which has no default");
    CHECK(with({functions({"affine", "Tanh", "Tanh"}), {"activation_alpha", std::vector<float>{1}}}) ==
          "its activation Affine needs a value in activation_beta, which has no default");
    CHECK(with({functions({"LeakyRelu", "ScaledTanh", "Tanh"}), {"activation_alpha", std::vector<float>{1}}}) ==
          "its activation ScaledTanh needs a value in activation_alpha, which has no default");
    // Those that have defaults need none.
    CHECK(with({functions({"HardSigmoid", "Elu", "thresholdedrelu"})}).empty());
}

TEST_CASE("convolutions of the signals that an LSTM takes for steps see each by itself") {
    const auto signals = [](std::string_view last, Attributes const& attributes) {
        Model model({3, 2, 11}, 13);
        model.floats("w", {4, 1, 3}, numbers(12)).floats("b", {4}, numbers(4, 2));
        model.node("Conv", {"x", "w", "b"}, {"c"},
                   {{"pads", Ints{1, 2}}, {"strides", Ints{2}}, {"dilations", Ints{2}}, whole("group", 2)}, "conv");
        return model.node(last, {"c"}, {"y"}, attributes).bytes();
    };
    const ps::OnnxModel apart = parse(signals("Identity", {})),
                        mixed = parse(signals("Transpose", {{"perm", Ints{1, 0, 2}}}));
    CHECK(apart.graph.batch() == 3);
    CHECK(mixed.graph.batch() == 1);
    const std::vector<float> x = numbers(3 * 2 * 11);
    const Doubles one = run(apart, x), all = run(mixed, x);
    const Ints dims = apart.outputs[0].dims;
    REQUIRE(mixed.outputs[0].dims == Ints{dims[1], dims[0], dims[2]});
    REQUIRE(one.size() == all.size());
    const auto c = static_cast<std::size_t>(dims[1]), l = static_cast<std::size_t>(dims[2]);
    for (std::size_t i = 0; i < one.size(); ++i) {
        const std::size_t n = i / (c * l), k = i / l % c;
        CHECK(one[i] == doctest::Approx(all[(k * 3 + n) * l + i % l]));
    }
    // Images would need a third axis of the kernel.
    Model images({3, 2, 4, 4}, 13);
    images.floats("w", {4, 2, 3, 3}, numbers(72)).node("Conv", {"x", "w"}, {"c"}, {}, "conv");
    images.node("Transpose", {"c"}, {"y"}, {{"perm", Ints{1, 0, 2, 3}}});
    CHECK(told(images.bytes()).starts_with("needs separate images"));
}

TEST_CASE("weights of recurrent nodes must be known, and an empty batch gives nothing") {
    Model model({3, 2, 5}, 14);
    model.input("w", {1, 16, 5}).floats("r", {1, 16, 4}, numbers(64)).node("LSTM", {"x", "w", "r"}, {"y"});
    CHECK(told(model.bytes()).starts_with("its W (input w) must be known when the model is loaded"));
    Model empty({3, 0, 5}, 14);
    empty.floats("w", {1, 16, 5}, numbers(80)).floats("r", {1, 16, 4}, numbers(64));
    empty.node("LSTM", {"x", "w", "r"}, {"y"});
    const ps::OnnxModel none = parse(empty.bytes(), {.dims = {{"x", {3, 0, 5}}}});
    CHECK(none.outputs[0].dims == Ints{3, 1, 0, 4});
}

TEST_CASE("an LSTM whose weights are bytes is that of the numbers that they stand for") {
    const Ints scales_of_all{2}, scales_of_each{2, 8};
    for (Ints const& steps : {scales_of_all, scales_of_each}) {
        std::size_t count = 1;
        for (const std::int64_t extent : steps) count *= static_cast<std::size_t>(extent);
        const Attributes attributes{whole("hidden_size", 2), {"direction", std::string_view("bidirectional")}};
        Model bytes({4, 1, 3}, 14), floats({4, 1, 3}, 14);
        const std::vector<std::string> names{"w", "r"};
        for (const std::string& name : names) {
            const std::int64_t inputs = name == "w" ? 3 : 2;
            Ints whole_numbers, zeros;
            std::vector<float> scales;
            for (std::int64_t i = 0; i < 2 * inputs * 8; ++i) whole_numbers.push_back(i * 7 % 41 - 20);
            for (std::size_t i = 0; i < count; ++i) {
                scales.push_back(0.01F * static_cast<float>(i % 3 + 1));
                zeros.push_back(static_cast<std::int64_t>(i % 5) - 2);
            }
            std::vector<float> real(whole_numbers.size());
            for (std::int64_t d = 0; d < 2; ++d) {
                for (std::int64_t i = 0; i < inputs; ++i) {
                    for (std::int64_t gate = 0; gate < 8; ++gate) {
                        const auto step = static_cast<std::size_t>(steps.size() == 1 ? d : d * 8 + gate);
                        real[static_cast<std::size_t>((d * 8 + gate) * inputs + i)] =
                            static_cast<float>(whole_numbers[static_cast<std::size_t>((d * inputs + i) * 8 + gate)] -
                                               zeros[step]) *
                            scales[step];
                    }
                }
            }
            for (std::int64_t& number : whole_numbers) number &= 255;
            for (std::int64_t& number : zeros) number &= 255;
            bytes.numbers_of(onnx::DataType::int8, name, {2, inputs, 8}, whole_numbers)
                .floats(name + "_scale", steps, scales)
                .numbers_of(onnx::DataType::int8, name + "_zero", steps, zeros);
            floats.floats(name, {2, 8, inputs}, real);
        }
        bytes.floats("b", {2, 16}, numbers(32)), floats.floats("b", {2, 16}, numbers(32));
        bytes.node_of("com.microsoft", "DynamicQuantizeLSTM",
                      {"x", "w", "r", "b", "", "", "", "", "w_scale", "w_zero", "r_scale", "r_zero"},
                      {"y", "h", "cell"}, attributes);
        floats.node("LSTM", {"x", "w", "r", "b"}, {"y", "h", "cell"}, attributes);
        const std::vector<std::vector<float>> x{numbers(12)};
        const auto expected = run_inputs(parse(floats.bytes_of({"y", "h", "cell"})), x);
        CHECK(run_inputs(parse(bytes.bytes_of({"y", "h", "cell"})), x) == expected);
    }
    Model fewer({4, 1, 3}, 14);
    fewer.numbers_of(onnx::DataType::int8, "w", {1, 3, 8}, Ints(24, 1))
        .numbers_of(onnx::DataType::int8, "r", {1, 2, 8}, Ints(16, 1));
    fewer.floats("s", {3}, {1, 1, 1}).numbers_of(onnx::DataType::int8, "z", {3}, Ints(3, 0));
    fewer.node_of("com.microsoft", "DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"},
                  {"y"});
    CHECK(refusal(fewer.bytes()).find("weights of 1x3x8 with scales of 3") != std::string::npos);
}

}  // namespace import_recurrent
