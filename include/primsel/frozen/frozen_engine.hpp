// A network that `primsel freeze` wrote as a header: its plan as constants, without a planner.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/engine/ready_step.hpp>
#include <primsel/frozen/weights.hpp>
#include <primsel/gemm/tile_set.hpp>
#include <primsel/op/op.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace frozen {

/// The instruction set of this translation unit, for the kernels of a plan: with some tiles only; for
/// ops that get one image at a time, if `single`; with pools of images whose rows are contiguous, if `planes`.
template <gemm::TileSet set, bool single, bool planes>
struct ArchOf : default_arch {
    using instructions = default_arch;
    static constexpr gemm::TileSet tiles = set;
    static constexpr bool one_image = single, no_planes = !planes;
};

/// The op of a layer in a layout, as ReadyOp calls it. The compiler knows the parameters, and leaves out what they do
/// not need.
template <class Params, Layout L, Params const& params, class Arch = default_arch>
void run_op(const void*, OpArgs const& args) noexcept {
    if constexpr (StridedLayout<L>) {
        Op<Params>::template run<Arch, L>(params, args);
    } else {
        OpIn<Params, L>::template run<Arch>(params, args);
    }
}

/// A tensor in the arena.
struct PlacedTensor {
    std::size_t tensor = 0, offset = 0;  ///< offset in bytes
};

/// A tensor in a section of the weights.
struct PlacedConstant {
    std::size_t tensor = 0, section = 0;
};

/// Memory for the intermediate results of a run.
template <std::size_t size>
struct alignas(alignment) Arena {
    std::array<std::byte, size> bytes;
};

}  // namespace frozen

/// Runs the network of a header that `primsel freeze` wrote, of which Net is the struct. A run calls the same kernels
/// with the same arguments as an Engine with the plan, and so gives the same bits. Nothing here allocates, throws,
/// locks or prints, and it compiles without exceptions and RTTI.
///
///     static primsel::FrozenEngine<mobilenet>::Arena arena;
///     primsel::frozen::WeightsFile weights;
///     primsel::FrozenEngine<mobilenet> engine;
///     const char* refusal = weights.open("mobilenet.bin");
///     if (refusal == nullptr) refusal = engine.open(weights.bytes(), arena);
///     if (refusal == nullptr) engine.run(image, result);
template <class Net>
class FrozenEngine {
    static_assert(Net::weights_key.version == PRIMSEL_VERSION,
                  "primsel: this network was frozen by another version of primsel; freeze it again");
    static_assert(
        Net::weights_key.arch == frozen::arch_name,
        "primsel: this network was frozen for another instruction set than this unit is compiled for; compile "
        "it with the -march of the primsel that froze it; see docs/engine/frozen.md");

public:
    /// The images of a run, and the bytes of its intermediate results.
    static constexpr std::size_t batch = Net::batch;
    static constexpr std::size_t arena_bytes = Net::arena_bytes;
    /// The most threads that an executor may have.
    static constexpr std::size_t workers = Net::workers;

    /// Memory for a run, which belongs to one engine.
    using Arena = frozen::Arena<Net::arena_bytes == 0 ? 1 : Net::arena_bytes>;

    FrozenEngine() noexcept = default;
    // The places of the arena's tensors are kept.
    FrozenEngine(FrozenEngine const&) = delete;
    FrozenEngine& operator=(FrozenEngine const&) = delete;

    /// Takes the weights, all bytes of their file, and memory for its results. Both must outlive the engine;
    /// the weights must be aligned to 64 bytes, as a mapped file is. Returns null, or why these are not the weights of
    /// this network; the engine then cannot run.
    [[nodiscard]] const char* open(std::span<const std::byte> weights, Arena& arena) noexcept {
        is_open_ = false;
        if (reinterpret_cast<std::uintptr_t>(weights.data()) % alignment != 0) {
            return "the weights are not aligned to 64 bytes";
        }
        std::array<const std::byte*, Net::section_bytes.size()> sections{};
        if (const char* const refusal =
                frozen::find_sections(weights, Net::weights_key, Net::section_bytes, sections)) {
            return refusal;
        }
        const auto at = [&sections](std::size_t section) { return reinterpret_cast<const float*>(sections[section]); };
        for (std::size_t i = 0; i < Net::weights.size(); ++i) weights_[i] = at(Net::weights[i]);
        for (frozen::PlacedConstant const& constant : Net::constants) {
            tensors_[constant.tensor] = const_cast<float*>(at(constant.section));  // no step writes to it
        }
        for (frozen::PlacedTensor const& tensor : Net::tensors) {
            tensors_[tensor.tensor] = reinterpret_cast<float*>(arena.bytes.data() + tensor.offset);
        }
        core::ask_for_huge_pages(arena.bytes.data(), Net::arena_bytes);
        is_open_ = true;
        return nullptr;
    }
    [[nodiscard]] bool is_open() const noexcept { return is_open_; }

    [[nodiscard]] static constexpr std::size_t inputs() noexcept { return Net::in_shapes.size(); }
    [[nodiscard]] static constexpr std::size_t outputs() noexcept { return Net::out_shapes.size(); }
    /// The shape of an image, and of its result.
    [[nodiscard]] static constexpr Shape in_shape(std::size_t input = 0) noexcept { return Net::in_shapes[input]; }
    [[nodiscard]] static constexpr Shape out_shape(std::size_t output = 0) noexcept { return Net::out_shapes[output]; }
    /// Floats of all images of an input, and of a result, in the layout chw.
    [[nodiscard]] static constexpr std::size_t in_floats(std::size_t input = 0) noexcept {
        return Net::in_floats[input];
    }
    [[nodiscard]] static constexpr std::size_t out_floats(std::size_t output = 0) noexcept {
        return Net::out_floats[output];
    }

    /// Runs a batch of images: srcs[i] has in_floats(i) floats, dsts[i] room for out_floats(i). None may overlap.
    /// Returns false, and does nothing, if the engine has no weights yet or the executor has more than `workers`
    /// threads.
    bool run(std::span<const float* const> srcs, std::span<float* const> dsts, ExecutorRef executor) noexcept {
        if (!is_open_ || executor.concurrency() > workers || srcs.size() != inputs() || dsts.size() != outputs()) {
            return false;
        }
        // No step writes to an image.
        for (std::size_t i = 0; i < srcs.size(); ++i) tensors_[i] = const_cast<float*>(srcs[i]);
        for (std::size_t i = 0; i < dsts.size(); ++i) tensors_[inputs() + i] = dsts[i];
        steps().run(executor);
        return true;
    }
    /// On the calling thread.
    bool run(std::span<const float* const> srcs, std::span<float* const> dsts) noexcept {
        Sequential here;
        return run(srcs, dsts, here);
    }
    /// For a network of one input and one result.
    bool run(const float* src, float* dst) noexcept
        requires(Net::in_shapes.size() == 1 && Net::out_shapes.size() == 1)
    {
        return run(std::span(&src, 1), std::span(&dst, 1));
    }
    bool run(const float* src, float* dst, ExecutorRef executor) noexcept
        requires(Net::in_shapes.size() == 1 && Net::out_shapes.size() == 1)
    {
        return run(std::span(&src, 1), std::span(&dst, 1), executor);
    }

private:
    [[nodiscard]] engine::ReadyRun steps() noexcept {
        return {.steps = Net::steps,
                .order = Net::order,
                .lanes = Net::lanes,
                .single = Net::single,
                .images = Net::batch,
                .memory = {.tensors = tensors_.data(),
                           .image_bytes = Net::image_bytes.data(),
                           .weights = weights_.data(),
                           .op_srcs = op_srcs_.data()}};
    }

    std::array<float*, Net::image_bytes.size()> tensors_{};
    std::array<const float*, Net::weights.size()> weights_{};
    std::array<const float*, Net::op_srcs> op_srcs_{};
    bool is_open_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI
