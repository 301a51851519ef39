// Operators that heads of detectors need: TopK, NonMaxSuppression, its boxes.
#include "imported.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace imported {

TEST_CASE("the k of TopK is one whole number that the axis has") {
    const auto refused = [](Model& model) { return refusal(model.bytes()); };
    CHECK(kinds_of(parse(Model().integers("k", {3}).node("TopK", {"x", "k"}, {"y"}).bytes())) ==
          Kinds{"input", "reshape", "top_k", "reshape"});
    CHECK(refused(Model().integers("k", {5}).node("TopK", {"x", "k"}, {"y"})) ==
          "file: node the node (TopK): k of 5 is outside of what is supported, 1 to 4");
    CHECK(refused(Model().integers("k", {1, 2}).node("TopK", {"x", "k"}, {"y"})) ==
          "file: node the node (TopK): its k has 2 elements");
    CHECK(refused(Model().floats("k", {}, {NAN}).node("TopK", {"x", "k"}, {"y"})) ==
          "file: node the node (TopK): its k is of float32");
}

namespace {

const std::vector<float> two_groups{0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11, 0, 10, 1, 11.1F};

/// Boxes that are known, and their scores at run time: x.
struct Detector : Model {
    explicit Detector(std::int64_t most, std::vector<std::string> const& thresholds = {"iou", "score"})
        : Model({1, 2, 4}) {
        std::vector<std::string> read{"boxes", "x", "most"};
        read.insert(read.end(), thresholds.begin(), thresholds.end());
        floats("boxes", {1, 4, 4}, two_groups).floats("iou", {1}, {0.5F}).floats("score", {1}, {0.1F});
        integers("most", {most}).node("NonMaxSuppression", read, {"rows"}, {}, "detect");
    }
};
const std::vector<float> two_classes{0.5F, 0.6F, 0.7F, 0.8F, 0, 0, 0, 1};

}  // namespace

TEST_CASE("NonMaxSuppression has a row for each box that there can be") {
    const ps::OnnxModel model = parse(Detector(3).bytes("rows"));
    CHECK(model.outputs[0].dims == Ints{6, 3});
    CHECK(model.outputs[0].type == ps::OnnxType::float32);  // as the file says
    CHECK(run(model, two_classes) == Line{0, 0, 3, 0, 0, 1, 0, 1, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1});
    CHECK(parse(Detector(1LL << 40).bytes("rows")).outputs[0].dims == Ints{8, 3});
    // Without thresholds every overlap is too much, and no score too small.
    const std::vector<double> rows = run(parse(Detector(3, {}).bytes("rows")), two_classes);
    CHECK(Line(rows.begin(), rows.begin() + 12) == Line{0, 0, 3, 0, 0, 1, 0, 1, 3, 0, 1, 0});
    CHECK(parse(Detector(0).bytes("rows")).outputs[0].dims == Ints{0, 3});
    CHECK(parse(Detector(-1).bytes("rows")).outputs[0].dims == Ints{0, 3});
}

TEST_CASE("the images of a batch are those of the rows") {
    Model batch({2, 1, 4});
    std::vector<float> boxes = two_groups;
    boxes.insert(boxes.end(), two_groups.begin(), two_groups.end());
    batch.floats("boxes", {2, 4, 4}, boxes).floats("iou", {1}, {0.5F}).integers("most", {2});
    batch.node("NonMaxSuppression", {"boxes", "x", "most", "iou"}, {"y"});
    const ps::OnnxModel model = parse(batch.bytes());
    CHECK(model.graph.batch() == 1);
    CHECK(run(model, two_classes) == Line{0, 0, 3, 0, 0, 1, 1, 0, 3, 1, 0, 0});
}

TEST_CASE("boxes and thresholds that do not fit are refused") {
    const auto refused = [](Ints const& boxes, Ints const& scores, float threshold, std::int64_t centers = 0) {
        return refusal(
            Model(scores)
                .input("boxes", boxes)
                .integers("most", {2})
                .floats("iou", {1}, {threshold})
                .node("NonMaxSuppression", {"boxes", "x", "most", "iou"}, {"y"}, {{"center_point_box", centers}})
                .bytes());
    };
    CHECK(refused({1, 9, 4}, {1, 2, 9}, 0.5F) == "");
    CHECK(refused({1, 9, 4}, {1, 2, 8}, 0.5F) ==
          "file: node the node (NonMaxSuppression): boxes of 1x9x4 with scores of 1x2x8");
    CHECK(refused({1, 9, 5}, {1, 2, 9}, 0.5F) ==
          "file: node the node (NonMaxSuppression): boxes of 1x9x5 with scores of 1x2x9");
    CHECK(refused({9, 4}, {2, 9}, 0.5F) == "file: node the node (NonMaxSuppression): boxes of 9x4 with scores of 2x9");
    CHECK(refused({1, 9, 4}, {1, 2, 9}, 1.5F).find("the threshold of the overlap must be from 0 to 1") !=
          std::string::npos);
    CHECK(refused({1, 9, 4}, {1, 2, 9}, 0.5F, 2).find("center_point_box of 2 is outside") != std::string::npos);
    CHECK(refused({1, 1 << 20, 4}, {1, 1 << 12, 1 << 20}, 0.5F) != "");
}

TEST_CASE("boxes by the indices of those that stay; zeros where there are no more") {
    Detector model(3);
    model.floats("table", {4, 2}, {10, 11, 20, 21, 30, 31, 40, 41}).integers("column", {2}).integers("axis", {1});
    model.node("Gather", {"rows", "column"}, {"which"}, {{"axis", std::int64_t{1}}})
        .node("Squeeze", {"which", "axis"}, {"list"})
        .node("Gather", {"table", "list"}, {"y"});
    const ps::OnnxModel parsed = parse(model.bytes());
    CHECK(parsed.outputs[0].dims == Ints{6, 2});
    CHECK(run(parsed, two_classes) == Line{40, 41, 20, 21, 40, 41, 0, 0, 0, 0, 0, 0});
}

}  // namespace imported
