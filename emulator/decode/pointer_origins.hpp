// Which parameter of a kernel a pointer comes from, so that an access that leaves the parameter's
// allocation is found even if it hits another one.
#pragma once

#include "emulator/decode/flow_graph.hpp"
#include "emulator/decode/frame.hpp"

#include <vector>

namespace lode::emulator::decode {

/// By register of an entry function: the offset, in the parameter block, of the 64-bit parameter
/// whose value it holds, or that value plus numbers that can't be pointers or distances of
/// pointers: whatever was loaded with 64 bits, or comes from a second parameter of 64 bits, may be
/// one. Otherwise no_parameter_offset. Empty for other functions.
[[nodiscard]] std::vector<u32> pointer_origins(const Frame& frame, const FlowGraph& graph);

/// The parameters whose pointers the function's instructions write global memory through, by their
/// offsets, given what pointer_origins() says of its registers; no_parameter_offset is among them
/// if some instruction may write global memory by another pointer.
[[nodiscard]] std::vector<u32> written_parameters(const ptx::Function& function,
                                                  const std::vector<u32>& origins);

}  // namespace lode::emulator::decode
