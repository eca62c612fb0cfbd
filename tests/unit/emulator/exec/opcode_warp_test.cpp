// Communication between the lanes of a warp: shfl, vote, match, redux, elect, activemask.
#include "tests/unit/emulator/exec/reference_real.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

/// The participating lanes: whole warps; half warps that execute one instruction with different
/// masks; the lanes for which a branch isn't taken.
enum class Crowd { whole, halves, some };
constexpr Crowd crowds[] = {Crowd::whole, Crowd::halves, Crowd::some};

bool takes_part(Crowd crowd, u32 lane) {
    return crowd != Crowd::some || lane % 5 != 2;
}
/// The member mask of a lane in a warp of `size` lanes.
u32 members_of(Crowd crowd, u32 lane, u32 size) {
    u32 mask = 0;
    for (u32 k = 0; k < size; ++k) {
        const bool near = crowd != Crowd::halves || k / 16 == lane / 16;
        if (near && takes_part(crowd, k)) mask |= 1u << k;
    }
    return mask;
}

/// PTX that sets %r15 to the member mask; lanes that don't take part jump to DONE.
std::string gather(Crowd crowd) {
    std::string text = "mov.u32 %r14, %laneid;\nactivemask.b32 %r15;\n";
    if (crowd == Crowd::halves) {
        text += "and.b32 %r13, %r14, 16;\nshl.b32 %r13, 0xffff, %r13;\nand.b32 %r15, %r15, %r13;\n";
    } else if (crowd == Crowd::some) {
        text +=
            "rem.u32 %r13, %r14, 5;\nsetp.eq.u32 %p15, %r13, 2;\n@%p15 bra DONE;\n"
            "activemask.b32 %r15;\n";
    }
    return text;
}

/// The inputs of a lane: the rows of its warp, and the mask of participating lanes.
struct View {
    const Row* rows;
    u32 lane, members;

    template <class F>
    void each(F f) const {
        for (u32 k = 0; k < 32; ++k) {
            if ((members >> k & 1) != 0) f(k);
        }
    }
};

/// A scene whose participating lanes store f(view), a pair of words, at the start of their row.
template <class F>
Scene scene(const std::string& opcode, Crowd crowd, const std::string& body, F f, bool odd = true) {
    Scene made{
        opcode, gather(crowd) + body + "DONE:\n", [=](Rows& in, Rows& out) {
            const auto threads = static_cast<u32>(in.size());
            for (u32 i = 0; i < threads; ++i) {
                const u32 first = i / 32 * 32;
                const u32 size = std::min(32u, threads - first);
                if (!takes_part(crowd, i % 32)) continue;
                const auto [x, y] = f(View{&in[first], i % 32, members_of(crowd, i % 32, size)});
                set(out[i], 0, static_cast<u32>(x));
                set(out[i], 4, static_cast<u32>(y));
            }
        }};
    made.odd = odd;
    return made;
}
using Two = std::pair<u32, u32>;

struct Shuffle {
    const char* mode;
    std::optional<u32> b, c;  ///< Immediate operands; if absent, the lane's second and third word.
};

/// The source lane, and whether it is in range.
std::pair<u32, bool> chosen(std::string_view mode, u32 lane, u32 b, u32 c) {
    const u32 segment = c >> 8 & 31;
    const u32 clamp = (lane & segment) | (c & 31 & ~segment);
    b &= 31;
    i32 source = 0;
    if (mode == "up") source = static_cast<i32>(lane) - static_cast<i32>(b);
    if (mode == "down") source = static_cast<i32>(lane + b);
    if (mode == "bfly") source = static_cast<i32>(lane ^ b);
    if (mode == "idx") source = static_cast<i32>((lane & segment) | (b & ~segment));
    const auto limit = static_cast<i32>(clamp);
    const bool fine = mode == "up" ? source >= limit : source <= limit;
    return {fine ? static_cast<u32>(source) : lane, fine};
}

void add_shuffle(Comparisons& all, Crowd crowd, const Shuffle& one) {
    const std::string mode = one.mode;
    const std::string opcode = "shfl.sync." + mode + ".b32";
    const std::string b = one.b ? std::to_string(*one.b) : "%r5";
    const std::string c = one.c ? std::to_string(*one.c) : "%r6";
    std::string body =
        "ld.global.u32 %r4, [%in];\nld.global.u32 %r5, [%in+8];\nld.global.u32 %r6, [%in+16];\n";
    body += opcode + " %r7|%p1, %r4, " + b + ", " + c + ", %r15;\n";
    body += "selp.u32 %r8, 1, 0, %p1;\nst.global.u32 [%out], %r7;\nst.global.u32 [%out+4], %r8;\n";
    Scene made = scene(
        opcode, crowd, body,
        [=](const View& view) {
            const u32 from_b = one.b ? *one.b : get<u32>(view.rows[view.lane], 8);
            const u32 from_c = one.c ? *one.c : get<u32>(view.rows[view.lane], 16);
            const auto [source, fine] = chosen(mode, view.lane, from_b, from_c);
            return Two{get<u32>(view.rows[source], 0), u32{fine}};
        },
        false);
    // For half warps, only sources in the same half are defined.
    made.fill = [=](std::size_t thread, std::size_t word) -> u64 {
        if (word == 0) return thread * 0x01010101 + 7;
        if (word == 1) return thread * 11 + (crowd == Crowd::halves ? 0 : 3);
        static constexpr u32 segments[] = {0x001f, 0x1f1f, 0x181f, 0x1c03, 0x1e01, 0x0000, 0x100f};
        return segments[crowd == Crowd::halves ? 6 : thread % 7];
    };
    all.push_back(compared(std::move(made)));
}

void add_shuffles(Comparisons& all) {
    for (const char* const mode : {"idx", "up", "down", "bfly"}) {
        for (const u32 c :
             {0x001fu, 0x1f1fu, 0x181fu, 0x1c03u, 0x1e00u, 0x0000u, 0x1800u, 0x000fu}) {
            for (const u32 b : {0u, 1u, 3u, 7u, 16u, 31u, 37u})
                add_shuffle(all, Crowd::whole, {mode, b, c});
            add_shuffle(all, Crowd::whole, {mode, std::nullopt, c});
        }
        add_shuffle(all, Crowd::whole, {mode, std::nullopt, std::nullopt});
        add_shuffle(all, Crowd::whole, {mode, 5, std::nullopt});
        // Segments of 16 lanes separate the halves.
        const u32 segment = std::string_view(mode) == "up" ? 0x1000 : 0x100f;
        add_shuffle(all, Crowd::halves, {mode, std::nullopt, segment});
        add_shuffle(all, Crowd::halves, {mode, 3, segment});
    }
    // Without a predicate result, with the source as destination, and with an immediate mask.
    all.push_back(compared(scene(
        "shfl.sync.bfly.b32", Crowd::whole,
        "ld.global.u32 %r4, [%in];\nshfl.sync.bfly.b32 %r4, %r4, 1, 0x1f, -1;\n"
        "shfl.sync.down.b32 %r6|%p1, %r4, 8, 0x1f, 0xffffffff;\nselp.u32 %r5, 1, 0, %p1;\n"
        "st.global.u32 [%out], %r4;\nst.global.u32 [%out+4], %r5;\n",
        [](const View& view) {
            return Two{get<u32>(view.rows[view.lane ^ 1], 0), view.lane + 8 < 32 ? 1 : 0};
        },
        false)));
}

/// Values for the first word's low bit. Each half warp gets one of: mixed, all, none, all but one.
u64 vote_word(u32 kind, std::size_t thread) {
    const std::size_t half = thread / 16 + kind;
    const bool odd = (thread * 0x9e3779b9 >> 4 & 1) != 0;
    const bool yes = half % 4 == 0   ? odd
                     : half % 4 == 1 ? true
                     : half % 4 == 2 ? false
                                     : thread % 16 != 9;
    return (thread << 8) | u64{yes};
}

void add_votes(Comparisons& all) {
    for (const Crowd crowd : crowds) {
        for (u32 kind = 0; kind < 4; ++kind) {
            for (const bool negated : {false, true}) {
                const auto add = [&](const std::string& opcode, auto f) {
                    const std::string source = negated ? "!%p1" : "%p1";
                    const bool ballot = opcode.find("ballot") != std::string::npos;
                    std::string body =
                        "ld.global.u32 %r4, [%in];\nand.b32 %r4, %r4, 1;\n"
                        "setp.ne.u32 %p1, %r4, 0;\n";
                    body += opcode + (ballot ? " %r5, " : " %p2, ") + source + ", %r15;\n";
                    if (!ballot) body += "selp.u32 %r5, 1, 0, %p2;\n";
                    body += "mov.u32 %r6, 0;\nst.global.v2.u32 [%out], {%r5, %r6};\n";
                    Scene made = scene(opcode, crowd, body, [=](const View& view) {
                        u32 yes = 0;
                        view.each([&](u32 k) {
                            const bool value = (view.rows[k][0] & 1) != 0;
                            yes |= u32{value != negated} << k;
                        });
                        return Two{f(yes, view.members), 0};
                    });
                    made.fill = [kind](std::size_t thread, std::size_t) {
                        return vote_word(kind, thread);
                    };
                    all.push_back(compared(std::move(made)));
                };
                add("vote.sync.all.pred", [](u32 yes, u32 who) { return u32{yes == who}; });
                add("vote.sync.any.pred", [](u32 yes, u32) { return u32{yes != 0}; });
                add("vote.sync.uni.pred",
                    [](u32 yes, u32 who) { return u32{yes == who || yes == 0}; });
                add("vote.sync.ballot.b32", [](u32 yes, u32) { return yes; });
            }
        }
    }
}

template <class T>
void add_match(Comparisons& all, Crowd crowd, u32 distinct) {
    const std::string type = sizeof(T) == 8 ? "b64" : "b32";
    const std::string value = sizeof(T) == 8 ? "%d4" : "%r4";
    const auto equal = [](const View& view) {
        u32 mask = 0;
        view.each(
            [&](u32 k) { mask |= u32{get<T>(view.rows[k]) == get<T>(view.rows[view.lane])} << k; });
        return mask;
    };
    const auto add = [&](const std::string& opcode, const std::string& destination, auto f) {
        std::string body = "mov.pred %p1, 0;\nld.global." + type + " " + value + ", [%in];\n";
        body += opcode + " " + destination + ", " + value + ", %r15;\n";
        body += "selp.u32 %r6, 1, 0, %p1;\nst.global.v2.u32 [%out], {%r5, %r6};\n";
        Scene made = scene(opcode, crowd, body, f);
        // Some values are equal only in the low half, others in both.
        made.fill = [distinct](std::size_t thread, std::size_t) {
            const u64 kind = thread * 7 % 13 % distinct;
            return (kind / 2) | ((kind % 2) << 40);
        };
        all.push_back(compared(std::move(made)));
    };
    add("match.any.sync." + type, "%r5", [=](const View& view) { return Two{equal(view), 0}; });
    add("match.all.sync." + type, "%r5|%p1", [=](const View& view) {
        const bool every = equal(view) == view.members;
        return Two{every ? view.members : 0, u32{every}};
    });
}

template <class T, class F>
void add_reduction(Comparisons& all, Crowd crowd, const std::string& name, F f) {
    const std::string opcode = "redux.sync." + name;
    std::string body = "ld.global.u32 %r4, [%in];\n";
    body += opcode + " %r5, %r4, %r15;\nmov.u32 %r6, 0;\nst.global.v2.u32 [%out], {%r5, %r6};\n";
    Scene made = scene(opcode, crowd, body, [=](const View& view) {
        std::optional<T> result;
        view.each([&](u32 k) {
            const T value = get<T>(view.rows[k]);
            result = result ? f(*result, value) : value;
        });
        return Two{static_cast<u32>(*result), 0};
    });
    const auto pool = values(type_name<T>(), 61);
    made.fill = [pool](std::size_t thread, std::size_t) { return pool[thread * 17 % 61]; };
    all.push_back(compared(std::move(made)));
}

void add_real_reductions(Comparisons& all, Crowd crowd) {
    for (const bool least : {true, false}) {
        for (const bool absolute : {false, true}) {
            for (const bool nan : {false, true}) {
                for (const u32 step : {1u, 5u}) {
                    const std::string opcode = std::string("redux.sync.") +
                                               (least ? "min" : "max") + (absolute ? ".abs" : "") +
                                               (nan ? ".NaN" : "") + ".f32";
                    std::string body = "ld.global.u32 %r4, [%in];\n" + opcode +
                                       " %r5, %r4, %r15;\nmov.u32 %r6, 0;\n"
                                       "st.global.v2.u32 [%out], {%r5, %r6};\n";
                    Scene made = scene(opcode, crowd, body, [=](const View& view) {
                        std::optional<Bits> result;
                        view.each([&](u32 k) {
                            Bits value = get<u32>(view.rows[k]);
                            if (absolute) value &= 0x7fff'ffff;
                            result = !result ? value
                                     : least ? real_min(f32_format, *result, value, nan)
                                             : real_max(f32_format, *result, value, nan);
                        });
                        return Two{static_cast<u32>(*result), 0};
                    });
                    const auto pool = values("f32", 61);
                    // With step 5 the values contain hardly any NaN.
                    made.fill = [pool, step](std::size_t thread, std::size_t) {
                        return step == 1 ? pool[thread % 61] : pool[24 + thread % 37];
                    };
                    all.push_back(compared(std::move(made)));
                }
            }
        }
    }
}

void add_reductions(Comparisons& all, Crowd crowd) {
    add_reduction<u32>(all, crowd, "add.u32", [](u32 a, u32 b) { return a + b; });
    add_reduction<i32>(all, crowd, "add.s32",
                       [](i32 a, i32 b) { return static_cast<i32>(i64{a} + b); });
    add_reduction<u32>(all, crowd, "min.u32", [](u32 a, u32 b) { return std::min(a, b); });
    add_reduction<i32>(all, crowd, "min.s32", [](i32 a, i32 b) { return std::min(a, b); });
    add_reduction<u32>(all, crowd, "max.u32", [](u32 a, u32 b) { return std::max(a, b); });
    add_reduction<i32>(all, crowd, "max.s32", [](i32 a, i32 b) { return std::max(a, b); });
    add_reduction<u32>(all, crowd, "and.b32", [](u32 a, u32 b) { return a & b; });
    add_reduction<u32>(all, crowd, "or.b32", [](u32 a, u32 b) { return a | b; });
    add_reduction<u32>(all, crowd, "xor.b32", [](u32 a, u32 b) { return a ^ b; });
    add_real_reductions(all, crowd);
}

void add_leaders(Comparisons& all, Crowd crowd) {
    const std::string store = "selp.u32 %r6, 1, 0, %p1;\nst.global.v2.u32 [%out], {%r5, %r6};\n";
    all.push_back(compared(
        scene("elect.sync", crowd, "elect.sync %r5|%p1, %r15;\n" + store, [](const View& view) {
            const auto first = static_cast<u32>(std::countr_zero(view.members));
            return Two{first, u32{first == view.lane}};
        })));
    // Half warps with different masks still run together.
    all.push_back(compared(scene(
        "activemask.b32", crowd, "mov.pred %p1, 1;\nactivemask.b32 %r5;\n" + store,
        [crowd](const View& view) {
            const bool split = crowd == Crowd::halves;
            return Two{split ? 0xffff'ffff : view.members, 1};
        },
        crowd != Crowd::halves)));
}

}  // namespace

static Comparisons warp_family() {
    Comparisons all;
    add_shuffles(all);
    add_votes(all);
    for (const Crowd crowd : crowds) {
        for (const u32 distinct : {1u, 2u, 5u}) {
            add_match<u32>(all, crowd, distinct);
            add_match<u64>(all, crowd, distinct);
        }
        add_reductions(all, crowd);
        add_leaders(all, crowd);
    }
    return all;
}

LODE_OPCODE_FAMILY(
    "opcode: lanes of a warp exchange, vote, match and reduce as their reference does", warp_family)

}  // namespace lode::emulator::exec::testing
