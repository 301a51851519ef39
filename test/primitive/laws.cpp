// The laws that every primitive of the list obeys.
#include "laws.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <utility>

using namespace laws;

namespace {

/// For each reason that a primitive may give: whether it is true of a shape.
struct Reason {
    std::string_view text;
    bool (*holds)(ps::ConvShape const&);
};
template <int fh, int fw = fh>
bool no_kernel_of(ps::ConvShape const& s) {
    return s.fh != fh || s.fw != fw;
}
constexpr Reason reasons[] = {
    {"needs stride 1", [](ps::ConvShape const& s) { return s.strided(); }},
    {"needs stride 2", [](ps::ConvShape const& s) { return s.stride_h != 2 || s.stride_w != 2; }},
    {"needs stride 4", [](ps::ConvShape const& s) { return s.stride_h != 4 || s.stride_w != 4; }},
    {"needs dilation 1", [](ps::ConvShape const& s) { return s.dilated(); }},
    {"needs no padding", [](ps::ConvShape const& s) { return s.padded(); }},
    {"needs one group", [](ps::ConvShape const& s) { return s.groups != 1; }},
    {"needs as many groups as channels", [](ps::ConvShape const& s) { return s.groups != s.c; }},
    {"needs several groups of 8 channels or fewer",
     [](ps::ConvShape const& s) { return s.group_c() > 8 || (s.groups == 1 && s.c > 1); }},
    {"needs groups of 2, 4 or 8 channels",
     [](ps::ConvShape const& s) {
         const int size = s.group_c();
         return size != s.group_k() || (size != 2 && size != 4 && size != 8);
     }},
    {"needs 16 channels or more", [](ps::ConvShape const& s) { return s.c < 16; }},
    {"needs 4 channels or fewer", [](ps::ConvShape const& s) { return s.c > 4; }},
    {"needs a 1x1 kernel", no_kernel_of<1>},
    {"needs a 3x3 kernel", no_kernel_of<3>},
    {"needs a 5x5 kernel", no_kernel_of<5>},
    {"needs a 7x7 kernel", no_kernel_of<7>},
    {"needs an 11x11 kernel", no_kernel_of<11>},
    {"needs a 1x3 kernel", no_kernel_of<1, 3>},
    {"needs a 3x1 kernel", no_kernel_of<3, 1>},
    {"needs a 1x7 kernel", no_kernel_of<1, 7>},
    {"needs a 7x1 kernel", no_kernel_of<7, 1>}};

/// The restrictions of each family in the papers; im2 also where a primitive of it takes strides.
std::set<std::string_view> restrictions(ps::Family family) {
    switch (family) {
        case ps::Family::direct:
            return {};
        case ps::Family::im2:
            return {"needs stride 1"};
        case ps::Family::kn2:
            return {"needs stride 1"};
        case ps::Family::wino3:
            return {"needs a 3x3 kernel", "needs stride 1", "needs dilation 1", "needs one group"};
        case ps::Family::wino5:
            return {"needs a 5x5 kernel", "needs stride 1", "needs dilation 1", "needs one group"};
        case ps::Family::conv_1x1:
            return {"needs a 1x1 kernel", "needs stride 1", "needs no padding"};
        case ps::Family::mec:
            return {};
        case ps::Family::other:
            break;
    }
    return {"needs stride 1",
            "needs stride 2",
            "needs stride 4",
            "needs dilation 1",
            "needs one group",
            "needs as many groups as channels",
            "needs several groups of 8 channels or fewer",
            "needs groups of 2, 4 or 8 channels",
            "needs 16 channels or more",
            "needs 4 channels or fewer",
            "needs a 3x3 kernel",
            "needs a 7x7 kernel",
            "needs an 11x11 kernel",
            "needs a 1x3 kernel",
            "needs a 3x1 kernel",
            "needs a 1x7 kernel",
            "needs a 7x1 kernel"};
}

}  // namespace

TEST_CASE("every primitive computes the definition, touches nothing else, and gives the same bits again") {
    const List list = all_primitives();
    ps::Sequential sequential;
    Backwards backwards;
    std::map<std::string_view, int> runs;
    std::size_t turn = 0;
    for (ps::ConvShape const& shape : odd_shapes()) {
        const Problem integers(shape, Values::integers), normal(shape, Values::normal);
        // Two of the epilogues: one by turns, and in every other shape the full one. In a quick run one of the two.
        std::vector<Epilogue> chosen{epilogues[turn % std::size(epilogues)], epilogues[turn / 2 % 2]};
        if (quick()) chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(turn % 2));
        ++turn;
        for (Epilogue const& epilogue : chosen) {
            const std::vector<double> exact = integers.exact(epilogue), exact_normal = normal.exact(epilogue);
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (!entry.supports(shape)) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                CAPTURE(epilogue.bias);
                CAPTURE(epilogue.residual);
                CAPTURE(epilogue.clamp.low);
                CAPTURE(epilogue.clamp.high);
                const bool plain = !epilogue.bias && !epilogue.residual && epilogue.clamp == ps::Clamp{};
                if (!plain && !entry.fuses_epilogue) continue;
                ++runs[entry.id];
                Problem const& problem = is_exact(entry) ? integers : normal;
                const Outcome one = run(list, entry, problem, epilogue, sequential, Watch::zones);
                const Outcome two = run(list, entry, problem, epilogue, backwards, Watch::heap);
                CHECK(one.intact);
                CHECK(two.intact);
                CHECK(same_bits(one.dst, two.dst));
                if (is_exact(entry)) {
                    CHECK(equal(one.dst, exact));
                } else {
                    CHECK(error(one.dst, exact_normal) <= entry.error_bound);
                }
            }
        }
    }
    // The shapes leave no primitive out.
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        CAPTURE(std::string(entry.id));
        CHECK(runs[entry.id] >= (quick() ? 3 : 40));
    }
}

TEST_CASE("the bits do not depend on threads, nor on what the buffers held") {
    const List list = all_primitives();
    ps::Sequential sequential;
    ps::CallerPool pool(3, Threads{});
    std::vector<ps::ConvShape> shapes{same_shape(33, 35, 23, 14, 3), same_shape(19, 35, 23, 14, 5),
                                      same_shape(19, 70, 23, 14, 1), same_shape(40, 18, quick() ? 29 : 57, 43, 3),
                                      same_shape(6, 18, 23, 24, 7)};
    shapes.back().stride_h = shapes.back().stride_w = 2;
    shapes.push_back(same_shape(24, 24, 17, 12, 3));
    shapes.back().groups = 12;
    shapes.push_back(same_shape(70, 24, 9, 12, 3));
    shapes.back().dilation_h = shapes.back().dilation_w = 2;
    for (ps::ConvShape const& shape : shapes) {
        const Problem problem(shape, Values::normal);
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            const Epilogue epilogue = entry.fuses_epilogue ? epilogues[1] : Epilogue{};
            const Outcome one = run(list, entry, problem, epilogue, sequential, Watch::heap);
            for (int repetition = 0; repetition < (quick() ? 1 : 2); ++repetition) {
                const Outcome many = run(list, entry, problem, epilogue, pool, Watch::zones);
                CHECK(many.intact);
                CHECK(same_bits(many.dst, one.dst));
            }
            CHECK(same_bits(run(list, entry, problem, epilogue, sequential, Watch::zones).dst, one.dst));
        }
    }
}

TEST_CASE("channels that are a part of more channels: the same bits, and nothing between them is touched") {
    const List list = all_primitives();
    ps::Sequential sequential;
    std::vector<ps::ConvShape> shapes{same_shape(17, 35, 13, 14, 3), same_shape(9, 70, 12, 11, 5),
                                      same_shape(19, 24, 9, 14, 1), same_shape(64, 33, 57, 43, 3)};
    shapes.push_back(same_shape(12, 18, 13, 9, 3));
    shapes.back().stride_h = shapes.back().stride_w = shapes.back().groups = 2;
    int runs = 0;
    for (ps::ConvShape const& shape : shapes) {
        const Problem problem(shape, Values::normal);
        const auto k = static_cast<std::size_t>(shape.k), stride = k + 9, first = std::size_t{4};
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.strided_output || !entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            REQUIRE(list.layouts[entry.out_layout].name == ps::hwc::name);
            const Epilogue epilogue{.bias = true, .residual = false, .clamp = ps::relu_clamp};
            const Outcome dense = run(list, entry, problem, epilogue, sequential, Watch::zones);
            Guarded src(problem.src.size(), Watch::heap, 0),
                packed(entry.packed_bytes(shape) / sizeof(float), Watch::heap, 0),
                scratch(entry.scratch_bytes(shape, 1, 1) / sizeof(float), Watch::heap, 0),
                dst(shape.out_pixels() * stride, Watch::zones, 0), untouched(1, Watch::heap, 0);
            for_each_element(list.layouts[entry.in_layout], shape.in_shape(),
                             [&](std::size_t i, std::size_t at) { src.data()[at] = problem.src[i]; });
            entry.pack(shape, problem.kernel.data(), packed.data());
            entry.run(shape, {.src = src.data(),
                              .weights = packed.data(),
                              .bias = problem.bias.data(),
                              .clamp = epilogue.clamp,
                              .dst = dst.data() + first,
                              .dst_stride = stride,
                              .scratch = scratch.data(),
                              .executor = sequential});
            std::vector<float> channels(dense.dst.size());
            for (std::size_t pixel = 0; pixel < shape.out_pixels(); ++pixel) {
                for (std::size_t c = 0; c < stride; ++c) {
                    float& value = dst.data()[pixel * stride + c];
                    if (c >= first && c < first + k) {
                        channels[(c - first) * shape.out_pixels() + pixel] = value;
                    } else {
                        CHECK(std::memcmp(&value, untouched.data(), sizeof(float)) == 0);
                    }
                }
            }
            CHECK(dst.intact());
            CHECK(same_bits(channels, dense.dst));
            ++runs;
        }
    }
    CHECK(runs > 20);
}

TEST_CASE("error bounds hold, however deep the sums") {
    const List list = all_primitives();
    ps::Sequential sequential;
    struct Depth {
        int c, k, size;
    };
    const std::vector<Depth> depths = quick() ? std::vector<Depth>{{16, 20, 12}, {256, 9, 7}}
                                              : std::vector<Depth>{{3, 64, 30},   {16, 48, 24}, {64, 33, 20},
                                                                   {256, 33, 12}, {512, 33, 9}, {1024, 17, 8}};
    unsigned seed = 7;
    for (Depth const& depth : depths) {
        for (const int f : {1, 3, 5}) {
            const ps::ConvShape shape = same_shape(depth.c, depth.k, depth.size, depth.size - 1, f);
            const Problem problem(shape, Values::normal, seed++);
            const std::vector<double> exact = problem.exact({});
            for (ps::PrimitiveEntry const& entry : list.primitives) {
                if (!entry.supports(shape)) continue;
                CAPTURE(std::string(entry.id));
                CAPTURE(to_string(shape));
                CHECK(error(run(list, entry, problem, {}, sequential, Watch::zones).dst, exact) <= entry.error_bound);
            }
        }
    }
}

TEST_CASE("a primitive refuses for a documented reason only, one that is true") {
    std::set<std::string_view> given;
    const List list = all_primitives();
    for (ps::ConvShape const& shape : odd_shapes()) {
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            const ps::Support support = entry.supports(shape);
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            CAPTURE(std::string(support.reason()));
            CHECK(static_cast<bool>(support) == support.reason().empty());
            if (support) continue;
            CHECK(restrictions(entry.family).contains(support.reason()));
            for (Reason const& reason : reasons) {
                if (reason.text != support.reason()) continue;
                CHECK(reason.holds(shape));
                given.insert(reason.text);
            }
        }
    }
    CHECK(given.size() == std::size(reasons));
}

TEST_CASE("what a primitive says of its work is finite, and never nothing") {
    const List list = all_primitives();
    for (ps::ConvShape const& shape : odd_shapes()) {
        for (ps::PrimitiveEntry const& entry : list.primitives) {
            if (!entry.supports(shape)) continue;
            CAPTURE(std::string(entry.id));
            CAPTURE(to_string(shape));
            const ps::Work work = entry.work(shape, 1, 1);
            REQUIRE(work.count <= work.phases.size());
            double operations = 0;
            for (ps::Phase const& phase : work) {
                CHECK((phase.operations >= 0 && phase.bytes > 0 && phase.working_set > 0));
                CHECK(std::isfinite(phase.operations + phase.bytes + phase.working_set));
                operations += phase.operations;
            }
            CHECK(operations > 0);
        }
    }
}

// Vectors and tiles that are filled in part cost as much as full ones, and fewer channels cannot cost more. Only the
// channel that fills a vector of the result spares what storing its part takes.
TEST_CASE("a channel more is never less work, and what is no shortcut does all of it") {
    const List list = all_primitives();
    const auto operations = [](ps::PrimitiveEntry const& entry, ps::ConvShape const& shape) {
        double sum = 0;
        for (ps::Phase const& phase : entry.work(shape, 1, 1)) sum += phase.operations;
        return sum;
    };
    for (ps::PrimitiveEntry const& entry : list.primitives) {
        CAPTURE(std::string(entry.id));
        const bool shortcut = entry.id.starts_with("winograd");
        for (const int taps : {1, 3, 5}) {
            for (int channels = 1; channels < 70; ++channels) {
                const int pad = taps / 2;
                const ps::ConvShape shape{.c = channels,
                                          .k = 5,
                                          .h = 9,
                                          .w = 11,
                                          .fh = taps,
                                          .fw = taps,
                                          .pad_top = pad,
                                          .pad_bottom = pad,
                                          .pad_left = pad,
                                          .pad_right = pad};
                if (!entry.supports(shape)) continue;
                CAPTURE(to_string(shape));
                ps::ConvShape back = shape, more = shape, more_back = shape;
                std::swap(back.c, back.k);
                more.c += 1;
                more_back = more;
                std::swap(more_back.c, more_back.k);
                if (!entry.supports(more)) continue;
                CHECK(operations(entry, more) >= operations(entry, shape));
                const bool fills_vector = more_back.k % ps::lanes<ps::default_arch> == 0;
                CHECK((fills_vector || operations(entry, more_back) >= operations(entry, back)));
                if (shortcut) continue;
                CHECK(operations(entry, shape) >= shape.operations());
                CHECK(operations(entry, back) >= back.operations());
            }
        }
    }
}
