// peers/gemms [ROUNDS]: the products of six convolutions by primsel's register tile, oneDNN's sgemm, OpenBLAS's and
// Eigen's, taking turns on one core; a table of their shares of the FMA peak, which is measured between the turns.
//
// primsel's is direct-hwc for a 1x1 kernel: the kernels are packed before, the pixels are read where they lie. The
// others get both matrices row by row and pack them within the call: they have no other way to be asked.
//
// To compare another target: a build with -DPRIMSEL_ARCH=avx2, run with ONEDNN_MAX_CPU_ISA=AVX2
// OPENBLAS_CORETYPE=Haswell.
#include "probe.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/gemm/gemm_eigen.hpp>
#include <primsel/primitive/direct.hpp>

#include <cblas.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

namespace ps = primsel;
using Arch = ps::default_arch;

/// C = A B, all row by row: pixels x depth, depth x kernels.
struct Product {
    int m, n, k;
    ps::ConvShape conv;
    ps::AlignedBuffer a, b, packed, c;

    Product(int pixels, int kernels, int depth)
        : m(pixels),
          n(kernels),
          k(depth),
          conv{.c = depth, .k = kernels, .h = pixels, .w = 1},
          a(size(m, k)),
          b(size(k, n)),
          packed(ps::DirectHwc::packed_floats<Arch>(conv)),
          c(size(m, n)) {
        unsigned state = 1;
        for (ps::AlignedBuffer* buffer : {&a, &b}) {
            for (float& value : buffer->span()) {
                state = state * 1664525U + 1013904223U;
                value = static_cast<float>(state >> 8) * (2.0F / (1U << 24)) - 1.0F;
            }
        }
        ps::DirectHwc::pack<Arch>(conv, b.data(), packed.data());  // other columns than theirs, as many
    }
    [[nodiscard]] static std::size_t size(int rows, int columns) {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    }
};

void by_primsel(Product& p) {
    ps::Sequential sequential;
    ps::DirectHwc::run<Arch>(
        p.conv, {.src = p.a.data(), .weights = p.packed.data(), .dst = p.c.data(), .executor = sequential});
}

void by_onednn(Product& p) {
    if (dnnl_sgemm('N', 'N', p.m, p.n, p.k, 1.0F, p.a.data(), p.k, p.b.data(), p.n, 0.0F, p.c.data(), p.n) !=
        dnnl_success) {
        ps::fail("oneDNN's sgemm failed");
    }
}

void by_openblas(Product& p) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p.m, p.n, p.k, 1.0F, p.a.data(), p.k, p.b.data(), p.n, 0.0F,
                p.c.data(), p.n);
}

void by_eigen(Product& p) {
    ps::Sequential sequential;
    ps::EigenGemm::run<Arch>({.m = p.m,
                              .n = p.n,
                              .k = p.k,
                              .a = ps::row_major(p.a.data(), static_cast<std::size_t>(p.k)),
                              .b = ps::row_major(p.b.data(), static_cast<std::size_t>(p.n)),
                              .c = p.c.data(),
                              .c_stride = static_cast<std::size_t>(p.n),
                              .executor = sequential});
}

struct Contender {
    const char* name;
    void (*run)(Product&);
    std::vector<double> shares{};
};

void compare(Product product, int rounds) {
    Contender contenders[] = {
        {"primsel", by_primsel}, {"oneDNN", by_onednn}, {"OpenBLAS", by_openblas}, {"Eigen", by_eigen}};
    const double operations = 2.0 * product.m * product.n * product.k;
    std::vector<double> peaks;
    for (int round = 0; round < rounds; ++round) {
        for (Contender& contender : contenders) {
            const double before = peers::fma_gflops(0.005);
            contender.run(product);
            int runs = 0;
            const ps::Timer timer;
            for (; runs < 3 || timer.seconds() < 0.02; ++runs) contender.run(product);
            const double rate = operations * runs / timer.seconds() / 1e9, after = peers::fma_gflops(0.005);
            contender.shares.push_back(rate / (0.5 * (before + after)));
            peaks.push_back(after);
        }
    }
    std::printf(
        "%17s",
        (std::to_string(product.m) + "," + std::to_string(product.n) + "," + std::to_string(product.k)).c_str());
    for (Contender& contender : contenders) std::printf("%9.1f%%", 100 * ps::median(contender.shares));
    std::printf("%12.1f\n", ps::median(peaks));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 25;
    if (rounds < 1) {
        std::fprintf(stderr, "gemms [ROUNDS]: at least one round\n");
        return 2;
    }
    omp_set_num_threads(1);  // oneDNN's
    openblas_set_num_threads(1);
    try {
        if (!peers::pin(0)) ps::fail("may not run on processor 0");
        std::printf("share of the FMA peak, one thread; medians of %d rounds\n", rounds);
        std::printf("%17s%10s%10s%10s%10s%12s\n", "pixels,kernels,depth", "primsel", "oneDNN", "OpenBLAS", "Eigen",
                    "peak, GFLOP/s");
        constexpr int shapes[][3] = {{3136, 64, 576}, {784, 128, 1152}, {196, 256, 2304},
                                     {49, 512, 4608}, {3136, 256, 64},  {196, 256, 1024}};
        for (auto const& [pixels, kernels, depth] : shapes) compare({pixels, kernels, depth}, rounds);
    } catch (std::exception const& fault) {
        std::fprintf(stderr, "gemms: %s\n", fault.what());
        return 1;
    }
}
