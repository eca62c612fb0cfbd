#if defined(__x86_64__)

#include "emulator/exec/compiled/values.hpp"

#include <algorithm>
#include <cstring>

namespace lode::emulator::exec {

namespace {

constexpr std::size_t most_code = std::size_t{512} * 1024;

constexpr Slot lane_slot = slot(Area::warp, laneid);

constexpr Area area_of(Slot slot) {
    return static_cast<Area>(slot >> area_shift);
}

}  // namespace

std::optional<Shape> Shape::sum(const Shape& a, const Shape& b, i64 factor) noexcept {
    if (b.is_uniform()) return a;
    if (factor < -most || factor > most) return std::nullopt;
    Shape made;
    for (u32 k = 0; k < bits; ++k) {
        const i64 term = a.terms[k] + factor * b.terms[k];
        if (term < -most || term > most) return std::nullopt;
        made.terms[k] = static_cast<i32>(term);
    }
    return made;
}

i32 Shape::at(u32 lane) const noexcept {
    i32 sum = 0;
    for (u32 k = 0; k < bits; ++k)
        if ((lane >> k & 1) != 0) sum += terms[k];
    return sum;
}

i32 Shape::lowest() const noexcept {
    i32 sum = 0;
    for (const i32 term : terms)
        sum += std::min(term, 0);
    return sum;
}

i32 Shape::highest() const noexcept {
    i32 sum = 0;
    for (const i32 term : terms)
        sum += std::max(term, 0);
    return sum;
}

Values::Values(const Code& code, const WarpContext& context)
    : CodeGenerator(most_code, Xbyak::DontSetProtectRWE), function(code), warp(context) {
    setDefaultJmpNEAR(true);
}

Xbyak::Address Values::memory_of(Slot slot, u32 bytes) const {
    const Xbyak::Reg64* const bases[] = {&r12, &r14, &r13, &r15};
    return ptr[*bases[slot >> area_shift] + ((slot & offset_mask) + bytes)];
}

std::optional<Scalar> Values::scalar(Slot slot, bool wide) const {
    const u32 offset = slot & offset_mask;
    if (area_of(slot) == Area::launch) return Scalar{Scalar::Place::launch, offset, {}, wide};
    if (area_of(slot) == Area::constants) {
        u64 value = 0;
        std::memcpy(&value, function.constant_base + offset, wide ? 8 : 4);
        return Scalar{Scalar::Place::constant, value, {}, wide};
    }
    if (slot == lane_slot) return Scalar{Scalar::Place::constant, 0, Shape::linear(1)};
    const auto found = known_.find(slot);
    if (found == known_.end() || found->second.value.wide != wide) return std::nullopt;
    return found->second.value;
}

void Values::load_number(const Xbyak::Reg32& to, const Scalar& from) {
    const Xbyak::Reg64 whole(to.getIdx());
    const Xbyak::Reg& as = from.wide ? static_cast<const Xbyak::Reg&>(whole) : to;
    switch (from.place) {
        case Scalar::Place::stack:
            if (to.getIdx() == eax.getIdx() && in_rax_.size == getSize() && in_rax_.at == from.at &&
                in_rax_.wide == from.wide)
                break;
            mov(as, ptr[rsp + from.at]);
            break;
        case Scalar::Place::launch:
            mov(as, ptr[r13 + from.at]);
            break;
        case Scalar::Place::constant:
            mov(as, from.at);
            break;
    }
}

bool Values::assume_constant(Scalar& number) {
    const bool is_of_launch = number.at < ctaid_x || number.at >= first_parameter_slot;
    if (!assumes || number.place != Scalar::Place::launch || number.wide || !is_of_launch)
        return false;
    u32 value = 0;
    std::memcpy(&value, warp.area[static_cast<u32>(Area::launch)] + number.at, sizeof(value));
    constants_.emplace(number.at, value);
    number = {Scalar::Place::constant, value, {}};
    return true;
}

void Values::test_constants(const Xbyak::Label& otherwise) {
    for (const auto& [at, value] : constants_) {
        cmp(dword[r13 + at], value);
        jne(otherwise, T_NEAR);
    }
}

void Values::multiply_eax(const Scalar& by) {
    if (by.is_constant()) {
        imul(eax, eax, static_cast<int>(by.at));
    } else {
        load_number(ecx, by);
        imul(eax, ecx);
    }
}

void Values::move_number(u32 from, u32 to, bool wide) {
    const Xbyak::Reg& by = wide ? static_cast<const Xbyak::Reg&>(rax) : eax;
    mov(by, ptr[rsp + from]);
    mov(ptr[rsp + to], by);
}

u32 Values::take_stack(bool wide) {
    if (wide) stack_ = (stack_ + 7) / 8 * 8;
    const u32 at = stack_;
    stack_ += wide ? 8 : 4;
    return at;
}

void Values::define_scalar(Slot slot, const Shape& shape, bool wide) {
    // No code after this one reads the slot's former value, which has no place but its own.
    const auto former = known_.find(slot);
    const bool keeps_place = former != known_.end() && former->second.value.wide == wide;
    const u32 at = keeps_place ? static_cast<u32>(former->second.value.at) : take_stack(wide);
    mov(ptr[rsp + at], wide ? static_cast<const Xbyak::Reg&>(rax) : eax);
    in_rax_ = {at, wide, getSize()};
    forget(slot);
    known_[slot] = {{Scalar::Place::stack, at, shape, wide}, true};
}

void Values::assume_number(Slot slot, const Scalar& value, bool is_pending) {
    known_[slot] = {value, is_pending};
}

Xbyak::Ymm Values::take(Slot slot, u32 quarters) {
    u32 best = 0;
    for (u32 k = first_register; k < register_end; ++k) {
        if (((pinned_ >> k) & 1) != 0) continue;
        if (best == 0 || held_[k].used < held_[best].used) best = k;
    }
    if (held_[best].pending && is_needed(held_[best].slot)) settle_register(best);
    held_[best] = {slot, quarters, ++clock_};
    pinned_ |= 1u << best;
    return Xbyak::Ymm(static_cast<int>(best));
}

Xbyak::Ymm Values::quarter(Slot slot, u32 q) {
    const bool in_frame = area_of(slot) == Area::frame;
    const auto known = known_.find(slot);
    const bool is_number = in_frame && known != known_.end() && !known->second.value.wide;
    const bool uniform = area_of(slot) == Area::launch || area_of(slot) == Area::constants ||
                         (is_number && known->second.value.shape.is_uniform());
    for (u32 k = first_register; k < register_end; ++k) {
        if (held_[k].slot != slot || (held_[k].quarters >> q & 1) == 0) continue;
        held_[k].used = ++clock_;
        pinned_ |= 1u << k;
        return Xbyak::Ymm(static_cast<int>(k));
    }
    const Xbyak::Ymm to = take(slot, uniform ? all_quarters : 1u << q);
    if (!is_number) {
        vmovdqa(to, memory_of(slot, uniform ? 0 : 32 * q));
    } else {
        const Scalar& value = known->second.value;
        vpbroadcastd(to, dword[rsp + value.at]);
        if (!uniform) vpaddd(to, to, offsets(value.shape, q));
    }
    return to;
}

void Values::load_low_halves(const Xbyak::Ymm& to, Slot slot, u32 q) {
    vmovdqa(to, memory_of(slot, 64 * q));
    vshufps(to, to, memory_of(slot, 64 * q + 32), 0x88);
    vpermq(to, to, 0xd8);
}

Xbyak::Ymm Values::fresh() {
    return take(no_slot, 0);
}

void Values::define_quarter(Slot slot, u32 q, const Xbyak::Ymm& value) {
    drop_quarter(slot, q);
    held_[value.getIdx()] = {slot, 1u << q, ++clock_, true};
}

void Values::drop_quarter(Slot slot, u32 q) noexcept {
    for (Held& one : held_) {
        if (one.slot != slot) continue;
        one.quarters &= ~(1u << q);
        if (one.quarters == 0) one = {};
    }
}

void Values::share_quarter(const Xbyak::Ymm& value, u32 q) {
    Held& shared = held_[value.getIdx()];
    for (Held& one : held_) {
        if (one.slot != shared.slot || &one == &shared) continue;
        one.quarters &= ~(1u << q);
        if (one.quarters == 0) one = {};
    }
    shared.quarters |= 1u << q;
}

void Values::unpin(const Xbyak::Ymm& one, std::span<const Xbyak::Ymm> but) noexcept {
    for (const Xbyak::Ymm& other : but)
        if (one.getIdx() == other.getIdx()) return;
    pinned_ &= ~(1u << one.getIdx());
}

void Values::finish_row(Slot slot) {
    known_.erase(slot);
}

void Values::forget_registers() noexcept {
    for (Held& one : held_)
        one = {};
    pinned_ = 0;
}

void Values::read_settings() {
    constexpr u32 flush = 0x8040;  // Results and sources.
    settings_ = take_stack(true);
    stmxcsr(dword[rsp + settings_]);
    mov(eax, dword[rsp + settings_]);
    or_(eax, flush);
    mov(dword[rsp + settings_ + 4], eax);
}

void Values::set_flushing(bool flushing) {
    if (flushing_ == flushing) return;
    ldmxcsr(dword[rsp + settings_ + (flushing ? 4 : 0)]);
    flushing_ = flushing;
}

void Values::call_host(const void* host) {
    settle_quarters();
    set_flushing(false);
    mov(rax, reinterpret_cast<u64>(host));
    // Parts of the program are compiled for SSE, which Intel's processors switch to slowly while
    // the upper halves of registers are in use.
    vzeroupper();
    call(rax);
    forget_registers();
    vmovdqa(ymm15, nan());
}

std::vector<Values::Pending> Values::pending() const {
    std::vector<Pending> found;
    for (const auto& [slot, known] : known_)
        if (known.pending) found.push_back({slot, known.value});
    for (u32 k = first_register; k < register_end; ++k)
        if (held_[k].pending) found.push_back({held_[k].slot, {}, held_[k].quarters, k});
    return found;
}

void Values::store_row(const Pending& one) {
    if (one.in != 0) {
        for (u32 q = 0; q < 4; ++q)
            if ((one.quarters >> q & 1) != 0)
                vmovdqa(memory_of(one.slot, 32 * q), Xbyak::Ymm(static_cast<int>(one.in)));
        return;
    }
    if (one.value.wide) {
        vpbroadcastq(ymm0, qword[rsp + one.value.at]);
        for (u32 q = 0; q < 8; ++q) {
            if (one.value.shape.is_uniform()) {
                vmovdqa(memory_of(one.slot, 32 * q), ymm0);
            } else {
                vpaddq(ymm1, ymm0, wide_offsets(one.value.shape, q));
                vmovdqa(memory_of(one.slot, 32 * q), ymm1);
            }
        }
        return;
    }
    vpbroadcastd(ymm0, dword[rsp + one.value.at]);
    for (u32 q = 0; q < 4; ++q) {
        if (one.value.shape.is_uniform()) {
            vmovdqa(memory_of(one.slot, 32 * q), ymm0);
        } else {
            vpaddd(ymm1, ymm0, offsets(one.value.shape, q));
            vmovdqa(memory_of(one.slot, 32 * q), ymm1);
        }
    }
}

void Values::settle_register(u32 held) {
    Held& one = held_[held];
    if (one.pending) store_row({one.slot, {}, one.quarters, held});
    one.pending = false;
}

void Values::settle_quarters() {
    for (u32 k = first_register; k < register_end; ++k)
        settle_register(k);
}

void Values::settle(Slot slot) {
    for (u32 k = first_register; k < register_end; ++k)
        if (held_[k].slot == slot) settle_register(k);
    const auto found = known_.find(slot);
    if (found == known_.end() || !found->second.pending) return;
    store_row({slot, found->second.value});
    found->second.pending = false;
}

void Values::settle_and_forget(Slot slot, u32 bytes) {
    if (area_of(slot) != Area::frame) return;
    // A row of wide numbers has 256 bytes.
    const Slot wide_begin = slot < lanes * 8 ? 0 : slot - lanes * 8 + 1;
    const Slot begin = slot < lanes * 4 ? 0 : slot - lanes * 4 + 1;
    for (auto at = known_.lower_bound(wide_begin);
         at != known_.end() && at->first < slot + bytes;) {
        if (at->first < begin && !at->second.value.wide) {
            ++at;
            continue;
        }
        if (at->second.pending) store_row({at->first, at->second.value});
        at = known_.erase(at);
    }
    for (u32 k = first_register; k < register_end; ++k) {
        Held& one = held_[k];
        if (one.slot == no_slot || one.slot < begin || one.slot >= slot + bytes) continue;
        settle_register(k);
        one = {};
    }
}

void Values::forget(Slot slot) {
    known_.erase(slot);
    for (Held& one : held_)
        if (one.slot == slot) one = {};
}

Xbyak::Address Values::offsets(const Shape& shape, u32 q) {
    return yword[rip + offsets_[{shape, q}]];
}
Xbyak::Address Values::wide_offsets(const Shape& shape, u32 q) {
    return yword[rip + wide_offsets_[{shape, q}]];
}
Xbyak::Address Values::lane_bits(u32 q) {
    return yword[rip + bits_ + static_cast<int>(32 * q)];
}
Xbyak::Address Values::permutation(const u32* from) {
    return yword[rip + permutations_[from]];
}
Xbyak::Address Values::nan() {
    return yword[rip + nan_];
}

void Values::emit_data() {
    align(32);
    L(nan_);
    for (u32 i = 0; i < 8; ++i)
        dd(0x7fff'ffff);
    L(bits_);
    for (u32 i = 0; i < lanes; ++i)
        dd(u32{1} << i);
    for (auto& [key, label] : offsets_) {
        L(label);
        for (u32 i = 0; i < 8; ++i)
            dd(static_cast<u32>(key.first.at(8 * key.second + i)));
    }
    for (auto& [key, label] : wide_offsets_) {
        L(label);
        for (u32 i = 0; i < 4; ++i)
            dq(static_cast<u64>(i64{key.first.at(4 * key.second + i)}));
    }
    for (auto& [from, label] : permutations_) {
        L(label);
        for (u32 i = 0; i < 8; ++i)
            dd(from[i] % 8);
    }
}

}  // namespace lode::emulator::exec

#endif
