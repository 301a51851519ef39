#include <primsel/learn/op_times_file.hpp>

#include <primsel/core/error.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace io_op_times {

namespace {

namespace ps = primsel;

std::string header_of(ps::Machine const& machine) {
    std::map<std::string, std::string> about{{"arch", "sse4.2"}};
    ps::learn::add_about(about, machine);
    std::string text;
    for (auto const& [key, value] : about) text += "# " + key + ": " + value + "\n";
    return text + std::string(ps::learn::OpTimesFormat::columns) + "\n";
}

constexpr ps::Machine small{.fma_flops = 1e10,
                            .half_flops = 5e9,
                            .matmul_flops = 9e9,
                            .vector_flops = 4e9,
                            .scalar_flops = 1e9,
                            .bandwidth = {8e9, 4e9, 4e9, 2e9, 1e9}};

TEST_CASE("what an op took reads back as it was, and is made of the speeds of the machine that it was taken on") {
    const ps::OpTime time{.op = "max_pool",
                          .layout = "hwc",
                          .form = "separated",
                          .batch = 3,
                          .work = {.counts = {.operations = 2e3, .scalars = 7e2, .rows = 12, .bytes = 4e3},
                                   .working_set = 8e3,
                                   .weights = 1e6},
                          .seconds = 5e-6,
                          .what = "8x9x9 window=2x2"};
    const std::string text = header_of(small) + ps::learn::OpTimesFormat::line(time) + "\n";
    CHECK(ps::learn::is_op_times(text));
    CHECK_FALSE(ps::learn::is_op_times("c,im,chw-to-hwc\n"));
    std::map<std::string, std::string> about;
    const std::vector<ps::learn::OpRegression::Sample> samples = ps::learn::op_samples("t.csv", text, about);
    REQUIRE(samples.size() == 1);
    CHECK(about["arch"] == "sse4.2");
    CHECK(samples[0].op == "max_pool");
    CHECK(samples[0].layout == "hwc");
    CHECK(samples[0].form == "separated");
    CHECK(samples[0].seconds == doctest::Approx(5e-6));
    const ps::OpCoefficients::Terms terms = samples[0].terms;
    CHECK(terms[0] == 1);
    CHECK(terms[1] == doctest::Approx(3 * 4e3 / 8e9));
    CHECK(terms[2] == doctest::Approx(3 * 2e3 / 4e9));
    CHECK(terms[3] == doctest::Approx(1e6 / 1e9));
    CHECK(terms[4] == doctest::Approx(3 * 12));
    CHECK(terms[5] == doctest::Approx(3 * 7e2 / 1e9));
    // A machine of which all is twice as fast takes half of that.
    ps::Machine fast = small;
    fast.vector_flops *= 2;
    for (double& speed : fast.bandwidth) speed *= 2;
    for (std::size_t i = 1; i < 4; ++i) {
        CHECK(ps::learn::OpRegression::sample(fast, time).terms[i] == doctest::Approx(terms[i] / 2));
    }
}

TEST_CASE("a table of what ops took that is none is refused, with the file and the line") {
    std::map<std::string, std::string> about;
    const std::string header = header_of(small);
    for (const char* line :
         {"max_pool,hwc,,0,1,1,1,0,1,1,1,", "max_pool,hwc,,1,-1,1,1,0,1,1,1,", "max_pool,hwc,,1,1,1,1,0,1,1,",
          "max_pool,hwc,,1,1,1,1,0,1,1,nan,", "max_pool,hwc,,1,inf,1,1,0,1,1,1,"}) {
        CAPTURE(line);
        try {
            static_cast<void>(ps::learn::op_samples("t.csv", header + line + "\n", about));
            FAIL_CHECK("was taken");
        } catch (ps::error const& fault) {
            CHECK(std::string_view(fault.what()).find("t.csv:") != std::string_view::npos);
        }
    }
    std::map<std::string, std::string> nothing;
    const std::string unknown = std::string(ps::learn::OpTimesFormat::columns) + "\nlrn,chw,,1,1,1,1,0,0,1,9,\n";
    CHECK_THROWS_WITH_AS(static_cast<void>(ps::learn::op_samples("u.csv", unknown, nothing)),
                         doctest::Contains("u.csv: it does not say the machine's"), ps::error);
}

}  // namespace

}  // namespace io_op_times
