// Imported scatters against loops over all updates, with indices that are known and that are computed.
#include "imported.hpp"

#include <primsel/onnx/export.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace import_scatter {

using namespace imported;

std::size_t size_of(Ints const& dims) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    return count;
}
void combine(std::string_view reduction, double& at, double value) {
    if (reduction == "add")
        at += value;
    else if (reduction == "mul")
        at *= value;
    else if (reduction == "max")
        at = std::max(at, value);
    else if (reduction == "min")
        at = std::min(at, value);
    else
        at = value;
}

struct Case {
    std::string op;
    Ints data, indices, updates;
    std::int64_t axis = 0;
};

/// The data with each update in its place; of several in one place, all in their order.
std::vector<double> scattered(Case const& c, std::string_view reduction, std::vector<float> const& data,
                              Ints const& indices, std::vector<float> const& updates) {
    std::vector<double> result(data.begin(), data.end());
    const auto wrapped = [&](std::int64_t index, std::size_t axis) { return index < 0 ? index + c.data[axis] : index; };
    if (c.op == "ScatterND") {
        const auto depth = static_cast<std::size_t>(c.indices.back());
        const std::size_t size = size_of({c.data.begin() + c.indices.back(), c.data.end()});
        for (std::size_t row = 0; row < indices.size() / depth; ++row) {
            std::int64_t place = 0;
            for (std::size_t i = 0; i < depth; ++i) place = place * c.data[i] + wrapped(indices[row * depth + i], i);
            for (std::size_t i = 0; i < size; ++i) {
                combine(reduction, result[static_cast<std::size_t>(place) * size + i],
                        static_cast<double>(updates[row * size + i]));
            }
        }
        return result;
    }
    for (std::size_t i = 0; i < indices.size(); ++i) {
        std::int64_t place = 0;
        auto rest = static_cast<std::int64_t>(i);
        std::int64_t stride = 1;
        for (std::size_t axis = c.data.size(); axis-- > 0;) {
            const std::int64_t own = rest % c.indices[axis];
            rest /= c.indices[axis];
            place += (static_cast<std::int64_t>(axis) == c.axis ? wrapped(indices[i], axis) : own) * stride;
            stride *= c.data[axis];
        }
        combine(reduction, result[static_cast<std::size_t>(place)], static_cast<double>(updates[i]));
    }
    return result;
}

TEST_CASE("scatters change elements in the order of the updates, by every reduction") {
    const Case cases[] = {
        {"ScatterND", {5, 3, 4}, {2, 1}, {2, 3, 4}},
        {"ScatterND", {5, 3, 4}, {7, 2}, {7, 4}},
        {"ScatterND", {5, 3, 4}, {3, 2, 3}, {3, 2}},
        {"ScatterND", {1, 300}, {150, 2}, {150}},
        {"ScatterND", {6}, {9, 1}, {9}},
        {"ScatterElements", {5, 3, 4}, {7, 3, 4}, {7, 3, 4}, 0},
        {"ScatterElements", {5, 3, 4}, {2, 6, 3}, {2, 6, 3}, 1},
        {"ScatterElements", {5, 3, 4}, {5, 2, 9}, {5, 2, 9}, 2},
        {"ScatterElements", {7}, {3}, {3}, 0},
    };
    std::mt19937 bits(5);
    for (Case const& c : cases) {
        for (const std::string_view reduction : {"none", "add", "mul", "max", "min"}) {
            const std::vector<float> data = numbers(size_of(c.data), 3), updates = numbers(size_of(c.updates), 4);
            Ints indices;
            for (std::size_t i = 0; i < size_of(c.indices); ++i) {
                const std::size_t axis = c.op == "ScatterND" ? i % static_cast<std::size_t>(c.indices.back())
                                                             : static_cast<std::size_t>(c.axis);
                const std::int64_t extent = c.data[axis];
                indices.push_back(static_cast<std::int64_t>(bits() % static_cast<unsigned>(2 * extent)) - extent);
            }
            const std::vector<double> expected = scattered(c, reduction, data, indices, updates);
            // Bits: indices, data and updates are known.
            for (unsigned known = 0; known < 8; ++known) {
                CAPTURE(c.op);
                CAPTURE(ps::to_string(c.indices));
                CAPTURE(std::string(reduction));
                CAPTURE(known);
                Model model(Model::writer_only, 18);
                std::vector<std::vector<float>> inputs;
                const auto add = [&](std::string const& name, Ints const& dims, std::vector<float> const& values,
                                     bool is_known) {
                    if (is_known) {
                        model.floats(name, dims, values);
                    } else {
                        model.input(name, dims);
                        inputs.push_back(values);
                    }
                };
                add("d", c.data, data, (known & 2U) != 0);
                if ((known & 1U) != 0) {
                    model.integers("list", indices).integers("dims", c.indices);
                    model.node("Reshape", {"list", "dims"}, {"i"});
                } else {
                    model.input("i", c.indices, onnx::DataType::int64);
                    inputs.emplace_back(indices.begin(), indices.end());
                }
                add("u", c.updates, updates, (known & 4U) != 0);
                std::vector<onnx::NewAttribute> attributes{{"reduction", reduction}};
                if (c.op == "ScatterElements") attributes.push_back({"axis", c.axis});
                const ps::OnnxModel made = parse(model.node(c.op, {"d", "i", "u"}, {"y"}, attributes).bytes());
                CHECK(made.outputs[0].dims == c.data);
                CHECK(is_close(run_inputs(made, inputs)[0], expected));
                if (known == 7) CHECK(kinds_of(made) == Kinds{"constant"});
                // The same written and read again.
                if (known != 4) continue;
                const ps::OnnxModel again = parse(ps::to_onnx(made.graph, made.weights, {.opset = 18}));
                CHECK(is_close(run_inputs(again, inputs)[0], expected));
            }
        }
    }
}

TEST_CASE("scatters that do not fit are refused, and those of nothing do nothing") {
    const auto fault = [](std::string const& op, Ints const& indices, Ints const& updates,
                          std::vector<onnx::NewAttribute> const& attributes = {}) {
        return refusal(Model({5, 4}, 18)
                           .input("i", indices, onnx::DataType::int64)
                           .input("u", updates)
                           .node(op, {"x", "i", "u"}, {"y"}, attributes)
                           .bytes());
    };
    CHECK(fault("ScatterND", {2, 1}, {2, 4}).empty());
    CHECK(fault("ScatterND", {2, 1}, {2, 3}).find("updates of 2x3 at indices of 2x1 into 5x4") != std::string::npos);
    CHECK(fault("ScatterND", {2, 3}, {2}).find("indices of 3 axes into 5x4") != std::string::npos);
    CHECK(fault("ScatterElements", {2, 5}, {2, 5}).find("updates of 2x5 at indices of 2x5 into 5x4") !=
          std::string::npos);
    CHECK(fault("ScatterElements", {2, 4}, {2, 4}, {{"reduction", "mean"}}).find("its reduction mean is unknown") !=
          std::string::npos);
    const ps::OnnxModel none = parse(Model({5, 4}, 18)
                                         .floats("u", {0, 4}, {})
                                         .integers("list", {})
                                         .integers("dims", {0, 1})
                                         .node("Reshape", {"list", "dims"}, {"i"}, {{"allowzero", std::int64_t{1}}})
                                         .node("ScatterND", {"x", "i", "u"}, {"y"})
                                         .bytes());
    CHECK(run_inputs(none, {numbers(20)})[0].size() == 20);
}

TEST_CASE("MaxUnpool puts maxima where they were, and zeros elsewhere") {
    const std::vector<float> x{1, 7, 2, 3, 4, 5, 6, 0, 9, 8, 3, 1, 2, 4, 5, 6};
    const onnx::NewAttribute kernel{"kernel_shape", Ints{2, 2}}, strides{"strides", Ints{2, 2}};
    Model model({1, 1, 4, 4}, 11);
    model.node("MaxPool", {"x"}, {"largest", "where"}, {kernel, strides});
    const std::vector<double> unpooled =
        run(parse(model.node("MaxUnpool", {"largest", "where"}, {"y"}, {kernel, strides}, "back").bytes()), x);
    CHECK(unpooled == Line{0, 7, 0, 0, 0, 0, 6, 0, 9, 0, 0, 0, 0, 0, 0, 6});
    // Known places, in an image that is asked for.
    const auto known = [&](Ints const& where, Ints const& asked) {
        Model one({1, 1, 1, 2}, 11);
        one.writer.initializer("where", Ints{1, 1, 1, 2}, std::span<const std::int64_t>(where));
        return one.integers("size", asked).node("MaxUnpool", {"x", "where", "size"}, {"y"}, {kernel, strides}).bytes();
    };
    CHECK(run(parse(known({1, 9}, {1, 1, 2, 5})), {3, 4}) == Line{0, 3, 0, 0, 0, 0, 0, 0, 0, 4});
    CHECK(refusal(known({1, 9}, {1, 2, 2, 5})).find("an output_shape of") != std::string::npos);
    CHECK(refusal(known({1, 9}, {1, 1, 0, 5})).find("an output_shape of") != std::string::npos);
}

TEST_CASE("GatherND takes indices of each batch into its own part") {
    const auto model = [](Ints const& dims, Ints const& values, std::int64_t batches) {
        Model of({2, 2, 3}, 13);
        of.writer.initializer("at", dims, std::span<const std::int64_t>(values));
        return of.node("GatherND", {"x", "at"}, {"y"}, {{"batch_dims", batches}}).bytes();
    };
    const std::vector<float> x{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    CHECK(run(parse(model({2, 1}, {1, 0}, 1)), x) == Line{3, 4, 5, 6, 7, 8});
    CHECK(run(parse(model({2, 2, 2}, {1, 0, 0, 2, 1, 1, 0, -1}, 1)), x) == Line{3, 2, 10, 8});
    CHECK(run(parse(model({2, 2, 1}, {1, 0, 2, 2}, 2)), x) == Line{1, 3, 8, 11});
    CHECK(refusal(model({1, 1}, {1}, 1)).find("batch by batch") != std::string::npos);
    CHECK(refusal(model({2, 2}, {1, 1, 0, 0}, 2)).find("batch by batch") != std::string::npos);
    CHECK(refusal(model({2, 1}, {1, 0}, 3)).find("batch_dims is 3") != std::string::npos);
}

}  // namespace import_scatter
