// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/learned_cost.hpp>
#include <primsel/learn/any_regression.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A model learned on a machine, to be kept: learned_cost makes a cost model of it. Either part may be empty.
struct TrainedModel {
    /// Facts that the datasets tell about the machine (arch, compiler, cpu, version), and how it was trained.
    std::map<std::string, std::string> about;
    /// By ConvFeatures and by LayoutFeatures; not relative to other models.
    Trained<AnyRegression> primitives, layouts;

    /// The fact of that key; empty where it is not known.
    [[nodiscard]] std::string_view about_of(std::string const& key) const {
        const auto found = about.find(key);
        return found == about.end() ? std::string_view() : found->second;
    }

    void archive(Archive& archive) {
        archive(about);
        const auto part = [&](Trained<AnyRegression>& trained, std::size_t features) {
            archive.require(!trained.relative, "what was learned relative to another model is not kept in files");
            archive(trained.subjects, trained.kinds);
            archive.require(trained.kinds.empty() || trained.kinds.size() == trained.subjects.size(), "kinds of ",
                            trained.kinds.size(), " subjects where there are ", trained.subjects.size());
            for (auto const& kinds : trained.kinds) {
                archive.require(std::ranges::is_sorted(kinds), "kinds of convolutions out of order");
            }
            if (!trained.subjects.empty()) trained.regression.archive(archive, features, trained.subjects.size());
        };
        part(primitives, ConvFeatures::count);
        part(layouts, LayoutFeatures::count);
    }
};

namespace detail {

/// The part as a regression of type R. Throws error when it is of another kind.
template <Regression R>
[[nodiscard]] Trained<R> as(Trained<AnyRegression> trained) {
    if constexpr (std::same_as<R, AnyRegression>) {
        return trained;
    } else {
        const R* regression = trained.regression.template get_if<R>();
        if (regression == nullptr) {
            fail("trained model: its regression is of the kind '", trained.regression.kind(), "', not '", R::kind, "'");
        }
        return {std::move(trained.subjects), *regression, trained.relative, std::move(trained.kinds)};
    }
}

}  // namespace detail

/// The cost model that a trained model makes, of any regression or of the one that it must be: throws error when it is
/// another. What was not learned is left to Analytical.
template <Regression R = AnyRegression>
[[nodiscard]] LearnedCost<R> learned_cost(TrainedModel model) {
    if (model.layouts.subjects.empty()) return LearnedCost<R>(detail::as<R>(std::move(model.primitives)));
    return LearnedCost<R>(detail::as<R>(std::move(model.primitives)), detail::as<R>(std::move(model.layouts)));
}

namespace detail {

// A model's bytes: this line, then how many bytes there are behind both numbers, their checksum, and they themselves.
inline constexpr std::string_view model_format = "primsel model ";
inline constexpr std::string_view model_format_version = "2\n";
inline constexpr std::size_t model_header_bytes =
    model_format.size() + model_format_version.size() + 2 * sizeof(std::uint64_t);

[[nodiscard]] inline std::string model_header(std::span<const std::byte> content) {
    std::string header = join(model_format, model_format_version);
    for (const std::uint64_t value : {std::uint64_t{content.size()}, checksum(content)}) {
        header.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    return header;
}

}  // namespace detail

/// The model as bytes, from which parse_model makes one that predicts the same, to the last bit. Throws error, whose
/// message begins with the name, when it holds what is not finite.
[[nodiscard]] inline std::string to_bytes(std::string const& name, TrainedModel const& model) {
    Archive archive(name);
    const_cast<TrainedModel&>(model).archive(archive);  // writing changes nothing
    const auto content = archive.bytes();
    std::string bytes = detail::model_header(content);
    return bytes.append(reinterpret_cast<const char*>(content.data()), content.size());
}

/// A model from its bytes; `name` is what errors call it. Throws error when they are no model, one of another version
/// of the format, damaged, cut off, or lead to what is not there.
[[nodiscard]] inline TrainedModel parse_model(std::string const& name, std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!text.starts_with(detail::model_format)) fail(name, ": is no model that primsel wrote");
    const std::string_view rest = text.substr(detail::model_format.size());
    if (!rest.starts_with(detail::model_format_version)) {
        const std::string_view version = rest.substr(0, std::min(rest.find('\n'), std::size_t{8}));
        fail(name, ": this version of the library reads models of format 2, not ", version);
    }
    std::uint64_t size = 0, sum = 0;
    const std::size_t at = detail::model_header_bytes - 2 * sizeof(size);
    Archive header(name, bytes.subspan(at).first(std::min(bytes.size() - at, 2 * sizeof(size))), at);
    header(size, sum);
    const auto content = bytes.subspan(detail::model_header_bytes);
    if (content.size() < size) {
        fail(name, ": is cut off at byte ", bytes.size(), ": ", size - content.size(), " more belong to it");
    }
    if (content.size() > size) fail(name, ": has ", content.size() - size, " bytes behind its end");
    if (checksum(content) != sum) fail(name, ": is damaged: its checksum does not fit");
    Archive archive(name, content, detail::model_header_bytes);
    TrainedModel model;
    archive(model);
    archive.finish();
    return model;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
