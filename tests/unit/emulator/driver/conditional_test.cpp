#include "tests/unit/emulator/driver/emulator_library.hpp"

using namespace lode::emulator_test;

namespace {

/// set(condition, value), and set_and_add(condition, value, x): also adds 1 to the number at x.
constexpr const char* set_ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 condition, .param .b32 value);
.visible .entry set(.param .u64 condition, .param .u32 value) {
    .reg .b64 %c; .reg .b32 %v;
    ld.param.u64 %c, [condition];
    ld.param.u32 %v, [value];
    { .param .b64 p0; st.param.b64 [p0], %c; .param .b32 p1; st.param.b32 [p1], %v;
      call.uni cudaGraphSetConditional, (p0, p1); }
    ret;
}
.visible .entry set_and_add(.param .u64 condition, .param .u32 value, .param .u64 x) {
    .reg .b64 %c; .reg .b64 %x; .reg .b32 %v; .reg .b32 %n;
    ld.param.u64 %c, [condition];
    ld.param.u32 %v, [value];
    ld.param.u64 %x, [x];
    ld.global.u32 %n, [%x];
    add.u32 %n, %n, 1;
    st.global.u32 [%x], %n;
    { .param .b64 p0; st.param.b64 [p0], %c; .param .b32 p1; st.param.b32 [p1], %v;
      call.uni cudaGraphSetConditional, (p0, p1); }
    ret;
}
)";

/// A graph, a stream, a number of device memory, and the kernels above.
class ConditionBench {
public:
    explicit ConditionBench(const Current& scope) : context(scope.native()) {
        REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&x, 4) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemsetD8, 3020)(x, 0, 4) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, set_ptx) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&set, module, "set") == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&set_and_add, module, "set_and_add") == CUDA_SUCCESS);
        REQUIRE(CU(cuGraphCreate, 10000)(&graph, 0) == CUDA_SUCCESS);
    }
    ~ConditionBench() {
        CHECK(CU(cuGraphDestroy, 10000)(graph) == CUDA_SUCCESS);
        CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
        CHECK(CU(cuMemFree, 3020)(x) == CUDA_SUCCESS);
        CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
    }
    ConditionBench(const ConditionBench&) = delete;
    ConditionBench& operator=(const ConditionBench&) = delete;

    CUgraphConditionalHandle add_condition(unsigned value, unsigned flags) const {
        CUgraphConditionalHandle condition = 0;
        REQUIRE(CU(cuGraphConditionalHandleCreate, 12030)(&condition, graph, context, value,
                                                          flags) == CUDA_SUCCESS);
        return condition;
    }
    CUgraphNodeParams parameters(CUgraphConditionalHandle condition,
                                 CUgraphConditionalNodeType type, unsigned size) const {
        CUgraphNodeParams p{};
        p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        p.conditional.handle = condition;
        p.conditional.type = type;
        p.conditional.size = size;
        p.conditional.ctx = context;
        return p;
    }
    CUresult add(CUgraphNodeParams& p) {
        return CU(cuGraphAddNode, 12030)(&node, graph, nullptr, nullptr, 0, &p);
    }
    /// Adds set_and_add(condition, value, x).
    void add_kernel(CUgraph to, CUgraphConditionalHandle condition, unsigned value) {
        void* arguments[] = {&condition, &value, &x};
        CUDA_KERNEL_NODE_PARAMS_v2 p{};
        p.func = set_and_add;
        p.gridDimX = p.gridDimY = p.gridDimZ = 1;
        p.blockDimX = p.blockDimY = p.blockDimZ = 1;
        p.kernelParams = arguments;
        CUgraphNode kernel = nullptr;
        REQUIRE(CU(cuGraphAddKernelNode, 12000)(&kernel, to, nullptr, 0, &p) == CUDA_SUCCESS);
    }
    CUresult instantiate(CUgraphExec& exec) const {
        return CU(cuGraphInstantiateWithFlags, 11040)(&exec, graph, 0);
    }
    void run() const {
        CUgraphExec exec = nullptr;
        REQUIRE(instantiate(exec) == CUDA_SUCCESS);
        REQUIRE(CU(cuGraphLaunch, 10000)(exec, stream) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
        CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    }
    unsigned number() const {
        unsigned read = 0;
        CHECK(CU(cuMemcpyDtoH, 3020)(&read, x, 4) == CUDA_SUCCESS);
        return read;
    }

    CUcontext context;
    CUstream stream = nullptr;
    CUdeviceptr x = 0;
    CUmodule module = nullptr;
    CUfunction set = nullptr;
    CUfunction set_and_add = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
};

}  // namespace

TEST_CASE("emulator condition: a body sets the number that decides whether it runs again") {
    const Machine machine;
    const Current scope;
    ConditionBench bench(scope);
    const auto condition = bench.add_condition(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    auto loop = bench.parameters(condition, CU_GRAPH_COND_TYPE_WHILE, 1);
    REQUIRE(bench.add(loop) == CUDA_SUCCESS);
    CUgraphNodeType type{};
    CHECK(CU(cuGraphNodeGetType, 10000)(bench.node, &type) == CUDA_SUCCESS);
    CHECK(type == CU_GRAPH_NODE_TYPE_CONDITIONAL);
    CUgraph body = loop.conditional.phGraph_out[0];
    bench.add_kernel(body, condition, 0);
    bench.run();
    CHECK(bench.number() == 1);
    bench.run();  // The default counts again.
    CHECK(bench.number() == 2);
    CHECK(machine.live(LODE_EMULATOR_GRAPHS) == 1);
    CHECK(CU(cuGraphDestroy, 10000)(body) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphDestroyNode, 10000)(bench.node) == CUDA_SUCCESS);
    std::size_t count = 0;
    CHECK(CU(cuGraphGetNodes, 10000)(body, nullptr, &count) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator condition: wrong handles and parameters are refused") {
    const Machine machine;
    const Current scope;
    ConditionBench bench(scope);
    CUgraphConditionalHandle condition = 0;
    const auto create = CU(cuGraphConditionalHandleCreate, 12030);
    CHECK(create(nullptr, bench.graph, bench.context, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(create(&condition, nullptr, bench.context, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(create(&condition, bench.graph, bench.context, 0, 2) == CUDA_ERROR_INVALID_VALUE);
    condition = bench.add_condition(0, 0);
    for (const auto& [type, size] : {std::pair(CU_GRAPH_COND_TYPE_IF, 0U),
                                     {CU_GRAPH_COND_TYPE_IF, 3U},
                                     {CU_GRAPH_COND_TYPE_WHILE, 2U},
                                     {CU_GRAPH_COND_TYPE_SWITCH, 0U},
                                     {static_cast<CUgraphConditionalNodeType>(3), 1U}}) {
        auto wrong = bench.parameters(condition, type, size);
        CHECK(bench.add(wrong) == CUDA_ERROR_INVALID_VALUE);
    }
    auto unknown = bench.parameters(condition + 1, CU_GRAPH_COND_TYPE_IF, 1);
    CHECK(bench.add(unknown) == CUDA_ERROR_INVALID_VALUE);
    CUgraph other = nullptr;
    REQUIRE(CU(cuGraphCreate, 10000)(&other, 0) == CUDA_SUCCESS);
    auto right = bench.parameters(condition, CU_GRAPH_COND_TYPE_IF, 2);
    CHECK(CU(cuGraphAddNode, 12030)(&bench.node, other, nullptr, nullptr, 0, &right) ==
          CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS options{};
    CHECK(CU(cuGraphInstantiateWithParams, 12000)(&exec, bench.graph, &options) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(options.result_out == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
    REQUIRE(bench.add(right) == CUDA_SUCCESS);
    CHECK(bench.add(right) == CUDA_ERROR_INVALID_VALUE);  // The handle has its node.
    CHECK(CU(cuGraphNodeSetParams, 12020)(bench.node, &right) == CUDA_ERROR_INVALID_VALUE);
    // Such a graph is neither cloned nor a child nor instantiated twice.
    CUgraph clone = nullptr;
    CHECK(CU(cuGraphClone, 10000)(&clone, bench.graph) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphAddChildGraphNode, 10000)(&bench.node, other, nullptr, 0, bench.graph) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphDestroy, 10000)(other) == CUDA_SUCCESS);
    REQUIRE(bench.instantiate(exec) == CUDA_SUCCESS);
    CUgraphExec second = nullptr;
    CHECK(bench.instantiate(second) == CUDA_ERROR_INVALID_VALUE);
    CHECK(machine.log().find("instantiated again") != std::string::npos);
    REQUIRE(CU(cuStreamBeginCapture, 10010)(bench.stream, CU_STREAM_CAPTURE_MODE_RELAXED) ==
            CUDA_SUCCESS);
    CHECK(CU(cuGraphLaunch, 10000)(exec, bench.stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(CU(cuStreamEndCapture, 10000)(bench.stream, &clone) ==
          CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
}

TEST_CASE("emulator condition: a body with a host function can't be instantiated") {
    const Machine machine;
    const Current scope;
    ConditionBench bench(scope);
    auto taken = bench.parameters(bench.add_condition(1, CU_GRAPH_COND_ASSIGN_DEFAULT),
                                  CU_GRAPH_COND_TYPE_IF, 1);
    REQUIRE(bench.add(taken) == CUDA_SUCCESS);
    const CUDA_HOST_NODE_PARAMS_v1 host{[](void*) {}, nullptr};
    CUgraphNode called = nullptr;
    REQUIRE(CU(cuGraphAddHostNode, 10000)(&called, taken.conditional.phGraph_out[0], nullptr, 0,
                                          &host) == CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    CHECK(bench.instantiate(exec) == CUDA_ERROR_INVALID_VALUE);
    CHECK(machine.log().find("The body of a conditional node") != std::string::npos);
}

TEST_CASE("emulator condition: an undefined number is reported and counts as 0") {
    const Machine machine;
    const Current scope;
    ConditionBench bench(scope);
    const auto condition = bench.add_condition(1, 0);
    auto taken = bench.parameters(condition, CU_GRAPH_COND_TYPE_IF, 2);
    REQUIRE(bench.add(taken) == CUDA_SUCCESS);
    bench.add_kernel(taken.conditional.phGraph_out[0], condition, 1);
    bench.run();
    CHECK(bench.number() == 0);
    CHECK(machine.log().find("before any kernel of the launch has set its value") !=
          std::string::npos);
}

TEST_CASE("emulator condition: a whole update reaches the bodies") {
    const Machine machine;
    const Current scope;
    ConditionBench bench(scope);
    const auto condition = bench.add_condition(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    auto taken = bench.parameters(condition, CU_GRAPH_COND_TYPE_IF, 1);
    REQUIRE(bench.add(taken) == CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    REQUIRE(bench.instantiate(exec) == CUDA_SUCCESS);
    bench.add_kernel(taken.conditional.phGraph_out[0], condition, 1);
    CUgraphExecUpdateResultInfo info{};
    CHECK(CU(cuGraphExecUpdate, 12000)(exec, bench.graph, &info) ==
          CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    REQUIRE(bench.instantiate(exec) == CUDA_SUCCESS);
    CHECK(CU(cuGraphExecUpdate, 12000)(exec, bench.graph, &info) == CUDA_SUCCESS);
    CHECK(CU(cuGraphLaunch, 10000)(exec, bench.stream) == CUDA_SUCCESS);
    CHECK(CU(cuStreamSynchronize, 2000)(bench.stream) == CUDA_SUCCESS);
    CHECK(bench.number() == 1);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
}

TEST_CASE("emulator condition: a kernel that sets an unknown one fails with a report") {
    const Machine machine;
    const Current scope;
    CUmodule module = nullptr;
    CUfunction set = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&module, set_ptx) == CUDA_SUCCESS);
    REQUIRE(CU(cuModuleGetFunction, 2000)(&set, module, "set") == CUDA_SUCCESS);
    CUgraphConditionalHandle condition = 16;
    unsigned value = 1;
    void* arguments[] = {&condition, &value};
    REQUIRE(CU(cuLaunchKernel, 4000)(set, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) ==
            CUDA_SUCCESS);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(machine.take_report().find("sets a condition that no graph has\n  condition: 0x10") !=
          std::string::npos);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_ERROR_ILLEGAL_ADDRESS);
}
