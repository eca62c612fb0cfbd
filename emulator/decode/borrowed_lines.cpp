#include "emulator/decode/borrowed_lines.hpp"

#include "emulator/decode/module_parts.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lode::emulator {

namespace {

using Twin = BorrowedLines::Twin;

/// A name without the number that ptx::Link has added; the name itself if it has none.
std::string_view unnumbered(std::string_view name) noexcept {
    const std::size_t end = name.find_last_not_of("0123456789");
    if (end == name.npos || end + 1 == name.size() || end == 0 || name[end] != '_' ||
        name[end - 1] != '_')
        return name;
    return name.substr(0, end - 1);
}

/// Whether an operand of loaded code is one of code that may be an input of its link.
bool is_same(const ptx::Operand& loaded, const ptx::Operand& other) noexcept {
    const auto fields = [](const ptx::Operand& one) {
        return std::tuple(one.kind, one.negated, one.address, one.is_element, one.index, one.count,
                          one.pair, one.bits, one.selector);
    };
    if (fields(loaded) != fields(other)) return false;
    // Their numbers tell labels and tables apart; their names may differ with line information.
    const bool is_place =
        loaded.kind == ptx::OperandKind::label || loaded.kind == ptx::OperandKind::table;
    return is_place || loaded.name == other.name || unnumbered(loaded.name) == other.name;
}

bool is_same_code(const ptx::Function& loaded, const ptx::Function& other) {
    const auto is_same_instruction = [](const ptx::Instruction& a, const ptx::Instruction& b) {
        return a.opcode == b.opcode && a.first == b.first && a.count == b.count &&
               a.guard == b.guard && a.guard_negated == b.guard_negated;
    };
    return std::ranges::equal(loaded.instructions, other.instructions, is_same_instruction) &&
           std::ranges::equal(loaded.operands, other.operands, is_same) &&
           std::ranges::equal(loaded.elements, other.elements, is_same) &&
           std::ranges::equal(loaded.tables, other.tables, {}, &ptx::Table::instructions,
                              &ptx::Table::instructions);
}

std::string_view file_of(const ptx::Module& module, const ptx::Location& location) {
    const auto file = module.files.find(location.file);
    return file != module.files.end() ? file->second : std::string_view("?");
}

bool has_same_lines(const Twin& a, const Twin& b) {
    return std::ranges::equal(a.function->locations, b.function->locations,
                              [&](const ptx::Location& x, const ptx::Location& y) {
                                  return x.line == y.line && x.parent == y.parent &&
                                         file_of(*a.module, x) == file_of(*b.module, y);
                              });
}

}  // namespace

const Twin* BorrowedLines::twin_of(const ptx::Module& own, const ptx::Function& function) const {
    if (source_ == nullptr) return nullptr;
    std::call_once(asked_, [&] { ask(own); });
    const auto found = twins_.find(&function);
    return found != twins_.end() ? &found->second : nullptr;
}

void BorrowedLines::ask(const ptx::Module& own) const {
    const auto start = Clock::now().time_since_epoch().count();
    asking_since_.store(start);
    try {
        std::unordered_multimap<std::string_view, Twin> candidates;
        source_->ask([&](std::string_view text) {
            Unit& unit = units_.emplace_back();
            unit.text = text;
            if (!ptx::parse(unit.text, unit.module, ptx::own_version).message.empty() ||
                !ptx::validate(unit.module).message.empty()) {
                units_.pop_back();
                return;
            }
            for (const ptx::Function& one : unit.module.functions)
                if (one.has_locations()) candidates.emplace(one.name, Twin{&unit.module, &one});
        });
        for (const ptx::Function& function : own.functions) {
            if (!function.defined || function.has_locations()) continue;
            for (const std::string_view name : {function.name, unnumbered(function.name)}) {
                const auto [first, last] = candidates.equal_range(name);
                std::vector<Twin> same;
                for (auto at = first; at != last; ++at)
                    if (is_same_code(function, *at->second.function)) same.push_back(at->second);
                if (same.empty()) continue;
                if (std::ranges::all_of(
                        same, [&](const Twin& one) { return has_same_lines(same[0], one); }))
                    twins_.emplace(&function, same[0]);
                break;
            }
        }
    } catch (const std::exception&) {  // Without memory, there are fewer lines.
    }
    asked_for_.fetch_add(Clock::now().time_since_epoch().count() - start);
    asking_since_.store(0);
}

BorrowedLines::Clock::time_point BorrowedLines::now() const noexcept {
    const auto since = asking_since_.load();
    const auto real = since != 0 ? since : Clock::now().time_since_epoch().count();
    return Clock::time_point(Clock::duration(real - asked_for_.load()));
}

std::vector<SourcePlace> source_stack(const ModuleParts& module, const Code& code,
                                      const ptx::Instruction& at) {
    Twin named{&module.ast, code.function};
    u32 location = at.location;
    if (!code.function->has_locations()) {
        const Twin* const twin = module.lines.twin_of(module.ast, *code.function);
        if (twin == nullptr) return {};
        named = *twin;
        const auto index = &at - code.function->instructions.data();
        location = named.function->instructions[static_cast<std::size_t>(index)].location;
    }
    std::vector<SourcePlace> stack;
    const auto& locations = named.function->locations;
    for (; location != 0; location = locations[location].parent) {
        stack.push_back(
            {std::string(file_of(*named.module, locations[location])), locations[location].line});
    }
    return stack;
}

std::string source_place(const ModuleParts& module, const Code& code, const ptx::Instruction& at) {
    std::string text;
    for (const SourcePlace& place : source_stack(module, code, at))
        text += fmt::format("{}{}:{}", text.empty() ? "" : ", inlined at ", place.file, place.line);
    return text;
}

}  // namespace lode::emulator
