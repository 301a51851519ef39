// Names without their definitions.
#pragma once

#include <primsel/core/config.hpp>

namespace primsel::inline PRIMSEL_ABI {

class error;
struct Shape;
struct Coord;
struct ConvShape;
class Graph;
class Weights;
class Plan;
class PbqpProblem;
struct PbqpSolution;
struct DefaultPolicies;
template <class Net, class Policies = DefaultPolicies>
class Engine;

}  // namespace primsel::inline PRIMSEL_ABI
