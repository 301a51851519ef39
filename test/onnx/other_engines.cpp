// Rows of docs/onnx/other_engines.md that no other test holds.
#include "imported.hpp"

namespace imported {

TEST_CASE("auto_pad SAME counts, whatever pads say beside it") {
    const auto result = [](std::vector<onnx::NewAttribute> const& attributes) {
        return run(parse(Model({1, 1, 3, 3})
                             .floats("w", {1, 1, 3, 3}, std::vector<float>(9, 1.0F))
                             .node("Conv", {"x", "w"}, {"y"}, attributes)
                             .bytes()),
                   std::vector<float>(9, 1.0F));
    };
    const std::vector<double> same{4, 6, 4, 6, 9, 6, 4, 6, 4};
    CHECK(result({{"auto_pad", "SAME_UPPER"}}) == same);
    CHECK(result({{"auto_pad", "SAME_UPPER"}, {"pads", Ints{0, 0, 0, 0}}}) == same);
    CHECK(result({{"auto_pad", "SAME_UPPER"}, {"pads", Ints{2, 0, 1, 0}}}) == same);
}

TEST_CASE("a slope of PRelu with one axis goes along the width, also of as many columns as channels") {
    const auto result =
        run(parse(Model({1, 3, 2, 3}).floats("s", {3}, {0.5F, 0.25F, 2}).node("PRelu", {"x", "s"}, {"y"}).bytes()),
            std::vector<float>(18, -4.0F));
    for (std::size_t i = 0; i < result.size(); ++i) CHECK(result[i] == Line{-2, -1, -8}[i % 3]);
    CHECK(result.size() == 18);
}

}  // namespace imported
