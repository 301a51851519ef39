#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/machine/machine.hpp>

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::learn {

namespace detail {
/// The speeds by name, for `visit(name, value)`.
template <class M, class Visit>
void each_speed(M& machine, Visit const& visit) {
    visit("gemm_flops", machine.fma_flops);
    visit("half_flops", machine.half_flops);
    visit("product_flops", machine.matmul_flops);
    visit("bf16_flops", machine.bf16_flops);
    visit("int8_flops", machine.int8_flops);
    visit("vector_flops", machine.vector_flops);
    visit("scalar_flops", machine.scalar_flops);
    for (std::size_t i = 0; i < machine.bandwidth.size(); ++i) {
        visit("bandwidth_" + std::to_string(i), machine.bandwidth[i]);
    }
    visit("idle_bandwidth", machine.idle_bandwidth);
    visit("l2_bytes", machine.l2_bytes);
    visit("threads", machine.threads);
    visit("threads_flops", machine.threads_flops);
    visit("threads_cache_bandwidth", machine.threads_cache_bandwidth);
    visit("threads_memory_bandwidth", machine.threads_memory_bandwidth);
    visit("threads_loops", machine.threads_loops);
}
/// The speed is missing in older profiles; 0 stands for it.
[[nodiscard]] inline bool may_be_unknown(std::string_view speed) {
    return speed == "idle_bandwidth" || speed == "l2_bytes" || speed == "bf16_flops" || speed == "int8_flops" ||
           speed.starts_with("threads");
}
}  // namespace detail

/// The machine's speeds as lines about a profile, so that it can be learned from elsewhere.
inline void add_about(std::map<std::string, std::string>& about, Machine const& machine) {
    detail::each_speed(machine, [&](std::string const& name, double speed) {
        if (speed > 0 || !detail::may_be_unknown(name)) about[name] = std::to_string(std::llround(speed));
    });
}
/// The speeds that lines about the profile of that name give. Throws error when one is missing that
/// every profile says, or is no speed.
[[nodiscard]] inline Machine machine_about(std::string const& name, std::map<std::string, std::string> const& about) {
    Machine machine;
    detail::each_speed(machine, [&](std::string const& key, double& speed) {
        const auto found = about.find(key);
        if (found == about.end() && detail::may_be_unknown(key)) return;
        if (found == about.end()) fail(name, ": it does not say the machine's ", key);
        if (!read_number(found->second, speed) || !(speed > 0)) {
            fail(name, ": its ", key, " is '", printable(found->second), "', which is no speed");
        }
    });
    return machine;
}

/// How many images the times of the profile of that name are of: one where the lines about it do not say. Throws error
/// when they say no such number.
[[nodiscard]] inline int images_about(std::string const& name, std::map<std::string, std::string> const& about) {
    const auto found = about.find("images");
    if (found == about.end()) return 1;
    double images = 0;
    if (!read_number(found->second, images) || !(images >= 1 && images <= 1 << 20) || images != std::floor(images)) {
        fail(name, ": its images are '", printable(found->second), "', which is no number of them");
    }
    return static_cast<int>(images);
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
