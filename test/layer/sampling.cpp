#include <primsel/layer/sampling.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace sampling_layers {

namespace ps = primsel;
using ps::Fault;
using ps::GridSampleParams;
using ps::RoiAlignParams;
using Shapes = std::vector<ps::Shape>;

static_assert(ps::LayerParams<GridSampleParams> && ps::LayerParams<RoiAlignParams>);

TEST_CASE("grid sampling has the places' extents, and refuses what is not a place") {
    CHECK(GridSampleParams{}.output(Shapes{{3, 5, 7}, {4, 6, 2}}) == ps::Shape{3, 4, 6});
    CHECK(GridSampleParams{}.check(Shapes{{3, 5, 7}, {4, 6, 2}}) == Fault::none);
    CHECK(GridSampleParams{}.check(Shapes{{3, 5, 7}}) == Fault::wrong_input_count);
    CHECK(GridSampleParams{}.check(Shapes{{3, 5, 7}, {4, 6, 3}}) == Fault::shapes_differ);
    const GridSampleParams groups{.groups = 2};
    CHECK(groups.output(Shapes{{6, 5, 7}, {4, 6, 2}}) == ps::Shape{6, 2, 6});
    CHECK(groups.check(Shapes{{3, 5, 7}, {4, 6, 2}}) == Fault::groups_do_not_divide);
    CHECK(groups.check(Shapes{{6, 5, 7}, {3, 6, 2}}) == Fault::groups_do_not_divide);
    GridSampleParams volume{.depth = 5};
    CHECK(volume.check(Shapes{{3, 10, 7}, {4, 6, 3}}) == Fault::none);
    CHECK(volume.check(Shapes{{3, 12, 7}, {4, 6, 3}}) == Fault::shapes_differ);
    CHECK(volume.check(Shapes{{3, 10, 7}, {4, 6, 2}}) == Fault::shapes_differ);
    volume.mode = ps::ResizeMode::cubic;
    CHECK(volume.impossible() == "a volume has no cubic means");
    CHECK(GridSampleParams{}.check(Shapes{{1, 1 << 20, 1 << 20}, {1, 1, 2}}) == Fault::too_large);
    CHECK(GridSampleParams{.groups = 0}.impossible() == "the groups must be from 1 to 2^29");
    CHECK(GridSampleParams{.depth = -1}.impossible() == "the depth must be from 0 to 2^29");
}

TEST_CASE("pooling of boxes has channels for each box") {
    const RoiAlignParams params{.size = {2, 3}, .images = 2};
    CHECK(params.output(Shapes{{6, 9, 9}, {1, 5, 4}, {1, 1, 5}}) == ps::Shape{15, 2, 3});
    CHECK(params.check(Shapes{{6, 9, 9}, {1, 5, 4}, {1, 1, 5}}) == Fault::none);
    CHECK(params.check(Shapes{{6, 9, 9}, {1, 5, 4}}) == Fault::wrong_input_count);
    CHECK(params.check(Shapes{{6, 9, 9}, {1, 5, 4}, {1, 1, 4}}) == Fault::shapes_differ);
    CHECK(params.check(Shapes{{6, 9, 9}, {1, 5, 5}, {1, 1, 5}}) == Fault::shapes_differ);
    CHECK(params.check(Shapes{{5, 9, 9}, {1, 5, 4}, {1, 1, 5}}) == Fault::groups_do_not_divide);
    CHECK(RoiAlignParams{.size = 0}.impossible().starts_with("the height and width"));
    CHECK(RoiAlignParams{.images = 0}.impossible().starts_with("the images"));
    CHECK(RoiAlignParams{.samples = 1025}.impossible() == "the samples of a bin must be from 0 to 1024");
    CHECK(RoiAlignParams{.scale = HUGE_VALF}.impossible() == "the scale must be finite");
    CHECK(RoiAlignParams{.size = 1 << 20}.check(Shapes{{1 << 10, 9, 9}, {1, 5, 4}, {1, 1, 5}}) == Fault::too_large);
}

}  // namespace sampling_layers
