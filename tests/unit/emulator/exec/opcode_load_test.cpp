// ld and ldu: which bytes reach which registers, from every state space, with every address
// pattern.
#include "tests/unit/emulator/exec/opcode_memory.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

struct Load {
    Place place;
    Pattern pattern;
    MemoryType type;
    u32 vector;
    u32 width;           ///< Width of the registers.
    std::string before;  ///< Modifiers before the state space: ".volatile", ".acquire.gpu".
    std::string after;   ///< Modifiers after it: ".nc", ".ca".
    std::string base = "ld";
};

/// Memory contents `bits`, extended to a register of `width` bits.
u64 extended(u64 bits, const MemoryType& type, u32 width) {
    const u32 shift = 64 - 8 * type.bytes;
    const u64 whole = type.is_signed ? static_cast<u64>(static_cast<i64>(bits << shift) >> shift)
                                     : (bits << shift) >> shift;
    return width == 64 ? whole : whole & ((u64{1} << width) - 1);
}

Comparison compared(const Load& load) {
    constexpr u32 threads = 64;
    const u32 size = load.type.bytes * load.vector;
    const u32 offset = size > 16 ? 32 : 16;
    std::string opcode = load.base + load.before + space_of(load.place) + load.after;
    if (load.vector > 1) opcode += fmt::format(".v{}", load.vector);
    opcode += "." + load.type.name;
    std::string body = prepare(load.place, load.pattern, threads, size, "%in");
    for (u32 k = 0; k < load.vector; ++k) {
        body += fmt::format("mov.b{} {}, 0x5a5a5a5a5a5a5a5a;\n", load.width,
                            register_name(load.width, 6 + k));
    }
    body += fmt::format("{}{} {}, {};\n", guard(load.pattern), opcode,
                        registers(load.width, load.vector), address(load.place, offset));
    for (u32 k = 0; k < load.vector; ++k) {
        body += fmt::format("st.global.b{} [%out+{}], {};\n", load.width, 8 * k,
                            register_name(load.width, 6 + k));
    }
    return testing::compared(
        Scene{opcode, body,
              [=](Rows& in, Rows& out) {
                  Rows table = in;
                  if (is_constant(load.place)) {
                      for (u32 k = 0; k < 64; ++k)
                          table[k / 8][k % 8] = constant_word(k);
                  }
                  for (u32 i = 0; i < threads; ++i) {
                      if (!runs(load.pattern, i)) continue;
                      const u32 own = is_local(load.place) ? i * 64 : 0;
                      const u32 from = own + offset + offset_of(load.pattern, i, threads, size);
                      for (u32 k = 0; k < load.vector; ++k) {
                          u64 bits = 0;
                          const u32 at = from + k * load.type.bytes;
                          for (u32 b = 0; b < load.type.bytes; ++b)
                              bits |= u64{get_from<u8>(table, at + b)} << (8 * b);
                          const u64 value = extended(bits, load.type, load.width);
                          std::memcpy(&out[i][k], &value, load.width / 8);
                      }
                  }
              },
              declarations(load.place), threads});
}

std::vector<Pattern> patterns_of(Place place) {
    if (is_local(place) || is_constant(place)) return {Pattern::alternating};
    return {Pattern::rows, Pattern::contiguous, Pattern::reversed, Pattern::uniform,
            Pattern::guarded};
}

void add_types(Comparisons& all) {
    for (const Place place : places) {
        for (const MemoryType& type : memory_types()) {
            for (const u32 vector : {1u, 2u, 4u, 8u}) {
                const bool wide = place == Place::global && vector * type.bytes == 32;
                if (vector * type.bytes > 16 && !wide) continue;
                if (vector == 8 && type.bytes != 4) continue;
                const auto widths = register_widths(type);
                for (const Pattern pattern : patterns_of(place)) {
                    all.push_back(compared({place, pattern, type, vector, widths[0], "", ""}));
                }
                for (std::size_t k = 1; k < widths.size(); ++k) {
                    all.push_back(
                        compared({place, Pattern::alternating, type, vector, widths[k], "", ""}));
                }
            }
        }
    }
}

void add_modifiers(Comparisons& all) {
    for (const MemoryType& type : memory_types()) {
        const u32 width = register_widths(type)[0];
        const auto add = [&](Place place, const std::string& before, const std::string& after,
                             const std::string& base = "ld") {
            for (const u32 vector : {1u, 2u, 4u}) {
                if (vector * type.bytes > 16) continue;
                all.push_back(
                    compared({place, Pattern::rows, type, vector, width, before, after, base}));
            }
        };
        for (const char* const cache :
             {".ca", ".cg", ".cs", ".lu", ".cv", ".nc", ".ca.nc", ".L1::evict_last",
              ".nc.L1::no_allocate.L2::128B", ".L2::64B"}) {
            add(Place::global, "", cache);
        }
        for (const char* const order : {".weak", ".volatile"}) {
            add(Place::global, order, "");
            add(Place::shared, order, "");
            add(Place::generic_global, order, "");
        }
        for (const char* const order :
             {".relaxed.cta", ".relaxed.gpu", ".relaxed.sys", ".acquire.cta", ".acquire.gpu",
              ".acquire.sys", ".acquire.cluster"}) {
            add(Place::global, order, "");
            add(Place::shared, order, "");
            add(Place::generic_global, order, "");
        }
        add(Place::global, "", "", "ldu");
        add(Place::generic_global, "", "", "ldu");
    }
}

/// Vector loads that discard elements with "_".
void add_sinks(Comparisons& all) {
    for (const std::string from : {"global", "param"}) {
        const std::string opcode = "ld." + from + ".v4.u32";
        const std::string place = from == "param" ? "[given+16]" : "[%in+16]";
        const std::string body =
            opcode + " {_, %r3, _, %r4}, " + place + ";\nst.global.v2.u32 [%out], {%r3, %r4};\n";
        all.push_back(testing::compared(Scene{opcode, body, [=](Rows& in, Rows& out) {
                                                  for (std::size_t i = 0; i < in.size(); ++i) {
                                                      const Row& row = in[from == "param" ? 0 : i];
                                                      set(out[i], 0, get<u32>(row, 20));
                                                      set(out[i], 4, get<u32>(row, 28));
                                                  }
                                              }}));
    }
}

/// 128-bit loads and stores.
void add_b128(Comparisons& all) {
    for (const Place place : places) {
        if (is_constant(place)) continue;
        const Pattern pattern = is_local(place) ? Pattern::alternating : Pattern::rows;
        const std::string ld = "ld" + space_of(place) + ".b128";
        const std::string st = "st" + space_of(place) + ".b128";
        const std::string body = prepare(place, pattern, 64, 16, "%in") + ".reg .b128 x;\n" + ld +
                                 " x, " + address(place, 16) + ";\n" + st + " " +
                                 address(place, 32) + ", x;\nmov.b128 {%d5, %d6}, x;\n" +
                                 "st.global.v2.b64 [%out], {%d5, %d6};\n" + copy_back(place, "%in");
        for (const std::string& opcode : {ld, st}) {
            all.push_back(
                testing::compared(Scene{opcode, body,
                                        [=](Rows& in, Rows& out) {
                                            for (u32 i = 0; i < in.size(); ++i) {
                                                const u32 shift = is_local(place) ? 2 * (i % 2) : 0;
                                                out[i][0] = in[i][4 + shift] = in[i][2 + shift];
                                                out[i][1] = in[i][5 + shift] = in[i][3 + shift];
                                            }
                                        },
                                        declarations(place)}));
        }
    }
}

void add_parameter_loads(Comparisons& all) {
    for (const MemoryType& type : memory_types()) {
        for (const u32 vector : {1u, 2u, 4u}) {
            const u32 size = vector * type.bytes;
            if (size > 16) continue;
            for (const u32 width : register_widths(type)) {
                for (const u32 offset : {0u, 48u}) {
                    std::string opcode = "ld.param";
                    if (vector > 1) opcode += fmt::format(".v{}", vector);
                    opcode += "." + type.name;
                    std::string body =
                        fmt::format("{} {}, [given{}];\n", opcode, registers(width, vector),
                                    offset == 0 ? "" : "+48");
                    for (u32 k = 0; k < vector; ++k) {
                        body += fmt::format("st.global.b{} [%out+{}], {};\n", width, 8 * k,
                                            register_name(width, 6 + k));
                    }
                    all.push_back(testing::compared(
                        Scene{opcode, body, [=](Rows& in, Rows& out) {
                                  for (Row& row : out) {
                                      for (u32 k = 0; k < vector; ++k) {
                                          u64 bits = 0;
                                          std::memcpy(&bits,
                                                      reinterpret_cast<const char*>(in.data()) +
                                                          offset + k * type.bytes,
                                                      type.bytes);
                                          const u64 value = extended(bits, type, width);
                                          std::memcpy(&row[k], &value, width / 8);
                                      }
                                  }
                              }}));
                }
            }
        }
    }
}

}  // namespace

static Comparisons load_family() {
    Comparisons all;
    add_types(all);
    add_modifiers(all);
    add_sinks(all);
    add_b128(all);
    add_parameter_loads(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: loads read the right bytes of every space and extend them by type",
                   load_family)

}  // namespace lode::emulator::exec::testing
