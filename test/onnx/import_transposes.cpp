// Transposes of channels to the end and back, with operators between them.
#include "imported.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace import_transposes {

using namespace imported;

namespace {

using Attributes = std::vector<onnx::NewAttribute>;

/// A network whose axes are reordered by Transpose, or by Einsum, which does not wait.
struct Network {
    Model model;
    bool waits;
    int count = 0;

    Network(Ints const& dims, bool transposes) : model(dims, 13), waits(transposes) {}
    std::string add(std::string_view op, std::vector<std::string> const& inputs, Attributes const& attributes = {}) {
        const std::string name = ps::join("t", count++);
        model.node(op, inputs, {name}, attributes);
        return name;
    }
    std::string floats(Ints const& dims) {
        const std::string name = ps::join("w", count++);
        model.floats(name, dims, numbers(onnx::count_of(dims), static_cast<unsigned>(count)));
        return name;
    }
    std::string last(std::string const& x) { return reordered(x, {0, 2, 3, 1}, "abcd->acdb"); }
    std::string back(std::string const& x) { return reordered(x, {0, 3, 1, 2}, "abcd->adbc"); }

private:
    std::string reordered(std::string const& x, Ints const& perm, std::string const& equation) {
        return waits ? add("Transpose", {x}, {{"perm", perm}}) : add("Einsum", {x}, {{"equation", equation}});
    }
};

const Ints dims{2, 5, 3, 4};  // n, c, h, w: [2, 3, 4, 5] between the transposes

/// From a tensor with channels last to another one.
using Between = std::string (*)(Network&, std::string const&);
const Between between[] = {
    [](Network& net, std::string const& x) { return net.add("Relu", {x}); },
    [](Network& net, std::string const& x) {
        return net.add("Add", {x, net.floats({5})});
    },
    [](Network& net, std::string const& x) {
        return net.add("Mul", {net.floats({4, 5}), x});
    },
    [](Network& net, std::string const& x) {
        return net.add("Sub", {x, net.floats({1, 3, 1, 1})});
    },
    [](Network& net, std::string const& x) {
        return net.add("Sub", {net.floats({}), x});
    },
    [](Network& net, std::string const& x) {
        return net.add("PRelu", {x, net.floats({1, 1, 5})});
    },
    [](Network& net, std::string const& x) {
        return net.add("Max", {x, net.add("Neg", {x}), net.floats({3, 4, 5})});
    },
    [](Network& net, std::string const& x) { return net.add("Softmax", {x}); },
    [](Network& net, std::string const& x) {
        return net.add("Softmax", {x}, {{"axis", std::int64_t{1}}});
    },
    [](Network& net, std::string const& x) {
        return net.add("Cast", {x}, {{"to", std::int64_t{1}}});
    },
    [](Network& net, std::string const& x) {
        const std::string mean = net.add("ReduceMean", {x}, {{"axes", Ints{-1}}});
        return net.add("Sub", {x, mean});
    },
    [](Network& net, std::string const& x) {
        net.model.integers("axes", {1, 2});
        return net.add("Mul", {x, net.add("Sigmoid", {net.add("ReduceSum", {x, "axes"})})});
    },
    // A gate of its own layers, as in squeeze and excitation.
    [](Network& net, std::string const& x) {
        const std::string mean = net.add("ReduceMean", {x}, {{"axes", Ints{1, 2}}, {"keepdims", std::int64_t{0}}});
        net.model.integers("gate", {2, 1, 1, 5});
        return net.add("Mul", {x, net.add("Reshape", {net.add("MatMul", {mean, net.floats({5, 5})}), "gate"})});
    },
    [](Network& net, std::string const& x) {
        const std::string half = net.add("MatMul", {x, net.floats({5, 3})});
        return net.add("Concat", {half, net.add("MatMul", {x, net.floats({5, 2})})}, {{"axis", std::int64_t{-1}}});
    },
    [](Network& net, std::string const& x) {
        return net.add("Add", {x, net.add("MatMul", {x, net.floats({5, 5})})});
    },
    [](Network& net, std::string const& x) {
        net.model.node("Split", {x}, {"a", "b"}, {{"axis", std::int64_t{2}}});
        return net.add("Concat", {"b", "a"}, {{"axis", std::int64_t{2}}});
    },
    // There and back between them.
    [](Network& net, std::string const& x) { return net.last(net.add("Abs", {net.back(x)})); },
};
/// From a tensor with channels last to a result.
const Between ends[] = {
    [](Network& net, std::string const& x) { return net.add("Tanh", {net.back(x)}); },
    [](Network&, std::string const& x) { return x; },
    [](Network& net, std::string const& x) {
        return net.add("ReduceMax", {x}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}});
    },
    [](Network& net, std::string const& x) {
        return net.add("ReduceMean", {x}, {{"axes", Ints{1, 2}}, {"keepdims", std::int64_t{0}}});
    },
    [](Network& net, std::string const& x) {
        return net.add("ReduceL2", {x}, {{"axes", Ints{3}}, {"keepdims", std::int64_t{0}}});
    },
    [](Network& net, std::string const& x) { return net.add("Flatten", {x}); },
};

ps::OnnxModel made(std::vector<Between> const& layers, bool waits, std::int64_t images) {
    Network net({images, dims[1], dims[2], dims[3]}, waits);
    std::string x = net.last(net.add("Neg", {"x"}));
    for (const Between layer : layers) x = layer(net, x);
    net.model.node("Identity", {x}, {"y"});
    return parse(net.model.bytes());
}

void check_same(std::vector<Between> const& layers) {
    const std::vector<float> x = numbers(onnx::count_of(dims));
    const ps::OnnxModel waiting = made(layers, true, dims[0]), other = made(layers, false, dims[0]);
    CHECK(waiting.outputs[0].dims == other.outputs[0].dims);
    const std::vector<double> found = run(waiting, x), wanted = run(other, x);
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-9));
}

}  // namespace

TEST_CASE("operators between transposes compute what they do on the tensor as it is") {
    for (std::size_t i = 0; i < std::size(between); ++i) {
        CAPTURE(i);
        for (std::size_t j = 0; j < std::size(ends); ++j) {
            CAPTURE(j);
            check_same({between[i], ends[j]});
        }
    }
    for (std::size_t i = 0; i + 1 < std::size(between); i += 2)
        check_same({between[i + 1], between[0], between[i], ends[i % 6]});
}

TEST_CASE("transposes to channels last and back go") {
    const auto moved = [](std::vector<Between> const& layers) {
        return std::ranges::count(kinds(ps::simplify(made(layers, true, 1).graph)), "as_strided");
    };
    // All but the products with a matrix and the channels that are split.
    for (std::size_t i = 0; i < 12; ++i) {
        CAPTURE(i);
        CHECK(moved({between[i], ends[0]}) == 0);
    }
    CHECK(moved({between[15], ends[0]}) == 0);
    CHECK(moved({between[16], ends[0]}) == 0);
    CHECK(moved({between[0], ends[3]}) == 0);
    CHECK(moved({between[0], ends[1]}) == 1);
    // Two readers of one transpose share it.
    CHECK(moved({between[14], ends[1]}) == 1);
}

TEST_CASE("a convolution with channels last has its bias and normalisation folded") {
    Network net({1, 3, 6, 7}, true);
    net.model.floats("kernel", {4, 3, 3, 3}, numbers(108));
    std::string x = net.last(net.add("Conv", {"x", "kernel"}));
    x = net.add("Mul", {net.add("Sub", {x, net.floats({4})}), net.floats({1, 1, 1, 4})});
    x = net.add("Relu", {net.add("Add", {x, net.floats({4})})});
    net.model.node("MaxPool", {net.back(x)}, {"y"}, {{"kernel_shape", Ints{2, 2}}});
    CHECK(kinds(ps::simplify(parse(net.model.bytes()).graph)) == Strings{"input", "conv", "max_pool"});
}

TEST_CASE("a waiting tensor that is no data of a reduction is refused as its axes") {
    Network net({1, 3, 6, 7}, true);
    net.model.node("ReduceSum", {net.floats({7}), net.last("x")}, {"y"});
    CHECK_THROWS_AS(parse(net.model.bytes()), ps::error);
}

TEST_CASE("a weight that the caller gives is not read in the order of axes that it has behind a transpose") {
    Network net({1, 3, 6, 7}, true);
    net.model.input("w", {3, 3, 3, 8});
    net.model.node("ConvTranspose", {"x", net.back("w")}, {"y"});
    ps::OnnxOptions options;
    options.values.emplace("w", ps::make_onnx_tensor("w", {3, 3, 3, 8}, numbers(216)));
    CHECK_THROWS_AS(parse(net.model.bytes(), options), ps::error);
}

}  // namespace import_transposes
