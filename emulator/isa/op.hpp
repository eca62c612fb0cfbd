// Op: one decoded operation on a warp.
//
// Operands are byte offsets into one of four areas that the WarpContext points to; the top bits
// select the area. A value of n bytes per lane is a row of 32 lanes; a predicate is one 32-bit
// mask.
#pragma once

#include "emulator/memory/window.hpp"

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lode::emulator {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;
__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

inline constexpr u32 lanes = 32;
inline constexpr u32 all_lanes = 0xffff'ffff;

namespace exec {
struct WarpContext;
}
using exec::WarpContext;
struct Op;
enum class Operation : u32;

/// Runs one op on the lanes of WarpContext::mask and returns the next op, usually op + 1. `leave`
/// returns the warp to the scheduler, which finds the reason in the WarpContext.
using Handler = const Op* (*)(WarpContext& context, const Op* op);

/// Compares greater than every real op, so the run loop needs only one comparison.
inline const Op* leave() noexcept {
    return reinterpret_cast<const Op*>(~std::uintptr_t{0});
}

/// An operand: area in the top 3 bits, byte offset in the others.
using Slot = u32;
enum class Area : u32 {
    frame = 0,      ///< Registers of the running function.
    constants = 1,  ///< Immediate values of the running function.
    launch = 2,     ///< Values shared by all threads of a block: parameters, %ctaid and others.
    warp = 3,       ///< Values of one warp: %tid and others.
};
inline constexpr u32 area_shift = 29;
inline constexpr u32 offset_mask = (u32{1} << area_shift) - 1;
constexpr Slot slot(Area area, u32 offset) noexcept {
    return (static_cast<u32>(area) << area_shift) | offset;
}

inline constexpr Slot no_slot = ~u32{0};

/// Up to 16 bits whose type depends on the operation: isa declares one for each family.
class Flags {
public:
    constexpr Flags() noexcept = default;
    template <class F>
    requires(sizeof(F) <= sizeof(u16) && !std::same_as<F, Flags>) constexpr Flags(F flags) noexcept
        : bits_(std::bit_cast<Bits<F>>(flags)) {}

    template <class F>
    [[nodiscard]] constexpr F as() const noexcept {
        return std::bit_cast<F>(static_cast<Bits<F>>(bits_));
    }

private:
    template <class F>
    using Bits = std::conditional_t<sizeof(F) == 1, u8, u16>;

    u16 bits_ = 0;
};

/// How an access or a fence orders memory. An access without a scope is weak.
struct MemoryOrder {
    bool cta : 1 = false;      ///< Strong among the threads of a block.
    bool gpu : 1 = false;      ///< Strong among all threads.
    bool acquire : 1 = false;  ///< Later accesses stay after it.
    bool release : 1 = false;  ///< Earlier accesses stay before it.
    /// A volatile load whose value decides nothing in its function: to be right, it needs an order
    /// that `volatile` doesn't give, so the race check takes it for a weak one.
    bool data : 1 = false;
    /// A load whose value is compared with memory by a compare-and-swap, which fails if it was
    /// stale.
    bool validated : 1 = false;
    /// A fence that orders generic accesses to shared memory before those of the asynchronous
    /// proxy.
    bool proxy : 1 = false;

    [[nodiscard]] constexpr bool is_strong() const noexcept { return cta || gpu; }
};

/// The addresses of an op that accesses memory lane by lane.
struct LaneAddressing {
    Window window : 7 = Window::global;  ///< Window::code: they are generic.
    bool narrow : 1 = false;             ///< They have 32 bits.
};

struct Op {
    Handler run = nullptr;  ///< Unset until exec binds the kernel.
    /// Destinations, then sources; the handler knows how many of each.
    Slot r[8] = {no_slot, no_slot, no_slot, no_slot, no_slot, no_slot, no_slot, no_slot};
    union {
        u64 imm = 0;       ///< An offset or a number.
        const Op* target;  ///< Target of a branch.
        const void* table;
    };
    u32 cache = 0;  ///< Index of a memory op's pair of cached bounds.
    Flags flags;
    LaneAddressing addressing;
    MemoryOrder order;
    Operation operation{};
    u32 instructions = 0;  ///< PTX instructions that are complete once this op has run.
};
static_assert(sizeof(Op) == 64);

}  // namespace lode::emulator
