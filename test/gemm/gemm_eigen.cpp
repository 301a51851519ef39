// Nothing where Eigen is not installed.
#if __has_include(<Eigen/Core>)
#include "gemm_laws.hpp"

#include <primsel/gemm/gemm_eigen.hpp>

#include <map>

using namespace laws;

namespace {

static_assert(ps::Gemm<ps::EigenGemm>);

/// The primitives that take a Gemm, with Eigen's.
using OnEigen =
    ps::TypeList<ps::Im2<ps::Patch::col, ps::PatchCopy::copy_short, ps::GemmForm::ab, ps::GemmOut::ki, ps::EigenGemm>,
                 ps::Im2<ps::Patch::row, ps::PatchCopy::copy_short, ps::GemmForm::abt, ps::GemmOut::ki, ps::EigenGemm>,
                 ps::Im2<ps::Patch::col, ps::PatchCopy::copy_self, ps::GemmForm::atb, ps::GemmOut::ik, ps::EigenGemm>,
                 ps::Conv1x1Gemm<ps::GemmForm::ab, ps::GemmOut::ik, ps::EigenGemm>,
                 ps::Conv1x1Gemm<ps::GemmForm::atbt, ps::GemmOut::ki, ps::EigenGemm>, ps::Kn2Row<ps::EigenGemm>,
                 ps::Kn2Col<ps::EigenGemm>, ps::Kn2AccumulateShift<true, ps::EigenGemm>,
                 ps::Kn2RowAccumulate<ps::GemmForm::atb, ps::EigenGemm>>;

}  // namespace

TEST_CASE("EigenGemm multiplies") { check_gemm<ps::EigenGemm>(); }

TEST_CASE("EigenGemm gives the same bits on every executor") { check_gemm_bits<ps::EigenGemm>(); }

TEST_CASE("primitives compute the definition with EigenGemm") {
    const List list = make_list(ps::primitive_table<OnEigen>, ps::AllLayouts{});
    ps::Sequential sequential;
    std::map<std::string_view, int> runs;
    for (ps::ConvShape const& shape : odd_shapes()) {
        if (shape.operations() > 5e5) continue;
        const Problem problem(shape, Values::integers);
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            ++runs[entry.id];
            const Epilogue epilogue = entry.fuses_epilogue ? epilogues[1] : Epilogue{};
            const Outcome outcome = run(list, entry, problem, epilogue, sequential, Watch::heap);
            CHECK(outcome.intact);
            CHECK(equal(outcome.dst, problem.exact(epilogue)));
        }
    }
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        CAPTURE(std::string(entry.id));
        CHECK(runs[entry.id] >= 5);
    }
}
#endif
