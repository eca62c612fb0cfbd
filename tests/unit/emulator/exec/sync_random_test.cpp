// The check of synchronisation against models: random shuffles by parts of a warp, and random uses
// of mbarriers by one thread.
#include "tests/unit/emulator/exec/random_programs.hpp"
#include "tests/unit/emulator/exec/support.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <set>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace sync_random {
namespace {

constexpr std::array<std::string_view, 4> shuffles = {"idx", "bfly", "up", "down"};

class Random {
public:
    explicit Random(unsigned seed) : random_(seed) {}
    unsigned pick(unsigned count) {
        return std::uniform_int_distribution<unsigned>(0, count - 1)(random_);
    }
    std::uint32_t bits() { return static_cast<std::uint32_t>(random_()); }

private:
    std::mt19937 random_;
};

/// One shuffle; lanes that take no part jump over it.
struct Shuffle {
    unsigned kind = 0;
    std::uint32_t active = 0;
    std::array<std::uint32_t, 32> masks{};
    std::array<std::uint32_t, 32> amounts{};

    [[nodiscard]] unsigned source_of(unsigned lane) const {
        const unsigned b = amounts[lane];
        if (kind == 0) return b;
        if (kind == 1) return lane ^ b;
        if (kind == 2) return lane >= b ? lane - b : lane;
        return lane + b < 32 ? lane + b : lane;
    }
    /// Whether a member disagrees about the mask, or a value comes from a lane that takes no part.
    /// What `up` and `down` bring from beside their mask, programs mostly don't use.
    [[nodiscard]] bool is_wrong() const {
        for (unsigned lane = 0; lane < 32; ++lane) {
            if ((active >> lane & 1) == 0) continue;
            for (unsigned k = 0; k < 32; ++k)
                if ((masks[lane] & active) >> k & 1 && masks[k] != masks[lane]) return true;
            const unsigned from = source_of(lane);
            const bool named = (masks[lane] >> from & 1) != 0;
            if (named ? (active >> from & 1) == 0 : kind < 2) return true;
        }
        return false;
    }
};

/// `gone` are the lanes that have exited or don't exist.
Shuffle random_shuffle(Random& random, std::uint32_t gone) {
    Shuffle made;
    made.kind = random.pick(4);
    made.active = ~gone & (random.pick(2) == 0 ? ~0u : random.bits());
    // Two groups with masks of their own, or one; now and then one lane has another mask.
    const std::uint32_t group = random.pick(3) == 0 ? random.bits() : ~0u;
    const std::uint32_t named = random.pick(4) == 0 ? gone & random.bits() : 0;
    const unsigned odd = random.pick(12) == 0 ? random.pick(32) : 32;
    const bool right = random.pick(3) != 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const std::uint32_t own = group >> lane & 1 ? group : ~group;
        made.masks[lane] = (made.active & own) | named;
        if (lane == odd) made.masks[lane] = made.active | named;
        made.amounts[lane] = random.pick(32);
        // Mostly from a lane that takes part; the amounts of the other kinds are from 0 to 3.
        const std::uint32_t fine = made.masks[lane] & made.active;
        if (made.kind == 0 && right && fine != 0) {
            const std::uint32_t above = fine & (~0u << made.amounts[lane]);
            made.amounts[lane] = static_cast<unsigned>(std::countr_zero(above != 0 ? above : fine));
        } else if (right) {
            made.amounts[lane] %= 4;
        }
        if (made.kind != 0 && lane != 0) made.amounts[lane] = made.amounts[0];
    }
    return made;
}

struct Judge {
    Judge() {
        rig.options.checks.sync = true;
        rig.options.timeout = std::chrono::seconds(30);
        rig.options.finding = [this](std::string_view text) { findings.emplace_back(text); };
    }
    /// Runs on both tiers and compares the lines of the findings.
    template <class... T>
    void compare(const std::string& text, unsigned threads, const std::set<unsigned>& wanted,
                 const T&... values) {
        const auto module = rig.load(text);
        for (const std::uint32_t after : {0, 1}) {
            findings.clear();
            rig.options.compile_after = after;
            const LaunchOutcome outcome = rig.run(*module, "k", {1}, {threads}, values...);
            CAPTURE(after);
            INFO(text);
            REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
            CHECK(fmt::format("{}", fmt::join(testing::ptx_lines(findings), " ")) ==
                  fmt::format("{}", fmt::join(wanted, " ")));
        }
        wrong += wanted.empty() ? 0 : 1;
    }

    testing::Rig rig;
    std::vector<std::string> findings;
    unsigned wrong = 0;  ///< Programs with findings.
};

unsigned lines_in(std::string_view text) {
    return static_cast<unsigned>(std::ranges::count(text, '\n'));
}

void judge_shuffles() {
    Judge judge;
    const unsigned programs = testing::as_many(300);
    for (unsigned seed = 0; seed < programs; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const unsigned threads = random.pick(3) == 0 ? 1 + random.pick(32) : 32;
        const std::uint32_t exits = random.pick(2) == 0 ? random.bits() & ~1u : 0;
        const std::uint32_t gone = exits | (threads < 32 ? ~0u << threads : 0);
        std::string text = testing::ptx_kernel(".param .u64 table", "");
        text.resize(text.rfind("\nret;"));
        text += fmt::format(
            "\nld.param.u64 %rd1, [table]; mov.u32 %r1, %laneid; mov.u32 %r2, 1;\n"
            "shl.b32 %r2, %r2, %r1; and.b32 %r3, %r2, {}; setp.ne.u32 %p1, %r3, 0;\n"
            "@%p1 exit;\n"
            "mul.wide.u32 %rd2, %r1, 8; add.u64 %rd1, %rd1, %rd2;\n",
            exits);
        std::vector<std::uint32_t> table;
        std::set<unsigned> wanted;
        const unsigned count = 1 + random.pick(6);
        for (unsigned k = 0; k < count; ++k) {
            const Shuffle one = random_shuffle(random, gone);
            for (unsigned lane = 0; lane < 32; ++lane)
                table.insert(table.end(), {one.masks[lane], one.amounts[lane]});
            text += fmt::format(
                "and.b32 %r3, %r2, {}; setp.eq.u32 %p1, %r3, 0; @%p1 bra next{};\n"
                "ld.global.v2.u32 {{%r4, %r5}}, [%rd1+{}];\n",
                one.active, k, 256 * k);
            text += fmt::format("shfl.sync.{}.b32 %r6, %r1, %r5, {}, %r4;\n", shuffles[one.kind],
                                one.kind == 2 ? 0 : 31);
            if (one.is_wrong()) wanted.insert(lines_in(text));
            text += fmt::format("next{}:\n", k);
        }
        text += "ret;\n}\n";
        const std::uint64_t at = judge.rig.put(table);
        judge.compare(text, threads, wanted, at);
        judge.rig.memory.free(at);
    }
    MESSAGE(judge.wrong, " of ", programs, " programs have a wrong shuffle");
    CHECK(judge.wrong > programs / 5);
    CHECK(judge.wrong < programs - programs / 5);
}

/// What one thread does to an mbarrier.
enum class Use : unsigned { init, arrive, drop, wait, invalidate };

struct Mbarrier {
    bool lives = false;
    unsigned expected = 0;
    unsigned pending = 0;

    /// Whether a use is right, after which the object has changed.
    bool take(Use use, unsigned count) {
        if (use == Use::init) {
            if (lives || count == 0) return false;
            *this = {true, count, count};
            return true;
        }
        if (!lives) return false;
        if (use == Use::invalidate) lives = false;
        if (use != Use::arrive && use != Use::drop) return true;
        if (count > pending) return false;
        pending -= count;
        if (use == Use::drop) expected -= count;
        if (pending == 0) pending = expected;
        return true;
    }
};

void judge_mbarriers() {
    Judge judge;
    const unsigned programs = testing::as_many(300);
    for (unsigned seed = 0; seed < programs; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        std::array<Mbarrier, 3> barriers;
        std::string text =
            testing::ptx_kernel(".param .u64 unused", "", ".shared .align 8 .b8 bars[24];\n");
        text.resize(text.rfind("\nret;"));
        text += '\n';
        std::set<unsigned> wanted;
        for (unsigned step = 0; step < 40 && wanted.empty(); ++step) {
            const unsigned which = random.pick(3);
            Mbarrier& one = barriers[which];
            auto use = static_cast<Use>(random.pick(5));
            // Most uses are right.
            if (random.pick(16) != 0) {
                if (!one.lives) use = Use::init;
                if (one.lives && use == Use::init) use = Use::arrive;
            }
            unsigned count = 1 + random.pick(4);
            const bool arrives = use == Use::arrive || use == Use::drop;
            if (arrives && one.lives && random.pick(16) != 0) count = 1 + count % one.pending;
            // Without expected arrivals, an object is of no use.
            if (use == Use::drop && count >= one.expected) use = Use::arrive;
            if (use == Use::init && random.pick(40) == 0) count = 0;
            const std::string at = fmt::format("[bars+{}]", 8 * which);
            const std::array<std::string, 5> forms = {
                fmt::format("mbarrier.init.shared.b64 {}, %r1;", at),
                fmt::format("mbarrier.arrive.shared.b64 %rd1, {}, {};", at, count),
                fmt::format("mbarrier.arrive_drop.shared.b64 %rd1, {}, {};", at, count),
                fmt::format("mbarrier.test_wait.parity.shared.b64 %p1, {}, 0;", at),
                fmt::format("mbarrier.inval.shared.b64 {};", at)};
            // A constant count of 0 isn't valid PTX.
            text += fmt::format("mov.u32 %r1, {};\n", count);
            text += forms[static_cast<std::size_t>(use)] + '\n';
            // What a wrong use leaves isn't defined.
            if (!one.take(use, count)) wanted.insert(lines_in(text));
        }
        text += "ret;\n}\n";
        judge.compare(text, 1, wanted, std::uint64_t{0});
    }
    MESSAGE(judge.wrong, " of ", programs, " programs use an mbarrier wrongly");
    CHECK(judge.wrong > programs / 5);
    CHECK(judge.wrong < programs);
}

}  // namespace
}  // namespace sync_random

TEST_CASE("sync: random shuffles are wrong where a model of their lanes says so") {
    sync_random::judge_shuffles();
}

TEST_CASE("sync: random uses of mbarriers are wrong where a model of the objects says so") {
    sync_random::judge_mbarriers();
}

}  // namespace lode::emulator::exec
