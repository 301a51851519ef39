// A locale that writes other numbers than C's: "1.473,25".
#pragma once

#include <clocale>
#include <locale>
#include <string>

namespace tests {

/// While it lives, streams group digits and write a comma, and so does the C library if the system has such a locale.
class OtherLocale {
public:
    explicit OtherLocale(bool wanted = true) : c_(std::setlocale(LC_ALL, nullptr)) {
        if (!wanted) return;
        std::locale::global(std::locale(std::locale::classic(), new Comma));
        for (const char* name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8", "nl_NL.UTF-8"}) {
            if (std::setlocale(LC_ALL, name) != nullptr) break;
        }
    }
    OtherLocale(OtherLocale const&) = delete;
    OtherLocale& operator=(OtherLocale const&) = delete;
    ~OtherLocale() {
        std::locale::global(cpp_);
        std::setlocale(LC_ALL, c_.c_str());
    }

private:
    struct Comma : std::numpunct<char> {
        [[nodiscard]] char do_decimal_point() const override { return ','; }
        [[nodiscard]] char do_thousands_sep() const override { return '.'; }
        [[nodiscard]] std::string do_grouping() const override { return "\3"; }
    };
    std::string c_;
    std::locale cpp_;
};

}  // namespace tests
