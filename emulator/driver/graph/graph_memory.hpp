// Memory that graphs allocate and free.
#pragma once

#include "emulator/driver/abi.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace lode::emulator::driver {

class Context;
class Graph;

/// The memory of one allocation node. Its address never changes, and its bytes exist as long as a
/// node or an executable graph has them; so accesses before the allocation and after the free
/// aren't detected. Guarded by GraphTables::mutex.
struct GraphMemory {
    GraphMemory(std::uint64_t its_address, std::weak_ptr<Graph> its_graph) noexcept
        : address(its_address), graph(std::move(its_graph)) {}
    /// Frees the memory, or leaves that to the caller if it is allocated at this moment.
    ~GraphMemory();
    GraphMemory(const GraphMemory&) = delete;
    GraphMemory& operator=(const GraphMemory&) = delete;

    const std::uint64_t address;
    const std::weak_ptr<Graph> graph;  ///< Whose node allocates it.
    bool freed_inside = false;         ///< By a node of the same graph.
    bool freed_elsewhere = false;      ///< By a node of another graph.
};

/// The memory of all allocation nodes. Guarded by GraphTables::mutex.
class GraphMemories {
public:
    /// nullptr if the device has no room.
    std::shared_ptr<GraphMemory> add(Context& context, std::size_t bytes,
                                     const std::shared_ptr<Graph>& graph);
    /// nullptr if no allocation node has this address.
    [[nodiscard]] std::shared_ptr<GraphMemory> find(std::uint64_t address) const;

private:
    std::map<std::uint64_t, std::weak_ptr<GraphMemory>> memories_;
};

/// A node that allocates.
struct AllocWork {
    std::shared_ptr<GraphMemory> memory;
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 parameters{};
    std::shared_ptr<std::vector<CUmemAccessDesc>> access;  ///< Access rights from the parameters.
};
/// A node that frees.
struct FreeWork {
    std::shared_ptr<GraphMemory> memory;
};

}  // namespace lode::emulator::driver
