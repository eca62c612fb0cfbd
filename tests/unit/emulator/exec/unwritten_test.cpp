// The map of written bytes, and the check in kernels that uses it.
#include "emulator/memory/written_bytes.hpp"
#include "tests/unit/emulator/exec/support.hpp"

#include <utility>

#include <fmt/format.h>

namespace lode::emulator::exec {

using testing::ptx_kernel;
using testing::Rig;

namespace {

/// '#' for a written byte, '.' for an unwritten one.
std::string map_of(const WrittenBytes& account, std::uint64_t from, std::size_t bytes) {
    std::string map;
    for (std::size_t k = 0; k < bytes; ++k)
        map += account.written(from + k) ? '#' : '.';
    return map;
}

/// A rig that collects the findings of the check for unwritten bytes.
struct Watched : Rig {
    explicit Watched(unsigned workers = 1) : Rig(workers) {
        REQUIRE(memory.watch_writes());
        options.checks.init = true;
        options.finding = [this](std::string_view text) { findings.emplace_back(text); };
    }
    std::uint64_t allocate(std::size_t bytes) {
        return memory.allocate(bytes, MemoryKind::device, "cuMemAlloc");
    }
    [[nodiscard]] std::string map(std::uint64_t from, std::size_t bytes) const {
        return map_of(*memory.written(), from, bytes);
    }

    std::vector<std::string> findings;
};

const char* const offset_of_thread =
    "ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;"
    "add.u64 %rd1, %rd1, %rd2;";

}  // namespace

TEST_CASE("written bytes: marks are kept byte by byte, across words") {
    const auto account = WrittenBytes::over(4096, 1 << 20);
    REQUIRE(account);
    account->mark(4096 + 60, 8);
    CHECK(map_of(*account, 4096 + 58, 12) == "..########..");
    account->unmark(4096 + 62, 3);
    CHECK(map_of(*account, 4096 + 58, 12) == "..##...###..");
    CHECK(account->unwritten(4096 + 58, 12) == 7);
    // Bytes outside the range count as written, also those of a range that is partly outside.
    CHECK(account->unwritten(0, 4096) == 0);
    CHECK(account->unwritten(4090, 12) == 6);
    account->mark(4096 + (1 << 20) - 2, 100);
    CHECK(account->unwritten(4096 + (1 << 20) - 4, 100) == 2);
}

TEST_CASE("written bytes: unmarking whole pages keeps the neighbouring marks") {
    const std::uint64_t first = 1 << 20;
    const auto account = WrittenBytes::over(first, 1 << 22);
    REQUIRE(account);
    account->mark(first, 1 << 22);
    account->unmark(first + 100, (1 << 22) - 300);
    CHECK(account->unwritten(first, 1 << 22) == (1 << 22) - 300);
    CHECK(account->unwritten(first, 100) == 0);
    CHECK(account->unwritten(first + (1 << 22) - 200, 200) == 0);
}

TEST_CASE("written bytes: copies carry marks along, also shifted, overlapping and from outside") {
    const std::uint64_t first = 1 << 20;
    for (const std::int64_t shift : {1000, 7, 64, 1, -1, -3, -64, -500}) {
        CAPTURE(shift);
        const auto account = WrittenBytes::over(first, 1 << 16);
        REQUIRE(account);
        const std::uint64_t from = first + 1000;
        for (std::uint64_t k = 0; k < 300; ++k) {
            if (k % 3 == 0 || (k > 100 && k < 200)) account->mark(from + k, 1);
        }
        const std::uint64_t to = from + static_cast<std::uint64_t>(shift);
        account->mark(to + 300, 1);
        const std::string before = map_of(*account, from, 300);
        account->copy(to, from, 300);
        CHECK(map_of(*account, to, 301) == before + '#');
    }
    const auto account = WrittenBytes::over(first, 1 << 16);
    account->copy(first + 5, 64, 100);
    CHECK(account->unwritten(first, 110) == 10);
}

TEST_CASE("memory: each kind starts written or unwritten, and recycled memory is unwritten") {
    Memory memory(std::size_t{1} << 28, std::size_t{1} << 20);
    CHECK(memory.written() == nullptr);
    REQUIRE(memory.watch_writes());
    const auto unwritten = [&](MemoryKind kind) {
        return memory.written()->unwritten(memory.allocate(100, kind, "some"), 100);
    };
    CHECK(unwritten(MemoryKind::device) == 100);
    CHECK(unwritten(MemoryKind::heap) == 100);
    CHECK(unwritten(MemoryKind::pinned) == 0);
    CHECK(unwritten(MemoryKind::managed) == 0);
    CHECK(unwritten(MemoryKind::module_data) == 0);
    for (int k = 0; k < 200; ++k) {
        const auto at = memory.allocate(100'000, MemoryKind::device, "again");
        REQUIRE(memory.written()->unwritten(at, 100'000) == 100'000);
        memory.note_write(at, 100'000);
        REQUIRE(memory.written()->unwritten(at, 100'000) == 0);
        REQUIRE(memory.free(at) == FreeOutcome::freed);
    }
    // Managed memory counts as written even after a copy of unwritten bytes.
    const auto managed = memory.allocate(64, MemoryKind::managed, "host's too");
    memory.note_copy(managed, memory.allocate(64, MemoryKind::device, "empty"), 64);
    CHECK(memory.written()->unwritten(managed, 64) == 0);
}

TEST_CASE("check: a read of unwritten device memory is reported with its place") {
    Watched rig;
    const auto module =
        rig.load(ptx_kernel(".param .u64 data", std::string(".loc 1 7 3\n") + offset_of_thread +
                                                    "\n.loc 1 8 3\nld.global.u32 %r2, [%rd1];") +
                 ".file 1 \"planted.cu\"\n");
    const auto data = rig.allocate(400);
    rig.memory.note_write(data, 40);
    auto outcome = rig.run(*module, "k", {3}, {10}, data);
    CHECK(outcome.fault == Fault::none);
    CHECK(outcome.findings == 0);
    // Two threads in each of two blocks read too far: every read is counted, one is reported.
    outcome = rig.run(*module, "k", {2}, {12}, data);
    CHECK(outcome.fault == Fault::none);
    CHECK(outcome.findings == 4);
    REQUIRE(rig.findings.size() == 1);
    INFO(rig.findings[0]);
    CHECK(rig.findings[0].starts_with(fmt::format(
        "planted.cu:8: k reads 4 bytes of a 400-byte allocation that nothing has written\n"
        "  address: 0x{0:x}, 40 bytes into it\n"
        "  allocation: 400 bytes of device memory at 0x{1:x} (cuMemAlloc)\n",
        data + 40, data)));
}

TEST_CASE("check: unwritten memory is tracked by the byte, also for vectors") {
    Watched rig;
    const auto data = rig.allocate(64);
    rig.memory.note_write(data, 14);
    const auto reads = [&](const char* load) {
        const auto module = rig.load(
            ptx_kernel(".param .u64 data", std::string("ld.param.u64 %rd1, [data];") + load));
        REQUIRE(rig.run(*module, "k", {1}, {1}, data).fault == Fault::none);
        return std::exchange(rig.findings, {});
    };
    CHECK(reads("ld.global.v2.u32 {%r1, %r2}, [%rd1];").empty());
    CHECK(reads("ld.global.u8 %r1, [%rd1+13];").empty());
    CHECK(reads("ld.global.u8 %r1, [%rd1+14];").size() == 1);
    const auto vector = reads("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];");
    REQUIRE(vector.size() == 1);
    CHECK(vector[0].find("reads 16 bytes") != std::string::npos);
    CHECK(vector[0].find(", 2 of them unwritten") != std::string::npos);
    // Generic addresses, and lanes disabled by a predicate.
    CHECK(reads("ld.u32 %r1, [%rd1+16];").size() == 1);
    CHECK(reads("setp.ne.u64 %p1, %rd1, %rd1; @%p1 ld.global.u32 %r1, [%rd1+16];").empty());
    // A prefetch isn't a read.
    CHECK(reads("cp.async.bulk.prefetch.L2.global [%rd1], 32;").empty());
}

TEST_CASE("check: stores, atomics and copies in kernels mark exactly the bytes that they write") {
    Watched rig;
    const auto after = [&](const std::string& body, std::size_t bytes = 16) {
        const auto data = rig.allocate(64);
        const auto module =
            rig.load(ptx_kernel(".param .u64 data", "ld.param.u64 %rd1, [data];" + body,
                                ".shared .align 16 .b8 buffer[64];\n"));
        const auto outcome = rig.run(*module, "k", {1}, {1}, data);
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        return rig.map(data, bytes);
    };
    CHECK(after("st.global.u8 [%rd1+2], %r1;") == "..#.............");
    CHECK(after("st.global.u32 [%rd1+4], %r1;") == "....####........");
    CHECK(after("st.u64 [%rd1+8], %rd2;") == "........########");
    CHECK(after("st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};") == "################");
    CHECK(after("st.global.u32 [%rd1+4], %r1;@%p1 st.global.u8 [%rd1], %r1;") ==
          "....####........");
    CHECK(rig.findings.empty());
    CHECK(after("red.global.add.u32 [%rd1+8], 1;") == "........####....");
    REQUIRE(rig.findings.size() == 1);
    CHECK(rig.findings[0].find("updates 4 bytes of a ") != std::string::npos);
    rig.findings.clear();
    CHECK(after("st.global.u32 [%rd1], 0; atom.global.add.u32 %r1, [%rd1], 1;"
                "ld.global.u32 %r1, [%rd1];") == "####............");
    CHECK(after("mov.u32 %r1, buffer; st.shared.v4.u32 [%r1], {%r2, %r2, %r2, %r2};"
                "st.shared.v4.u32 [%r1+16], {%r2, %r2, %r2, %r2};"
                "cp.async.bulk.global.shared::cta.bulk_group [%rd1+16], [%r1], 32;",
                64) == std::string(16, '.') + std::string(32, '#') + std::string(16, '.'));
    CHECK(rig.findings.empty());
}

TEST_CASE("check: a register that held unwritten bytes holds none after any other load") {
    // One instruction loads 8 bytes by the addresses in %rd4, first half unwritten ones.
    const std::string copy =
        "ld.param.u64 %rd1, [data]; ld.param.u64 %rd6, [out]; mov.u64 %rd4, %rd1; mov.u32 %r1, 0;"
        "turn: ld.u64 %rd5, [%rd4]; st.global.u64 [%rd6], %rd5; add.u64 %rd6, %rd6, 8;"
        "mov.u64 %rd4, %rd7; add.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 2; @%p1 bra turn;";
    const std::pair<const char*, std::string> rows[] = {
        {"mov.b64 %rd7, out; cvta.param.u64 %rd7, %rd7;", ""},
        {"mov.u64 %rd7, buffer; cvta.shared.u64 %rd7, %rd7; st.shared.u64 [buffer], 5;"
         "mov.u32 %r2, %cluster_ctarank; xor.b32 %r2, %r2, 1; mapa.u64 %rd7, %rd7, %r2;"
         "barrier.cluster.arrive; barrier.cluster.wait;",
         "barrier.cluster.arrive; barrier.cluster.wait;"}};
    for (const auto& [before, after] : rows) {
        Watched rig;
        std::string text = ptx_kernel(".param .u64 data, .param .u64 out", before + copy + after,
                                      ".shared .align 16 .b8 buffer[64];\n");
        const bool clusters = !after.empty();
        if (clusters)
            text.insert(text.find("\n{"), "\n.explicitcluster .reqnctapercluster 2, 1, 1");
        const auto module = rig.load(text);
        const auto data = rig.allocate(8);
        rig.memory.note_write(data, 4);
        const auto out = rig.allocate(16);
        const auto outcome = rig.run(*module, "k", {clusters ? 2u : 1u}, {1}, data, out);
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        CHECK(rig.findings.empty());
        CHECK(rig.map(out, 16) == "####....########");
    }
}

TEST_CASE("check: asynchronous copies read what they copy and no more") {
    Watched rig;
    const auto data = rig.allocate(64);
    rig.memory.note_write(data, 5);
    const auto findings = [&](const std::string& copy) {
        const auto module = rig.load(
            ptx_kernel(".param .u64 data", "ld.param.u64 %rd1, [data]; mov.u32 %r1, buffer;" + copy,
                       ".shared .align 16 .b8 buffer[64];\n"));
        const auto outcome = rig.run(*module, "k", {1}, {1}, data);
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        return std::exchange(rig.findings, {}).size();
    };
    CHECK(findings("cp.async.cg.shared.global [%r1], [%rd1], 16, 5;") == 0);
    CHECK(findings("cp.async.cg.shared.global [%r1], [%rd1], 16, 6;") == 1);
    CHECK(findings("cp.async.cg.shared.global [%r1], [%rd1], 16;") == 1);
    CHECK(findings("cp.async.ca.shared.global [%r1], [%rd1], 4;") == 0);
}

TEST_CASE("check: a kernel's heap starts unwritten") {
    const char* const body =
        "{ .param .u64 size; .param .u64 result; st.param.u64 [size], 64;"
        "call.uni (result), malloc, (size); ld.param.u64 %rd2, [result]; }";
    const char* const declared = ".extern .func (.param .u64 r) malloc (.param .u64 n);\n";
    for (const bool writes : {false, true}) {
        Watched rig;
        const auto module = rig.load(ptx_kernel(
            ".param .u64 unused",
            std::string(body) + (writes ? "st.u32 [%rd2+4], 1;" : "") + "ld.u32 %r1, [%rd2+4];",
            declared));
        const auto outcome = rig.run(*module, "k", {1}, {1}, std::uint64_t{0});
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        REQUIRE(rig.findings.size() == (writes ? 0 : 1));
        if (!writes) {
            CHECK(rig.findings[0].find(
                      "4 bytes into it\n  allocation: 64 bytes of kernel heap memory") !=
                  std::string::npos);
        }
    }
}

TEST_CASE("check: unwritten bytes are found with and without the bounds check") {
    for (const bool memory : {true, false}) {
        Watched rig(2);
        rig.options.checks.memory = memory;
        const auto module = rig.load(ptx_kernel(
            ".param .u64 data", std::string(offset_of_thread) + "ld.global.u32 %r2, [%rd1];"));
        const auto data = rig.allocate(4096);
        CHECK(rig.run(*module, "k", {8}, {32}, data).findings == 256);
        // Without the bounds check, a read from the gap after an allocation isn't reported.
        const auto past = rig.run(*module, "k", {1}, {1}, data + 4096);
        CHECK(past.fault == (memory ? Fault::illegal_address : Fault::none));
    }
}

}  // namespace lode::emulator::exec
