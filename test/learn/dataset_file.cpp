#include <primsel/learn/dataset_file.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "../io/scratch.hpp"

namespace dataset_files {

namespace ps = primsel;
using scratch::content;
using scratch::error_of;

namespace {

ps::learn::Dataset columns() {
    return {.inputs = {"c", "im"},
            .subjects = {"a-to-b", "b-to-a"},
            .about = {{"arch", "avx2"}, {"cpu", "a processor"}, {"reference_ns", "30000"}, {"version", "1.2.3"}},
            .configurations = {},
            .seconds = {}};
}
constexpr std::array<std::array<int, 2>, 3> rows{{{3, 224}, {64, 56}, {1000, 1}}};
constexpr std::array<std::array<double, 2>, 3> times{{{1.5e-5, 2e-9}, {3e-6, 0}, {12.25, 1e-12}}};

void append(ps::learn::DatasetFile& file, std::size_t row) { file.append(rows[row], times[row]); }

const std::string header =
    "# arch: avx2\n# cpu: a processor\n# reference_ns: 30000\n# version: 1.2.3\nc,im,a-to-b,b-to-a\n";
const std::string whole = header + "3,224,15000,2\n64,56,3000,0\n1000,1,12250000000,1\n";

}  // namespace

TEST_CASE("dataset files: what was appended is there when they are opened again, and only that") {
    const scratch::Folder folder;
    const std::string path = folder.file("d.csv");
    for (std::size_t row = 0; row < rows.size(); ++row) {
        ps::learn::DatasetFile file(path, columns());
        CHECK(file.data().rows() == row);
        for (std::size_t i = 0; i < rows.size(); ++i) CHECK(file.contains(rows[i]) == (i < row));
        append(file, row);
        CHECK(file.contains(rows[row]));
        CHECK(file.data().rows() == row + 1);
    }
    CHECK(content(path) == whole);
    const ps::learn::Dataset data = ps::learn::read_dataset(path);
    CHECK(data.subjects == columns().subjects);
    CHECK(data.about == columns().about);
    CHECK(data.time(0, 0) == doctest::Approx(1.5e-5));
    CHECK(data.time(1, 1) == 0);
    CHECK(data.time(2, 1) > 0);
    CHECK(error_of([&] { (void)ps::learn::read_dataset(folder.file("none")); }).find("none: cannot read") !=
          std::string::npos);
}

TEST_CASE("dataset files: a pipe is refused at once") {
    const scratch::Folder folder;
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(error_of([&] { const ps::learn::DatasetFile file(pipe, columns()); }) ==
          pipe + ": cannot write: it is a pipe");
}

TEST_CASE("dataset files: wherever their writer was stopped, only the row that it wrote is lost") {
    const scratch::Folder folder;
    const std::string path = folder.file("d.csv");
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        CAPTURE(length);
        scratch::write(path, whole.substr(0, length));
        const std::size_t kept =
            length < header.size()
                ? 0
                : static_cast<std::size_t>(std::count(whole.begin() + static_cast<std::ptrdiff_t>(header.size()),
                                                      whole.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
        ps::learn::DatasetFile file(path, columns());
        CHECK(file.data().rows() == kept);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            CHECK(file.contains(rows[row]) == (row < kept));
            if (row >= kept) append(file, row);
        }
        CHECK(content(path) == whole);
    }
}

TEST_CASE("dataset files: another machine's or another list's file is refused and stays as it is") {
    const scratch::Folder folder;
    const std::string path = folder.file("d.csv");
    scratch::write(path, whole);
    const auto refused = [&](ps::learn::Dataset const& other, std::string const& reason) {
        const std::string message = error_of([&] { const ps::learn::DatasetFile file(path, other); });
        CAPTURE(message);
        CHECK(message == path + ": cannot append to it: " + reason);
        CHECK(content(path) == whole);
    };
    for (auto const& [key, value] : {std::pair{"arch", "avx2"}, {"cpu", "a processor"}, {"version", "1.2.3"}}) {
        ps::learn::Dataset other = columns();
        other.about[key] = "else";
        refused(other, ps::join("its ", key, " is ", value, " and not else"));
    }
    ps::learn::Dataset other = columns();
    other.subjects.pop_back();
    refused(other, "its columns differ, first b-to-a where none is written");
    other = columns();
    other.subjects.insert(other.subjects.begin(), "new");
    refused(other, "its columns differ, first a-to-b where new is written");
    other = columns();
    other.inputs = {"c", "k", "im"};
    refused(other, "its columns differ, first im where k is written");
    // A file that says nothing of images has times of one.
    other = columns();
    other.about["images"] = "32";
    CHECK(error_of([&] { const ps::learn::DatasetFile file(path, other); }) ==
          path + ": cannot append to it: its times are of 1 images, not of 32");
    CHECK(content(path) == whole);
    other.about["images"] = "1";
    { const ps::learn::DatasetFile same(path, other); }
    // Other facts about the machine may differ.
    other = columns();
    other.about["reference_ns"] = "31000";
    other.about["compiler"] = "new";
    const ps::learn::DatasetFile file(path, other);
    CHECK(file.data().about == columns().about);
    CHECK(file.data().rows() == 3);
}

TEST_CASE("dataset files: what is no dataset is neither taken for one nor touched") {
    const scratch::Folder folder;
    const std::string path = folder.file("d.csv");
    for (const std::string text : {"no dataset", "no dataset\n", "# arch: avx2\nno dataset", "# arch: avx2\n\n\n",
                                   "c,im\n", "# notes of mine\n", "\n"}) {
        CAPTURE(text);
        scratch::write(path, text);
        CHECK_FALSE(error_of([&] { const ps::learn::DatasetFile file(path, columns()); }).empty());
        CHECK(content(path) == text);
    }
    scratch::write(path, header + "3,224,x,2\n");
    CHECK(error_of([&] { const ps::learn::DatasetFile file(path, columns()); }).find("line 6") != std::string::npos);
    CHECK_FALSE(error_of([&] { const ps::learn::DatasetFile file(folder.file(""), columns()); }).empty());
}

TEST_CASE("dataset files: a full disk is reported, and the file ends with its last whole row") {
    CHECK(error_of([] { const ps::learn::DatasetFile file("/dev/full", columns()); }) ==
          "/dev/full: cannot write: No space left on device");
    const scratch::Folder folder;
    const std::string path = folder.file("d.csv");
    ps::learn::DatasetFile file(path, columns());
    append(file, 0);
    const std::string before = content(path);
    {
        const scratch::SmallDisk disk(before.size() + 5);
        CHECK(error_of([&] { append(file, 1); }).starts_with(path + ": cannot write: "));
        CHECK(content(path) == before);
        CHECK_FALSE(file.contains(rows[1]));
    }
    append(file, 1);
    append(file, 2);
    CHECK(content(path) == whole);
}

TEST_CASE("dataset files: one writer at a time, and rows as wide as the header") {
    const scratch::Folder folder;
    const std::string path = folder.file("d.csv");
    {
        ps::learn::DatasetFile file(path, columns());
        CHECK(error_of([&] { const ps::learn::DatasetFile other(path, columns()); }) ==
              path + ": another program appends to it");
        CHECK_THROWS_AS(file.append(rows[0], std::array{1.0}), ps::error);
        CHECK_THROWS_AS(file.append(std::array{1}, times[0]), ps::error);
        CHECK(content(path) == header);
        append(file, 0);
    }
    const ps::learn::DatasetFile again(path, columns());
    CHECK(again.data().rows() == 1);
}

TEST_CASE("profiles: primitives, with changes of layout or without; each file is what it must be") {
    const scratch::Folder folder;
    const std::string primitives = folder.file("p.csv"), layouts = folder.file("l.csv");
    scratch::write(primitives, "c,k,im,f,s,kn2row\n3,8,14,3,1,500\n");
    scratch::write(layouts, whole);
    const ps::learn::Profile both = ps::learn::read_profile(primitives, layouts);
    CHECK(both.primitives.name == primitives);
    CHECK(both.primitives.data.rows() == 1);
    REQUIRE(both.layouts);
    CHECK(both.layouts->name == layouts);
    CHECK(both.layouts->data.rows() == rows.size());
    CHECK_FALSE(ps::learn::read_profile(primitives).layouts);
    CHECK(error_of([&] { (void)ps::learn::read_profile(layouts); }) ==
          layouts + ": its configurations are not c, k, im, f, s");
    scratch::write(primitives, "# images: 1\nc,k,im,f,s,kn2row\n3,8,14,3,1,500\n");
    CHECK(ps::learn::read_profile(primitives).primitives.data.rows() == 1);
    for (auto const& [images, reason] : {std::pair{"32", "its times are of 32 images together, not of one"},
                                         {"some", "its images are 'some', which is no number of them"},
                                         {"0", "its images are '0', which is no number of them"},
                                         {"1.5", "its images are '1.5', which is no number of them"}}) {
        scratch::write(primitives, ps::join("# images: ", images, "\nc,k,im,f,s,kn2row\n3,8,14,3,1,500\n"));
        CHECK(error_of([&] { (void)ps::learn::read_profile(primitives); }) == ps::join(primitives, ": ", reason));
    }
    scratch::write(primitives, "c,k,im,f,s,kn2row\n3,8,14,3,1,500\n");
    CHECK(error_of([&] { (void)ps::learn::read_profile(primitives, primitives); }) ==
          primitives + ": its configurations are not c, im");
}

}  // namespace dataset_files
