#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>

using namespace lode::emulator_test;

namespace {

/// A stream, a word of device memory and the kernel store(to, value).
class GraphBench {
public:
    GraphBench() {
        REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&words, 64) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemsetD8, 3020)(words, 0, 64) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, store_ptx) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&store, module, "store") == CUDA_SUCCESS);
        REQUIRE(CU(cuGraphCreate, 10000)(&graph, 0) == CUDA_SUCCESS);
    }
    ~GraphBench() {
        if (graph != nullptr) CHECK(CU(cuGraphDestroy, 10000)(graph) == CUDA_SUCCESS);
        if (module != nullptr) CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
        CHECK(CU(cuMemFree, 3020)(words) == CUDA_SUCCESS);
        CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
    }
    GraphBench(const GraphBench&) = delete;
    GraphBench& operator=(const GraphBench&) = delete;

    /// The parameters of store(words + index, value); valid as long as this object.
    CUDA_KERNEL_NODE_PARAMS_v2 storing(unsigned index, unsigned new_value) {
        target = words + index * 4ULL;
        value = new_value;
        CUDA_KERNEL_NODE_PARAMS_v2 p{};
        p.func = store;
        p.gridDimX = p.gridDimY = p.gridDimZ = 1;
        p.blockDimX = p.blockDimY = p.blockDimZ = 1;
        p.kernelParams = arguments;
        return p;
    }
    CUgraphNode add_store(unsigned index, unsigned new_value,
                          std::initializer_list<CUgraphNode> after = {}) {
        const auto p = storing(index, new_value);
        CUgraphNode node = nullptr;
        REQUIRE(CU(cuGraphAddKernelNode, 12000)(&node, graph, after.begin(), after.size(), &p) ==
                CUDA_SUCCESS);
        return node;
    }
    CUgraphExec instantiate() const {
        CUgraphExec exec = nullptr;
        REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, graph, 0) == CUDA_SUCCESS);
        return exec;
    }
    void run(CUgraphExec exec) const {
        REQUIRE(CU(cuGraphLaunch, 10000)(exec, stream) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
    }
    void run_once() const {
        const CUgraphExec exec = instantiate();
        run(exec);
        CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    }
    unsigned word(unsigned index) const {
        unsigned read = 0;
        CHECK(CU(cuMemcpyDtoH, 3020)(&read, words + index * 4ULL, 4) == CUDA_SUCCESS);
        return read;
    }
    std::size_t node_count() const {
        std::size_t count = 0;
        CHECK(CU(cuGraphGetNodes, 10000)(graph, nullptr, &count) == CUDA_SUCCESS);
        return count;
    }

    CUstream stream = nullptr;
    CUdeviceptr words = 0;
    CUmodule module = nullptr;
    CUfunction store = nullptr;
    CUgraph graph = nullptr;
    CUdeviceptr target = 0;
    unsigned value = 0;
    void* arguments[2] = {&target, &value};
};

void count_call(void* user) {
    ++*static_cast<int*>(user);
}

}  // namespace

TEST_CASE("emulator graph: nodes run in the order of their dependencies, each launch anew") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    const CUgraphNode first = bench.add_store(0, 1);
    const CUgraphNode second = bench.add_store(0, 2, {first});
    // Created last, but before the other two.
    const CUgraphNode zeroth = bench.add_store(0, 3);
    CHECK(CU(cuGraphAddDependencies, 10000)(bench.graph, &zeroth, &first, 1) == CUDA_SUCCESS);
    const CUgraphExec exec = bench.instantiate();
    CHECK(machine.live(LODE_EMULATOR_GRAPHS) == 1);
    CHECK(machine.live(LODE_EMULATOR_GRAPH_EXECS) == 1);
    CHECK(bench.word(0) == 0);
    bench.run(exec);
    CHECK(bench.word(0) == 2);
    CHECK(CU(cuMemsetD32, 3020)(bench.words, 9, 1) == CUDA_SUCCESS);
    bench.run(exec);
    CHECK(bench.word(0) == 2);
    (void)second;
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_GRAPH_EXECS) == 0);
    CHECK(CU(cuGraphLaunch, 10000)(exec, bench.stream) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator graph: a node keeps copies of its arguments, and gives them back") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    const CUgraphNode node = bench.add_store(1, 7);
    bench.value = 8;
    bench.target = 0;
    CUDA_KERNEL_NODE_PARAMS_v2 read{};
    REQUIRE(CU(cuGraphKernelNodeGetParams, 12000)(node, &read) == CUDA_SUCCESS);
    CHECK(read.func == bench.store);
    CHECK(read.gridDimX == 1);
    CHECK(*static_cast<unsigned*>(read.kernelParams[1]) == 7);
    bench.run_once();
    CHECK(bench.word(1) == 7);
    const auto changed = bench.storing(1, 11);
    CHECK(CU(cuGraphKernelNodeSetParams, 12000)(node, &changed) == CUDA_SUCCESS);
    bench.run_once();
    CHECK(bench.word(1) == 11);
}

TEST_CASE("emulator graph: copies, fills, host functions and child graphs") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    CUDA_MEMSET_NODE_PARAMS_v1 fill{bench.words, 0, 5, 4, 4, 1};
    CUgraphNode filled = nullptr;
    REQUIRE(CU(cuGraphAddMemsetNode, 10000)(&filled, bench.graph, nullptr, 0, &fill,
                                            scope.native()) == CUDA_SUCCESS);
    unsigned out[4] = {};
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = bench.words;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = out;
    copy.WidthInBytes = sizeof out;
    copy.Height = copy.Depth = 1;
    CUgraphNode copied = nullptr;
    REQUIRE(CU(cuGraphAddMemcpyNode, 10000)(&copied, bench.graph, &filled, 1, &copy,
                                            scope.native()) == CUDA_SUCCESS);
    int calls = 0;
    const CUDA_HOST_NODE_PARAMS_v1 host{count_call, &calls};
    CUgraphNode called = nullptr;
    REQUIRE(CU(cuGraphAddHostNode, 10000)(&called, bench.graph, &copied, 1, &host) == CUDA_SUCCESS);
    CUgraph parent = nullptr;
    REQUIRE(CU(cuGraphCreate, 10000)(&parent, 0) == CUDA_SUCCESS);
    CUgraphNode child = nullptr;
    REQUIRE(CU(cuGraphAddChildGraphNode, 10000)(&child, parent, nullptr, 0, bench.graph) ==
            CUDA_SUCCESS);
    CHECK(CU(cuGraphAddChildGraphNode, 10000)(&child, bench.graph, nullptr, 0, bench.graph) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(machine.live(LODE_EMULATOR_GRAPHS) == 2);
    CUgraph inside = nullptr;
    CHECK(CU(cuGraphChildGraphNodeGetGraph, 10000)(child, &inside) == CUDA_SUCCESS);
    CHECK(inside != bench.graph);
    CHECK(CU(cuGraphDestroy, 10000)(inside) == CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec = nullptr;
    REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, parent, 0) == CUDA_SUCCESS);
    bench.run(exec);
    bench.run(exec);
    CHECK(calls == 2);
    CHECK(out[0] == 5);
    CHECK(out[3] == 5);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    CHECK(CU(cuGraphDestroy, 10000)(parent) == CUDA_SUCCESS);
    CHECK(CU(cuGraphLaunch, 10000)(exec, bench.stream) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator graph: one node of an executable graph is changed or disabled") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    const CUgraphNode node = bench.add_store(2, 1);
    const CUgraphExec exec = bench.instantiate();
    const auto changed = bench.storing(2, 4);
    CHECK(CU(cuGraphExecKernelNodeSetParams, 12000)(exec, node, &changed) == CUDA_SUCCESS);
    bench.run(exec);
    CHECK(bench.word(2) == 4);
    CHECK(CU(cuMemsetD8, 3020)(bench.words, 0, 64) == CUDA_SUCCESS);
    CHECK(CU(cuGraphNodeSetEnabled, 11060)(exec, node, 0) == CUDA_SUCCESS);
    bench.run(exec);
    CHECK(bench.word(2) == 0);
    unsigned enabled = 1;
    CHECK(CU(cuGraphNodeGetEnabled, 11060)(exec, node, &enabled) == CUDA_SUCCESS);
    CHECK(enabled == 0);
    CHECK(CU(cuGraphNodeSetEnabled, 11060)(exec, node, 1) == CUDA_SUCCESS);
    bench.run(exec);
    CHECK(bench.word(2) == 4);
    // The graph itself hasn't changed.
    bench.run_once();
    CHECK(bench.word(2) == 1);
    CHECK(CU(cuGraphNodeSetEnabled, 11060)(exec, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
}

TEST_CASE("emulator graph: a whole update needs the same structure") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    const CUgraphNode node = bench.add_store(3, 1);
    const CUgraphExec exec = bench.instantiate();
    const auto changed = bench.storing(3, 6);
    CHECK(CU(cuGraphKernelNodeSetParams, 12000)(node, &changed) == CUDA_SUCCESS);
    CUgraphExecUpdateResultInfo info{};
    CHECK(CU(cuGraphExecUpdate, 12000)(exec, bench.graph, &info) == CUDA_SUCCESS);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    bench.run(exec);
    CHECK(bench.word(3) == 6);
    const CUgraphNode more = bench.add_store(4, 1);
    CHECK(CU(cuGraphExecUpdate, 12000)(exec, bench.graph, &info) ==
          CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    CHECK(CU(cuGraphDestroyNode, 10000)(more) == CUDA_SUCCESS);
    CHECK(CU(cuGraphDestroyNode, 10000)(node) == CUDA_SUCCESS);
    CUgraphNode empty = nullptr;
    CHECK(CU(cuGraphAddEmptyNode, 10000)(&empty, bench.graph, nullptr, 0) == CUDA_SUCCESS);
    CHECK(CU(cuGraphExecUpdate, 12000)(exec, bench.graph, &info) ==
          CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    CHECK(info.errorNode == empty);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
}

TEST_CASE("emulator graph: the structure can be read, cloned and printed") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    const CUgraphNode first = bench.add_store(0, 1);
    const CUgraphNode second = bench.add_store(1, 2, {first});
    CHECK(bench.node_count() == 2);
    CUgraphNode from[2] = {};
    CUgraphNode to[2] = {};
    std::size_t count = 2;
    CHECK(CU(cuGraphGetEdges, 10000)(bench.graph, from, to, &count) == CUDA_SUCCESS);
    CHECK(count == 1);
    CHECK(from[0] == first);
    CHECK(to[0] == second);
    CUgraphNode roots[2] = {second, second};
    count = 2;
    CHECK(CU(cuGraphGetRootNodes, 10000)(bench.graph, roots, &count) == CUDA_SUCCESS);
    CHECK(count == 1);
    CHECK(roots[0] == first);
    CHECK(roots[1] == nullptr);
    CUgraphNodeType type{};
    CHECK(CU(cuGraphNodeGetType, 10000)(first, &type) == CUDA_SUCCESS);
    CHECK(type == CU_GRAPH_NODE_TYPE_KERNEL);
    CUgraph clone = nullptr;
    REQUIRE(CU(cuGraphClone, 10000)(&clone, bench.graph) == CUDA_SUCCESS);
    CUgraphNode twin = nullptr;
    CHECK(CU(cuGraphNodeFindInClone, 10000)(&twin, second, clone) == CUDA_SUCCESS);
    CHECK(twin != second);
    CUgraphNode dependency = nullptr;
    count = 1;
    CHECK(CU(cuGraphNodeGetDependencies, 10000)(twin, &dependency, &count) == CUDA_SUCCESS);
    CHECK(count == 1);
    CHECK(dependency != first);
    CHECK(CU(cuGraphDestroy, 10000)(clone) == CUDA_SUCCESS);
    const std::string path = LODE_TEST_FOLDER "/graph.dot";
    CHECK(CU(cuGraphDebugDotPrint, 11030)(bench.graph, path.c_str(), 0) == CUDA_SUCCESS);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    CHECK(text.str().find("store") != std::string::npos);
    CHECK(text.str().find("node_0 -> node_1") != std::string::npos);
    CHECK(text.str().find("blocks") == std::string::npos);
    CHECK(CU(cuGraphDebugDotPrint, 11030)(bench.graph, path.c_str(),
                                          CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE) == CUDA_SUCCESS);
    std::stringstream verbose;
    verbose << std::ifstream(path).rdbuf();
    CHECK(verbose.str().find("\\n(1,1,1) blocks of (1,1,1), 0 bytes") != std::string::npos);
    std::remove(path.c_str());
}

TEST_CASE("emulator graph: cycles, foreign nodes and wrong parameters are refused") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    const CUgraphNode first = bench.add_store(0, 1);
    const CUgraphNode second = bench.add_store(0, 2, {first});
    CHECK(CU(cuGraphAddDependencies, 10000)(bench.graph, &first, &second, 1) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphAddDependencies, 10000)(bench.graph, &second, &first, 1) == CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    CHECK(CU(cuGraphInstantiateWithFlags, 11040)(&exec, bench.graph, 0) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphRemoveDependencies, 10000)(bench.graph, &second, &first, 1) == CUDA_SUCCESS);
    auto wrong = bench.storing(0, 1);
    wrong.blockDimX = 4096;
    CUgraphNode node = nullptr;
    CHECK(CU(cuGraphAddKernelNode, 12000)(&node, bench.graph, nullptr, 0, &wrong) ==
          CUDA_ERROR_INVALID_VALUE);
    CUgraph other = nullptr;
    REQUIRE(CU(cuGraphCreate, 10000)(&other, 0) == CUDA_SUCCESS);
    CHECK(CU(cuGraphAddEmptyNode, 10000)(&node, other, &first, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphDestroy, 10000)(other) == CUDA_SUCCESS);
    CHECK(CU(cuGraphDestroy, 10000)(other) == CUDA_ERROR_INVALID_VALUE);
    const CUDA_MEMSET_NODE_PARAMS_v1 odd{bench.words, 0, 0, 3, 1, 1};
    CHECK(CU(cuGraphAddMemsetNode, 10000)(&node, bench.graph, nullptr, 0, &odd, scope.native()) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.node_count() == 2);
}

TEST_CASE("emulator graph: code or memory that is gone makes a launch fail, not crash") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    SUBCASE("a module") {
        bench.add_store(0, 1);
        const CUgraphExec exec = bench.instantiate();
        CHECK(CU(cuModuleUnload, 2000)(bench.module) == CUDA_SUCCESS);
        bench.module = nullptr;
        CHECK(CU(cuGraphLaunch, 10000)(exec, bench.stream) == CUDA_ERROR_INVALID_HANDLE);
        CHECK(machine.log().find("unloaded") != std::string::npos);
        CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    }
}

TEST_CASE("emulator graph: a fill of freed memory fails the context") {
    const Machine machine;
    const Current scope;
    CUstream stream = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, 64) == CUDA_SUCCESS);
    CUgraph graph = nullptr;
    REQUIRE(CU(cuGraphCreate, 10000)(&graph, 0) == CUDA_SUCCESS);
    const CUDA_MEMSET_NODE_PARAMS_v1 fill{memory, 0, 5, 1, 64, 1};
    CUgraphNode node = nullptr;
    REQUIRE(CU(cuGraphAddMemsetNode, 10000)(&node, graph, nullptr, 0, &fill, scope.native()) ==
            CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, graph, 0) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(CU(cuGraphLaunch, 10000)(exec, stream) == CUDA_SUCCESS);
    CHECK(CU(cuStreamSynchronize, 2000)(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    CHECK(CU(cuGraphDestroy, 10000)(graph) == CUDA_SUCCESS);
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("emulator graph: user objects live as long as a graph or an executable graph") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    int destroyed = 0;
    CUuserObject object = nullptr;
    CHECK(CU(cuUserObjectCreate, 11030)(&object, &destroyed, count_call, 1, 0) ==
          CUDA_ERROR_INVALID_VALUE);
    REQUIRE(CU(cuUserObjectCreate, 11030)(&object, &destroyed, count_call, 1,
                                          CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_USER_OBJECTS) == 1);
    CHECK(CU(cuGraphRetainUserObject, 11030)(bench.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) ==
          CUDA_SUCCESS);
    const CUgraphExec exec = bench.instantiate();
    CHECK(CU(cuGraphReleaseUserObject, 11030)(bench.graph, object, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphReleaseUserObject, 11030)(bench.graph, object, 1) == CUDA_SUCCESS);
    CHECK(destroyed == 0);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    CHECK(destroyed == 1);
    CHECK(machine.live(LODE_EMULATOR_USER_OBJECTS) == 0);
    CHECK(CU(cuUserObjectRelease, 11030)(object, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator graph: event nodes record and wait") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    CUevent event = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&event, 0) == CUDA_SUCCESS);
    CUgraphNode waits = nullptr;
    CUgraphNode records = nullptr;
    REQUIRE(CU(cuGraphAddEventWaitNode, 11010)(&waits, bench.graph, nullptr, 0, event) ==
            CUDA_SUCCESS);
    REQUIRE(CU(cuGraphAddEventRecordNode, 11010)(&records, bench.graph, &waits, 1, event) ==
            CUDA_SUCCESS);
    CUevent read = nullptr;
    CHECK(CU(cuGraphEventRecordNodeGetEvent, 11010)(records, &read) == CUDA_SUCCESS);
    CHECK(read == event);
    CHECK(CU(cuGraphEventRecordNodeGetEvent, 11010)(waits, &read) == CUDA_ERROR_INVALID_VALUE);
    bench.run_once();
    CHECK(CU(cuEventQuery, 2000)(event) == CUDA_SUCCESS);
    float milliseconds = -1;
    CHECK(CU(cuEventElapsedTime, 2000)(&milliseconds, event, event) == CUDA_SUCCESS);
    CHECK(milliseconds == 0);
    CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
}

TEST_CASE("emulator graph: unsupported kinds of nodes are refused by name") {
    const Machine machine;
    const Current scope;
    GraphBench bench;
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    CUgraphNode node = nullptr;
    CHECK(CU(cuGraphAddNode, 12020)(&node, bench.graph, nullptr, 0, &parameters) ==
          CUDA_ERROR_NOT_SUPPORTED);
    parameters.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    CHECK(CU(cuGraphAddNode, 12020)(&node, bench.graph, nullptr, 0, &parameters) ==
          CUDA_ERROR_NOT_SUPPORTED);
    parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
    CHECK(CU(cuGraphAddNode, 12020)(&node, bench.graph, nullptr, 0, &parameters) == CUDA_SUCCESS);
}
