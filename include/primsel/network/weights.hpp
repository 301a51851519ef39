#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/stored_floats.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A named array of floats, row-major. Copies share the values.
struct WeightTensor {
    std::vector<std::int64_t> dims;
    StoredFloats values;
    /// Keeps the values alive: a file's buffer, a vector, or nothing for values that live elsewhere.
    std::shared_ptr<const void> owner;
};

/// "64x3x3x3"; "scalar" without dimensions.
[[nodiscard]] inline std::string to_string(std::vector<std::int64_t> const& dims) {
    if (dims.empty()) return "scalar";
    std::string text;
    for (const std::int64_t dim : dims) {
        if (!text.empty()) text += 'x';
        text += std::to_string(dim);
    }
    return text;
}

/// The weights of a network by name, in the order of their names. Copying is cheap.
class Weights {
public:
    Weights() = default;
    /// `source`: what errors call them, as a rule the path of their file.
    explicit Weights(std::string source) : source_(std::move(source)) {}

    [[nodiscard]] std::string const& source() const { return source_; }
    void set_source(std::string source) { source_ = std::move(source); }

    /// Throws error when the name is taken or the values do not fill the dimensions.
    void add(std::string const& name, WeightTensor tensor) {
        for (const std::int64_t dim : tensor.dims) {
            if (dim < 0) fail("weight ", name, ": impossible dimensions ", to_string(tensor.dims));
        }
        if (!fills(tensor.values.size(), tensor.dims)) {
            fail("weight ", name, ": ", tensor.values.size(), " values cannot fill ", to_string(tensor.dims));
        }
        if (!tensors_.emplace(name, std::move(tensor)).second) fail("weight ", name, ": given twice");
    }
    void add(std::string const& name, std::vector<std::int64_t> dims, std::vector<float> values) {
        auto owner = std::make_shared<const std::vector<float>>(std::move(values));
        const std::span<const float> view(*owner);
        add(name, WeightTensor{std::move(dims), view, std::move(owner)});
    }

    /// Names a tensor of the file whose elements are not read, and describes it.
    void add_unread(std::string const& name, std::string description) {
        unread_.insert_or_assign(name, std::move(description));
    }
    /// Descriptions of the tensors that are not read, by name.
    [[nodiscard]] std::map<std::string, std::string, std::less<>> const& unread() const { return unread_; }

    [[nodiscard]] const WeightTensor* find(std::string_view name) const {
        const auto found = tensors_.find(name);
        return found == tensors_.end() ? nullptr : &found->second;
    }
    /// Throws error when there is none, naming it.
    [[nodiscard]] WeightTensor const& at(std::string_view name) const {
        const WeightTensor* tensor = find(name);
        if (tensor == nullptr) fail("weight ", name, ": missing");
        return *tensor;
    }
    [[nodiscard]] std::size_t size() const { return tensors_.size(); }
    [[nodiscard]] auto begin() const { return tensors_.begin(); }
    [[nodiscard]] auto end() const { return tensors_.end(); }

private:
    /// Divides rather than multiplies: a product of hostile dimensions would wrap around.
    [[nodiscard]] static bool fills(std::size_t count, std::vector<std::int64_t> const& dims) {
        if (std::ranges::find(dims, 0) != dims.end()) return count == 0;
        for (const std::int64_t dim : dims) {
            if (count % static_cast<std::size_t>(dim) != 0) return false;
            count /= static_cast<std::size_t>(dim);
        }
        return count == 1;
    }

    std::string source_ = "weights";
    std::map<std::string, WeightTensor, std::less<>> tensors_;
    std::map<std::string, std::string, std::less<>> unread_;
};

}  // namespace primsel::inline PRIMSEL_ABI
