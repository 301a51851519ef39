#include <primsel/cost/features.hpp>
#include <primsel/kernels/make_kernels.hpp>
#include <primsel/learn/evaluate.hpp>
#include <primsel/primitive/all.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace ps = primsel;

TEST_CASE("the family of every published id is the one that its primitive says") {
    const ps::Kernels kernels = ps::make_kernels<ps::PublishedPrimitives, ps::default_arch, ps::AllLayouts>();
    REQUIRE(kernels.primitives.size() == 75);
    for (ps::PrimitiveEntry const& primitive : kernels.primitives) {
        CAPTURE(primitive.id);
        CHECK(ps::family_of_id(primitive.id) == primitive.family);
    }
    CHECK(ps::family_of_id("winograd-") == ps::Family::other);
    CHECK(ps::family_of_id("winograd-3") == ps::Family::other);
    CHECK(ps::family_of_id("") == ps::Family::other);
}

TEST_CASE("relative errors: medians of subjects and families, without what was not measured") {
    ps::Dataset data{.inputs = {"c", "k", "im", "f", "s"},
                     .subjects = {"im2row-scan-ab-ik", "kn2row", "direct-sum2d"},
                     .about = {},
                     .configurations = {},
                     .seconds = {}};
    const int configuration[] = {8, 8, 8, 3, 1};
    for (const double factor : {1.0, 2.0, 4.0}) {
        const double times[] = {factor, factor > 1 ? factor : 0, 0};
        data.add(configuration, times);
    }
    ps::Table predicted(3, 3, 0.0F);
    for (std::size_t row = 0; row < 3; ++row) {
        predicted(row, 0) = static_cast<float>(std::log(data.time(row, 0) * (row == 0 ? 1.1 : row == 1 ? 0.8 : 1.5)));
        predicted(row, 1) = static_cast<float>(std::log(std::max(data.time(row, 1), 1e-9) * 1.25));
    }
    const ps::Evaluation result = ps::evaluate(data, predicted);
    REQUIRE(result.subjects.size() == 2);
    CHECK(result.subjects[0].samples == 3);
    CHECK(result.subjects[0].median == doctest::Approx(0.2).epsilon(1e-5));
    CHECK(result.subjects[1].samples == 2);
    CHECK(result.subjects[1].median == doctest::Approx(0.25).epsilon(1e-5));
    CHECK(result.mean_of_medians() == doctest::Approx(0.225).epsilon(1e-5));
    CHECK(result.families.size() == 2);
    CHECK(result.all.samples == 5);
    CHECK_THROWS_AS((void)ps::evaluate(data, ps::Table(2, 3)), ps::error);
}
