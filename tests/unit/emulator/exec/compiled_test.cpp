// The compiled tier against the interpreter: random kernels, programs that must leave compiled code
// in the middle, and what reports and counts say.
#include "tests/unit/emulator/exec/random_programs.hpp"
#include "tests/unit/emulator/exec/support.hpp"

#include <algorithm>
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

/// Where the kernels' shared memory, of 256 or 1280 bytes, begins: a parameter.
constexpr std::uint64_t place = 0;

enum class Wrong { nothing, faults, races };

/// Random straight code with loads, stores, comparisons, guarded instructions, forward branches and
/// a loop. Accesses are inside `words` words, or may be far outside (`faults`), or may be those of
/// other threads and of memory that nothing has written (`races`).
class RandomKernel {
public:
    RandomKernel(unsigned seed, Wrong wrong) : random_(seed), wrong_(wrong) {}

    std::string text() {
        std::string body =
            "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\n"
            "cvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\n"
            "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n"
            "mad.lo.s32 %r5, %r3, %r4, %r2;\nmov.u32 %r6, %laneid;\n"
            // %r21: the thread in its block, by columns; %r20: in the grid.
            "mov.u32 %r20, %ntid.y;\nmov.u32 %r21, %tid.y;\n"
            "mad.lo.s32 %r21, %r2, %r20, %r21;\nmul.lo.s32 %r20, %r20, %r4;\n"
            "mad.lo.s32 %r20, %r3, %r20, %r21;\n"
            "setp.lt.s32 %p0, %r5, 5;\nsetp.lt.s32 %p1, %r5, 50;\nsetp.lt.s32 %p2, %r5, 500;\n"
            "setp.lt.s32 %p3, %r6, 16;\nsetp.gt.s32 %p4, %r5, 1000;\n"
            "setp.eq.s32 %p5, %r3, 1;\nsetp.ne.s32 %p6, %r6, 31;\n";
        for (unsigned k = 7; k < 20; ++k)
            body += fmt::format("mov.u32 %r{}, {};\n", k, number());
        for (unsigned k = 0; k < 12; ++k)
            body += fmt::format("mov.f32 %f{}, 0f{:08x};\n", k, real());
        body +=
            "mov.u32 %r26, bins;\nand.b32 %r28, %r2, 63;\nshl.b32 %r28, %r28, 2;\n"
            "add.s32 %r28, %r26, %r28;\nst.shared.u32 [%r28], 0;\nbar.sync 0;\n";
        body += "mov.u32 %r30, 0;\nLoop:\n";
        for (int k = 0; k < 40; ++k) {
            if (k % 10 == 3) {
                body += branch(k);
                diverges_ = true;
            }
            body += instruction();
            if (k % 10 == 6) {
                body += fmt::format("Skip{}:\n", k - 3);
                diverges_ = false;
            }
            if (wrong_ == Wrong::races && k % 20 == 9) body += "bar.sync 0;\n";
        }
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
        return ptx_kernel(".param .u64 in, .param .u64 out, .param .u32 n, .param .u64 place", body,
                          ".shared .align 4 .b8 tile[1024];\n"
                          ".shared .align 4 .b8 bins[256];\n");
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
        static constexpr unsigned edges[] = {
            0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001, 0x7fa00000,
            1, 0x00800000, 0x7f7fffff, 0x40490fdb, 0x807fffff, 0x3f7fffff, 0x00ffffff, 0x3f000001};
        return edges[pick(std::size(edges))];
    }
    std::string r() { return fmt::format("%r{}", 1 + pick(19)); }
    /// Not %r1 to %r6: these make addresses.
    std::string to() { return fmt::format("%r{}", 7 + pick(13)); }
    std::string source() { return pick(4) == 0 ? number() : r(); }
    std::string f() { return fmt::format("%f{}", pick(12)); }
    std::string p() { return fmt::format("%p{}", pick(7)); }

    /// A branch by a predicate, or by a comparison in front of it, with which it is one op. All
    /// lanes may take it, because values are often the same in all.
    std::string branch(int to) {
        static constexpr const char* orders[] = {"eq", "ne", "lt", "le", "gt", "ge"};
        const char* const order = orders[pick(6)];
        const char* const negated = pick(2) == 0 ? "!" : "";
        switch (pick(3)) {
            case 0:
                return fmt::format("@{}{} bra Skip{};\n", negated, p(), to);
            case 1:
                return fmt::format("setp.{}.f32 %p8, {}, {};\n@{}%p8 bra Skip{};\n", order, f(),
                                   f(), negated, to);
            default:
                return fmt::format("setp.{}.s32 %p8, {}, {};\n@{}%p8 bra Skip{};\n", order, r(),
                                   source(), negated, to);
        }
    }

    std::string index() {
        static constexpr const char* names[] = {"%r5", "%r5", "%r2", "%r6", "%r3", "%r20", "%r21"};
        return names[pick(std::size(names))];
    }
    /// Its word in the tile.
    std::string own_word() { return pick(2) == 0 ? "%r2" : "%r21"; }
    std::string access() {
        // The next number makes each address a register of its own, as compilers write them.
        const unsigned at = next_;
        next_ = next_ == 26 ? 10 : next_ + 2;
        const unsigned offset =
            wrong_ == Wrong::faults && pick(20) == 0 ? words * 4 - 64 : 4 * pick(16);
        const unsigned scale = pick(6) == 0 ? 8 : 4;
        if (pick(8) == 0) return sum_at_wide_address(at);
        switch (pick(wrong_ == Wrong::races ? 14 : 10)) {
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
            case 2: {
                // Each thread has its own words, so that the order of warps doesn't count.
                const bool by_columns = pick(2) == 0;
                const unsigned part = by_columns ? 5 + pick(3) : 1 + pick(4);
                return fmt::format(
                    "mul.wide.s32 %rd{0}, {1}, 4;\nadd.s64 %rd{2}, %rd2, %rd{0};\n"
                    "st.global.u32 [%rd{2}+{3}], {4};\n",
                    at, by_columns ? "%r20" : "%r5", at + 1, threads * blocks * 4 * part, r());
            }
            case 3:
                return fmt::format(
                    "and.b32 %r28, {}, 255;\nmul.wide.u32 %rd{}, %r28, 4;\n"
                    "add.s64 %rd{}, %rd1, %rd{};\nld.global.u32 {}, [%rd{}];\n",
                    r(), at, at + 1, at, to(), at + 1);
            case 4:
                return fmt::format(
                    "cvt.s64.s32 %rd{0}, {1};\nadd.s64 %rd{2}, %rd1, %rd{0};\n"
                    "ld.global.u{3} %rs{4}, [%rd{2}+{5}];\nmul.wide.u16 {6}, %rs{4}, 40;\n",
                    at, scale == 8 ? "%r5" : "%r3", at + 1, 8, pick(8), pick(40), to());
            case 5:
                // Addresses that are no array's element.
                return fmt::format(
                    "mul.wide.s32 %rd{0}, {1}, 4;\nadd.s64 %rd{2}, %rd1, %rd{0};\n"
                    "cvt.s64.s32 %rd28, %r3;\nshl.b64 %rd29, %rd28, 2;\n"
                    "mad.wide.s32 %rd{2}, %r3, 8, %rd{2};\nadd.s64 %rd{2}, %rd{2}, %rd29;\n"
                    "ld.global.u32 {3}, [%rd{2}];\n",
                    at, index(), at + 1, to());
            case 6:
                return fmt::format(
                    "mul.wide.s32 %rd{0}, {1}, 8;\nadd.s64 %rd{2}, %rd1, %rd{0};\n"
                    "ld.global.u64 %rd28, [%rd{2}];\ncvt.u32.u64 {3}, %rd{4};\n",
                    at, index(), at + 1, to(), pick(2) == 0 ? 28 : at);
            case 7:
                return fmt::format(
                           "and.b32 %r28, {}, 63;\nshl.b32 %r28, %r28, 2;\n"
                           "add.s32 %r28, %r26, %r28;\n",
                           r()) +
                       (pick(2) == 0 ? "red.shared.add.u32 "
                                     : fmt::format("atom.shared.add.u32 {}, ", to())) +
                       fmt::format("[%r28], {};\n", source());
            case 8:
                return fmt::format(
                    "shl.b32 %r28, {}, 2;\nmov.u32 %r27, tile;\nadd.s32 %r28, %r27, %r28;\n"
                    "st.shared.u32 [%r28], {};\nld.shared.u32 {}, [%r28];\n",
                    own_word(), r(), to());
            case 10:
                return fmt::format(
                    "shl.b32 %r28, %r2, 2;\nmov.u32 %r27, tile;\nadd.s32 %r28, %r27, %r28;\n"
                    "ld.shared.u32 {}, [%r28+{}];\n",
                    to(), 4 * pick(33));
            case 11:
            case 12:
                // What other threads store, or nobody.
                return fmt::format(
                    "mul.wide.s32 %rd{0}, {1}, 4;\nadd.s64 %rd{2}, %rd2, %rd{0};\n"
                    "ld.global.u32 {3}, [%rd{2}+{4}];\n",
                    at, index(), at + 1, to(), threads * blocks * 4 * (1 + pick(5)) + 4 * pick(40));
            case 13:
                return fmt::format(
                    "mul.wide.s32 %rd{0}, {1}, 4;\nadd.s64 %rd{2}, %rd2, %rd{0};\n"
                    "st.global.u32 [%rd{2}+{4}], {3};\n",
                    at, index(), at + 1, r(), threads * blocks * 4 * (1 + pick(5)) + 4 * pick(17));
            default:
                return fmt::format(
                    "mov.u64 %rd{0}, tile;\nmul.wide.u32 %rd{1}, {4}, 4;\n"
                    "add.s64 %rd{0}, %rd{0}, %rd{1};\nst.shared.u32 [%rd{0}], {2};\n"
                    "ld.shared.u32 {3}, [%rd{0}];\n",
                    at, at + 1, r(), to(), own_word());
        }
    }
    /// A sum in shared memory whose address is a register of 64 bits, a parameter or a constant.
    /// Its upper half doesn't count. With wrong accesses: the word after or before the array, or
    /// half a word further.
    std::string sum_at_wide_address(unsigned at) {
        const unsigned kind = pick(5);
        const unsigned words_left = kind < 2 ? 64 - 31 : 64;
        int offset = 4 * static_cast<int>(pick(words_left));
        if (wrong_ == Wrong::faults && pick(3) == 0) {
            const int end = kind == 3 ? 1280 : static_cast<int>(4 * words_left);
            const int wrong[] = {end, -4, offset + 2};
            offset = wrong[pick(3)];
        }
        std::string text;
        std::string address = fmt::format("%rd{}", at);
        switch (kind) {
            case 0:
                text = fmt::format("and.b32 %r28, {}, 31;\n", r());
                [[fallthrough]];
            case 1:  // Neighbouring words.
                text += fmt::format(
                    "mul.wide.u32 %rd{0}, {2}, 4;\nmov.u64 %rd{1}, bins;\n"
                    "add.s64 %rd{1}, %rd{1}, %rd{0};\n",
                    at + 1, at, kind == 0 ? "%r28" : "%r6");
                break;
            case 2:  // One word for all lanes.
                text = fmt::format("mov.u64 %rd{}, bins;\n", at);
                break;
            case 3:
                text = "ld.param.u64 %rd3, [place];\n";
                address = "%rd3";
                break;
            default:
                address = "bins";
                break;
        }
        if (kind < 3 && pick(3) == 0)
            text += fmt::format("add.s64 %rd{0}, %rd{0}, {1};\n", at, 0x7'0000'0000);
        text +=
            pick(2) == 0 ? "red.shared.add.u32 " : fmt::format("atom.shared.add.u32 {}, ", to());
        return text + fmt::format("[{}+{}], {};\n", address, offset, source());
    }
    std::string shuffle() {
        static constexpr const char* kinds[] = {"up", "down", "bfly", "idx"};
        const unsigned kind = pick(4);
        const unsigned segments = pick(2) == 0 ? 0 : 0x1800;  // The mask of parts of 8 lanes.
        const std::string to_predicate = pick(2) == 0 ? "|" + p() : "";
        return fmt::format("shfl.sync.{}.b32 {}{}, {}, {}, {}, -1;\n", kinds[kind], to(),
                           to_predicate, r(), pick(2) == 0 ? r() : std::to_string(pick(32)),
                           segments | (kind == 0 ? 0 : 31));
    }
    std::string instruction() {
        static constexpr const char* integer[] = {
            "add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32",  "xor.b32", "shl.b32",
            "shr.u32", "shr.s32", "min.s32",    "max.s32", "min.u32", "max.u32"};
        static constexpr const char* reals[] = {"add.f32",     "sub.f32",    "mul.f32",
                                                "div.rn.f32",  "min.f32",    "add.ftz.f32",
                                                "sub.ftz.f32", "mul.ftz.f32"};
        static constexpr const char* orders[] = {"eq", "ne", "lt", "le", "gt", "ge"};
        static constexpr const char* more[] = {"equ", "neu", "ltu", "leu",
                                               "gtu", "geu", "num", "nan"};
        const char* const order = orders[pick(6)];
        std::string text;
        if (pick(8) == 0) text = fmt::format("@{}{} ", pick(2) == 0 ? "!" : "", p());
        switch (pick(15)) {
            case 14: {
                static constexpr const char* logic[] = {"and.pred", "or.pred", "xor.pred"};
                if (pick(4) == 0) return text + fmt::format("not.pred {}, {};\n", p(), p());
                return text + fmt::format("{} {}, {}, {};\n", logic[pick(3)], p(), p(), p());
            }
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
                if (pick(4) == 0) {
                    static constexpr const char* ways[] = {"rni", "rzi", "rmi", "rpi"};
                    static constexpr const char* ends[] = {"", ".ftz", ".sat", ".ftz.sat"};
                    return text + fmt::format("cvt.{}{}.f32.f32 {}, {};\n", ways[pick(4)],
                                              ends[pick(4)], f(), f());
                }
                return text + fmt::format("{} {}, {}, {};\n", reals[pick(std::size(reals))], f(),
                                          f(), f());
            case 6:
                return text + fmt::format("fma.rn{}.f32 {}, {}, {}, {};\n",
                                          pick(2) == 0 ? ".ftz" : "", f(), f(), f(), f());
            case 7: {
                const bool equality = order[0] == 'e' || order[0] == 'n';
                return text + fmt::format("setp.{}.{} {}, {}, {};\n", order,
                                          pick(2) == 0 ? "s32" : (equality ? "b32" : "u32"), p(),
                                          r(), source());
            }
            case 8:
                return text + fmt::format("setp.{}{}.f32 {}, {}, {};\n",
                                          pick(2) == 0 ? order : more[pick(8)],
                                          pick(2) == 0 ? ".ftz" : "", p(), f(), f());
            case 9:
                return text + fmt::format("selp.b32 {}, {}, {}, {};\n", to(), r(), source(), p());
            case 10:
                return text + fmt::format("popc.b32 {}, {};\n", to(), r());
            case 11:
                return diverges_ ? std::string() : shuffle();
            default:
                return access();
        }
    }

    std::minstd_rand random_;
    Wrong wrong_;
    bool diverges_ = false;  ///< Shuffles need all lanes.
    unsigned next_ = 10;
};

struct Ran {
    LaunchOutcome outcome;
    std::vector<std::uint32_t> values;
    std::string findings;  ///< A line each, without addresses.
    std::uint64_t instructions = 0;
};

/// A report without addresses, which differ from run to run.
std::string without_addresses(std::string text) {
    for (std::size_t at = text.find("0x"); at != text.npos; at = text.find("0x", at + 1)) {
        const std::size_t end = text.find_first_not_of("0123456789abcdef", at + 2);
        text.erase(at + 2, (end == text.npos ? text.size() : end) - at - 2);
    }
    return text;
}

/// Runs a kernel of RandomKernel's parameters several times on one tier.
Ran run_on(std::uint32_t compile_after, const std::string& text, unsigned first_block,
           const Checks& checks = {}) {
    Rig rig;
    rig.options.compile_after = compile_after;
    rig.options.checks = checks;
    REQUIRE(rig.memory.watch_writes());
    const auto module = rig.load(text);
    std::vector<std::uint32_t> in(words);
    std::minstd_rand random(7);
    for (auto& one : in)
        one = static_cast<std::uint32_t>(random()) * 2654435761u;
    const auto from = rig.put(in);
    const auto to = rig.memory.allocate(words * 4, MemoryKind::device, "test");
    std::memset(reinterpret_cast<void*>(to), 0, words * 4);
    Ran ran;
    rig.options.finding = [&](std::string_view found) {
        ran.findings += without_addresses(std::string(found)) + "\n";
    };
    // Without checks first, so that both kinds of compiled code take turns. Other shapes: in blocks
    // that aren't multiples of 32 wide, indices aren't consecutive.
    for (const Dim3 block : {Dim3{first_block}, Dim3{threads}, Dim3{threads / 4, 4},
                             Dim3{threads / 8, 8}, Dim3{4, threads / 4}}) {
        for (const bool checked : {false, true}) {
            if (!checked && !checks.race && !checks.init) continue;
            rig.options.checks = checked ? checks : Checks{};
            ran.outcome = rig.run(*module, "k", {blocks}, block, from, to, 3u, place);
            ran.instructions += ran.outcome.warp_instructions;
            if (ran.outcome.fault != Fault::none) return ran;
            const auto got = rig.get<std::uint32_t>(to, words);
            ran.values.insert(ran.values.end(), got.begin(), got.end());
            ran.findings += fmt::format("{} findings\n", ran.outcome.findings);
        }
    }
    return ran;
}

/// LODE_TEST_RANDOM_KERNELS makes `count` as many times as large.
void compare_tiers(unsigned first_seed, unsigned count, Wrong wrong) {
    count = testing::as_many(count);
    unsigned failed = 0;
    unsigned found = 0;
    for (unsigned seed = first_seed; seed < first_seed + count; ++seed) {
        CAPTURE(seed);
        const std::string text = RandomKernel(seed, wrong).text();
        Checks checks;
        if (wrong == Wrong::races) {
            checks.race = seed % 4 != 0;
            checks.init = seed % 4 != 1;
            checks.sync = seed % 4 == 2;
        }
        const unsigned first_block = seed % 3 == 0 ? 48 : threads;
        const Ran expected = run_on(0, text, first_block, checks);
        const Ran got = run_on(1 + seed % 2, text, first_block, checks);
        failed += expected.outcome.fault != Fault::none ? 1 : 0;
        INFO(expected.outcome.report);
        CHECK(got.outcome.fault == expected.outcome.fault);
        CHECK(without_addresses(got.outcome.report) == without_addresses(expected.outcome.report));
        CHECK(got.instructions == expected.instructions);
        CHECK(got.findings == expected.findings);
        found += expected.findings.find(" in a race ") != std::string::npos ? 1 : 0;
        CHECK(got.values == expected.values);
    }
    // The tests test what their names say.
    if (wrong == Wrong::faults) {
        CHECK(failed > count / 20);
    } else {
        CHECK(failed == 0);
    }
    if (wrong == Wrong::races) CHECK(found > count / 2);
}

}  // namespace

TEST_CASE("compiled tier: random kernels give the interpreter's bits") {
    compare_tiers(1, 150, Wrong::nothing);
}

TEST_CASE("compiled tier: random kernels with wrong accesses give the interpreter's reports") {
    compare_tiers(1001, 100, Wrong::faults);
}

TEST_CASE("compiled tier: random kernels have the interpreter's findings") {
    compare_tiers(2001, 150, Wrong::races);
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
    const std::string text = RandomKernel(5, Wrong::nothing).text();
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
        const auto outcome = rig.run(*module, "k", {blocks}, {threads}, from, to, 3u, place);
        CHECK(outcome.fault == Fault::none);
        const auto got = rig.get<std::uint32_t>(to, words);
        CHECK(std::equal(got.begin(), got.end(), expected.values.begin()));
    }
}
