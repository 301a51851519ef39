// The layers that a network type is written with.
#pragma once

#include <string>
#include <vector>

namespace cli {

struct ListedLayer {
    /// As it is written, with its parameters: "Dense<K, options...>".
    std::string type;
    std::vector<std::string> options;
};
/// All of docs/layer/layers.md, which scripts/check_layers.py compares with the headers.
[[nodiscard]] std::vector<ListedLayer> list_layers();

}  // namespace cli
