// Frame: the layout of a function's values.
#pragma once

#include "emulator/decode/code.hpp"

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace lode::emulator::decode {

/// Bytes per row of ParameterRows.
inline constexpr u32 row_bytes = 4 * lanes;

/// Allocates the slots of a function: places in its frame for registers, parameters and
/// temporaries, and its block of constants. A letter is a value's size, as in OpRow.
class Frame {
public:
    explicit Frame(const ptx::Function& function);

    /// Bytes allocated so far, per warp.
    [[nodiscard]] u32 bytes() const noexcept { return bytes_; }
    /// Allocates bytes at the end of the frame.
    Slot allocate(u32 bytes) noexcept { return std::exchange(bytes_, bytes_ + bytes); }
    void align(u32 alignment) noexcept;
    /// Allocates rows for a value that is passed in a call.
    ParameterRows allocate_rows(u32 bytes) noexcept;

    // Registers by index. A register may be an alias of a slot outside the frame.
    void set_registers(std::vector<Slot> slots) noexcept { registers_ = std::move(slots); }
    [[nodiscard]] Slot reg(u32 index) const noexcept { return registers_[index]; }
    [[nodiscard]] bool is_alias(u32 index) const noexcept {
        return registers_[index] >> area_shift != static_cast<u32>(Area::frame);
    }
    [[nodiscard]] char letter_of(u32 index) const noexcept;

    /// The rows of a parameter of a function or a call, allocated on first use.
    ParameterRows rows(u32 variable);
    void set_local(u32 variable, u32 offset) noexcept { locals_[variable] = offset; }
    /// The offset of a variable in local memory.
    [[nodiscard]] u32 local(u32 variable) const noexcept { return locals_[variable]; }
    void set_entry_offset(u32 variable, u32 offset) noexcept { entry_offsets_[variable] = offset; }
    /// The offset of a kernel's parameter in the parameter block; nothing for other variables.
    [[nodiscard]] std::optional<u32> entry_offset(u32 variable) const noexcept;

    /// Allocates a slot that is valid until release_temporaries().
    Slot temporary(char letter);
    void release_temporaries();
    /// The predicate that holds the carry flag.
    Slot carry() noexcept;
    /// Each lane's bytes of local memory that alloca has taken in this function.
    Slot allocated() noexcept;

    /// A slot with the same value in every lane; no_slot when the frame is full.
    Slot constant(u64 low, u64 high, u32 bytes);
    /// The 32-bit value of a slot of constants; nothing for other slots.
    [[nodiscard]] std::optional<u32> constant_value(Slot place) const noexcept;

    /// Stores the constants and the size of the frame in `code`.
    void finish(Code& code) const;
    /// Stores the places of registers and local variables, for a debugger.
    void note_places(Code& code) const;

private:
    const ptx::Function& function_;
    u32 bytes_ = 0;
    std::vector<Slot> registers_;
    std::vector<u32> rows_, locals_, entry_offsets_;  ///< Offsets by variable; ~0 if there is none.
    std::array<std::vector<Slot>, 5> free_temporaries_;
    std::vector<std::pair<std::size_t, Slot>> used_temporaries_;  ///< Index above, slot.
    Slot carry_ = no_slot;
    Slot allocated_ = no_slot;
    std::map<std::array<u64, 3>, Slot> constants_;
    std::vector<u8> constant_bytes_;
};

}  // namespace lode::emulator::decode
