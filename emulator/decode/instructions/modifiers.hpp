// Modifiers shared by several groups of instructions.
#pragma once

#include "emulator/decode/opcode.hpp"
#include "emulator/decode/ptx/ast.hpp"
#include "emulator/isa/load_store.hpp"
#include "emulator/isa/real.hpp"

#include <bit>

namespace lode::emulator::decode {

constexpr bool is_half(Word type) noexcept {
    return type == "f16" || type == "f16x2" || type == "bf16" || type == "bf16x2";
}
constexpr bool is_real(Word type) noexcept {
    return type == "f32" || type == "f64" || type == "f32x2" || is_half(type);
}
constexpr bool is_signed(Word type) noexcept {
    return ptx::WordPrefix("s").matches(type);
}
constexpr bool is_signed(ptx::Type type) noexcept {
    return type.kind == ptx::Class::signed_integer;
}

/// The direction of a rounding modifier; .rn, .rna and .rni give `nearest`.
constexpr exec::Round rounding_of(Word word) noexcept {
    if (word == "rz" || word == "rzi") return exec::zero;
    if (word == "rm" || word == "rmi") return exec::down;
    if (word == "rp" || word == "rpi") return exec::up;
    return exec::nearest;
}

/// Takes .rn, .rz, .rm or .rp and returns its direction; that of .rn if there is none.
inline exec::Round take_rounding(Opcode& opcode) {
    static constexpr Word directed[] = {"rz", "rm", "rp"};
    for (const Word word : directed)
        if (opcode.take(word)) return rounding_of(word);
    opcode.take("rn");
    return exec::nearest;
}

/// The key of the row that copies values of `bytes` bytes.
constexpr std::string_view move_key(u32 bytes) noexcept {
    constexpr std::string_view keys[] = {"mov.b8", "mov.b16", "mov.b32", "mov.b64", "mov.b128"};
    return keys[std::countr_zero(bytes)];
}

/// Takes .v2, .v4 or .v8 and returns the number of elements; 1 if there is none.
inline u32 take_vector(Opcode& opcode) noexcept {
    if (opcode.take("v2")) return 2;
    if (opcode.take("v4")) return 4;
    return opcode.take("v8") ? 8 : 1;
}

/// Takes .multicast::cluster, which has a second spelling with the width of the mask of blocks.
inline bool take_multicast(Opcode& opcode) noexcept {
    return opcode.take("multicast::cluster") || opcode.take("multicast::cluster::16b");
}

/// Takes .mbarrier::report, and returns whether a copy into shared memory is to look for a pattern.
inline bool take_report(Opcode& opcode) noexcept {
    return !opcode.take("mbarrier::report::disabled") && opcode.take_prefix("mbarrier::report");
}
constexpr std::string_view with_report = "with a report about the values";

/// Scopes have no effect: every fence covers all threads.
inline void ignore_scope(Opcode& opcode) noexcept {
    opcode.ignore({"cta", "cluster", "gpu", "sys"});
}

/// Cache operators have no effect: there is no cache.
inline void ignore_caches(Opcode& opcode) noexcept {
    opcode.ignore({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
    opcode.take_prefix("L1::");
    opcode.take_prefix("L2::");
}

/// Takes the words that say how an access orders memory, with its scope and cache operators.
/// Accesses that bypass the first-level cache count as strong, as programs use them.
inline MemoryOrder take_order(Opcode& opcode) noexcept {
    MemoryOrder order;
    if (opcode.take("relaxed")) order.gpu = true;
    if (opcode.take("volatile") || opcode.take("mmio")) order.gpu = true;
    if (opcode.take("acquire")) order.gpu = order.acquire = true;
    if (opcode.take("release")) order.gpu = order.release = true;
    if (opcode.take("acq_rel") || opcode.take("sc"))
        order.gpu = order.acquire = order.release = true;
    if (opcode.take("cg") || opcode.take("cv") || opcode.take("wt")) order.gpu = true;
    if (opcode.take("cta")) {
        order.gpu = false;
        order.cta = true;
    }
    ignore_scope(opcode);
    ignore_caches(opcode);
    return order;
}

}  // namespace lode::emulator::decode
