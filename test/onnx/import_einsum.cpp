// Einstein's sums, against sums over all values of all letters.
#include "imported.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace import_einsum {

using namespace imported;

struct Case {
    /// As the file has it, and with letters in place of ellipses.
    std::string equation, letters;
    std::vector<Ints> dims;
};

std::vector<std::string> terms_of(std::string const& letters) {
    std::vector<std::string> terms{""};
    for (const char letter : letters.substr(0, letters.find('-'))) {
        if (letter == ',')
            terms.emplace_back();
        else
            terms.back() += letter;
    }
    return terms;
}

/// Every product, added to the element that its letters name. Extents of 1 broadcast.
std::vector<double> summed(Case const& one, std::vector<std::vector<float>> const& inputs, Ints& dims) {
    const std::vector<std::string> terms = terms_of(one.letters);
    const std::string result = one.letters.substr(one.letters.find('>') + 1);
    std::map<char, std::int64_t> sizes;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
            std::int64_t& size = sizes.try_emplace(terms[i][axis], 1).first->second;
            size = std::max(size, one.dims[i][axis]);
        }
    }
    dims.clear();
    std::size_t count = 1, all = 1;
    for (const char letter : result) dims.push_back(sizes[letter]), count *= static_cast<std::size_t>(sizes[letter]);
    for (auto const& [letter, size] : sizes) all *= static_cast<std::size_t>(size);
    std::vector<double> sums(count, 0.0);
    for (std::size_t i = 0; i < all; ++i) {
        std::map<char, std::int64_t> at;
        std::size_t rest = i;
        for (auto const& [letter, size] : sizes) {
            at[letter] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(size));
            rest /= static_cast<std::size_t>(size);
        }
        const auto place = [&at](std::string const& term, Ints const& extents) {
            std::int64_t offset = 0;
            for (std::size_t axis = 0; axis < term.size(); ++axis) {
                offset = offset * extents[axis] + (extents[axis] == 1 ? 0 : at[term[axis]]);
            }
            return static_cast<std::size_t>(offset);
        };
        double product = 1;
        for (std::size_t t = 0; t < terms.size(); ++t) {
            product *= static_cast<double>(inputs[t][place(terms[t], one.dims[t])]);
        }
        sums[place(result, dims)] += product;
    }
    return sums;
}

std::string model_of(Case const& one, std::vector<std::vector<float>> const& values, std::vector<bool> const& known) {
    Model model(Model::writer_only, 12);
    Strings names;
    for (std::size_t i = 0; i < one.dims.size(); ++i) {
        names.push_back("a" + std::to_string(i));
        if (known[i])
            model.floats(names.back(), one.dims[i], values[i]);
        else
            model.input(names.back(), one.dims[i]);
    }
    return model.node("Einsum", names, {"y"}, {{"equation", one.equation}}).bytes();
}

TEST_CASE("Einstein's sums are those over all values of all letters") {
    const Case cases[] = {
        {"ij->ji", "ij->ji", {{3, 4}}},
        {"bij->b", "bij->b", {{2, 3, 4}}},
        {" i j -> ", "ij->", {{3, 4}}},
        {"ii->i", "ii->i", {{4, 4}}},
        {"bii->b", "bii->b", {{2, 3, 3}}},
        {"iij,jk->ik", "iij,jk->ik", {{3, 3, 4}, {4, 5}}},
        {"ij,jk->ik", "ij,jk->ik", {{3, 4}, {4, 5}}},
        {"ij,jk->ki", "ij,jk->ki", {{3, 4}, {4, 5}}},
        {"ij,jk", "ij,jk->ik", {{3, 4}, {4, 5}}},
        {"Ba", "Ba->Ba", {{3, 4}}},
        {"ba", "ba->ab", {{3, 4}}},
        {"i,j->ij", "i,j->ij", {{3}, {4}}},
        {"i,i->", "i,i->", {{5}, {5}}},
        {"i,i->i", "i,i->i", {{5}, {5}}},
        {",ij->ij", ",ij->ij", {{}, {3, 4}}},
        {"bhid,bhjd->bhij", "bhid,bhjd->bhij", {{2, 3, 4, 5}, {2, 3, 6, 5}}},
        {"bhij,bhjd->bihd", "bhij,bhjd->bihd", {{2, 3, 4, 5}, {2, 3, 5, 6}}},
        {"bnqd,kd->bnqk", "bnqd,kd->bnqk", {{2, 3, 4, 5}, {7, 5}}},
        {"bchw,hkc->bckw", "bchw,hkc->bckw", {{2, 3, 4, 5}, {4, 6, 3}}},
        {"nctv,vwt->nctw", "nctv,vwt->nctw", {{2, 3, 4, 5}, {5, 6, 4}}},
        {"ij,jk->ik", "ij,jk->ik", {{3, 1}, {4, 5}}},
        {"ij,ij->j", "ij,ij->j", {{1, 4}, {3, 4}}},
        {"ij,ik,il->jkl", "ij,ik,il->jkl", {{3, 2}, {3, 4}, {3, 5}}},
        {"ij,jk,kl->il", "ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}},
        {"a,b,c,d->dbca", "a,b,c,d->dbca", {{2}, {3}, {1}, {4}}},
        {"...ij,...jk->...ik", "XYij,XYjk->XYik", {{1, 2, 3, 4}, {5, 1, 4, 2}}},
        {"...ij,...jk->...ik", "Yij,XYjk->XYik", {{2, 3, 4}, {5, 1, 4, 2}}},
        {"i...->...i", "iXY->XYi", {{2, 3, 4}}},
        {"...ii->...i", "Xii->Xi", {{2, 3, 3}}},
        {"b...,b...", "bX,bX->X", {{2, 3}, {2, 3}}},
        {"i...,...", "iX,X->Xi", {{2, 3}, {3}}},
    };
    for (Case const& one : cases) {
        CAPTURE(one.equation);
        std::vector<std::vector<float>> values;
        for (Ints const& dims : one.dims) {
            std::size_t count = 1;
            for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
            values.push_back(numbers(count, static_cast<unsigned>(values.size()) + 3));
        }
        Ints dims;
        const std::vector<double> sums = summed(one, values, dims);
        // All are inputs, or one of them is a constant, or all are.
        for (std::size_t constant = 0; constant <= one.dims.size() + 1; ++constant) {
            std::vector<bool> known(one.dims.size(), constant == one.dims.size() + 1);
            if (constant < known.size()) known[constant] = true;
            std::vector<std::vector<float>> inputs;
            for (std::size_t i = 0; i < known.size(); ++i) {
                if (!known[i]) inputs.push_back(values[i]);
            }
            CAPTURE(constant);
            const ps::OnnxModel model = parse(model_of(one, values, known));
            CHECK(model.outputs[0].dims == dims);
            CHECK(is_close(run_inputs(model, inputs)[0], sums));
            if (inputs.empty()) CHECK(kinds_of(model) == Kinds{"constant"});
        }
    }
}

TEST_CASE("Einstein's sums run image by image where these stay apart, and as matrix products where there is a matrix") {
    const auto made = [](std::string const& equation, Ints const& x, Ints const& w, std::size_t count) {
        return parse(Model(x, 12)
                         .floats("w", w, numbers(count))
                         .node("Einsum", {"x", "w"}, {"y"}, {{"equation", equation}})
                         .bytes());
    };
    const ps::OnnxModel rows = made("bij,jk->bik", {3, 4, 5}, {5, 6}, 30);
    CHECK(rows.graph.batch() == 3);
    CHECK(kinds_of(rows) == Kinds{"input", "dense_rows"});
    // The images are summed.
    CHECK(made("bij,jk->ik", {3, 4, 5}, {5, 6}, 30).graph.batch() == 1);
    // No axis: nothing is multiplied.
    const std::string empty = Model({1, 3}, 12)
                                  .floats("w", {3, 0}, {})
                                  .floats("z", {1, 0}, {})
                                  .node("Einsum", {"w", "z"}, {"s"}, {{"equation", "ij,kj->ik"}})
                                  .node("Transpose", {"s"}, {"t"})
                                  .node("Add", {"x", "t"}, {"y"})
                                  .bytes();
    CHECK(run(parse(empty), {1, 2, 3}) == Line{1, 2, 3});
}

TEST_CASE("equations that mean nothing are refused") {
    const auto fault = [](std::string_view equation) {
        return refusal(
            Model({3, 4}, 12).input("z", {3, 4}).node("Einsum", {"x", "z"}, {"y"}, {{"equation", equation}}).bytes());
    };
    const std::string node = "file: node the node (Einsum): ";
    CHECK(fault("ij,jk->ik") == node + "tensors of 4 and 3 elements along one axis");
    CHECK(fault("ij") == node + "its equation \"ij\" is not one of 2 tensors");
    CHECK(fault("ij,ij,ij") == node + "its equation \"ij,ij,ij\" is not one of 2 tensors");
    CHECK(fault("i,ij") == node + "its term \"i\" has 1 letters for 2 axes");
    CHECK(fault("i...jk,ij") == node + "its term \"i...jk\" has 3 letters for 2 axes");
    CHECK(fault("i1,ij") == node + "its term \"i1\" has something else than letters and one ellipsis");
    CHECK(fault("ii,ij") == node + "a diagonal of axes of 3 and 4 elements");
    CHECK(fault("ij,ij->ii") == node + "its result has a letter twice");
    CHECK(fault("ij,ij->k") == node + "its result has a letter that none of its tensors has");
    CHECK(fault("i...,ij->i") == node + "its equation \"i...,ij->i\" has an ellipsis, but its result has none");
}

}  // namespace import_einsum
