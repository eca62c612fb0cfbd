#include "base/try.hpp"
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/lode.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::emulator_test;

namespace {

/// stop(condition, x): adds 1 to the number at x, and sets the condition to 0.
constexpr const char* stop_ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 condition, .param .b32 value);
.visible .entry stop(.param .u64 condition, .param .u64 x) {
    .reg .b64 %c; .reg .b64 %x; .reg .b32 %n;
    ld.param.u64 %c, [condition];
    ld.param.u64 %x, [x];
    cvta.to.global.u64 %x, %x;
    ld.global.u32 %n, [%x];
    add.u32 %n, %n, 1;
    st.global.u32 [%x], %n;
    { .param .b64 p0; st.param.b64 [p0], %c; .param .b32 p1; st.param.b32 [p1], 0;
      call.uni cudaGraphSetConditional, (p0, p1); }
    ret;
}
)";

/// Uses every kind of node and a capture once; gives the number that the nodes count.
Result<std::vector<int>> use_graphs() {
    LODE_TRY_ASSIGN(const auto runtime,
                    Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
    LODE_TRY_ASSIGN(const auto device, runtime.device(0));
    LODE_TRY_ASSIGN(const auto stream, device.create_stream());
    LODE_TRY_ASSIGN(const auto event, device.create_event());
    LODE_TRY_ASSIGN(auto x, device.alloc<int>(1));
    LODE_TRY(x.zero());
    using Signature = void(NativeGraphCondition, int*);
    LODE_TRY_ASSIGN(const auto stop, device.load<Signature>(Source::ptx(stop_ptx), "stop"));

    LODE_TRY_ASSIGN(auto graph, Graph::create(device));
    LODE_TRY_ASSIGN(const auto condition, graph.add_condition(1));
    LODE_TRY_ASSIGN(const auto made, graph.add_alloc<int>({}, 1));
    LODE_TRY_ASSIGN(const auto copied, graph.add_copy({made.node}, made.memory, x.span()));
    LODE_TRY_ASSIGN(auto loop, graph.add_while({copied}, condition));
    LODE_TRY(loop.bodies[0].add_kernel({}, stop, LaunchShape{}, condition, made.memory));
    LODE_TRY_ASSIGN(const auto read, graph.add_copy({loop.node}, x.span(), made.memory));
    LODE_TRY(graph.add_free({read}, made.memory));
    LODE_TRY_ASSIGN(const auto recorded, graph.add_record({read}, event));
    LODE_TRY_ASSIGN(const auto waits, graph.add_wait({recorded}, event));
    LODE_TRY_ASSIGN(const auto called, graph.add_host_function({}, [] {}));
    LODE_TRY(graph.add_dependency(called, waits));
    LODE_TRY(graph.nodes());
    LODE_TRY_ASSIGN(auto exec, graph.instantiate());
    LODE_TRY(exec.upload(stream));
    LODE_TRY(exec.launch(stream));
    LODE_TRY(stream.sync());

    LODE_TRY_ASSIGN(auto capture, Capture::begin(stream));
    {
        LODE_TRY_ASSIGN(auto inside, AsyncBuffer<int>::allocate(device, stream, 1));
        LODE_TRY(inside.span().fill_async(stream, 5));
        LODE_TRY(x.copy_from_async(stream, inside.span()));
    }
    LODE_TRY_ASSIGN(const auto captured, capture.finish());
    LODE_TRY_ASSIGN(const auto replay, captured.instantiate());
    LODE_TRY(replay.launch(stream));
    LODE_TRY(exec.launch(stream));
    LODE_TRY(stream.sync());
    return x.to_vector();
}

}  // namespace

TEST_CASE("graphs: whatever call fails, the error names it and nothing stays alive") {
    const auto fail_call = control<decltype(lode_emulator_fail_call)>("lode_emulator_fail_call");
    const auto failed_call =
        control<decltype(lode_emulator_failed_call)>("lode_emulator_failed_call");
    bool ended = false;
    int failures = 0;
    for (unsigned long n = 1; n < 1000 && !ended; ++n) {
        CAPTURE(n);
        reset();
        fail_call(n, 999);  // CUDA_ERROR_UNKNOWN
        const auto result = use_graphs();
        const char* const hit = failed_call();
        const std::string call = hit == nullptr ? "no call" : hit;
        CAPTURE(call);
        ended = hit == nullptr;
        if (ended) CHECK(require(result) == std::vector{6});
        // Without its context an object can't be released; it is freed with the context.
        const bool may_leak = call == "cuCtxPushCurrent";
        // A free that fails in a capture leaves the capture with memory that it doesn't free.
        if (!result && call != "cuMemFreeAsync" && !may_leak) {
            ++failures;
            CAPTURE(result.error().message);
            CHECK(result.error().message.find(call) != std::string::npos);
        }
        for (int kind = 0; kind < LODE_EMULATOR_KINDS && !may_leak; ++kind) {
            CAPTURE(kind);
            CHECK(live(kind) == 0);
        }
    }
    CHECK(ended);
    CHECK(failures > 40);
}
