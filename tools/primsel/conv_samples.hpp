// Times of primitives in profiles of any machine and instruction set, and what they are made of.
#pragma once

#include <primsel/learn/conv_regression.hpp>

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cli {
namespace ps = primsel;

/// The times of a profile: rows[i] is the choice that samples[i] belongs to, a configuration and a pass.
struct ProfileSamples {
    std::string path, cpu;
    /// Tells processors apart that have the same name: the file's name to its first hyphen; without one, the CPU's
    /// name.
    std::string processor;
    std::vector<ps::learn::ConvRegression::Sample> samples{};
    std::vector<std::size_t> rows{};
    /// Primitives whose kernels changed since and that another profile of the machine times anew: nothing is fitted to
    /// them. Line "superseded" of the profile, ids with spaces between them.
    std::set<std::string, std::less<>> superseded{};
};

/// The samples of each profile of primitives among the files; those of layouts are passed over. Throws primsel::error,
/// naming the file, where one does not say its machine's speeds or is of an instruction set that this program cannot
/// reckon for.
[[nodiscard]] std::vector<ProfileSamples> conv_samples(std::vector<std::string> const& paths);

/// The samples to fit of all profiles but those of a processor.
[[nodiscard]] std::vector<ps::learn::ConvRegression::Sample> samples_without(
    std::vector<ProfileSamples> const& profiles, std::string const& processor);

/// How good choices and predictions on a profile are.
struct Choices {
    std::size_t rows = 0;
    double regret = 1;  ///< the geometric mean of the chosen primitive's time over the fastest one's
    double error = 0;   ///< the median relative error of predicted times
};
/// Judges Analytical's predictions, or those by coefficients.
[[nodiscard]] Choices judge_analytical(ProfileSamples const& profile);
[[nodiscard]] Choices judge(ProfileSamples const& profile, ps::learn::ConvRegression const& model);

}  // namespace cli
