// Prints every primitive: id, family, layouts, and what it supports, found out by asking it.
#include <primsel/kernels/extern_kernels.hpp>

#include <iomanip>
#include <iostream>
#include <string>

namespace ps = primsel;

namespace {

struct Kernel {
    int h, w;
};
constexpr Kernel kernels[] = {{1, 1}, {3, 3}, {5, 5}, {1, 3}, {3, 1}, {1, 7}, {7, 1}, {2, 2}, {4, 5}, {7, 7}};

constexpr ps::ConvShape shape_of(Kernel kernel) {
    return {.c = 8, .k = 8, .h = 16, .w = 16, .fh = kernel.h, .fw = kernel.w};
}

/// A shape with that kernel, or one group a channel where the primitive wants that.
bool supports(ps::PrimitiveEntry const& primitive, Kernel kernel, ps::ConvShape& shape) {
    shape = shape_of(kernel);
    if (primitive.supports(shape)) return true;
    shape.groups = shape.c;
    return static_cast<bool>(primitive.supports(shape));
}

std::string kernels_of(ps::PrimitiveEntry const& primitive, ps::ConvShape& example) {
    std::string names;
    std::size_t count = 0;
    ps::ConvShape shape;
    for (Kernel kernel : kernels) {
        if (!supports(primitive, kernel, shape)) continue;
        example = shape;
        ++count;
        if (!names.empty()) names += ' ';
        names += std::to_string(kernel.h);
        names += 'x';
        names += std::to_string(kernel.w);
    }
    return count == std::size(kernels) ? "any" : names;
}

template <class Change>
const char* takes(ps::PrimitiveEntry const& primitive, ps::ConvShape shape, Change const& change) {
    change(shape);
    return primitive.supports(shape) ? "yes" : "-";
}

}  // namespace

int main() {
    const ps::Kernels all = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    const auto row = [](auto const&... cells) {
        constexpr int widths[] = {28, 10, 5, 5, 8, 9, 9, 10, 12, 9};
        std::size_t column = 0;
        ((std::cout << std::left << std::setw(widths[column++]) << cells), ...) << '\n';
    };
    row("id", "family", "in", "out", "kernel", "strides", "padding", "dilation", "groups", "error");
    for (ps::PrimitiveEntry const& p : all.primitives) {
        ps::ConvShape example;
        const std::string names = kernels_of(p, example);
        const bool depthwise = example.groups != 1;
        row(p.id, to_string_view(p.family), all.layouts[p.in_layout].name, all.layouts[p.out_layout].name, names,
            takes(p, example, [](ps::ConvShape& s) { s.stride_h = s.stride_w = 2; }),
            takes(p, example, [](ps::ConvShape& s) { s.pad_top = s.pad_left = 1; }),
            takes(p, example, [](ps::ConvShape& s) { s.dilation_h = s.dilation_w = 2; }),
            depthwise ? "depthwise" : takes(p, example, [](ps::ConvShape& s) { s.groups = 2; }), p.error_bound);
    }
    std::cout << all.primitives.size() << " primitives, " << ps::PublishedPrimitives::size << " of them published\n";
}
