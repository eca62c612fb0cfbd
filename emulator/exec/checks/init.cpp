// The check for reads of bytes that nothing has written. What is undefined in memory stays so when
// it is copied: an access that copies only some unwritten bytes, such as padding, is no finding,
// and its store passes them on.
#include "emulator/exec/ops/memory/local.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

enum class MarkSpace : u8 { global, shared, local };

/// The marks of one memory space.
struct Marks {
    WarpContext& c;
    MarkSpace space;
    const Block* owner = nullptr;  ///< Another block of the cluster whose shared memory it is.
    u8* shared = c.shared_written;

    [[nodiscard]] u8* mark(u32 lane, u64 address) const {
        if (space == MarkSpace::shared) return shared + address;
        return c.local_written + local_word(static_cast<u32>(address / 4), lane) + address % 4;
    }
    [[nodiscard]] bool written(u32 lane, u64 address) const {
        if (space == MarkSpace::global)
            return c.written == nullptr || c.written->unwritten(address, 1) == 0;
        return *mark(lane, address) != 0;
    }
    [[nodiscard]] u32 missing(u32 lane, u64 address, u32 bytes) const {
        if (space == MarkSpace::global) {
            return c.written == nullptr ? 0
                                        : static_cast<u32>(c.written->unwritten(address, bytes));
        }
        u32 count = 0;
        for (u32 k = 0; k < bytes; ++k)
            count += *mark(lane, address + k) == 0 ? 1 : 0;
        return count;
    }
    void set(u32 lane, u64 address, u32 bytes, bool value) const {
        if (space == MarkSpace::global) {
            if (c.written == nullptr) return;
            if (value) {
                c.written->mark(address, bytes);
            } else {
                c.written->unmark(address, bytes);
            }
            return;
        }
        for (u32 k = 0; k < bytes; ++k)
            *mark(lane, address + k) = value ? 1 : 0;
    }
};

/// Tells apart what one op reads: a variable or an allocation.
u64 thing_at(const Marks& marks, u64 address) {
    const Launch& launch = *marks.c.launch;
    if (marks.space == MarkSpace::local) return 0;
    if (marks.space == MarkSpace::global) return launch.memory->bounds(address)[0];
    const auto* const in = shared_variable_near(launch, static_cast<u32>(address));
    return in != nullptr ? in->offset : 0;
}

[[gnu::cold]] void report_unwritten(const Marks& marks, const Op* op, u32 lane, u64 address,
                                    u32 missing, const Noted& noted) {
    WarpContext& c = marks.c;
    if (!is_new_finding(c, op, Finding::unwritten, thing_at(marks, address))) return;
    const std::string_view verb = noted.access == Access::atomic ? "updates" : "reads";
    const std::string size = bytes_text(noted.bytes);
    const std::string part =
        missing == noted.bytes ? std::string() : fmt::format(", {} of them unwritten", missing);
    std::string text;
    if (marks.owner != nullptr) {
        const auto offset = static_cast<u32>(address);
        const Dim3 block = marks.owner->index;
        text = fmt::format(
            "{} {} of {} of block ({},{},{}) that nothing has written\naddress: {}{}\ncure: write "
            "it before, and wait with the cluster's barrier for what other blocks write",
            verb, size, shared_thing(*c.launch, offset), block.x, block.y, block.z,
            shared_place(*c.launch, offset), part);
    } else if (marks.space == MarkSpace::shared) {
        const auto offset = static_cast<u32>(address);
        text = fmt::format(
            "{} {} of {} that the block hasn't written\naddress: {}{}\ncure: write it "
            "before, and wait with __syncthreads() for what other threads write",
            verb, size, shared_thing(*c.launch, offset), shared_place(*c.launch, offset), part);
    } else if (marks.space == MarkSpace::local) {
        text = fmt::format(
            "{} {} of local memory that the thread hasn't written\naddress: offset {} "
            "of local memory{}",
            verb, size, address, part);
    } else {
        const GlobalSpot spot = global_spot(*c.launch, address, noted.bytes);
        text = fmt::format(
            "{} {} of {} that nothing has written\n{}{}\ncure: upload or fill the "
            "memory before the launch",
            verb, size, spot.thing, spot.facts, part);
    }
    report_finding(c, op, lane, Finding::unwritten, text, {}, thing_at(marks, address));
}

/// Where in the frame the register is that a part is copied through.
const u8* part_of(const WarpContext& c, const Op* op, u32 part, u32 parts) {
    if (op->flags.as<AccessFlags>().marks && op->r[parts + 1 + part] != no_slot)
        return c.area[0] + op->r[parts + 1 + part];
    return c.area[0] + op->r[part];
}

/// Calls f(part) for each register that an access copies.
template <class F>
void each_copied(u32 copied, F&& f) {
    for (u32 left = copied; left != 0; left &= left - 1)
        f(static_cast<u32>(std::countr_zero(left)));
}

/// Remembers which bytes of a lane's registers are unwritten.
void note_registers(const Marks& marks, const Op* op, u32 lane, u64 address, const Noted& noted,
                    bool is_told) {
    WarpContext& c = marks.c;
    const u32 bytes = noted.bytes / noted.parts;
    each_copied(noted.copied, [&](u32 part) {
        u32 undefined = 0;
        for (u32 k = 0; k < bytes && !is_told; ++k)
            undefined |= u32{!marks.written(lane, address + u64{part} * bytes + k)} << k;
        if (!c.warp->undefined) {
            if (undefined == 0) return;
            c.warp->undefined = std::make_unique<UndefinedRegisters>();
        }
        auto& rows = c.warp->undefined->rows;
        const u8* const place = part_of(c, op, part, noted.parts);
        if (undefined == 0 && !rows.contains(place)) return;
        rows[place][lane] = static_cast<u16>(undefined);
    });
}

/// Marks a store's bytes, but those of unwritten bytes in registers.
void note_store(const Marks& marks, const Op* op, u32 lane, u64 address, const Noted& noted) {
    marks.set(lane, address, noted.bytes, true);
    const WarpContext& c = marks.c;
    if (noted.copied == 0 || !c.warp->undefined) return;
    const u32 bytes = noted.bytes / noted.parts;
    each_copied(noted.copied, [&](u32 part) {
        const auto found = c.warp->undefined->rows.find(part_of(c, op, part, noted.parts));
        if (found == c.warp->undefined->rows.end()) return;
        // A store of the register's low bytes has its marks.
        const u32 low = (1u << bytes) - 1;
        for (u32 left = found->second[lane] & low; left != 0; left &= left - 1) {
            const auto k = static_cast<u32>(std::countr_zero(left));
            marks.set(lane, address + u64{part} * bytes + k, 1, false);
        }
    });
}

/// Whether unwritten bytes may be padding: a member comes before it in the same 16 bytes, the
/// largest alignment of members. Compilers copy it by bytes, or by words up to the next member that
/// is aligned to 8 bytes.
bool may_be_padding(const Marks& marks, u32 lane, u64 address, const Noted& noted) {
    if (!noted.may_be_padding) return false;
    if (noted.bytes != noted.parts && (address + noted.bytes) % 8 != 0) return false;
    constexpr u64 chunk = 16;
    for (u64 at = address; at % chunk != 0; --at)
        if (marks.written(lane, at - 1)) return true;
    return false;
}

/// Whether a load of some unwritten bytes only copies them.
bool only_copies(const Marks& marks, u32 lane, u64 address, u32 missing, const Noted& noted) {
    if (noted.copied == 0 || noted.access != Access::read) return false;
    if (missing == noted.bytes && !may_be_padding(marks, lane, address, noted)) return false;
    const u32 bytes = noted.bytes / noted.parts;
    bool uses = false;
    each_copied(~noted.copied & ((1u << noted.parts) - 1), [&](u32 part) {
        uses = uses || marks.missing(lane, address + u64{part} * bytes, bytes) != 0;
    });
    return !uses;
}

void init_lane(const Marks& marks, const Op* op, u32 lane, u64 address, const Noted& noted) {
    if (marks.space == MarkSpace::shared && address + noted.bytes > marks.c.shared_bytes) return;
    const bool reads = noted.access == Access::read || noted.access == Access::atomic;
    if (reads) {
        const u32 missing = marks.missing(lane, address, noted.bytes);
        const bool tells = missing != 0 && !only_copies(marks, lane, address, missing, noted);
        if (tells) report_unwritten(marks, op, lane, address, missing, noted);
        // What has been reported isn't reported again where it is copied to.
        note_registers(marks, op, lane, address, noted, tells);
    }
    if (noted.access != Access::read) note_store(marks, op, lane, address, noted);
}

/// Whether all of a run's bytes are written, or makes them so.
bool init_run(const Marks& marks, u64 address, u32 bytes, bool writes) {
    if (marks.space == MarkSpace::global) {
        if (marks.c.written == nullptr || marks.c.written->all_written(address, bytes)) return true;
        if (!writes) return false;
        marks.set(0, address, bytes, true);
        return true;
    }
    if (address + bytes > marks.c.shared_bytes) return true;
    u8* const first = marks.shared + address;
    if (writes) {
        std::fill_n(first, bytes, u8{1});
        return true;
    }
    u8 all = 1;
    for (u32 k = 0; k < bytes; ++k)
        all &= first[k];
    return all != 0;
}

/// Whether every active lane's bytes are written, or, by a write, makes them so.
template <class T>
bool init_shared(const Marks& marks, const u64* addresses, bool writes) {
    const WarpContext& c = marks.c;
    // Each byte of it is the mark of a byte.
    constexpr T whole = static_cast<T>(0x0101010101010101u);
    u64 bad = 0;
    T all = whole;
    each_lane(c.mask, [&](u32 i) {
        const u64 at = addresses[i];
        if (at + sizeof(T) > c.shared_bytes) {
            bad = 1;
            return;
        }
        if (writes) {
            std::memcpy(marks.shared + at, &whole, sizeof(T));
            return;
        }
        T mark;
        std::memcpy(&mark, marks.shared + at, sizeof(T));
        all = static_cast<T>(all & mark);
    });
    return bad == 0 && all == whole;
}

bool init_global(const Marks& marks, const u64* addresses, const Noted& noted) {
    const WarpContext& c = marks.c;
    if (c.written == nullptr) return true;
    bool all = true;
    each_lane(c.mask, [&](u32 i) { all &= c.written->all_written(addresses[i], noted.bytes); });
    return all;
}

/// The quick way for the lanes of a warp; false if an access needs a closer look.
bool init_warp(const Marks& marks, const u64* addresses, const Noted& noted) {
    if (noted.copied != 0 && marks.c.warp->undefined) return false;
    if (marks.space == MarkSpace::global) return init_global(marks, addresses, noted);
    const bool writes = noted.access == Access::write;
    switch (noted.bytes) {
        case 1:
            return init_shared<u8>(marks, addresses, writes);
        case 2:
            return init_shared<u16>(marks, addresses, writes);
        case 4:
            return init_shared<u32>(marks, addresses, writes);
        case 8:
            return init_shared<u64>(marks, addresses, writes);
        default:
            return false;
    }
}

}  // namespace

const Op* copy_marks(WarpContext& c, const Op* op) {
    if (!c.init || !c.warp->undefined) return op + 1;
    auto& rows = c.warp->undefined->rows;
    const auto from = op->r[1] != no_slot ? rows.find(c.area[0] + op->r[1]) : rows.end();
    const u8* const to = c.area[0] + op->r[0];
    if (from == rows.end() && !rows.contains(to)) return op + 1;
    // Copied, because a new row may move the others.
    const std::array<u16, lanes> marks =
        from != rows.end() ? from->second : std::array<u16, lanes>{};
    auto& row = rows[to];
    each_lane(c.mask, [&](u32 i) { row[i] = marks[i]; });
    return op + 1;
}

void init_written(WarpContext& c, const Op* op, u32 parts) {
    if (!c.warp->undefined) return;
    each_copied(op->flags.as<AccessFlags>().copies, [&](u32 part) {
        const auto found = c.warp->undefined->rows.find(part_of(c, op, part, parts));
        if (found != c.warp->undefined->rows.end())
            each_lane(c.mask, [&](u32 i) { found->second[i] = 0; });
    });
}

void init_lanes(WarpContext& c, const Op* op, bool shared, const u64* addresses,
                const Noted& noted) {
    const Marks marks{c, shared ? MarkSpace::shared : MarkSpace::global};
    if (init_warp(marks, addresses, noted)) return;
    each_lane(c.mask, [&](u32 i) { init_lane(marks, op, i, addresses[i], noted); });
}

void init_remote(WarpContext& c, const Op* op, u32 lane, Block& owner, u32 offset,
                 const Noted& noted) {
    init_lane({c, MarkSpace::shared, &owner, owner.written.data()}, op, lane, offset, noted);
}

void init_local(WarpContext& c, const Op* op, const u32* addresses, const Noted& noted) {
    const Marks marks{c, MarkSpace::local};
    each_lane(c.mask, [&](u32 i) {
        if (u64{addresses[i]} + noted.bytes > c.local_bytes) return;
        init_lane(marks, op, i, addresses[i], noted);
    });
}

void init_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted) {
    const Marks marks{c, shared ? MarkSpace::shared : MarkSpace::global};
    const bool writes = noted.access == Access::write;
    const bool uniform = pattern == Pattern::uniform || pattern == Pattern::half_uniform;
    const bool halves = pattern == Pattern::half_runs || pattern == Pattern::half_uniform;
    const u32 count = halves ? lanes / 2 : lanes;
    const u32 bytes = uniform ? noted.bytes : noted.bytes * count;
    if (noted.copied == 0 || !c.warp->undefined) {
        bool fine = init_run(marks, first, bytes, writes);
        if (halves) fine &= init_run(marks, second, bytes, writes);
        if (fine) return;
    }
    for (u32 i = 0; i < lanes; ++i) {
        const u64 base = halves && i >= count ? second : first;
        init_lane(marks, op, i, base + (uniform ? 0 : u64{i % count} * noted.bytes), noted);
    }
}

}  // namespace lode::emulator::exec
