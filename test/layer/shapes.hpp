// check and output of a layer on a list of shapes.
#pragma once

#include <primsel/layer/layer.hpp>

#include <vector>

namespace laws {

// Not inlined: g++ 12 then warns of a second input that it cannot see is not looked at.
template <class Params>
[[gnu::noinline]] primsel::Fault check(Params const& params, std::vector<primsel::Shape> const& inputs) {
    return params.check(inputs);
}
template <class Params>
[[gnu::noinline]] primsel::Shape output(Params const& params, std::vector<primsel::Shape> const& inputs) {
    return params.output(inputs);
}

/// One input of any shape, and an output of the same.
template <class Params>
bool keeps_shape(Params const& params) {
    const primsel::Shape shape{6, 4, 5};
    return check(params, {shape}) == primsel::Fault::none && output(params, {shape}) == shape &&
           check(params, {}) == primsel::Fault::wrong_input_count &&
           check(params, {shape, shape}) == primsel::Fault::wrong_input_count;
}

}  // namespace laws
