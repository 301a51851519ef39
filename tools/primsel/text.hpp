// Output that several commands share.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/io/json.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace ps = primsel;

/// Prints lines, of which each is made printable. Throws error when they cannot be written.
void print(std::string_view lines);
/// Prints the parts as one line, whatever is in them. Throws error as print does.
template <class... Parts>
void print_line(Parts const&... parts) {
    print(ps::printable(ps::join(parts...)) + '\n');
}
/// Writes "primsel: warning: " and the text to the standard error.
void warn(std::string const& text);
/// The one object that --json promises. Bytes of paths and names that are not UTF-8 are written as Python's
/// os.fsdecode has them. Throws error as print does.
void print_json(ps::Json const& json);
/// Throws error unless all that was printed has arrived.
void finish_printing();

/// "12.3 MB", of 1000 each as disks and weights are counted.
[[nodiscard]] std::string megabytes(std::size_t bytes);

/// "did you mean X? " for the name that is nearest to the word; nothing where none is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::vector<std::string> const& names);
/// "a, b, c"
[[nodiscard]] std::string list_of_names(std::vector<std::string> const& names);

}  // namespace cli
