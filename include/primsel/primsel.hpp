// The whole library but for the opt-in headers (core/openmp.hpp, primitive/gemm_eigen.hpp, network/boost_graph.hpp).
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/tensor/tensor.hpp>
#include <primsel/tensor/transform.hpp>
#include <primsel/version.hpp>
