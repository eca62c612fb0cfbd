// Code: a decoded function; Kernel: an entry with everything it may reach.
#pragma once

#include "emulator/decode/module.hpp"
#include "emulator/decode/op.hpp"
#include "emulator/decode/ops/warp.hpp"
#include "emulator/decode/ptx/ast.hpp"

#include <deque>
#include <unordered_map>

namespace lode::emulator {

/// A run of 4-byte rows of 32 lanes: where a function's parameter lies in its frame.
struct ParameterRows {
    u32 offset = 0;  ///< Bytes into the frame.
    u32 rows = 0;
};

struct Code {
    const ptx::Function* function = nullptr;
    std::vector<Op> ops;
    std::vector<u32> origin;  ///< For each op, the instruction that it came from.
    u32 frame_bytes = 0;
    u32 local_bytes = 0;  ///< A lane's, of this function alone.
    std::vector<ParameterRows> returns, parameters;
    std::vector<u8> constant_store;  ///< Immediate values, one a lane, with room to align.
    u8* constant_base = nullptr;     ///< In constant_store, aligned.
    std::deque<std::vector<const Op*>> jump_tables;

    [[nodiscard]] const ptx::Instruction& instruction(const Op* op) const {
        return function->instructions[origin[static_cast<std::size_t>(op - ops.data())]];
    }
};

/// Functions that the device provides.
enum class Builtin : u8 { none, vprintf, assertfail, malloc, free };
/// The function of that name; none when there is no such.
Builtin builtin_named(std::string_view name) noexcept;

/// One call instruction: what is called and where its arguments lie in the caller's frame.
struct CallSite {
    const Code* callee = nullptr;  ///< nullptr: indirect or a builtin.
    Builtin builtin = Builtin::none;
    Slot target = no_slot;  ///< Of an indirect call: 64-bit addresses.
    std::vector<ParameterRows> returns, arguments;
};

/// A slot of the launch area filled from the parameter block when the launch starts.
struct ParameterSlot {
    u32 offset = 0;     ///< In the parameter block.
    u8 bytes = 0;       ///< Read there.
    u8 slot_bytes = 0;  ///< A lane's, in the slot.
    bool sign = false;
    u32 slot = 0;  ///< Bytes into the launch area.
};

struct Kernel {
    KernelInfo info;
    std::optional<Refusal> refusal;
    std::deque<Code> codes;  ///< The entry first.
    std::deque<CallSite> calls;
    std::unordered_map<u32, const Code*> by_function;  ///< Index in the PTX module.
    std::vector<ParameterSlot> parameter_slots;
    u32 launch_bytes = 0;  ///< Of the launch area.
    u32 bounds = 0;        ///< Memory ops with cached bounds.
    u32 dynamic_shared_offset = 0;
    std::deque<exec::FixedShuffle> shuffles;
};

/// The fixed slots of the launch area, 128 bytes each unless said otherwise.
enum LaunchSlot : u32 {
    ntid_x = 0,
    ntid_y = 128,
    ntid_z = 256,
    nctaid_x = 384,
    nctaid_y = 512,
    nctaid_z = 640,
    ctaid_x = 768,
    ctaid_y = 896,
    ctaid_z = 1024,
    nwarpid = 1152,
    smid = 1280,
    nsmid = 1408,
    dynamic_smem_size = 1536,
    total_smem_size = 1664,
    grid_workspace_low = 1792,   ///< %envreg2
    grid_workspace_high = 1920,  ///< %envreg1
    gridid = 2048,               ///< 64 bits: 256 bytes.
    dynamic_shared_base = 2304,
    first_parameter_slot = 2432,
};
/// The slots of a warp's area.
enum WarpSlot : u32 {
    tid_x = 0,
    tid_y = 128,
    tid_z = 256,
    laneid = 384,
    warpid = 512,
    lanemask_eq = 640,
    lanemask_le = 768,
    lanemask_lt = 896,
    lanemask_ge = 1024,
    lanemask_gt = 1152,
    warp_area_bytes = 1280,
};

}  // namespace lode::emulator
