// Samples as text, and what is refused.
#include <primsel/learn/sample.hpp>

#include "../cost/laws.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace ps = primsel;

namespace {

ps::learn::Samples some_samples() {
    ps::learn::Samples samples{.about = {{"arch", "mine"}, {"cpu", "a: b"}}, .all = {}};
    ps::ConvShape odd = laws::conv(14, 16, 8, 3, 2);
    odd.fw = 1, odd.pad_left = odd.pad_right = 0, odd.dilation_h = 2, odd.groups = 4;
    samples.all.push_back({laws::conv(28, 3, 64, 7, 2), "im2col-copy-self-ab-ki", 1.25e-3});
    samples.all.push_back({odd, "direct-sum2d", 7e-9});
    samples.others = {{"chw-to-hwc 8x7x7 x 1", 2e-6}, {"concat 0123 x 1 hwc", 3e-6}};
    return samples;
}

std::string refusal(std::string const& text) {
    try {
        (void)ps::learn::parse_samples("some.csv", text);
    } catch (ps::error const& reason) {
        return reason.what();
    }
    return "none";
}

}  // namespace

TEST_CASE("samples come back from their text") {
    const ps::learn::Samples samples = some_samples();
    const std::string text = ps::learn::to_csv(samples);
    const ps::learn::Samples read = ps::learn::parse_samples("some.csv", text);
    CHECK(read.about == samples.about);
    CHECK(read.others.size() == 2);
    CHECK(read.others.at("concat 0123 x 1 hwc") == doctest::Approx(3e-6));
    REQUIRE(read.all.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(read.all[i].shape == samples.all[i].shape);
        CHECK(read.all[i].primitive == samples.all[i].primitive);
        CHECK(read.all[i].seconds == doctest::Approx(samples.all[i].seconds));
    }
    CHECK(ps::learn::to_csv(read) == text);
}

TEST_CASE("of text that ends anywhere the whole lines count, or it is refused") {
    const std::string text = ps::learn::to_csv(some_samples());
    const std::size_t header = text.find("\nc,k,") + 1, rows = text.find('\n', header) + 1;
    for (std::size_t end = 0; end < text.size(); ++end) {
        CAPTURE(end);
        const std::string part = text.substr(0, end);
        if (end < rows) {
            CHECK(refusal(part) == "some.csv: no header");
        } else {
            const ps::learn::Samples read = ps::learn::parse_samples("some.csv", part);
            const auto lines = std::count(text.begin() + static_cast<std::ptrdiff_t>(rows),
                                          text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
            CHECK(read.all.size() + read.others.size() == static_cast<std::size_t>(lines));
        }
    }
}

TEST_CASE("what is no sample is refused by its line") {
    const std::string text = ps::learn::to_csv(some_samples());
    const auto with = [&](std::string const& from, std::string const& to) {
        std::string changed = text;
        const std::size_t at = changed.find(from);
        REQUIRE(at != std::string::npos);
        return refusal(changed.replace(at, from.size(), to));
    };
    CHECK(with("primitive,ns", "primitive") == "some.csv: line 3: its columns are not those of samples");
    CHECK(with("\n3,64", "\nx,64") == "some.csv: line 4: is no sample");
    CHECK(with(",1250000", ",0") == "some.csv: line 4: is no sample");
    CHECK(with(",1250000", "") == "some.csv: line 4: is no sample");
    CHECK(with("x 1,2000", "x 1,") == "some.csv: line 6: is no sample");
    CHECK(with(",1250000", ",1,1") == "some.csv: line 4: is no sample");
    for (const char* c : {"0", "-3", "2000000", "99999999999"}) {
        CAPTURE(c);
        CHECK(with("\n3,64", ps::join('\n', c, ",64")).starts_with("some.csv: line 4: is no "));
    }
    // Each number is within its bounds, but not what follows from all of them.
    CHECK(with("\n3,64,28,28,7,7", "\n1000000,64,28,28,1000,1000") == "some.csv: line 4: is no convolution");
}
