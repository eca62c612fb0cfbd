// Operands: registers, immediate values, addresses, and conversions where sizes differ.
#include "emulator/decode/decoder.hpp"
#include "emulator/decode/limits.hpp"
#include "emulator/decode/ops/control.hpp"
#include "emulator/decode/ops/half.hpp"
#include "emulator/decode/ops/warp.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

std::string_view cvt_key(char have, char want, bool sign) {
    // From narrower to wider with the source's sign; from wider to narrower the sign is moot.
    static constexpr std::string_view names[2][5] = {{"u8", "u16", "u32", "u64", "u128"},
                                                     {"s8", "s16", "s32", "s64", "u128"}};
    static const auto* const keys = [] {
        auto* const all = new std::array<std::string, 50>;
        for (u32 s = 0; s < 2; ++s) {
            for (u32 from = 0; from < 5; ++from) {
                for (u32 to = 0; to < 5; ++to) {
                    const std::string_view target = names[0][to];
                    (*all)[(s * 5 + from) * 5 + to] =
                        fmt::format("cvt.{}.{}", target, names[s][from]);
                }
            }
        }
        return all;
    }();
    const auto index = [](char letter) {
        return static_cast<u32>(std::string_view("bhwdq").find(letter));
    };
    return (*keys)[(u32{sign} * 5 + index(have)) * 5 + index(want)];
}

}  // namespace

void Decoder::Parts::split(std::string_view opcode) noexcept {
    count_ = 0;
    taken_ = 1;
    while (count_ < part_.size()) {
        const std::size_t dot = opcode.find('.');
        part_[count_++] = opcode.substr(0, dot);
        if (dot == opcode.npos) break;
        opcode.remove_prefix(dot + 1);
    }
}

std::string_view Decoder::Parts::take(u32 i) noexcept {
    if (i >= count_) return {};
    taken_ |= 1u << i;
    return part_[i];
}

bool Decoder::Parts::take(std::string_view name) noexcept {
    for (u32 i = 1; i < count_; ++i) {
        if (part_[i] != name) continue;
        taken_ |= 1u << i;
        return true;
    }
    return false;
}

bool Decoder::Parts::take_prefix(std::string_view start) noexcept {
    bool found = false;
    for (u32 i = 1; i < count_; ++i) {
        if (!part_[i].starts_with(start)) continue;
        taken_ |= 1u << i;
        found = true;
    }
    return found;
}

void Decoder::Parts::ignore(std::initializer_list<std::string_view> names) noexcept {
    for (const std::string_view name : names)
        take(name);
}

std::string_view Decoder::Parts::left_over() const noexcept {
    for (u32 i = 0; i < count_; ++i) {
        if ((taken_ >> i & 1) == 0) return part_[i];
    }
    return {};
}

void Decoder::refuse(std::string_view why) {
    if (refusal_) return;
    Refusal made;
    made.opcode = std::string(instruction_->opcode);
    made.ptx_line = instruction_->line;
    made.source = source_place(*build_.module, code_, *instruction_);
    made.message = fmt::format("The emulator doesn't run {}{}{} ({}PTX line {}).", made.opcode,
                               why.empty() ? "" : " ", why,
                               made.source.empty() ? "" : made.source + ", ", made.ptx_line);
    refusal_ = std::move(made);
}

void Decoder::refuse_function(std::string_view why) {
    if (refusal_) return;
    Refusal made;
    made.opcode = std::string(function_.name);
    made.ptx_line = function_.line;
    made.message = fmt::format("The emulator doesn't run the function {} with {} (PTX line {}).",
                               function_.name, why, function_.line);
    refusal_ = std::move(made);
}

const ptx::Operand& Decoder::operand(u32 index) const {
    static const ptx::Operand none;
    if (index >= instruction_->count) return none;
    return function_.operands[instruction_->first + index];
}

std::span<const ptx::Operand> Decoder::list(const ptx::Operand& operand) const {
    if (operand.kind != OperandKind::list) return {&operand, 1};
    return std::span(function_.elements).subspan(operand.index, operand.count);
}

Op& Decoder::emit(Handler handler, std::initializer_list<Slot> slots, u8 defines) {
    Op op;
    op.run = handler;
    std::copy(slots.begin(), slots.end(), op.r);
    code_.ops.push_back(op);
    code_.origin.push_back(static_cast<u32>(instruction_ - function_.instructions.data()));
    defines_.push_back(defines);
    return code_.ops.back();
}

void Decoder::emit_row(std::string_view key, std::initializer_list<Slot> slots, u8 defines) {
    const OpRow* const row = find_op(key);
    if (row == nullptr) return refuse();
    emit(row->run, slots, defines);
}

Slot Decoder::constant(u64 low, u32 bytes, u64 high) {
    if (bytes < 8) low &= (u64{1} << (bytes * 8)) - 1;
    const auto [at, fresh] = constants_.try_emplace({low, high, bytes}, no_slot);
    if (!fresh) return at->second;
    const std::size_t offset = (constant_bytes_.size() + 63) / 64 * 64;
    if (offset + std::size_t{bytes} * lanes > max_frame_bytes) {
        refuse_function("more than " + std::to_string(max_frame_bytes) + " bytes of constants");
        return at->second = slot(Area::constants, 0);
    }
    constant_bytes_.resize(offset + std::size_t{bytes} * lanes);
    const u64 value[2] = {low, high};
    for (u32 i = 0; i < lanes; ++i) {
        std::memcpy(constant_bytes_.data() + offset + std::size_t{i} * bytes, value, bytes);
    }
    return at->second = slot(Area::constants, static_cast<u32>(offset));
}

Slot Decoder::predicate_constant(bool value) {
    return constant(value ? all_lanes : 0, 4, 1);
}

Slot Decoder::temporary(char letter) {
    const u32 bytes = letter == 'p' ? 4 : bytes_of_letter(letter) * lanes;
    auto& free = free_temporaries_[static_cast<std::size_t>(
        std::string_view("bhwdq").find(letter == 'p' ? 'b' : letter))];
    Slot made = no_slot;
    if (!free.empty()) {
        made = free.back();
        free.pop_back();
    } else {
        made = frame_;
        frame_ += (std::max(bytes, 32u) + 31) / 32 * 32;
    }
    used_temporaries_.emplace_back(letter == 'p' ? 'b' : letter, made);
    return made;
}

char Decoder::letter_of(u32 reg) const noexcept {
    const u8 bytes = function_.registers[reg].bytes;
    return bytes == 0 ? 'p' : letter_of_bytes(bytes);
}

Slot Decoder::converted(Slot from, char have, char want, bool sign) {
    if (have == want) return from;
    if (have == 'p' || want == 'p') {
        refuse("with a predicate where a value is expected");
        return from;
    }
    const Slot to = temporary(want);
    emit_row(cvt_key(have, want, sign), {to, from});
    return to;
}

Slot Decoder::register_source(u32 index, char letter, bool sign) {
    return converted(slots_[index], letter_of(index), letter, sign);
}

Slot Decoder::predicate_source(const ptx::Operand& operand) {
    if (operand.kind == OperandKind::integer) {
        return predicate_constant((operand.bits != 0) != operand.negated);
    }
    if (operand.kind != OperandKind::reg || letter_of(operand.index) != 'p') {
        refuse("without a predicate");
        return no_slot;
    }
    const Slot plain = slots_[operand.index];
    if (!operand.negated) return plain;
    const Slot turned = temporary('p');
    emit_row("not.pred", {turned, plain});
    return turned;
}

Slot Decoder::source_of(const ptx::Operand& operand, char letter, bool sign) {
    if (letter == 'p') return predicate_source(operand);
    if (!operand.selector.empty()) {
        refuse("with ." + std::string(operand.selector) + " of a register");
        return no_slot;
    }
    const u32 bytes = bytes_of_letter(letter);
    switch (operand.kind) {
        case OperandKind::reg:
            return register_source(operand.index, letter, sign);
        case OperandKind::sum: {
            const std::string_view key = letter == 'h'   ? "add.u16"
                                         : letter == 'w' ? "add.u32"
                                                         : "add.u64";
            if (letter == 'b' || letter == 'q') {
                refuse("with a sum of such a size");
                return no_slot;
            }
            const Slot base = register_source(operand.index, letter, sign);
            const Slot made = temporary(letter);
            emit_row(key, {made, base, constant(operand.bits, bytes)});
            return made;
        }
        case OperandKind::integer: {
            const bool minus = bytes == 16 && static_cast<i64>(operand.bits) < 0 && sign;
            return constant(operand.bits, bytes, minus ? ~u64{0} : 0);
        }
        case OperandKind::real32: {
            const f32 value = exec::real32(static_cast<u32>(operand.bits));
            if (letter == 'd') return constant(exec::bits_of(f64{value}), 8);
            if (letter == 'h') return constant(exec::real_to_half(value), 2);
            return constant(operand.bits, bytes);
        }
        case OperandKind::real64: {
            const f64 value = exec::real64(operand.bits);
            if (letter == 'w') return constant(exec::bits_of(static_cast<f32>(value)), 4);
            return constant(operand.bits, bytes);
        }
        case OperandKind::special:
            return special_source(operand.name, letter);
        case OperandKind::variable:
        case OperandKind::symbol: {
            if (const auto address = fixed_address(operand)) return constant(*address, bytes);
            if (operand.kind == OperandKind::variable &&
                function_.variables[operand.index].space == ptx::Space::local) {
                const Slot made = temporary('d');
                emit(&exec::local_address, {made}).imm = locals_[operand.index] + operand.bits;
                return converted(made, 'd', letter, false);
            }
            refuse("with the address of '" + std::string(operand.name) + "'");
            return no_slot;
        }
        default:
            refuse("with such an operand");
            return no_slot;
    }
}

std::optional<u64> Decoder::fixed_address(const ptx::Operand& operand) {
    if (operand.kind == OperandKind::variable) {
        const ptx::Variable& variable = function_.variables[operand.index];
        if (variable.space == ptx::Space::shared) {
            return build_.shared.at(&variable) + operand.bits;
        }
        if (entry_offsets_[operand.index] != ~u32{0}) {
            return entry_offsets_[operand.index] + operand.bits;
        }
        if (variable.space == ptx::Space::local && function_.entry) {
            return locals_[operand.index] + operand.bits;
        }
        return std::nullopt;
    }
    if (operand.kind != OperandKind::symbol) return std::nullopt;
    const ModuleParts& module = *build_.module;
    if (const auto global = module.global_of.find(operand.name); global != module.global_of.end()) {
        return module.globals[global->second].address + operand.bits;
    }
    if (const auto found = module.variables.find(operand.name); found != module.variables.end()) {
        const ptx::Variable& variable = module.ast.variables[found->second];
        const auto shared = build_.shared.find(&variable);
        if (shared != build_.shared.end()) return shared->second + operand.bits;
        return std::nullopt;
    }
    if (const auto function = module.functions.find(operand.name);
        function != module.functions.end()) {
        return window_tag(Window::code) | function->second;
    }
    return std::nullopt;
}

Slot Decoder::special_source(std::string_view name, char letter) {
    struct Fixed {
        std::string_view name;
        Area area;
        u32 offset;
    };
    static constexpr Fixed fixed[] = {
        {"%tid.x", Area::warp, tid_x},
        {"%tid.y", Area::warp, tid_y},
        {"%tid.z", Area::warp, tid_z},
        {"%laneid", Area::warp, laneid},
        {"%warpid", Area::warp, warpid},
        {"%lanemask_eq", Area::warp, lanemask_eq},
        {"%lanemask_le", Area::warp, lanemask_le},
        {"%lanemask_lt", Area::warp, lanemask_lt},
        {"%lanemask_ge", Area::warp, lanemask_ge},
        {"%lanemask_gt", Area::warp, lanemask_gt},
        {"%ntid.x", Area::launch, ntid_x},
        {"%ntid.y", Area::launch, ntid_y},
        {"%ntid.z", Area::launch, ntid_z},
        {"%nctaid.x", Area::launch, nctaid_x},
        {"%nctaid.y", Area::launch, nctaid_y},
        {"%nctaid.z", Area::launch, nctaid_z},
        {"%ctaid.x", Area::launch, ctaid_x},
        {"%ctaid.y", Area::launch, ctaid_y},
        {"%ctaid.z", Area::launch, ctaid_z},
        {"%nwarpid", Area::launch, nwarpid},
        {"%smid", Area::launch, smid},
        {"%nsmid", Area::launch, nsmid},
        {"%dynamic_smem_size", Area::launch, dynamic_smem_size},
        {"%total_smem_size", Area::launch, total_smem_size},
        {"%envreg1", Area::launch, grid_workspace_high},
        {"%envreg2", Area::launch, grid_workspace_low},
        // Without clusters a block is a cluster of its own.
        {"%clusterid.x", Area::launch, ctaid_x},
        {"%clusterid.y", Area::launch, ctaid_y},
        {"%clusterid.z", Area::launch, ctaid_z},
        {"%nclusterid.x", Area::launch, nctaid_x},
        {"%nclusterid.y", Area::launch, nctaid_y},
        {"%nclusterid.z", Area::launch, nctaid_z},
    };
    for (const Fixed& one : fixed) {
        if (one.name == name) return converted(slot(one.area, one.offset), 'w', letter, false);
    }
    if (name == "%gridid") return converted(slot(Area::launch, gridid), 'd', letter, false);
    static constexpr std::string_view ones[] = {"%cluster_nctaid.x", "%cluster_nctaid.y",
                                                "%cluster_nctaid.z", "%cluster_nctarank"};
    static constexpr std::string_view zeros[] = {
        "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z",    "%cluster_ctarank",
        "%ctaid.w",         "%tid.w",           "%is_explicit_cluster"};
    if (std::ranges::find(ones, name) != std::end(ones))
        return constant(1, bytes_of_letter(letter));
    if (name.starts_with("%envreg") || name.starts_with("%pm") ||
        name.starts_with("%reserved_smem") || name == "%aggr_smem_size" ||
        std::ranges::find(zeros, name) != std::end(zeros)) {
        return constant(0, bytes_of_letter(letter));
    }
    const bool wide = name == "%clock64" || name == "%globaltimer";
    const Slot made = temporary(wide ? 'd' : 'w');
    if (name == "%clock64") {
        emit(&exec::read_clock64, {made});
    } else if (name == "%globaltimer") {
        emit(&exec::read_globaltimer, {made});
    } else if (name == "%clock" || name == "%globaltimer_lo") {
        emit(&exec::read_clock32, {made});
    } else if (name == "%clock_hi" || name == "%globaltimer_hi") {
        return constant(0, bytes_of_letter(letter));
    } else {
        refuse("with the special register " + std::string(name));
    }
    return converted(made, wide ? 'd' : 'w', letter, false);
}

Decoder::Target Decoder::target_register(u32 index, char letter, bool sign) {
    Target target;
    const char have = letter_of(index);
    const Slot place = slots_[index];
    if (have == letter) {
        target.written = place;
        return target;
    }
    if (have == 'p' || letter == 'p') {
        refuse("into a register of another kind");
        return target;
    }
    target.written = temporary(letter);
    target.wanted = place;
    target.from = letter;
    target.to = have;
    target.sign = sign;
    return target;
}

Decoder::Target Decoder::target_of(const ptx::Operand& operand, char letter, bool sign) {
    if (operand.kind == OperandKind::sink) {
        Target target;
        target.written = temporary(letter);
        return target;
    }
    if (operand.kind != OperandKind::reg) {
        refuse("into something that isn't a register");
        return {};
    }
    if (!operand.selector.empty()) {
        refuse("into ." + std::string(operand.selector) + " of a register");
        return {};
    }
    return target_register(operand.index, letter, sign);
}

void Decoder::settle(const Target& target) {
    if (target.wanted == no_slot) return;
    emit_row(cvt_key(target.from, target.to, target.sign), {target.wanted, target.written});
}

std::optional<u32> Decoder::known_number(const ptx::Operand& operand) const {
    if (operand.kind == OperandKind::integer) return static_cast<u32>(operand.bits);
    if (operand.kind != OperandKind::reg || letter_of(operand.index) != 'w') return std::nullopt;
    const Slot place = slots_[operand.index];
    if (place >> area_shift != static_cast<u32>(Area::constants)) return std::nullopt;
    u32 value = 0;
    std::memcpy(&value, constant_bytes_.data() + (place & offset_mask), sizeof value);
    return value;
}

Slot Decoder::carry_slot() {
    if (carry_ == no_slot) {
        carry_ = frame_;
        frame_ += 32;
    }
    return carry_;
}

}  // namespace lode::emulator::decode
