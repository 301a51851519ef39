// Opt-in: what a network will cost, before it runs.
#pragma once

#include <primsel/forecast/chosen_model.hpp>
#include <primsel/forecast/corrected_sum.hpp>
#include <primsel/forecast/engine_forecast.hpp>
#include <primsel/forecast/features.hpp>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/forecast/layer_memory.hpp>
#include <primsel/forecast/layer_time.hpp>
#include <primsel/forecast/layer_work.hpp>
#include <primsel/forecast/measure_network.hpp>
#include <primsel/forecast/measured_networks.hpp>
#include <primsel/forecast/network_correction.hpp>
#include <primsel/forecast/network_model.hpp>
#include <primsel/forecast/sum.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/forecast/trees.hpp>
