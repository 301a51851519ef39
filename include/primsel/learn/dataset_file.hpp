#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/line_file.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/learn/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A dataset from a CSV file; see parse_dataset. Throws error, naming the file and, where it is at fault, the line.
[[nodiscard]] inline Dataset read_dataset(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_dataset(path, file.text());
}

/// Times of primitives, by c, k, im, f, s, and of changes of layout, by c, im, from a CSV file each; the second path
/// may be empty. Throws error, naming the file, also when its configurations are others or its times not of one image.
[[nodiscard]] inline Profile read_profile(std::string const& primitives, std::string const& layouts = {}) {
    const auto read = [](std::string const& path, std::vector<std::string> const& inputs, const char* names) {
        NamedDataset result{path, read_dataset(path)};
        if (result.data.inputs != inputs) fail(path, ": its configurations are not ", names);
        if (const int images = images_about(path, result.data.about); images != 1) {
            fail(path, ": its times are of ", images, " images together, not of one");
        }
        return result;
    };
    Profile profile{read(primitives, ConvConfiguration::inputs(), "c, k, im, f, s")};
    if (!layouts.empty()) profile.layouts = read(layouts, TensorConfiguration::inputs(), "c, im");
    return profile;
}

/// A CSV file of measurements that grows by a row at a time, and that nobody else may append to meanwhile. Whoever
/// writes it may be killed at any moment: at most the row that was just written is lost, and what was cut short is
/// removed when the file is opened again.
class DatasetFile {
public:
    /// Opens or creates the file; `columns` says what its header is (rows, if it has any, do not matter). Throws error
    /// when the file cannot be written, when somebody else appends to it, when it is no dataset, and when it has other
    /// columns or its arch, cpu or version, as far as `columns` names them, is another.
    DatasetFile(std::string path, Dataset const& columns) : file_(std::move(path)) {
        Dataset header{.inputs = columns.inputs,
                       .subjects = columns.subjects,
                       .about = columns.about,
                       .configurations = {},
                       .seconds = {}};
        const std::string_view text = file_.text();
        if (io::is_torn_header(text, header_of(header))) {
            file_.cut(0);
            data_ = std::move(header);
            file_.append(header_of(data_));
            return;
        }
        data_ = parse_dataset(file_.path(), text.substr(0, file_.whole()));
        require_same(header);
        file_.cut(file_.whole());
        for (std::size_t row = 0; row < data_.rows(); ++row) remember(data_.configuration(row));
    }

    /// The rows that were in the file when it was opened, and every row since.
    [[nodiscard]] Dataset const& data() const { return data_; }
    [[nodiscard]] bool contains(std::span<const int> configuration) const {
        return known_.contains({configuration.begin(), configuration.end()});
    }
    /// As many values as there are inputs and subjects. Throws error when the row cannot be written, for instance to a
    /// full disk; the file then ends with the row before.
    void append(std::span<const int> configuration, std::span<const double> seconds) {
        if (configuration.size() != data_.inputs.size() || seconds.size() != data_.subjects.size()) {
            fail(file_.path(), ": a row of ", configuration.size(), " and ", seconds.size(),
                 " values where the header has ", data_.inputs.size(), " and ", data_.subjects.size());
        }
        file_.append(line_of(configuration, seconds));
        data_.add(configuration, seconds);
        remember(configuration);
    }

private:
    void remember(std::span<const int> configuration) { known_.emplace(configuration.begin(), configuration.end()); }

    void require_same(Dataset const& header) const {
        const int have = images_about(file_.path(), data_.about), want = images_about(file_.path(), header.about);
        if (have != want)
            fail(file_.path(), ": cannot append to it: its times are of ", have, " images, not of ", want);
        for (const std::string_view key : {"arch", "cpu", "version"}) {
            const auto wanted = header.about.find(std::string(key)), found = data_.about.find(std::string(key));
            if (wanted == header.about.end()) continue;
            const std::string value = found == data_.about.end() ? "not known" : found->second;
            if (value != wanted->second) {
                fail(file_.path(), ": cannot append to it: its ", key, " is ", value, " and not ", wanted->second);
            }
        }
        require_same_columns(data_.inputs, header.inputs);
        require_same_columns(data_.subjects, header.subjects);
    }
    void require_same_columns(std::vector<std::string> const& found, std::vector<std::string> const& wanted) const {
        for (std::size_t i = 0; i < std::max(found.size(), wanted.size()); ++i) {
            const std::string have = i < found.size() ? found[i] : "missing",
                              want = i < wanted.size() ? wanted[i] : "none";
            if (have != want) {
                fail(file_.path(), ": cannot append to it: its columns differ, first ", have, " where ", want,
                     " is written");
            }
        }
    }

    LineFile file_;
    Dataset data_;
    std::set<std::vector<int>> known_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
