// atom and red: old and new value in every state space, for every operation and type.
#include "tests/unit/emulator/exec/opcode_memory.hpp"
#include "tests/unit/emulator/exec/reference_real.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

bool is_real(const std::string& type) {
    return type[0] == 'f' || type.starts_with("bf");
}
u32 bytes_of(const std::string& type) {
    if (type.ends_with("x2")) return 4;
    return static_cast<u32>(std::stoul(type.substr(type.find_first_of("0123456789")))) / 8;
}

/// The new value for integers of `bits` bits.
u64 integer_next(const std::string& what, bool is_signed, u32 bits, u64 old, u64 b, u64 c) {
    const auto less = [=](u64 x, u64 y) {
        const u32 shift = 64 - bits;
        return is_signed ? static_cast<i64>(x << shift) < static_cast<i64>(y << shift) : x < y;
    };
    if (what == "add") return old + b;
    if (what == "min") return less(b, old) ? b : old;
    if (what == "max") return less(old, b) ? b : old;
    if (what == "and") return old & b;
    if (what == "or") return old | b;
    if (what == "xor") return old ^ b;
    if (what == "inc") return old >= b ? 0 : old + 1;
    if (what == "dec") return old == 0 || old > b ? b : old - 1;
    return what == "exch" ? b : (old == b ? c : old);
}

u64 real_next(const std::string& what, const RealFormat& f, bool ftz, u64 old, u64 b) {
    if (what == "min") return real_min(f, old, b);
    if (what == "max") return real_max(f, old, b);
    if (!ftz) return real_add(f, Way::rn, old, b);
    return flush(f, real_add(f, Way::rn, flush(f, old), flush(f, b)));
}

u64 next(const std::string& what, const std::string& type, bool ftz, u64 old, u64 b, u64 c) {
    if (!is_real(type)) return integer_next(what, type[0] == 's', 8 * bytes_of(type), old, b, c);
    if (!type.ends_with("x2")) return real_next(what, format_named(type), ftz, old, b);
    const RealFormat& f = format_named(type.substr(0, type.size() - 2));
    return real_next(what, f, ftz, old & 0xffff, b & 0xffff) |
           (real_next(what, f, ftz, (old >> 16) & 0xffff, (b >> 16) & 0xffff) << 16);
}

/// Values to test. Reals: f64 without NaN, whose payload is unspecified. Integers: edge values; in
/// every fourth thread the value equals its operand.
std::function<u64(std::size_t, std::size_t)> filling(const std::string& type) {
    std::vector<Bits> pool = values(type, 97);
    if (type == "f64") {
        std::erase_if(pool, [](Bits a) { return (a >> 52 & 0x7ff) == 0x7ff; });
    }
    const bool real = is_real(type);
    return [=](std::size_t thread, std::size_t word) {
        // Pairs of denormals and of the least and greatest numbers.
        if (real && thread % 8 == 0 && word < 2) return pool[8 + (thread / 8 + word) % 4];
        if (!real && thread % 4 == 0 && word < 2) word = 0;
        return pool[(thread * (word + 1) + 5 * word) % pool.size()];
    };
}

struct Atomic {
    Place place;
    std::string opcode, what, type;
    bool has_result = true;
    bool guarded = false;
    u32 vector = 1;
};

/// Additions of f32 flush denormals in global memory but not in shared memory.
bool flushes(const Atomic& a) {
    return a.type == "f32" && a.what == "add" && !is_shared(a.place);
}

/// The target is in the row's first 16 bytes, the operands follow at offsets 16 and 32.
Comparison compared(const Atomic& a) {
    const u32 bytes = bytes_of(a.type);
    const u32 width = 8 * bytes;
    std::string body = prepare(a.place, Pattern::rows, scene_threads, 64, "%in");
    for (u32 k = 0; k < a.vector; ++k) {
        const auto load = [&](u32 first, u32 from) {
            body += fmt::format("ld.global.b{} {}, [%in+{}];\n", width,
                                register_name(width, first + k), from + k * bytes);
        };
        // Registers 6 to 8 hold the result and the two operands; vector forms have one operand.
        if (a.vector == 1) {
            load(7, 16);
            load(8, 32);
        } else {
            load(6 + a.vector, 16);
        }
        body +=
            fmt::format("mov.b{} {}, 0x5a5a5a5a5a5a5a5a;\n", width, register_name(width, 6 + k));
    }
    std::string operands = registers(width, a.vector);
    std::string values = register_name(width, 7);
    if (a.vector > 1) {
        values = "{";
        for (u32 k = 0; k < a.vector; ++k)
            values += (k == 0 ? "" : ", ") + register_name(width, 6 + a.vector + k);
        values += "}";
    }
    if (a.guarded) body += "rem.u32 %r2, %i, 3;\nsetp.ne.u32 %p1, %r2, 1;\n@%p1 ";
    body += a.opcode + " ";
    if (a.has_result) body += operands + ", ";
    body += address(a.place, 0) + ", " + values;
    if (a.what == "cas") body += ", " + register_name(width, 8);
    body += ";\n";
    for (u32 k = 0; k < a.vector; ++k) {
        body += fmt::format("st.global.b{} [%out+{}], {};\n", width, k * bytes,
                            register_name(width, 6 + k));
    }
    body += copy_back(a.place, "%in");
    Scene scene{a.opcode, body,
                [=](Rows& in, Rows& out) {
                    for (u32 i = 0; i < scene_threads; ++i) {
                        if (a.guarded && i % 3 == 1) continue;
                        for (u32 k = 0; k < a.vector; ++k) {
                            const auto word = [&](u32 at) {
                                u64 bits = 0;
                                std::memcpy(&bits, reinterpret_cast<char*>(&in[i]) + at, bytes);
                                return bits;
                            };
                            const u64 old = word(k * bytes);
                            const u64 fresh = next(a.what, a.type, flushes(a), old,
                                                   word(16 + k * bytes), word(32 + k * bytes));
                            std::memcpy(reinterpret_cast<char*>(&in[i]) + k * bytes, &fresh, bytes);
                            if (a.has_result) {
                                std::memcpy(reinterpret_cast<char*>(&out[i]) + k * bytes, &old,
                                            bytes);
                            }
                        }
                    }
                },
                declarations(a.place), scene_threads};
    scene.fill = [fill = filling(a.type), bytes, vector = a.vector](std::size_t thread,
                                                                    std::size_t word) {
        if (bytes == 8 || vector == 1) return fill(thread, word / 2);
        u64 bits = 0;
        for (u32 k = 0; k < 8 / bytes; ++k)
            bits |= fill(thread + 13 * k, word) << (8 * bytes * k);
        return bits;
    };
    return testing::compared(std::move(scene));
}

struct Operation {
    const char* what;
    std::vector<std::string> types;
};
const std::vector<Operation>& operations() {
    static const std::vector<Operation> all{
        {"add", {"u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"}},
        {"min", {"u32", "s32", "u64", "s64"}},
        {"max", {"u32", "s32", "u64", "s64"}},
        {"inc", {"u32"}},
        {"dec", {"u32"}},
        {"and", {"b32", "b64"}},
        {"or", {"b32", "b64"}},
        {"xor", {"b32", "b64"}},
        {"exch", {"b32", "b64"}},
        {"cas", {"b16", "b32", "b64"}},
    };
    return all;
}

std::string suffix(const std::string& type) {
    const bool half = type.find("f16") != std::string::npos;
    return (half ? ".noftz." : ".") + type;
}

void add_spaces(Comparisons& all) {
    for (const Place place : {Place::global, Place::shared, Place::shared_wide,
                              Place::generic_global, Place::generic_shared}) {
        for (const Operation& one : operations()) {
            for (const std::string& type : one.types) {
                const std::string tail = space_of(place) + "." + one.what + suffix(type);
                all.push_back(compared({place, "atom" + tail, one.what, type}));
                all.push_back(compared({place, "atom" + tail, one.what, type, true, true}));
                const std::string what = one.what;
                if (what == "exch" || what == "cas") continue;
                all.push_back(compared({place, "red" + tail, one.what, type, false}));
                all.push_back(compared({place, "red" + tail, one.what, type, false, true}));
            }
        }
    }
}

/// Orders and scopes, at the positions that PTX defines and at those that NVRTC emits.
void add_orders(Comparisons& all) {
    for (const Operation& one : operations()) {
        for (const std::string& type : one.types) {
            const std::string what = std::string(".") + one.what;
            const std::string tail = suffix(type);
            for (const char* const order : {".relaxed", ".acquire", ".release", ".acq_rel"}) {
                for (const char* const scope : {".cta", ".gpu", ".sys"}) {
                    const std::string both = std::string(order) + scope;
                    all.push_back(compared(
                        {Place::generic_global, "atom" + both + what + tail, one.what, type}));
                    all.push_back(compared(
                        {Place::generic_global, "atom" + what + both + tail, one.what, type}));
                    all.push_back(compared(
                        {Place::global, "atom" + both + ".global" + what + tail, one.what, type}));
                }
                all.push_back(
                    compared({Place::global, std::string("atom") + order + ".global" + what + tail,
                              one.what, type}));
            }
            for (const char* const scope : {".cta", ".gpu", ".sys", ".cluster"}) {
                all.push_back(
                    compared({Place::global, std::string("atom.global") + scope + what + tail,
                              one.what, type}));
            }
        }
    }
}

void add_vectors(Comparisons& all) {
    struct Vector {
        u32 count;
        const char* what;
        const char* type;
    };
    static constexpr Vector vectors[] = {
        {2, "add", "f32"},    {4, "add", "f32"},   {2, "add", "f16"},   {4, "add", "f16"},
        {2, "min", "f16"},    {4, "max", "f16"},   {2, "add", "bf16"},  {4, "min", "bf16"},
        {2, "max", "bf16"},   {2, "add", "f16x2"}, {4, "add", "f16x2"}, {2, "min", "f16x2"},
        {4, "max", "bf16x2"}, {2, "add", "bf16x2"}};
    for (const Vector& one : vectors) {
        const std::string tail = fmt::format(".global.{}{}.v{}.{}", one.what,
                                             suffix(one.type).starts_with(".noftz") ? ".noftz" : "",
                                             one.count, one.type);
        all.push_back(
            compared({Place::global, "atom" + tail, one.what, one.type, true, false, one.count}));
        all.push_back(
            compared({Place::global, "red" + tail, one.what, one.type, false, false, one.count}));
    }
}

/// 128-bit operations.
void add_wide(Comparisons& all) {
    const std::string load =
        ".reg .b128 x, y, z;\nld.global.v2.u64 {%d4, %d5}, [%in+16];\n"
        "ld.global.v2.u64 {%d6, %d7}, [%in+32];\nmov.b128 y, {%d4, %d5};\n"
        "mov.b128 z, {%d6, %d7};\n";
    const std::string save = "mov.b128 {%d4, %d5}, x;\nst.global.v2.u64 [%out], {%d4, %d5};\n";
    for (const Place place : {Place::global, Place::shared}) {
        for (const bool swap : {false, true}) {
            const std::string opcode =
                "atom" + space_of(place) + (swap ? ".cas.b128" : ".exch.b128");
            std::string body = prepare(place, Pattern::rows, scene_threads, 64, "%in") + load +
                               opcode + " x, " + address(place, 0) + ", y" + (swap ? ", z" : "") +
                               ";\n" + save + copy_back(place, "%in");
            Scene scene{opcode, std::move(body),
                        [=](Rows& in, Rows& out) {
                            for (u32 i = 0; i < scene_threads; ++i) {
                                out[i][0] = in[i][0];
                                out[i][1] = in[i][1];
                                const bool same = in[i][0] == in[i][2] && in[i][1] == in[i][3];
                                if (swap && !same) continue;
                                in[i][0] = in[i][swap ? 4 : 2];
                                in[i][1] = in[i][swap ? 5 : 3];
                            }
                        },
                        declarations(place), scene_threads};
            scene.fill = [](std::size_t thread, std::size_t word) {
                return thread % 2 == 0 && word < 4 ? u64{thread + word % 2} : thread * 977 + word;
            };
            all.push_back(testing::compared(std::move(scene)));
        }
    }
}

/// All threads update one location: no update is lost, and each old value is returned once.
void add_contention(Comparisons& all) {
    for (const bool shared : {false, true}) {
        const std::string opcode = shared ? "atom.shared.add.u32" : "atom.global.add.u32";
        const std::string place = shared ? "[room]" : "[%d2]";
        const std::string space = shared ? ".shared" : ".global";
        all.push_back(testing::compared(Scene{
            opcode,
            "sub.u64 %d2, %out, %d1;\nsetp.eq.u32 %p1, %i, 0;\nmov.u32 %r4, 0;\n@%p1 st" + space +
                ".u32 " + place + ", %r4;\nbar.sync 0;\n" + opcode + " %r3, " + place +
                ", 1;\nmul.wide.u32 %d3, %r3, 64;\nadd.u64 %d3, %d3, %d2;\n"
                "st.global.u32 [%d3+8], %r3;\nbar.sync 0;\nld" +
                space + ".u32 %r5, " + place + ";\nst.global.u32 [%out+16], %r5;",
            [=](Rows&, Rows& out) {
                const auto n = static_cast<u32>(out.size());
                if (!shared) set(out[0], 0, n);
                for (u32 i = 0; i < n; ++i) {
                    set(out[i], 8, i);
                    set(out[i], 16, n);
                }
            },
            ".shared .align 4 .b8 room[4];\n", scene_threads, exec::Fault::none, true}));
    }
}

}  // namespace

static Comparisons atomic_family() {
    Comparisons all;
    add_spaces(all);
    add_orders(all);
    add_vectors(all);
    add_wide(all);
    add_contention(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: atomics return the old value and leave the new one", atomic_family)

}  // namespace lode::emulator::exec::testing
