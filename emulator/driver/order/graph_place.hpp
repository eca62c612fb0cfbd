// Where an operation is in the graph that runs it, for the check of order between operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lode::emulator::driver {

/// Which nodes of a graph come before which.
class NodeOrder {
public:
    /// Each node's dependencies, and the nodes in an order that respects them.
    NodeOrder(const std::vector<std::vector<std::size_t>>& dependencies,
              const std::vector<std::size_t>& order);
    /// Whether one of two nodes comes before the other.
    [[nodiscard]] bool orders(std::size_t one, std::size_t other) const {
        return before_[one][other] || before_[other][one];
    }

private:
    std::vector<std::vector<bool>> before_;  ///< By node: those that come before it.
};

/// A node of a graph, in one run of the graph.
struct GraphStep {
    std::shared_ptr<const NodeOrder> graph;
    std::size_t node = 0;
    std::uint64_t round = 0;  ///< The turn of a loop whose body it is in.
};

/// A node in one launch, with the child graphs and bodies that it is in: outermost first.
struct GraphPlace {
    std::uint64_t launch = 0;  ///< 0: no graph.
    std::vector<GraphStep> steps;
};

/// Whether two operations are in one launch of a graph whose edges don't order them.
[[nodiscard]] bool is_unordered(const GraphPlace& one, const GraphPlace& other);

}  // namespace lode::emulator::driver
