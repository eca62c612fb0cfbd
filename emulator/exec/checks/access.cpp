// The slow paths of memory checks, and the text of their reports.
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/ops/memory/generic.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/isa/cluster.hpp"
#include "emulator/isa/load_store.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::exec {

std::string_view verb(Access access) noexcept {
    switch (access) {
        case Access::read:
            return "reads";
        case Access::write:
            return "writes";
        case Access::atomic:
        case Access::exchange:
            return "updates";
        case Access::prefetch:
            return "prefetches";
    }
    return "touches";
}

namespace {

bool global_fault(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Access access) {
    const GlobalSpot spot = global_spot(*c.launch, address, bytes);
    raise(c, op, lane, Fault::illegal_address,
          fmt::format("{} {}{}\n{}", verb(access), bytes_text(bytes), spot.where, spot.facts));
    return false;
}

bool misaligned(WarpContext& c, const Op* op, u32 lane, u32 bytes, Access access,
                const std::string& facts) {
    raise(c, op, lane, Fault::misaligned_address,
          fmt::format("{} {} at an address that isn't a multiple of {}\n{}", verb(access),
                      bytes_text(bytes), bytes, facts));
    return false;
}

/// The bounds of the variable or allocation at a global address; {0, 0} if there is none.
Bounds bounds_of(const Launch& launch, u64 address) {
    if (const auto variable = launch.module->variable_at(address)) {
        return {variable->address, variable->address + variable->bytes};
    }
    if (launch.module->owns(address)) return {0, 0};
    const auto [lo, hi] = launch.memory->bounds(address);
    return {lo, hi};
}

/// "parameter 2", counted from 1.
std::string parameter_text(const Launch& launch, u32 offset) {
    const auto& all = launch.kernel->info.parameters;
    const auto above = std::ranges::upper_bound(all, offset, {}, &Parameter::offset);
    return fmt::format("parameter {}", std::distance(all.begin(), above));
}

/// Whether an access to another allocation than that which its parameter points into is reported.
bool strays(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Access access,
            const Bounds& hit) {
    const u32 offset = c.launch->kernel->access_parameters[op->cache];
    if (offset == no_parameter_offset) return false;
    u64 base = 0;
    std::memcpy(&base, c.parameters + offset, sizeof base);
    if (base >= hit.lo && base < hit.hi) return false;
    if (c.race) c.launch->accesses->unwritten[op->cache] = false;
    const auto home = c.launch->memory->find(base);
    const auto other = c.launch->memory->find(address);
    if (!home || !other || !is_apart(*home) || !is_apart(*other)) return false;
    const bool past = address >= home->end();
    const std::string parameter = parameter_text(*c.launch, offset);
    raise(c, op, lane, Fault::illegal_address,
          fmt::format("{} {} {} the {}-byte allocation of {}\naddress: 0x{:x}, {} {}, {} into "
                      "another allocation\nallocation: {}, which {} points into\n"
                      "other: {}",
                      verb(access), bytes_text(bytes), past ? "past the end of" : "before",
                      home->bytes, parameter, address,
                      bytes_text(past ? address - home->end() : home->address - address),
                      past ? "past the end" : "before it", bytes_text(address - other->address),
                      origin_text(*home), parameter, origin_text(*other)));
    return true;
}

/// Checks one address and updates the op's cached bounds.
bool check_one(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Access access) {
    if ((address & (bytes - 1)) != 0) {
        return misaligned(c, op, lane, bytes, access, global_spot(*c.launch, address, bytes).facts);
    }
    Bounds& cached = c.bounds[op->cache];
    if (inside(cached, address, bytes)) return true;
    const Bounds found = bounds_of(*c.launch, address);
    if (found.hi == 0 || !inside(found, address, bytes)) {
        return global_fault(c, op, lane, address, bytes, access);
    }
    if (strays(c, op, lane, address, bytes, access, found)) return false;
    cached = found;
    return true;
}

void note(WarpContext& c, const Op* op, bool shared, const u64* addresses, const Noted& noted) {
    if (noted.access == Access::prefetch) return;
    if (c.init) init_lanes(c, op, shared, addresses, noted);
    if (c.race) race_lanes(c, op, shared, addresses, noted);
    if (c.touched != nullptr && !shared) touch_lanes(c, op, addresses, noted);
}

/// "offset 64 of local memory"
std::string offset_text(u32 offset, std::string_view window) {
    return fmt::format("offset {} of {} memory", offset, window);
}

bool window_fault(WarpContext& c, const Op* op, u32 lane, u32 address, u32 bytes, Access access,
                  std::string_view window, u32 size) {
    const bool lacks_dynamic = window == "shared" && c.launch->shape.dynamic_shared == 0;
    raise(c, op, lane, Fault::illegal_address,
          fmt::format("{} {} past the end of its {} of {} memory\naddress: {}{}", verb(access),
                      bytes_text(bytes), bytes_text(size), window, offset_text(address, window),
                      lacks_dynamic ? "\nlaunch: no dynamic shared memory, which an extern "
                                      "__shared__ array needs"
                                    : ""));
    return false;
}

/// An access to shared memory outside of the variable that its address comes from.
bool variable_fault(WarpContext& c, const Op* op, u32 lane, u32 offset, u32 bytes, Access access) {
    const SharedVariable& from = c.variables[op->r[variable_operand]];
    const u32 end = from.offset + from.bytes;
    const bool starts_inside = offset >= from.offset && offset < end;
    const u32 past = offset + bytes - end;
    std::string text = fmt::format(
        "{} {} the {}-byte variable {}\naddress: {}, {} {}", verb(access),
        starts_inside   ? fmt::format("{}, {} of them past the end of", bytes_text(bytes), past)
        : offset >= end ? fmt::format("{} past the end of", bytes_text(bytes))
                        : fmt::format("{} before", bytes_text(bytes)),
        from.bytes, last_name(from.name), offset_text(offset, "shared"),
        starts_inside   ? fmt::format("{} of them past the end of", past)
        : offset >= end ? fmt::format("{} past the end of", bytes_text(offset - end))
                        : fmt::format("{} before", bytes_text(from.offset - offset)),
        from.name);
    const u32 hit = offset < end && offset >= from.offset ? end : offset;
    const SharedVariable* const other = shared_variable_near(*c.launch, hit);
    if (other != nullptr && other != &from && hit < other->offset + other->bytes)
        text += fmt::format(", in the variable {}", other->name);
    raise(c, op, lane, Fault::illegal_address, std::move(text));
    return false;
}

bool check_window(WarpContext& c, const Op* op, const u32* addresses, u32 bytes, Access access,
                  std::string_view window, u32 size) {
    bool fine = true;
    for (u32 left = c.mask; left != 0 && fine; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        if (u64{addresses[i]} + bytes > size) {
            fine = window_fault(c, op, i, addresses[i], bytes, access, window, size);
        } else if ((addresses[i] & (bytes - 1)) != 0) {
            fine = misaligned(c, op, i, bytes, access,
                              "address: " + offset_text(addresses[i], window));
        }
    }
    return fine;
}

void note_lane(WarpContext& c, const Op* op, u32 lane, u64 address, bool shared,
               const Noted& noted) {
    alignas(32) u64 addresses[lanes] = {};
    addresses[lane] = address;
    const u32 mask = c.mask;
    c.mask = 1u << lane;
    note(c, op, shared, addresses, noted);
    c.mask = mask;
}

}  // namespace

void note_lanes(WarpContext& c, const Op* op, const u32* addresses, const Noted& noted) {
    alignas(32) u64 wide[lanes];
    for (u32 i = 0; i < lanes; ++i)
        wide[i] = addresses[i];
    note(c, op, true, wide, noted);
}
void note_lanes(WarpContext& c, const Op* op, const u64* addresses, const Noted& noted) {
    note(c, op, false, addresses, noted);
}
void note_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted) {
    if (c.init) init_pattern(c, op, shared, pattern, first, second, noted);
    if (c.race) race_pattern(c, op, shared, pattern, first, second, noted);
    if (c.touched != nullptr && !shared) touch_pattern(c, op, pattern, first, second, noted);
}

std::string describe_bad_window(u64 address) {
    return fmt::format(
        "uses an address that isn't in any memory that it may access\naddress: 0x{:x}", address);
}

bool check_global(WarpContext& c, const Op* op, const u64* addresses, u32 bytes, Access access) {
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        if (!check_one(c, op, i, addresses[i], bytes, access)) return false;
    }
    return true;
}

bool check_shared(WarpContext& c, const Op* op, const u32* addresses, u32 bytes, Access access) {
    if (op->r[variable_operand] != no_slot) {
        for (u32 left = c.mask; left != 0; left &= left - 1) {
            const auto i = static_cast<u32>(std::countr_zero(left));
            const u32 at = addresses[i];
            if (u64{at} + bytes > c.shared_bytes || inside(shared_bounds(c, op), at, bytes))
                continue;
            return variable_fault(c, op, i, at, bytes, access);
        }
    }
    return check_window(c, op, addresses, bytes, access, "shared", c.shared_bytes);
}
bool check_local(WarpContext& c, const Op* op, const u32* addresses, u32 bytes, Access access) {
    return check_window(c, op, addresses, bytes, access, "local", c.local_bytes);
}
bool check_parameters(WarpContext& c, const Op* op, const u32* addresses, u32 bytes) {
    return check_window(c, op, addresses, bytes, Access::read, "parameter", c.parameter_bytes);
}

bool shared_fits(WarpContext& c, const Op* op, u32 lane, u32 offset, u32 bytes, Access access) {
    if (u64{offset} + bytes > c.shared_bytes)
        return window_fault(c, op, lane, offset, bytes, access, "shared", c.shared_bytes);
    if ((offset & (bytes - 1)) == 0) return true;
    return misaligned(c, op, lane, bytes, access, "address: " + offset_text(offset, "shared"));
}

u8* shared_pointer(WarpContext& c, const Op* op, u32 lane, u32 address, const Noted& noted) {
    const auto [access, bytes] = std::pair(noted.access, noted.bytes);
    if (c.clustered && address >> rank_shift != 0)
        return cluster_pointer(c, op, lane, address, noted);
    if (!shared_fits(c, op, lane, address, bytes, access)) return nullptr;
    const bool is_atomic = access == Access::atomic || access == Access::exchange;
    if (c.check_memory && is_atomic && op->r[variable_operand] != no_slot &&
        !inside(shared_bounds(c, op), address, bytes)) {
        variable_fault(c, op, lane, address, bytes, access);
        return nullptr;
    }
    if (c.watch) note_lane(c, op, lane, address, true, noted);
    return c.shared + address;
}

u8* lane_pointer(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Window window,
                 Access access) {
    u64 in = static_cast<u64>(window);
    if (window == Window::code) in = address >> window_shift;  // A generic address.
    if (in == static_cast<u64>(Window::shared))
        return shared_pointer(c, op, lane, static_cast<u32>(address), {access, bytes, nullptr});
    if (in == static_cast<u64>(Window::global)) {
        const Bounds& cached = c.bounds[op->cache];
        const bool known = inside(cached, address, bytes) && (address & (bytes - 1)) == 0;
        if (!known && !check_one(c, op, lane, address, bytes, access)) return nullptr;
        if (c.watch) note_lane(c, op, lane, address, false, {access, bytes, nullptr});
        return reinterpret_cast<u8*>(address);
    }
    raise(c, op, lane, Fault::illegal_address, describe_bad_window(address));
    return nullptr;
}

}  // namespace lode::emulator::exec
