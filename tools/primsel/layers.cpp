#include "layers.hpp"

#include "layer_page.hpp"

#include <string_view>

namespace cli {
namespace {

/// The code between backquotes in a cell.
std::vector<std::string> code_in(std::string_view cell) {
    std::vector<std::string> result;
    for (std::size_t at = cell.find('`'); at != std::string_view::npos; at = cell.find('`', at)) {
        const std::size_t end = cell.find('`', at + 1);
        result.emplace_back(cell.substr(at + 1, end - at - 1));
        at = end + 1;
    }
    return result;
}

std::string_view cell(std::string_view row, int which) {
    for (; which >= 0; --which) row.remove_prefix(row.find('|') + 1);
    return row.substr(0, row.find('|'));
}

bool names(std::string_view list, std::string_view name) {
    const std::size_t at = list.find(' ' + std::string(name));
    return at != std::string_view::npos &&
           std::string_view(" ,").find(list[at + 1 + name.size()]) != std::string_view::npos;
}

}  // namespace

std::vector<ListedLayer> list_layers() {
    std::vector<ListedLayer> layers;
    std::vector<std::string_view> options;
    std::string_view page = layer_page, before, table;
    for (std::size_t end = 0; end != std::string_view::npos; page.remove_prefix(end + 1)) {
        end = page.find('\n');
        const std::string_view line = page.substr(0, end);
        if (line.starts_with("|---")) {
            table = cell(before, 0);
        } else if (line.starts_with("| `") && table == " type ") {
            for (std::string& type : code_in(cell(line, 0))) layers.push_back({std::move(type), {}});
        } else if (line.starts_with("| `") && table == " option ") {
            options.push_back(line);
        }
        before = line;
        if (end == std::string_view::npos) break;
    }
    for (ListedLayer& layer : layers) {
        const std::string_view name = std::string_view(layer.type).substr(0, layer.type.find('<'));
        for (const std::string_view option : options) {
            if (names(cell(option, 1), name)) layer.options.push_back(code_in(cell(option, 0)).at(0));
        }
    }
    return layers;
}

}  // namespace cli
