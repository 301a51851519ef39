#include <primsel/core/read_number.hpp>
#include <primsel/io/table_file.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "scratch.hpp"

namespace table_files {
namespace {

namespace ps = primsel;
using scratch::content;
using scratch::error_of;

struct Format {
    struct Row {
        std::string name;
        int count = 0;
        friend bool operator==(Row const&, Row const&) = default;
    };
    static constexpr std::string_view columns = "name,count";

    [[nodiscard]] static std::string line(Row const& row) { return ps::join(row.name, ',', row.count); }
    [[nodiscard]] static bool read(std::vector<std::string> const& cells, Row& row) {
        if (cells.size() != 2) return false;
        row.name = cells[0];
        return ps::read_number(cells[1], row.count);
    }
};
using File = ps::TableFile<Format>;
const std::map<std::string, std::string> about{{"cpu", "some"}, {"network", "net"}};
const std::string whole = "# cpu: some\n# network: net\nname,count\none,1\ntwo,2\n";

TEST_CASE("table files: wherever their writer was stopped, they go on") {
    const scratch::Folder folder;
    const std::string path = folder.file("table.csv");
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        CAPTURE(length);
        scratch::write(path, whole.substr(0, length));
        {
            File file(path, about);
            CHECK(file.rows().size() <= 2);
            while (file.rows().size() < 2)
                file.append(file.rows().empty() ? Format::Row{"one", 1} : Format::Row{"two", 2});
        }
        CHECK(content(path) == whole);
    }
}

TEST_CASE("table files: what somebody else wrote stays as it is") {
    const scratch::Folder folder;
    const std::string path = folder.file("notes");
    for (const std::string text : {"notes", "# notes\n", "# notes\n# more", "#!/bin/sh\n", "# other: x\n", "\n",
                                   "name;count", "{\"file\":", "name,count,", "# cpu: some\nnotes", "notes\nmore"}) {
        CAPTURE(text);
        scratch::write(path, text);
        CHECK(error_of([&] { const File file(path, about); }).find(path + ":") == 0);
        CHECK(content(path) == text);
    }
    scratch::write(path, "notes");
    CHECK(error_of([&] { const File file(path, about); }) == path + ": is no table of name,count");
    scratch::write(path, "# cpu: other\n");
    CHECK(error_of([&] { const File file(path, about); }) == path + ": cannot append to it: it is of something else");
}

}  // namespace
}  // namespace table_files
