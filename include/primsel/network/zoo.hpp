// Networks from the literature, as types.
#pragma once

#include <primsel/network/zoo/alexnet.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/network/zoo/googlenet.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/network/zoo/vgg.hpp>
