// Arithmetic introduced with sm_100, against the scalar references: mixed precision, pairs of
// floats, minimum of three operands. Tested only on the executor: no GPU of the tests supports it.
#include "tests/unit/emulator/exec/reference_real.hpp"
#include "tests/unit/emulator/exec/support.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec::testing {
namespace {

constexpr std::pair<const char*, Way> ways[] = {
    {".rn", Way::rn}, {".rz", Way::rz}, {".rm", Way::rm}, {".rp", Way::rp}};
constexpr std::size_t count = 256;

bool equal_or_nan(Bits got, Bits want) {
    return got == want || (is_nan(f32_format, got) && is_nan(f32_format, want));
}

/// Runs an instruction on a, b and c and returns d; registers are as wide as `bits` and `result`
/// say.
std::vector<Bits> computed(const std::string& instruction, const std::vector<Bits>& a,
                           const std::vector<Bits>& b, const std::vector<Bits>& c,
                           std::array<u32, 3> bits, u32 result) {
    Rig rig;
    std::string text =
        ".version 8.8\n.target sm_100\n.address_size 64\n.visible .entry k(.param "
        ".u64 in, .param .u64 out)\n{\n.reg .b64 %i, %o, %n; .reg .b32 %t;\n";
    for (u32 k = 0; k < 3; ++k)
        text += fmt::format(".reg .b{} {};\n", bits[k], "abc"[k]);
    text += fmt::format(
        ".reg .b{} d;\nld.param.u64 %i, [in]; ld.param.u64 %o, [out];\n"
        "mov.u32 %t, %tid.x; mul.wide.u32 %n, %t, 8;\n"
        "add.u64 %i, %i, %n; add.u64 %o, %o, %n;\n",
        result);
    for (u32 k = 0; k < 3; ++k)
        text += fmt::format("ld.global.b{} {}, [%i+{}];\n", bits[k], "abc"[k], k * count * 8);
    text += instruction + fmt::format("\nst.global.b{} [%o], d;\nret;\n}}\n", result);
    INFO(instruction);
    const auto module = rig.load(text, 10, 0);
    REQUIRE(module->refusal("k") == nullptr);
    std::vector<Bits> given = a;
    given.insert(given.end(), b.begin(), b.end());
    given.insert(given.end(), c.begin(), c.end());
    const auto in = rig.put(given);
    const auto out = rig.put(std::vector<Bits>(count));
    const auto outcome = rig.run(*module, "k", {1}, {count}, in, out);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    return rig.get<Bits>(out, count);
}

/// Edge values of the type; each `step` gives another order.
std::vector<Bits> turned(std::string_view type, std::size_t step) {
    const std::vector<Bits> all = values(type, count);
    std::vector<Bits> made(count);
    for (std::size_t k = 0; k < count; ++k)
        made[k] = all[(k * step + step) % all.size()];
    return made;
}

void check(const std::string& instruction, const std::vector<Bits>& got,
           const std::function<Bits(std::size_t)>& want, const Accepts& accepts) {
    for (std::size_t k = 0; k < count; ++k) {
        if (accepts(got[k], want(k))) continue;
        FAIL_CHECK(
            fmt::format("{} of values {}: {:x}, and not {:x}", instruction, k, got[k], want(k)));
        return;
    }
}

}  // namespace

TEST_CASE("composed: add, sub and fma of floats with halves round once") {
    const Accepts same = equal_or_nan;
    for (const std::string half : {"f16", "bf16"}) {
        const RealFormat& narrow = format_named(half);
        const auto a = turned(half, 1);
        const auto b = turned(half, 7);
        const auto c = turned("f32", 5);
        const auto wide = [&](Bits x) { return real_convert(f32_format, Way::rn, narrow, x); };
        for (const auto& [name, way] : ways) {
            for (const bool sat : {false, true}) {
                const std::string end = std::string(name) + (sat ? ".sat" : "") + ".f32." + half;
                const auto limited = [&, sat](Bits x) { return sat ? saturate(f32_format, x) : x; };
                const Way how = way;
                std::string text = "add" + end + " d, a, c;";
                check(
                    text, computed(text, a, b, c, {16, 16, 32}, 32),
                    [&](std::size_t k) {
                        return limited(real_add(f32_format, how, wide(a[k]), c[k]));
                    },
                    same);
                text = "sub" + end + " d, a, c;";
                check(
                    text, computed(text, a, b, c, {16, 16, 32}, 32),
                    [&](std::size_t k) {
                        return limited(real_subtract(f32_format, how, wide(a[k]), c[k]));
                    },
                    same);
                text = "fma" + end + " d, a, b, c;";
                check(
                    text, computed(text, a, b, c, {16, 16, 32}, 32),
                    [&](std::size_t k) {
                        return limited(real_fma(f32_format, how, wide(a[k]), wide(b[k]), c[k]));
                    },
                    same);
            }
        }
    }
}

TEST_CASE("composed: .f32x2 computes two floats") {
    std::array<std::vector<Bits>, 3> given;
    for (std::size_t k = 0; k < 3; ++k) {
        const auto low = turned("f32", 2 * k + 1);
        const auto high = turned("f32", 2 * k + 9);
        for (std::size_t i = 0; i < count; ++i)
            given[k].push_back(high[i] << 32 | low[i]);
    }
    const Accepts same = [](Bits got, Bits want) {
        return equal_or_nan(got & 0xffffffff, want & 0xffffffff) &&
               equal_or_nan(got >> 32, want >> 32);
    };
    for (const std::string base : {"add", "sub", "mul", "fma"}) {
        for (const auto& [name, way] : ways) {
            for (const bool ftz : {false, true}) {
                const std::string text = base + name + (ftz ? ".ftz" : "") + ".f32x2 d, a, b" +
                                         (base == "fma" ? ", c;" : ";");
                const Way how = way;
                const auto value = [&](std::size_t k, u32 shift) {
                    const auto in = [&](std::size_t j) {
                        const Bits x = given[j][k] >> shift & 0xffffffff;
                        return ftz ? flush(f32_format, x) : x;
                    };
                    const Bits made = base == "add"   ? real_add(f32_format, how, in(0), in(1))
                                      : base == "sub" ? real_subtract(f32_format, how, in(0), in(1))
                                      : base == "mul"
                                          ? real_multiply(f32_format, how, in(0), in(1))
                                          : real_fma(f32_format, how, in(0), in(1), in(2));
                    return ftz ? flush(f32_format, made) : made;
                };
                check(
                    text, computed(text, given[0], given[1], given[2], {64, 64, 64}, 64),
                    [&](std::size_t k) { return value(k, 32) << 32 | value(k, 0); }, same);
            }
        }
    }
}

TEST_CASE("composed: min and max of three floats, with .ftz, .NaN and .abs") {
    const auto a = turned("f32", 3);
    const auto b = turned("f32", 11);
    const auto c = turned("f32", 17);
    for (u32 k = 0; k < 16; ++k) {
        const bool least = (k & 1) != 0;
        const bool ftz = (k & 2) != 0;
        const bool nan = (k & 4) != 0;
        const bool absolute = (k & 8) != 0;
        const std::string text = std::string(least ? "min" : "max") + (ftz ? ".ftz" : "") +
                                 (nan ? ".NaN" : "") + (absolute ? ".abs" : "") +
                                 ".f32 d, a, b, c;";
        const auto in = [&](Bits x) {
            if (absolute) x &= 0x7fffffff;
            return ftz ? flush(f32_format, x) : x;
        };
        const auto of = [&](Bits x, Bits y) {
            return least ? real_min(f32_format, x, y, nan) : real_max(f32_format, x, y, nan);
        };
        check(
            text, computed(text, a, b, c, {32, 32, 32}, 32),
            [&](std::size_t i) { return of(of(in(a[i]), in(b[i])), in(c[i])); }, equal_or_nan);
    }
}

}  // namespace lode::emulator::exec::testing
