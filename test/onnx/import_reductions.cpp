// Imported reductions.
#include "imported.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace imported {

TEST_CASE("a reduction over no axes sums nothing, and does the rest of what it does") {
    const auto same = [](double x) { return x; };
    const auto absolute = [](double x) { return std::abs(x); };
    const std::pair<std::string_view, double (*)(double)> operators[] = {
        {"ReduceL1", absolute},
        {"ReduceL2", absolute},
        {"ReduceLogSum", [](double x) { return std::log(x); }},
        {"ReduceLogSumExp", same},
        {"ReduceMax", same},
        {"ReduceMean", same},
        {"ReduceMin", same},
        {"ReduceProd", same},
        {"ReduceSum", same},
        {"ReduceSumSquare", [](double x) { return x * x; }},
    };
    for (auto const& entry : operators) {
        std::string const op(entry.first);
        auto const& right = entry.second;
        std::vector<float> x = numbers(24, 5);
        if (op == "ReduceLogSum") {
            for (float& value : x) value = std::abs(value) + 0.5F;
        }
        std::vector<double> expected;
        for (const float value : x) expected.push_back(right(static_cast<double>(value)));
        for (const bool has_axes : {false, true}) {
            for (const std::int64_t keeps : {0, 1}) {
                for (Ints const& dims : {Ints{1, 2, 3, 4}, Ints{2, 12}, Ints{24}}) {
                    CAPTURE(op);
                    CAPTURE(has_axes);
                    CAPTURE(ps::to_string(dims));
                    const std::vector<onnx::NewAttribute> attributes{{"noop_with_empty_axes", std::int64_t{1}},
                                                                     {"keepdims", keeps}};
                    const Strings more = has_axes ? Strings{"axes"} : Strings{};
                    const auto inputs = [&](std::string const& first) {
                        Strings names{first};
                        names.insert(names.end(), more.begin(), more.end());
                        return names;
                    };
                    const ps::OnnxModel computed =
                        parse(Model(dims, 18).integers("axes", {}).node(op, inputs("x"), {"y"}, attributes).bytes());
                    CHECK(computed.outputs[0].dims == dims);
                    CHECK(is_close(run(computed, x), expected));
                    // The same of a constant.
                    const ps::OnnxModel folded = parse(Model(dims, 18)
                                                           .integers("axes", {})
                                                           .floats("c", {1, 24}, x)
                                                           .node(op, inputs("c"), {"r"}, attributes)
                                                           .node("Flatten", {"x"}, {"f"}, {{"axis", std::int64_t{0}}})
                                                           .node("Add", {"f", "r"}, {"y"})
                                                           .bytes());
                    CHECK(is_close(run(folded, std::vector<float>(24, 0.0F)), expected));
                }
            }
        }
    }
    // Without the attribute, and before it was known, no axes are all axes.
    for (const int opset : {13, 18}) {
        const ps::OnnxModel all = parse(Model({1, 4}, opset).node("ReduceL1", {"x"}, {"y"}).bytes());
        CHECK(run(all, {1, -2, 3, -4}) == Line{10});
    }
}

}  // namespace imported
