// Primitives and costs that exist only for planning: nothing here computes.
#pragma once

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/plan/make_plan.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fakes {

namespace ps = primsel;

inline constexpr std::size_t chw = 0, hcw = 1, hwc = 2;

inline ps::Support any(ps::ConvShape const&) { return ps::Support::yes(); }
inline ps::Support only_3x3(ps::ConvShape const& shape) {
    return shape.fh == 3 && shape.fw == 3 ? ps::Support::yes() : ps::Support::no("needs a 3x3 kernel");
}
inline ps::Support only_stride_1(ps::ConvShape const& shape) {
    return shape.strided() ? ps::Support::no("needs stride 1") : ps::Support::yes();
}

struct Options {
    ps::Support (*supports)(ps::ConvShape const&) = &any;
    ps::Family family = ps::Family::direct;
    bool fuses_epilogue = true;
    double error_bound = 1e-5;
};
inline ps::PrimitiveEntry primitive(std::string_view id, std::size_t in, std::size_t out, Options const& options = {}) {
    ps::PrimitiveEntry entry{};
    entry.packed_bytes = [](ps::ConvShape const& shape) { return sizeof(float) * shape.kernel_size(); };
    entry.id = id, entry.in_layout = in, entry.out_layout = out;
    entry.supports = options.supports, entry.family = options.family;
    entry.fuses_epilogue = options.fuses_epilogue, entry.error_bound = options.error_bound;
    return entry;
}

/// The library's layouts with other primitives, which must outlive them.
inline ps::Kernels kernels(std::span<const ps::PrimitiveEntry> primitives) {
    ps::Kernels result = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    result.primitives = primitives;
    return result;
}

/// Costs that have nothing to do with each other, between 0 and 1 second; another set for each seed. Changes of layout
/// are up to `transform_scale` times as dear.
class HashedCosts {
public:
    static constexpr std::string_view name = "hashed";
    explicit HashedCosts(unsigned seed, double transform_scale = 1) : seed_(seed), transform_scale_(transform_scale) {}

    [[nodiscard]] double conv(ps::ConvShape const& shape, std::string_view primitive,
                              ps::RunContext const& run = {}) const {
        return hash(ps::join("conv ", to_string(shape), ' ', primitive, text(run)));
    }
    [[nodiscard]] double transform(ps::Shape shape, std::size_t from, std::size_t to,
                                   ps::RunContext const& run = {}) const {
        return transform_scale_ * hash(ps::join("transform ", shape, ' ', from, ' ', to, text(run)));
    }
    [[nodiscard]] double op(ps::AnyLayer const& layer, ps::Shape output, std::size_t layout,
                            ps::RunContext const& run = {}) const {
        return hash(ps::join("op ", ps::layer_kind(layer), ' ', output, ' ', layout, text(run)));
    }

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = conv(queries[i].shape, kernels.primitives[queries[i].primitive].id, queries[i].run);
        }
    }
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = transform(queries[i].shape, queries[i].from, queries[i].to, queries[i].run);
        }
    }
    void predict(ps::Kernels const&, std::span<const ps::OpQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = op(*queries[i].layer, queries[i].output, queries[i].layout, queries[i].run);
        }
    }

private:
    /// Every field: whoever asks without the context of the run gets another answer.
    [[nodiscard]] static std::string text(ps::RunContext const& run) {
        return ps::join(' ', run.batch, ' ', run.packs, ' ', run.layer_by_layer, ' ', run.data_reuse_bytes, ' ',
                        run.weight_reuse_bytes, ' ', run.weight_reuse_operations, ' ', run.threads);
    }
    [[nodiscard]] double hash(std::string_view text) const {
        std::uint64_t value = 0x9e3779b97f4a7c15ULL * (seed_ + 1U);
        for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        value = (value ^ (value >> 29U)) * 0xbf58476d1ce4e5b9ULL;
        return static_cast<double>(value >> 11U) / static_cast<double>(std::uint64_t{1} << 53U);
    }
    unsigned seed_;
    double transform_scale_;
};

}  // namespace fakes
