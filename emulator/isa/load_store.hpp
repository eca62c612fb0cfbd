// Memory ops.
#pragma once

#include "emulator/isa/operation.hpp"

namespace lode::emulator::exec {

/// The index in Op::r of an access's index in Kernel::shared_variables; no_slot if unknown.
inline constexpr u32 variable_operand = 7;

/// Flags of loads and stores. All but `signed_index` are for the check for unwritten memory only.
struct AccessFlags {
    u8 copies : 4 = 0;              ///< A bit for each register that memory is copied through.
    bool signed_index : 1 = false;  ///< The indices are signed.
    bool padding : 1 = false;       ///< The load may be of padding.
    /// r[parts + 1] and so on, where they are set, are the registers that copied values come from
    /// or go to; their bytes have the marks. For narrower values, which have other slots.
    bool marks : 1 = false;
    u8 unused : 1 = 0;
};
/// The most values for AccessFlags::marks. With more, copy_marks() moves the marks.
inline constexpr u32 most_marked = 2;

enum class MemorySpace : u8 { global, generic, shared, local, parameter };

/// What addresses are made of.
enum class AddressForm : u8 {
    wide,    ///< A row of 64-bit addresses.
    narrow,  ///< A row of 32-bit addresses, of shared or local memory.
    index,   ///< A row of 32-bit indices, a base and a scale; for global and shared memory.
};

/// A load or store of `parts` elements of `bytes` each: r[0 … parts) data, r[parts] addresses, imm
/// the offset.
struct MemoryAccess {
    MemorySpace space = MemorySpace::global;
    AddressForm form = AddressForm::wide;
    bool stores = false;
    u32 bytes = 0;
    u32 parts = 0;
};
constexpr bool exists(const MemoryAccess& access) noexcept {
    const bool is_indexed = access.form == AddressForm::index;
    if (access.bytes == 16 && (access.parts != 1 || is_indexed)) return false;
    if (is_indexed)
        return access.space == MemorySpace::global || access.space == MemorySpace::shared;
    return access.space != MemorySpace::parameter || !access.stores;
}
/// The operation of an access that exists, and the access of such an operation.
constexpr Operation operation_of(const MemoryAccess& access) noexcept {
    return static_cast<Operation>(static_cast<u32>(Operation::first_access) |
                                  static_cast<u32>(access.space) |
                                  static_cast<u32>(access.form) << 4 | u32{access.stores} << 7 |
                                  access.bytes << 8 | access.parts << 13);
}
constexpr MemoryAccess access_of(Operation operation) noexcept {
    const auto bits = static_cast<u32>(operation);
    return {.space = static_cast<MemorySpace>(bits & 15),
            .form = static_cast<AddressForm>(bits >> 4 & 7),
            .stores = (bits >> 7 & 1) != 0,
            .bytes = bits >> 8 & 31,
            .parts = bits >> 13 & 7};
}
/// The base, a slot whose 64-bit values are the same in every lane.
inline constexpr u32 index_base_operand = 5;
/// The scale itself.
inline constexpr u32 index_scale_operand = 6;

}  // namespace lode::emulator::exec
