#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/tensor.hpp>
#include <primsel/version.hpp>
#ifdef WITH_BOOST_GRAPH
#include <primsel/network/boost_graph.hpp>
#endif
#ifdef WITH_EIGEN
#include <primsel/gemm/gemm_eigen.hpp>
#endif
#ifdef WITH_ONNX
#include <primsel/onnx/export.hpp>
#endif
#ifdef WITH_OPENMP
#include <primsel/core/openmp.hpp>
#endif
#ifdef WITH_REDIS
#include <primsel/search/redis_queue.hpp>
#endif
#ifdef WITH_YAML
#include <primsel/io/yaml.hpp>
#endif

#include <cstdio>

int main() {
    const primsel::Tensor<primsel::hwc> image(primsel::Shape{.c = 3, .h = 32, .w = 32});
    bool is_right = image.size() == 3 * 32 * 32;
#ifdef WITH_ONNX
    primsel::Graph graph;
    graph.add("image", primsel::InputParams{{.c = 3, .h = 4, .w = 4}}, {});
    graph.add("relu", primsel::ActivationParams{}, {0});
    is_right = is_right && !primsel::to_onnx(graph, {}).empty();
#endif
#ifdef WITH_OPENMP
    is_right = is_right && primsel::OpenMP{2}.concurrency() == 2;
#endif
#ifdef WITH_YAML
    is_right = is_right && primsel::parse_yaml("text", "a: 1").kind() == primsel::Settings::Kind::map;
#endif
    std::printf("primsel %.*s\n", static_cast<int>(primsel::version.size()), primsel::version.data());
    return is_right ? 0 : 1;
}
