// A file gives a forecaster back to the last bit, and one that is cut off is refused; so do tables of measured
// networks, which go on where they ended.
#include <primsel/forecast/forecaster.hpp>
#include <primsel/forecast/forecaster_file.hpp>
#include <primsel/io/file.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../io/scratch.hpp"

namespace forecaster_files {
namespace {

namespace ps = primsel;
using scratch::content;
using tests::error_of;

ps::forecast::NetworkLoad load_of(int channels, int batch) {
    const ps::forecast::ConvSizes conv{.n = channels,
                                       .m = 16,
                                       .kernel_h = 3,
                                       .kernel_w = 3,
                                       .groups = 1,
                                       .in_h = 20,
                                       .in_w = 20,
                                       .out_h = 20,
                                       .out_w = 20};
    return ps::forecast::network_load(std::vector{conv}, batch);
}
ps::forecast::Forecaster<> forecaster() {
    std::vector<ps::forecast::ProfiledNetwork> profile;
    for (const int channels : {8, 24, 64}) {
        for (const int batch : {1, 3, 8}) {
            const ps::forecast::NetworkLoad load = load_of(channels, batch);
            profile.push_back({load, 0.01 + 1e-9 * load.features(13), 1e6 + 4 * load.features(4)});
        }
    }
    ps::forecast::Forecaster<> result = ps::forecast::Forecaster<>::fit(profile);
    result.about["cpu"] = "made up";
    return result;
}

TEST_CASE("a forecaster is read as it was written, and a file that is cut off is refused, with its name") {
    const scratch::Folder folder;
    const std::string path = folder.file("forecaster.model");
    const ps::forecast::Forecaster<> written = forecaster();
    ps::forecast::write_forecaster(path, written);
    const ps::forecast::Forecaster<> read = ps::forecast::read_forecaster(path);
    CHECK(read.about == written.about);
    for (const int channels : {5, 30, 100}) {
        const ps::forecast::NetworkForecast a = written.forecast(load_of(channels, 5)),
                                            b = read.forecast(load_of(channels, 5));
        CHECK(a.seconds->value == b.seconds->value);
        CHECK(a.seconds->deviation == b.seconds->deviation);
        CHECK(a.bytes->value == b.bytes->value);
        CHECK(a.bytes->deviation == b.bytes->deviation);
    }
    const std::string bytes = content(path);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{5}, std::size_t{25}, bytes.size() / 2, bytes.size() - 1}) {
        ps::write_file(path, std::string_view(bytes).substr(0, size));
        const std::string fault = error_of([&] { (void)ps::forecast::read_forecaster(path); });
        CHECK_MESSAGE(fault.starts_with(path), fault);
    }
    CHECK(error_of([&] { (void)ps::forecast::read_forecaster(path + ".none"); }).starts_with(path));
}

}  // namespace
}  // namespace forecaster_files
