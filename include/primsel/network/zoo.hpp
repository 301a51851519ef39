// Networks from the literature, as types.
#pragma once

#include <primsel/network/zoo/alexnet.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/network/zoo/densenet.hpp>
#include <primsel/network/zoo/googlenet.hpp>
#include <primsel/network/zoo/inception_v3.hpp>
#include <primsel/network/zoo/mnasnet.hpp>
#include <primsel/network/zoo/mobilenet.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/network/zoo/shufflenet.hpp>
#include <primsel/network/zoo/squeezenet.hpp>
#include <primsel/network/zoo/vgg.hpp>
