// Attributes of kernel nodes: set, read, copied, captured, and what they do to launches.
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <array>
#include <vector>

using namespace lode::emulator_test;

namespace {

/// ranks(to): each block stores 16 · its cluster's size + its rank.
constexpr const char* ranks_ptx = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry ranks(.param .u64 to)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %cluster_nctarank;
    mov.u32 %r3, %cluster_ctarank;
    mad.lo.u32 %r4, %r2, 16, %r3;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4;
    ret;
}
)";

constexpr unsigned blocks = 4;

struct AttributeGraph {
    AttributeGraph() {
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, ranks_ptx) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, "ranks") == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&memory, blocks * 4) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamCreateWithPriority, 5050)(&stream, CU_STREAM_NON_BLOCKING, -1) ==
                CUDA_SUCCESS);
        REQUIRE(CU(cuGraphCreate, 10000)(&graph, 0) == CUDA_SUCCESS);
    }
    ~AttributeGraph() {
        if (graph != nullptr) CHECK(CU(cuGraphDestroy, 10000)(graph) == CUDA_SUCCESS);
        CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
        CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
        CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    }
    AttributeGraph(const AttributeGraph&) = delete;
    AttributeGraph& operator=(const AttributeGraph&) = delete;

    CUDA_KERNEL_NODE_PARAMS_v2 parameters(unsigned grid = blocks) {
        CUDA_KERNEL_NODE_PARAMS_v2 p{};
        p.func = function;
        p.gridDimX = grid;
        p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
        p.kernelParams = arguments;
        return p;
    }
    CUgraphNode add(unsigned grid = blocks) {
        const auto p = parameters(grid);
        CUgraphNode node = nullptr;
        REQUIRE(CU(cuGraphAddKernelNode, 12000)(&node, graph, nullptr, 0, &p) == CUDA_SUCCESS);
        return node;
    }
    static CUresult set(CUgraphNode node, CUlaunchAttributeID id,
                        const CUlaunchAttributeValue& value) {
        return CU(cuGraphKernelNodeSetAttribute, 11000)(node, id, &value);
    }
    static CUlaunchAttributeValue get(CUgraphNode node, CUlaunchAttributeID id) {
        CUlaunchAttributeValue value{};
        CHECK(CU(cuGraphKernelNodeGetAttribute, 11000)(node, id, &value) == CUDA_SUCCESS);
        return value;
    }
    /// What the graph stores.
    std::array<unsigned, blocks> run() {
        CHECK(CU(cuMemsetD32, 3020)(memory, 0, blocks) == CUDA_SUCCESS);
        CUgraphExec exec = nullptr;
        REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, graph, 0) == CUDA_SUCCESS);
        CHECK(CU(cuGraphLaunch, 10000)(exec, stream) == CUDA_SUCCESS);
        CHECK(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
        CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
        std::array<unsigned, blocks> read{};
        CHECK(CU(cuMemcpyDtoH, 3020)(read.data(), memory, blocks * 4) == CUDA_SUCCESS);
        return read;
    }

    const Machine machine;
    const Current scope;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr memory = 0;
    void* arguments[1] = {&memory};
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
};

CUlaunchAttributeValue cluster_of(unsigned x) {
    CUlaunchAttributeValue value{};
    value.clusterDim = {x, 1, 1};
    return value;
}

constexpr std::array<unsigned, blocks> alone{16, 16, 16, 16};
constexpr std::array<unsigned, blocks> in_pairs{32, 33, 32, 33};
constexpr std::array<unsigned, blocks> in_four{64, 65, 66, 67};

}  // namespace

TEST_CASE("emulator graph attributes: clusters are those of the launch") {
    AttributeGraph bench;
    const CUgraphNode node = bench.add();
    constexpr auto id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    CHECK(bench.run() == alone);
    CHECK(AttributeGraph::get(node, id).clusterDim.x == 0);
    CHECK(AttributeGraph::set(node, id, cluster_of(2)) == CUDA_SUCCESS);
    CHECK(bench.run() == in_pairs);
    CHECK(AttributeGraph::set(node, id, cluster_of(3)) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CHECK(AttributeGraph::get(node, id).clusterDim.x == 2);
    CHECK(bench.run() == in_pairs);

    // New parameters keep the attributes, and are checked with them.
    auto changed = bench.parameters(3);
    CHECK(CU(cuGraphKernelNodeSetParams, 12000)(node, &changed) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    changed = bench.parameters(2);
    CHECK(CU(cuGraphKernelNodeSetParams, 12000)(node, &changed) == CUDA_SUCCESS);
    CHECK(bench.run() == std::array<unsigned, blocks>{32, 33, 0, 0});
    CUgraphNodeParams generic{};
    generic.type = CU_GRAPH_NODE_TYPE_KERNEL;
    generic.kernel.func = bench.function;
    generic.kernel.gridDimX = blocks;
    generic.kernel.gridDimY = generic.kernel.gridDimZ = 1;
    generic.kernel.blockDimX = generic.kernel.blockDimY = generic.kernel.blockDimZ = 1;
    generic.kernel.kernelParams = bench.arguments;
    CHECK(CU(cuGraphNodeSetParams, 12020)(node, &generic) == CUDA_SUCCESS);
    CHECK(bench.run() == in_pairs);
}

TEST_CASE("emulator graph attributes: a cooperative node must fit on the device") {
    AttributeGraph bench;
    const CUgraphNode node = bench.add();
    const CUgraphNode large = bench.add(132 * 32 + 1);
    CUlaunchAttributeValue value{};
    value.cooperative = 1;
    CHECK(AttributeGraph::set(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value) == CUDA_SUCCESS);
    CHECK(AttributeGraph::get(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative == 1);
    CHECK(AttributeGraph::set(large, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value) ==
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    CHECK(AttributeGraph::get(large, CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative == 0);
}

TEST_CASE(
    "emulator graph attributes: copies take all, and clones and executable graphs keep them") {
    AttributeGraph bench;
    const CUgraphNode from = bench.add();
    CUlaunchAttributeValue value{};
    value.priority = -3;
    CHECK(AttributeGraph::set(from, CU_LAUNCH_ATTRIBUTE_PRIORITY, value) == CUDA_SUCCESS);
    CHECK(AttributeGraph::set(from, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster_of(4)) ==
          CUDA_SUCCESS);
    value.priority = -99;
    const CUgraphNode to = bench.add();
    CHECK(AttributeGraph::set(to, CU_LAUNCH_ATTRIBUTE_PRIORITY, value) == CUDA_SUCCESS);
    CHECK(AttributeGraph::get(to, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority == -5);  // The greatest.
    CHECK(CU(cuGraphKernelNodeCopyAttributes, 11000)(to, from) == CUDA_SUCCESS);
    CHECK(AttributeGraph::get(to, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority == -3);
    CHECK(CU(cuGraphDestroyNode, 10000)(from) == CUDA_SUCCESS);
    CHECK(CU(cuGraphKernelNodeCopyAttributes, 11000)(to, from) == CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.run() == in_four);

    CUgraph clone = nullptr;
    CHECK(CU(cuGraphClone, 10000)(&clone, bench.graph) == CUDA_SUCCESS);
    CUgraphNode found = nullptr;
    CHECK(CU(cuGraphNodeFindInClone, 10000)(&found, to, clone) == CUDA_SUCCESS);
    CHECK(AttributeGraph::get(found, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim.x == 4);
    CHECK(CU(cuGraphDestroy, 10000)(clone) == CUDA_SUCCESS);
}

TEST_CASE("emulator graph attributes: wrong ones are refused") {
    AttributeGraph bench;
    const CUgraphNode node = bench.add();
    CUlaunchAttributeValue value{};
    for (const auto id :
         {CU_LAUNCH_ATTRIBUTE_IGNORE, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
          CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}) {
        CHECK(AttributeGraph::set(node, id, value) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuGraphKernelNodeGetAttribute, 11000)(node, id, &value) ==
              CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(CU(cuGraphKernelNodeSetAttribute, 11000)(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
    value.accessPolicyWindow.hitRatio = 2;
    CHECK(AttributeGraph::set(node, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, value) ==
          CUDA_ERROR_INVALID_VALUE);
    CUgraphNode empty = nullptr;
    CHECK(CU(cuGraphAddEmptyNode, 10000)(&empty, bench.graph, nullptr, 0) == CUDA_SUCCESS);
    CHECK(AttributeGraph::set(empty, CU_LAUNCH_ATTRIBUTE_PRIORITY, {}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphKernelNodeCopyAttributes, 11000)(node, empty) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphKernelNodeCopyAttributes, 11000)(empty, node) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator graph attributes: a capture takes those of the launch and the stream") {
    AttributeGraph bench;
    CHECK(CU(cuGraphDestroy, 10000)(bench.graph) == CUDA_SUCCESS);
    REQUIRE(CU(cuStreamBeginCapture, 10010)(bench.stream, CU_STREAM_CAPTURE_MODE_RELAXED) ==
            CUDA_SUCCESS);
    std::array<CUlaunchAttribute, 2> attributes{};
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[0].value = cluster_of(2);
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[1].value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = bench.stream;
    config.attrs = attributes.data();
    config.numAttrs = attributes.size();
    CHECK(CU(cuLaunchKernelEx, 11060)(&config, bench.function, bench.arguments, nullptr) ==
          CUDA_SUCCESS);
    CHECK(CU(cuLaunchCooperativeKernel, 9000)(bench.function, 1, 1, 1, 1, 1, 1, 0, bench.stream,
                                              bench.arguments) == CUDA_SUCCESS);
    REQUIRE(CU(cuStreamEndCapture, 10000)(bench.stream, &bench.graph) == CUDA_SUCCESS);
    std::size_t count = 2;
    std::array<CUgraphNode, 2> nodes{};
    REQUIRE(CU(cuGraphGetNodes, 10000)(bench.graph, nodes.data(), &count) == CUDA_SUCCESS);
    REQUIRE(count == 2);
    for (const CUgraphNode node : nodes)
        CHECK(AttributeGraph::get(node, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority == -1);
    CHECK(AttributeGraph::get(nodes[0], CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim.x == 2);
    CHECK(AttributeGraph::get(nodes[0], CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative == 0);
    CHECK(AttributeGraph::get(nodes[1], CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative == 1);
    CHECK(bench.run() == std::array<unsigned, blocks>{16, 33, 32, 33});
}
