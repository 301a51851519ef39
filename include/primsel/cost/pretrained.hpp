#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/compact_mlp.hpp>
#include <primsel/cost/learned_cost.hpp>
#include <primsel/cost/pretrained/avx2.hpp>
#include <primsel/cost/pretrained/avx512.hpp>
#include <primsel/cost/pretrained/sse4_2.hpp>
#include <primsel/cost/semi_empirical.hpp>

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// What `primsel pretrain` writes into a header: by how much kernels of one Arch are slower than Analytical says, as
/// learned from a profile. `primitives` and `layouts` name the targets of the two models, texts of CompactMlp in
/// pieces.
template <class M>
concept PretrainedModel = requires {
    { M::arch } -> std::convertible_to<std::string_view>;
    std::span<const std::string_view>(M::primitives);
    std::span<const std::string_view>(M::primitives_model);
    std::span<const std::string_view>(M::layouts);
    std::span<const std::string_view>(M::layouts_model);
};

/// SemiEmpirical with corrections learned from a profile of another machine. Speeds are those of the machine at hand;
/// only the corrections come from the other one. Kernels of another Arch, and what was not learned, take what
/// SemiEmpirical says: that is, Analytical where no OpModel is of their Arch.
template <PretrainedModel M, OpModel... Ops>
class Pretrained {
public:
    static constexpr std::string_view name = "pretrained";

    Pretrained() : learned_(model()) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) {
        predict_by(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) {
        predict_by(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
        rest_.predict(kernels, queries, seconds);
    }

private:
    using Rest = SemiEmpirical<Ops...>;
    using Model = LearnedCost<CompactMlp, Rest>;

    template <class Query>
    void predict_by(Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        if (kernels.arch == M::arch)
            learned_.predict(kernels, queries, seconds);
        else
            rest_.predict(kernels, queries, seconds);
    }
    // Parsed once.
    [[nodiscard]] static Model const& model() {
        static const Model parsed(trained(M::primitives, M::primitives_model), trained(M::layouts, M::layouts_model),
                                  Rest());
        return parsed;
    }
    [[nodiscard]] static Trained<CompactMlp> trained(std::span<const std::string_view> subjects,
                                                     std::span<const std::string_view> pieces) {
        std::string text;
        for (const std::string_view piece : pieces) text += piece;
        return {{subjects.begin(), subjects.end()}, CompactMlp::parse("pretrained model", text), true};
    }

    Model learned_;
    Rest rest_;
};

/// The model that comes with the library for the instruction set of this translation unit; Analytical where there is
/// none.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
using PretrainedCosts = Pretrained<pretrained::avx512, pretrained::ops_avx512>;
#elif defined(__AVX2__) && defined(__FMA__)
using PretrainedCosts = Pretrained<pretrained::avx2, pretrained::ops_avx2>;
#elif defined(__SSE4_2__) && !defined(__AVX__)
using PretrainedCosts = Pretrained<pretrained::sse4_2, pretrained::ops_sse4_2>;
#else
using PretrainedCosts = Analytical;
#endif

}  // namespace primsel::inline PRIMSEL_ABI
