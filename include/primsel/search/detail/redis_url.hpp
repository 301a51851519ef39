#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/read_number.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::search::detail {

/// The address of a Redis server and its login.
struct RedisUrl {
    /// The URL for messages, without user and password.
    std::string shown;
    /// A socket of this machine; empty for a host.
    std::string path;
    std::string host;
    int port = 6379;
    /// Empty: the default user, and no password.
    std::string user, password;
    int database = 0;

    /// Reads redis://[[user]:password@]host[:port][/database], with an IPv6 address in brackets and any byte of user
    /// and password as %XX; or unix:path. Throws error for any other URL; no message has the password.
    explicit RedisUrl(std::string_view url) : shown(url) {
        constexpr std::string_view unix_scheme = "unix:", redis_scheme = "redis://";
        if (url.starts_with(unix_scheme)) {
            path = url.substr(unix_scheme.size());
            if (path.empty()) refuse();
            return;
        }
        const std::size_t scheme = url.find("://"), at = url.rfind('@');
        const std::size_t place = scheme == std::string_view::npos ? 0 : scheme + 3;
        const bool has_login = at != std::string_view::npos && at >= place;
        if (has_login) shown = join(url.substr(0, place), url.substr(at + 1));
        if (url.starts_with("rediss://"))
            fail("queue ", shown, ": TLS is not supported; use redis:// through a tunnel");
        if (!url.starts_with(redis_scheme)) refuse();
        std::string_view rest = std::string_view(shown).substr(redis_scheme.size());
        if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
            const std::string_view digits = rest.substr(slash + 1);
            if (!digits.empty() && (!read_number(digits, database) || database < 0))
                fail("queue ", shown, ": no database ", digits);
            rest = rest.substr(0, slash);
        }
        read_place(rest);
        if (has_login) read_login(url.substr(place, at - place));
    }

private:
    [[noreturn]] void refuse() const {
        fail("queue ", shown, ": is none; redis://host:port or unix:/path/of/the/socket is needed");
    }
    void read_place(std::string_view text) {
        const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
        if (bracket == std::string_view::npos) fail("queue ", shown, ": no ] ends the address");
        const std::size_t colon = text.find(':', bracket);
        if (colon != std::string_view::npos) {
            const std::string_view digits = text.substr(colon + 1);
            if (!read_number(digits, port) || port < 1 || port > 65535) fail("queue ", shown, ": no port ", digits);
        }
        const std::string_view name = text.substr(0, colon);
        host = bracket > 0 ? name.substr(1, bracket - 1) : name;
        if (host.empty() || (bracket > 0 && name.size() != bracket + 1)) refuse();
    }
    void read_login(std::string_view text) {
        const std::size_t colon = text.find(':');
        if (colon == std::string_view::npos) fail("queue ", shown, ": a user without a password");
        user = decoded(text.substr(0, colon));
        password = decoded(text.substr(colon + 1));
        if (password.empty()) fail("queue ", shown, ": a user without a password");
    }
    /// Replaces each %XX by the byte of that hexadecimal number; any other % stays.
    [[nodiscard]] static std::string decoded(std::string_view text) {
        const auto digit = [](char letter) {
            constexpr std::string_view digits = "0123456789abcdef";
            const char small = letter >= 'A' && letter <= 'F' ? static_cast<char>(letter - 'A' + 'a') : letter;
            return digits.find(small);
        };
        std::string bytes;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool is_escape = text[i] == '%' && i + 2 < text.size();
            const std::size_t high = is_escape ? digit(text[i + 1]) : std::string_view::npos;
            const std::size_t low = is_escape ? digit(text[i + 2]) : std::string_view::npos;
            if (high == std::string_view::npos || low == std::string_view::npos) {
                bytes += text[i];
            } else {
                bytes += static_cast<char>(16 * high + low);
                i += 2;
            }
        }
        return bytes;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::search::detail
