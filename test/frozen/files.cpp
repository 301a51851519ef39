// Files of several plans: they share what is equal, and are read as they were written.
#include "../error_of.hpp"

#include <primsel/frozen/files.hpp>
#include <primsel/frozen/weights.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace frozen_files {

namespace ps = primsel;

std::string section(std::size_t lines, char value) { return std::string(64 * lines, value); }

TEST_CASE("plans share the sections that are equal, and are read as they were written") {
    const std::string shared = section(8, 'a');
    const std::vector<ps::frozen::PackedPlan> plans{{"wide", {section(3, 'b'), shared, section(1, 'c')}},
                                                    {"narrow", {shared, section(5, 'd'), shared}},
                                                    {"other", {section(3, 'b')}},
                                                    {"none", {}}};
    const std::string file = ps::frozen::weights_file(plans);
    std::set<std::string> distinct;
    std::size_t sections = 0, bytes = sizeof(ps::frozen::WeightsHeader);
    for (ps::frozen::PackedPlan const& plan : plans) {
        distinct.insert(plan.sections.begin(), plan.sections.end());
        sections += plan.sections.size();
    }
    bytes += plans.size() * sizeof(ps::frozen::WeightsPlan) + sections * sizeof(ps::frozen::WeightsSection);
    bytes = (bytes + 63) / 64 * 64;
    for (std::string const& section : distinct) bytes += section.size();
    CHECK(file.size() == bytes);

    const std::vector<ps::frozen::PackedPlan> read = ps::frozen::packed_plans(file);
    REQUIRE(read.size() == plans.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
        CHECK(read[i].arch == plans[i].arch);
        CHECK(read[i].sections == plans[i].sections);
    }
    for (std::size_t size = 0; size < file.size(); size += 8) {
        CHECK_THROWS_AS(ps::frozen::packed_plans(file.substr(0, size)), ps::error);
    }
}

TEST_CASE("joined plans are chosen by the instruction set of the unit, the widest first") {
    const auto part = [](std::string const& arch, char value) {
        const ps::frozen::PackedPlan plan{arch, {section(2, 'a'), section(1, value)}};
        return ps::FrozenFiles{
            ps::join("struct net { /* ", arch, " */ };\n"), ps::frozen::weights_file(std::span(&plan, 1)), {}};
    };
    const std::vector<ps::FrozenFiles> parts{part("sse4_2_70", 'b'), part("avx512_7f", 'c'), part("avx2_7c", 'd')};
    const ps::FrozenFiles joined = ps::frozen::join_plans("net", parts, "/there/net.bin");
    std::size_t at = 0;
    for (const std::string_view text :
         {"#if defined(__AVX512F__)", "avx512_7f", "#elif defined(__AVX2__)", "avx2_7c", "#elif defined(__SSE4_2__)",
          "sse4_2_70", "#else", "#error", "sse4_2, avx2, avx512", "#endif"}) {
        at = joined.header.find(text, at);
        CAPTURE(text);
        CHECK(at != std::string::npos);
    }
    CHECK(ps::frozen::packed_plans(joined.weights).size() == 3);
    CHECK(joined.header.find(".incbin") == std::string::npos);  // once in a program, not once for each copy
    CHECK(joined.source.find("/there/net.bin") != std::string::npos);
    CHECK(ps::frozen::join_plans("net", parts).source == "");

    const std::string twice = tests::error_of([&] {
        (void)ps::frozen::join_plans("net", std::vector{parts[1], part("avx512_ff", 'e')});
    });
    CHECK(twice.find("two plans for avx512") != std::string::npos);
    CHECK(tests::error_of([] { (void)ps::frozen::packed_plans("no file"); }).find("no file of weights") !=
          std::string::npos);
}

}  // namespace frozen_files
