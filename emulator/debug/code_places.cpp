#include "emulator/debug/code_places.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

namespace lode::emulator::debug {

namespace {

bool operator==(const Stack& a, const Stack& b) {
    return std::ranges::equal(a, b, [](const SourcePlace& x, const SourcePlace& y) {
        return x.line == y.line && x.file == y.file;
    });
}

}  // namespace

CodePlaces::CodePlaces(const ModuleParts& module, const Code& code) : code_(code) {
    for (const ptx::Instruction& each : code.function->instructions) {
        Stack stack = source_stack(module, code, each);
        // The compiler's own code has the line 0.
        if (!stack.empty() && stack.front().line == 0) stack.clear();
        if (stack.empty()) {
            by_instruction_.push_back(0);
            continue;
        }
        if (!(stacks_.back() == stack)) stacks_.push_back(std::move(stack));
        by_instruction_.push_back(static_cast<u32>(stacks_.size() - 1));
    }
}

const Stack& CodePlaces::at(const Op* op) const {
    return stacks_[by_instruction_[code_.origin[static_cast<std::size_t>(op - code_.ops.data())]]];
}

const Op* CodePlaces::first_op(std::size_t instruction) const {
    const auto found = std::ranges::lower_bound(code_.origin, instruction);
    if (found == code_.origin.end()) return nullptr;
    return &code_.ops[static_cast<std::size_t>(found - code_.origin.begin())];
}

std::vector<const Op*> CodePlaces::begin_of_line(std::string_view file, u32& line) const {
    u32 nearest = std::numeric_limits<u32>::max();
    bool has_earlier = false;
    const auto is_there = [&](const Stack& stack) {
        return !stack.empty() && may_be_same_file(stack.front().file, file);
    };
    for (const u32 index : by_instruction_) {
        const Stack& stack = stacks_[index];
        if (!is_there(stack)) continue;
        const u32 here = stack.front().line;
        if (here >= line) nearest = std::min(nearest, here);
        has_earlier |= here <= line;
    }
    if (nearest == std::numeric_limits<u32>::max() || (nearest != line && !has_earlier)) return {};
    line = nearest;
    // By the calls that inlined the code: their lines.
    std::map<std::vector<u32>, std::size_t> first;
    for (std::size_t k = 0; k < by_instruction_.size(); ++k) {
        const Stack& stack = stacks_[by_instruction_[k]];
        if (!is_there(stack) || stack.front().line != line) continue;
        std::vector<u32> calls;
        for (const SourcePlace& place : stack)
            calls.push_back(place.line);
        first.try_emplace(std::move(calls), k);
    }
    std::vector<const Op*> ops;
    for (const auto& [calls, instruction] : first)
        if (const Op* const op = first_op(instruction)) ops.push_back(op);
    return ops;
}

const Op* CodePlaces::begin_of_body() const {
    // The first line is that of the function's name.
    std::size_t at = 0;
    while (at < by_instruction_.size() && by_instruction_[at] <= 1)
        ++at;
    if (at == by_instruction_.size()) at = 0;
    return first_op(at);
}

bool may_be_same_file(std::string_view a, std::string_view b) {
    if (a == b) return true;
    const std::filesystem::path x(a);
    const std::filesystem::path y(b);
    if (x.filename() != y.filename()) return false;
    if (x.is_absolute() && y.is_absolute()) return x.lexically_normal() == y.lexically_normal();
    return true;
}

}  // namespace lode::emulator::debug
