#pragma once

#include <primsel/io/safetensors.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/train/checkpoint.hpp>

#include <string>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Writes a checkpoint as a safetensors file, whose metadata are its facts; PyTorch reads the weights in it. `path` is
/// what it was until all is written, whenever the process ends. Throws error as write_safetensors does.
inline void write_checkpoint(std::string const& path, Checkpoint const& checkpoint) {
    SafetensorsMetadata facts(checkpoint.facts.begin(), checkpoint.facts.end());
    if (checkpoint.plan) facts.emplace_back("plan", to_string(to_json(*checkpoint.plan)));
    write_safetensors(path, checkpoint.tensors, facts);
}

/// A checkpoint in a file of which `file` holds all bytes. Throws error as parse_safetensors does; whether it belongs
/// to a training, Trainer::resume says.
[[nodiscard]] inline Checkpoint parse_checkpoint(std::string const& name, SharedBytes const& file) {
    Checkpoint checkpoint{parse_safetensors(name, file), {}};
    for (auto& [fact, text] : safetensors_metadata(name, file)) {
        if (fact == "plan")
            checkpoint.plan = parse_plan(name + ": plan", text);
        else
            checkpoint.facts.emplace(std::move(fact), std::move(text));
    }
    return checkpoint;
}
[[nodiscard]] inline Checkpoint read_checkpoint(std::string const& path) {
    return parse_checkpoint(path, read_file(path));
}

}  // namespace primsel::inline PRIMSEL_ABI
