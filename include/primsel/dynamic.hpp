// Opt-in: networks that shrink and grow at run time, of one set of weights.
#pragma once

#include <primsel/dynamic/configuration.hpp>
#include <primsel/dynamic/configuration_weights.hpp>
#include <primsel/dynamic/dynamic_engine.hpp>
#include <primsel/dynamic/dynamic_plan.hpp>
#include <primsel/dynamic/governed.hpp>
#include <primsel/dynamic/governor.hpp>
#include <primsel/dynamic/grouped.hpp>
#include <primsel/dynamic/incremental.hpp>
#include <primsel/dynamic/incremental_options.hpp>
#include <primsel/dynamic/linux_platform.hpp>
#include <primsel/dynamic/nested.hpp>
#include <primsel/dynamic/objective.hpp>
#include <primsel/dynamic/operating_point.hpp>
#include <primsel/dynamic/platform.hpp>
