// Freezing for several instruction sets: a program that primsel_dispatch compiled for each of them runs itself again.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/frozen/files.hpp>
#include <primsel/frozen/write_frozen.hpp>
#include <primsel/io/file.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace ps = primsel;

/// The files of the part of one instruction set. Throws error unless this process is of the copy that it was started
/// for.
inline ps::FrozenPaths part_paths(ps::FrozenPaths const& all, std::string const& part) {
    const char* const wanted = std::getenv("PRIMSEL_ARCH");
    const std::string_view level = ps::frozen::level_of(ps::frozen::arch_name);
    if (wanted == nullptr || level != wanted) {
        ps::fail("--arch ", wanted == nullptr ? "" : wanted, ": this program is built for ", level,
                 " alone; to freeze for others, build it without PRIMSEL_ARCH: for every processor");
    }
    return {.header = part + ".hpp", .weights = part + ".bin", .name = all.name};
}

inline std::string bytes_of_file(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) ps::fail("cannot read ", path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs this program again with its own arguments, `--part` and that path, for an instruction set. Returns whether it
/// succeeded.
inline bool run_part(std::string const& arch, std::string const& path) {
    const std::string line = bytes_of_file("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::size_t at = 0; at < line.size(); at += words.back().size() + 1) words.emplace_back(line.c_str() + at);
    words.insert(words.end(), {"--part", path});
    std::vector<std::string> variables{"PRIMSEL_ARCH=" + arch};
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (!std::string_view(*variable).starts_with("PRIMSEL_ARCH=")) variables.emplace_back(*variable);
    }
    const auto pointers = [](std::vector<std::string>& texts) {
        std::vector<char*> all;
        for (std::string& text : texts) all.push_back(text.data());
        all.push_back(nullptr);
        return all;
    };
    ::pid_t child = 0;
    if (::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers(words).data(), pointers(variables).data()) !=
        0) {
        ps::fail("freeze: the system makes no process");
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Freezes for each, and writes the header, the weights and, if they become a part of the program, its source: the
/// header with .cpp. Parts are written beside the header for a while.
inline ps::FrozenFiles freeze_archs(std::vector<std::string> const& archs, ps::FrozenPaths const& paths) {
    std::vector<ps::FrozenFiles> parts;
    for (std::string const& arch : archs) {
        const std::string part = ps::join(paths.header, '.', arch, ".part");
        const bool frozen = run_part(arch, part);
        if (frozen) parts.push_back({bytes_of_file(part + ".hpp"), bytes_of_file(part + ".bin"), {}});
        std::filesystem::remove(part + ".hpp"), std::filesystem::remove(part + ".bin");
        if (!frozen) ps::fail("freeze: nothing was frozen for ", arch, "; see the message above");
    }
    const std::string embed = paths.embed ? std::filesystem::absolute(paths.weights).string() : "";
    ps::FrozenFiles files = ps::frozen::join_plans(paths.name, parts, embed);
    ps::write_file(paths.weights, files.weights);
    if (!files.source.empty()) {
        ps::write_file(std::filesystem::path(paths.header).replace_extension(".cpp").string(), files.source);
    }
    ps::write_file(paths.header, files.header);
    return files;
}

}  // namespace cli
