// Files that are broken, or made to break their reader: each is refused with a message, and takes no more memory than
// its size justifies.
#include "hostile.hpp"
#include "../quick.hpp"

#include <doctest/doctest.h>

#include <primsel/network/network.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/onnx/import.hpp>

#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;
using namespace ps::layer;
using namespace models;
using namespace hostile;

namespace {

struct Branches : ps::Network<Input<3, 17, 17>, Conv<8, 3, Stride<2>, NoBias>, BatchNorm, Relu, MaxPool<3, Stride<2>>,
                              Residual<Conv<8, 3>, Relu, Conv<8, 3>>, Relu,
                              Concat<Path<Conv<4, 1>>, Path<Conv<4, 3>, Sigmoid>>, GlobalAvgPool, Dense<10>, Softmax> {
};
std::string real_file() { return ps::to_onnx(Branches::graph(), ps::random_weights(Branches::graph())); }

}  // namespace

TEST_CASE("a file cut off at every hundredth of its length is refused") {
    const std::string file = real_file();
    REQUIRE(refusal(file).empty());
    for (std::size_t percent = 0; percent < 100; ++percent) {
        CAPTURE(percent);
        const std::string cut = file.substr(0, file.size() * percent / 100);
        std::string message;
        const std::size_t allocated = scratch::allocated_by([&] { message = refusal(cut); });
        CHECK(message.find("not an ONNX model") != std::string::npos);
        CHECK(is_justified(allocated, cut.size()));
    }
}

TEST_CASE("a file with changed bits is a model or refused, and takes no more memory for it") {
    const std::string file = real_file();
    std::mt19937 random(1);
    std::size_t refused = 0;
    const std::size_t files = quick() ? 800 : 4000;
    for (std::size_t i = 0; i < files; ++i) {
        std::string changed = file;
        // Most of a file is weights; what they are matters to nobody here.
        for (std::size_t flips = 1 + random() % 3; flips > 0; --flips) {
            const std::size_t at = random() % changed.size();
            changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
        }
        CAPTURE(i);
        bool is_refused = false;
        const std::size_t allocated = scratch::allocated_by([&] { is_refused = !refusal(changed).empty(); });
        CHECK(is_justified(allocated, changed.size()));
        refused += is_refused ? 1 : 0;
    }
    CHECK(refused > (quick() ? 20U : 100U));
}

TEST_CASE("every byte of a small file, changed to what hurts most") {
    const std::string file = Model()
                                 .floats("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5F))
                                 .integers("shape", {1, -1})
                                 .node("Conv", {"x", "w"}, {"a"}, {{"pads", Ints{1, 1, 1, 1}}})
                                 .node("Reshape", {"a", "shape"}, {"y"})
                                 .bytes();
    REQUIRE(refusal(file).empty());
    for (std::size_t at = 0; at < file.size(); ++at) {
        for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
            std::string changed = file;
            changed[at] = static_cast<char>(value);
            CAPTURE(at);
            CAPTURE(value);
            const std::size_t allocated = scratch::allocated_by([&] { (void)refusal(changed); });
            CHECK(is_justified(allocated, changed.size()));
        }
    }
}

TEST_CASE("what is no model") {
    CHECK(refusal("") == "file: not an ONNX model: it has no graph");
    CHECK(refusal("hello, world").starts_with("file: "));
    CHECK(refusal(std::string(1000, '\0')).starts_with("file: not an ONNX model"));
    CHECK(refusal(std::string(1000, '\xff')).starts_with("file: not an ONNX model"));
    CHECK(refusal(Model({1, 2}, 29).node("Relu", {"x"}, {"y"}).bytes()) ==
          "file: opset 29 is newer than 28, the newest that is supported");
    CHECK(refusal(Model({1, 2}, 0).node("Relu", {"x"}, {"y"}).bytes()).find("states no version") != std::string::npos);
    CHECK_THROWS_WITH_AS((void)ps::load_onnx("/nowhere/model.onnx"),
                         "/nowhere/model.onnx: cannot read: No such file or directory", ps::error);
}

TEST_CASE("graphs that cannot run are refused, naming where") {
    // A node that needs its own result, directly and through another.
    CHECK(refusal(Model().node("Add", {"x", "y"}, {"y"}).bytes()) ==
          "file: node the node (Add): needs its own result: the graph has a cycle");
    CHECK(refusal(Model().node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Relu", {"b"}, {"y"}).bytes())
              .find("cycle") != std::string::npos);
    CHECK(refusal(Model().node("Relu", {"x"}, {"y"}).node("Tanh", {"x"}, {"y"}).bytes()) ==
          "file: node the node (Tanh): its output y is another node's too");
    CHECK(refusal(Model().node("Relu", {"z"}, {"y"}).bytes()) ==
          "file: node the node (Relu): its input z is defined nowhere");
    CHECK(refusal(Model().node("Conv", {"x", "w"}, {"y"}).bytes()) ==
          "file: node the node (Conv): its input w is defined nowhere");
    CHECK(refusal(Model().node("Relu", {"x"}, {"z"}).bytes()) == "file: output y is defined nowhere");
    CHECK(refusal(Model().node("Loop", {"x"}, {"y"}).bytes()) == "file: unsupported operators: Loop (node the node)");
    CHECK(refusal(Model().node("If", {"x"}, {"y"}).bytes()) ==
          "file: node the node (If): its condition x is not one boolean");
    CHECK(refusal(Model().node("If", {}, {"y"}).bytes()) ==
          "file: node the node (If): its condition is defined nowhere");
    CHECK(refusal(Model().integers("c", {1}).node("If", {"c"}, {"y"}).bytes()) ==
          "file: node the node (If): its then_branch is missing");
    CHECK(refusal(Model().integers("c", {1, 0}).node("If", {"c"}, {"y"}).bytes()) ==
          "file: node the node (If): its condition c is not one boolean");
    CHECK(refusal(Model().node("Relu", {}, {"y"}).bytes()) == "file: node the node (Relu): input 0 is missing");
    CHECK(refusal(Model().node("Relu", {"x"}, {"x"}).bytes("x")).find("cycle") != std::string::npos);
    CHECK(refusal(Model().floats("w", {1}, {1}).node("Relu", {"w"}, {"x"}).bytes("x")) ==
          "file: node the node (Relu): its output x is an input or initializer too");
    CHECK(refusal(Model().floats("w", {1}, {1}).floats("w", {1}, {1}).node("Relu", {"x"}, {"y"}).bytes()) ==
          "file: tensor w is there twice");
    // Nodes that no output needs do not matter.
    CHECK(refusal(Model().node("If", {"q"}, {"z"}).node("Relu", {"x"}, {"y"}).bytes()).empty());
    // Nodes may come in any order, although the standard wants them sorted.
    CHECK(refusal(Model().node("Relu", {"a"}, {"y"}).node("Tanh", {"x"}, {"a"}).bytes()).empty());
}

TEST_CASE("operands without an axis, of which one is known") {
    for (const std::string_view op : {"Add", "Max", "Equal", "Xor", "Where"}) {
        CAPTURE(op);
        std::vector<std::string> inputs{"x", "c"};
        if (op == "Where") inputs = {"x", "c", "x"};
        const std::string message = refusal(Model(Ints{}).floats("c", {}, {1}).node(op, inputs, {"y"}).bytes());
        CHECK((message.empty() || message.starts_with("file: ")));
    }
}

TEST_CASE("weights that would make every result NaN are refused by the file\'s name") {
    const float nan = std::nanf("");
    const std::string bytes =
        Model().floats("w", {1, 2, 1, 1}, {1, nan}).node("Conv", {"x", "w"}, {"y"}, {}, "head").bytes();
    const ps::OnnxModel model = ps::parse_onnx("face.onnx", shared(bytes));
    CHECK_THROWS_WITH_AS(ps::check_weights(model.graph, model.weights),
                         "face.onnx: 0 of 1 weights fit the network\n  not a number: head.weight[0, 1, 0, 0] is nan",
                         ps::error);
}
