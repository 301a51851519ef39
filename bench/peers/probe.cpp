// peers/probe CPU...: answers each line "probe" with the machine's speeds at the moment, as JSON: the FMA peak of each
// of the processors, the bandwidth at which the first reads memory, and the time a word takes between the first two.
// engines.py asks before and after each round.
#include "probe.hpp"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    std::vector<int> cpus;
    for (int i = 1; i < argc; ++i) cpus.push_back(std::atoi(argv[i]));
    if (cpus.empty()) cpus.push_back(0);
    const peers::Memory memory;
    std::string line;
    while (std::getline(std::cin, line) && line != "quit") {
        std::printf("{\"fma_gflops\": [");
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            if (!peers::pin(cpus[i])) {
                std::fprintf(stderr, "probe: may not run on processor %d\n", cpus[i]);
                return 1;
            }
            std::printf("%s%.3f", i == 0 ? "" : ", ", peers::fma_gflops(0.01));
        }
        peers::pin(cpus[0]);
        std::printf("], \"read_gbs\": %.3f, \"latency_ns\": ", memory.read_gbs());
        if (cpus.size() > 1)
            std::printf("%.1f}\n", peers::latency_ns(cpus[0], cpus[1]));
        else
            std::printf("null}\n");
        std::fflush(stdout);
    }
}
