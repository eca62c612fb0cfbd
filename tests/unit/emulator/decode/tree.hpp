// A validated kernel, for tests of the passes over functions.
#pragma once

#include "emulator/decode/flow_graph.hpp"
#include "emulator/decode/kernel.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace lode::emulator::decode::testing {

class Tree {
public:
    explicit Tree(std::string_view body, std::string_view target = "sm_90a")
        : text_(fmt::format(
              ".version 9.0\n.target {}\n.address_size 64\n.shared .align 16 .b8 s[64];\n"
              ".shared .align 16 .b8 t[64];\n"
              ".func (.reg .b32 r) f(.reg .b32 a) {{ mov.b32 r, a; ret; }}\n"
              ".func g(.reg .b32 a) {{ ret; }}\n"
              ".func (.param .b64 r) h(.param .b64 a) {{ ret; }}\n"
              ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n{{\n"
              ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n"
              ".reg .b32 %r<32>;\n.reg .f32 %f<32>;\n.reg .b64 %rd<16>;\n{}\n}}\n",
              target, body)) {
        INFO(text_);
        ptx::Module& module = parts_.ast;
        const ptx::ParseError syntax = ptx::parse(text_, module, ptx::own_version);
        CAPTURE(syntax.message);
        REQUIRE(syntax.message.empty());
        const ptx::ParseError error = ptx::validate(module);
        CAPTURE(error.message);
        REQUIRE(error.message.empty());
        for (u32 k = 0; k < module.variables.size(); ++k)
            parts_.variables[module.variables[k].name] = k;
    }

    [[nodiscard]] const ModuleParts& parts() const { return parts_; }
    [[nodiscard]] const ptx::Function& function() const { return parts_.ast.functions.back(); }
    [[nodiscard]] FlowGraph graph() const { return FlowGraph(function()); }
    [[nodiscard]] const ptx::Instruction& at(u32 instruction) const {
        return function().instructions[instruction];
    }
    /// The registers of an operand.
    [[nodiscard]] std::vector<u32> regs(u32 instruction, std::size_t operand) const {
        std::vector<u32> found;
        each_register(function(), function().operands_of(at(instruction))[operand],
                      [&](u32 index) { found.push_back(index); });
        return found;
    }
    /// The only register of an operand.
    [[nodiscard]] u32 reg(u32 instruction, std::size_t operand) const {
        const std::vector<u32> found = regs(instruction, operand);
        REQUIRE(found.size() == 1);
        return found.front();
    }

private:
    std::string text_;
    ModuleParts parts_;
};

}  // namespace lode::emulator::decode::testing
