// Code: a decoded function. Kernel: an entry with every function that it may call.
#pragma once

#include "emulator/decode/builtins.hpp"
#include "emulator/decode/module.hpp"
#include "emulator/decode/ptx/ast.hpp"
#include "emulator/isa/op.hpp"
#include "emulator/isa/tensor.hpp"
#include "emulator/isa/tensor_memory.hpp"
#include "emulator/isa/warp.hpp"

#include <deque>
#include <memory>
#include <unordered_map>

namespace lode::emulator {

namespace exec {
struct Regions;
}

/// Consecutive rows of 32 4-byte lanes that hold a function's parameter in its frame.
struct ParameterRows {
    u32 offset = 0;  ///< Byte offset in the frame.
    u32 bytes = 0;   ///< The parameter's size; 0 for an array of unknown length.

    [[nodiscard]] u32 rows() const noexcept { return (bytes + 3) / 4; }
};

struct Code {
    const ptx::Function* function = nullptr;
    std::vector<Op> ops;
    std::vector<u32> origin;  ///< The instruction that each op came from.
    u32 frame_bytes = 0;
    u32 local_bytes = 0;  ///< Local memory per lane, without called functions.
    std::vector<ParameterRows> returns, parameters;
    std::vector<u8> constant_store;  ///< Immediate values, one per lane, padded for alignment.
    u8* constant_base = nullptr;     ///< The first aligned byte in constant_store.
    std::deque<std::vector<const Op*>> jump_tables;
    /// Where a debugger finds values, if LoadOptions::shares_slots is false: the slots of registers
    /// and the offsets of variables in local memory, by their indices in `function`.
    std::vector<Slot> register_slots;
    std::vector<u32> local_offsets;
    std::shared_ptr<exec::Regions> regions;  ///< The compiled tier's; may be null.

    [[nodiscard]] const ptx::Instruction& instruction(const Op* op) const {
        return function->instructions[origin[static_cast<std::size_t>(op - ops.data())]];
    }
};

/// One call instruction: the callee and the places of its arguments in the caller's frame.
struct CallSite {
    const Code* callee = nullptr;  ///< nullptr for an indirect call or a builtin.
    Builtin builtin = no_builtin;
    Slot target = no_slot;  ///< The 64-bit addresses of an indirect call.
    std::vector<ParameterRows> returns, arguments;
};

/// A slot of the launch area that is filled from the parameter block at launch.
struct ParameterSlot {
    u32 offset = 0;     ///< Byte offset in the parameter block.
    u8 bytes = 0;       ///< Bytes to read.
    u8 slot_bytes = 0;  ///< Bytes per lane in the slot.
    bool sign = false;
    u32 slot = 0;  ///< Byte offset in the launch area.
};

/// A variable in shared memory, of known size.
struct SharedVariable {
    u32 offset = 0;
    u32 bytes = 0;
    std::string name;         ///< Demangled.
    std::string_view symbol;  ///< As in the PTX.
};

inline constexpr u32 no_parameter_offset = ~u32{0};

struct DecodedKernel {
    KernelInfo info;
    std::optional<Refusal> refusal;
    bool is_bound = false;   ///< Its ops have handlers; ModuleParts::mutex guards this.
    std::deque<Code> codes;  ///< The entry comes first.
    std::deque<CallSite> calls;
    std::unordered_map<u32, const Code*> by_function;  ///< By function index in the PTX module.
    std::vector<ParameterSlot> parameter_slots;
    u32 launch_bytes = 0;  ///< Size of the launch area.
    u32 bounds = 1;        ///< Number of memory ops with cached bounds; 0 is for all others.
    /// By Op::cache: where, in the parameter block, the pointer is that an access's addresses come
    /// from; no_parameter_offset if that isn't known.
    std::vector<u32> access_parameters{no_parameter_offset};
    /// Where, in the parameter block, the pointers are that global memory is written through; may
    /// repeat. no_parameter_offset is among them if it may be written through others.
    std::vector<u32> written_parameters;
    bool may_wait = false;  ///< For other blocks; see decode::may_wait().
    u32 dynamic_shared_offset = 0;
    bool names_cluster = false;  ///< Reads the special registers of the block's own cluster.
    std::vector<SharedVariable> shared_variables;  ///< By ascending offset, without dynamic ones.
    std::deque<exec::FixedShuffle> shuffles;
    std::deque<exec::ShuffledRegisters> shuffled_registers;
    std::deque<exec::MatrixProduct> products;
    std::deque<exec::WarpgroupProduct> warpgroup_products;
    std::deque<exec::ProductRegisters> product_registers;
    std::deque<exec::FragmentMove> fragment_moves;
    std::deque<exec::TensorRegisters> tensor_registers;
    std::deque<exec::TensorProduct> tensor_products;
};

/// Byte offsets of the fixed slots of the launch area; 128 bytes each unless noted.
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
    gridid = 2048,               ///< 64 bits per lane: 256 bytes.
    dynamic_shared_base = 2304,
    nclusterid_x = 2432,
    nclusterid_y = 2560,
    nclusterid_z = 2688,
    cluster_nctaid_x = 2816,
    cluster_nctaid_y = 2944,
    cluster_nctaid_z = 3072,
    cluster_nctarank = 3200,
    is_explicit_cluster = 3328,  ///< A predicate.
    // Filled only if DecodedKernel::names_cluster.
    clusterid_x = 3456,
    clusterid_y = 3584,
    clusterid_z = 3712,
    cluster_ctaid_x = 3840,
    cluster_ctaid_y = 3968,
    cluster_ctaid_z = 4096,
    cluster_ctarank = 4224,
    first_parameter_slot = 4352,
};
/// Byte offsets of the slots of a warp's area.
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
