#include "conv_samples.hpp"

#include <primsel/core/csv.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/learn/op_times_file.hpp>
#include <primsel/primitive/all.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/primitive/training.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace cli {
namespace {

#if defined(__aarch64__)
using Archs = ps::TypeList<xsimd::neon64>;
#else
using Archs = ps::TypeList<xsimd::avx512bw, xsimd::fma3<xsimd::avx2>, xsimd::sse4_2>;
#endif

using Profiled = ps::concatenate<ps::AllPrimitives, ps::GradientPrimitives>;

template <class P, class Arch>
void add_primitive(ps::learn::Dataset const& data, ps::Machine const& machine, ProfileSamples& profile) {
    using Traits = ps::PrimitiveTraits<P, Arch>;
    const int images = ps::learn::images_about(profile.path, data.about);
    const bool at_once = Traits::whole_batch();
    const std::size_t subject = data.find(P::id);
    if (subject == data.subjects.size()) return;
    // Batches count for gradients alone: calls that follow each other on one image after the other cost less than the
    // first one does, which is what a network's images pay.
    if (images > 1 && Traits::pass() == ps::Pass::forward) return;
    for (std::size_t row = 0; row < data.rows(); ++row) {
        const ps::ConvShape shape = data.conv(row);
        if (!(data.time(row, subject) > 0) || !P::supports(shape)) continue;
        const std::size_t packed = ps::bytes_of_floats(Traits::packed_floats(shape));
        const ps::ConvTerms terms = ps::Analytical::together(machine, Traits::work(shape, at_once ? images : 1), packed,
                                                             shape, images, at_once);
        profile.rows.push_back(3 * row + static_cast<std::size_t>(Traits::pass()));
        profile.samples.push_back({.primitive = std::string(std::string_view(P::id)),
                                   .terms = ps::as_terms(terms),
                                   .seconds = data.time(row, subject) / terms.times});
    }
}

/// Whether the profile is of this instruction set; what primitives do in it can be reckoned wherever this program runs.
template <class Arch>
bool add_profile(std::string_view arch, ps::learn::Dataset const& data, ps::Machine const& machine,
                 ProfileSamples& profile) {
    if (arch != Arch::name()) return false;
    [&]<class... P>(ps::TypeList<P...>) { (add_primitive<P, Arch>(data, machine, profile), ...); }(Profiled{});
    return true;
}

/// `seconds(sample)` predicts.
template <class Seconds>
Choices judge_by(ProfileSamples const& profile, Seconds const& seconds) {
    struct Row {
        double fastest = std::numeric_limits<double>::infinity(), predicted = fastest, chosen = 0;
    };
    std::map<std::size_t, Row> rows;
    std::vector<double> errors;
    for (std::size_t i = 0; i < profile.samples.size(); ++i) {
        ps::learn::ConvRegression::Sample const& sample = profile.samples[i];
        const double predicted = seconds(sample);
        Row& row = rows[profile.rows[i]];
        row.fastest = std::min(row.fastest, sample.seconds);
        if (predicted < row.predicted) row.predicted = predicted, row.chosen = sample.seconds;
        errors.push_back(std::abs(predicted / sample.seconds - 1));
    }
    double logarithms = 0;
    for (auto const& row : rows) logarithms += std::log(row.second.chosen / row.second.fastest);
    return {rows.size(), std::exp(logarithms / static_cast<double>(rows.size())), ps::median(std::move(errors))};
}

}  // namespace

std::vector<ProfileSamples> conv_samples(std::vector<std::string> const& paths) {
    std::vector<ProfileSamples> profiles;
    for (std::string const& path : paths) {
        const ps::SharedBytes file = ps::read_file(path);
        if (ps::learn::is_op_times(file.text())) continue;
        const ps::learn::Dataset data = ps::learn::parse_dataset(path, file.text());
        if (data.of_layouts()) continue;
        const ps::Machine machine = ps::learn::machine_about(path, data.about);
        const auto about = [&](const char* key) {
            const auto found = data.about.find(key);
            return found == data.about.end() ? "" : found->second;
        };
        ProfileSamples profile{.path = path, .cpu = about("cpu"), .processor = about("cpu")};
        const std::string name = std::filesystem::path(path).filename().string();
        if (const std::size_t hyphen = name.find('-'); hyphen != std::string::npos) {
            profile.processor = name.substr(0, hyphen);
        }
        const std::string superseded = about("superseded"), arch = about("arch");
        ps::core::Pieces ids(superseded, ' ');
        for (std::string_view id; ids.next(id);) profile.superseded.emplace(id);
        const bool known = [&]<class... A>(ps::TypeList<A...>) {
            return (add_profile<A>(arch, data, machine, profile) || ...);
        }(Archs{});
        if (!known) ps::fail(path, ": is of the instruction set '", ps::printable(arch), "', unknown to this program");
        if (!profile.samples.empty()) profiles.push_back(std::move(profile));
    }
    if (profiles.empty()) ps::fail("--profiles: no times of primitives");
    return profiles;
}

std::vector<ps::learn::ConvRegression::Sample> samples_without(std::vector<ProfileSamples> const& profiles,
                                                               std::string const& processor) {
    std::vector<ps::learn::ConvRegression::Sample> samples;
    for (ProfileSamples const& profile : profiles) {
        if (profile.processor == processor) continue;
        std::ranges::copy_if(
            profile.samples, std::back_inserter(samples),
            [&](std::string const& primitive) { return !profile.superseded.contains(primitive); },
            &ps::learn::ConvRegression::Sample::primitive);
    }
    return samples;
}

Choices judge_analytical(ProfileSamples const& profile) {
    return judge_by(profile, [](ps::learn::ConvRegression::Sample const& sample) {
        auto const& [products, rest, weights, calls] = sample.terms;
        return ps::Analytical::seconds({products, rest, weights, calls});
    });
}
Choices judge(ProfileSamples const& profile, ps::learn::ConvRegression const& model) {
    const std::vector<ps::ConvCoefficients> coefficients = model.coefficients();
    return judge_by(profile, [&](ps::learn::ConvRegression::Sample const& sample) {
        const auto found = std::ranges::find(coefficients, sample.primitive, &ps::ConvCoefficients::primitive);
        ps::ConvCoefficients::Terms const& by =
            found == coefficients.end() ? ps::ConvCoefficients::usual : found->values;
        return std::inner_product(by.begin(), by.end(), sample.terms.begin(), 0.0);
    });
}

}  // namespace cli
