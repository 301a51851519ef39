// The C interface, include/primsel/primsel.h.
#include <primsel/primsel.h>

#include "loaded.hpp"

#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/version.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ps = primsel;

struct primsel_options {
    foreign::LoadOptions load;
    ps::PlanOptions plan;
    std::size_t threads = 1;
    std::optional<ps::Plan> made;
};

struct primsel_network {
    foreign::Network network;
};

struct primsel_engine {
    foreign::Session session;
};

namespace {

thread_local std::string last_error;
thread_local const char* last_words = "";

/// A fault of the caller's own.
class BadArgument : public ps::error {
public:
    using ps::error::error;
};
template <class... Parts>
[[noreturn]] void refuse(Parts const&... parts) {
    throw BadArgument(ps::join(parts...));
}

primsel_status failed(primsel_status status, const char* text) noexcept {
    try {
        last_error = text;
        last_words = last_error.c_str();
    } catch (...) {
        last_words = "there is not enough memory";
    }
    return status;
}

/// Calls a function, of which `name` is the one of C, and returns how it ended.
template <class F>
primsel_status guarded(const char* name, F const& function) noexcept {
    try {
        try {
            function();
            return PRIMSEL_OK;
        } catch (BadArgument const& fault) {
            return failed(PRIMSEL_BAD_ARGUMENT, ps::join(name, ": ", fault.what()).c_str());
        } catch (std::bad_alloc const&) {
            return failed(PRIMSEL_NO_MEMORY, ps::join(name, ": there is not enough memory").c_str());
        } catch (std::exception const& fault) {
            return failed(PRIMSEL_FAILED, ps::join(name, ": ", std::string_view(fault.what())).c_str());
        }
    } catch (...) {
        return failed(PRIMSEL_NO_MEMORY, "there is not enough memory");
    }
}

template <class T>
T& given(T* pointer, const char* what) {
    if (pointer == nullptr) refuse(what, " is NULL");
    return *pointer;
}
/// Copies a text.
std::string text_of(const char* text, const char* what) { return &given(text, what); }
primsel_options const& or_default(const primsel_options* options) {
    static const primsel_options none;
    return options == nullptr ? none : *options;
}
/// Gives the caller a copy to free.
void give(char** result, const char* what, std::string const& text) {
    char*& place = given(result, what);
    auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    place = copy;
}

/// The caller's buffers as spans, without an allocation.
template <class T>
struct Buffers {
    T* const* data;
    const std::size_t* floats;
    std::size_t count;

    [[nodiscard]] std::size_t size() const { return count; }
    [[nodiscard]] std::span<T> operator[](std::size_t i) const { return {data[i], floats[i]}; }
};
void run(primsel_engine& engine, Buffers<const float> const& srcs, Buffers<float> const& dsts) {
    try {
        engine.session.run(srcs, dsts);
    } catch (ps::error const& fault) {
        throw BadArgument(fault.what());
    }
}

/// `floats`: the member of Program that counts those of the i-th.
template <class Floats>
void describe(std::vector<ps::OnnxValueInfo> const& ports, std::size_t i, const char* what, Floats const& floats,
              primsel_tensor* tensor) {
    primsel_tensor& result = given(tensor, "tensor");
    if (i >= ports.size()) refuse("there is no ", what, ' ', i, "; the network has ", ports.size());
    result = {ports[i].name.c_str(), ports[i].dims.data(), ports[i].dims.size(), floats(i)};
}

/// Makes a handle for what `make` returns.
template <class Handle, class Make>
void make_handle(Handle** result, const char* what, Make const& make) {
    Handle*& handle = given(result, what);
    handle = make().release();
}
template <class Load>
void make_network(primsel_network** network, Load const& load) {
    make_handle(network, "network", [&] { return std::make_unique<primsel_network>(primsel_network{load()}); });
}

}  // namespace

const char* primsel_last_error() { return last_words; }
const char* primsel_version() { return PRIMSEL_VERSION; }
const char* primsel_arch() { return ps::default_arch::name(); }
void primsel_text_free(char* text) { std::free(text); }

// --- options

primsel_status primsel_options_new(primsel_options** options) {
    return guarded("primsel_options_new",
                   [&] { make_handle(options, "options", [] { return std::make_unique<primsel_options>(); }); });
}
void primsel_options_free(primsel_options* options) { delete options; }

primsel_status primsel_options_set_batch(primsel_options* options, int batch) {
    return guarded("primsel_options_set_batch", [&] {
        if (batch < 1) refuse("impossible batch ", batch);
        given(options, "options").load.batch = batch;
    });
}
primsel_status primsel_options_set_size(primsel_options* options, int height, int width) {
    return guarded("primsel_options_set_size", [&] {
        if (height < 1 || width < 1) refuse("impossible size ", height, 'x', width);
        given(options, "options").load.size = {height, width};
    });
}
primsel_status primsel_options_set_dims(primsel_options* options, const char* input, const int64_t* dims, size_t rank) {
    return guarded("primsel_options_set_dims", [&] {
        std::string name = text_of(input, "input");
        if (rank > 0) (void)given(dims, "dims");
        given(options, "options")
            .load.dims.insert_or_assign(std::move(name), std::vector<std::int64_t>(dims, dims + rank));
    });
}
primsel_status primsel_options_set_weights(primsel_options* options, const char* path) {
    return guarded("primsel_options_set_weights",
                   [&] { given(options, "options").load.weights = text_of(path, "path"); });
}
primsel_status primsel_options_set_threads(primsel_options* options, size_t threads) {
    return guarded("primsel_options_set_threads", [&] { given(options, "options").threads = threads; });
}
primsel_status primsel_options_set_precision(primsel_options* options, const char* precision) {
    return guarded("primsel_options_set_precision", [&] {
        given(options, "options").plan.precision = foreign::precision_of(text_of(precision, "precision"));
    });
}
primsel_status primsel_options_set_max_error(primsel_options* options, double max_error) {
    return guarded("primsel_options_set_max_error", [&] {
        if (!(max_error >= 0)) refuse("impossible error ", max_error);
        given(options, "options").plan.max_error = max_error;
    });
}
primsel_status primsel_options_set_memory_limit(primsel_options* options, size_t bytes) {
    return guarded("primsel_options_set_memory_limit", [&] { given(options, "options").plan.max_arena = bytes; });
}
primsel_status primsel_options_set_plan(primsel_options* options, const char* json) {
    return guarded("primsel_options_set_plan",
                   [&] { given(options, "options").made = ps::parse_plan("json", &given(json, "json")); });
}

// --- networks

primsel_status primsel_network_load(const char* path, const primsel_options* options, primsel_network** network) {
    return guarded("primsel_network_load", [&] {
        make_network(network, [&] { return foreign::load(text_of(path, "path"), or_default(options).load); });
    });
}
primsel_status primsel_network_parse(const void* bytes, size_t size, const primsel_options* options,
                                     primsel_network** network) {
    return guarded("primsel_network_parse", [&] {
        const auto* const first = &given(static_cast<const std::byte*>(bytes), "bytes");
        const auto copy = std::make_shared<ps::AlignedBuffer>((size + sizeof(float) - 1) / sizeof(float));
        std::memcpy(copy->data(), first, size);
        const ps::SharedBytes shared{std::as_bytes(copy->span()).first(size), copy};
        make_network(network, [&] { return foreign::parse("bytes", shared, or_default(options).load); });
    });
}
primsel_status primsel_network_by_name(const char* name, const primsel_options* options, primsel_network** network) {
    return guarded("primsel_network_by_name", [&] {
        make_network(network, [&] { return foreign::by_name(text_of(name, "name"), or_default(options).load); });
    });
}
const char* primsel_network_name(size_t i) { return i < ps::zoo::names.size() ? ps::zoo::names[i].data() : nullptr; }
void primsel_network_free(primsel_network* network) { delete network; }

// --- engines

primsel_status primsel_engine_new(const primsel_network* network, const primsel_options* options,
                                  primsel_engine** engine) {
    return guarded("primsel_engine_new", [&] {
        foreign::Network const& from = given(network, "network").network;
        primsel_options const& how = or_default(options);
        make_handle(engine, "engine", [&] {
            return std::unique_ptr<primsel_engine>(
                new primsel_engine{{from, how.plan, how.threads, how.made ? &*how.made : nullptr}});
        });
    });
}
void primsel_engine_free(primsel_engine* engine) { delete engine; }

primsel_status primsel_engine_inputs(const primsel_engine* engine, size_t* count) {
    return guarded("primsel_engine_inputs",
                   [&] { given(count, "count") = given(engine, "engine").session.inputs().size(); });
}
primsel_status primsel_engine_outputs(const primsel_engine* engine, size_t* count) {
    return guarded("primsel_engine_outputs",
                   [&] { given(count, "count") = given(engine, "engine").session.outputs().size(); });
}
primsel_status primsel_engine_input(const primsel_engine* engine, size_t i, primsel_tensor* tensor) {
    return guarded("primsel_engine_input", [&] {
        foreign::Session const& session = given(engine, "engine").session;
        const auto floats = [&](std::size_t at) { return session.program().in_floats(at); };
        describe(session.inputs(), i, "input", floats, tensor);
    });
}
primsel_status primsel_engine_output(const primsel_engine* engine, size_t i, primsel_tensor* tensor) {
    return guarded("primsel_engine_output", [&] {
        foreign::Session const& session = given(engine, "engine").session;
        const auto floats = [&](std::size_t at) { return session.program().out_floats(at); };
        describe(session.outputs(), i, "output", floats, tensor);
    });
}

primsel_status primsel_engine_run(primsel_engine* engine, const float* src, size_t src_floats, float* dst,
                                  size_t dst_floats) {
    return guarded("primsel_engine_run", [&] {
        run(given(engine, "engine"), {&src, &src_floats, 1}, {&dst, &dst_floats, 1});
    });
}
primsel_status primsel_engine_run_all(primsel_engine* engine, const float* const* srcs, const size_t* src_floats,
                                      size_t src_count, float* const* dsts, const size_t* dst_floats,
                                      size_t dst_count) {
    return guarded("primsel_engine_run_all", [&] {
        run(given(engine, "engine"), {&given(srcs, "srcs"), &given(src_floats, "src_floats"), src_count},
            {&given(dsts, "dsts"), &given(dst_floats, "dst_floats"), dst_count});
    });
}

primsel_status primsel_engine_seconds(const primsel_engine* engine, double* seconds) {
    return guarded("primsel_engine_seconds",
                   [&] { given(seconds, "seconds") = given(engine, "engine").session.plan().total_seconds; });
}
primsel_status primsel_engine_memory(const primsel_engine* engine, size_t* arena_bytes, size_t* weight_bytes) {
    return guarded("primsel_engine_memory", [&] {
        ps::Program const& program = given(engine, "engine").session.program();
        if (arena_bytes != nullptr) *arena_bytes = program.arena_bytes();
        if (weight_bytes != nullptr) *weight_bytes = program.weight_bytes();
    });
}
primsel_status primsel_engine_plan_text(const primsel_engine* engine, char** text) {
    return guarded("primsel_engine_plan_text", [&] {
        std::ostringstream out;
        out << given(engine, "engine").session.plan();
        give(text, "text", out.str());
    });
}
primsel_status primsel_engine_plan_json(const primsel_engine* engine, char** json) {
    return guarded("primsel_engine_plan_json",
                   [&] { give(json, "json", to_string(ps::to_json(given(engine, "engine").session.plan()), 2)); });
}
primsel_status primsel_engine_explain(const primsel_engine* engine, const char* layer, char** text) {
    return guarded("primsel_engine_explain",
                   [&] { give(text, "text", given(engine, "engine").session.plan().explain(&given(layer, "layer"))); });
}
