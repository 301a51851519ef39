// Einstein's sums, as permutations, reductions and products of matrices.
#pragma once

#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/reduce.hpp>
#include <primsel/onnx/detail/reshape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The names of a tensor's axes: letters, or for those of an ellipsis `ellipsis_label` plus the position from its end.
using Labels = std::vector<int>;
inline constexpr int ellipsis_label = 256;

[[nodiscard]] inline bool has_label(Labels const& labels, int label) {
    return std::ranges::find(labels, label) != labels.end();
}

/// The operands and the result of an equation such as "ij,jk->ik".
struct Equation {
    std::vector<Labels> terms;
    Labels result;
};

/// The labels of a term without spaces, whose ellipsis stands for the axes that its letters leave.
[[nodiscard]] inline Labels labels_of(std::string_view term, std::size_t rank) {
    const std::size_t dots = term.find("..."), letters = term.size() - (dots == std::string_view::npos ? 0 : 3);
    if (dots == std::string_view::npos ? letters != rank : letters > rank) {
        fail("its term \"", term, "\" has ", letters, " letters for ", rank, " axes");
    }
    Labels labels;
    for (std::size_t i = 0; i < term.size(); ++i) {
        if (i == dots) {
            for (std::size_t axis = rank - letters; axis-- > 0;)
                labels.push_back(ellipsis_label + static_cast<int>(axis));
            i += 2;
            continue;
        }
        const char letter = term[i];
        if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'))) {
            fail("its term \"", term, "\" has something else than letters and one ellipsis");
        }
        labels.push_back(letter);
    }
    return labels;
}

[[nodiscard]] inline Equation read_equation(std::string_view text, std::vector<std::size_t> const& ranks) {
    std::string equation;
    std::ranges::copy_if(text, std::back_inserter(equation), [](char letter) { return letter != ' '; });
    const std::size_t arrow = equation.find("->");
    std::string_view left = std::string_view(equation).substr(0, arrow);
    Equation result;
    int widest = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const std::size_t comma = left.find(',');
        if ((comma == std::string_view::npos) != (i + 1 == ranks.size())) {
            fail("its equation \"", equation, "\" is not one of ", ranks.size(), " tensors");
        }
        Labels& labels = result.terms.emplace_back(labels_of(left.substr(0, comma), ranks[i]));
        for (const int label : labels) widest = std::max(widest, label - ellipsis_label + 1);
        left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
    }
    if (arrow != std::string::npos) {
        const std::string_view right = std::string_view(equation).substr(arrow + 2);
        const bool has_ellipsis = right.find("...") != std::string_view::npos;
        result.result =
            labels_of(right, has_ellipsis ? right.size() - 3 + static_cast<std::size_t>(widest) : right.size());
        if (widest > 0 && !has_ellipsis)
            fail("its equation \"", equation, "\" has an ellipsis, but its result has none");
        Labels sorted = result.result;
        std::ranges::sort(sorted);
        if (std::ranges::adjacent_find(sorted) != sorted.end()) fail("its result has a letter twice");
        return result;
    }
    // The axes of ellipses, then the letters that are there once, capitals first.
    while (widest > 0) result.result.push_back(ellipsis_label + --widest);
    std::map<int, int> times;
    for (Labels const& labels : result.terms) {
        for (const int label : labels) ++times[label];
    }
    for (auto const& [label, count] : times) {
        if (label < ellipsis_label && count == 1) result.result.push_back(label);
    }
    return result;
}

/// An operand with a label for each axis, none of them twice.
struct Labelled {
    Operand operand;
    Labels labels;
};

/// Diagonals where a label is there twice, and without axes of one element.
[[nodiscard]] inline Labelled distinct(Builder& build, Operand const& x, Labels const& labels) {
    const Sizes strides = row_major(x.dims);
    Strided places;
    Labelled result;
    bool has_diagonal = false;
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
        if (x.dims[axis] == 1) continue;
        const auto found = std::ranges::find(result.labels, labels[axis]);
        if (found != result.labels.end()) {
            places.strides[static_cast<std::size_t>(found - result.labels.begin())] += strides[axis];
            has_diagonal = true;
            continue;
        }
        result.labels.push_back(labels[axis]);
        places.dims.push_back(x.dims[axis]);
        places.strides.push_back(strides[axis]);
    }
    result.operand = has_diagonal ? build.strided(x, places) : build.reshape(x, places.dims);
    return result;
}

/// The sum over all axes but those that are kept.
[[nodiscard]] inline Labelled summed(Builder& build, Labelled x, auto const& keeps) {
    std::vector<std::size_t> axes;
    Labelled result;
    Sizes dims;
    for (std::size_t axis = 0; axis < x.labels.size(); ++axis) {
        if (!keeps(x.labels[axis])) {
            axes.push_back(axis);
            continue;
        }
        result.labels.push_back(x.labels[axis]);
        dims.push_back(x.operand.dims[axis]);
    }
    if (axes.empty()) return x;
    result.operand = build.reshape(emit_reduce(build, ReduceKind::sum, std::move(x.operand), axes), std::move(dims));
    return result;
}

/// The axes in the order of the labels, which are all of the operand's.
[[nodiscard]] inline Operand ordered(Builder& build, Labelled const& x, Labels const& labels) {
    std::vector<std::size_t> axes;
    for (const int label : labels) {
        axes.push_back(static_cast<std::size_t>(std::ranges::find(x.labels, label) - x.labels.begin()));
    }
    return transposed(build, x.operand, axes);
}

/// The product of two operands, summed over all labels but those that are kept.
[[nodiscard]] inline Labelled contracted(Builder& build, Labelled a, Labelled b, auto const& keeps) {
    // A constant matrix is the second one.
    if (!a.operand.node && b.operand.node) std::swap(a, b);
    a = summed(build, std::move(a), [&](int label) { return keeps(label) || has_label(b.labels, label); });
    b = summed(build, std::move(b), [&](int label) { return keeps(label) || has_label(a.labels, label); });
    Labels both, sums, left, right;
    Sizes both_dims, left_dims, right_dims;
    for (std::size_t axis = 0; axis < a.labels.size(); ++axis) {
        const int label = a.labels[axis];
        const bool is_shared = has_label(b.labels, label), is_kept = keeps(label);
        (!is_shared ? left : is_kept ? both : sums).push_back(label);
        if (is_kept) (is_shared ? both_dims : left_dims).push_back(a.operand.dims[axis]);
    }
    for (std::size_t axis = 0; axis < b.labels.size(); ++axis) {
        if (has_label(a.labels, b.labels[axis])) continue;
        right.push_back(b.labels[axis]);
        right_dims.push_back(b.operand.dims[axis]);
    }
    const auto joined = [](auto first, auto const& second, auto const& third) {
        first.insert(first.end(), second.begin(), second.end());
        first.insert(first.end(), third.begin(), third.end());
        return first;
    };
    Labelled result{{}, joined(both, left, right)};
    const Sizes dims = joined(both_dims, left_dims, right_dims);
    const Operand first = ordered(build, a, joined(both, left, sums)),
                  second = ordered(build, b, joined(both, sums, right));
    if (sums.empty()) {
        result.operand = emit_binary(build, BinaryKind::multiply,
                                     build.reshape(first, joined(both_dims, left_dims, Sizes(right.size(), 1))),
                                     build.reshape(second, joined(both_dims, Sizes(left.size(), 1), right_dims)));
        return result;
    }
    const std::int64_t count = elements(both_dims), rows = elements(left_dims), columns = elements(right_dims),
                       depth = elements(first.dims) / count / rows;
    const auto matrices = [&](Operand const& x, std::int64_t h, std::int64_t w) {
        return build.reshape(x, both.empty() ? Sizes{h, w} : Sizes{count, h, w});
    };
    const Operand product = emit_matmul(build, matrices(first, rows, depth), matrices(second, depth, columns));
    result.operand = build.reshape(product, dims);
    return result;
}

/// The extents of all labels. Extents of 1 broadcast.
[[nodiscard]] inline std::map<int, std::int64_t> sizes_of(Call const& call, Equation const& equation) {
    std::map<int, std::int64_t> sizes;
    for (std::size_t i = 0; i < equation.terms.size(); ++i) {
        std::map<int, std::int64_t> own;
        for (std::size_t axis = 0; axis < call.rank(i); ++axis) {
            const int label = equation.terms[i][axis];
            const std::int64_t size = call.dims(i)[axis];
            const auto [found, is_new] = own.try_emplace(label, size);
            if (!is_new && found->second != size) {
                fail("a diagonal of axes of ", found->second, " and ", size, " elements");
            }
            std::int64_t& all = sizes.try_emplace(label, size).first->second;
            if (all != size && all != 1 && size != 1) {
                fail("tensors of ", all, " and ", size, " elements along one axis");
            }
            if (all == 1) all = size;
        }
    }
    for (const int label : equation.result) {
        if (!sizes.contains(label)) fail("its result has a letter that none of its tensors has");
    }
    return sizes;
}

/// The operands of one image, whose axis is removed from the equation. Throws MixesImages.
[[nodiscard]] inline std::vector<Operand> operands_of_image(Call const& call, Equation& equation) {
    std::vector<Operand> operands;
    const int images = equation.result.empty() ? -1 : equation.result[0];
    for (std::size_t i = 0; i < equation.terms.size(); ++i) {
        Labels& labels = equation.terms[i];
        if (call.build.is_whole()) {
            operands.push_back(call.build.trained(call.operand(i)));
            continue;
        }
        if (const OnnxTensor* known = call.known(i)) {
            if (has_label(labels, images)) throw MixesImages{"a constant has the axis of the images"};
            operands.push_back(call.build.trained({known->dims, std::nullopt, *known}));
            continue;
        }
        if (labels.empty() || labels[0] != images || std::ranges::count(labels, images) != 1) {
            throw MixesImages{"the first axis of a tensor is not that of the images in its result"};
        }
        operands.push_back(call.operand(i));
        labels.erase(labels.begin());
    }
    if (!call.build.is_whole()) equation.result.erase(equation.result.begin());
    return operands;
}

}  // namespace detail

/// A sum of products of tensors, by an equation such as "bij,bjk->bik".
inline void translate_einsum(Call& call) {
    Builder& build = call.build;
    std::vector<std::size_t> ranks;
    for (std::size_t i = 0; i < call.input_count(); ++i) ranks.push_back(call.rank(i));
    if (ranks.empty()) fail("no inputs");
    detail::Equation equation = detail::read_equation(call.text("equation", ""), ranks);
    const std::map<int, std::int64_t> sizes = detail::sizes_of(call, equation);
    const auto dims_of = [&sizes](detail::Labels const& labels) {
        Sizes dims;
        for (const int label : labels) dims.push_back(sizes.at(label));
        return dims;
    };
    if (std::ranges::any_of(sizes, [](auto const& size) { return size.second == 0; })) {
        const OnnxTensor zero = build.constants.zero_like(empty_tensor({0}, call.input(0).type));
        return call.give(pick(zero, expansion({}, dims_of(equation.result)), build.constants));
    }
    const std::vector<Operand> operands = detail::operands_of_image(call, equation);
    std::vector<detail::Labelled> terms;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        terms.push_back(detail::distinct(build, operands[i], equation.terms[i]));
    }
    const auto keeps_beside = [&](std::size_t i, std::size_t j) {
        return [&, i, j](int label) {
            for (std::size_t other = 0; other < terms.size(); ++other) {
                if (other != i && other != j && detail::has_label(terms[other].labels, label)) return true;
            }
            return detail::has_label(equation.result, label);
        };
    };
    // The two next ones are those whose product is the smallest.
    while (terms.size() > 1) {
        std::size_t first = 0, second = 1;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < terms.size(); ++i) {
            for (std::size_t j = i + 1; j < terms.size(); ++j) {
                const auto keeps = keeps_beside(i, j);
                double size = 1;
                for (auto const& [label, extent] : sizes) {
                    const bool is_there =
                        detail::has_label(terms[i].labels, label) || detail::has_label(terms[j].labels, label);
                    if (is_there && keeps(label)) size *= static_cast<double>(extent);
                }
                if (size < least) least = size, first = i, second = j;
            }
        }
        detail::Labelled product = detail::contracted(build, terms[first], terms[second], keeps_beside(first, second));
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
        terms[first] = std::move(product);
    }
    const detail::Labelled sum = detail::summed(build, std::move(terms[0]),
                                                [&](int label) { return detail::has_label(equation.result, label); });
    detail::Labels present = equation.result;
    std::erase_if(present, [&](int label) { return !detail::has_label(sum.labels, label); });
    call.give(build.reshape(detail::ordered(build, sum, present), dims_of(equation.result)));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
