#include "own_primitive.hpp"

#include <primsel/primitive/all.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace ps = primsel;

namespace {

static_assert(ps::Primitive<Own>);

// Near misses.
struct NoId {
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = ps::chw;
    using out_layout = ps::chw;
    [[nodiscard]] static ps::Support supports(ps::ConvShape const&) { return ps::Support::yes(); }
    template <class Arch>
    static void run(ps::ConvShape const&, ps::ConvArgs const&) noexcept {}
};
struct NoIdButThis : NoId {
    static constexpr std::string_view id = "complete";
};
struct IdIsANumber : NoId {
    static constexpr int id = 7;
};
struct FamilyIsAName : NoIdButThis {
    static constexpr std::string_view family = "other";
};
struct LayoutIsNone : NoIdButThis {
    using in_layout = int;
};
struct SupportsWithoutReason : NoIdButThis {
    [[nodiscard]] static bool supports(ps::ConvShape const&) { return true; }
};
struct SupportsAChangeableShape : NoIdButThis {
    [[nodiscard]] static ps::Support supports(ps::ConvShape&) { return ps::Support::yes(); }
};
struct MayThrow : NoIdButThis {
    template <class Arch>
    static void run(ps::ConvShape const&, ps::ConvArgs const&) {}
};
struct ForNoArch : NoIdButThis {
    static void run(ps::ConvShape const&, ps::ConvArgs const&) noexcept {}
};
struct OtherArguments : NoIdButThis {
    template <class Arch>
    static void run(ps::ConvShape const&, const float*, float*) noexcept {}
};
static_assert(ps::Primitive<NoIdButThis>);
static_assert(!ps::Primitive<NoId> && !ps::Primitive<IdIsANumber> && !ps::Primitive<FamilyIsAName>);
static_assert(!ps::Primitive<LayoutIsNone>);
static_assert(!ps::Primitive<SupportsWithoutReason> && !ps::Primitive<SupportsAChangeableShape>);
static_assert(!ps::Primitive<MayThrow> && !ps::Primitive<ForNoArch> && !ps::Primitive<OtherArguments>);
static_assert(!ps::Primitive<int> && !ps::Primitive<ps::ConvShape> && !ps::Primitive<ps::hwc>);

/// Everything that it may have.
struct Full : NoIdButThis {
    static constexpr bool fuses_epilogue = true;
    static constexpr double error_bound = 1e-3;
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ps::ConvShape const& s, std::size_t workers) {
        return workers * s.in_pixels();
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ps::ConvShape const& s) {
        return s.kernel_size() + 1;
    }
    template <class Arch>
    static void pack(ps::ConvShape const& s, const float* kernel, float* dst) {
        *dst = 8.0F;
        std::copy_n(kernel, s.kernel_size(), dst + 1);
    }
    template <class Arch>
    [[nodiscard]] static ps::Work work(ps::ConvShape const&) {
        return ps::Work{}.add({.operations = 4}).add({.operations = 5});
    }
};

}  // namespace

TEST_CASE("what a primitive does not say has a default") {
    constexpr ps::ConvShape shape{.c = 2, .k = 3, .h = 4, .w = 5, .fh = 1, .fw = 2};
    const std::vector<float> kernel{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    std::vector<float> packed(13);

    using Default = ps::PrimitiveTraits<NoIdButThis, ps::default_arch>;
    static_assert(!Default::fuses_epilogue() && Default::error_bound() == 2e-5);
    CHECK(Default::scratch_floats(shape, 3) == 0);
    CHECK(Default::packed_floats(shape) == 12);
    Default::pack(shape, kernel.data(), packed.data());
    CHECK(std::equal(kernel.begin(), kernel.end(), packed.begin()));
    CHECK(packed[12] == 0.0F);
    const ps::Work work = Default::work(shape);
    CHECK(work.count == 1);
    CHECK(work.begin()->operations == shape.operations());
    CHECK(work.begin()->bytes == 4.0 * (2 * 4 * 5 + 3 * 4 * 4));

    using Own = ps::PrimitiveTraits<Full, ps::default_arch>;
    static_assert(Own::fuses_epilogue() && Own::error_bound() == 1e-3);
    CHECK(Own::scratch_floats(shape, 3) == 60);
    CHECK(Own::packed_floats(shape) == 13);
    Own::pack(shape, kernel.data(), packed.data());
    CHECK(packed[0] == 8.0F);
    CHECK(packed[12] == 11.0F);
    CHECK(Own::work(shape).count == 2);
}

TEST_CASE("support is yes, or no with a reason") {
    static_assert(ps::Support::yes() && ps::Support::yes().reason().empty());
    static_assert(!ps::Support::no("needs stride 1") && ps::Support::no("needs stride 1").reason() == "needs stride 1");
}

TEST_CASE("ids are derived from the template arguments, in the published grammar") {
    CHECK(ps::Winograd<4, 3, 8>::id.view() == "winograd-4x4-3x3-vec-8");
    CHECK(ps::Winograd<2, 5, 1>::id.view() == "winograd-2x2-5x5");
    using Row = ps::Im2<ps::Patch::row, ps::PatchCopy::copy_short, ps::GemmForm::abt, ps::GemmOut::ki>;
    CHECK(Row::id.view() == "im2row-copy-short-abt-ki");
    using Col = ps::Im2<ps::Patch::col, ps::PatchCopy::copy_self, ps::GemmForm::atb, ps::GemmOut::ik>;
    CHECK(Col::id.view() == "im2col-copy-self-atb-ik");
    CHECK(ps::Conv1x1Gemm<ps::GemmForm::ab, ps::GemmOut::ki>::id.view() == "conv-1x1-gemm-ab-ki");
    CHECK(ps::Kn2AccumulateShift<true>::id.view() == "kn2row-as");
    CHECK(ps::Kn2RowAccumulate<ps::GemmForm::atbt>::id.view() == "kn2row-aa-atbt");
}
