#include "emulator/decode/instructions/instructions.hpp"

namespace lode::emulator::decode {

InstructionDecoder decoder_of(Word name) {
    for (const OpcodeDecoders group :
         {arithmetic_opcodes(), async_opcodes(), atomic_opcodes(), call_opcodes(),
          cluster_opcodes(), comparison_opcodes(), composed_opcodes(), control_opcodes(),
          conversion_opcodes(), image_opcodes(), memory_opcodes(), move_opcodes(), tensor_opcodes(),
          tensor_copy_opcodes(), video_opcodes(), warp_opcodes()}) {
        for (const OpcodeDecoder& row : group)
            if (row.name == name) return row.decode;
    }
    return decode_by_table;
}

}  // namespace lode::emulator::decode
