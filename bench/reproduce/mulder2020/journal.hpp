#pragma once

#include <primsel/io/json.hpp>
#include <primsel/io/line_file.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace reproduce {

namespace ps = primsel;

/// The results of finished experiments, kept in a file of a JSON object a line, which others do not write meanwhile. A
/// line that was cut short when the program was stopped is removed.
class Journal {
public:
    /// Results of other settings (version, data, effort) stay in the file and are not used. Throws error.
    Journal(std::string path, std::string settings);

    [[nodiscard]] std::optional<ps::JsonCursor> find(std::string const& experiment) const;
    /// From any thread. Throws error when the file cannot be written.
    void add(std::string const& experiment, double seconds, ps::Json value);
    [[nodiscard]] double seconds() const;
    [[nodiscard]] std::string const& settings() const { return settings_; }

private:
    struct Entry {
        double seconds;
        ps::JsonCursor value;
    };

    std::string settings_;
    ps::LineFile file_;
    std::map<std::string, Entry> entries_;
    mutable std::mutex mutex_;
};

}  // namespace reproduce
