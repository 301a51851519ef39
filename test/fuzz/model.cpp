// Any bytes are a model or are refused with primsel::error; what is a model writes the same bytes, and can be asked.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <primsel/learn/trained_model.hpp>
#include <span>
#include <string>
#include <string_view>

namespace fuzz_model {

void ask(primsel::Trained<primsel::learn::AnyRegression> const& trained, std::size_t features) {
    if (trained.subjects.empty()) return;
    const auto predicted = trained.regression.predict(primsel::FloatTable(2, features, 1.5F));
    if (predicted.rows() != 2 || predicted.columns != trained.subjects.size()) std::abort();
}

void check(std::string_view bytes) {
    try {
        const auto model = primsel::learn::parse_model("fuzz", std::as_bytes(std::span(bytes)));
        if (primsel::learn::to_bytes("fuzz", model) != bytes) std::abort();
        ask(model.primitives, primsel::ConvFeatures::count);
        ask(model.layouts, primsel::LayoutFeatures::count);
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
    }
}

int run(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    check(bytes);
    // No change keeps the checksum right: so once more with the header that the content asks for.
    if (size < primsel::learn::detail::model_header_bytes) return 0;
    const std::string_view content = std::string_view(bytes).substr(primsel::learn::detail::model_header_bytes);
    check(primsel::learn::detail::model_header(std::as_bytes(std::span(content))) + std::string(content));
    return 0;
}

}  // namespace fuzz_model
