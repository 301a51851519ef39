// Opt-in: networks without the filters that matter least.
#pragma once

#include <primsel/prune/choose.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/criterion.hpp>
#include <primsel/prune/surgery.hpp>
