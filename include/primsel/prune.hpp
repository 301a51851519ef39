// Opt-in: networks without the filters that matter least.
#pragma once

#include <primsel/prune/choose.hpp>
#include <primsel/prune/coupled_layers.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/criterion.hpp>
#include <primsel/prune/loss.hpp>
#include <primsel/prune/measured_loss.hpp>
#include <primsel/prune/prune_to.hpp>
#include <primsel/prune/pruning_run.hpp>
#include <primsel/prune/ranking.hpp>
#include <primsel/prune/schedule.hpp>
#include <primsel/prune/sensitivity.hpp>
#include <primsel/prune/surgery.hpp>
#include <primsel/prune/taylor.hpp>
