// primsel export NET OUT.onnx
#include "commands.hpp"
#include "model.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

namespace cli {
void add_export(CLI::App& app) { (void)app; }
}  // namespace cli
