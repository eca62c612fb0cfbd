// Where an address is, in the words of reports.
#include "base/cxx_names.hpp"
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// A range of addresses with a name, and an access near it.
struct Range {
    u64 first, end;
    std::string thing;  ///< For example "a 400-byte allocation".
    std::string fact;   ///< For example "allocation: 400 bytes of device memory at 0x…".
};

GlobalSpot spot_in(const Range& range, u64 address, u32 bytes) {
    GlobalSpot spot{.where = " of " + range.thing, .thing = range.thing, .facts = {}};
    std::string distance = fmt::format("{} into it", bytes_text(address - range.first));
    if (address < range.first) {
        spot.where = " before " + range.thing;
        distance = fmt::format("{} before it", bytes_text(range.first - address));
    } else if (address >= range.end) {
        spot.where = " past the end of " + range.thing;
        distance = fmt::format("{} past the end", bytes_text(address - range.end));
    } else if (address + bytes > range.end) {
        distance = fmt::format("{} of them past the end", address + bytes - range.end);
        spot.where = fmt::format(", {} of {}", distance, range.thing);
    }
    spot.facts = fmt::format("address: 0x{:x}, {}\n{}", address, distance, range.fact);
    return spot;
}

Range range_of(const Allocation& allocation) {
    return {allocation.address, allocation.end(),
            fmt::format("a {}-byte allocation", allocation.bytes),
            "allocation: " + origin_text(allocation)};
}

}  // namespace

std::string last_name(std::string_view name) {
    const auto at = name.rfind("::");
    return std::string(at == name.npos ? name : name.substr(at + 2));
}

GlobalSpot global_spot(const Launch& launch, u64 address, u32 bytes) {
    if (const auto* const variable = launch.module->variable_near(address)) {
        const std::string name = lode::readable_name(variable->name);
        return spot_in({variable->address, variable->address + variable->bytes,
                        fmt::format("the {}-byte variable {}", variable->bytes, last_name(name)),
                        fmt::format("variable: {}, {} at 0x{:x}", name, bytes_text(variable->bytes),
                                    variable->address)},
                       address, bytes);
    }
    const Location place = launch.memory->locate(address);
    if (place.inside) {
        GlobalSpot spot = spot_in(range_of(*place.inside), address, bytes);
        if (!place.inside->freed) return spot;
        spot.where = fmt::format(" of {} that has been freed", spot.thing);
        spot.facts += ", which has been freed";
        return spot;
    }
    const std::string fact = fmt::format("address: 0x{:x}", address);
    if (place.reserved)
        return {" of a reserved range that has no accessible memory", "a reserved range", fact};
    const u64 past = place.below ? address - place.below->end() : ~u64{0};
    const u64 ahead = place.above ? place.above->address - address : ~u64{0};
    constexpr u64 near = u64{1} << 32;
    if (past <= ahead && past < near) return spot_in(range_of(*place.below), address, bytes);
    if (ahead < near) return spot_in(range_of(*place.above), address, bytes);
    if (address < 4096) return {" through a null pointer", "a null pointer", fact};
    return {" outside of all allocations", "memory", fact + ", which may be a host pointer"};
}

const SharedVariable* shared_variable_near(const Launch& launch, u32 offset) {
    const auto& all = launch.kernel->shared_variables;
    const auto above = std::ranges::upper_bound(all, offset, {}, &SharedVariable::offset);
    return above == all.begin() ? nullptr : &*std::prev(above);
}

std::string shared_thing(const Launch& launch, u32 offset) {
    const SharedVariable* const in = shared_variable_near(launch, offset);
    const bool known = in != nullptr && offset < in->offset + in->bytes;
    return known ? last_name(in->name) : "shared memory";
}

std::string shared_place(const Launch& launch, u32 offset) {
    std::string text = fmt::format("offset {} of shared memory", offset);
    const SharedVariable* const in = shared_variable_near(launch, offset);
    if (in != nullptr && offset < in->offset + in->bytes)
        text += fmt::format(", {} into the variable {}", bytes_text(offset - in->offset), in->name);
    return text;
}

}  // namespace lode::emulator::exec
