// Opt-in: freezes the network of an engine, in a program of its own: a Network type, or a graph from anywhere.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/frozen/freeze.hpp>
#include <primsel/frozen/kernel_types.hpp>
#include <primsel/io/file.hpp>
#include <primsel/network/weights.hpp>

#include <cctype>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Where a frozen network is written, and what its header declares. What is empty follows from the header's path.
struct FrozenPaths {
    std::string header;     ///< such as "net.hpp"
    std::string weights{};  ///< the file of packed weights; as the header, with .bin
    std::string name{};     ///< the struct that the header declares; the name of the header, as an identifier
    bool embed = false;     ///< whether the header takes the weights into the program, as `<name>_weights()`
};

namespace frozen {

/// Returns the paths with nothing empty. Throws error if there is no header.
[[nodiscard]] inline FrozenPaths complete(FrozenPaths paths) {
    const std::filesystem::path header(paths.header);
    if (!header.has_filename()) fail("freeze: no header to write: \"", paths.header, '"');
    if (paths.weights.empty()) paths.weights = std::filesystem::path(header).replace_extension(".bin").string();
    if (paths.name.empty()) paths.name = header.stem().string();
    for (char& c : paths.name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    if (std::isdigit(static_cast<unsigned char>(paths.name[0])) != 0) paths.name = "net_" + paths.name;
    if (std::filesystem::path(paths.weights).lexically_normal() == header.lexically_normal()) {
        fail("freeze: header and weights in one file, ", paths.header);
    }
    return paths;
}

}  // namespace frozen

/// Writes a plan down as a header and a file of packed weights, as freeze makes them. Throws error as freeze does, and
/// if a file cannot be written. Returns the bytes of the file of weights.
inline std::size_t write_frozen(Graph const& graph, Kernels const& kernels, Plan const& plan, Weights const& weights,
                                frozen::KernelTypes const& types, FrozenPaths const& to, std::size_t workers,
                                ExecutorRef packing) {
    const FrozenPaths paths = frozen::complete(to);
    const std::string embedded = paths.embed ? std::filesystem::absolute(paths.weights).string() : "";
    const FrozenFiles files = freeze(graph, kernels, plan, weights, types,
                                     {.name = paths.name, .workers = workers, .embed = embedded}, packing);
    // The header refuses weights of another freezing: a new one with old weights is never run.
    write_file(paths.weights, files.weights);
    write_file(paths.header, files.header);
    return files.weights.size();
}

/// The same for what an engine runs. The frozen network gives the same bits, on as many threads at most.
///
///     primsel::Weights weights = primsel::read_weights<Tiny>("tiny.safetensors");
///     primsel::write_frozen(primsel::Engine<Tiny>(weights), weights, {.header = "tiny.hpp"});
///
/// weights: those of the engine. See docs/engine/frozen.md.
template <class Net, class Policies>
std::size_t write_frozen(Engine<Net, Policies> const& engine, Weights const& weights, FrozenPaths const& to) {
    static_assert(std::same_as<typename Policies::arch, default_arch>,
                  "primsel: a network is frozen for the instruction set that this unit is compiled for; see "
                  "docs/engine/frozen.md");
    static_assert(std::same_as<typename Policies::gemm, SimdGemm>,
                  "primsel: only networks with the library's own matrix product can be frozen; see "
                  "docs/engine/frozen.md");
    Sequential here;
    return write_frozen(engine.graph(), engine.kernels(), engine.plan(), weights,
                        frozen::kernel_types<typename Policies::primitives, typename Policies::layouts>(), to,
                        engine.workers(), here);
}

}  // namespace primsel::inline PRIMSEL_ABI
