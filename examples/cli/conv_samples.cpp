#include "conv_samples.hpp"

#include <primsel/core/simd.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/io/dataset.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/primitive/all.hpp>
#include <primsel/primitive/primitive.hpp>

namespace cli {
namespace {

#if defined(__aarch64__)
using Archs = ps::TypeList<xsimd::neon64>;
#else
using Archs = ps::TypeList<xsimd::avx512bw, xsimd::fma3<xsimd::avx2>, xsimd::sse4_2>;
#endif

template <class P, class Arch>
void add_primitive(ps::Dataset const& data, ps::Machine const& machine,
                   std::vector<ps::ConvRegression::Sample>& samples) {
    using Traits = ps::PrimitiveTraits<P, Arch>;
    const std::size_t subject = data.find(P::id);
    if (subject == data.subjects.size()) return;
    for (std::size_t row = 0; row < data.rows(); ++row) {
        const ps::ConvShape shape = data.conv(row);
        if (!(data.time(row, subject) > 0) || !P::supports(shape)) continue;
        const std::size_t packed = ps::bytes_of_floats(Traits::packed_floats(shape));
        samples.push_back({.primitive = std::string(std::string_view(P::id)),
                           .terms = ps::as_terms(ps::Analytical::terms(machine, Traits::work(shape), packed, shape)),
                           .seconds = data.time(row, subject)});
    }
}

/// Whether the profile is of this instruction set.
template <class Arch>
bool add_profile(std::string_view arch, ps::Dataset const& data, ps::Machine const& machine,
                 std::vector<ps::ConvRegression::Sample>& samples) {
    if constexpr (ps::InstructionSet<Arch>) {
        if (arch != Arch::name()) return false;
        [&]<class... P>(ps::TypeList<P...>) {
            (add_primitive<P, Arch>(data, machine, samples), ...);
        }(ps::AllPrimitives{});
        return true;
    }
    return false;
}

}  // namespace

std::vector<ps::ConvRegression::Sample> conv_samples(std::vector<std::string> const& paths) {
    std::vector<ps::ConvRegression::Sample> samples;
    for (std::string const& path : paths) {
        const ps::Dataset data = ps::read_dataset(path);
        if (data.of_layouts()) continue;
        const ps::Machine machine = ps::machine_about(path, data.about);
        const auto arch = data.about.find("arch");
        const std::string name = arch == data.about.end() ? "" : arch->second;
        const bool known = [&]<class... A>(ps::TypeList<A...>) {
            return (add_profile<A>(name, data, machine, samples) || ...);
        }(Archs{});
        if (!known) ps::fail(path, ": is of the instruction set '", ps::printable(name), "', unknown to this program");
    }
    if (samples.empty()) ps::fail("--profiles: no times of primitives");
    return samples;
}

}  // namespace cli
