#include "emulator/decode/instructions/instructions.hpp"

#include <unordered_map>

namespace lode::emulator::decode {

InstructionDecoder decoder_of(std::string_view name) {
    static const auto* const decoders = [] {
        auto* const all = new std::unordered_map<std::string_view, InstructionDecoder>;
        for (const OpcodeDecoders group :
             {arithmetic_opcodes(), async_opcodes(), atomic_opcodes(), call_opcodes(),
              cluster_opcodes(), comparison_opcodes(), composed_opcodes(), control_opcodes(),
              conversion_opcodes(), image_opcodes(), memory_opcodes(), move_opcodes(),
              tensor_opcodes(), tensor_copy_opcodes(), video_opcodes(), warp_opcodes()}) {
            for (const OpcodeDecoder& row : group)
                all->emplace(row.name, row.decode);
        }
        return all;
    }();
    const auto found = decoders->find(name);
    return found != decoders->end() ? found->second : InstructionDecoder{decode_by_table};
}

}  // namespace lode::emulator::decode
