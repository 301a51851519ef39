#include <primsel/cost/extern_kernels.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace ps = primsel;

namespace {

/// Channels in blocks of eight, padded: a layout of the user's.
struct chw8c {
    static constexpr std::string_view name = "chw8c";
    [[nodiscard]] static constexpr std::size_t size(ps::Shape s) {
        return static_cast<std::size_t>((s.c + 7) / 8 * 8) * s.pixels();
    }
    [[nodiscard]] static constexpr std::size_t offset(ps::Shape s, ps::Coord at) {
        return (static_cast<std::size_t>(at.c / 8) * s.pixels() + static_cast<std::size_t>(at.h * s.w + at.w)) * 8 +
               static_cast<std::size_t>(at.c % 8);
    }
};

/// A minimal primitive of the user's.
struct Mine {
    static constexpr std::string_view id = "mine";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = chw8c;
    using out_layout = ps::chw;
    [[nodiscard]] static ps::Support supports(ps::ConvShape const& s) {
        return s.groups == 1 ? ps::Support::yes() : ps::Support::no("needs one group");
    }
    template <class Arch>
    static void run(ps::ConvShape const&, ps::ConvArgs const&) noexcept {}
};
struct Throws : Mine {
    template <class Arch>
    static void run(ps::ConvShape const&, ps::ConvArgs const&) {}
};
struct NoLayout : Mine {
    using in_layout = int;
};
struct NoReason : Mine {
    [[nodiscard]] static bool supports(ps::ConvShape const&) { return true; }
};

static_assert(ps::Primitive<Mine>);
static_assert(!ps::Primitive<Throws> && !ps::Primitive<NoLayout> && !ps::Primitive<NoReason> && !ps::Primitive<int>);

template <int m, int r>
constexpr bool exact = ps::detail::cook_toom<m, r>.defect() < 1e-9;
static_assert(exact<2, 3> && exact<3, 3> && exact<4, 3> && exact<6, 3> && exact<2, 5> && exact<3, 5> && exact<4, 5>);

}  // namespace

TEST_CASE("ids are unique, and derived from the template arguments") {
    std::set<std::string> ids;
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    for (ps::PrimitiveEntry const& entry : kernels.primitives) CHECK(ids.emplace(entry.id).second);
    CHECK(ids.size() == ps::AllPrimitives::size);
    CHECK(ps::Winograd<4, 3, 8>::id.view() == "winograd-4x4-3x3-vec-8");
    CHECK(ps::Winograd<2, 5, 1>::id.view() == "winograd-2x2-5x5");
    using Row = ps::Im2<ps::Patch::row, ps::PatchCopy::copy_short, ps::GemmForm::abt, ps::GemmOut::ki>;
    CHECK(Row::id.view() == "im2row-copy-short-abt-ki");
}

TEST_CASE("every family of the papers has two primitives or more") {
    for (const ps::Family family : {ps::Family::direct, ps::Family::im2, ps::Family::kn2, ps::Family::wino3,
                                    ps::Family::wino5, ps::Family::conv_1x1, ps::Family::mec}) {
        const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
        std::size_t count = 0;
        for (ps::PrimitiveEntry const& entry : kernels.primitives) count += entry.family == family;
        CAPTURE(std::string(to_string_view(family)));
        CHECK(count >= 2);
    }
}

TEST_CASE("a primitive and a layout of the user's stand in a table like any other") {
    using Layouts = ps::AllLayouts::with<chw8c>;
    constexpr auto const& table = ps::primitive_table<ps::TypeList<ps::DirectSum2d, Mine>, ps::default_arch, Layouts>;
    CHECK(table[1].id == "mine");
    CHECK(table[1].in_layout == 3);
    CHECK(table[1].out_layout == 0);
    CHECK_FALSE(table[1].fuses_epilogue);
    CHECK(table[1].supports({.c = 4, .k = 4, .groups = 2}).reason() == "needs one group");
    CHECK(table[1].packed_floats({.c = 4, .k = 4, .fh = 3, .fw = 3}) == 144);
}

TEST_CASE("what a ConvShape says of itself") {
    const ps::ConvShape s{.batch = 2,
                          .c = 8,
                          .k = 12,
                          .h = 11,
                          .w = 7,
                          .fh = 3,
                          .fw = 2,
                          .stride_h = 2,
                          .stride_w = 1,
                          .pad_top = 1,
                          .pad_bottom = 0,
                          .pad_left = 2,
                          .pad_right = 1,
                          .dilation_h = 2,
                          .dilation_w = 3,
                          .groups = 4};
    CHECK(s.valid());
    CHECK(s.span_h() == 5);
    CHECK(s.span_w() == 4);
    CHECK(s.out_shape() == ps::Shape{.c = 12, .h = 4, .w = 7});
    CHECK(s.depth() == 12);
    CHECK(s.kernel_size() == 144);
    CHECK(s.operations() == 2.0 * 2 * 28 * 12 * 12);
    CHECK(to_string(s) == "8x11x7 -> 12x4x7, 3x2, stride 2x1, pad 1,0,2,1, dilation 2x3, groups 4, batch 2");
    CHECK_FALSE(ps::ConvShape{.c = 3, .k = 4, .groups = 2}.valid());
    CHECK_FALSE(ps::ConvShape{.h = 2, .w = 2, .fh = 3, .fw = 3}.valid());
}
