// Networks and what runs them.
#include "rooms.hpp"

#include <primsel/engine/trace.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/trace_svg.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <sstream>

namespace bindings {

using nb::literals::operator""_a;

Planning planning(std::size_t threads, std::string const& precision, double max_error,
                  std::optional<std::size_t> max_arena) {
    Planning result{.options = {.precision = foreign::precision_of(precision), .max_error = max_error},
                    .threads = foreign::threads_of(threads)};
    if (max_arena) result.options.max_arena = *max_arena;
    return result;
}

FloatArray::FloatArray(nb::handle array, std::string const& name, bool writable) {
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(array.ptr(), &view_, flags) != 0) {
        const nb::python_error reason;
        ps::fail(name, ": not an array of float32 in row-major order",
                 writable ? " that may be written to" : " (numpy.ascontiguousarray makes one)", ": ",
                 nb::cast<std::string>(nb::str(reason.value())));
    }
    // NumPy marks floats that are not aligned.
    std::string format = view_.format == nullptr ? "" : view_.format;
    if (format == "=f" || format == "@f") format = "f";
    if (format == "f") return;
    PyBuffer_Release(&view_);
    ps::fail(name, ": of the type '", format, "', not of float32 (array.astype(numpy.float32) converts it)");
}

nb::object new_array(std::vector<std::int64_t> const& dims) {
    nb::list shape;
    for (const std::int64_t dim : dims) shape.append(dim);
    return nb::module_::import_("numpy").attr("empty")(nb::tuple(shape), "float32");
}

namespace {

foreign::LoadOptions load_options(int batch, std::optional<std::pair<int, int>> size,
                                  std::map<std::string, std::vector<std::int64_t>> const& dims,
                                  std::string const& weights, bool trains) {
    foreign::LoadOptions options{.batch = batch, .weights = weights, .trains = trains};
    if (size) options.size = {size->first, size->second};
    for (auto const& [name, extents] : dims) options.dims.emplace(name, extents);
    return options;
}

nb::tuple shape_of(ps::OnnxValueInfo const& info) {
    nb::list shape;
    for (const std::int64_t dim : info.dims) shape.append(dim);
    return nb::tuple(shape);
}

/// A session and what its calls need of Python's.
class Engine {
public:
    Engine(foreign::Network const& network, Planning const& planning, const PlanOfGraph* plan)
        : session_(network, planning.options, planning.threads, plan == nullptr ? nullptr : &plan->plan),
          graph_(std::make_shared<const ps::Graph>(session_.graph())),
          empty_(nb::module_::import_("numpy").attr("empty")),
          float32_(nb::module_::import_("numpy").attr("dtype")("float32")) {
        for (ps::OnnxValueInfo const& info : session_.outputs()) shapes_.push_back(shape_of(info));
    }

    [[nodiscard]] foreign::Session& session() { return session_; }
    [[nodiscard]] PlanOfGraph plan() const { return {session_.plan(), graph_}; }

    [[nodiscard]] nb::object run(nb::args const& inputs, nb::object const& out) {
        std::vector<nb::object> results = outputs(out);
        with_arrays(inputs, results, [this](auto const& srcs, auto const& dsts) { session_.run(srcs, dsts); });
        if (results.size() == 1) return std::move(results[0]);
        nb::list all;
        for (nb::object& result : results) all.append(std::move(result));
        return nb::tuple(all);
    }
    [[nodiscard]] ps::Trace trace(nb::args const& inputs, std::size_t runs) {
        ps::Trace trace;
        const auto traced = [&](auto const& srcs, auto const& dsts) {
            session_.with_buffers(srcs, dsts, [&](ps::Program& program, auto from, auto to, ps::ThreadPool& executor) {
                trace = ps::trace_run(program, {session_.graph(), foreign::kernels(), session_.plan()}, from, to,
                                      executor, runs);
            });
        };
        std::vector<nb::object> results = outputs(nb::none());
        with_arrays(inputs, results, traced);
        return trace;
    }

private:
    /// The arrays that are given, or new ones.
    [[nodiscard]] std::vector<nb::object> outputs(nb::object const& out) const {
        std::vector<nb::object> results;
        if (out.is_none()) {
            for (nb::tuple const& shape : shapes_) results.push_back(empty_(shape, float32_));
        } else if (nb::isinstance<nb::tuple>(out) || nb::isinstance<nb::list>(out)) {
            for (nb::handle each : out) results.push_back(nb::borrow(each));
        } else {
            results.push_back(out);
        }
        return results;
    }
    /// Calls `use` with the memory of arrays, without the interpreter's lock.
    template <class Use>
    void with_arrays(nb::args const& inputs, std::vector<nb::object> const& results, Use const& use) const {
        std::vector<FloatArray> arrays;
        std::vector<std::span<const float>> srcs;
        std::vector<std::span<float>> dsts;
        arrays.reserve(inputs.size() + results.size());
        const auto add = [&](nb::handle array, std::vector<ps::OnnxValueInfo> const& infos, const char* what,
                             bool writable) {
            const std::size_t i = writable ? dsts.size() : srcs.size();
            if (i >= infos.size()) ps::fail("more ", what, "s than the ", infos.size(), " of the network");
            FloatArray& view = arrays.emplace_back(array, infos[i].name, writable);
            if (!view.has(infos[i].dims)) {
                ps::fail(what, ' ', infos[i].name, ": of the shape ", ps::to_string(view.dims()), "; it is ",
                         ps::to_string(infos[i].dims));
            }
            if (writable)
                dsts.push_back(view.span());
            else
                srcs.push_back(view.span());
        };
        for (nb::handle array : inputs) add(array, session_.inputs(), "input", false);
        for (nb::object const& array : results) add(array, session_.outputs(), "output", true);
        // An output without elements has a float in the graph.
        std::vector<float> none(1);
        for (std::span<float>& dst : dsts) {
            if (dst.empty()) dst = none;
        }
        const nb::gil_scoped_release released;
        use(srcs, dsts);
    }

    foreign::Session session_;
    std::shared_ptr<const ps::Graph> graph_;
    nb::object empty_, float32_;
    std::vector<nb::tuple> shapes_;
};

ps::show::Limits limits_of(ps::Trace const& trace) {
    const double cores = static_cast<double>(trace.workers);
    ps::Machine const& machine = foreign::kernels().machine(1);
    return {.operations = cores * machine.fma_flops,
            .bytes = cores * machine.bandwidth.back(),
            .bf16_operations = cores * machine.bf16_flops,
            .int8_operations = cores * machine.int8_flops};
}

}  // namespace

void add_engine(nb::module_& module, NetworkClass& network_class) {
    nb::class_<ps::OnnxValueInfo>(module, "Port", "An input or output of a network.")
        .def_ro("name", &ps::OnnxValueInfo::name)
        .def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int, ...]"), "All images, row-major.")
        .def("__repr__", [](ps::OnnxValueInfo const& info) {
            return ps::join("Port(", info.name, ", ", ps::to_string(info.dims), ")");
        });

    network_class.def_ro("name", &foreign::Network::name)
        .def_prop_ro("inputs", [](foreign::Network const& network) { return network.signature.inputs; })
        .def_prop_ro("outputs", [](foreign::Network const& network) { return network.signature.outputs; })
        .def_prop_ro(
            "layers",
            [](foreign::Network const& network) {
                std::vector<std::string> names;
                for (ps::Node const& node : network.graph.nodes()) names.push_back(node.name);
                return names;
            },
            "The names of its layers.")
        .def(
            "plan",
            [](foreign::Network const& network, std::size_t threads, std::string const& precision, double max_error,
               std::optional<std::size_t> max_arena) {
                const Planning how = planning(threads, precision, max_error, max_arena);
                const nb::gil_scoped_release released;
                auto graph = std::make_shared<const ps::Graph>(ps::simplify(network.graph));
                return PlanOfGraph{foreign::make_plan(*graph, network.weights, how.options, how.threads), graph};
            },
            nb::kw_only(), "threads"_a = 1, "precision"_a = "float32",
            "max_error"_a = std::numeric_limits<double>::infinity(), "max_arena"_a = nb::none(),
            "The plan that an Engine would run, without one: it takes milliseconds.")
        .def(
            "to_onnx",
            [](foreign::Network const& network) {
                const std::string text =
                    ps::to_onnx(network.graph, network.weights, {.open_batch = true, .signature = network.signature});
                return nb::bytes(text.data(), text.size());
            },
            "The network as the bytes of an ONNX file.")
        .def(
            "save_weights",
            [](foreign::Network const& network, std::string const& path) {
                ps::write_safetensors(path, network.weights);
            },
            "path"_a, "Writes its weights to a safetensors file.")
        .def("__str__",
             [](foreign::Network const& network) {
                 std::ostringstream out;
                 out << network.graph;
                 return out.str();
             })
        .def("__repr__", [](foreign::Network const& network) {
            return ps::join("Network(", network.name, ", ", network.graph.size(), " layers)");
        });

    module.def(
        "load",
        [](std::string const& path, int batch, std::optional<std::pair<int, int>> size,
           std::map<std::string, std::vector<std::int64_t>> const& dims, std::string const& weights, bool trains) {
            const foreign::LoadOptions options = load_options(batch, size, dims, weights, trains);
            const nb::gil_scoped_release released;
            return foreign::load(path, options);
        },
        "path"_a, nb::kw_only(), "batch"_a = 0, "size"_a = nb::none(), "dims"_a = nb::dict(), "weights"_a = "",
        "trains"_a = false,
        "Reads an ONNX file. batch, size (height and width) and dims (all dimensions of an input by its name) are for "
        "what the file leaves open; weights is a safetensors file with others. trains keeps batch norms apart, for "
        "training and pruning.");
    module.def(
        "parse",
        [](nb::bytes const& bytes, int batch, std::optional<std::pair<int, int>> size,
           std::map<std::string, std::vector<std::int64_t>> const& dims, std::string const& weights, bool trains) {
            const auto copy = std::make_shared<ps::AlignedBuffer>((bytes.size() + sizeof(float) - 1) / sizeof(float));
            std::memcpy(copy->data(), bytes.c_str(), bytes.size());
            const ps::SharedBytes shared{std::as_bytes(copy->span()).first(bytes.size()), copy};
            return foreign::parse("bytes", shared, load_options(batch, size, dims, weights, trains));
        },
        "bytes"_a, nb::kw_only(), "batch"_a = 0, "size"_a = nb::none(), "dims"_a = nb::dict(), "weights"_a = "",
        "trains"_a = false, "The same of a file that is in memory.");
    module.def(
        "zoo",
        [](std::string const& name, int batch, std::optional<std::pair<int, int>> size, std::string const& weights,
           std::uint32_t seed) {
            foreign::LoadOptions options = load_options(batch, size, {}, weights, true);
            options.seed = seed;
            return foreign::by_name(name, options);
        },
        "name"_a, nb::kw_only(), "batch"_a = 1, "size"_a = nb::none(), "weights"_a = "", "seed"_a = 1,
        "A network by its name (zoo_names), with the weights of a safetensors file, of torchvision's names, or random "
        "ones.");
    nb::list names;
    for (const std::string_view name : ps::zoo::names) names.append(nb::str(name.data(), name.size()));
    module.attr("zoo_names") = nb::tuple(names);

    nb::class_<ps::TracedStep>(module, "TracedStep", "A step of a run: times in seconds.")
        .def_ro("layer", &ps::TracedStep::layer)
        .def_ro("computed_by", &ps::TracedStep::computed_by)
        .def_ro("seconds", &ps::TracedStep::median, "The median of all runs.")
        .def_ro("predicted", &ps::TracedStep::predicted)
        .def_ro("operations", &ps::TracedStep::operations)
        .def_ro("bytes", &ps::TracedStep::bytes)
        .def("__repr__", [](ps::TracedStep const& step) {
            return ps::join("TracedStep(", step.layer, ", ", step.computed_by, ", ", ps::milliseconds(step.median),
                            " ms)");
        });
    nb::class_<ps::Trace>(module, "Trace", "Where the time of a run goes. A notebook shows it as a picture.")
        .def_ro("steps", &ps::Trace::steps)
        .def_ro("seconds", &ps::Trace::seconds, "The run of the median time.")
        .def_ro("predicted", &ps::Trace::predicted)
        .def("to_svg", [](ps::Trace const& trace) { return ps::show::to_svg(trace, limits_of(trace)); })
        .def("_repr_svg_", [](ps::Trace const& trace) { return ps::show::to_svg(trace, limits_of(trace)); })
        .def("to_chrome_trace", &ps::to_chrome_trace, "JSON for chrome://tracing and ui.perfetto.dev.")
        .def("__repr__", [](ps::Trace const& trace) {
            return ps::join("Trace(", trace.steps.size(), " steps, ", ps::milliseconds(trace.seconds),
                            " ms, predicted ", ps::milliseconds(trace.predicted), " ms)");
        });

    nb::class_<Engine>(module, "Engine",
                       "A network that is planned and ready to run. Threads may share one: their runs wait for each "
                       "other.")
        .def(
            "__init__",
            [](Engine* self, foreign::Network const& network, std::size_t threads, std::string const& precision,
               double max_error, std::optional<std::size_t> max_arena, const PlanOfGraph* plan) {
                new (self) Engine(network, planning(threads, precision, max_error, max_arena), plan);
            },
            "network"_a, nb::kw_only(), "threads"_a = 1, "precision"_a = "float32",
            "max_error"_a = std::numeric_limits<double>::infinity(), "max_arena"_a = nb::none(),
            "plan"_a.none() = nb::none(),
            "threads: 0 for all that the process may use. precision: the least precise type in which layers may "
            "compute, "
            "float32, f16, bf16 or int8. max_error: of a layer, relative to the root mean square of its result. "
            "max_arena: bytes for what lies between layers. plan: one that was made before.")
        .def(
            "run", &Engine::run, "inputs"_a, "out"_a = nb::none(),
            nb::sig("def run(self, *inputs: numpy.typing.NDArray[numpy.float32], out: "
                    "numpy.typing.NDArray[numpy.float32] | typing.Sequence[numpy.typing.NDArray[numpy.float32]] | None "
                    "= None) -> typing.Any"),
            "Runs on arrays of float32 in row-major order, which are not copied, and returns the output, or a tuple of "
            "several; new arrays, or those of `out`.")
        .def(
            "__call__", &Engine::run, "inputs"_a, "out"_a = nb::none(),
            nb::sig("def __call__(self, *inputs: numpy.typing.NDArray[numpy.float32], out: "
                    "numpy.typing.NDArray[numpy.float32] | typing.Sequence[numpy.typing.NDArray[numpy.float32]] | None "
                    "= None) -> typing.Any"),
            "The same as run.")
        .def("trace", &Engine::trace, "inputs"_a, "runs"_a = 15,
             nb::sig("def trace(self, *inputs: numpy.typing.NDArray[numpy.float32], runs: int = 15) -> Trace"),
             "Runs as many times and measures each step.")
        .def_prop_ro("plan", &Engine::plan)
        .def(
            "explain", [](Engine& engine, std::string const& layer) { return engine.plan().plan.layer(layer); },
            "layer"_a, "Every way to compute a layer.")
        .def_prop_ro("inputs", [](Engine& engine) { return engine.session().inputs(); })
        .def_prop_ro("outputs", [](Engine& engine) { return engine.session().outputs(); })
        .def_prop_ro("threads", [](Engine& engine) { return engine.session().threads(); })
        .def_prop_ro("arena_bytes", [](Engine& engine) { return engine.session().program().arena_bytes(); })
        .def_prop_ro("weight_bytes", [](Engine& engine) { return engine.session().program().weight_bytes(); });
}

}  // namespace bindings
