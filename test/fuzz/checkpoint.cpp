// Any bytes are a checkpoint or are refused with primsel::error; what parsed is written and read back as the same, and
// what a training asks of it is there or refused, with the file's name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include "safetensors_file.hpp"

#include <primsel/train/checkpoint_file.hpp>
#include <span>
#include <string>
#include <string_view>

namespace fuzz_checkpoint {

/// The call's result; nothing where it throws the error that it may.
template <class Call>
auto refused_or(Call const& call) -> std::optional<decltype(call())> {
    try {
        return call();
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz")) std::abort();
        return std::nullopt;
    }
}

std::optional<primsel::Checkpoint> parse(std::span<const std::byte> bytes) {
    return refused_or([&] {
        primsel::Checkpoint checkpoint = primsel::parse_checkpoint("fuzz", {bytes, nullptr});
        checkpoint.tensors.set_source("fuzz");
        return checkpoint;
    });
}

std::string write(primsel::Checkpoint const& checkpoint) {
    primsel::SafetensorsMetadata facts(checkpoint.facts.begin(), checkpoint.facts.end());
    if (checkpoint.plan) facts.emplace_back("plan", primsel::to_string(primsel::to_json(*checkpoint.plan)));
    return safetensors_file(checkpoint.tensors, facts);
}

void check(std::span<const std::byte> bytes) {
    const auto checkpoint = parse(bytes);
    if (!checkpoint) return;
    const std::string file = write(*checkpoint);
    const auto again = parse(std::as_bytes(std::span(file)));
    if (!again || again->facts != checkpoint->facts || again->plan != checkpoint->plan || write(*again) != file) {
        std::abort();
    }
    const primsel::train::CheckpointReader reader(*checkpoint);
    for (auto const& fact : checkpoint->facts) {
        (void)refused_or([&] { return reader.number<std::int64_t>(fact.first); });
        (void)refused_or([&] { return reader.number<double>(fact.first); });
        reader.require(fact.first, fact.second);
    }
    for (const char* name : {"a.weight", "optimizer/a.weight", "best/a.weight"}) {
        const auto values = refused_or([&] { return reader.values(name, 4); });
        if (values && values->size() != 4) std::abort();
    }
}

int run(const std::uint8_t* data, std::size_t size) {
    check_as_file_and_header(data, size, check);
    return 0;
}

}  // namespace fuzz_checkpoint
