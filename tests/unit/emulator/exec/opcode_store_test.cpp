// st: the right bytes of memory change, in every state space, and no others.
#include "tests/unit/emulator/exec/opcode_memory.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

struct Store {
    Place place;
    Pattern pattern;
    MemoryType type;
    u32 vector;
    u32 width;           ///< Width of the registers.
    std::string before;  ///< Modifiers before the state space.
    std::string after;   ///< Modifiers after it.
};

Comparison compared(const Store& store) {
    constexpr u32 threads = 64;
    const u32 size = store.type.bytes * store.vector;
    const u32 offset = size > 16 ? 32 : 16;
    std::string opcode = "st" + store.before + space_of(store.place) + store.after;
    if (store.vector > 1) opcode += fmt::format(".v{}", store.vector);
    opcode += "." + store.type.name;
    std::string body = prepare(store.place, store.pattern, threads, size, "%out");
    for (u32 k = 0; k < store.vector; ++k) {
        body += fmt::format("ld.global.b{} {}, [%in+{}];\n", store.width,
                            register_name(store.width, 6 + k), 8 * k);
    }
    body += fmt::format("{}{} {}, {};\n", guard(store.pattern), opcode,
                        address(store.place, offset), registers(store.width, store.vector));
    body += copy_back(store.place, "%out");
    return testing::compared(Scene{
        opcode, body,
        [=](Rows& in, Rows& out) {
            for (u32 i = 0; i < threads; ++i) {
                if (!runs(store.pattern, i)) continue;
                const u32 own = is_local(store.place) ? i * 64 : 0;
                const u32 to = own + offset + offset_of(store.pattern, i, threads, size);
                for (u32 k = 0; k < store.vector; ++k) {
                    std::memcpy(reinterpret_cast<char*>(out.data()) + to + k * store.type.bytes,
                                &in[i][k], store.type.bytes);
                }
            }
        },
        declarations(store.place), threads});
}

void add_types(Comparisons& all) {
    for (const Place place : places) {
        if (is_constant(place)) continue;
        for (const MemoryType& type : memory_types()) {
            for (const u32 vector : {1u, 2u, 4u, 8u}) {
                const bool wide = place == Place::global && vector * type.bytes == 32;
                if (vector * type.bytes > 16 && !wide) continue;
                if (vector == 8 && type.bytes != 4) continue;
                const auto widths = register_widths(type);
                const std::vector<Pattern> patterns =
                    is_local(place) ? std::vector<Pattern>{Pattern::alternating}
                                    : std::vector<Pattern>{Pattern::rows, Pattern::contiguous,
                                                           Pattern::reversed, Pattern::guarded};
                for (const Pattern pattern : patterns) {
                    all.push_back(compared({place, pattern, type, vector, widths[0], "", ""}));
                }
                for (std::size_t k = 1; k < widths.size(); ++k) {
                    all.push_back(compared({place, patterns[0], type, vector, widths[k], "", ""}));
                }
            }
        }
    }
}

void add_modifiers(Comparisons& all) {
    for (const MemoryType& type : memory_types()) {
        const u32 width = register_widths(type)[0];
        const auto add = [&](Place place, const std::string& before, const std::string& after) {
            for (const u32 vector : {1u, 2u, 4u}) {
                if (vector * type.bytes > 16) continue;
                all.push_back(compared({place, Pattern::rows, type, vector, width, before, after}));
            }
        };
        for (const char* const cache : {".wb", ".cg", ".cs", ".wt", ".L1::no_allocate"})
            add(Place::global, "", cache);
        for (const char* const order :
             {".weak", ".volatile", ".relaxed.cta", ".relaxed.gpu", ".relaxed.sys", ".release.cta",
              ".release.gpu", ".release.sys"}) {
            add(Place::global, order, "");
            add(Place::shared, order, "");
            add(Place::generic_global, order, "");
        }
    }
}

}  // namespace

static Comparisons store_family() {
    Comparisons all;
    add_types(all);
    add_modifiers(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: stores change the right bytes of every space and no others",
                   store_family)

}  // namespace lode::emulator::exec::testing
