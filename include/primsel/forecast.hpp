// Opt-in: what a network will cost, before it runs.
#pragma once

#include <primsel/forecast/corrected_sum.hpp>
#include <primsel/forecast/engine_forecast.hpp>
#include <primsel/forecast/features.hpp>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/forecast/measure_network.hpp>
#include <primsel/forecast/network_model.hpp>
#include <primsel/forecast/sum.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/forecast/trees.hpp>
