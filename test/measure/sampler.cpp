#include <primsel/measure/sampler.hpp>

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/plan/conv_shape_of.hpp>

#include <algorithm>
#include <set>
#include <variant>
#include <vector>

namespace ps = primsel;

namespace {

std::vector<ps::ConvShape> table4() {
    std::vector<ps::ConvShape> shapes;
    for (auto const& entry : ps::zoo::entries) {
        const ps::Graph graph = ps::simplify(entry.graph());
        for (std::size_t i = 0; i < graph.size(); ++i) {
            if (std::holds_alternative<ps::ConvParams>(graph[i].layer)) shapes.push_back(ps::conv_shape_of(graph, i));
        }
    }
    return shapes;
}
template <class T>
std::set<T> set_of(std::vector<T> const& values) {
    return {values.begin(), values.end()};
}
bool in_grid(ps::learn::ConvConfiguration const& at) {
    for (auto const& [f, s] : ps::measure::detail::profiled_kernels) {
        if (at.f == f && at.s == s) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("sampler: each configuration once, within its bounds, of a (c, k, im) that the networks have") {
    const auto shapes = table4();
    std::set<std::array<int, 3>> triplets;
    std::set<ps::learn::ConvConfiguration> own;
    for (ps::ConvShape const& s : shapes) {
        triplets.insert({s.c, s.k, s.h});
        own.insert({s.c, s.k, s.h, s.fh, s.stride_h});
    }
    for (const double most : {1e8, 5e9}) {
        const auto sample = ps::measure::sample_convolutions(shapes, {.max_operations = most});
        CHECK(set_of(sample).size() == sample.size());
        std::size_t of_networks = 0;
        for (ps::learn::ConvConfiguration const& at : sample) {
            CAPTURE(ps::join(at.c, ' ', at.k, ' ', at.im, ' ', at.f, ' ', at.s));
            CHECK(triplets.contains({at.c, at.k, at.im}));
            CHECK(at.f <= at.im);
            const ps::ConvShape shape = at.shape();
            CHECK(shape.valid());
            CHECK(shape.operations() <= most);
            if (own.contains(at)) ++of_networks;
            CHECK((own.contains(at) || in_grid(at)));
        }
        // All that the bounds let through are there.
        std::set<ps::learn::ConvConfiguration> expected;
        for (auto const& [c, k, im] : triplets) {
            for (auto const& [f, s] : ps::measure::detail::profiled_kernels) expected.insert({c, k, im, f, s});
        }
        expected.insert(own.begin(), own.end());
        std::erase_if(expected, [&](auto const& at) { return at.f > at.im || at.shape().operations() > most; });
        CHECK(set_of(sample) == expected);
        CHECK(of_networks > 0);
        if (most == 5e9) CHECK(of_networks == own.size());
    }
}

TEST_CASE("sampler: the networks' own come first unless all are mixed; the order is the seed's alone") {
    auto shapes = table4();
    std::set<ps::learn::ConvConfiguration> own;
    for (ps::ConvShape const& s : shapes) own.insert({s.c, s.k, s.h, s.fh, s.stride_h});
    const auto sample = ps::measure::sample_convolutions(shapes),
               mixed = ps::measure::sample_convolutions(shapes, {.networks_first = false});
    CHECK(set_of(sample) == set_of(mixed));
    CHECK(set_of(std::vector(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(own.size()))) == own);

    // Each part has about its share of a fair sample of n; more than 5 standard deviations off is no chance.
    const double share = static_cast<double>(own.size()) / static_cast<double>(mixed.size());
    const std::size_t half = mixed.size() / 2;
    const auto in_half =
        static_cast<double>(std::count_if(mixed.begin(), mixed.begin() + static_cast<std::ptrdiff_t>(half),
                                          [&](auto const& at) { return own.contains(at); }));
    const auto n = static_cast<double>(half);
    CHECK(std::abs(in_half - n * share) < 5 * std::sqrt(n * share * (1 - share) / 2));

    CHECK(ps::measure::sample_convolutions(shapes, {.seed = 2}) != sample);
    CHECK(set_of(ps::measure::sample_convolutions(shapes, {.seed = 2})) == set_of(sample));
    std::reverse(shapes.begin(), shapes.end());
    shapes.push_back(shapes.front());
    CHECK(ps::measure::sample_convolutions(shapes) == sample);
    CHECK(ps::measure::sample_tensors(shapes) == ps::measure::sample_tensors(table4()));
    CHECK(ps::measure::sample_tensors(shapes, 2) != ps::measure::sample_tensors(shapes, 1));
}

TEST_CASE("sampler: convolutions that a configuration cannot say are left out") {
    const ps::ConvShape usual{.c = 4, .k = 6, .h = 9, .w = 9};
    const auto count = [](ps::ConvShape const& shape) { return ps::measure::sample_convolutions({&shape, 1}).size(); };
    CHECK(count(usual) == 9);  // those of the 12 in the grid whose kernel is no larger than 9
    ps::ConvShape other = usual;
    other.groups = 2;
    CHECK(count(other) == 0);
    other = usual;
    other.dilation_h = other.dilation_w = 2;
    CHECK(count(other) == 0);
    other = usual;
    other.w = 8;
    CHECK(count(other) == 0);
    other = usual;
    other.fw = 3;  // the tensors are square, only this kernel is not
    other.pad_left = other.pad_right = 1;
    CHECK(count(other) == 9);
    other = usual;
    other.stride_h = other.stride_w = 3;  // not in the grid
    const auto sample = ps::measure::sample_convolutions({&other, 1});
    CHECK(sample.size() == 10);
    CHECK(sample.front() == ps::learn::ConvConfiguration{4, 6, 9, 1, 3});
}

TEST_CASE("sampler: tensors are the square inputs and outputs, once") {
    const std::vector<ps::ConvShape> shapes{{.c = 3, .k = 5, .h = 8, .w = 8, .stride_h = 2, .stride_w = 2},
                                            {.c = 5, .k = 5, .h = 4, .w = 4, .groups = 5},
                                            {.c = 7, .k = 2, .h = 4, .w = 5}};
    CHECK(set_of(ps::measure::sample_tensors(shapes)) == std::set<ps::learn::TensorConfiguration>{{3, 8}, {5, 4}});
    CHECK(ps::measure::sample_tensors(shapes).size() == 2);
}
