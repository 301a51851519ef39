#include "../skipped.hpp"

#include <primsel/io/file.hpp>
#include <primsel/learn/dataset.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <string>

namespace ps = primsel;

namespace {

ps::learn::Dataset some() {
    ps::learn::Dataset data{.inputs = {"c", "k", "im", "f", "s"},
                            .subjects = {"direct-hwc", "im2"},
                            .about = {{"cpu", "A: b"}, {"arch", "avx2"}},
                            .configurations = {},
                            .seconds = {}};
    const int first[] = {3, 64, 224, 7, 2}, second[] = {64, 64, 56, 3, 1};
    const double times[] = {1.5e-3, 0}, others[] = {2e-6, 3e-10};
    data.add(first, times);
    data.add(second, others);
    return data;
}

std::string message_of(std::string const& text) {
    try {
        (void)ps::learn::parse_dataset("times.csv", text);
    } catch (ps::error const& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a dataset survives its text, but for less than a nanosecond") {
    const ps::learn::Dataset data = some();
    const ps::learn::Dataset read = ps::learn::parse_dataset("times.csv", ps::learn::to_csv(data));
    CHECK(read.inputs == data.inputs);
    CHECK(read.subjects == data.subjects);
    CHECK(read.about == data.about);
    CHECK(read.configurations == data.configurations);
    REQUIRE(read.rows() == 2);
    CHECK(read.time(0, 0) == doctest::Approx(1.5e-3).epsilon(1e-12));
    CHECK(read.time(0, 1) == 0);
    CHECK(read.time(1, 1) == doctest::Approx(1e-9).epsilon(1e-12));  // measured, so not 0
    CHECK(ps::learn::to_csv(read) == ps::learn::to_csv(data).replace(0, 0, ""));
    const ps::ConvShape conv = read.conv(0);
    CHECK(conv.out_h() == 112);
    CHECK(conv.k == 64);
    CHECK(read.find("im2") == 1);
    CHECK(read.find("none") == 2);
}

TEST_CASE("a dataset cut anywhere loses the row that was being written, and no other") {
    const std::string text = ps::learn::to_csv(some());
    const std::size_t header = text.find("im2\n") + 4;
    for (std::size_t size = header; size <= text.size(); ++size) {
        CAPTURE(size);
        const ps::learn::Dataset read = ps::learn::parse_dataset("times.csv", text.substr(0, size));
        const auto whole = static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(header),
                                                               text.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
        CHECK(read.rows() == whole);
    }
}

TEST_CASE("a wrong dataset is refused with its line") {
    CHECK(message_of("") == "times.csv: no header");
    CHECK(message_of("a,b\n").starts_with("times.csv: line 1: no header"));
    CHECK(message_of("c,im,x,x\n") == "times.csv: line 1: column 'x' is there twice or has no name");
    CHECK(message_of("# cpu: x\nc,im,x\n1,0,3\n") == "times.csv: line 3: im is '0', no positive integer");
    CHECK(message_of("c,im,x\n1,2\n3,4,5\n") == "times.csv: line 2: 2 cells where the header has 3");
    CHECK(message_of("c,im,x\n1,2,3,4\n") == "times.csv: line 2: more than 3 cells");
    CHECK(message_of("c,im,x\n1,2,-3\n") == "times.csv: line 2: x is '-3', no time in nanoseconds");
    CHECK(message_of("c,im,x\n1,2,1e15\n") == "times.csv: line 2: x is '1e15', no time in nanoseconds");
    CHECK(message_of("c,k,im,f,s,x\n2000000,1,9,3,1,5\n") == "times.csv: line 2: is no convolution");
    CHECK(message_of("c,k,im,f,s,x\n1000000,1,999,999,1,5\n") == "times.csv: line 2: is no convolution");
    CHECK(message_of("c,im,x\n1,2,nan\n") == "times.csv: line 2: x is 'nan', no time in nanoseconds");
    CHECK(message_of("c,im,x\n1,99999999999,3\n") == "times.csv: line 2: im is '99999999999', no positive integer");
}

TEST_CASE("a dataset of random bytes is read or refused") {
    std::mt19937 generator(1);
    const std::string good = ps::learn::to_csv(some());
    int reads = 0, refusals = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = good;
        for (int i = 0; i < 3; ++i) text[generator() % text.size()] = static_cast<char>(generator());
        try {
            const ps::learn::Dataset read = ps::learn::parse_dataset("times.csv", text);
            CHECK(read.seconds.size() == read.rows() * read.subjects.size());
            ++reads;
        } catch (ps::error const& fault) {
            CHECK(std::string_view(fault.what()).starts_with("times.csv:"));
            ++refusals;
        }
    }
    CHECK(reads > 100);
    CHECK(refusals > 100);
}

TEST_CASE("a split gives every row once, the same ones for the same seed") {
    for (const std::size_t rows : {0U, 1U, 9U, 10U, 4665U}) {
        const ps::learn::Split split = ps::learn::split_rows(rows, 7), again = ps::learn::split_rows(rows, 7),
                               other = ps::learn::split_rows(rows, 8);
        CHECK(split.train == again.train);
        CHECK((rows < 10 || split.test != other.test));
        std::set<std::size_t> all;
        for (auto const* part : {&split.train, &split.validation, &split.test}) all.insert(part->begin(), part->end());
        CHECK(all.size() == rows);
        CHECK(split.train.size() + split.validation.size() + split.test.size() == rows);
        CHECK(split.train.size() == rows * 8 / 10);
    }
}

TEST_CASE("the published measurements are read whole" * doctest::test_suite("outside")) {
    const char* folder = std::getenv("PRIMSEL_DATA");
    if (folder == nullptr) {
        tests::skip("PRIMSEL_DATA");
        return;
    }
    for (const std::string machine : {"intel", "amd"}) {
        const std::string path = std::string(folder) + "/mulder2020/" + machine;
        const ps::SharedBytes file = ps::read_file(path + "_primitives.csv");
        const ps::learn::Dataset primitives = ps::learn::parse_dataset(path, file.text());
        CHECK(primitives.rows() == 4665);
        CHECK(primitives.inputs.size() == 5);
        CHECK(primitives.find("direct-sum2d") < primitives.subjects.size());
        for (std::size_t row = 0; row < primitives.rows(); ++row) REQUIRE(primitives.conv(row).valid());
        const ps::SharedBytes layouts = ps::read_file(path + "_layouts.csv");
        const ps::learn::Dataset changes = ps::learn::parse_dataset(path, layouts.text());
        CHECK(changes.rows() == 265);
        CHECK(changes.subjects.size() == 9);
    }
}
