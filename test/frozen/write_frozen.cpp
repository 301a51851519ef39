// The files of a network type's engine. test/build/frozen.py compiles and runs them.
#include "../error_of.hpp"

#include <primsel/frozen/write_frozen.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace frozen_write {

namespace ps = primsel;
using namespace ps::layer;

struct Small : ps::Network<Input<3, 8, 8>, Conv<5, 3>, Relu, MaxPool<2>, Dense<4>> {};

std::string text_of(std::filesystem::path const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("an engine of a network type is written as freeze writes its plan") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "primsel_write_frozen";
    std::filesystem::create_directories(folder);
    const ps::Weights weights = ps::random_weights(Small::graph());
    const ps::Engine<Small> engine{weights};
    const std::string header = (folder / "5 small.hpp").string();
    const std::size_t bytes = ps::write_frozen(engine, weights, {.header = header, .embed = true});
    ps::Sequential here;
    const ps::FrozenFiles files = ps::freeze(engine.graph(), engine.kernels(), engine.plan(), weights,
                                             ps::frozen::kernel_types<ps::DefaultPrimitives, ps::AllLayouts>(),
                                             {.name = "net_5_small", .embed = (folder / "5 small.bin").string()}, here);
    CHECK(text_of(header) == files.header);
    CHECK(text_of(folder / "5 small.bin") == files.weights);
    CHECK(bytes == files.weights.size());
    std::filesystem::remove_all(folder);
}

TEST_CASE("paths that cannot be written are refused") {
    using ps::frozen::complete;
    CHECK(tests::error_of([] { (void)complete({.header = ""}); }).find("no header") != std::string::npos);
    CHECK(tests::error_of([] { (void)complete({.header = "a/b.bin", .weights = "./a/b.bin"}); }).find("one file") !=
          std::string::npos);
    CHECK(complete({.header = "a/b-c.hpp"}).weights == "a/b-c.bin");
    CHECK(complete({.header = "a/b-c.hpp"}).name == "b_c");
}

}  // namespace frozen_write
