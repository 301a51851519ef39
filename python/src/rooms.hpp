// The bindings: a file for each room, which adds its types and functions to the module.
#pragma once

#include "../../c/loaded.hpp"

#include <nanobind/nanobind.h>

#include <primsel/plan/plan.hpp>
#include <primsel/train/optimizer.hpp>
#include <primsel/train/policies.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
namespace ps = primsel;

namespace bindings {

using NetworkClass = nb::class_<foreign::Network>;

void add_plan(nb::module_& module);
void add_engine(nb::module_& module, NetworkClass& network);
void add_forecast(nb::module_& module, NetworkClass& network);
void add_prune(NetworkClass& network);
void add_quantise(NetworkClass& network);
void add_train(nb::module_& module);

/// A plan with the simplified graph that it was made for, which pictures need.
struct PlanOfGraph {
    ps::Plan plan;
    std::shared_ptr<const ps::Graph> graph;
};

/// How networks are trained.
struct Training : ps::DefaultTraining {
    using optimizer = ps::AdamW;
    using executor = ps::ThreadPool;
};

/// How networks are planned, as functions take it by keywords.
struct Planning {
    ps::PlanOptions options;
    std::size_t threads;
};
[[nodiscard]] Planning planning(std::size_t threads, std::string const& precision, double max_error,
                                std::optional<std::size_t> max_arena);

/// Throws error unless an array is of floats, in row-major order and of these dimensions; where `writable`, one that
/// may be written to. Nothing is copied.
class FloatArray {
public:
    FloatArray(nb::handle array, std::string const& name, bool writable);
    FloatArray(FloatArray&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
    FloatArray(FloatArray const&) = delete;
    FloatArray& operator=(FloatArray const&) = delete;
    ~FloatArray() {
        if (view_.obj != nullptr) PyBuffer_Release(&view_);
    }

    [[nodiscard]] std::span<float> span() const {
        return {static_cast<float*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(float)};
    }
    [[nodiscard]] std::vector<std::int64_t> dims() const { return {view_.shape, view_.shape + view_.ndim}; }
    [[nodiscard]] bool has(std::vector<std::int64_t> const& dims) const {
        return std::equal(dims.begin(), dims.end(), view_.shape, view_.shape + view_.ndim);
    }

private:
    Py_buffer view_{};
};

/// A new array of NumPy's of these dimensions, whose values are not set.
[[nodiscard]] nb::object new_array(std::vector<std::int64_t> const& dims);

}  // namespace bindings
