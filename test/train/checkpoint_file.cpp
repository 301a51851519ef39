// Checkpoints in files: what is written is read, and a write that fails leaves the file as it was.
#include "../io/scratch.hpp"

#include <doctest/doctest.h>
#include <primsel/train/checkpoint_file.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace checkpoints {
namespace {

namespace ps = primsel;

ps::Checkpoint example(std::string const& updates) {
    ps::Checkpoint checkpoint;
    checkpoint.tensors.add("a.weight", {2, 2}, {1.5F, -2, 3, 1e-30F});
    checkpoint.tensors.add("optimizer/a.weight", {4}, {0.1F, 0.2F, 0.3F, 0.4F});
    checkpoint.facts = {{"updates", updates}, {"loss of the epoch", "0.1"}, {"of \"quotes\"", "and \\ more\n"}};
    checkpoint.plan.emplace();
    checkpoint.plan->key.cpu = "a \"fast\" one";
    ps::PlannedLayer& layer = checkpoint.plan->layers.emplace_back();
    layer.name = "a";
    layer.primitive = "indirect";
    layer.seconds = 1e-3;
    return checkpoint;
}

}  // namespace

TEST_CASE("a checkpoint is read as it was written") {
    const std::string path = (std::filesystem::temp_directory_path() / "primsel_checkpoint.safetensors").string();
    const ps::Checkpoint written = example("7");
    ps::write_checkpoint(path, written);
    const ps::Checkpoint read = ps::read_checkpoint(path);
    CHECK(read.facts == written.facts);
    REQUIRE(read.plan);
    CHECK(read.plan->key == written.plan->key);
    CHECK(read.plan->layers == written.plan->layers);
    CHECK(read.tensors.size() == 2);
    CHECK(read.tensors.source() == path);
    for (auto const& [name, tensor] : written.tensors) {
        CHECK(std::ranges::equal(read.tensors.at(name).values, tensor.values));
        CHECK(read.tensors.at(name).dims == tensor.dims);
    }
    // As weights, beside the others.
    CHECK(ps::read_safetensors(path).at("a.weight").values[1] == -2.0F);
    std::filesystem::remove(path);
}

TEST_CASE("weights without metadata are a checkpoint that says nothing") {
    const std::string path = (std::filesystem::temp_directory_path() / "primsel_no_checkpoint.safetensors").string();
    ps::write_safetensors(path, example("7").tensors);
    CHECK(ps::read_checkpoint(path).facts.empty());
    CHECK_FALSE(ps::read_checkpoint(path).plan);
    std::filesystem::remove(path);
}

TEST_CASE("a checkpoint that cannot be written leaves the one before") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "primsel_checkpoints";
    std::filesystem::create_directory(folder);
    const std::string path = (folder / "run.safetensors").string();
    ps::write_checkpoint(path, example("7"));
    ps::Checkpoint bad = example("8");
    bad.tensors.add("\xff", {1}, {1.0F});
    CHECK_THROWS_AS(ps::write_checkpoint(path, bad), ps::error);
    CHECK(ps::read_checkpoint(path).facts == example("7").facts);
    CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a full disk, wherever it ends, leaves the checkpoint before") {
    const scratch::Folder folder;
    const std::string path = folder.file("run.safetensors");
    const ps::Checkpoint old = example("7");
    ps::Checkpoint next = example("8");
    next.tensors.add("b.weight", {5000}, std::vector<float>(5000, 0.5F));
    ps::write_checkpoint(path, old);
    const std::string before = scratch::content(path);
    for (const rlim_t bytes : {0U, 7U, 100U, 2000U, 12000U, 20000U}) {
        std::string message;
        {
            const scratch::SmallDisk disk(bytes);
            message = scratch::error_of([&] { ps::write_checkpoint(path, next); });
        }
        CHECK(message == path + ": cannot write: File too large");
        CHECK((scratch::content(path) == before));
        CHECK(folder.entries() == 1);
    }
    CHECK(scratch::error_of([&] { ps::write_checkpoint("/dev/full", old); }) ==
          "/dev/full: cannot write: No space left on device");
    ps::write_checkpoint(path, next);
    CHECK(ps::read_checkpoint(path).facts.at("updates") == "8");
}

}  // namespace checkpoints
