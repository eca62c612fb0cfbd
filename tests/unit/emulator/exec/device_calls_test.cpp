// Launches by kernels, without a driver: the executor's side of the device runtime, in both tiers.
#include "tests/unit/emulator/exec/support.hpp"

#include <deque>
#include <numeric>

using namespace lode::emulator;
using namespace lode::emulator::exec;
using namespace lode::emulator::exec::testing;

namespace {

struct Queued {
    std::string kernel;
    GridShape shape;
    std::vector<std::byte> parameters;
};

/// Queues launches; everything else is an error.
class Queue final : public DeviceRuntime {
public:
    DeviceError check(std::string_view, const GridShape& shape) override {
        return shape.block.count() <= 1024 ? DeviceError::none : DeviceError::invalid_configuration;
    }
    DeviceError launch(std::string_view kernel, const GridShape& shape,
                       std::vector<std::byte> parameters, bool is_tail) override {
        (is_tail ? tails : works).push_back({std::string(kernel), shape, std::move(parameters)});
        return DeviceError::none;
    }
    DeviceError copy(exec::Rows, exec::Rows, std::uint64_t, std::uint64_t, bool) override {
        return none;
    }
    DeviceError fill(exec::Rows, std::uint8_t, std::uint64_t, std::uint64_t, bool) override {
        return none;
    }
    DeviceError limit(std::uint32_t, std::uint64_t&) override { return none; }
    DeviceError attribute(std::uint32_t, int, int&) override { return none; }
    DeviceError occupancy(std::string_view, int, std::uint64_t, int&) override { return none; }
    DeviceError attributes(std::string_view, std::vector<std::byte>&) override { return none; }
    int cache_config() override { return 0; }
    int device() override { return 0; }
    int device_count() override { return 1; }
    int version() override { return 0; }
    std::string error_text(int, bool) override { return {}; }

    std::deque<Queued> works, tails;

private:
    static constexpr DeviceError none = DeviceError::not_supported;
};

/// Adds n numbers to `to`: a warp adds up to 2048, more are for two children.
constexpr const char* sum = R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f,
    .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
.extern .func (.param .b32 r) __cudaCDP2GetLastError();
.visible .entry sum(.param .u64 from, .param .u32 n, .param .u64 to, .param .u32 threads)
{
    .reg .pred %leaf, %more, %others;
    .reg .b32 %n, %i, %part, %x, %threads, %error, %k;
    .reg .b64 %from, %to, %at, %kernel, %buffer, %offset;
    .param .b64 f;
    .param .align 4 .b8 g[12];
    .param .align 4 .b8 b[12];
    .param .b32 s;
    .param .b64 p;
    .param .b64 stream;
    .param .b64 r;
    .param .b32 e;
    ld.param.u64 %from, [from];
    ld.param.u32 %n, [n];
    ld.param.u64 %to, [to];
    ld.param.u32 %threads, [threads];
    mov.u32 %i, %tid.x;
    setp.le.u32 %leaf, %n, 2048;
    @%leaf bra LEAF;
    setp.ne.u32 %others, %i, 0;
    @%others bra DONE;
    shr.u32 %n, %n, 1;
    mov.u64 %kernel, sum;
    mov.u32 %k, 0;
CHILD:
    st.param.b64 [f], %kernel;
    st.param.b32 [g], 1;
    st.param.b32 [g+4], 1;
    st.param.b32 [g+8], 1;
    st.param.b32 [b], %threads;
    st.param.b32 [b+4], 1;
    st.param.b32 [b+8], 1;
    st.param.b32 [s], 0;
    call.uni (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s);
    ld.param.b64 %buffer, [r];
    setp.eq.u64 %others, %buffer, 0;
    @%others bra FAILED;
    st.u64 [%buffer], %from;
    st.u32 [%buffer+8], %n;
    st.u64 [%buffer+16], %to;
    st.u32 [%buffer+24], %threads;
    st.param.b64 [p], %buffer;
    st.param.b64 [stream], 4;
    call.uni (e), __cudaCDP2LaunchDeviceV2, (p, stream);
    mul.wide.u32 %offset, %n, 4;
    add.u64 %from, %from, %offset;
    add.u32 %k, %k, 1;
    setp.lt.u32 %more, %k, 2;
    @%more bra CHILD;
    bra DONE;
FAILED:
    call.uni (e), __cudaCDP2GetLastError, ();
    ld.param.b32 %error, [e];
    st.global.u32 [%to], %error;
    bra DONE;
LEAF:
    mov.u32 %part, 0;
    mul.wide.u32 %offset, %i, 4;
    add.u64 %at, %from, %offset;
LOOP:
    ld.global.u32 %x, [%at];
    add.u32 %part, %part, %x;
    add.u64 %at, %at, 128;
    add.u32 %i, %i, 32;
    setp.lt.u32 %more, %i, %n;
    @%more bra LOOP;
    red.global.add.u32 [%to], %part;
DONE:
    ret;
}
)";

/// The sum by kernels of so many threads, the number of children, and the instructions.
struct Sum {
    std::uint32_t value = 0;
    std::size_t children = 0;
    std::uint64_t instructions = 0;
};

Sum run_sum(const std::vector<std::uint32_t>& numbers, std::uint32_t threads,
            std::uint32_t compile_after, const Checks& checks) {
    Rig rig;
    Queue queue;
    rig.options.compile_after = compile_after;
    rig.options.checks = checks;
    rig.options.device_runtime = &queue;
    std::string findings;
    rig.options.finding = [&](std::string_view found) { findings += found; };
    REQUIRE(rig.memory.watch_writes());
    const auto module = rig.load(sum);
    const auto from = rig.put(numbers);
    const auto to = rig.put(std::vector<std::uint32_t>(1));
    const auto living = rig.memory.living().size();
    Sum made;
    auto outcome = rig.run(*module, "sum", {1}, {32}, from,
                           static_cast<std::uint32_t>(numbers.size()), to, threads);
    while (true) {
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        made.instructions += outcome.warp_instructions;
        CHECK(rig.memory.living().size() == living);  // Parameter buffers are gone.
        if (queue.works.empty()) break;
        const Queued next = std::move(queue.works.front());
        queue.works.pop_front();
        ++made.children;
        outcome =
            rig.machine.launch(*module, next.kernel, next.shape, next.parameters, rig.options);
    }
    CHECK(queue.tails.empty());
    CHECK(findings.empty());
    made.value = rig.get<std::uint32_t>(to, 1).front();
    return made;
}

}  // namespace

TEST_CASE("device calls: a sum of halves is the host's in both tiers, with and without checks") {
    std::vector<std::uint32_t> numbers(1 << 16);
    std::iota(numbers.begin(), numbers.end(), 12345u);
    const std::uint32_t expected = std::accumulate(numbers.begin(), numbers.end(), 0u);
    std::uint64_t instructions = 0;
    for (const bool checked : {false, true}) {
        for (const std::uint32_t compile_after : {0u, 1u}) {
            CAPTURE(checked);
            CAPTURE(compile_after);
            const Sum made = run_sum(numbers, 32, compile_after,
                                     {.race = checked, .init = checked, .sync = checked});
            CHECK(made.value == expected);
            CHECK(made.children == 62);
            if (instructions == 0) instructions = made.instructions;
            CHECK(made.instructions == instructions);
        }
    }
}

TEST_CASE("device calls: a shape that is refused gives no buffer, and the thread has the error") {
    const std::vector<std::uint32_t> numbers(4096);
    const Sum made = run_sum(numbers, 2048, 0, {});
    CHECK(made.value == static_cast<std::uint32_t>(DeviceError::invalid_configuration));
    CHECK(made.children == 0);
}

TEST_CASE("device calls: without a driver they are refused") {
    Rig rig;
    const auto module = rig.load(sum);
    const auto from = rig.put(std::vector<std::uint32_t>(4096));
    const auto outcome = rig.run(*module, "sum", {1}, {32}, from, 4096u, from, 32u);
    CHECK(outcome.fault == Fault::refused);
    CHECK(outcome.report.find("sum calls the device runtime without a driver") !=
          std::string::npos);
}
