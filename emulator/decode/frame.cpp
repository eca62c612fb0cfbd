#include "emulator/decode/frame.hpp"

#include "base/align_up.hpp"
#include "emulator/decode/limits.hpp"
#include "emulator/isa/table.hpp"

#include <algorithm>
#include <cstring>

namespace lode::emulator::decode {

namespace {

constexpr u32 nowhere = ~u32{0};

}  // namespace

Frame::Frame(const ptx::Function& function) : function_(function) {
    const std::size_t count = function.variables.size();
    rows_.assign(count, nowhere);
    locals_.assign(count, nowhere);
    entry_offsets_.assign(count, nowhere);
}

void Frame::align(u32 alignment) noexcept {
    bytes_ = align_up(bytes_, alignment);
}

ParameterRows Frame::allocate_rows(u32 bytes) noexcept {
    ParameterRows made{.bytes = bytes};
    align(row_bytes);
    made.offset = allocate(made.rows() * row_bytes);
    return made;
}

char Frame::letter_of(u32 index) const noexcept {
    const u8 bytes = function_.registers[index].bytes;
    return bytes == 0 ? 'p' : letter_of_bytes(bytes);
}

ParameterRows Frame::rows(u32 variable) {
    const auto bytes = static_cast<u32>(function_.variables[variable].bytes);
    if (rows_[variable] == nowhere) rows_[variable] = allocate_rows(bytes).offset;
    return {rows_[variable], bytes};
}

std::optional<u32> Frame::entry_offset(u32 variable) const noexcept {
    if (entry_offsets_[variable] == nowhere) return std::nullopt;
    return entry_offsets_[variable];
}

Slot Frame::temporary(char letter) {
    // A predicate's 4-byte mask fits into the smallest temporary.
    const char size = letter == 'p' ? 'b' : letter;
    const std::size_t kind = std::string_view("bhwdq").find(size);
    Slot made = no_slot;
    if (auto& free = free_temporaries_[kind]; !free.empty()) {
        made = free.back();
        free.pop_back();
    } else {
        made = allocate(align_up(bytes_of_letter(size) * lanes, 32));
    }
    used_temporaries_.emplace_back(kind, made);
    return made;
}

void Frame::release_temporaries() {
    for (const auto& [kind, place] : used_temporaries_)
        free_temporaries_[kind].push_back(place);
    used_temporaries_.clear();
}

Slot Frame::carry() noexcept {
    if (carry_ == no_slot) carry_ = allocate(32);
    return carry_;
}

Slot Frame::allocated() noexcept {
    if (allocated_ == no_slot) {
        align(32);
        allocated_ = allocate(4 * lanes);
    }
    return allocated_;
}

Slot Frame::constant(u64 low, u64 high, u32 bytes) {
    if (bytes < 8) low &= (u64{1} << (bytes * 8)) - 1;
    const auto [at, fresh] = constants_.try_emplace({low, high, bytes}, no_slot);
    if (!fresh) return at->second;
    const std::size_t offset = align_up(constant_bytes_.size(), 64);
    if (offset + std::size_t{bytes} * lanes > max_frame_bytes) return no_slot;
    constant_bytes_.resize(offset + std::size_t{bytes} * lanes);
    const u64 value[2] = {low, high};
    for (u32 i = 0; i < lanes; ++i)
        std::memcpy(constant_bytes_.data() + offset + std::size_t{i} * bytes, value, bytes);
    return at->second = slot(Area::constants, static_cast<u32>(offset));
}

std::optional<u32> Frame::constant_value(Slot place) const noexcept {
    if (place >> area_shift != static_cast<u32>(Area::constants)) return std::nullopt;
    u32 value = 0;
    std::memcpy(&value, constant_bytes_.data() + (place & offset_mask), sizeof value);
    return value;
}

void Frame::note_places(Code& code) const {
    code.register_slots = registers_;
    code.local_offsets = locals_;
}

void Frame::finish(Code& code) const {
    constexpr u32 alignment = 64;
    code.constant_store.resize(constant_bytes_.size() + alignment);
    const auto at = reinterpret_cast<std::uintptr_t>(code.constant_store.data());
    code.constant_base = reinterpret_cast<u8*>(align_up(at, alignment));
    std::copy(constant_bytes_.begin(), constant_bytes_.end(), code.constant_base);
    code.frame_bytes = align_up(bytes_, alignment);
}

}  // namespace lode::emulator::decode
