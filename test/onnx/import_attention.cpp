// Attention against sums and exponentials in double precision.
#include "imported.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace import_attention {

using namespace imported;

constexpr double infinity = std::numeric_limits<double>::infinity();

enum class MaskKind { none, floats, booleans };

struct Case {
    std::int64_t images = 2, heads = 4, groups = 4, rows = 3, keys = 5, depth = 4, value_depth = 6, past = 0;
    MaskKind mask = MaskKind::none;
    /// With leading extents of the mask, in front of rows x keys.
    Ints mask_dims{};
    bool mask_is_known = false, causal = false;
    /// The numbers of keys of the images, if any.
    Ints lengths{};
    float scale = 0.0F, cap = 0.0F;
    bool flat = false;
};

std::size_t size_of(Ints const& dims) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    return count;
}

/// The tensors of a case and the results that they must give: of attention, then of the scores in each mode.
struct Right {
    std::vector<float> query, key, value, past_key, past_value, mask;
    std::vector<double> result;
    std::vector<double> scores[4];
};

Right right_of(Case const& c) {
    Right r;
    const Ints mask_dims = [&] {
        Ints dims = c.mask_dims;
        dims.push_back(c.rows), dims.push_back(c.past + c.keys);
        return dims;
    }();
    r.query = numbers(size_of({c.images, c.heads, c.rows, c.depth}), 1);
    r.key = numbers(size_of({c.images, c.groups, c.keys, c.depth}), 2);
    r.value = numbers(size_of({c.images, c.groups, c.keys, c.value_depth}), 3);
    r.past_key = numbers(size_of({c.images, c.groups, c.past, c.depth}), 4);
    r.past_value = numbers(size_of({c.images, c.groups, c.past, c.value_depth}), 5);
    r.mask = numbers(size_of(mask_dims), 6);
    if (c.mask == MaskKind::booleans) {
        for (float& value : r.mask) value = value > 0.0F ? 1.0F : 0.0F;
        // The last query of all sees nothing.
        for (std::size_t i = 0; i < static_cast<std::size_t>(mask_dims.back()); ++i) r.mask[r.mask.size() - 1 - i] = 0;
    }
    const std::int64_t all = c.past + c.keys;
    const auto at = [&](std::vector<float> const& x, std::int64_t heads, std::int64_t length, std::int64_t depth,
                        std::int64_t n, std::int64_t h, std::int64_t i, std::int64_t d) {
        const std::int64_t place =
            c.flat ? ((n * length + i) * heads + h) * depth + d : ((n * heads + h) * length + i) * depth + d;
        return static_cast<double>(x[static_cast<std::size_t>(place)]);
    };
    const auto with_past = [&](std::vector<float> const& x, std::vector<float> const& past, std::int64_t depth,
                               std::int64_t n, std::int64_t h, std::int64_t j, std::int64_t d) {
        if (j >= c.past) return at(x, c.groups, c.keys, depth, n, h, j - c.past, d);
        return static_cast<double>(past[static_cast<std::size_t>(((n * c.groups + h) * c.past + j) * depth + d)]);
    };
    const double scale = c.scale != 0.0F ? static_cast<double>(c.scale) : 1 / std::sqrt(static_cast<double>(c.depth));
    r.result.resize(size_of({c.images, c.heads, c.rows, c.value_depth}));
    for (std::int64_t n = 0; n < c.images; ++n) {
        for (std::int64_t h = 0; h < c.heads; ++h) {
            const std::int64_t group = h / (c.heads / c.groups);
            for (std::int64_t i = 0; i < c.rows; ++i) {
                std::vector<double> row(static_cast<std::size_t>(all));
                const auto keep = [&](std::size_t mode) {
                    r.scores[mode].insert(r.scores[mode].end(), row.begin(), row.end());
                };
                for (std::int64_t j = 0; j < all; ++j) {
                    double sum = 0;
                    for (std::int64_t d = 0; d < c.depth; ++d) {
                        sum += at(r.query, c.heads, c.rows, c.depth, n, h, i, d) *
                               with_past(r.key, r.past_key, c.depth, n, group, j, d);
                    }
                    row[static_cast<std::size_t>(j)] = sum * scale;
                }
                keep(0);
                const auto cap = static_cast<double>(c.cap);
                for (double& score : row) score = cap > 0 ? cap * std::tanh(score / cap) : score;
                keep(1);
                for (std::int64_t j = 0; j < all; ++j) {
                    double& score = row[static_cast<std::size_t>(j)];
                    if (c.mask != MaskKind::none) {
                        std::int64_t place = 0;
                        const Ints where{n, h, i, j};
                        for (std::size_t axis = 0; axis < mask_dims.size(); ++axis) {
                            const std::int64_t x = where[axis + 4 - mask_dims.size()];
                            place = place * mask_dims[axis] + (mask_dims[axis] == 1 ? 0 : x);
                        }
                        const auto value = static_cast<double>(r.mask[static_cast<std::size_t>(place)]);
                        score += c.mask == MaskKind::floats ? value : value != 0 ? 0 : -infinity;
                    }
                    const std::int64_t length = c.lengths.empty() ? all : c.lengths[static_cast<std::size_t>(n)],
                                       ahead = c.lengths.empty() ? c.past : length - c.rows;
                    if (j >= length || (c.causal && j > i + ahead)) score = -infinity;
                }
                keep(2);
                double best = -infinity, sum = 0;
                for (const double score : row) best = std::max(best, score);
                for (double& score : row) sum += score = best == -infinity ? 0 : std::exp(score - best);
                for (double& score : row) score = sum > 0 ? score / sum : 0;
                keep(3);
                for (std::int64_t d = 0; d < c.value_depth; ++d) {
                    double value = 0;
                    for (std::int64_t j = 0; j < all; ++j) {
                        value += row[static_cast<std::size_t>(j)] *
                                 with_past(r.value, r.past_value, c.value_depth, n, group, j, d);
                    }
                    const std::int64_t place = c.flat ? ((n * c.rows + i) * c.heads + h) * c.value_depth + d
                                                      : ((n * c.heads + h) * c.rows + i) * c.value_depth + d;
                    r.result[static_cast<std::size_t>(place)] = value;
                }
            }
        }
    }
    return r;
}

void check(Case const& c, std::int64_t mode) {
    const Right right = right_of(c);
    Model model(Model::writer_only, 24);
    std::vector<std::vector<float>> inputs;
    const auto add = [&](std::string const& name, Ints const& dims, std::vector<float> const& values,
                         onnx::DataType type = onnx::DataType::float32) {
        model.input(name, dims, type);
        inputs.push_back(values);
    };
    if (c.flat) {
        add("q", {c.images, c.rows, c.heads * c.depth}, right.query);
        add("k", {c.images, c.keys, c.groups * c.depth}, right.key);
        add("v", {c.images, c.keys, c.groups * c.value_depth}, right.value);
    } else {
        add("q", {c.images, c.heads, c.rows, c.depth}, right.query);
        add("k", {c.images, c.groups, c.keys, c.depth}, right.key);
        add("v", {c.images, c.groups, c.keys, c.value_depth}, right.value);
    }
    Strings names{"q", "k", "v", "", "", "", ""};
    if (c.mask != MaskKind::none) {
        Ints dims = c.mask_dims;
        dims.push_back(c.rows), dims.push_back(c.past + c.keys);
        names[3] = "m";
        if (!c.mask_is_known) {
            add("m", dims, right.mask,
                c.mask == MaskKind::booleans ? onnx::DataType::boolean : onnx::DataType::float32);
        } else {
            model.floats("m.floats", dims, right.mask);
            names[3] = c.mask == MaskKind::booleans ? "m" : "m.floats";
            model.node("Cast", {"m.floats"}, {"m"}, {{"to", static_cast<std::int64_t>(onnx::DataType::boolean)}});
        }
    }
    if (c.past > 0) {
        add("pk", {c.images, c.groups, c.past, c.depth}, right.past_key);
        add("pv", {c.images, c.groups, c.past, c.value_depth}, right.past_value);
        names[4] = "pk", names[5] = "pv";
    }
    if (!c.lengths.empty()) {
        add("n", {c.images}, {c.lengths.begin(), c.lengths.end()}, onnx::DataType::int64);
        names[6] = "n";
    }
    std::vector<onnx::NewAttribute> attributes{
        {"is_causal", std::int64_t{c.causal}}, {"softcap", c.cap}, {"qk_matmul_output_mode", mode}};
    if (c.scale != 0.0F) attributes.push_back({"scale", c.scale});
    if (c.flat) attributes.push_back({"q_num_heads", c.heads}), attributes.push_back({"kv_num_heads", c.groups});
    const ps::OnnxModel made =
        parse(model.node("Attention", names, {"y", "pk2", "pv2", "scores"}, attributes).bytes_of({"y", "scores"}));
    const std::vector<std::vector<double>> results = run_inputs(made, inputs);
    CHECK(made.outputs[0].dims ==
          (c.flat ? Ints{c.images, c.rows, c.heads * c.value_depth} : Ints{c.images, c.heads, c.rows, c.value_depth}));
    CHECK(made.outputs[1].dims == Ints{c.images, c.heads, c.rows, c.past + c.keys});
    CHECK(is_close(results[0], right.result));
    std::vector<double> scores = results[1], expected = right.scores[mode];
    for (std::vector<double>* all : {&scores, &expected}) {
        for (double& score : *all) score = std::max(score, -1e30);
    }
    CHECK(is_close(scores, expected));
}

TEST_CASE("attention is the softmax of capped, masked products times the values") {
    const Case cases[] = {
        {},
        {.groups = 2, .flat = true},
        {.groups = 1, .causal = true},
        {.rows = 5, .keys = 3, .causal = true},
        {.past = 2, .causal = true},
        {.groups = 2, .past = 3, .causal = true, .cap = 1.5F, .flat = true},
        {.mask = MaskKind::floats, .scale = 0.3F},
        {.mask = MaskKind::booleans},
        {.mask = MaskKind::booleans, .mask_is_known = true, .cap = 0.7F},
        {.mask = MaskKind::floats, .mask_dims = {2, 1}, .mask_is_known = true},
        {.images = 1, .mask = MaskKind::booleans, .mask_dims = {4}, .causal = true},
        {.images = 1, .mask = MaskKind::booleans, .mask_is_known = true, .causal = true, .flat = true},
        {.past = 1, .mask = MaskKind::floats, .mask_dims = {2, 4}},
        {.mask = MaskKind::booleans, .mask_dims = {1, 1}, .causal = true, .lengths = {2, 5}},
        {.lengths = {1, 4}},
        {.groups = 2, .causal = true, .lengths = {2, 3}, .flat = true},
    };
    for (Case const& one : cases) {
        CAPTURE(&one - cases);
        for (const std::int64_t mode : {0, 1, 2, 3}) {
            CAPTURE(mode);
            check(one, mode);
        }
    }
}

TEST_CASE("attention gives keys and values with their past, and runs image by image") {
    Model model({3, 2, 1, 4}, 23);
    model.input("pk", {3, 2, 2, 4}).input("pv", {3, 2, 2, 4});
    const ps::OnnxModel made =
        parse(model.node("Attention", {"x", "x", "x", "", "pk", "pv"}, {"y", "k", "v"}).bytes_of({"y", "k", "v"}));
    CHECK(made.graph.batch() == 3);
    CHECK(made.outputs[1].dims == Ints{3, 2, 3, 4});
    const std::vector<float> x = numbers(24), past = numbers(48, 2);
    const std::vector<double> keys = run_inputs(made, {x, past, past})[1];
    for (std::size_t i = 0; i < 72; ++i) {
        const std::size_t row = i / 12 * 8, rest = i % 12;
        CHECK(keys[i] == static_cast<double>(rest < 8 ? past[row + rest] : x[row / 2 + rest - 8]));
    }
}

TEST_CASE("attention of tensors that do not fit is refused") {
    const auto fault = [](Ints const& q, Ints const& k, Ints const& mask, std::int64_t heads = 2) {
        Model model(q, 24);
        model.input("k", k);
        if (!mask.empty()) model.input("m", mask);
        Strings names{"x", "k", "k"};
        if (!mask.empty()) names.emplace_back("m");
        return refusal(
            model.node("Attention", names, {"y"}, {{"q_num_heads", heads}, {"kv_num_heads", std::int64_t{2}}}).bytes());
    };
    const std::string node = "file: node the node (Attention): ";
    CHECK(fault({1, 2, 3, 4}, {1, 2, 3, 4}, {}).empty());
    CHECK(fault({1, 3, 3, 4}, {1, 2, 3, 4}, {}) == node + "queries, keys and values of 1x3x3x4, 1x2x3x4 and 1x2x3x4");
    CHECK(fault({1, 2, 3, 5}, {1, 2, 3, 4}, {}) == node + "queries, keys and values of 1x2x3x5, 1x2x3x4 and 1x2x3x4");
    CHECK(fault({1, 3, 8}, {1, 3, 8}, {}, 3) == node + "its q_num_heads is 3 for 8 elements");
    CHECK(fault({3, 8}, {1, 3, 8}, {}) == node + "its input 0 has 2 dimensions, neither 3 nor 4");
    CHECK(fault({1, 2, 3, 4}, {1, 2, 5, 4}, {3, 4}) == node + "a mask of 3x4 for scores of 1x2x3x5");
    Model model({1, 2, 3, 4}, 23);
    model.input("pk", {1, 2, 3, 4});
    CHECK(refusal(model.node("Attention", {"x", "x", "x", "", "pk"}, {"y"}).bytes()) ==
          node + "it has a past key or a past value without the other");
}

}  // namespace import_attention
