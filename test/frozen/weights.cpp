// Files of packed weights: what was written is read, plans share what is equal, and what is not what was frozen is
// refused.
#include <primsel/frozen/files.hpp>
#include <primsel/frozen/weights.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace frozen_weights {

namespace ps = primsel;

/// A file, and its plans as they were given.
struct Frozen {
    std::vector<ps::frozen::PackedPlan> plans;
    std::string file;

    [[nodiscard]] std::string refusal(std::string_view bytes, ps::frozen::WeightsKey const& key) const {
        std::vector<std::size_t> sizes;
        for (ps::frozen::PackedPlan const& plan : plans) {
            if (plan.arch != key.arch) continue;
            for (std::string const& section : plan.sections) sizes.push_back(section.size());
        }
        std::vector<const std::byte*> sections(sizes.size());
        const char* const text = ps::frozen::find_sections(std::as_bytes(std::span(bytes)), key, sizes, sections);
        return text == nullptr ? "" : text;
    }
    [[nodiscard]] ps::frozen::WeightsKey key(std::size_t plan = 0) const {
        return {PRIMSEL_VERSION, plans[plan].arch, ps::frozen::checksum_of(plans[plan])};
    }
};
std::string section(std::size_t lines, int seed) {
    std::string bytes(64 * lines, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(i * 37 + i / 256 + 11 * std::size_t(seed));
    return bytes;
}
Frozen frozen(std::vector<ps::frozen::PackedPlan> plans) {
    const std::string file = ps::frozen::weights_file(plans);
    return {std::move(plans), file};
}
Frozen one() { return frozen({{"sets", {section(1, 1), section(2, 2)}}}); }

TEST_CASE("weights as they were written are taken, whatever their number") {
    for (std::size_t count = 0; count < 6; ++count) {
        ps::frozen::PackedPlan plan{"sets", {}};
        for (std::size_t i = 0; i < count; ++i) plan.sections.push_back(section(i, int(i)));
        const Frozen weights = frozen({plan});
        CHECK(weights.refusal(weights.file, weights.key()) == "");
    }
}

TEST_CASE("a change of any bit, a byte more or less is refused") {
    const Frozen weights = one();
    for (std::size_t at = 0; at < weights.file.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string changed = weights.file;
            changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
            CHECK(weights.refusal(changed, weights.key()) != "");
        }
        CHECK(weights.refusal(std::string_view(weights.file).substr(0, at), weights.key()) != "");
    }
    CHECK(weights.refusal(weights.file + '\0', weights.key()) != "");
}

TEST_CASE("a refusal says what is wrong") {
    const Frozen weights = one();
    const auto says = [&](ps::frozen::WeightsKey const& key, std::string const& file, std::string_view text) {
        CHECK(weights.refusal(file, key).find(text) != std::string::npos);
    };
    ps::frozen::WeightsKey key = weights.key();
    key.version = "1.2.4";
    says(key, weights.file, "another version");
    key = weights.key(), key.arch = "set";
    says(key, weights.file, "another instruction set");
    key = weights.key(), key.checksum ^= 1;
    says(key, weights.file, "another network");
    std::string changed = weights.file;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    says(weights.key(), changed, "checksum");
    says(weights.key(), weights.file.substr(0, 250), "cut short");
    says(weights.key(), std::string(300, 'x'), "no weights");
}

TEST_CASE("damage to the weights of one plan does not concern another") {
    const Frozen weights = frozen({{"wide", {section(3, 2)}}, {"narrow", {section(3, 2), section(5, 4)}}});
    std::string changed = weights.file;
    const std::size_t at = changed.find(section(5, 4));
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK(weights.refusal(changed, weights.key(0)) == "");
    CHECK(weights.refusal(changed, weights.key(1)) != "");
}

TEST_CASE("a file is mapped, and what is no file is refused") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "primsel_frozen_weights";
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "net.bin").string();
    const Frozen weights = one();
    std::ofstream(path, std::ios::binary).write(weights.file.data(), static_cast<std::streamsize>(weights.file.size()));
    ps::frozen::WeightsFile file;
    CHECK(file.bytes().empty());
    REQUIRE(file.open(path.c_str()) == nullptr);
    CHECK(weights.refusal({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, weights.key()) ==
          "");
    CHECK(std::bit_cast<std::size_t>(file.bytes().data()) % 64 == 0);

    CHECK(std::string(file.open(folder.c_str())).find("no regular file") != std::string::npos);
    CHECK(file.bytes().empty());
    CHECK(std::string(file.open((folder / "none.bin").c_str())).find("cannot be opened") != std::string::npos);
    std::ofstream((folder / "empty.bin").string()).flush();
    CHECK(std::string(file.open((folder / "empty.bin").c_str())).find("empty") != std::string::npos);
    std::filesystem::remove_all(folder);
}

}  // namespace frozen_weights
