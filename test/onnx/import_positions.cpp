// Imported operators that look at where elements lie: triangles, running sums, one-hot vectors, the largest ones.
#include "imported.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace import_positions {

using namespace imported;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The result of a node on x, and that of the same node on a constant, which must be equal.
std::vector<double> both_ways(std::string const& op, Ints const& dims, std::vector<float> const& x, int opset,
                              std::vector<onnx::NewAttribute> const& attributes, Ints const& second) {
    Strings more;
    if (!second.empty()) more.emplace_back("i");
    const auto inputs = [&](std::string const& first) {
        Strings names{first};
        names.insert(names.end(), more.begin(), more.end());
        return names;
    };
    const ps::OnnxModel computed =
        parse(Model(dims, opset).integers("i", second).node(op, inputs("x"), {"y"}, attributes).bytes());
    CHECK(computed.outputs[0].dims == dims);
    const ps::OnnxModel folded = parse(Model({1, 1}, opset)
                                           .integers("i", second)
                                           .floats("c", dims, x)
                                           .node(op, inputs("c"), {"y"}, attributes)
                                           .bytes());
    const std::vector<double> result = run_inputs(computed, {x})[0];
    CHECK(run_inputs(folded, {})[0] == result);
    return result;
}

TEST_CASE("a triangle keeps what is above or below a diagonal") {
    std::vector<float> x = numbers(2 * 3 * 5);
    x[4] = infinity, x[20] = -infinity;
    for (const std::int64_t upper : {0, 1}) {
        for (const std::int64_t k : {-9, -2, -1, 0, 1, 3, 9}) {
            for (Ints const& dims : {Ints{2, 3, 5}, Ints{6, 5}, Ints{2, 5, 3}, Ints{30, 1}}) {
                CAPTURE(upper);
                CAPTURE(k);
                CAPTURE(ps::to_string(dims));
                const std::int64_t n = dims[dims.size() - 2], m = dims.back();
                std::vector<double> expected;
                for (std::int64_t at = 0; at < 30; ++at) {
                    const std::int64_t i = at / m % n, j = at % m;
                    const bool stays = upper != 0 ? j >= i + k : j <= i + k;
                    expected.push_back(stays ? static_cast<double>(x[static_cast<std::size_t>(at)]) : 0.0);
                }
                CHECK(both_ways("Trilu", dims, x, 14, {{"upper", upper}}, {k}) == expected);
            }
        }
    }
    CHECK(refusal(Model({3}, 14).node("Trilu", {"x"}, {"y"}).bytes()) ==
          "file: node the node (Trilu): on a tensor of 1 dimensions");
}

TEST_CASE("running sums along any axis, in either direction, with or without the element itself") {
    const std::vector<float> x = numbers(2 * 5 * 3, 7);
    for (Ints const& dims : {Ints{2, 5, 3}, Ints{1, 2, 5, 3}, Ints{30}, Ints{5, 6}}) {
        for (std::int64_t axis = -static_cast<std::int64_t>(dims.size()); axis < std::ssize(dims); ++axis) {
            for (const bool exclusive : {false, true}) {
                for (const bool reverse : {false, true}) {
                    CAPTURE(ps::to_string(dims));
                    CAPTURE(axis);
                    CAPTURE(exclusive);
                    CAPTURE(reverse);
                    const std::size_t along = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(dims) : axis);
                    std::size_t inner = 1;
                    for (std::size_t i = along + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
                    const auto count = static_cast<std::size_t>(dims[along]);
                    std::vector<double> expected;
                    for (std::size_t at = 0; at < x.size(); ++at) {
                        const std::size_t place = at / inner % count;
                        double sum = 0;
                        for (std::size_t i = 0; i < count; ++i) {
                            const bool counts = i == place ? !exclusive : reverse ? i > place : i < place;
                            if (counts) sum += static_cast<double>(x[at + i * inner - place * inner]);
                        }
                        expected.push_back(sum);
                    }
                    const std::vector<onnx::NewAttribute> attributes{{"exclusive", std::int64_t{exclusive}},
                                                                     {"reverse", std::int64_t{reverse}}};
                    CHECK(both_ways("CumSum", dims, x, 14, attributes, {axis}) == expected);
                }
            }
        }
    }
    // An infinity reaches only the sums behind it.
    const std::vector<double> sums =
        run(parse(Model({5}, 14).integers("i", {0}).node("CumSum", {"x", "i"}, {"y"}).bytes()), {1, 2, infinity, 3, 4});
    CHECK(sums[0] == 1);
    CHECK(sums[1] == 3);
    CHECK(std::isinf(sums[4]));
}

TEST_CASE("one-hot vectors, also for indices from the end and of nothing") {
    const std::vector<float> indices{0, 2, -1, -3, 3, -4};
    for (const std::int64_t axis : {-1, 0, 1, 2}) {
        for (auto const& values : {std::pair{0.0F, 1.0F}, {0.0F, 5.0F}, {2.0F, 5.0F}, {-infinity, 0.1F}}) {
            const float off = values.first, on = values.second;
            CAPTURE(axis);
            CAPTURE(on);
            Model file({2, 3}, 11);
            file.integers("depth", {3}).floats("values", {2}, {off, on});
            const ps::OnnxModel model =
                parse(file.node("OneHot", {"x", "depth", "values"}, {"y"}, {{"axis", axis}}).bytes());
            std::vector<double> expected(18);
            for (std::size_t i = 0; i < 6; ++i) {
                for (std::size_t d = 0; d < 3; ++d) {
                    const bool is_on = indices[i] == static_cast<float>(d) || indices[i] == static_cast<float>(d) - 3;
                    const std::size_t place = axis == 0   ? d * 6 + i
                                              : axis == 1 ? (i / 3 * 3 + d) * 3 + i % 3
                                                          : i * 3 + d;
                    expected[place] = static_cast<double>(is_on ? on : off);
                }
            }
            CHECK(run(model, indices) == expected);
        }
    }
    const auto fault = [](Ints const& depth, std::vector<float> const& values) {
        return refusal(Model({2, 3}, 11)
                           .integers("depth", depth)
                           .floats("values", {static_cast<std::int64_t>(values.size())}, values)
                           .node("OneHot", {"x", "depth", "values"}, {"y"})
                           .bytes());
    };
    CHECK(fault({0}, {0, 1}) ==
          "file: node the node (OneHot): a depth of 0 is outside of what is supported, 1 to 16777216");
    CHECK(fault({2, 2}, {0, 1}) == "file: node the node (OneHot): its depth has 2 elements");
    CHECK(fault({2}, {0, 1, 2}) == "file: node the node (OneHot): its values are 3, not 2");
}

TEST_CASE("the first of the largest elements is 1") {
    const std::vector<float> x{3, 1, 3, 0, -infinity, -infinity, 7, 7, 9, 2, 9, 1};
    const auto largest = [&](int opset, Ints const& dims, std::vector<onnx::NewAttribute> const& attributes) {
        return run(parse(Model(dims, opset).node("Hardmax", {"x"}, {"y"}, attributes).bytes()), x);
    };
    CHECK(largest(13, {2, 2, 3}, {}) == Line{1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0});
    CHECK(largest(13, {2, 2, 3}, {{"axis", std::int64_t{1}}}) == Line{1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0});
    CHECK(largest(13, {2, 2, 3}, {{"axis", std::int64_t{0}}}) == Line{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
    // Before opset 13, all axes from that one on are one.
    CHECK(largest(11, {2, 2, 3}, {}) == Line{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0});
}

}  // namespace import_positions
