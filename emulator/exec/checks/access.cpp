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

/// For example ", 4 bytes past the end of a 400-byte device allocation at 0x… (cuMemAlloc)".
std::string distance(const Launch& launch, u64 address, u32 bytes) {
    if (const auto variable = launch.module->variable_near(address)) {
        const u64 end = variable->address + variable->bytes;
        const std::string where =
            address >= end ? fmt::format("{} past the end of", bytes_text(address - end))
            : address + bytes > end
                ? fmt::format("{} of them past the end of", address + bytes - end)
                : fmt::format("{} into", bytes_text(address - variable->address));
        return fmt::format(", {} the {}-byte variable {} at 0x{:x}", where, variable->bytes,
                           variable->name, variable->address);
    }
    const Location where = launch.memory->locate(address);
    if (where.inside) {
        const Allocation& in = *where.inside;
        if (in.freed) {
            return fmt::format(", {} into a {}, which has been freed",
                               bytes_text(address - in.address), describe(in));
        }
        if (address + bytes > in.end()) {
            return fmt::format(", {} of them past the end of a {}", address + bytes - in.end(),
                               describe(in));
        }
        return fmt::format(", {} into a {}", bytes_text(address - in.address), describe(in));
    }
    if (where.reserved) return ", in a reserved range where no memory is mapped and accessible";
    const u64 past = where.below ? address - where.below->end() : ~u64{0};
    const u64 ahead = where.above ? where.above->address - address : ~u64{0};
    constexpr u64 near = u64{1} << 32;
    if (past <= ahead && past < near) {
        return fmt::format(", {} past the end of a {}", bytes_text(past), describe(*where.below));
    }
    if (ahead < near) {
        return fmt::format(", {} before a {}", bytes_text(ahead), describe(*where.above));
    }
    if (address < 4096) return ", a null pointer";
    return ", not in any allocation; it may be a host pointer";
}

bool global_fault(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Access access) {
    raise(c, op, lane, Fault::illegal_address,
          fmt::format("{} {} of global memory at 0x{:x}{}", verb(access), bytes_text(bytes),
                      address, distance(*c.launch, address, bytes)));
    return false;
}

bool misaligned(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Access access,
                std::string_view space) {
    raise(c, op, lane, Fault::misaligned_address,
          fmt::format("{} {} of {} memory at 0x{:x}, which isn't a multiple of {}{}", verb(access),
                      bytes_text(bytes), space, address, bytes,
                      space == "global" ? distance(*c.launch, address, bytes) : std::string()));
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

/// "parameter 2", counted from 0.
std::string parameter_text(const Launch& launch, u32 offset) {
    const auto& all = launch.kernel->info.parameters;
    const auto above = std::ranges::upper_bound(all, offset, {}, &Parameter::offset);
    return fmt::format("parameter {}", std::distance(all.begin(), above) - 1);
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
    const std::string where =
        address >= home->end()
            ? fmt::format("{} past the end of", bytes_text(address - home->end()))
            : fmt::format("{} before", bytes_text(home->address - address));
    raise(c, op, lane, Fault::illegal_address,
          fmt::format("{} {} of global memory at 0x{:x}, {} the {} that its {} points into, and {} "
                      "into a {}",
                      verb(access), bytes_text(bytes), address, where, describe(*home),
                      parameter_text(*c.launch, offset), bytes_text(address - other->address),
                      describe(*other)));
    return true;
}

/// Checks one address and updates the op's cached bounds.
bool check_one(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Access access) {
    if ((address & (bytes - 1)) != 0) {
        return misaligned(c, op, lane, address, bytes, access, "global");
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
}

bool window_fault(WarpContext& c, const Op* op, u32 lane, u32 address, u32 bytes, Access access,
                  std::string_view window, u32 size) {
    raise(c, op, lane, Fault::illegal_address,
          fmt::format("{} {} of {} memory at {}, past the end of its {}", verb(access),
                      bytes_text(bytes), window, address, bytes_text(size)));
    return false;
}

/// The variable at an offset in shared memory, or the nearest one below; nullptr if there is none.
const SharedVariable* shared_variable_near(const Launch& launch, u32 offset) {
    const auto& all = launch.kernel->shared_variables;
    const auto above = std::ranges::upper_bound(all, offset, {}, &SharedVariable::offset);
    return above == all.begin() ? nullptr : &*std::prev(above);
}

/// An access to shared memory outside of the variable that its address comes from.
bool variable_fault(WarpContext& c, const Op* op, u32 lane, u32 offset, u32 bytes, Access access) {
    const SharedVariable& from = c.variables[op->r[variable_operand]];
    const u32 end = from.offset + from.bytes;
    const std::string where =
        offset >= end           ? fmt::format("{} past the end of", bytes_text(offset - end))
        : offset >= from.offset ? fmt::format("{} of them past the end of", offset + bytes - end)
                                : fmt::format("{} before", bytes_text(from.offset - offset));
    std::string text =
        fmt::format("{} {} of shared memory at {}, {} the {}-byte variable {}", verb(access),
                    bytes_text(bytes), offset, where, from.bytes, from.name);
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
            fine = misaligned(c, op, i, addresses[i], bytes, access, window);
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

std::string shared_place(const Launch& launch, u32 offset) {
    std::string text = fmt::format("at offset {} of shared memory", offset);
    const SharedVariable* const in = shared_variable_near(launch, offset);
    if (in != nullptr && offset < in->offset + in->bytes)
        text +=
            fmt::format(" ({} into the variable {})", bytes_text(offset - in->offset), in->name);
    return text;
}

std::string global_place(const Launch& launch, u64 address, u32 bytes, std::string_view note) {
    return fmt::format("at 0x{:x}{}{}", address, note, distance(launch, address, bytes));
}

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
}

std::string describe_bad_window(u64 address) {
    return fmt::format("uses the address 0x{:x}, which isn't in any memory that it may access",
                       address);
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
    return misaligned(c, op, lane, offset, bytes, access, "shared");
}

u8* lane_pointer(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Window window,
                 Access access) {
    u64 in = static_cast<u64>(window);
    if (window == Window::code) in = address >> window_shift;  // A generic address.
    if (in == static_cast<u64>(Window::shared)) {
        const auto at = static_cast<u32>(address);
        if (c.clustered && at >> rank_shift != 0)
            return cluster_pointer(c, op, lane, at, bytes, access);
        if (!shared_fits(c, op, lane, at, bytes, access)) return nullptr;
        const bool is_atomic = access == Access::atomic || access == Access::exchange;
        if (c.check_memory && is_atomic && op->r[variable_operand] != no_slot &&
            !inside(shared_bounds(c, op), at, bytes)) {
            variable_fault(c, op, lane, at, bytes, access);
            return nullptr;
        }
        if (c.watch) note_lane(c, op, lane, at, true, {access, bytes, nullptr});
        return c.shared + at;
    }
    if (in == static_cast<u64>(Window::global)) {
        const Bounds& cached = c.bounds[op->cache];
        const bool known = inside(cached, address, bytes) && (address & (bytes - 1)) == 0;
        if (!known && !check_one(c, op, lane, address, bytes, access)) return nullptr;
        if (c.watch) note_lane(c, op, lane, address, false, {access, bytes, nullptr});
        return reinterpret_cast<u8*>(address);
    }
    raise(c, op, lane, Fault::invalid_address_space, describe_bad_window(address));
    return nullptr;
}

}  // namespace lode::emulator::exec
