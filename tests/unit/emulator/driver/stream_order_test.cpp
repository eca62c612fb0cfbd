// The check `streams`: operations that touch the same bytes, although nothing orders them.
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace lode::emulator_test::stream_order {
namespace {

constexpr const char* code = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry write(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry read(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    ld.global.u32 %r1, [%rd1];
    ret;
}
.visible .entry count(.param .u64 to, .param .u32 value)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    red.global.add.u32 [%rd1], 1;
    ret;
}
// Every second word, from the one that `value` says.
.visible .entry every_second(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %tid.x;
    shl.b32 %r2, %r2, 1;
    add.u32 %r2, %r2, %r1;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
// Stores data, and then a flag.
.visible .entry send(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1+4], %r1;
    st.release.gpu.global.u32 [%rd1], 1;
    ret;
}
.visible .entry receive(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    ld.acquire.gpu.global.u32 %r1, [%rd1];
    ld.global.u32 %r2, [%rd1+4];
    ret;
}
)";

/// A program with two streams that nothing orders.
class Rig {
public:
    Rig() {
        REQUIRE(CU(cuModuleLoadData, 2000)(&module_, code) == CUDA_SUCCESS);
        for (CUstream* stream : {&one, &other})
            REQUIRE(CU(cuStreamCreate, 2000)(stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&buffer, 4096) == CUDA_SUCCESS);
    }
    void launch(const char* kernel, CUstream stream, CUdeviceptr to, unsigned value = 1,
                unsigned threads = 1) const {
        CUfunction function = nullptr;
        REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module_, kernel) == CUDA_SUCCESS);
        void* parameters[] = {&to, &value};
        REQUIRE(CU(cuLaunchKernel, 4000)(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters,
                                         nullptr) == CUDA_SUCCESS);
    }
    void fill(CUstream stream, std::size_t bytes, unsigned char value = 7) const {
        REQUIRE(CU(cuMemsetD8Async, 3020)(buffer, value, bytes, stream) == CUDA_SUCCESS);
    }
    CUgraphNode add_fill(CUgraph graph, const std::vector<CUgraphNode>& after,
                         unsigned value) const {
        CUDA_MEMSET_NODE_PARAMS fill{buffer, 0, value, 1, 64, 1};
        CUgraphNode node = nullptr;
        REQUIRE(CU(cuGraphAddMemsetNode, 10000)(&node, graph, after.data(), after.size(), &fill,
                                                current_.native()) == CUDA_SUCCESS);
        return node;
    }
    /// Waits for all; the headline of the last finding, or nothing.
    [[nodiscard]] std::string finding() const {
        const CUresult result = CU(cuCtxSynchronize, 2000)();
        std::string report = machine_.take_report();
        CHECK((result == CUDA_SUCCESS) == report.empty());
        text = report;
        return report.substr(0, report.find('\n'));
    }

    CUstream one = nullptr;
    CUstream other = nullptr;
    CUdeviceptr buffer = 0;
    mutable std::string text;

private:
    const lode::test::Variable checks_{"LODE_EMULATOR_CHECK", "memory,streams"};
    const Machine machine_;
    const Current current_;
    CUmodule module_ = nullptr;
};

CUgraph new_graph() {
    CUgraph graph = nullptr;
    REQUIRE(CU(cuGraphCreate, 10000)(&graph, 0) == CUDA_SUCCESS);
    return graph;
}

CUgraphExec launch_graph(CUgraph graph, CUstream stream) {
    CUgraphExec exec = nullptr;
    REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, graph, 0) == CUDA_SUCCESS);
    REQUIRE(CU(cuGraphLaunch, 10000)(exec, stream) == CUDA_SUCCESS);
    return exec;
}

}  // namespace

TEST_CASE("stream order: a finding names both operations, their calls and the allocation") {
    const Rig rig;
    rig.launch("write", rig.one, rig.buffer + 8);
    REQUIRE(CU(cuStreamSynchronize, 2000)(nullptr) == CUDA_SUCCESS);  // Doesn't wait for it.
    rig.fill(rig.other, 100);
    const std::string headline = rig.finding();
    const bool fill_is_second =
        headline ==
        "a fill of 100 bytes writes 4 bytes that write writes, and nothing orders the two";
    const bool fill_is_first =
        headline ==
        "write writes 4 bytes that a fill of 100 bytes writes, and nothing orders the two";
    CHECK((fill_is_first || fill_is_second));
    CHECK(rig.text.find(": write, by cuLaunchKernel, driver call ") != std::string::npos);
    CHECK(rig.text.find(": a fill of 100 bytes, by cuMemsetD8Async, driver call ") !=
          std::string::npos);
    CHECK(rig.text.find("8 bytes into the allocation\n  allocation: 4096 bytes of device memory") !=
          std::string::npos);
    CHECK(rig.text.ends_with(
        "order: record an event after the first, and let the second's stream wait for it"));
}

TEST_CASE("stream order: an event, a wait of the host and the default stream order operations") {
    const Rig rig;
    CUevent event = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&event, 0) == CUDA_SUCCESS);
    rig.fill(rig.one, 64);
    SUBCASE("event") {
        REQUIRE(CU(cuEventRecord, 2000)(event, rig.one) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamWaitEvent, 3020)(rig.other, event, 0) == CUDA_SUCCESS);
        rig.launch("read", rig.other, rig.buffer);
        CHECK(rig.finding().empty());
    }
    SUBCASE("an event before the operation doesn't") {
        REQUIRE(CU(cuEventRecord, 2000)(event, rig.other) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamWaitEvent, 3020)(rig.one, event, 0) == CUDA_SUCCESS);
        rig.launch("read", rig.other, rig.buffer);
        CHECK_FALSE(rig.finding().empty());
    }
    SUBCASE("host") {
        REQUIRE(CU(cuStreamSynchronize, 2000)(rig.one) == CUDA_SUCCESS);
        rig.launch("read", rig.other, rig.buffer);
        CHECK(rig.finding().empty());
    }
    SUBCASE("query") {
        while (CU(cuStreamQuery, 2000)(rig.one) == CUDA_ERROR_NOT_READY)
            std::this_thread::yield();
        rig.launch("read", rig.other, rig.buffer);
        CHECK(rig.finding().empty());
    }
    SUBCASE("a fill of device memory, for which the driver doesn't promise to wait") {
        const CUdeviceptr there = rig.buffer + 1024;
        REQUIRE(CU(cuMemsetD8, 3020)(there, 1, 64) == CUDA_SUCCESS);
        rig.launch("read", rig.other, there);
        CHECK_FALSE(rig.finding().empty());
    }
    SUBCASE("a copy to the host") {
        std::byte bytes[64];
        const CUdeviceptr there = rig.buffer + 1024;
        REQUIRE(CU(cuMemcpyDtoH, 3020)(bytes, there, 64) == CUDA_SUCCESS);
        rig.launch("write", rig.other, there);
        CHECK(rig.finding().empty());
    }
    SUBCASE("the default stream doesn't order non-blocking streams") {
        rig.launch("read", nullptr, rig.buffer);
        CHECK_FALSE(rig.finding().empty());
    }
    SUBCASE("the default stream orders blocking streams") {
        CUstream blocking = nullptr;
        REQUIRE(CU(cuStreamCreate, 2000)(&blocking, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
        const CUdeviceptr there = rig.buffer + 1024;
        rig.launch("write", blocking, there);
        rig.launch("write", nullptr, there, 2);
        rig.launch("write", blocking, there, 3);
        REQUIRE(CU(cuStreamDestroy, 4000)(blocking) == CUDA_SUCCESS);
        rig.launch("write", nullptr, there, 4);
        CHECK(rig.finding().empty());
    }
    SUBCASE("a host function may tell the host") {
        static std::atomic<bool> told;
        told = false;
        const auto tell = [](void*) { told = true; };
        REQUIRE(CU(cuLaunchHostFunc, 10000)(rig.one, tell, nullptr) == CUDA_SUCCESS);
        while (!told)
            std::this_thread::yield();
        rig.launch("read", rig.other, rig.buffer);
        CHECK(rig.finding().empty());
    }
}

TEST_CASE("stream order: only what touches the same bytes, and not by atomics, is a finding") {
    const Rig rig;
    SUBCASE("reads") {
        rig.launch("read", rig.one, rig.buffer);
        rig.launch("read", rig.other, rig.buffer);
        CHECK(rig.finding().empty());
    }
    SUBCASE("words in turn") {
        rig.launch("every_second", rig.one, rig.buffer, 0, 64);
        rig.launch("every_second", rig.other, rig.buffer, 1, 64);
        CHECK(rig.finding().empty());
    }
    SUBCASE("the same words") {
        rig.launch("every_second", rig.one, rig.buffer, 0, 64);
        rig.fill(rig.other, 512);
        CHECK_FALSE(rig.finding().empty());
    }
    SUBCASE("atomics") {
        rig.launch("count", rig.one, rig.buffer);
        rig.launch("count", rig.other, rig.buffer);
        CHECK(rig.finding().empty());
    }
    SUBCASE("an atomic and a plain read") {
        rig.launch("count", rig.one, rig.buffer);
        rig.launch("read", rig.other, rig.buffer);
        CHECK_FALSE(rig.finding().empty());
    }
    SUBCASE("a value that is there already") {
        rig.launch("write", rig.one, rig.buffer, 5);
        rig.launch("write", rig.other, rig.buffer, 5);
        CHECK(rig.finding().empty());
    }
    SUBCASE("kernels that pass a flag") {
        rig.launch("send", rig.one, rig.buffer);
        rig.launch("receive", rig.other, rig.buffer);
        // Where the receiver ran first, it read the flag too early.
        CHECK((rig.finding().empty() || rig.text.starts_with("send writes")));
    }
}

TEST_CASE("stream order: the edges of a graph order its nodes") {
    const Rig rig;
    CUgraph graph = new_graph();
    const CUgraphNode first = rig.add_fill(graph, {}, 1);
    SUBCASE("an edge") {
        rig.add_fill(graph, {first}, 2);
        launch_graph(graph, rig.one);
        CHECK(rig.finding().empty());
    }
    SUBCASE("no edge") {
        rig.add_fill(graph, {}, 2);
        launch_graph(graph, rig.one);
        CHECK(rig.finding() ==
              "a fill of 64 bytes writes 64 bytes that a fill of 64 bytes writes, and nothing "
              "orders the two");
        CHECK(rig.text.ends_with("order: add an edge between the two nodes"));
    }
    SUBCASE("a path") {
        CUgraphNode empty = nullptr;
        REQUIRE(CU(cuGraphAddEmptyNode, 10000)(&empty, graph, &first, 1) == CUDA_SUCCESS);
        rig.add_fill(graph, {empty}, 2);
        launch_graph(graph, rig.one);
        CHECK(rig.finding().empty());
    }
    SUBCASE("a child graph") {
        CUgraph child = new_graph();
        rig.add_fill(child, {}, 2);
        CUgraphNode node = nullptr;
        bool ordered = false;
        SUBCASE("after the node") {
            ordered = true;
        }
        SUBCASE("beside the node") {}
        REQUIRE(CU(cuGraphAddChildGraphNode, 10000)(&node, graph, &first, ordered ? 1 : 0, child) ==
                CUDA_SUCCESS);
        launch_graph(graph, rig.one);
        CHECK(rig.finding().empty() == ordered);
    }
    SUBCASE("launches of one graph in two streams") {
        CUgraphExec exec = launch_graph(graph, rig.one);
        REQUIRE(CU(cuGraphLaunch, 10000)(exec, rig.other) == CUDA_SUCCESS);
        CHECK(rig.finding().empty());
    }
    SUBCASE("launches of two graphs in two streams") {
        CUgraph second = new_graph();
        rig.add_fill(second, {}, 3);
        launch_graph(graph, rig.one);
        launch_graph(second, rig.other);
        CHECK_FALSE(rig.finding().empty());
    }
}

TEST_CASE("stream order: memory of a stream may be used after its allocation and before its free") {
    const Rig rig;
    CUdeviceptr made = 0;
    REQUIRE(CU(cuMemAllocAsync, 11020)(&made, 256, rig.one) == CUDA_SUCCESS);
    SUBCASE("in its stream") {
        rig.launch("write", rig.one, made);
        REQUIRE(CU(cuMemFreeAsync, 11020)(made, rig.one) == CUDA_SUCCESS);
        CHECK(rig.finding().empty());
    }
    SUBCASE("too early in another") {
        rig.launch("write", rig.other, made);
        CHECK(rig.finding().find("allocates") != std::string::npos);
    }
    SUBCASE("freed in another") {
        REQUIRE(CU(cuStreamSynchronize, 2000)(rig.one) == CUDA_SUCCESS);
        rig.launch("write", rig.one, made);
        REQUIRE(CU(cuStreamSynchronize, 2000)(rig.other) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemFreeAsync, 11020)(made, rig.other) == CUDA_SUCCESS);
        CHECK_FALSE(rig.finding().empty());
    }
}

TEST_CASE("stream order: a finding of the log alone doesn't fail the context") {
    const lode::test::Variable findings("LODE_EMULATOR_FINDINGS", "log");
    const Rig rig;
    rig.launch("write", rig.one, rig.buffer, 1);
    rig.launch("write", rig.other, rig.buffer, 2);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
}

}  // namespace lode::emulator_test::stream_order
