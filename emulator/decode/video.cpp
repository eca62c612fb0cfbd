// The video instructions: on parts of registers, one value or several.
#include "emulator/decode/ops/video.hpp"

#include "emulator/decode/decoder.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

constexpr std::string_view comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

// Which part of a register a selector names: VideoPlan's a, b and d.
u8 video_part(std::string_view selector) {
    if (selector.empty()) return 0;
    const auto at = static_cast<u8>(selector[1] - '0');
    return selector[0] == 'b' ? static_cast<u8>(8 + at) : static_cast<u8>(4 + 2 * at);
}

}  // namespace

// v{add,sub,absdiff,min,max,shl,shr,set,mad}: on parts of registers, one value.
void Decoder::scalar_video() {
    static constexpr std::pair<std::string_view, exec::ScalarVideo> kinds[] = {
        {"vadd", exec::ScalarVideo::add},         {"vsub", exec::ScalarVideo::sub},
        {"vabsdiff", exec::ScalarVideo::absdiff}, {"vmin", exec::ScalarVideo::min},
        {"vmax", exec::ScalarVideo::max},         {"vshl", exec::ScalarVideo::shift_left},
        {"vshr", exec::ScalarVideo::shift_right}, {"vset", exec::ScalarVideo::set},
        {"vmad", exec::ScalarVideo::mad}};
    const auto found =
        std::ranges::find(kinds, parts_.base(), [](const auto& pair) { return pair.first; });
    if (found == std::end(kinds)) return refuse();
    exec::VideoPlan plan;
    plan.what = found->second;
    const bool sets = plan.what == exec::ScalarVideo::set;
    // vset names the types of a and b only; the others that of d first.
    u32 at = 1;
    if (!sets) parts_.take(at++);
    if (parts_.take(at++)[0] == 's') plan.flags |= exec::plan_signed_a;
    if (parts_.take(at)[0] == 's') plan.flags |= exec::plan_signed_b;
    // What ptxas 13.0 makes of these on an H200 isn't what the PTX ISA says: it saturates and
    // compares intermediate values of 32 bits, some of them with the wrong sign.
    for (const std::string_view word : {"sat", "shr7", "shr15", "min", "max"}) {
        if (parts_.take(word))
            return refuse(fmt::format("with .{}, which GPUs don't run as the PTX ISA says", word));
    }
    if (parts_.take("wrap")) plan.flags |= exec::plan_wrap;
    if (parts_.take("po")) plan.flags |= exec::plan_plus_one;
    parts_.ignore({"clamp"});
    for (u8 k = 0; sets && k < std::size(comparisons); ++k) {
        if (parts_.take(comparisons[k])) plan.comparison = k;
    }
    ptx::Operand d = operand(0);
    ptx::Operand a = operand(1);
    ptx::Operand b = operand(2);
    ptx::Operand e = operand(3);
    if (parts_.take("add")) plan.merge = exec::VideoMerge::add;
    if (!d.selector.empty()) plan.merge = exec::VideoMerge::part;
    plan.a = video_part(std::exchange(a.selector, {}));
    plan.b = video_part(std::exchange(b.selector, {}));
    plan.d = video_part(std::exchange(d.selector, {}));
    if (std::exchange(a.negated, false) != std::exchange(b.negated, false))
        plan.flags |= exec::plan_negate_product;
    if (std::exchange(e.negated, false)) plan.flags |= exec::plan_negate_c;
    const bool has_c = operand_count() == 4;
    const Target target = target_of(d, 'w');
    const Slot first = source_of(a, 'w');
    const Slot second = source_of(b, 'w');
    const Slot third = has_c ? source_of(e, 'w') : first;
    if (refusal_) return;
    emit(&exec::video_scalar, {target.written, first, second, third}).imm =
        std::bit_cast<u64>(plan);
    settle(target);
}

namespace {

// The parts that a selector names, its last digit first; `first` and those behind it without one.
std::array<u8, 4> simd_parts(std::string_view selector, u8 first) {
    std::array<u8, 4> parts{first, static_cast<u8>(first + 1), static_cast<u8>(first + 2),
                            static_cast<u8>(first + 3)};
    const std::size_t count = selector.empty() ? 0 : selector.size() - 1;
    for (std::size_t k = 0; k < count; ++k)
        parts[k] = static_cast<u8>(selector[selector.size() - 1 - k] - '0');
    return parts;
}

}  // namespace

// v{add,sub,absdiff,min,max,avrg}{2,4}.<d>.<a>.<b>[.sat][.add], vset{2,4}.<a>.<b>.<cmp>[.add]
void Decoder::video() {
    const std::string_view base = parts_.base();
    static constexpr std::pair<std::string_view, exec::Video> kinds[] = {
        {"vadd", exec::Video::add}, {"vsub", exec::Video::sub}, {"vabsdiff", exec::Video::absdiff},
        {"vmin", exec::Video::min}, {"vmax", exec::Video::max}, {"vavrg", exec::Video::average},
        {"vset", exec::Video::set}};
    const bool has_halves = base.back() == '2';
    const auto found = std::ranges::find(kinds, base.substr(0, base.size() - 1),
                                         [](const auto& pair) { return pair.first; });
    if (found == std::end(kinds) || parts_.count() < 4 || operand_count() != 4) return refuse();
    const bool sets = found->second == exec::Video::set;
    u16 flags = static_cast<u16>(found->second);
    if (has_halves) flags |= exec::video_halves;
    // vset names the types of a and b only; the others that of d first.
    u32 at = 1;
    if (!sets && parts_.take(at++)[0] == 's') flags |= exec::video_signed_d;
    if (parts_.take(at++)[0] == 's') flags |= exec::video_signed_a;
    if (parts_.take(at)[0] == 's') flags |= exec::video_signed_b;
    if (parts_.take("sat")) flags |= exec::video_saturate;
    if (parts_.take("add")) flags |= exec::video_accumulate;
    u16 written = 0;
    for (u16 k = 0; sets && k < std::size(comparisons); ++k) {
        if (parts_.take(comparisons[k])) written = static_cast<u16>(k << 4);
    }
    ptx::Operand d = operand(0);
    ptx::Operand a = operand(1);
    ptx::Operand b = operand(2);
    const std::string_view mask = std::exchange(d.selector, {});
    for (const char digit : mask.empty() ? std::string_view("3210") : mask.substr(1))
        written |= static_cast<u16>(1 << (digit - '0'));
    exec::SimdPlan plan;
    plan.a = simd_parts(std::exchange(a.selector, {}), 0);
    plan.b = simd_parts(std::exchange(b.selector, {}), has_halves ? 2 : 4);
    const Target target = target_of(d, 'w');
    const Slot first = source_of(a, 'w');
    const Slot second = source_of(b, 'w');
    const Slot third = source_of(operand(3), 'w');
    if (refusal_) return;
    Op& op = emit(&exec::video_simd, {target.written, first, second, third});
    op.flags = flags;
    op.flags2 = written;
    op.imm = std::bit_cast<u64>(plan);
    settle(target);
}

}  // namespace lode::emulator::decode
