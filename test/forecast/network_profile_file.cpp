#include "../io/scratch.hpp"

#include <doctest/doctest.h>
#include <primsel/forecast/network_profile_file.hpp>
#include <primsel/io/file.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace network_profile_files {
namespace {

namespace ps = primsel;
using scratch::content;
using tests::error_of;

std::vector<ps::forecast::ProfileRow> rows() {
    using Outcome = ps::forecast::NetworkMeasurement::Outcome;
    return {{{"resnet18", 64, 96, {0.3, "l1", 7}, 16, true}, {Outcome::measured, 0.125, 0.1 + 0.2, 1000, 1001, 2000}},
            {{"nets/a b.onnx", 224, 224, {0, "random", 1}, 1, false}, {Outcome::too_large, 1e-9, 0, 1U << 31U, 0, 0}},
            {{"resnet18", 64, 96, {0.3, "l1", 7}, 16, false}, {Outcome::failed, 3, 0, 5, 0, 0}}};
}

TEST_CASE("a table of measured networks keeps every row, and goes on where it was cut") {
    const scratch::Folder folder;
    const std::string path = folder.file("networks.csv");
    const std::map<std::string, std::string> about{{"cpu", "made up"}};
    {
        ps::forecast::NetworkProfileFile file(path, about);
        for (ps::forecast::ProfileRow const& row : rows()) file.append(row);
        ps::forecast::ProfileRow comma = rows()[0];
        comma.key.network = "a,b";
        CHECK(error_of([&] { file.append(comma); }).find("a,b") != std::string::npos);
    }
    const std::string whole = content(path);
    for (std::size_t size = 0; size <= whole.size(); size += 1 + size / 40) {
        ps::write_file(path, std::string_view(whole).substr(0, size));
        ps::forecast::NetworkProfileFile file(path, about);
        for (ps::forecast::ProfileRow const& row : rows()) {
            if (!ps::forecast::has_row(file.rows(), row.key)) file.append(row);
        }
        CHECK(content(path) == whole);
    }
    ps::write_file(path, whole);
    const ps::forecast::NetworkProfileFile file(path, about);
    REQUIRE(file.rows().size() == rows().size());
    for (std::size_t i = 0; i < rows().size(); ++i) {
        CHECK(file.rows()[i].key == rows()[i].key);
        CHECK(file.rows()[i].measured.outcome == rows()[i].measured.outcome);
        CHECK(file.rows()[i].measured.seconds == rows()[i].measured.seconds);
        CHECK(file.rows()[i].measured.resident_bytes == rows()[i].measured.resident_bytes);
    }
}

TEST_CASE("what is no table of measured networks is refused, with the line") {
    std::map<std::string, std::string> about;
    const std::string columns(ps::forecast::NetworkProfileFormat::columns);
    const std::string line = ps::forecast::NetworkProfileFormat::line(rows()[0]);
    const auto fault = [&](std::string const& text) {
        return error_of([&] { (void)ps::forecast::parse_network_profile("t", text, about); });
    };
    CHECK(fault(columns + "\n" + line).empty());
    CHECK(fault("a,b\n").starts_with("t:1"));
    for (std::string_view const from : {"resnet18", "64", "0.3", "l1", "training", "measured", "2000"}) {
        std::string changed = line;
        changed.replace(changed.find(from), from.size(), "-x");
        if (from == "resnet18") changed = line.substr(line.find(','));
        CHECK_MESSAGE(fault(columns + "\n" + changed).starts_with("t:2"), changed);
    }
    const scratch::Folder folder;
    const std::string path = folder.file("others.csv");
    { const ps::forecast::NetworkProfileFile file(path, {{"cpu", "one"}}); }
    CHECK(error_of([&] {
              const ps::forecast::NetworkProfileFile file(path, {{"cpu", "two"}});
          }).find("cpu") != std::string::npos);
}

}  // namespace
}  // namespace network_profile_files
