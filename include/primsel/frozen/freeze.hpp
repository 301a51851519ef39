// A plan written down as a header of constants and a file of packed weights, for FrozenEngine.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/engine/arrangement.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/engine/ready_step.hpp>
#include <primsel/engine/schedule.hpp>
#include <primsel/frozen/detail/cpp_text.hpp>
#include <primsel/frozen/detail/headers.hpp>
#include <primsel/frozen/detail/tiles.hpp>
#include <primsel/frozen/files.hpp>
#include <primsel/frozen/kernel_types.hpp>
#include <primsel/gemm/tile_set.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/plan/plan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

struct FreezeOptions {
    /// The name of the struct that the header declares: an identifier.
    std::string name = "net";
    /// The most threads that may run it.
    std::size_t workers = 1;
    /// Not empty: the path of the file of weights, which becomes a part of the program as `<name>_weights()`.
    std::string embed{};
};

namespace frozen::detail {

/// Whether a layer's parameters can be written as a constant: those of layers that networks run.
template <class Params>
inline constexpr bool is_constant = !trains<Params> && !std::same_as<Params, OwnLayerParams>;

class Freezer {
public:
    Freezer(Graph const& graph, Kernels const& kernels, Plan const& plan, Weights const& weights,
            KernelTypes const& types, FreezeOptions const& options, ExecutorRef packing)
        : graph_(graph),
          kernels_(kernels),
          types_(types),
          options_(options),
          schedule_(make_schedule(checked(graph), kernels, plan, options.workers)),
          arrangement_(arrange(schedule_)),
          program_(graph, kernels, plan, weights, options.workers, packing),
          run_(program_.ready_run()) {}

    [[nodiscard]] FrozenFiles freeze() {
        for (std::size_t i = 0; i < schedule_.steps.size(); ++i) write_step(i);
        place_constants();
        FrozenFiles files{header(), weights_file(std::span(&plan_, 1)), {}};
        if (!options_.embed.empty()) {
            files.header +=
                embedded_weights(options_.name, options_.embed) + weights_function(options_.name, files.weights.size());
        }
        return files;
    }

private:
    [[nodiscard]] static Graph const& checked(Graph const& graph) {
        if (!graph.trainable().empty()) fail("freeze: a step of training cannot be frozen, since its weights change");
        for (Node const& node : graph.nodes()) {
            if (std::holds_alternative<OwnLayerParams>(node.layer)) {
                fail("freeze: layer ", node.name, " (", layer_kind(node.layer),
                     ") is of a type of the user's own, whose header is not known; only the library's layers can be "
                     "frozen");
            }
        }
        return graph;
    }

    /// Includes a header of the library.
    void include(std::string_view room, std::string_view header) {
        includes_.insert(join("primsel/", room, '/', header));
    }
    [[nodiscard]] static std::string_view template_name(std::string_view type) {
        type = type.substr(0, type.find('<'));
        const std::size_t scope = type.rfind("::");
        return scope == std::string_view::npos ? type : type.substr(scope + 2);
    }
    /// The kernel of a convolution; `shape` and `residual` are what it is called with.
    [[nodiscard]] std::string primitive(ScheduledConv const& conv, ConvShape const& shape, bool residual) {
        const auto found =
            std::ranges::find(types_.primitives, conv.primitive->id, &std::pair<std::string_view, std::string>::first);
        const std::string type = found == types_.primitives.end() ? "" : found->second;
        const auto declared = std::ranges::find(primitive_headers, template_name(type), &Declared::type);
        if (declared == std::end(primitive_headers)) {
            fail("freeze: layer ", graph_[conv.node].name, ": primitive ", conv.primitive->id,
                 " is in no header of the library; only its own primitives can be frozen");
        }
        include("primitive", join(declared->header, ".hpp"));
        tiles_ = tiles_ | tiles_of(type, shape, residual);
        return join("&", type, "::run<arch>");
    }
    [[nodiscard]] static bool is_short(std::string_view layout) { return layout == "hwc_bf16" || layout == "hwc_f16"; }
    [[nodiscard]] std::string layout(std::size_t position) {
        const std::string type = position < types_.layouts.size() ? types_.layouts[position] : "";
        const std::string_view name = template_name(type);
        if (is_short(name)) {
            include("tensor", "hwc_short_floats.hpp");
        } else if (name == "hwc_u8") {
            include("tensor", "hwc_u8.hpp");
        } else if (name != "chw" && name != "hcw" && name != "hwc") {
            fail("freeze: layout ", kernels_.layouts[position].name,
                 " is in no header of the library; only its own layouts can be frozen");
        }
        return type;
    }
    /// The section of the file that has these weights.
    [[nodiscard]] std::size_t place(const float* data, std::size_t bytes) {
        std::string section(round_up_bytes(bytes), '\0');
        std::memcpy(section.data(), data, bytes);
        const auto found = places_.find(section);
        if (found != places_.end()) return found->second;
        plan_.sections.push_back(std::move(section));
        places_.emplace(plan_.sections.back(), plan_.sections.size() - 1);
        return plan_.sections.size() - 1;
    }

    void write_step(std::size_t i) {
        ScheduledStep const& step = schedule_.steps[i];
        core::visit([&](auto const& ready) { write(ready, step, join("step_", i)); }, program_.ready_step(i));
    }
    /// Begins the constant of a step.
    void begin(ScheduledStep const& step, std::string_view type, std::string const& name) {
        std::string layer = printable(graph_[step.node].name);
        std::ranges::replace(layer, '\\', '/');
        body_ += join("    // ", layer, '\n', "    static constexpr primsel::engine::", type, ' ', name, "{");
        first_ = true;
    }
    void field(std::string_view name, std::string const& value) {
        body_ += join(first_ ? "" : ", ", '.', name, " = ", value);
        first_ = false;
    }
    template <class T>
    void field_unless(T const& usual, std::string_view name, T const& value) {
        if (!(value == usual)) field(name, cpp_text(value));
    }
    void tensor(std::string_view name, std::size_t position) { field_unless(no_tensor, name, position); }
    void written(WrittenChannels const& channels) {
        if (channels.offset != 0 || channels.stride != 0) {
            field("written", join('{', channels.offset, ", ", channels.stride, '}'));
        }
    }
    void end() { body_ += "};\n"; }

    void write(engine::ReadyConv const& ready, ScheduledStep const& step, std::string const& name) {
        const std::string kernel =
            primitive(std::get<ConvStep>(step.work).conv, ready.shape, ready.residual != no_tensor);
        begin(step, "ReadyConv", name);
        field("kernel", kernel);
        field("shape", cpp_text(ready.shape));
        field_unless(false, "whole_batch", ready.whole_batch);
        tensor("src", ready.src), tensor("residual", ready.residual), tensor("dst", ready.dst);
        tensor("scratch", ready.scratch);
        written(ready.written);
        tensor("weights", ready.weights), tensor("bias", ready.bias);
        field_unless(Clamp{}, "summand", ready.summand), field_unless(Clamp{}, "clamp", ready.clamp);
        field_unless(TensorRange{}, "src_range", ready.src_range);
        field_unless(TensorRange{}, "dst_range", ready.dst_range);
        field_unless(TensorRange{}, "residual_range", ready.residual_range);
        end();
    }
    void write(engine::ReadyStrips const& ready, ScheduledStep const& step, std::string const& name) {
        engine::Strips const& strips = ready.strips;
        std::string parts;
        for (std::size_t i = 0; i < strips.count; ++i) {
            engine::StripPart const& part = strips.parts[i];
            const std::string kernel =
                primitive(std::get<StripsStep>(step.work).convs[i], part.shape, ready.residual[i] != no_tensor);
            parts += join(i == 0 ? "" : ", ", "{.kernel = ", kernel, ", .shape = ", cpp_text(part.shape),
                          ", .clamp = ", cpp_text(part.clamp), '}');
        }
        begin(step, "ReadyStrips", name);
        field("strips", join("{.parts = {{", parts, "}}, .count = ", strips.count, ", .rows_each = ", strips.rows_each,
                             ", .rows_at = ", cpp_text(strips.rows_at), ", .scratch_at = ", strips.scratch_at,
                             ", .worker_floats = ", strips.worker_floats, '}'));
        tensor("src", ready.src), tensor("dst", ready.dst), tensor("scratch", ready.scratch);
        written(ready.written);
        field("weights", cpp_text(ready.weights)), field("bias", cpp_text(ready.bias));
        field("residual", cpp_text(ready.residual));
        end();
    }
    void write(engine::ReadyEpilogue const& ready, ScheduledStep const& step, std::string const& name) {
        const auto position =
            static_cast<std::size_t>(std::get<EpilogueStep>(step.work).layout - kernels_.layouts.data());
        const std::string in = layout(position);
        include("op", "epilogue.hpp");
        begin(step, "ReadyEpilogue", name);
        field("epilogue", join("&primsel::apply_epilogue<arch, ", in, '>'));
        field("shape", cpp_text(ready.shape));
        tensor("dst", ready.dst), tensor("residual", ready.residual), tensor("bias", ready.bias);
        field_unless(Clamp{}, "summand", ready.summand), field_unless(Clamp{}, "clamp", ready.clamp);
        end();
    }
    void write(engine::ReadyTransform const& ready, ScheduledStep const& step, std::string const& name) {
        const auto position =
            static_cast<std::size_t>(std::get<TransformStep>(step.work).transform - kernels_.transforms.data());
        const std::string from = layout(position / kernels_.layouts.size()),
                          to = layout(position % kernels_.layouts.size());
        include("tensor", "transform.hpp");
        begin(step, "ReadyTransform", name);
        field("transform", join("&primsel::transform<", from, ", ", to, '>'));
        field("shape", cpp_text(ready.shape));
        tensor("src", ready.src), tensor("dst", ready.dst);
        field_unless(TensorRange{}, "range", ready.range);
        end();
    }
    void write(engine::ReadyOp const& ready, ScheduledStep const& step, std::string const& name) {
        auto const& work = std::get<OpStep>(step.work);
        std::size_t in = 0;
        while (&kernels_.op(work.layer, in) != work.op) ++in;
        const std::string type = layout(in);
        const auto [params, constant] = layer(work.layer, graph_[step.node].name);
        const auto declared = std::ranges::find(op_headers, template_name(params), &DeclaredOp::type);
        const std::string_view header = declared == std::end(op_headers)  ? std::string_view()
                                        : is_short(template_name(type))   ? declared->short_floats
                                        : template_name(type) == "hwc_u8" ? declared->int8
                                                                          : declared->strided;
        if (header.empty()) {
            fail("freeze: layer ", graph_[step.node].name, " (", layer_kind(work.layer), ") in layout ",
                 kernels_.layouts[in].name, " is of a kind that cannot be frozen");
        }
        include("op", join(header, ".hpp"));
        if (header == "conv_transpose") tiles_ = gemm::every_tile;
        // The pixels of an image of one channel are its rows.
        const bool pools = header == "pool" || header == "global_pool";
        if (pools && (type != "primsel::hwc" || ready.src_shapes[0].c == 1)) planes_ = true;
        body_ += join("    static constexpr std::array<std::size_t, ", ready.src.size(), "> ", name, "_src",
                      cpp_text(ready.src), ";\n    static constexpr std::array<primsel::Shape, ",
                      ready.src_shapes.size(), "> ", name, "_shapes", cpp_text(ready.src_shapes), ";\n");
        const bool ranges = std::ranges::any_of(ready.src_ranges, &TensorRange::known);
        if (ranges) {
            body_ += join("    static constexpr std::array<primsel::TensorRange, ", ready.src_ranges.size(), "> ", name,
                          "_ranges", cpp_text(ready.src_ranges), ";\n");
        }
        begin(step, "ReadyOp", name);
        field("op", join("&primsel::frozen::run_op<", params, ", ", type, ", ", constant, ", arch>"));
        field("src", join(name, "_src")), field("src_shapes", join(name, "_shapes"));
        if (ranges) field("src_ranges", join(name, "_ranges"));
        field("op_src", cpp_text(ready.op_src));
        tensor("dst", ready.dst), tensor("scratch", ready.scratch);
        field("dst_shape", cpp_text(ready.dst_shape));
        field_unless(TensorRange{}, "dst_range", ready.dst_range);
        tensor("weights", ready.weights);
        field_unless(Clamp{}, "clamp", ready.clamp);
        end();
        op_srcs_ = std::max(op_srcs_, ready.op_src + ready.src.size());
    }
    /// The type and the name of the constant of a layer's parameters; equal ones have one constant.
    [[nodiscard]] std::pair<std::string, std::string> layer(AnyLayer const& layer, std::string const& node) {
        std::string type, value;
        core::visit(
            [&]<class Params>(Params const& params) {
                type = type_text<Params>();
                if constexpr (is_constant<Params>) {
                    value = cpp_text(params);
                } else {
                    fail("freeze: layer ", node, " (", layer_kind(layer), ") is of a kind that cannot be frozen");
                }
            },
            layer);
        const auto [found, fresh] = layers_.try_emplace({type, value}, join("layer_", layers_.size()));
        if (fresh) body_ += join("    static constexpr ", type, ' ', found->second, value, ";\n");
        return {type, found->second};
    }

    void place_constants() {
        for (StoredConstant const& constant : schedule_.constants) {
            const std::size_t bytes =
                run_.images * kernels_.layouts[constant.layout].image_bytes(graph_[constant.node].shape);
            constants_.push_back({constant.tensor, place(run_.memory.tensors[constant.tensor], bytes)});
        }
        for (std::size_t i = 0; i < program_.weight_sizes().size(); ++i) {
            weights_.push_back(place(run_.memory.weights[i], program_.weight_sizes()[i]));
        }
    }

    template <class T>
    [[nodiscard]] std::string array(std::string_view type, std::string_view name, std::vector<T> const& values) const {
        return join("    static constexpr std::array<", type, ", ", values.size(), "> ", name,
                    cpp_text(std::span<const T>(values)), ";\n");
    }
    [[nodiscard]] std::string places(std::string_view type, std::string_view name,
                                     std::vector<std::pair<std::size_t, std::size_t>> const& places) const {
        std::string text;
        for (auto const& [tensor, place] : places) {
            text += join(text.empty() ? "" : ", ", "{", tensor, ", ", place, "}");
        }
        return join("    static constexpr std::array<primsel::frozen::", type, ", ", places.size(), "> ", name,
                    places.empty() ? "{" : "{{", text, places.empty() ? "};\n" : "}};\n");
    }
    /// The instruction set of the kernels, which says what they have compiled.
    [[nodiscard]] std::string arch() const {
        const auto flag = [](std::string_view name, bool value) { return value ? "" : join(", .", name, " = false"); };
        return join("primsel::frozen::ArchOf<primsel::gemm::TileSet{.widths = ", tiles_.widths,
                    "U, .depthwise = ", tiles_.depthwise, 'U', flag("row_bias", tiles_.row_bias),
                    flag("residual", tiles_.residual), flag("walks", tiles_.walks), flag("places", tiles_.places),
                    flag("places_of_b", tiles_.places_of_b), flag("transposed", tiles_.transposed),
                    flag("few_channels", tiles_.few_channels), flag("halves", tiles_.halves), "}, ",
                    cpp_text(graph_.batch() == 1), ", ", cpp_text(planes_), '>');
    }
    [[nodiscard]] std::string header() const {
        std::vector<Shape> ins, outs;
        std::vector<std::size_t> in_floats, out_floats;
        for (std::size_t i = 0; i < program_.in_shapes().size(); ++i) {
            ins.push_back(program_.in_shapes()[i]), in_floats.push_back(program_.in_floats(i));
        }
        for (std::size_t i = 0; i < program_.out_shapes().size(); ++i) {
            outs.push_back(program_.out_shapes()[i]), out_floats.push_back(program_.out_floats(i));
        }
        std::vector<std::pair<std::size_t, std::size_t>> tensors;
        for (std::size_t i = 0; i < arrangement_.layout.offsets.size(); ++i) {
            const std::size_t tensor = schedule_.callers() + i;
            if (std::ranges::find(schedule_.constants, tensor, &StoredConstant::tensor) == schedule_.constants.end()) {
                tensors.emplace_back(tensor, arrangement_.layout.offsets[i]);
            }
        }
        std::string steps;
        for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
            steps += join(i == 0 ? "" : ", ", "primsel::engine::ready(step_", i, ')');
        }
        std::vector<std::size_t> section_bytes;
        for (std::string const& section : plan_.sections) section_bytes.push_back(section.size());
        std::string text = "// Written by `primsel freeze`; not to be edited.\n#pragma once\n\n";
        std::set<std::string> includes = includes_;
        includes.insert("primsel/frozen/frozen_engine.hpp");
        for (std::string const& include : includes) text += join("#include <", include, ">\n");
        text += "\n#include <array>\n#include <bit>\n#include <cstddef>\n#include <limits>\n#include <span>\n\n";
        text += join("struct ", options_.name, " {\n    using arch = ", arch(),
                     ";\n    static constexpr primsel::frozen::WeightsKey weights_key{\"", PRIMSEL_VERSION, "\", \"",
                     arch_name, "\", ", checksum_of(plan_), "U};\n");
        text += join("    static constexpr std::size_t batch = ", graph_.batch(), ", workers = ", options_.workers,
                     ", single = ", schedule_.single, ", arena_bytes = ", arrangement_.layout.bytes,
                     ", op_srcs = ", op_srcs_, ";\n");
        text += array("primsel::Shape", "in_shapes", ins) + array("primsel::Shape", "out_shapes", outs);
        text += array("std::size_t", "in_floats", in_floats) + array("std::size_t", "out_floats", out_floats);
        text += "    // Tensors: those of the caller first. Bytes from image to image of each, and where others lie.\n";
        text += array("std::size_t", "image_bytes", schedule_.image_bytes);
        text += places("PlacedTensor", "tensors", tensors);
        text += "    // Sections of the file of weights, and which of them are constants and the weights of steps.\n";
        text += array("std::size_t", "section_bytes", section_bytes);
        text += places("PlacedConstant", "constants", constants_) + array("std::size_t", "weights", weights_);
        text += body_;
        text += join("    static constexpr std::array<primsel::engine::ReadyStep, ", schedule_.steps.size(), "> steps{",
                     steps, "};\n");
        text += array("std::size_t", "order", arrangement_.order) + array("std::size_t", "lanes", arrangement_.lanes);
        return text + "};\n";
    }
    Graph const& graph_;
    Kernels const& kernels_;
    KernelTypes const& types_;
    FreezeOptions const& options_;
    Schedule schedule_;
    Arrangement arrangement_;
    Program program_;
    engine::ReadyRun run_;
    std::set<std::string> includes_;
    PackedPlan plan_{.arch = std::string(arch_name), .sections = {}};
    std::map<std::string_view, std::size_t> places_;  // of sections, whose bytes stay where they are as strings move
    std::map<std::pair<std::string, std::string>, std::string> layers_;
    std::vector<std::size_t> weights_;
    std::vector<std::pair<std::size_t, std::size_t>> constants_;
    std::string body_;
    std::size_t op_srcs_ = 0;
    gemm::TileSet tiles_ = gemm::no_tile;
    bool planes_ = false;
    bool first_ = true;
};

}  // namespace frozen::detail

/// Writes a plan down. graph: simplified, as the plan's; types: those of the kernels. Throws error for a layer, a
/// primitive or a layout of the user's own, for a step of training, and as Program does.
[[nodiscard]] inline FrozenFiles freeze(Graph const& graph, Kernels const& kernels, Plan const& plan,
                                        Weights const& weights, frozen::KernelTypes const& types,
                                        FreezeOptions const& options, ExecutorRef packing) {
    Plan shared = plan;  // frozen programs share layers; the bits are the same
    shared.images_apart = false;
    return frozen::detail::Freezer(graph, kernels, shared, weights, types, options, packing).freeze();
}

}  // namespace primsel::inline PRIMSEL_ABI
