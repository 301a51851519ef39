// The work that both units do. Internal linkage: each unit has its own copy, as unrelated users would.
#pragma once

#include "answer.hpp"

#include <primsel/primsel.hpp>

#include <typeinfo>

static Answer work() {
    primsel::Tensor<primsel::chw> image(primsel::Shape{.c = 5, .h = 7, .w = 11});
    float value = 0.0F;
    for (float& element : image) element = value++;
    primsel::Tensor<primsel::hwc> transformed(image.shape());
    primsel::Sequential sequential;
    primsel::transform<primsel::chw, primsel::hwc>(image.shape(), image.data(), transformed.data(), sequential);
    return {typeid(primsel::error).name(), {transformed.begin(), transformed.end()}};
}
