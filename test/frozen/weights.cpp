// The reader of packed weights refuses whatever is not what was frozen.
#include <primsel/frozen/weights.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace frozen_weights {

namespace ps = primsel;

struct Frozen {
    std::vector<std::byte> file;
    ps::frozen::WeightsKey key;
};

Frozen frozen(std::size_t bytes) {
    std::vector<std::byte> weights(bytes);
    for (std::size_t i = 0; i < bytes; ++i) weights[i] = static_cast<std::byte>(i * 37 + i / 256);
    ps::frozen::WeightsHeader header{.bytes = bytes, .checksum = ps::frozen::checksum(weights)};
    std::string("1.2.3").copy(header.version.data(), header.version.size());
    std::string("sets").copy(header.arch.data(), header.arch.size());
    Frozen result{{}, {"1.2.3", "sets", bytes, header.checksum}};
    const auto head = std::as_bytes(std::span(&header, 1));
    result.file.assign(head.begin(), head.end());
    result.file.insert(result.file.end(), weights.begin(), weights.end());
    return result;
}

TEST_CASE("weights as they were written are taken") {
    for (const std::size_t bytes : {0, 1, 63, 64, 65, 4096}) {
        const Frozen weights = frozen(bytes);
        CHECK(ps::frozen::refusal_of(weights.file, weights.key) == nullptr);
    }
}

TEST_CASE("a change of any bit, a byte more or less is refused") {
    const Frozen weights = frozen(200);
    for (std::size_t at = 0; at < weights.file.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::vector<std::byte> changed = weights.file;
            changed[at] ^= static_cast<std::byte>(1 << bit);
            CHECK(ps::frozen::refusal_of(changed, weights.key) != nullptr);
        }
        CHECK(ps::frozen::refusal_of(std::span(weights.file).first(at), weights.key) != nullptr);
    }
    std::vector<std::byte> longer = weights.file;
    longer.push_back(std::byte{0});
    CHECK(ps::frozen::refusal_of(longer, weights.key) != nullptr);
}

TEST_CASE("a refusal says what is wrong") {
    const Frozen weights = frozen(128);
    const auto refusal = [&](ps::frozen::WeightsKey const& key) {
        const char* const text = ps::frozen::refusal_of(weights.file, key);
        return std::string(text == nullptr ? "" : text);
    };
    ps::frozen::WeightsKey key = weights.key;
    key.version = "1.2.4";
    CHECK(refusal(key).find("another version") != std::string::npos);
    key = weights.key, key.arch = "set";
    CHECK(refusal(key).find("another instruction set") != std::string::npos);
    key = weights.key, key.checksum ^= 1;
    CHECK(refusal(key).find("another network") != std::string::npos);
    std::vector<std::byte> changed = weights.file;
    changed.back() ^= std::byte{1};
    CHECK(std::string(ps::frozen::refusal_of(changed, weights.key)).find("checksum") != std::string::npos);
}

TEST_CASE("a file is mapped, and what is no file is refused") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "primsel_frozen_weights";
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "net.bin").string();
    const Frozen weights = frozen(1000);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(weights.file.data()), static_cast<std::streamsize>(weights.file.size()));
    ps::frozen::WeightsFile file;
    CHECK(file.bytes().empty());
    REQUIRE(file.open(path.c_str()) == nullptr);
    CHECK(ps::frozen::refusal_of(file.bytes(), weights.key) == nullptr);
    CHECK(std::bit_cast<std::size_t>(file.bytes().data()) % 64 == 0);

    CHECK(std::string(file.open(folder.c_str())).find("no regular file") != std::string::npos);
    CHECK(file.bytes().empty());
    CHECK(std::string(file.open((folder / "none.bin").c_str())).find("cannot be opened") != std::string::npos);
    std::ofstream((folder / "empty.bin").string()).flush();
    CHECK(std::string(file.open((folder / "empty.bin").c_str())).find("empty") != std::string::npos);
    std::filesystem::remove_all(folder);
}

}  // namespace frozen_weights
