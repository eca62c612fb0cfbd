// One function: layout of its frame, aliases, its instructions in turn, and the final addresses.
#include "base/align_up.hpp"
#include "emulator/decode/decoder.hpp"
#include "emulator/decode/limits.hpp"
#include "emulator/decode/ops/control.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

}  // namespace

const std::unordered_map<std::string_view, Decoder::Family>& Decoder::families() {
    static const std::unordered_map<std::string_view, Family> all = {
        {"add", &Decoder::real_arithmetic},
        {"sub", &Decoder::real_arithmetic},
        {"mul", &Decoder::real_arithmetic},
        {"fma", &Decoder::real_arithmetic},
        {"mad", &Decoder::real_arithmetic},
        {"div", &Decoder::real_arithmetic},
        {"min", &Decoder::real_arithmetic},
        {"max", &Decoder::real_arithmetic},
        {"abs", &Decoder::real_arithmetic},
        {"neg", &Decoder::real_arithmetic},
        {"sqrt", &Decoder::real_arithmetic},
        {"rcp", &Decoder::real_arithmetic},
        {"rsqrt", &Decoder::real_arithmetic},
        {"ex2", &Decoder::real_arithmetic},
        {"lg2", &Decoder::real_arithmetic},
        {"sin", &Decoder::real_arithmetic},
        {"cos", &Decoder::real_arithmetic},
        {"tanh", &Decoder::real_arithmetic},
        {"copysign", &Decoder::real_arithmetic},
        {"testp", &Decoder::test_property},
        {"addc", &Decoder::carry_arithmetic},
        {"subc", &Decoder::carry_arithmetic},
        {"madc", &Decoder::carry_arithmetic},
        {"setp", &Decoder::set_predicate},
        {"set", &Decoder::set_value},
        {"slct", &Decoder::slct},
        {"cvt", &Decoder::convert},
        {"mov", &Decoder::move},
        {"cvta", &Decoder::address_conversion},
        {"lop3", &Decoder::logic3},
        {"ld", &Decoder::load},
        {"ldu", &Decoder::load},
        {"st", &Decoder::store},
        {"atom", &Decoder::atomic},
        {"red", &Decoder::atomic},
        {"cp", &Decoder::async_copy},
        {"mbarrier", &Decoder::memory_barrier},
        {"isspacep", &Decoder::is_space_op},
        {"membar", &Decoder::fence_op},
        {"fence", &Decoder::fence_op},
        {"prefetch", &Decoder::nothing},
        {"prefetchu", &Decoder::nothing},
        {"applypriority", &Decoder::nothing},
        {"discard", &Decoder::nothing},
        {"createpolicy", &Decoder::cache_policy},
        {"griddepcontrol", &Decoder::nothing},
        {"setmaxnreg", &Decoder::nothing},
        {"pmevent", &Decoder::nothing},
        {"bra", &Decoder::branch},
        {"brx", &Decoder::branch_indexed},
        {"exit", &Decoder::exit_op},
        {"ret", &Decoder::return_op},
        {"trap", &Decoder::trap_op},
        {"brkpt", &Decoder::trap_op},
        {"nanosleep", &Decoder::sleep_op},
        {"call", &Decoder::call},
        {"bar", &Decoder::barrier},
        {"barrier", &Decoder::barrier},
        {"shfl", &Decoder::warp_op},
        {"vote", &Decoder::warp_op},
        {"match", &Decoder::warp_op},
        {"redux", &Decoder::warp_op},
        {"elect", &Decoder::warp_op},
        {"activemask", &Decoder::warp_op},
        {"vadd", &Decoder::scalar_video},
        {"vsub", &Decoder::scalar_video},
        {"vabsdiff", &Decoder::scalar_video},
        {"vmin", &Decoder::scalar_video},
        {"vmax", &Decoder::scalar_video},
        {"vshl", &Decoder::scalar_video},
        {"vshr", &Decoder::scalar_video},
        {"vset", &Decoder::scalar_video},
        {"vmad", &Decoder::scalar_video},
        {"vadd4", &Decoder::video},
        {"vsub4", &Decoder::video},
        {"vabsdiff4", &Decoder::video},
        {"vmin4", &Decoder::video},
        {"vmax4", &Decoder::video},
        {"vavrg4", &Decoder::video},
        {"vadd2", &Decoder::video},
        {"vsub2", &Decoder::video},
        {"vabsdiff2", &Decoder::video},
        {"vmin2", &Decoder::video},
        {"vmax2", &Decoder::video},
        {"vset2", &Decoder::video},
        {"vset4", &Decoder::video},
        {"vavrg2", &Decoder::video},
    };
    return all;
}

void Decoder::lay_out() {
    if (bytes_in(function_.variables, ptx::Space::param) > max_function_parameters) {
        return refuse_function(
            fmt::format("more than {} bytes of parameters", max_function_parameters));
    }
    const auto count = static_cast<u32>(function_.variables.size());
    rows_.assign(count, ~u32{0});
    locals_.assign(count, ~u32{0});
    entry_offsets_.assign(count, ~u32{0});
    const auto returns = static_cast<u32>(function_.returns.size());
    const auto own = returns + static_cast<u32>(function_.parameters.size());
    u32 local = 0;
    u32 parameter = 0;
    for (u32 k = 0; k < count; ++k) {
        const ptx::Variable& variable = function_.variables[k];
        const auto bytes = static_cast<u32>(variable.bytes);
        if (variable.space == ptx::Space::local) {
            local = align_up(local, variable.align);
            locals_[k] = local;
            local += bytes;
        } else if (variable.space == ptx::Space::param && function_.entry && k < own) {
            parameter = align_up(parameter, variable.align);
            entry_offsets_[k] = parameter;
            parameter += bytes;
        } else if (variable.space == ptx::Space::param) {
            const ParameterRows rows = rows_of(k);
            if (k < returns) code_.returns.push_back(rows);
            if (k >= returns && k < own) code_.parameters.push_back(rows);
        }
    }
    code_.local_bytes = align_up(local, 16);
}

// Registers that are written once, by a parameter of the kernel, a constant or a special register,
// need neither a place nor an op: they are names for slots that exist anyway.
void Decoder::find_aliases() {
    const auto count = function_.registers.size();
    constexpr u64 widest = 16 * lanes;
    if (frame_ + u64{count} * widest > max_frame_bytes) {
        return refuse_function(fmt::format("{} registers in use", count));
    }
    slots_.assign(count, no_slot);
    definitions_.assign(count, 0);
    // A call fills them: they have places of their own.
    for (const ptx::RegisterParameter& one : function_.register_parameters)
        definitions_[one.first] = 2;
    const auto define = [&](const ptx::Operand& one) {
        if (one.kind == OperandKind::reg && !one.address && definitions_[one.index] < 2) {
            ++definitions_[one.index];
        }
        if (one.pair >= 0 && definitions_[static_cast<u32>(one.pair)] < 2) {
            ++definitions_[static_cast<u32>(one.pair)];
        }
    };
    for (const ptx::Instruction& instruction : function_.instructions) {
        if (instruction.count == 0) continue;
        const ptx::Operand& to = function_.operands[instruction.first];
        for (const ptx::Operand& one : list(to))
            define(one);
    }
    std::unordered_map<u32, u32> same;  // register to the register it is a copy of
    for (const ptx::Instruction& instruction : function_.instructions) {
        if (instruction.count < 2 || instruction.guard >= 0) continue;
        const ptx::Operand& to = function_.operands[instruction.first];
        const ptx::Operand& from = function_.operands[instruction.first + 1];
        if (to.kind != OperandKind::reg || definitions_[to.index] != 1) continue;
        const u8 bytes = function_.registers[to.index].bytes;
        if (bytes == 0) continue;
        instruction_ = &instruction;
        const std::string_view opcode = instruction.opcode;
        if (opcode.starts_with("mov.") && bytes == ptx::type_named(opcode.substr(4)).bytes) {
            const bool number = from.kind == OperandKind::integer ||
                                from.kind == OperandKind::real32 ||
                                from.kind == OperandKind::real64;
            const bool fixed =
                (from.kind == OperandKind::symbol || from.kind == OperandKind::variable) &&
                fixed_address(from).has_value();
            const bool special = from.kind == OperandKind::special && bytes == 4 &&
                                 !from.name.starts_with("%clock") &&
                                 !from.name.starts_with("%globaltimer");
            if (number || fixed || special) {
                const Slot made = source_of(from, letter_of_bytes(bytes));
                if (made != no_slot && made >> area_shift != 0) slots_[to.index] = made;
            }
        } else if (opcode.starts_with("ld.param.") && function_.entry && from.address &&
                   from.kind == OperandKind::variable && entry_offsets_[from.index] != ~u32{0}) {
            const std::string_view type = opcode.substr(9);
            const u32 read = ptx::type_named(type).bytes;
            const u64 size = function_.variables[from.index].bytes;
            if (read == 0 || read > bytes || read > size || from.bits > size - read) {
                continue;
            }
            const u32 place = entry_offsets_[from.index] + static_cast<u32>(from.bits);
            const bool sign = type[0] == 's';
            const auto [at, fresh] = build_.parameter_slots.try_emplace(
                {place, read, bytes, u32{sign}}, build_.kernel->launch_bytes);
            if (fresh) {
                build_.kernel->parameter_slots.push_back(
                    {place, static_cast<u8>(read), bytes, sign, build_.kernel->launch_bytes});
                build_.kernel->launch_bytes += (bytes * lanes + 63) / 64 * 64;
            }
            slots_[to.index] = slot(Area::launch, at->second);
        } else if ((opcode == "cvta.to.global.u64" || opcode == "cvta.global.u64") &&
                   from.kind == OperandKind::reg && bytes == 8 && definitions_[from.index] == 1 &&
                   function_.registers[from.index].bytes == 8) {
            // Registers may name each other in a circle, in code that never ran.
            u32 root = from.index;
            for (auto at = same.find(root); at != same.end(); at = same.find(root))
                root = at->second;
            if (root != to.index) same[to.index] = from.index;
        }
    }
    for (u32 k = 0; k < count; ++k) {
        if (slots_[k] != no_slot || same.contains(k)) continue;
        const u8 bytes = function_.registers[k].bytes;
        slots_[k] = frame_;
        frame_ += bytes == 0 ? 4 : (bytes * lanes + 31) / 32 * 32;
        if (bytes != 0) continue;
        // Predicates are packed; what follows them is aligned again.
        if (k + 1 == count || function_.registers[k + 1].bytes != 0) frame_ = align_up(frame_, 32);
    }
    for (const auto& [copy, original] : same) {
        u32 root = original;
        for (auto at = same.find(root); at != same.end(); at = same.find(root))
            root = at->second;
        slots_[copy] = slots_[root];
    }
    frame_ = align_up(frame_, 32);
}

void Decoder::one(const ptx::Instruction& instruction) {
    instruction_ = &instruction;
    parts_.split(instruction.opcode);
    const bool plain_branch = parts_.base() == "bra";
    u32 skip = ~u32{0};
    if (instruction.guard >= 0 && !plain_branch) {
        skip = static_cast<u32>(code_.ops.size());
        emit(instruction.guard_negated ? &exec::branch_if : &exec::branch_unless,
             {slots_[static_cast<u32>(instruction.guard)]}, 0);
    }
    const auto family = families().find(parts_.base());
    if (family != families().end()) {
        (this->*family->second)();
    } else {
        table_row();
    }
    if (const std::string_view word = parts_.left_over(); !word.empty() && !refusal_)
        refuse("with ." + std::string(word));
    for (const auto& [letter, place] : used_temporaries_) {
        free_temporaries_[static_cast<std::size_t>(std::string_view("bhwdq").find(letter))]
            .push_back(place);
    }
    used_temporaries_.clear();
    if (skip != ~u32{0}) skips_.emplace_back(skip, static_cast<u32>(code_.ops.size()));
}

// Between the rows that calls see and the registers that the body names: parameters in front of the
// body, results before it returns.
void Decoder::move_register_parameters(bool results) {
    for (const ptx::RegisterParameter& one : function_.register_parameters) {
        const ptx::Register& each = function_.registers[one.first];
        if (each.lanes > 1 || each.bytes == 0)
            return refuse_function("a vector or a predicate as a parameter in .reg space");
        if (one.is_result != results) continue;
        const Slot row = rows_[one.variable];
        Op& op = results ? emit(&exec::store_row, {slots_[one.first], row}, 0)
                         : emit(&exec::load_row, {slots_[one.first], row});
        op.flags = each.bytes;
    }
}

void Decoder::fix_targets() {
    Op* const ops = code_.ops.data();
    for (const auto& [op, instruction] : branches_)
        ops[op].target = ops + first_op_[instruction];
    for (const auto& [op, target] : skips_)
        ops[op].target = ops + target;
    for (const auto& [place, instruction] : jump_fixes_)
        *place = ops + first_op_[instruction];
}

void Decoder::finish_constants() {
    code_.constant_store.resize(constant_bytes_.size() + 64);
    const auto at = reinterpret_cast<std::uintptr_t>(code_.constant_store.data());
    code_.constant_base = reinterpret_cast<u8*>((at + 63) / 64 * 64);
    std::copy(constant_bytes_.begin(), constant_bytes_.end(), code_.constant_base);
}

// Instructions that need no op are counted with the next op, or, before a label, with the one that
// falls through to it.
void Decoder::count_instructions() {
    std::vector<bool> is_label(function_.instructions.size() + 1);
    for (const auto& [op, instruction] : branches_)
        is_label[instruction] = true;
    for (const auto& [place, instruction] : jump_fixes_)
        is_label[instruction] = true;
    u32 waiting = 0;
    for (std::size_t i = 0; i < function_.instructions.size(); ++i) {
        if (is_label[i] && first_op_[i] > 0) {
            code_.ops[first_op_[i] - 1].instructions += std::exchange(waiting, 0);
        }
        ++waiting;
        if (first_op_[i] != first_op_[i + 1]) {
            code_.ops[first_op_[i]].instructions += std::exchange(waiting, 0);
        }
    }
    code_.ops.back().instructions += waiting;
}

std::optional<Refusal> Decoder::run() {
    code_.function = &function_;
    static const ptx::Instruction nothing_yet;
    instruction_ = function_.instructions.empty() ? &nothing_yet : function_.instructions.data();
    lay_out();
    if (refusal_) return refusal_;
    find_aliases();
    if (refusal_) return refusal_;
    code_.ops.reserve(function_.instructions.size() + 8);
    first_op_.reserve(function_.instructions.size() + 1);
    if (!function_.instructions.empty()) move_register_parameters(false);
    for (const ptx::Instruction& instruction : function_.instructions) {
        if (refusal_) return refusal_;
        first_op_.push_back(static_cast<u32>(code_.ops.size()));
        one(instruction);
        if (refusal_) return refusal_;
    }
    first_op_.push_back(static_cast<u32>(code_.ops.size()));
    // A body may end without ret.
    if (!function_.instructions.empty()) {
        instruction_ = &function_.instructions.back();
        move_register_parameters(true);
    }
    emit(&exec::return_from, {}, 0);
    if (function_.instructions.empty()) code_.origin.back() = 0;
    count_instructions();
    fix_targets();
    finish_constants();
    code_.frame_bytes = align_up(frame_, 64);
    return std::nullopt;
}

}  // namespace lode::emulator::decode
