#include "emulator/driver/control.h"
#include "tests/fuzz/driver_symbols.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

// Only the addresses are used, so one type fits all.
extern "C" {
#define LODE_ENTRY_POINT(name, version, stream, symbol) int symbol();
#define LODE_UNSUPPORTED(name, version, stream, symbol) int symbol();
#include "emulator/driver/entry_points.def"
#include "emulator/driver/unsupported.def"
#undef LODE_ENTRY_POINT
#undef LODE_UNSUPPORTED
}

namespace lode::fuzz {
namespace {

struct Row {
    const char* name;
    void* address;
};

const Row table[] = {
#define LODE_ENTRY_POINT(name, version, stream, symbol) \
    {#symbol, reinterpret_cast<void*>(&::symbol)},
#define LODE_UNSUPPORTED(name, version, stream, symbol) \
    {#symbol, reinterpret_cast<void*>(&::symbol)},
#include "emulator/driver/entry_points.def"
#include "emulator/driver/unsupported.def"
#undef LODE_ENTRY_POINT
#undef LODE_UNSUPPORTED
    {"lode_emulator_reset", reinterpret_cast<void*>(&::lode_emulator_reset)},
    {"lode_emulator_live", reinterpret_cast<void*>(&::lode_emulator_live)},
};

}  // namespace

void* driver_symbol(const char* name) {
    for (const Row& row : table) {
        if (std::strcmp(row.name, name) == 0) return row.address;
    }
    std::fprintf(stderr, "%s isn't one of the software device's functions.\n", name);
    std::abort();
}

}  // namespace lode::fuzz
