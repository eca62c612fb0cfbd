// LaneView: what one lane of a stopped launch sees: its registers, its memory, its variables.
#pragma once

#include "emulator/debug/value.hpp"
#include "emulator/exec/scheduler.hpp"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::debug {

using Bytes = std::vector<std::uint8_t>;

/// A lane at an op of a frame. Valid while the launch is stopped.
struct LaneView {
    const exec::Launch* launch = nullptr;
    exec::Block* block = nullptr;
    exec::Warp* warp = nullptr;
    const exec::Frame* frame = nullptr;
    const Op* op = nullptr;
    u32 lane = 0;

    [[nodiscard]] const Code& code() const noexcept { return *frame->code; }
    [[nodiscard]] const ptx::Instruction& instruction() const { return code().instruction(op); }
    [[nodiscard]] Dim3 thread() const;
    /// The frame that called this one, at the call; nothing for the kernel's.
    [[nodiscard]] std::optional<LaneView> caller() const;

    /// Bytes at a generic address; nothing if the lane may not read all of them.
    [[nodiscard]] std::optional<Bytes> read(u64 address, u64 bytes) const;
    /// A register of the PTX, "%r3"; nothing if the function has none of the name.
    [[nodiscard]] std::optional<Value> find_register(std::string_view name) const;
    /// The names and values of all registers that the function uses.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> registers() const;
    /// The names of variables in shared and global memory, as C++ spells them, and their types as
    /// the PTX has them: a structure is an array of bytes. Adds types to `made`.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> symbols(std::deque<Type>& made) const;
    /// threadIdx, blockIdx, blockDim, gridDim, warpSize.
    [[nodiscard]] std::optional<Value> find_builtin(std::string_view name) const;
    /// The value of a variable that DWARF describes; without bytes where it has none at this op.
    [[nodiscard]] Value variable(const DebugVariable& variable) const;

private:
    [[nodiscard]] Value register_at(u32 index) const;
    [[nodiscard]] std::optional<u64> address_of(std::string_view symbol) const;
    [[nodiscard]] std::optional<Bytes> parameter(std::string_view symbol) const;
};

}  // namespace lode::emulator::debug
