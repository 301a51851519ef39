// Opt-in: what a training consists of beside the network: data, augmentation, batches, losses, optimisers, learning
// rates, metrics. docs/train/ has a page for each that one may write oneself.
#pragma once

#include <primsel/train/augment.hpp>
#include <primsel/train/batches.hpp>
#include <primsel/train/clip.hpp>
#include <primsel/train/data.hpp>
#include <primsel/train/differentiate.hpp>
#include <primsel/train/judge.hpp>
#include <primsel/train/learning_rate.hpp>
#include <primsel/train/loss.hpp>
#include <primsel/train/metrics.hpp>
#include <primsel/train/optimizer.hpp>
#include <primsel/train/random.hpp>
#include <primsel/train/recompute.hpp>
#include <primsel/train/trainer.hpp>
