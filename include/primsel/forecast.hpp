// Opt-in: what a network will cost, before it runs.
#pragma once

#include <primsel/forecast/features.hpp>
