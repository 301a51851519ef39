// The default primitives beside all primitives: close to the fastest on every profile in the repository, and able to
// compute whatever all of them can, from each layout to each.
#include <primsel/primitive/default_primitives.hpp>

#include <doctest/doctest.h>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/primitive/all.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primitive_default_primitives {

namespace ps = primsel;

namespace {

/// An Arch of such vectors, which this translation unit need not be compiled for.
template <std::size_t lanes>
struct Vectors {
    static constexpr std::size_t alignment() { return lanes * sizeof(float); }
};
template <int lanes>
using ListOf = ps::DefaultPrimitivesOf<Vectors<lanes>>;

template <class... P>
std::set<std::string_view> ids_of(ps::TypeList<P...>) {
    return {std::string_view(P::id)...};
}

struct Loss {
    std::size_t layers = 0;
    double mean = 0, worst = 1;  ///< mean: geometric, less 1; worst: a ratio of times
};
/// How much longer the fastest primitive of the list takes than the fastest of all that were timed.
Loss loss(ps::learn::Dataset const& profile, std::set<std::string_view> const& list) {
    Loss result;
    double logarithms = 0;
    for (std::size_t row = 0; row < profile.rows(); ++row) {
        double fastest = std::numeric_limits<double>::infinity(), listed = fastest;
        for (std::size_t subject = 0; subject < profile.subjects.size(); ++subject) {
            const double seconds = profile.time(row, subject);
            if (!(seconds > 0)) continue;
            fastest = std::min(fastest, seconds);
            if (list.contains(profile.subjects[subject])) listed = std::min(listed, seconds);
        }
        if (std::isinf(fastest)) continue;
        ++result.layers;
        logarithms += std::log(listed / fastest);
        result.worst = std::max(result.worst, listed / fastest);
    }
    result.mean = std::expm1(logarithms / static_cast<double>(result.layers));
    return result;
}

/// The profiles of an instruction set that timed all primitives of their day, by the ends of their names.
std::vector<std::string> profiles_of(std::string const& set) {
    std::vector<std::string> paths;
    for (auto const& entry : std::filesystem::directory_iterator("bench/profiles")) {
        if (entry.path().filename().string().ends_with("-" + set + ".csv")) paths.push_back(entry.path().string());
    }
    std::ranges::sort(paths);
    return paths;
}

template <int lanes>
void check_losses(std::string const& set, std::size_t profiles) {
    const std::set<std::string_view> list = ids_of(ListOf<lanes>{});
    const std::vector<std::string> paths = profiles_of(set);
    CHECK(paths.size() >= profiles);
    for (std::string const& path : paths) {
        CAPTURE(path);
        const Loss found = loss(ps::learn::read_dataset(path), list);
        CHECK(found.layers >= 30);
        CHECK(found.mean <= 0.005);
        CHECK(found.worst <= 1.10);
    }
}

ps::ConvShape square(int f) {
    return {.c = 16,
            .k = 16,
            .h = 28,
            .w = 28,
            .fh = f,
            .fw = f,
            .pad_top = f / 2,
            .pad_bottom = f / 2,
            .pad_left = f / 2,
            .pad_right = f / 2};
}
ps::ConvShape oblong(int fh, int fw) {
    return {.c = 16,
            .k = 16,
            .h = 28,
            .w = 28,
            .fh = fh,
            .fw = fw,
            .pad_top = fh / 2,
            .pad_bottom = fh / 2,
            .pad_left = fw / 2,
            .pad_right = fw / 2};
}

/// Convolutions of every kind, each also with strides, with dilation and with groups.
std::vector<ps::ConvShape> every_kind() {
    std::vector<ps::ConvShape> kinds;
    for (const int f : {1, 3, 5, 7, 11}) kinds.push_back(square(f));
    for (const auto& [fh, fw] : {std::pair{1, 3}, {3, 1}, {1, 7}, {7, 1}, {2, 3}}) kinds.push_back(oblong(fh, fw));
    ps::ConvShape row = oblong(1, 3), uneven = square(3), padded = square(1);
    row.h = 1;
    uneven.pad_top = 0;
    padded.pad_top = padded.pad_left = 1;
    kinds.insert(kinds.end(), {row, uneven, padded});
    const auto also = [&](auto const& change) {
        const std::vector<ps::ConvShape> before = kinds;
        for (ps::ConvShape shape : before) {
            change(shape);
            if (shape.valid()) kinds.push_back(shape);
        }
    };
    also([](ps::ConvShape& s) { s.stride_h = s.stride_w = 2; });
    also([](ps::ConvShape& s) { s.dilation_h = s.dilation_w = 2; });
    also([](ps::ConvShape& s) { s.groups = 4; });
    also([](ps::ConvShape& s) { s.groups = 16; });
    return kinds;
}

using Pair = std::pair<std::string_view, std::string_view>;

/// The layouts between which some primitive of the list computes the convolution.
template <class... P>
std::set<Pair> pairs_of(ps::TypeList<P...>, ps::ConvShape const& shape) {
    std::set<Pair> pairs;
    (static_cast<void>(P::supports(shape) ? pairs.insert({P::in_layout::name, P::out_layout::name}), 0 : 0), ...);
    return pairs;
}

template <int lanes>
void check_coverage() {
    CAPTURE(lanes);
    for (ps::ConvShape const& shape : every_kind()) {
        CAPTURE(to_string(shape));
        const std::set<Pair> all = pairs_of(ps::AllPrimitives{}, shape);
        CHECK(all.size() >= 5);
        CHECK(pairs_of(ListOf<lanes>{}, shape) == all);
    }
}

/// One list is another's subset, and has a primitive of each of its families.
template <class... P, class... All>
void check_families(ps::TypeList<P...>, ps::TypeList<All...>) {
    const std::set<std::string_view> all{std::string_view(All::id)...};
    CHECK((all.contains(P::id) && ...));
    const std::set<ps::Family> families{P::family...};
    CHECK(families == std::set<ps::Family>{All::family...});
}

}  // namespace

TEST_CASE("on every profile the default primitives are at most 0.5 % behind all in the mean, 10 % for any layer") {
    check_losses<16>("avx512", 4);
    check_losses<8>("avx2", 5);
    check_losses<4>("sse4_2", 4);
}

TEST_CASE("primitives that a list lacks show in its loss") {
    const ps::learn::Dataset profile = ps::learn::read_dataset("bench/profiles/zen4-avx2.csv");
    std::set<std::string_view> few = ids_of(ListOf<8>{});
    few.erase("direct-hwc");
    few.erase("indirect");
    CHECK(loss(profile, few).mean > 0.005);
    CHECK(loss(profile, few).worst > 1.10);
    const Loss none = loss(profile, ids_of(ps::AllPrimitives{}));
    CHECK(none.mean == 0);
    CHECK(none.worst == 1);
}

TEST_CASE("the default primitives compute every kind of convolution between all layouts that all primitives do") {
    check_coverage<16>();
    check_coverage<8>();
    check_coverage<4>();
}

TEST_CASE("the default primitives are some of all, of every family") {
    check_families(ListOf<16>{}, ps::AllPrimitives{});
    check_families(ListOf<8>{}, ps::AllPrimitives{});
    check_families(ListOf<4>{}, ps::AllPrimitives{});
}

}  // namespace primitive_default_primitives
