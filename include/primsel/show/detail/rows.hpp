#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show::detail {

/// An edge of the graph on its way down: where it passes each row between writer and reader.
struct Route {
    std::size_t writer, reader;
    std::size_t position;  // among the reader's inputs
    std::vector<double> x;
};

/// A graph in rows: every node is below all that it reads. Nodes of a row stand side by side, and between them run the
/// lanes of the edges that pass the row (Sugiyama et al. 1981).
class Rows {
public:
    /// A node takes `node_width`, a lane `lane_width`, and `gap` is left between neighbours.
    Rows(Graph const& graph, double node_width, double lane_width, double gap)
        : row(graph.size(), 0), x(graph.size(), 0) {
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) row[i] = std::max(row[i], row[input] + 1);
            items_.push_back({node_width, 1.0, 0, graph[i].inputs, {}, {}});
            put(i, row[i]);
        }
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (std::size_t position = 0; position < graph[i].inputs.size(); ++position) {
                add_route(graph[i].inputs[position], i, position, lane_width);
            }
        }
        order();
        settle(gap);
        for (std::size_t i = 0; i < graph.size(); ++i) x[i] = items_[i].x;
        for (std::size_t i = 0; i < routes.size(); ++i) {
            for (const std::size_t lane : lanes_[i]) routes[i].x.push_back(items_[lane].x);
        }
    }

    [[nodiscard]] std::size_t count() const { return rows_.size(); }

    /// Each node's row, and the middle of its place in the row.
    std::vector<std::size_t> row;
    std::vector<double> x;
    std::vector<Route> routes;

private:
    /// A node, or an edge's lane in one row.
    struct Item {
        double width;
        double weight;  // how much it insists on its place: lanes give way to nodes
        double x;
        std::vector<std::size_t> reads;         // nodes: of a lane, its writer
        std::vector<std::size_t> above, below;  // its neighbours of the next rows, lanes included
    };

    void put(std::size_t item, std::size_t in_row) {
        if (rows_.size() <= in_row) rows_.resize(in_row + 1);
        rows_[in_row].push_back(item);
    }
    void add_route(std::size_t writer, std::size_t reader, std::size_t position, double lane_width) {
        std::size_t from = writer;
        std::vector<std::size_t> lanes;
        for (std::size_t i = row[writer] + 1; i < row[reader]; ++i) {
            lanes.push_back(items_.size());
            items_.push_back({lane_width, 1e-4, 0, {writer}, {}, {}});
            put(lanes.back(), i);
            join(std::exchange(from, lanes.back()), lanes.back());
        }
        join(from, reader);
        routes.push_back({writer, reader, position, {}});
        lanes_.push_back(std::move(lanes));
    }
    void join(std::size_t from, std::size_t to) {
        items_[from].below.push_back(to);
        items_[to].above.push_back(from);
    }

    /// Few crossings: every item goes where its neighbours of the row before are, on average; down and up in turns.
    void order() {
        std::vector<double> place(items_.size(), 0);
        const auto number = [&](std::vector<std::size_t> const& items) {
            for (std::size_t i = 0; i < items.size(); ++i) place[items[i]] = static_cast<double>(i);
        };
        const auto sort = [&](std::vector<std::size_t>& items, auto neighbours) {
            std::vector<std::pair<double, std::size_t>> keys;
            for (const std::size_t item : items) {
                auto const& near = items_[item].*neighbours;
                double sum = 0;
                for (const std::size_t other : near) sum += place[other];
                keys.emplace_back(near.empty() ? place[item] : sum / static_cast<double>(near.size()), item);
            }
            std::ranges::stable_sort(keys, {}, &std::pair<double, std::size_t>::first);
            for (std::size_t i = 0; i < items.size(); ++i) items[i] = keys[i].second;
            number(items);
        };
        for (auto const& items : rows_) number(items);
        for (int round = 0; round < 4; ++round) {
            for (std::size_t i = 1; i < rows_.size(); ++i) sort(rows_[i], &Item::above);
            if (round == 3) break;
            for (std::size_t i = rows_.size() - 1; i-- > 0;) sort(rows_[i], &Item::below);
        }
    }

    /// Straight edges: every item as near to the middle of the nodes that it reads as the order of its row leaves room
    /// for, from the first row on. A lane is to run straight down from its writer.
    void settle(double gap) {
        for (auto const& items : rows_) {
            std::vector<double> wanted;
            for (const std::size_t item : items) {
                auto const& reads = items_[item].reads;
                double sum = 0;
                for (const std::size_t node : reads) sum += items_[node].x;
                wanted.push_back(reads.empty() ? 0 : sum / static_cast<double>(reads.size()));
            }
            spread(items, wanted, gap);
        }
    }
    /// The least sum of weighted squared distances from the wanted places without overlap, by pooling adjacent
    /// violators.
    void spread(std::vector<std::size_t> const& items, std::vector<double> const& wanted, double gap) {
        struct Block {
            double weight, sum;
            std::size_t count;
            [[nodiscard]] double mean() const { return sum / weight; }
        };
        std::vector<Block> blocks;
        std::vector<double> offsets;
        for (std::size_t i = 0; i < items.size(); ++i) {
            Item const& item = items_[items[i]];
            offsets.push_back(i == 0 ? 0 : offsets[i - 1] + (items_[items[i - 1]].width + item.width) / 2 + gap);
            blocks.push_back({item.weight, item.weight * (wanted[i] - offsets[i]), 1});
            while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
                const Block last = blocks.back();
                blocks.pop_back();
                blocks.back().weight += last.weight;
                blocks.back().sum += last.sum;
                blocks.back().count += last.count;
            }
        }
        std::size_t i = 0;
        for (Block const& block : blocks) {
            for (std::size_t n = 0; n < block.count; ++n, ++i) items_[items[i]].x = block.mean() + offsets[i];
        }
    }

    std::vector<Item> items_;  // first the nodes
    std::vector<std::vector<std::size_t>> rows_;
    std::vector<std::vector<std::size_t>> lanes_;  // of each route
};

}  // namespace primsel::inline PRIMSEL_ABI::show::detail
