// peers/onnxruntime_server LIBRARY MODEL.onnx [options of examples/serve]
//
// ONNX Runtime behind the HTTP code of examples/serve, for servers.py. LIBRARY is the shared library in its Python
// package, of which the C API is called through its table of functions; nothing of it is needed to compile this. The
// workers share one session of --threads threads. The network has one image input of three channels.
#include <http.hpp>

#include <primsel/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace {

namespace ps = primsel;

/// Places in the table of functions, which only grows at its end.
enum class Place : std::size_t {
    error_message = 2,
    create_env = 3,
    create_session = 7,
    run = 9,
    create_session_options = 10,
    set_intra_op_threads = 24,
    output_count = 31,
    input_name = 36,
    output_name = 37,
    create_tensor_with_data = 49,
    tensor_data = 51,
    dimensions_count = 61,
    dimensions = 62,
    element_count = 64,
    tensor_type_and_shape = 65,
    create_cpu_memory_info = 69,
    default_allocator = 78,
    release_value = 96,
    release_tensor_type_and_shape = 99,
};
constexpr std::uint32_t api_version = 18;
constexpr int log_errors = 3, device_allocator = 0, default_memory = 0, float32 = 1;

/// ONNX Runtime's own objects are never looked into.
using Handle = void*;

class Runtime {
public:
    explicit Runtime(std::string const& library) {
        Handle const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (loaded == nullptr) ps::fail(library, ": ", ::dlerror());
        struct ApiBase {
            Handle const* (*api)(std::uint32_t);
            const char* (*version)();
        };
        Handle const base = ::dlsym(loaded, "OrtGetApiBase");
        if (base == nullptr) ps::fail(library, ": it has no OrtGetApiBase");
        table_ = reinterpret_cast<const ApiBase* (*)()>(base)()->api(api_version);
        if (table_ == nullptr) ps::fail(library, ": it has no API of version ", api_version);
    }
    /// Calls a function that returns a status, with exactly the types of its parameters. Throws error.
    template <class... Arguments>
    void call(Place place, Arguments... arguments) const {
        Handle const status = function<Handle(Arguments...)>(place)(arguments...);
        if (status != nullptr) ps::fail("ONNX Runtime: ", function<const char*(Handle)>(Place::error_message)(status));
    }
    void release(Place place, Handle object) const { function<void(Handle)>(place)(object); }

private:
    template <class Function>
    [[nodiscard]] Function* function(Place place) const {
        return reinterpret_cast<Function*>(table_[static_cast<std::size_t>(place)]);
    }
    Handle const* table_ = nullptr;
};

class Session : public serve::Network {
public:
    explicit Session(serve::Settings const& settings) : runtime_(file(settings, 0)) {
        Handle env = nullptr, options = nullptr, allocator = nullptr;
        runtime_.call(Place::create_env, log_errors, "serve", &env);
        runtime_.call(Place::create_session_options, &options);
        runtime_.call(Place::set_intra_op_threads, options, static_cast<int>(settings.threads));
        runtime_.call(Place::create_session, env, file(settings, 1).c_str(), options, &session_);
        runtime_.call(Place::create_cpu_memory_info, device_allocator, default_memory, &memory_);
        runtime_.call(Place::default_allocator, &allocator);
        std::size_t outputs = 0;
        runtime_.call(Place::output_count, session_, &outputs);
        runtime_.call(Place::input_name, session_, std::size_t{0}, allocator, &input_);
        outputs_.resize(outputs);
        for (std::size_t i = 0; i < outputs; ++i) {
            runtime_.call(Place::output_name, session_, i, allocator, &outputs_[i]);
        }
    }
    int channels() const override { return 3; }
    std::unique_ptr<serve::Worker> make_worker() override { return std::make_unique<OneRun>(*this); }

    std::vector<serve::Result> run(serve::Images const& images) const {
        const std::int64_t dims[]{images.count, channels(), images.height, images.width};
        Handle tensor = nullptr;
        runtime_.call(Place::create_tensor_with_data, memory_, const_cast<float*>(images.values.data()),
                      images.values.size() * sizeof(float), &dims[0], std::size_t{4}, float32, &tensor);
        std::vector<Handle> values(outputs_.size());
        runtime_.call(Place::run, session_, Handle{}, &input_, &tensor, std::size_t{1}, outputs_.data(),
                      outputs_.size(), values.data());
        std::vector<serve::Result> results;
        for (std::size_t i = 0; i < values.size(); ++i) {
            results.push_back(read(outputs_[i], values[i]));
            runtime_.release(Place::release_value, values[i]);
        }
        runtime_.release(Place::release_value, tensor);
        return results;
    }

private:
    class OneRun : public serve::Worker {
    public:
        explicit OneRun(Session const& session) : session_(&session) {}
        std::vector<serve::Result> run(serve::Images const& images) override { return session_->run(images); }

    private:
        const Session* session_;
    };

    static std::string const& file(serve::Settings const& settings, std::size_t i) {
        if (settings.files.size() != 2) ps::fail("usage: onnxruntime_server LIBRARY MODEL.onnx [--port N] ...");
        return settings.files[i];
    }
    [[nodiscard]] serve::Result read(const char* name, Handle value) const {
        Handle shape = nullptr;
        std::size_t axes = 0, count = 0;
        runtime_.call(Place::tensor_type_and_shape, value, &shape);
        runtime_.call(Place::dimensions_count, shape, &axes);
        runtime_.call(Place::element_count, shape, &count);
        std::vector<std::int64_t> dims(axes);
        runtime_.call(Place::dimensions, shape, dims.data(), axes);
        runtime_.release(Place::release_tensor_type_and_shape, shape);
        const float* data = nullptr;
        runtime_.call(Place::tensor_data, value, &data);
        if (!dims.empty()) dims.erase(dims.begin());
        return {name, std::move(dims), {data, data + count}};
    }

    Runtime runtime_;
    Handle session_ = nullptr, memory_ = nullptr;
    const char* input_ = nullptr;
    std::vector<const char*> outputs_;
};

}  // namespace

int main(int argc, char** argv) try {
    serve::serve(serve::read_settings(argc, argv),
                 [](serve::Settings const& settings) -> std::unique_ptr<serve::Network> {
                     return std::make_unique<Session>(settings);
                 });
    return 0;
} catch (std::exception const& error) {
    std::fprintf(stderr, "onnxruntime_server: %s\n", error.what());
    return 1;
}
