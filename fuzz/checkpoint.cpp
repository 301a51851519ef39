// Any bytes are a checkpoint or are refused with primsel::error; what parsed is written and read back as the same, and
// what a training asks of it is there or refused, with the file's name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <primsel/io/checkpoint.hpp>
#include <span>
#include <string>
#include <string_view>

namespace {

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
    std::string file = primsel::detail::safetensors_header("fuzz", checkpoint.tensors, facts);
    for (auto const& [name, tensor] : checkpoint.tensors) {
        const auto bytes = tensor.values.bytes();
        file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return file;
}

void check(std::span<const std::byte> bytes) {
    const auto checkpoint = parse(bytes);
    if (!checkpoint) return;
    const std::string file = write(*checkpoint);
    const auto again = parse(std::as_bytes(std::span(file)));
    if (!again || again->facts != checkpoint->facts || again->plan != checkpoint->plan || write(*again) != file) {
        std::abort();
    }
    const primsel::detail::CheckpointReader reader(*checkpoint);
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check(std::as_bytes(std::span(data, size)));
    if (size == 0) return 0;
    // Few changes keep a header's size right: so once more as a header, after a byte with the size of the data.
    const std::uint64_t header_bytes = size - 1;
    std::string file(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes));
    file.append(reinterpret_cast<const char*>(data + 1), size - 1).append(data[0], '\x7e');
    check(std::as_bytes(std::span(file)));
    return 0;
}
