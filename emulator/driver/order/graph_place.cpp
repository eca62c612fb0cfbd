#include "emulator/driver/order/graph_place.hpp"

namespace lode::emulator::driver {

NodeOrder::NodeOrder(const std::vector<std::vector<std::size_t>>& dependencies,
                     const std::vector<std::size_t>& order)
    : before_(order.size(), std::vector<bool>(order.size())) {
    for (const std::size_t node : order) {
        for (const std::size_t dependency : dependencies[node]) {
            before_[node][dependency] = true;
            for (std::size_t k = 0; k < order.size(); ++k) {
                if (before_[dependency][k]) before_[node][k] = true;
            }
        }
    }
}

bool is_unordered(const GraphPlace& one, const GraphPlace& other) {
    if (one.launch == 0 || one.launch != other.launch) return false;
    for (std::size_t k = 0; k < one.steps.size() && k < other.steps.size(); ++k) {
        const GraphStep& a = one.steps[k];
        const GraphStep& b = other.steps[k];
        if (a.node != b.node) return !a.graph->orders(a.node, b.node);
        if (a.round != b.round) return false;
    }
    return false;  // The same operation.
}

}  // namespace lode::emulator::driver
