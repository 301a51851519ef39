// The whole library but for the opt-in headers: core/openmp.hpp, gemm/gemm_eigen.hpp, network/boost_graph.hpp,
// measure/calibrate.hpp, train.hpp and what learns cost models.
#pragma once

#include <primsel/core/thread_pool.hpp>
#include <primsel/engine/compare.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/io/weights.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/primitive/reference.hpp>

#include <primsel/tensor/tensor.hpp>
#include <primsel/version.hpp>
