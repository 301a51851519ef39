// The network behind the server: examples/serve runs a primsel::Model, bench/peers another engine by the same HTTP
// code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace serve {

/// Planar images of one size, one after another: count x channels x height x width.
struct Images {
    int count = 1, height = 0, width = 0;
    std::vector<float> values;
};

/// One result for all images of a request; the dimensions are those for one image.
struct Result {
    std::string name;
    std::vector<std::int64_t> dims;
    std::vector<float> values;
};

/// Runs images on the thread that calls it.
class Worker {
public:
    virtual ~Worker() = default;
    /// Throws primsel::error for images that the network cannot take.
    [[nodiscard]] virtual std::vector<Result> run(Images const& images) = 0;
};

/// A network that several workers share.
class Network {
public:
    virtual ~Network() = default;
    /// The channels of its images.
    [[nodiscard]] virtual int channels() const = 0;
    [[nodiscard]] virtual std::unique_ptr<Worker> make_worker() = 0;
    /// Bytes of weights as the workers read them; 0 if unknown.
    [[nodiscard]] virtual std::size_t weight_bytes() const { return 0; }
};

}  // namespace serve
