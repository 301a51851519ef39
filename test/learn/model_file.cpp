#include <primsel/cost/analytical.hpp>
#include <primsel/learn/model_file.hpp>
#include <primsel/learn/tables.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../io/scratch.hpp"

namespace io_model {

namespace ps = primsel;
using scratch::content;
using scratch::error_of;

static_assert(ps::Regression<ps::learn::AnyRegression>);
static_assert(ps::CostModel<ps::LearnedCost<ps::learn::AnyRegression, ps::Analytical>>);

namespace {

/// Samples with times that follow from the configuration, some of them missing.
struct Samples {
    ps::FloatTable features, targets;

    Samples(ps::learn::Dataset const& data, unsigned seed)
        : features(ps::learn::features_of(data)), targets(data.rows(), data.subjects.size()) {
        std::mt19937 generator(seed);
        for (std::size_t row = 0; row < data.rows(); ++row) {
            for (std::size_t target = 0; target < targets.columns; ++target) {
                if (generator() % 5 == 0) continue;
                targets(row, target) = features(row, 0) + 0.7F * features(row, 1) +
                                       0.1F * static_cast<float>(target) * features(row, 2) - 12;
            }
        }
    }
};

ps::learn::Dataset primitives(std::size_t rows, unsigned seed) {
    ps::learn::Dataset data;
    data.inputs = {"c", "k", "im", "f", "s"};
    data.subjects = {"im2row-scan-ab-ik", "direct-sum2d"};
    std::mt19937 generator(seed);
    const auto draw = [&](int most) { return 1 + static_cast<int>(generator() % static_cast<unsigned>(most)); };
    for (std::size_t row = 0; row < rows; ++row) {
        data.add(std::vector{draw(99), draw(99), 7 + draw(49), 2 * draw(3) - 1, draw(2)}, std::vector{0.0, 0.0});
    }
    return data;
}
ps::learn::Dataset layouts(std::size_t rows, unsigned seed) {
    ps::learn::Dataset data;
    data.inputs = {"c", "im"};
    data.subjects = {"chw-to-hwc"};
    std::mt19937 generator(seed);
    for (std::size_t row = 0; row < rows; ++row) {
        data.add(std::vector{1 + static_cast<int>(generator() % 99), 1 + static_cast<int>(generator() % 99)},
                 std::vector{0.0});
    }
    return data;
}

/// Each kind that comes after the others in the list begins with one of them.
ps::learn::AnyRegression fit(std::string_view kind, Samples const& s) {
    ps::Sequential alone;
    if (kind == ps::learn::FactorCorrection::kind) {
        const ps::learn::SourceRegression source =
            ps::learn::BoostedTrees::fit(s.features, s.targets, {.trees = 3}, alone);
        return ps::learn::transfer<ps::learn::FactorCorrection>(source, s.features, s.targets);
    }
    if (kind == ps::learn::DeviationCorrection::kind) {
        // Both ways of being one: few samples of primitives, many of changes of layout.
        const std::vector<std::string> labels(s.targets.columns, "alike");
        const std::size_t few = s.features.columns == ps::ConvFeatures::count ? s.targets.values.size() : 0;
        const ps::learn::SourceRegression source = ps::learn::LinearRegression::fit(s.features, s.targets);
        return ps::learn::transfer<ps::learn::DeviationCorrection>(source, s.features, s.targets, labels, alone, few);
    }
    if (kind == ps::learn::ChosenCorrection::kind) {
        const std::vector<std::string> labels(s.targets.columns, "alike");
        const ps::learn::SourceRegression source = ps::learn::LinearRegression::fit(s.features, s.targets);
        std::vector<std::size_t> few(std::min<std::size_t>(s.features.rows(), 20));  // to choose takes many fits
        for (std::size_t row = 0; row < few.size(); ++row) few[row] = row;
        return ps::learn::transfer<ps::learn::ChosenCorrection>(source, s.features.select(few), s.targets.select(few),
                                                                labels, alone);
    }
    ps::learn::MlpOptions perceptron;
    perceptron.hidden = {4, 3};
    perceptron.most_epochs = 3;
    if (kind == "linear") return ps::learn::LinearRegression::fit(s.features, s.targets);
    if (kind == "mlp") return ps::learn::Mlp::fit(s.features, s.targets, s.features, s.targets, perceptron, alone);
    if (kind == "mlp_each") {
        perceptron.features = 2;
        return ps::learn::MlpEach::fit(s.features, s.targets, s.features, s.targets, perceptron, alone);
    }
    if (kind == "forest") return ps::learn::Forest::fit(s.features, s.targets, {.trees = 3}, alone);
    if (kind == "boosted") return ps::learn::BoostedTrees::fit(s.features, s.targets, {.trees = 3}, alone);
    return ps::learn::GaussianProcess::fit(s.features, s.targets, {}, {.steps = 2, .shared_from = 5}, alone);
}

ps::learn::TrainedModel model_of(std::string_view kind, std::size_t rows) {
    const ps::learn::Dataset convs = primitives(rows, 1), tensors = layouts(rows, 2);
    return {.about = {{"arch", "avx2"}, {"cpu", "a processor"}, {"rows", std::to_string(rows)}},
            .primitives = {convs.subjects, fit(kind, Samples(convs, 3))},
            .layouts = {tensors.subjects, fit(kind, Samples(tensors, 4))}};
}

std::vector<std::uint32_t> bits(ps::FloatTable const& table) {
    std::vector<std::uint32_t> result;
    for (const float value : table.values) result.push_back(std::bit_cast<std::uint32_t>(value));
    return result;
}
/// All that it predicts for configurations that it was not trained on.
std::vector<std::uint32_t> predictions(ps::learn::TrainedModel const& model, std::size_t rows = 40) {
    std::vector<std::uint32_t> all;
    if (!model.primitives.subjects.empty()) {
        all = bits(model.primitives.regression.predict(ps::learn::features_of(primitives(rows, 5))));
    }
    if (!model.layouts.subjects.empty()) {
        const auto more = bits(model.layouts.regression.predict(ps::learn::features_of(layouts(rows, 6))));
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

ps::learn::TrainedModel parse(std::string_view bytes) {
    return ps::learn::parse_model("m", std::as_bytes(std::span(bytes)));
}
std::string reason(std::string_view bytes) {
    return error_of([&] { (void)parse(bytes); });
}
/// The bytes with the header that their content asks for.
std::string with_header(std::string_view bytes) {
    const std::string_view inside = bytes.substr(ps::learn::detail::model_header_bytes);
    return ps::learn::detail::model_header(std::as_bytes(std::span(inside))) + std::string(inside);
}
std::string replaced(std::string bytes, std::string_view from, std::string_view to) {
    const std::size_t at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    return bytes.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("model files: predictions before and after are the same bits") {
    const scratch::Folder folder;
    for (const std::string_view kind : ps::learn::AnyRegression::kinds) {
        CAPTURE(kind);
        const ps::learn::TrainedModel model = model_of(kind, 300);
        CHECK(model.primitives.regression.kind() == kind);
        const std::string path = folder.file(kind);
        ps::learn::write_model(path, model);
        const ps::learn::TrainedModel read = ps::learn::read_model(path);
        CHECK(read.about == model.about);
        CHECK(read.about_of("cpu") == "a processor");
        CHECK(read.about_of("version").empty());
        CHECK(read.primitives.subjects == model.primitives.subjects);
        CHECK(read.layouts.subjects == model.layouts.subjects);
        CHECK(read.primitives.regression.kind() == kind);
        const auto expected = predictions(model);
        CHECK(expected.size() == 40 * 3);
        CHECK(predictions(read) == expected);
        ps::learn::write_model(folder.file("again"), read);
        CHECK(content(folder.file("again")) == content(path));
    }
    CHECK(error_of([&] { (void)ps::learn::read_model(folder.file("none")); }).find("none: cannot read") !=
          std::string::npos);
}

TEST_CASE("model files: either part may be missing") {
    ps::learn::TrainedModel model = model_of("linear", 20);
    model.layouts = {};
    ps::learn::TrainedModel read = parse(ps::learn::to_bytes("m", model));
    CHECK(read.layouts.subjects.empty());
    CHECK(predictions(read) == predictions(model));
    model.primitives = {};
    CHECK(predictions(parse(ps::learn::to_bytes("m", model))).empty());
}

TEST_CASE("model files: what is no model is refused with its reason") {
    const std::string good = ps::learn::to_bytes("m", model_of("forest", 12));
    CHECK(reason(good).empty());
    CHECK(reason("") == "m: is no model that primsel wrote");
    CHECK(reason(replaced(good, "primsel", "Primsel")) == "m: is no model that primsel wrote");
    CHECK(reason(replaced(good, "model 2\n", "model 1\n")) ==
          "m: this version of the library reads models of format 2, not 1");
    CHECK(reason(good + "x") == "m: has 1 bytes behind its end");
    CHECK(reason(std::string_view(good).substr(0, good.size() - 9)) ==
          ps::join("m: is cut off at byte ", good.size() - 9, ": 9 more belong to it"));
    CHECK(reason(replaced(good, "avx2", "avx3")) == "m: is damaged: its checksum does not fit");
    CHECK(reason(with_header(replaced(good, "forest", "desert"))) ==
          "m: a regression of the kind 'desert', which this version does not know here");
    CHECK(reason(with_header(good + "x")).starts_with("m: 1 bytes too many, from byte "));
    CHECK(reason(with_header(std::string_view(good).substr(0, good.size() - 1))).find(" bytes") != std::string::npos);
    // About is first: how many lines it has.
    std::string many = good;
    const std::uint64_t count = std::uint64_t{1} << 60;
    std::memcpy(many.data() + ps::learn::detail::model_header_bytes, &count, sizeof(count));
    CHECK(reason(with_header(many)).find("a size of 1152921504606846976 at byte 32") != std::string::npos);

    const std::string arch_twice =
        ps::learn::to_bytes("m", {.about = {{"a", "1"}, {"b", "2"}}, .primitives = {}, .layouts = {}});
    CHECK(reason(with_header(replaced(arch_twice, "b", "a"))).find("keys out of order") != std::string::npos);
}

TEST_CASE("model files: cut off anywhere, or with any byte changed, they are refused") {
    for (const std::string_view kind : ps::learn::AnyRegression::kinds) {
        CAPTURE(kind);
        const std::string good = ps::learn::to_bytes("m", model_of(kind, 7));
        std::size_t accepted = 0;
        for (std::size_t size = 0; size < good.size(); ++size) {
            accepted += reason(std::string_view(good).substr(0, size)).starts_with("m: ") ? 0U : 1U;
        }
        for (std::size_t at = 0; at < good.size(); ++at) {
            std::string bad = good;
            bad[at] = static_cast<char>(bad[at] ^ 0x10);
            accepted += reason(bad).starts_with("m: ") ? 0U : 1U;
        }
        CHECK(accepted == 0);
    }
}

TEST_CASE("model files: whatever the bytes behind a good checksum, they are refused or a whole model") {
    for (const std::string_view kind : ps::learn::AnyRegression::kinds) {
        CAPTURE(kind);
        const std::string good = ps::learn::to_bytes("m", model_of(kind, 7));
        std::size_t refused = 0, read = 0, other = 0;
        for (std::size_t at = ps::learn::detail::model_header_bytes; at < good.size(); ++at) {
            for (const int change : {0x01, 0xff}) {
                std::string bad = good;
                bad[at] = static_cast<char>(bad[at] ^ change);
                bad = with_header(bad);
                try {
                    const ps::learn::TrainedModel model = parse(bad);
                    (void)predictions(model, 3);
                    read += 1;
                    other += ps::learn::to_bytes("m", model) == bad ? 0U : 1U;
                } catch (ps::error const& error) {
                    refused += 1;
                    other += std::string_view(error.what()).starts_with("m: ") ? 0U : 1U;
                }
            }
        }
        CHECK(other == 0);
        CHECK(refused > 100);  // sizes and positions
        CHECK(read > 100);     // values
        for (std::size_t size = ps::learn::detail::model_header_bytes; size < good.size(); ++size) {
            other += reason(with_header(std::string_view(good).substr(0, size))).starts_with("m: ") ? 0U : 1U;
        }
        CHECK(other == 0);
    }
}

TEST_CASE("model files: what was transferred holds a model that was not") {
    const std::string good = ps::learn::to_bytes("m", model_of("factor", 12));
    // Where the name of the source's kind stands it would nest for ever.
    std::string nested = replaced(good, "boosted", "factor");
    const std::size_t at = nested.find("factor", nested.find("factor") + 1);
    const std::uint64_t size = 6;
    std::memcpy(nested.data() + at - sizeof(size), &size, sizeof(size));
    CHECK(reason(with_header(nested)) == "m: a regression of the kind 'factor', which this version does not know here");
    for (const std::string_view kind : ps::learn::AnyRegression::kinds) {
        CAPTURE(kind);
        const bool transferred = kind == "factor" || kind == "transferred" || kind == "chosen";
        CHECK(model_of(kind, 12).primitives.regression.source().has_value() == !transferred);
    }
}

TEST_CASE("model files: what is relative to another model is not written") {
    ps::learn::TrainedModel model = model_of("linear", 12);
    model.layouts.relative = true;
    CHECK(error_of([&] { (void)ps::learn::to_bytes("m", model); }) ==
          "m: what was learned relative to another model is not kept in files");
}

TEST_CASE("model files: what is not finite is neither written nor read") {
    ps::learn::Dataset data = layouts(20, 1);
    Samples samples(data, 2);
    samples.targets(3, 0) = std::numeric_limits<float>::infinity();
    const ps::learn::TrainedModel model{
        .about = {},
        .primitives = {},
        .layouts = {data.subjects, ps::learn::LinearRegression::fit(samples.features, samples.targets)}};
    const scratch::Folder folder;
    CHECK(error_of([&] { ps::learn::write_model(folder.file("m"), model); }) ==
          folder.file("m") + ": a value that is not finite");
    CHECK(folder.entries() == 0);

    std::string good = ps::learn::to_bytes("m", model_of("linear", 20));
    const float infinity = std::numeric_limits<float>::infinity();
    std::memcpy(good.data() + good.size() - sizeof(float), &infinity, sizeof(float));
    CHECK(reason(with_header(good)) == ps::join("m: a value that is not finite before byte ", good.size()));
}

}  // namespace io_model
