// lode_emulator_set_lines: the lines of code that is loaded without come from PTX that is the same
// code with line information, which is asked for only when a place has to be named.
#include "tests/support/text.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

using namespace lode::emulator_test;
using lode::test::contains;
using lode::test::Variable;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view sm_90_head = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Kernels with an error each. A line that begins with '#' becomes a .loc, or isn't there.
constexpr std::string_view code = R"(
.extern .func (.param .b64 result) malloc (.param .b64 size);
.func helper(.param .b64 to)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    # 1 5 3
    st.global.u32 [%rd1], 1;
    ret;
}
.visible .entry faults(.param .u64 to)
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 64;
    # 1 12 3
    # 2 33 7, function_name $name, inlined_at 1 12 3
    st.global.u32 [%rd1], 1;
    ret;
}
.visible .entry calls(.param .u64 to)
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 64;
    # 1 20 3
    { .param .b64 a; st.param.b64 [a], %rd1; call.uni helper, (a); }
    ret;
}
.visible .entry races(.param .u64 to)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    .shared .align 4 .b8 buffer[132];
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, buffer;
    add.u32 %r2, %r2, %r3;
    # 1 42 3
    st.shared.u32 [%r2], %r1;
    # 1 43 3
    ld.shared.u32 %r4, [%r2+4];
    st.global.u32 [%rd1], %r4;
    ret;
}
.visible .entry unwritten(.param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .shared .align 4 .b8 other[4];
    ld.param.u64 %rd1, [to];
    # 1 52 3
    ld.shared.u32 %r1, [other];
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry diverges(.param .u64 to)
{
    .reg .b32 %r<3>;
    .reg .pred %p<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 16;
    # 1 61 3
    @%p1 bar.sync 0;
    st.global.u32 [%rd1], 7;
    ret;
}
.visible .entry traps(.param .u64 to)
{
    # 1 71 3
    trap;
}
.visible .entry spins(.param .u64 to)
{
    # 1 81 3
LOOP:
    bra LOOP;
}
.visible .entry waits(.param .u64 to)
{
    # 1 85 3
    barrier.sync 1, 64;
    ret;
}
.visible .entry allocates(.param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 16;
    # 1 91 3
    { .param .b64 s; .param .b64 p; st.param.b64 [s], %rd1; call.uni (p), malloc, (s);
      ld.param.b64 %rd1, [p]; }
    # 1 92 3
    st.u32 [%rd1+16], 1;
    ret;
}
.visible .entry refused(.param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    # 1 95 3
    sured.b.add.1d.u32.trap [%rd1, {%r1}], %r1;
    ret;
}
.visible .entry fine(.param .u64 to)
{
    # 1 99 3
    ret;
}
)";

std::string made(bool has_lines, std::string_view text = code, std::string_view file = "made.cu") {
    std::istringstream lines{std::string(text)};
    std::string result(sm_90_head);
    for (std::string line; std::getline(lines, line);) {
        const auto mark = line.find('#');
        if (mark == line.npos) result += line + '\n';
        if (mark != line.npos && has_lines) result += "    .loc" + line.substr(mark + 1) + '\n';
    }
    if (!has_lines) return result;
    return result + fmt::format(
                        ".file 1 \"{}\"\n.file 2 \"header.cuh\"\n"
                        ".section .debug_str\n{{\n$name:\n.b8 102\n.b8 0\n}}\n",
                        file);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
}

auto* set_lines() {
    return control<decltype(lode_emulator_set_lines)>("lode_emulator_set_lines");
}

/// A library, loaded without lines, whose hook gives `texts`.
struct Bench {
    explicit Bench(std::vector<std::string> its_texts, const std::string& loaded = made(false))
        : texts(std::move(its_texts)) {
        REQUIRE(CU(cuLibraryLoadData, 12000)(&library, loaded.c_str(), nullptr, nullptr, 0, nullptr,
                                             nullptr, 0) == CUDA_SUCCESS);
        REQUIRE(set_lines()(library, give, this) == 0);
        REQUIRE(CU(cuMemAlloc, 3020)(&memory, 128) == CUDA_SUCCESS);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;
    ~Bench() {
        if (library != nullptr) set_lines()(library, nullptr, nullptr);
    }

    /// Launches a kernel whose report waits for lines, calls `end` meanwhile, and returns whether
    /// that waits until the hook has ended.
    [[nodiscard]] bool waits(const char* kernel, const std::function<void()>& end) {
        std::atomic<bool> may_end{false};
        std::atomic<bool> has_ended{false};
        on_ask = [&] { may_end.wait(false); };
        REQUIRE(launch(kernel) == CUDA_SUCCESS);
        while (asked == 0)
            std::this_thread::sleep_for(1ms);
        std::thread other([&] {
            end();
            has_ended = true;
        });
        std::this_thread::sleep_for(50ms);
        const bool has_waited = !has_ended;
        may_end = true;
        may_end.notify_all();
        other.join();
        return has_waited;
    }

    static void give(void* user, lode_emulator_take_lines take, void* to) {
        auto& bench = *static_cast<Bench*>(user);
        ++bench.asked;
        if (bench.on_ask) bench.on_ask();
        for (const std::string& text : bench.texts)
            take(to, text.data(), text.size());
    }
    [[nodiscard]] CUresult launch(const char* name) const {
        CUkernel kernel = nullptr;
        if (const CUresult found = CU(cuLibraryGetKernel, 12000)(&kernel, library, name);
            found != CUDA_SUCCESS)
            return found;
        CUdeviceptr to = memory;
        void* arguments[] = {&to};
        return CU(cuLaunchKernel, 4000)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0,
                                        nullptr, arguments, nullptr);
    }
    [[nodiscard]] CUresult run(const char* name) const {
        if (const CUresult launched = launch(name); launched != CUDA_SUCCESS) return launched;
        return CU(cuCtxSynchronize, 2000)();
    }

    std::vector<std::string> texts;
    std::function<void()> on_ask;
    std::atomic<int> asked{0};
    CUlibrary library = nullptr;
    CUdeviceptr memory = 0;
};

}  // namespace

TEST_CASE("emulator lines: every kind of report has the lines that the hook gives, asked once") {
    const Variable checks("LODE_EMULATOR_CHECK", "all");
    const Variable timeout("LODE_EMULATOR_TIMEOUT", "300");
    struct Row {
        const char* kernel;
        const char* place;
    };
    const Row rows[] = {
        {"faults", "header.cuh:33: faults writes "},
        {"calls", "made.cu:5: calls writes "},
        {"races", "made.cu:43: races reads "},
        {"unwritten", "made.cu:52: unwritten reads "},
        {"diverges", "made.cu:61: diverges waits "},
        {"traps", "made.cu:71: traps executes a trap"},
        {"spins", "made.cu:81: spins runs longer "},
        {"waits", "made.cu:85: waits is deadlocked"},
        {"allocates", "made.cu:92: allocates writes "},
        {"refused", "(made.cu:95, PTX line "},
    };
    for (const auto& [kernel, place] : rows) {
        CAPTURE(std::string(kernel));
        const Machine machine;
        const Current scope;
        const Bench bench({made(true)});
        CHECK(bench.run("fine") == CUDA_SUCCESS);
        CHECK(bench.asked == 0);
        CHECK(bench.run(kernel) != CUDA_SUCCESS);
        const std::string report = machine.take_report();
        CAPTURE(report);
        CHECK(contains(report, place));
        CHECK(bench.asked == 1);
        if (std::string_view(kernel) == "faults")
            CHECK(contains(report, "\n  inlined at: made.cu:12"));
        if (std::string_view(kernel) == "calls") CHECK(contains(report, " in function helper, "));
        if (std::string_view(kernel) == "races") CHECK(contains(report, " at made.cu:42"));
        if (std::string_view(kernel) == "allocates")
            CHECK(contains(report, "(malloc in kernel allocates, made.cu:91)"));
    }
}

TEST_CASE(
    "emulator lines: code with lines keeps its own, and PTX lines are those of the loaded text") {
    for (const bool has_lines : {false, true}) {
        const Machine machine;
        const Current scope;
        const std::string loaded = made(has_lines);
        const Bench bench({made(true, code, "other.cu")}, loaded);
        CHECK(bench.run("traps") != CUDA_SUCCESS);
        const auto line = std::ranges::count(loaded.substr(0, loaded.find("trap;")), '\n') + 1;
        const std::string report = machine.take_report();
        CHECK(report.starts_with(fmt::format("{}.cu:71: traps ", has_lines ? "made" : "other")));
        CHECK(contains(report, fmt::format("\n  code: trap, PTX line {}", line)));
        CHECK(bench.asked == (has_lines ? 0 : 1));
    }
}

TEST_CASE("emulator lines: code that isn't the loaded code gives no lines") {
    const std::string lines = made(true);
    struct Row {
        const char* why;
        std::vector<std::string> texts;
    };
    const Row rows[] = {
        {"nothing", {}},
        {"no PTX", {"this isn't PTX"}},
        {"no lines", {made(false)}},
        {"another constant", {replaced(lines, "mov.u64 %rd1, 64;", "mov.u64 %rd1, 72;")}},
        {"another opcode", {replaced(lines, "mov.u64 %rd1, 64;", "mov.b64 %rd1, 64;")}},
        {"one more instruction",
         {replaced(lines, "mov.u64 %rd1, 64;", "mov.u64 %rd1, 64;\nmov.u64 %rd1, 64;")}},
        {"another name", {replaced(lines, "entry faults", "entry other")}},
        {"two files with the same code", {lines, made(true, code, "another.cu")}},
    };
    for (const Row& row : rows) {
        CAPTURE(std::string(row.why));
        const Machine machine;
        const Current scope;
        const Bench bench(row.texts);
        CHECK(bench.run("faults") == CUDA_ERROR_ILLEGAL_ADDRESS);
        const std::string report = machine.take_report();
        CAPTURE(report);
        CHECK(report.starts_with("PTX line "));
        CHECK_FALSE(contains(report, ".cu"));
        CHECK(bench.asked == 1);
    }
    // The other functions have theirs.
    const Machine machine;
    const Current scope;
    const Bench bench({"no PTX", replaced(lines, "mov.u64 %rd1, 64;", "mov.u64 %rd1, 72;"), lines});
    CHECK(bench.run("calls") == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(contains(machine.take_report(), "made.cu:5: calls writes "));
}

TEST_CASE("emulator lines: linked code has the lines of its inputs, whatever a link renames") {
    constexpr std::string_view unit = R"(
.func helper(.param .b64 to)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    # 1 5 3
    st.global.u32 [%rd1+OFFSET], 1;
    ret;
}
.visible .entry KERNEL(.param .u64 to)
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 64;
    # 1 20 3
    { .param .b64 a; st.param.b64 [a], %rd1; call.uni helper, (a); }
    # 1 21 3
    trap;
}
)";
    const auto unit_with = [&](const char* kernel, const char* offset) {
        return replaced(replaced(std::string(unit), "KERNEL", kernel), "OFFSET", offset);
    };
    const std::string units[] = {unit_with("one", "0"), unit_with("two", "8")};
    const Machine machine;
    const Current scope;
    CUlinkState link = nullptr;
    REQUIRE(CU(cuLinkCreate, 6050)(0, nullptr, nullptr, &link) == CUDA_SUCCESS);
    for (const std::string& text : units) {
        std::string plain = made(false, text);
        REQUIRE(CU(cuLinkAddData, 6050)(link, CU_JIT_INPUT_PTX, plain.data(), plain.size() + 1,
                                        "unit", 0, nullptr, nullptr) == CUDA_SUCCESS);
    }
    void* linked = nullptr;
    size_t size = 0;
    REQUIRE(CU(cuLinkComplete, 5050)(link, &linked, &size) == CUDA_SUCCESS);
    const std::string loaded(static_cast<const char*>(linked));
    REQUIRE(contains(loaded, "helper__1"));
    const Bench bench({made(true, units[0], "one.cu"), made(true, units[1], "two.cu")}, loaded);
    CHECK(bench.run("two") == CUDA_ERROR_ILLEGAL_ADDRESS);
    const std::string report = machine.take_report();
    CHECK_MESSAGE(contains(report, "two.cu:5: two writes "), report);
    REQUIRE(CU(cuLinkDestroy, 5050)(link) == CUDA_SUCCESS);
}

TEST_CASE("emulator lines: removing the hook and unloading the library wait while it runs") {
    const Machine machine;
    const Current scope;
    Bench bench({made(true)});
    SUBCASE("NULL") {
        CHECK(bench.waits("traps",
                          [&] { CHECK(set_lines()(bench.library, nullptr, nullptr) == 0); }));
    }
    SUBCASE("unloading") {
        CHECK(bench.waits(
            "traps", [&] { CHECK(CU(cuLibraryUnload, 12000)(bench.library) == CUDA_SUCCESS); }));
        CHECK(set_lines()(bench.library, nullptr, nullptr) == -1);
        bench.library = nullptr;
    }
    CHECK(CU(cuCtxSynchronize, 2000)() != CUDA_SUCCESS);
    CHECK(contains(machine.take_report(), "made.cu:71"));
}

TEST_CASE("emulator lines: nobody is asked after the hook is removed") {
    const Machine machine;
    const Current scope;
    const Bench bench({made(true)});
    REQUIRE(set_lines()(bench.library, nullptr, nullptr) == 0);
    CHECK(bench.run("faults") == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(bench.asked == 0);
}

TEST_CASE("emulator lines: the time that lines take isn't the kernel's") {
    const Variable checks("LODE_EMULATOR_CHECK", "init");
    const Variable findings("LODE_EMULATOR_FINDINGS", "log");
    const Variable timeout("LODE_EMULATOR_TIMEOUT", "400");
    // It reads what nothing has written, and then gives up its turn a few times.
    const std::string body = R"(
.visible .entry long_one(.param .u64 to)
{
    .reg .b32 %r<3>;
    .reg .pred %p<2>;
    .shared .align 4 .b8 other[4];
    # 1 8 3
    ld.shared.u32 %r1, [other];
    mov.u32 %r2, 0;
LOOP:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 100000;
    @%p1 bra LOOP;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 trap;
    ret;
}
)";
    const Machine machine;
    const Current scope;
    Bench bench({made(true, body)}, made(false, body));
    bench.on_ask = [] { std::this_thread::sleep_for(800ms); };
    CHECK(bench.run("long_one") == CUDA_SUCCESS);
    CHECK(bench.asked == 1);
    CHECK(contains(machine.log(), "made.cu:8"));
}
