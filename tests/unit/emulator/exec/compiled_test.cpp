// The compiled tier against the interpreter: random kernels, programs that must leave compiled code
// in the middle, and what reports and counts say.
#include "tests/unit/emulator/exec/support.hpp"

#include <random>

#include <fmt/format.h>

using namespace lode;
using namespace lode::emulator;
using namespace lode::emulator::exec;
using namespace lode::emulator::exec::testing;

namespace {

constexpr unsigned threads = 128;
constexpr unsigned blocks = 3;
constexpr unsigned words = 8 * threads * blocks;

/// Random straight code with loads, stores, comparisons, guarded instructions and a loop. All
/// accesses are inside `words` words, or may be far outside if `faults`.
class RandomKernel {
public:
    RandomKernel(unsigned seed, bool faults) : random_(seed), faults_(faults) {}

    std::string text() {
        std::string body =
            "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\n"
            "cvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\n"
            "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n"
            "mad.lo.s32 %r5, %r3, %r4, %r2;\nmov.u32 %r6, %laneid;\n"
            "setp.lt.s32 %p0, %r5, 5;\nsetp.lt.s32 %p1, %r5, 50;\nsetp.lt.s32 %p2, %r5, 500;\n"
            "setp.lt.s32 %p3, %r6, 16;\nsetp.gt.s32 %p4, %r5, 1000;\n"
            "setp.eq.s32 %p5, %r3, 1;\nsetp.ne.s32 %p6, %r6, 31;\n";
        for (unsigned k = 7; k < 20; ++k)
            body += fmt::format("mov.u32 %r{}, {};\n", k, number());
        for (unsigned k = 0; k < 12; ++k)
            body += fmt::format("mov.f32 %f{}, 0f{:08x};\n", k, real());
        body += "mov.u32 %r30, 0;\nLoop:\n";
        for (int k = 0; k < 40; ++k)
            body += instruction();
        body += fmt::format("add.s32 %r30, %r30, 1;\nsetp.lt.s32 %p7, %r30, {};\n@%p7 bra Loop;\n",
                            1 + pick(4));
        for (int k = 0; k < 15; ++k)
            body += instruction();
        // Every register counts.
        body += "mov.u32 %r31, 17;\n";
        for (unsigned k = 1; k < 20; ++k)
            body += fmt::format("mad.lo.s32 %r31, %r31, 31, %r{};\n", k);
        for (unsigned k = 0; k < 12; ++k)
            body += fmt::format("mov.b32 %r29, %f{};\nmad.lo.s32 %r31, %r31, 31, %r29;\n", k);
        for (unsigned k = 0; k < 7; ++k)
            body += fmt::format("selp.b32 %r29, 1, 0, %p{};\nmad.lo.s32 %r31, %r31, 3, %r29;\n", k);
        body +=
            "mul.wide.s32 %rd9, %r5, 4;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.u32 [%rd9], %r31;\n";
        return ptx_kernel(".param .u64 in, .param .u64 out, .param .u32 n", body,
                          ".shared .align 4 .b8 tile[1024];\n");
    }

private:
    unsigned pick(unsigned most) { return static_cast<unsigned>(random_()) % most; }
    std::string number() {
        static constexpr const char* edges[] = {"0",          "1",           "-1", "31", "32",
                                                "2147483647", "-2147483648", "4",  "96"};
        return pick(2) == 0 ? edges[pick(std::size(edges))]
                            : std::to_string(static_cast<int>(random_()));
    }
    unsigned real() {
        static constexpr unsigned edges[] = {0,          0x80000000, 0x3f800000, 0xbf800000,
                                             0x7f800000, 0xff800000, 0x7fc00001, 0x7fa00000,
                                             1,          0x00800000, 0x7f7fffff, 0x40490fdb};
        return edges[pick(std::size(edges))];
    }
    std::string r() { return fmt::format("%r{}", 1 + pick(19)); }
    /// Not %r1 to %r6: these make addresses.
    std::string to() { return fmt::format("%r{}", 7 + pick(13)); }
    std::string source() { return pick(4) == 0 ? number() : r(); }
    std::string f() { return fmt::format("%f{}", pick(12)); }
    std::string p() { return fmt::format("%p{}", pick(7)); }

    std::string index() {
        static constexpr const char* names[] = {"%r5", "%r5", "%r2", "%r6", "%r3"};
        return names[pick(std::size(names))];
    }
    std::string access() {
        // The next number makes each address a register of its own, as compilers write them.
        const unsigned at = next_;
        next_ = next_ == 26 ? 10 : next_ + 2;
        const unsigned offset = faults_ && pick(20) == 0 ? words * 4 - 64 : 4 * pick(16);
        const unsigned scale = pick(6) == 0 ? 8 : 4;
        switch (pick(5)) {
            case 0:
                return fmt::format(
                    "mul.wide.s32 %rd{0}, {1}, {2};\nadd.s64 %rd{3}, %rd1, %rd{0};\n"
                    "ld.global.f32 {4}, [%rd{3}+{5}];\n",
                    at, index(), scale, at + 1, f(), offset);
            case 1:
                return fmt::format(
                    "mul.wide.u32 %rd{0}, {1}, {2};\nadd.s64 %rd{3}, %rd1, %rd{0};\n"
                    "ld.global.u32 {4}, [%rd{3}+{5}];\n",
                    at, index(), scale, at + 1, to(), offset);
            case 2:
                // Each thread has its own words, so that the order of warps doesn't count.
                return fmt::format(
                    "mul.wide.s32 %rd{0}, %r5, 4;\nadd.s64 %rd{1}, %rd2, %rd{0};\n"
                    "{2}.global.u32 {3};\n",
                    at, at + 1, "st",
                    fmt::format("[%rd{}+{}], {}", at + 1, threads * blocks * 4 * (1 + pick(7)),
                                r()));
            case 3:
                return fmt::format(
                    "and.b32 %r28, {}, 255;\nmul.wide.u32 %rd{}, %r28, 4;\n"
                    "add.s64 %rd{}, %rd1, %rd{};\nld.global.u32 {}, [%rd{}];\n",
                    r(), at, at + 1, at, to(), at + 1);
            default:
                return fmt::format(
                    "mov.u64 %rd{0}, tile;\nmul.wide.u32 %rd{1}, %r2, 4;\n"
                    "add.s64 %rd{0}, %rd{0}, %rd{1};\nst.shared.u32 [%rd{0}], {2};\n"
                    "ld.shared.u32 {3}, [%rd{0}];\n",
                    at, at + 1, r(), to());
        }
    }
    std::string shuffle() {
        static constexpr const char* kinds[] = {"up", "down", "bfly", "idx"};
        const unsigned kind = pick(4);
        const unsigned segments = pick(2) == 0 ? 0 : 0x1800;  // The mask of parts of 8 lanes.
        const std::string to_predicate = pick(2) == 0 ? "|" + p() : "";
        return fmt::format("shfl.sync.{}.b32 {}{}, {}, {}, {}, -1;\n", kinds[kind], to(),
                           to_predicate, r(), pick(32), segments | (kind == 0 ? 0 : 31));
    }
    std::string instruction() {
        static constexpr const char* integer[] = {
            "add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32",  "xor.b32", "shl.b32",
            "shr.u32", "shr.s32", "min.s32",    "max.s32", "min.u32", "max.u32"};
        static constexpr const char* reals[] = {"add.f32",    "sub.f32", "mul.f32",
                                                "div.rn.f32", "min.f32", "add.ftz.f32"};
        static constexpr const char* orders[] = {"eq", "ne", "lt", "le", "gt", "ge"};
        static constexpr const char* more[] = {"equ", "neu", "ltu", "leu",
                                               "gtu", "geu", "num", "nan"};
        const char* const order = orders[pick(6)];
        std::string text;
        if (pick(8) == 0) text = fmt::format("@{}{} ", pick(2) == 0 ? "!" : "", p());
        switch (pick(14)) {
            case 0:
            case 1:
            case 2: {
                const char* const name = integer[pick(std::size(integer))];
                return text + fmt::format("{} {}, {}, {};\n", name, to(), r(), source());
            }
            case 3:
                return text + fmt::format("mad.lo.s32 {}, {}, {}, {};\n", to(), r(), source(), r());
            case 4:
                return text + fmt::format("mov.u32 {}, {};\n", to(), source());
            case 5:
                return text + fmt::format("{} {}, {}, {};\n", reals[pick(std::size(reals))], f(),
                                          f(), f());
            case 6:
                return text + fmt::format("fma.rn.f32 {}, {}, {}, {};\n", f(), f(), f(), f());
            case 7: {
                const bool equality = order[0] == 'e' || order[0] == 'n';
                return text + fmt::format("setp.{}.{} {}, {}, {};\n", order,
                                          pick(2) == 0 ? "s32" : (equality ? "b32" : "u32"), p(),
                                          r(), source());
            }
            case 8:
                return text + fmt::format("setp.{}.f32 {}, {}, {};\n",
                                          pick(2) == 0 ? order : more[pick(8)], p(), f(), f());
            case 9:
                return text + fmt::format("selp.b32 {}, {}, {}, {};\n", to(), r(), source(), p());
            case 10:
                return text + fmt::format("popc.b32 {}, {};\n", to(), r());
            case 11:
                return shuffle();
            default:
                return access();
        }
    }

    std::minstd_rand random_;
    bool faults_;
    unsigned next_ = 10;
};

struct Ran {
    LaunchOutcome outcome;
    std::vector<std::uint32_t> values;
};

/// Runs a kernel of RandomKernel's parameters several times on one tier.
Ran run_on(std::uint32_t compile_after, const std::string& text, unsigned first_block) {
    Rig rig;
    rig.options.compile_after = compile_after;
    const auto module = rig.load(text);
    std::vector<std::uint32_t> in(words);
    std::minstd_rand random(7);
    for (auto& one : in)
        one = static_cast<std::uint32_t>(random()) * 2654435761u;
    const auto from = rig.put(in);
    const auto to = rig.put(std::vector<std::uint32_t>(words));
    Ran ran;
    // A second shape: in blocks that aren't multiples of 32 wide, indices aren't consecutive.
    for (const Dim3 block : {Dim3{first_block}, Dim3{threads}, Dim3{threads / 4, 4}}) {
        ran.outcome = rig.run(*module, "k", {blocks}, block, from, to, 3u);
        if (ran.outcome.fault != Fault::none) break;
        const auto got = rig.get<std::uint32_t>(to, words);
        ran.values.insert(ran.values.end(), got.begin(), got.end());
    }
    return ran;
}

/// A report without addresses, which differ from run to run.
std::string without_addresses(std::string text) {
    for (std::size_t at = text.find("0x"); at != text.npos; at = text.find("0x", at + 1)) {
        const std::size_t end = text.find_first_not_of("0123456789abcdef", at + 2);
        text.erase(at + 2, (end == text.npos ? text.size() : end) - at - 2);
    }
    return text;
}

void compare_tiers(unsigned first_seed, unsigned count, bool faults) {
    unsigned failed = 0;
    for (unsigned seed = first_seed; seed < first_seed + count; ++seed) {
        CAPTURE(seed);
        const std::string text = RandomKernel(seed, faults).text();
        const unsigned first_block = seed % 3 == 0 ? 48 : threads;
        const Ran expected = run_on(0, text, first_block);
        const Ran got = run_on(1 + seed % 2, text, first_block);
        failed += expected.outcome.fault != Fault::none ? 1 : 0;
        INFO(expected.outcome.report);
        CHECK(got.outcome.fault == expected.outcome.fault);
        CHECK(without_addresses(got.outcome.report) == without_addresses(expected.outcome.report));
        CHECK(got.outcome.warp_instructions == expected.outcome.warp_instructions);
        CHECK(got.values == expected.values);
    }
    // Both kinds of test test what their names say.
    if (faults) CHECK(failed > count / 20);
    if (!faults) CHECK(failed == 0);
}

}  // namespace

TEST_CASE("compiled tier: random kernels give the interpreter's bits") {
    compare_tiers(1, 150, false);
}

TEST_CASE("compiled tier: random kernels with wrong accesses give the interpreter's reports") {
    compare_tiers(1001, 100, true);
}

TEST_CASE("compiled tier: an endless loop is stopped, and the limit of instructions holds") {
    const std::string text =
        ptx_kernel(".param .u64 out",
                   "mov.u32 %r1, 0;\nmov.u32 %r2, 1;\nLoop:\nadd.s32 %r1, %r1, %r2;\n"
                   "xor.b32 %r3, %r1, 5;\nadd.s32 %r4, %r3, %r1;\nbra Loop;\n");
    Rig rig;
    rig.options.compile_after = 1;
    const auto module = rig.load(text);
    rig.options.instruction_limit = 1'000'000;
    LaunchOutcome outcome = rig.run(*module, "k", {1}, {64}, std::uint64_t{0});
    CHECK(outcome.fault == Fault::launch_timeout);
    CHECK(outcome.warp_instructions > 1'000'000);
    CHECK(outcome.warp_instructions < 3'000'000);
    rig.options.instruction_limit = 0;
    rig.options.timeout = std::chrono::milliseconds(50);
    outcome = rig.run(*module, "k", {1}, {64}, std::uint64_t{0});
    CHECK(outcome.fault == Fault::launch_timeout);
    CHECK(outcome.report.find("runs longer than the limit") != std::string::npos);
}

TEST_CASE("compiled tier: several workers compile and run the same regions") {
    const std::string text = RandomKernel(5, false).text();
    const Ran expected = run_on(0, text, threads);
    REQUIRE(expected.outcome.fault == Fault::none);
    for (int k = 0; k < 20; ++k) {
        Rig rig(4);
        rig.options.compile_after = 1 + static_cast<std::uint32_t>(k % 3);
        const auto module = rig.load(text);
        std::vector<std::uint32_t> in(words);
        std::minstd_rand random(7);
        for (auto& one : in)
            one = static_cast<std::uint32_t>(random()) * 2654435761u;
        const auto from = rig.put(in);
        const auto to = rig.put(std::vector<std::uint32_t>(words));
        const auto outcome = rig.run(*module, "k", {blocks}, {threads}, from, to, 3u);
        CHECK(outcome.fault == Fault::none);
        const auto got = rig.get<std::uint32_t>(to, words);
        CHECK(std::equal(got.begin(), got.end(), expected.values.begin()));
    }
}
