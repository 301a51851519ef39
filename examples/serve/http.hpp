// The HTTP side: requests in, images decoded, answers out. A fixed number of workers run the network.
#pragma once

#include "network.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace serve {

struct Settings {
    std::vector<std::string> files;  // arguments that are no options
    int port = 8080;                 // 0: any that is free
    std::size_t workers = 0, threads = 0, queue = 64, connections = 128, sizes = 8, pixels = std::size_t{1} << 22;
    double deadline_seconds = 10;
    int size = 0;                   // of the first images, where the file leaves it open
    float mean = 0, deviation = 1;  // of pixels from 0 to 1
};

/// Reads the options that serve.cpp lists. Throws primsel::error.
[[nodiscard]] Settings read_settings(int argc, char** argv);

/// Makes the network and answers requests on 127.0.0.1 until SIGTERM or SIGINT. Prints the port when it listens, and at
/// the end how many requests it answered. Throws primsel::error, also when the port is taken.
void serve(Settings const& settings, std::unique_ptr<Network> (*make)(Settings const&));

}  // namespace serve
