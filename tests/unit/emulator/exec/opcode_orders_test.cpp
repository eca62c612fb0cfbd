// Every order of modifiers that ptxas accepts means the same. Repeats one comparison of each opcode
// of the other families with its modifiers reversed; types, state spaces and layouts keep their
// relative order, and an opcode's first words stay in place.
#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>
#include <set>

namespace lode::emulator::exec::testing {

namespace {

bool is_type(std::string_view word) {
    static const std::set<std::string_view> odd = {
        "pred",   "bf16",   "bf16x2", "f16x2",  "s16x2",     "u16x2",    "tf32", "e4m3x2",
        "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "f32x2",     "ue8m0x2",  "e4m3", "e3m2",
        "e2m3",   "e2m1",   "e5m2",   "b8x16",  "b6x16_p32", "b4x16_p64"};
    if (odd.contains(word)) return true;
    return word.size() >= 2 && word.size() <= 4 &&
           std::string_view("busf").find(word[0]) != std::string_view::npos &&
           word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

bool is_space(std::string_view word) {
    return word == "global" || word == "const" || word == "local" || word.starts_with("shared") ||
           word.starts_with("param");
}

bool is_layout(std::string_view word) {
    return word == "row" || word == "col";
}

/// How many leading words of the opcode stay in place; 0 if the whole opcode stays as it is.
std::size_t fixed_words(std::string_view name, std::string_view second) {
    static const std::set<std::string_view> left = {
        "bar",  "barrier", "mbarrier", "cp",  "fence", "membar", "dp2a", "createpolicy",
        "call", "st",      "ld",       "brx", "bra",   "ret",    "exit", "setmaxnreg"};
    static const std::set<std::string_view> two = {"mul", "mad", "madc", "mul24", "mad24", "shf"};
    if (name == "st" || name == "ld") return second == "bulk" || second == "async" ? 0 : 1;
    if (left.contains(name)) return 0;
    const bool is_part =
        second == "lo" || second == "hi" || second == "wide" || second == "l" || second == "r";
    if (two.contains(name) && is_part) return 2;
    if (name == "wmma") return second == "mma" ? 2 : 3;
    if (name == "wgmma") return 2;
    if ((name == "cvta" && second == "to") || (name == "div" && second == "full")) return 2;
    return name == "cvt" && second == "pack" ? 0 : 1;
}

/// Turns "cvt.rn.ftz.f16.f32" into "cvt.f16.f32.ftz.rn".
std::string turned(std::string_view opcode) {
    std::vector<std::string_view> words;
    for (std::string_view rest = opcode;;) {
        const std::size_t dot = rest.find('.');
        words.push_back(rest.substr(0, dot));
        if (dot == rest.npos) break;
        rest.remove_prefix(dot + 1);
    }
    const std::size_t fixed = words.size() > 1 ? fixed_words(words[0], words[1]) : 0;
    if (fixed == 0 || words.size() < fixed + 2) return std::string(opcode);
    std::vector<std::string_view> types, spaces, layouts;
    for (std::size_t k = fixed; k < words.size(); ++k) {
        if (is_type(words[k])) types.push_back(words[k]);
        if (is_space(words[k])) spaces.push_back(words[k]);
        if (is_layout(words[k])) layouts.push_back(words[k]);
    }
    std::reverse(words.begin() + static_cast<std::ptrdiff_t>(fixed), words.end());
    auto type = types.begin();
    auto space = spaces.begin();
    auto layout = layouts.begin();
    std::string text;
    for (std::size_t k = 0; k < words.size(); ++k) {
        std::string_view word = words[k];
        if (k >= fixed && is_type(word)) word = *type++;
        if (k >= fixed && is_space(word)) word = *space++;
        if (k >= fixed && is_layout(word)) word = *layout++;
        text += (k == 0 ? "" : ".") + std::string(word);
    }
    return text;
}

/// Reorders every opcode in a text.
std::string turned_text(const std::string& ptx) {
    std::string made;
    bool at_start = true;
    for (std::size_t k = 0; k < ptx.size();) {
        const char c = ptx[k];
        if (at_start && c == '@') {
            const std::size_t end = ptx.find(' ', k);
            made += ptx.substr(k, end - k);
            k = end;
            continue;
        }
        if (at_start && c >= 'a' && c <= 'z') {
            const std::size_t end = ptx.find_first_not_of(
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:", k);
            made += turned(std::string_view(ptx).substr(k, end - k));
            k = end;
            at_start = false;
            continue;
        }
        if (c == ';' || c == '{' || c == '}' || c == ':' || c == '\n') {
            at_start = c != '\n' || at_start;
        } else if (c != ' ' && c != '\t') {
            at_start = false;
        }
        made += c;
        ++k;
    }
    return made;
}

class TurnedBench : public Bench {
public:
    explicit TurnedBench(Bench& real) : real_(real) {}
    std::string load(const std::string& ptx) override { return real_.load(turned_text(ptx)); }
    bool may_lack(const std::string& why) override { return real_.may_lack(why); }
    [[nodiscard]] bool is_executor() const override { return real_.is_executor(); }
    [[nodiscard]] std::string summary() const override { return real_.summary(); }
    Ended run(u32 blocks, u32 threads, std::span<std::byte> in, std::span<std::byte> out,
              std::span<const std::byte> last, u64 seed) override {
        return real_.run(blocks, threads, in, out, last, seed);
    }

private:
    Bench& real_;
};

/// One comparison for each opcode that has another order.
Comparisons turned_comparisons() {
    Comparisons all;
    std::set<std::string> seen;
    for (const Family family : families()) {
        if (family == &turned_comparisons) continue;
        for (const Comparison& one : family()) {
            const std::string other = turned(one.opcode);
            if (other == one.opcode || !seen.insert(one.opcode).second) continue;
            all.push_back({other, turned_text(one.text), [one](Bench& bench) {
                               TurnedBench turned_bench(bench);
                               return one.difference(turned_bench);
                           }});
        }
    }
    return all;
}

}  // namespace

TEST_CASE("opcodes: every order of modifiers has the same meaning") {
    CHECK(turned("vote.sync.any.pred") == "vote.pred.any.sync");
    CHECK(turned("cvt.rn.ftz.f16.f32") == "cvt.f16.f32.ftz.rn");
    const Comparisons all = turned_comparisons();
    CHECK(all.size() > 200);
    check_all(all);
}

}  // namespace lode::emulator::exec::testing
