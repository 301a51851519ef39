// Measurements are kept for the same kernels on the same machine, and nothing that happens to the file matters.
#include <primsel/measure/calibration_file.hpp>

#include <doctest/doctest.h>
#include <primsel/kernels/extern_kernels.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace calibration_files {

namespace ps = primsel;
namespace fs = std::filesystem;

namespace {

const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();

ps::learn::Sample sample(int c) { return {{.c = c, .k = 8, .h = 4, .w = 4}, "im2col-copy-self-ab-ki", 1e-3}; }

/// Removed with everything in it.
struct Folder {
    fs::path path = fs::temp_directory_path() / ps::join("primsel-calibration-", ::getpid());
    Folder() { fs::remove_all(path); }
    ~Folder() { fs::remove_all(path); }
};

/// An environment variable as it should be until the end of the scope; null: not there.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        set(value);
    }
    ~Variable() { set(before_ ? before_->c_str() : nullptr); }

private:
    void set(const char* value) { value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
    const char* name_;
    std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("the cache is where the system wants it") {
    const Variable home("HOME", "/home/me");
    {
        const Variable xdg("XDG_CACHE_HOME", "/var/cache/me");
        CHECK(ps::cache_directory() == "/var/cache/me/primsel");
    }
    {
        const Variable xdg("XDG_CACHE_HOME", "relative");
        CHECK(ps::cache_directory() == "/home/me/.cache/primsel");
    }
    const Variable xdg("XDG_CACHE_HOME", nullptr), nobody("HOME", nullptr);
    CHECK(ps::cache_directory().empty());
}

TEST_CASE("what was written is there for the same kernels, in folders that are made, and for no others") {
    const Folder folder;
    const std::string directory = folder.path / "a" / "b";
    ps::measure::CalibrationFile first(kernels, directory);
    CHECK(first.samples().empty());
    CHECK_FALSE(first.write());  // there is nothing to write
    CHECK_FALSE(fs::exists(folder.path));
    first.add(sample(3));
    first.add(sample(5));
    CHECK(first.write());
    const ps::measure::CalibrationFile second(kernels, directory);
    CHECK(second.path() == first.path());
    REQUIRE(second.samples().size() == 2);
    CHECK(second.samples()[1].shape == sample(5).shape);

    ps::Kernels fewer = kernels, other = kernels;
    fewer.primitives = fewer.primitives.first(3);
    other.arch = "other";
    for (ps::Kernels const& different : {fewer, other}) {
        const ps::measure::CalibrationFile third(different, directory);
        CHECK(third.path() != first.path());
        CHECK(third.samples().empty());
    }
}

TEST_CASE("a file that is damaged, or of another machine, counts as missing and is replaced") {
    const Folder folder;
    ps::measure::CalibrationFile whole(kernels, folder.path);
    whole.add(sample(3));
    REQUIRE(whole.write());
    const ps::SharedBytes file = ps::read_file(whole.path());
    const std::string text(file.text());
    std::string other = text;
    other.replace(other.find("# cpu: ") + 7, 1, "?");
    for (std::string const& damaged :
         {std::string(), std::string(1000, '\0'), text.substr(0, 60), other, text + "x\n"}) {
        CAPTURE(damaged);
        ps::write_file(whole.path(), damaged);
        ps::measure::CalibrationFile calibration(kernels, folder.path);
        CHECK(calibration.samples().empty());
        calibration.add(sample(7));
        CHECK(calibration.write());
        REQUIRE(ps::measure::CalibrationFile(kernels, folder.path).samples().size() == 1);
        CHECK(ps::measure::CalibrationFile(kernels, folder.path).samples()[0].shape.c == 7);
    }
}

TEST_CASE("where nothing can be written nothing is kept") {
    ps::measure::CalibrationFile nowhere(kernels, ""), impossible(kernels, "/dev/null/primsel");
    for (ps::measure::CalibrationFile* calibration : {&nowhere, &impossible}) {
        calibration->add(sample(3));
        CHECK_FALSE(calibration->write());
        CHECK(calibration->samples().size() == 1);
    }
}

TEST_CASE("a pipe in its place is left alone, and nobody waits for who reads it") {
    const Folder folder;
    ps::measure::CalibrationFile first(kernels, folder.path);
    fs::create_directories(folder.path);
    REQUIRE(::mkfifo(first.path().c_str(), 0600) == 0);
    ps::measure::CalibrationFile second(kernels, folder.path);
    CHECK(second.samples().empty());
    second.add(sample(3));
    CHECK_FALSE(second.write());
    CHECK(fs::is_fifo(second.path()));
}

TEST_CASE("the oldest samples are forgotten") {
    const Folder folder;
    ps::measure::CalibrationFile calibration(kernels, folder.path);
    for (int i = 1; i <= static_cast<int>(ps::measure::Calibration::most) + 10; ++i) calibration.add(sample(i));
    REQUIRE(calibration.write());
    const ps::measure::CalibrationFile read(kernels, folder.path);
    REQUIRE(read.samples().size() == ps::measure::Calibration::most);
    CHECK(read.samples().front().shape.c == 11);
}

}  // namespace calibration_files
