#if defined(_OPENMP)

#include <primsel/core/openmp.hpp>

#include "executor.hpp"

namespace {

namespace ps = primsel;

TEST_CASE("OpenMP runs each block once, on a worker of its own") {
    for (const std::size_t threads : {1U, 2U, 3U}) {
        ps::OpenMP executor(threads);
        CHECK(executor.concurrency() == threads);
        laws::check_executor(executor);
    }
    CHECK(ps::OpenMP().concurrency() == static_cast<std::size_t>(omp_get_max_threads()));
}

}  // namespace

#endif
