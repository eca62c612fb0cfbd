#include "emulator/driver/graph/graph_memory.hpp"

#include "emulator/driver/graph/graph_calls.hpp"
#include "emulator/driver/graph/graph_works.hpp"
#include "emulator/driver/log.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

CUresult refuse_launch(std::uint64_t address, std::string_view why) {
    log::report(fmt::format("A graph can't be launched: its memory at {:#x} {}.", address, why));
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

GraphMemory::~GraphMemory() {
    driver().allocations.leave_graph(address);
}

std::shared_ptr<GraphMemory> GraphMemories::add(Context& context, std::size_t bytes,
                                                const std::shared_ptr<Graph>& graph) {
    std::erase_if(memories_, [](const auto& entry) { return entry.second.expired(); });
    const auto address = driver().allocations.reserve_for_graph(context, bytes);
    if (!address) return nullptr;
    auto memory = std::make_shared<GraphMemory>(*address, graph);
    memories_[*address] = memory;
    return memory;
}

std::shared_ptr<GraphMemory> GraphMemories::find(std::uint64_t address) const {
    const auto found = memories_.find(address);
    return found == memories_.end() ? nullptr : found->second.lock();
}

CUresult GraphExec::claim_memory() const {
    Allocations& allocations = driver().allocations;
    const bool frees_first = (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    std::vector<std::uint64_t> again;
    std::vector<std::uint64_t> taken;
    std::vector<std::uint64_t> left;
    for (const Node& node : nodes_) {
        if (const auto* work = std::get_if<AllocWork>(node.work.get())) {
            const GraphMemory& memory = *work->memory;
            if (allocations.is_claimed(memory.address)) {
                if (!frees_first)
                    return refuse_launch(memory.address, "hasn't been freed since the last launch");
                again.push_back(memory.address);
            }
            taken.push_back(memory.address);
            if (memory.freed_inside) left.push_back(memory.address);
        } else if (const auto* freed = std::get_if<FreeWork>(node.work.get())) {
            const GraphMemory& memory = *freed->memory;
            if (memory.freed_inside) continue;
            if (!allocations.is_claimed(memory.address))
                return refuse_launch(memory.address, "isn't allocated when it is freed");
            left.push_back(memory.address);
        }
    }
    for (const std::uint64_t address : again)
        allocations.begin_free(address);
    for (const std::uint64_t address : taken)
        allocations.claim(address);
    for (const std::uint64_t address : left)
        allocations.begin_free(address);
    return CUDA_SUCCESS;
}

CUresult alloc_work_of(CUDA_MEM_ALLOC_NODE_PARAMS_v1& parameters, Graph* parent, NodeWork& work) {
    const CUmemPoolProps& pool = parameters.poolProps;
    // On a device, a GPU's driver gives the same memory for both types.
    const bool is_managed = pool.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (parent == nullptr || parameters.bytesize == 0 ||
        (pool.allocType != CU_MEM_ALLOCATION_TYPE_PINNED && !is_managed) ||
        pool.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
        (parameters.accessDescCount > 0 && parameters.accessDescs == nullptr) ||
        parameters.accessDescCount > driver().devices.size())
        return CUDA_ERROR_INVALID_VALUE;
    if (pool.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        const bool is_place = pool.location.type == CU_MEM_LOCATION_TYPE_HOST ||
                              pool.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
        if (!is_managed && !is_place) return CUDA_ERROR_INVALID_VALUE;
        return gate::refuse("graph nodes that allocate memory on the host");
    }
    const Device* const device = driver().device(pool.location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (!device->primary->is_open()) return CUDA_ERROR_INVALID_CONTEXT;
    AllocWork node;
    node.memory = driver().graph_tables.memories.add(*device->primary, parameters.bytesize,
                                                     parent->shared_from_this());
    if (node.memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    parameters.dptr = node.memory->address;
    node.parameters = parameters;
    node.access = std::make_shared<std::vector<CUmemAccessDesc>>(
        parameters.accessDescs, parameters.accessDescs + parameters.accessDescCount);
    node.parameters.accessDescs = node.access->data();
    work = std::move(node);
    return CUDA_SUCCESS;
}

CUresult free_work_of(CUdeviceptr address, const Graph* parent, NodeWork& work) {
    auto memory = driver().graph_tables.memories.find(address);
    if (memory == nullptr || parent == nullptr || memory->freed_inside)
        return CUDA_ERROR_INVALID_VALUE;
    const bool inside = memory->graph.lock().get() == parent;
    if (inside && memory->freed_elsewhere) return CUDA_ERROR_INVALID_VALUE;
    const bool twice = std::ranges::any_of(parent->nodes(), [&](const auto& node) {
        const auto* const other = std::get_if<FreeWork>(node->work.get());
        return other != nullptr && other->memory == memory;
    });
    if (twice) return CUDA_ERROR_INVALID_VALUE;
    (inside ? memory->freed_inside : memory->freed_elsewhere) = true;
    work = FreeWork{std::move(memory)};
    return CUDA_SUCCESS;
}

namespace {

/// Adds a memory node to the graph that a stream captures: make(Graph&, NodeWork&).
template <class Make>
std::optional<CUresult> capture_memory(const StreamUse& use, const Make& make) {
    GraphTables& tables = driver().graph_tables;
    if (!tables.captures.any()) return std::nullopt;
    const std::lock_guard lock(tables.mutex);
    NodeWork work;
    CapturePoint* const point = tables.captures.find(*use.stream);
    if (point != nullptr && point->capture->valid) {
        if (const CUresult state = make(*point->capture->graph, work); state != CUDA_SUCCESS)
            return state;
    }
    return tables.captures.add(use, [&] { return std::move(work); });
}

}  // namespace

std::optional<CUresult> capture_alloc(const StreamUse& use, CUdeviceptr* out, std::size_t bytes) {
    return capture_memory(use, [&](Graph& graph, NodeWork& work) -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 parameters{};
        parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        parameters.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                         use.context->device().ordinal};
        parameters.bytesize = bytes;
        const CUresult state = alloc_work_of(parameters, &graph, work);
        if (state == CUDA_SUCCESS) *out = parameters.dptr;
        return state;
    });
}

std::optional<CUresult> capture_free(const StreamUse& use, CUdeviceptr address) {
    return capture_memory(use, [&](const Graph& graph, NodeWork& work) {
        return free_work_of(address, &graph, work);
    });
}

}  // namespace lode::emulator::driver
