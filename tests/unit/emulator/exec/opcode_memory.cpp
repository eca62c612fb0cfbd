#include "tests/unit/emulator/exec/opcode_memory.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

constexpr u32 constant_words = 64;
constexpr u32 largest_table = 84 * 64;

}  // namespace

const std::vector<MemoryType>& memory_types() {
    static const std::vector<MemoryType> all{
        {"u8", 1},  {"s8", 1, true},  {"b8", 1},        {"u16", 2}, {"s16", 2, true},
        {"b16", 2}, {"u32", 4},       {"s32", 4, true}, {"b32", 4}, {"f32", 4},
        {"u64", 8}, {"s64", 8, true}, {"b64", 8},       {"f64", 8}};
    return all;
}

std::vector<u32> register_widths(const MemoryType& type) {
    if (type.name[0] == 'f' || type.bytes == 8) return {8 * type.bytes};
    if (type.bytes == 4) return {32, 64};
    return {16, 32, 64};
}

bool is_local(Place place) {
    return place == Place::local || place == Place::generic_local;
}
bool is_constant(Place place) {
    return place == Place::constant || place == Place::generic_constant;
}
bool is_shared(Place place) {
    return place == Place::shared || place == Place::shared_wide || place == Place::generic_shared;
}
std::string space_of(Place place) {
    switch (place) {
        case Place::global:
            return ".global";
        case Place::shared:
        case Place::shared_wide:
            return ".shared";
        case Place::local:
            return ".local";
        case Place::constant:
            return ".const";
        default:
            return {};
    }
}

u32 offset_of(Pattern pattern, u32 thread, u32 threads, u32 size) {
    switch (pattern) {
        case Pattern::rows:
            return thread * 64;
        case Pattern::contiguous:
        case Pattern::guarded:
            return thread * size;
        case Pattern::reversed:
            return (threads - 1 - thread) * size;
        case Pattern::uniform:
            return 320;
        case Pattern::alternating:
            return (thread & 1) * size;
    }
    return 0;
}
bool runs(Pattern pattern, u32 thread) {
    return pattern != Pattern::guarded || thread % 3 != 1;
}

u64 constant_word(u32 index) {
    return 0x9e3779b97f4a7c15 * (index + 1);
}

std::string declarations(Place place) {
    if (is_shared(place)) return fmt::format(".shared .align 16 .b8 room[{}];\n", largest_table);
    if (!is_constant(place)) return {};
    std::string text = fmt::format(".const .align 16 .b64 fixed[{}] = {{", constant_words);
    for (u32 k = 0; k < constant_words; ++k)
        text += fmt::format("{}{}", k == 0 ? "" : ", ", constant_word(k));
    return text + "};\n";
}

std::string prepare(Place place, Pattern pattern, u32 threads, u32 size, const std::string& row) {
    std::string text;
    if (is_local(place)) {
        text += ".local .align 16 .b8 nook[64];\nmov.u64 %d2, nook;\n";
        for (u32 k = 0; k < 64; k += 8)
            text += fmt::format("ld.global.u64 %d3, [{}+{}];\nst.local.u64 [%d2+{}], %d3;\n", row,
                                k, k);
        if (place == Place::generic_local) text += "cvta.local.u64 %d2, %d2;\n";
    } else if (is_shared(place)) {
        text += "mov.u64 %d2, room;\nadd.u64 %d3, %d2, %d1;\n";
        for (u32 k = 0; k < 64; k += 8)
            text += fmt::format("ld.global.u64 %d4, [{}+{}];\nst.shared.u64 [%d3+{}], %d4;\n", row,
                                k, k);
        text += "bar.sync 0;\n";
        if (place == Place::generic_shared) text += "cvta.shared.u64 %d2, %d2;\n";
    } else if (is_constant(place)) {
        text += "mov.u64 %d2, fixed;\n";
        if (place == Place::generic_constant) text += "cvta.const.u64 %d2, %d2;\n";
    } else {
        text += fmt::format("sub.u64 %d2, {}, %d1;\n", row);
    }
    switch (pattern) {
        case Pattern::rows:
            text += "mul.wide.u32 %d4, %i, 64;\n";
            break;
        case Pattern::contiguous:
        case Pattern::guarded:
            text += fmt::format("mul.wide.u32 %d4, %i, {};\n", size);
            break;
        case Pattern::reversed:
            text += fmt::format("sub.u32 %r2, {}, %i;\nmul.wide.u32 %d4, %r2, {};\n", threads - 1,
                                size);
            break;
        case Pattern::uniform:
            text += "mov.u64 %d4, 320;\n";
            break;
        case Pattern::alternating:
            text += fmt::format("and.b32 %r2, %i, 1;\nmul.wide.u32 %d4, %r2, {};\n", size);
            break;
    }
    text += "add.u64 %d2, %d2, %d4;\n";
    if (place == Place::shared) text += "cvt.u32.u64 %r1, %d2;\n";
    if (pattern == Pattern::guarded) {
        text += "rem.u32 %r2, %i, 3;\nsetp.ne.u32 %p1, %r2, 1;\n";
    }
    return text;
}

std::string copy_back(Place place, const std::string& row) {
    std::string text;
    if (is_local(place)) {
        text += "mov.u64 %d2, nook;\n";
        for (u32 k = 0; k < 64; k += 8)
            text += fmt::format("ld.local.u64 %d3, [%d2+{}];\nst.global.u64 [{}+{}], %d3;\n", k,
                                row, k);
    } else if (is_shared(place)) {
        text += "bar.sync 0;\nmov.u64 %d2, room;\nadd.u64 %d3, %d2, %d1;\n";
        for (u32 k = 0; k < 64; k += 8)
            text += fmt::format("ld.shared.u64 %d4, [%d3+{}];\nst.global.u64 [{}+{}], %d4;\n", k,
                                row, k);
    }
    return text;
}

std::string address(Place place, u32 offset) {
    return fmt::format("[{}+{}]", place == Place::shared ? "%r1" : "%d2", offset);
}
std::string guard(Pattern pattern) {
    return pattern == Pattern::guarded ? "@%p1 " : "";
}

std::string register_name(u32 width, u32 index) {
    return fmt::format("%{}{}", width == 16 ? 'h' : (width == 32 ? 'r' : 'd'), index);
}
std::string registers(u32 width, u32 count) {
    if (count == 1) return register_name(width, 6);
    std::string text = "{";
    for (u32 k = 0; k < count; ++k)
        text += (k == 0 ? "" : ", ") + register_name(width, 6 + k);
    return text + "}";
}

}  // namespace lode::emulator::exec::testing
