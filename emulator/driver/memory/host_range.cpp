#include "emulator/driver/memory/host_range.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace lode::emulator::driver {

bool is_mapped(const void* at, std::size_t bytes, bool writes) {
    auto next = reinterpret_cast<std::uintptr_t>(at);
    std::uintptr_t end = 0;
    if (__builtin_add_overflow(next, bytes, &end)) return false;
    std::ifstream maps("/proc/self/maps");
    if (!maps) return true;  // It can't be verified.
    for (std::string line; next < end && std::getline(maps, line);) {
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        char read = 0;
        char write = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %c%c", &from, &to, &read,
                        &write) != 4 ||
            to <= next)
            continue;
        if (from > next || read != 'r' || (writes && write != 'w')) return false;
        next = to;
    }
    return next >= end;
}

}  // namespace lode::emulator::driver
