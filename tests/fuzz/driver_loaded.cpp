#include "tests/fuzz/driver_symbols.hpp"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace lode::fuzz {

void* driver_symbol(const char* name) {
    static void* const library = ::dlopen(LODE_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void* const symbol = library == nullptr ? nullptr : ::dlsym(library, name);
    if (symbol == nullptr) {
        std::fprintf(stderr, "%s isn't found in %s.\n", name, LODE_EMULATOR_LIBRARY);
        std::abort();
    }
    return symbol;
}

}  // namespace lode::fuzz
