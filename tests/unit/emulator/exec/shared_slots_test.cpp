// Registers that share slots: random kernels give the same results with and without sharing, on
// both tiers.
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

constexpr unsigned block_threads = 96;
constexpr unsigned block_count = 2;
constexpr unsigned input_words = 256;

/// A random program with a new register for most results, as compilers write them: nested branches
/// and loops whose conditions differ from lane to lane, guarded instructions, calls, loads with
/// indices, values of 16, 32 and 64 bits and predicates. It reads only what it has written.
class RandomProgram {
public:
    explicit RandomProgram(unsigned seed) : random_(seed) {}

    std::string text() {
        std::string all = ".version 8.7\n.target sm_90\n.address_size 64\n";
        all += function();
        in_function_ = false;
        start({"%r1", "%r2", "%r3"});
        std::string body =
            "ld.param.u64 %rd1, [in];\ncvta.to.global.u64 %rd2, %rd1;\n"
            "ld.param.u64 %rd3, [out];\ncvta.to.global.u64 %rd4, %rd3;\n"
            "mov.u32 %r1, %tid.x;\nmov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ntid.x;\n"
            "mad.lo.s32 %r2, %r4, %r5, %r1;\nmad.lo.s32 %r3, %r2, -1640531527, 12345;\n";
        body += statements(40, 0);
        body += fold();
        body += fmt::format(
            "mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd6, %rd4, %rd5;\n"
            "st.global.u32 [%rd6], {};\nret;\n",
            words_.back());
        return all + ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" + declarations() +
               body + "}\n";
    }

private:
    using Names = std::vector<std::string>;
    struct Known {
        Names words, wides, halves, predicates;
    };

    unsigned pick(unsigned most) { return static_cast<unsigned>(random_() >> 8) % most; }
    /// Mostly one of the last.
    const std::string& one_of(const Names& names) {
        const auto count = static_cast<unsigned>(names.size());
        return names[pick(3) == 0 ? pick(count) : count - 1 - pick(std::min(count, 6u))];
    }
    void start(Names words) {
        words_ = std::move(words);
        wides_.clear();
        halves_.clear();
        predicates_.clear();
        next_ = 10;
    }
    std::string declarations() const {
        return fmt::format(
            ".reg .pred %p<{0}>;\n.reg .b16 %rs<{0}>;\n.reg .b32 %r<{0}>;\n"
            ".reg .b64 %rd<{0}>;\n",
            next_ + 1);
    }
    [[nodiscard]] Known known() const { return {words_, wides_, halves_, predicates_}; }
    void forget_since(const Known& before) {
        words_ = before.words;
        wides_ = before.wides;
        halves_ = before.halves;
        predicates_ = before.predicates;
    }

    /// A function of one 32-bit value.
    std::string function() {
        in_function_ = true;
        start({"%r1"});
        std::string body = "ld.param.u32 %r1, [a];\n" + statements(12, 1) + fold();
        body += fmt::format("st.param.b32 [result], {};\nret;\n", words_.back());
        return ".func (.param .b32 result) f(.param .b32 a)\n{\n" + declarations() + body + "}\n";
    }

    std::string statements(unsigned count, unsigned depth) {
        std::string all;
        for (unsigned k = 0; k < count; ++k)
            all += statement(depth);
        return all;
    }
    std::string statement(unsigned depth) {
        if (depth < 3 && pick(8) == 0) return pick(2) == 0 ? branch(depth) : loop(depth);
        switch (pick(10)) {
            case 0:
                return guarded();
            case 1:
                return both_ways();
            case 2:
                return in_function_ ? arithmetic() : load();
            case 3:
                return in_function_ || pick(3) != 0 ? comparison() : call();
            case 4:
                return wide();
            case 5:
                return half();
            default:
                return arithmetic();
        }
    }

    std::string arithmetic() {
        static constexpr const char* names[] = {"add.s32", "sub.s32", "mul.lo.s32",
                                                "xor.b32", "and.b32", "or.b32",
                                                "min.u32", "max.s32", "shr.u32"};
        const std::string a = one_of(words_);
        const std::string b = pick(4) == 0 ? std::to_string(pick(31)) : one_of(words_);
        return fmt::format("{} {}, {}, {};\n", names[pick(std::size(names))], result(), a, b);
    }
    /// A new register, or one that is overwritten.
    std::string result() {
        if (pick(4) == 0) return one_of_writable();
        words_.push_back(fmt::format("%r{}", next_++));
        return words_.back();
    }
    std::string one_of_writable() {
        // The first are needed at the end.
        const auto count = static_cast<unsigned>(words_.size());
        if (count < 5) return words_.emplace_back(fmt::format("%r{}", next_++));
        return words_[3 + pick(count - 3)];
    }
    std::string comparison() {
        const std::string name = fmt::format("%p{}", next_++);
        const std::string text =
            fmt::format("setp.lt.s32 {}, {}, {};\n", name, one_of(words_), one_of(words_));
        predicates_.push_back(name);
        return text;
    }
    std::string condition(std::string& before) {
        if (predicates_.empty() || pick(2) == 0) before += comparison();
        return one_of(predicates_);
    }
    std::string guarded() {
        std::string text;
        const std::string p = condition(text);
        const std::string a = one_of(words_);
        return text + fmt::format("@{}{} add.s32 {}, {}, {};\n", pick(2) == 0 ? "!" : "", p,
                                  one_of_writable_known(), a, pick(1000));
    }
    /// One that holds a value and makes no address.
    std::string one_of_writable_known() {
        const auto count = static_cast<unsigned>(words_.size());
        return count > 3 ? words_[3 + pick(count - 3)] : words_.back();
    }
    /// Two guarded definitions of one register, of which each lane executes one.
    std::string both_ways() {
        std::string text;
        const std::string p = condition(text);
        const std::string to = fmt::format("%r{}", next_++);
        text += fmt::format("@{} xor.b32 {}, {}, {};\n", p, to, one_of(words_), pick(99));
        text += arithmetic();
        text += fmt::format("@!{} sub.s32 {}, {}, {};\n", p, to, one_of(words_), pick(99));
        words_.push_back(to);
        return text;
    }
    std::string load() {
        const unsigned at = next_;
        next_ += 3;
        words_.push_back(fmt::format("%r{}", at));
        std::string text =
            fmt::format("and.b32 %r{}, {}, {};\n", at, words_[words_.size() - 2], input_words - 1);
        text += fmt::format("mul.wide.u32 %rd{0}, %r{0}, 4;\nadd.s64 %rd{1}, %rd2, %rd{0};\n", at,
                            at + 1);
        if (pick(2) == 0) text += arithmetic();
        text += fmt::format("ld.global.u32 %r{}, [%rd{}];\n", at + 2, at + 1);
        words_.push_back(fmt::format("%r{}", at + 2));
        return text;
    }
    std::string wide() {
        const std::string to = fmt::format("%rd{}", next_++);
        std::string text;
        if (wides_.empty() || pick(3) == 0) {
            text = fmt::format("mov.b64 {}, {{{}, {}}};\n", to, one_of(words_), one_of(words_));
        } else {
            text = fmt::format("add.s64 {}, {}, {};\n", to, one_of(wides_), one_of(wides_));
        }
        wides_.push_back(to);
        if (pick(2) == 0) return text;
        const std::string low = fmt::format("%r{}", next_++);
        const std::string high = fmt::format("%r{}", next_++);
        text += fmt::format("mov.b64 {{{}, {}}}, {};\n", low, high, one_of(wides_));
        words_.push_back(low);
        words_.push_back(high);
        return text;
    }
    std::string half() {
        const std::string to = fmt::format("%rs{}", next_++);
        std::string text = fmt::format("cvt.u16.u32 {}, {};\n", to, one_of(words_));
        halves_.push_back(to);
        const std::string sum = fmt::format("%r{}", next_++);
        text += fmt::format("cvt.s32.s16 {}, {};\n", sum, one_of(halves_));
        words_.push_back(sum);
        return text;
    }
    std::string call() {
        const std::string to = fmt::format("%r{}", next_++);
        const std::string text = fmt::format(
            "{{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], {};\ncall (y), f, (x);\n"
            "ld.param.b32 {}, [y];\n}}\n",
            one_of(words_), to);
        words_.push_back(to);
        return text;
    }
    std::string branch(unsigned depth) {
        std::string text;
        const unsigned label = next_++;
        const std::string p = condition(text);
        const Known before = known();
        text += fmt::format("@{} bra Else{};\n", p, label);
        text += statements(2 + pick(6), depth + 1);
        // A value of this side, for the register that both sides define.
        const std::string joined = fmt::format("%r{}", next_++);
        text += fmt::format("add.s32 {}, {}, 1;\nbra Join{};\nElse{}:\n", joined, one_of(words_),
                            label, label);
        forget_since(before);
        text += statements(2 + pick(6), depth + 1);
        text += fmt::format("add.s32 {}, {}, 2;\nJoin{}:\n", joined, one_of(words_), label);
        forget_since(before);
        words_.push_back(joined);
        return text;
    }
    std::string loop(unsigned depth) {
        const unsigned label = next_++;
        const std::string count = fmt::format("%rs{}", next_++);
        const std::string most = fmt::format("%r{}", next_++);
        const std::string wide_count = fmt::format("%r{}", next_++);
        const std::string carried = fmt::format("%r{}", next_++);
        const std::string p = fmt::format("%p{}", next_++);
        std::string text =
            fmt::format("and.b32 {}, {}, 3;\nmov.u16 {}, 0;\nmov.u32 {}, {};\nLoop{}:\n", most,
                        one_of(words_), count, carried, one_of(words_), label);
        const Known before = known();
        words_.push_back(carried);
        text += statements(3 + pick(6), depth + 1);
        text += fmt::format(
            "xor.b32 {0}, {0}, {1};\nadd.s16 {2}, {2}, 1;\ncvt.u32.u16 {3}, {2};\n"
            "setp.le.u32 {4}, {3}, {5};\n@{4} bra Loop{6};\n",
            carried, one_of(words_), count, wide_count, p, most, label);
        forget_since(before);
        words_.push_back(carried);
        return text;
    }
    /// Makes the last of words_ a value that all others decide.
    std::string fold() {
        const std::string sum = fmt::format("%r{}", next_++);
        const std::string part = fmt::format("%r{}", next_++);
        std::string text = fmt::format("mov.u32 {}, 17;\n", sum);
        const auto add = [&](const std::string& name) {
            text += fmt::format("mad.lo.s32 {0}, {0}, 31, {1};\n", sum, name);
        };
        for (const std::string& name : words_)
            add(name);
        for (const std::string& name : predicates_) {
            text += fmt::format("selp.b32 {}, 1, 0, {};\n", part, name);
            add(part);
        }
        for (const std::string& name : wides_) {
            text += fmt::format("cvt.u32.u64 {}, {};\n", part, name);
            add(part);
        }
        words_.push_back(sum);
        return text;
    }

    std::minstd_rand random_;
    bool in_function_ = false;
    unsigned next_ = 10;
    Names words_, wides_, halves_, predicates_;
};

struct SlotRun {
    std::vector<std::uint32_t> values;
    std::uint64_t warp_bytes = 0;
};

SlotRun run_program(const std::string& text, bool shares, std::uint32_t compile_after) {
    Rig rig;
    rig.options.compile_after = compile_after;
    LoadOptions options;
    options.shares_slots = shares;
    LoadOutcome loaded = Module::load(rig.memory, text, 9, 0, options);
    INFO(loaded.log);
    REQUIRE(loaded.status == LoadStatus::ok);
    std::vector<std::uint32_t> in(input_words);
    std::minstd_rand random(7);
    for (auto& one : in)
        one = static_cast<std::uint32_t>(random()) * 2654435761u;
    const auto from = rig.put(in);
    const auto to = rig.put(std::vector<std::uint32_t>(std::size_t{block_threads} * block_count));
    SlotRun ran;
    ran.warp_bytes = loaded.module->kernel("k")->warp_bytes;
    for (const unsigned block : {block_threads, block_threads - 24}) {
        const LaunchOutcome outcome =
            rig.run(*loaded.module, "k", {block_count}, {block}, from, to);
        INFO(outcome.report);
        REQUIRE(outcome.fault == Fault::none);
        const auto got = rig.get<std::uint32_t>(to, std::size_t{block_threads} * block_count);
        ran.values.insert(ran.values.end(), got.begin(), got.end());
    }
    return ran;
}

std::uint64_t warp_bytes(const std::string& text) {
    Rig rig;
    const auto module = rig.load(text);
    return module->kernel("k")->warp_bytes;
}

}  // namespace

TEST_CASE("shared slots: random kernels give the same results with and without sharing") {
    const unsigned count = testing::as_many(200);
    unsigned halved = 0;
    for (unsigned seed = 1; seed <= count; ++seed) {
        CAPTURE(seed);
        const std::string text = RandomProgram(seed * 7919).text();
        const SlotRun expected = run_program(text, false, 0);
        const SlotRun interpreted = run_program(text, true, 0);
        CHECK(interpreted.values == expected.values);
        CHECK(run_program(text, true, 1 + seed % 2).values == expected.values);
        CHECK(interpreted.warp_bytes <= expected.warp_bytes);
        halved += interpreted.warp_bytes * 2 <= expected.warp_bytes ? 1 : 0;
    }
    CHECK(halved > count / 2);
}

TEST_CASE("shared slots: a long chain of registers takes the memory of a short one") {
    const auto chain = [](unsigned length) {
        std::string body = "mov.u32 %a0, %tid.x;\n";
        for (unsigned k = 1; k < length; ++k)
            body += fmt::format("mad.lo.s32 %a{}, %a{}, 31, 7;\n", k, k - 1);
        return ptx_kernel(".param .u64 out", fmt::format(".reg .b32 %a<{}>;\n", length) + body +
                                                 fmt::format("ld.param.u64 %rd1, [out];\n"
                                                             "st.global.u32 [%rd1], %a{};\n",
                                                             length - 1));
    };
    CHECK(warp_bytes(chain(10'000)) == warp_bytes(chain(10)));
}
