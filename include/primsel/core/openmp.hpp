// Opt-in: needs OpenMP (-fopenmp, or the CMake target primsel::openmp).
#pragma once

#include <primsel/core/executor.hpp>

#if !defined(_OPENMP)
#error "primsel: core/openmp.hpp needs OpenMP; compile with -fopenmp or link primsel::openmp"
#endif
#include <omp.h>

namespace primsel::inline PRIMSEL_ABI {

/// Runs blocks on OpenMP's threads. How long they spin after run() is OpenMP's setting (OMP_WAIT_POLICY).
class OpenMP {
public:
    /// Uses `threads` threads; 0 means OpenMP's default number.
    explicit OpenMP(std::size_t threads = 0)
        : threads_(threads == 0 ? static_cast<std::size_t>(omp_get_max_threads()) : threads) {}

    [[nodiscard]] std::size_t concurrency() const noexcept { return threads_; }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        if (threads_ == 1 || blocks <= 1) return Sequential{}.parallel_for(blocks, function);
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast<int>(threads_))
        for (std::size_t block = 0; block < blocks; ++block) {
            function(block, static_cast<std::size_t>(omp_get_thread_num()));
        }
    }

private:
    std::size_t threads_;
};

}  // namespace primsel::inline PRIMSEL_ABI
