// Video instructions: scalar and SIMD operations on parts of registers.
#include "emulator/isa/video.hpp"

#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

exec::VideoComparison take_video_comparison(Opcode& opcode) {
    using exec::VideoComparison;
    static constexpr Meaning<VideoComparison> comparisons[] = {
        {"eq", VideoComparison::eq}, {"ne", VideoComparison::ne}, {"lt", VideoComparison::lt},
        {"le", VideoComparison::le}, {"gt", VideoComparison::gt}, {"ge", VideoComparison::ge}};
    const auto* const found = opcode.take_row(comparisons);
    return found != nullptr ? found->value : VideoComparison::eq;
}

// The part of a register that a selector names, as in a, b and d of VideoPlan.
u8 video_part(std::string_view selector) {
    if (selector.empty()) return 0;
    const auto at = static_cast<u8>(selector[1] - '0');
    return selector[0] == 'b' ? static_cast<u8>(8 + at) : static_cast<u8>(4 + 2 * at);
}

// v{add,sub,absdiff,min,max,shl,shr,set,mad}: scalar operations on parts of registers.
void scalar_video(Builder& b) {
    Opcode& opcode = b.opcode();
    static constexpr Meaning<exec::ScalarVideo> kinds[] = {
        {"vadd", exec::ScalarVideo::add},         {"vsub", exec::ScalarVideo::sub},
        {"vabsdiff", exec::ScalarVideo::absdiff}, {"vmin", exec::ScalarVideo::min},
        {"vmax", exec::ScalarVideo::max},         {"vshl", exec::ScalarVideo::shift_left},
        {"vshr", exec::ScalarVideo::shift_right}, {"vset", exec::ScalarVideo::set},
        {"vmad", exec::ScalarVideo::mad}};
    const auto* const found =
        std::ranges::find(kinds, opcode.name(), &Meaning<exec::ScalarVideo>::word);
    if (found == std::end(kinds)) return b.refuse();
    exec::VideoPlan plan;
    plan.what = found->value;
    const bool sets = plan.what == exec::ScalarVideo::set;
    // vset names the types of a and b only; the others name the type of d first.
    u32 at = 1;
    if (!sets) opcode.take(at++);
    plan.signed_a = is_signed(opcode.take(at++));
    plan.signed_b = is_signed(opcode.take(at));
    // For these, ptxas 13.0 on an H200 deviates from the PTX ISA: it saturates and compares 32-bit
    // intermediate values, some of them with the wrong sign.
    static constexpr Word deviating[] = {"sat", "shr7", "shr15", "min", "max"};
    for (const Word word : deviating) {
        if (opcode.take(word))
            return b.refuse(fmt::format(
                "with .{}, which GPUs don't execute as the PTX ISA specifies", word.text()));
    }
    plan.wraps = opcode.take("wrap");
    plan.plus_one = opcode.take("po");
    opcode.ignore({"clamp"});
    if (sets) plan.comparison = take_video_comparison(opcode);
    ptx::Operand to = b.operand(0);
    ptx::Operand left = b.operand(1);
    ptx::Operand right = b.operand(2);
    ptx::Operand other = b.operand(3);
    if (opcode.take("add")) plan.merge = exec::VideoMerge::add;
    if (!to.selector.empty()) plan.merge = exec::VideoMerge::part;
    plan.a = video_part(std::exchange(left.selector, {}));
    plan.b = video_part(std::exchange(right.selector, {}));
    plan.d = video_part(std::exchange(to.selector, {}));
    plan.negates_product =
        std::exchange(left.negated, false) != std::exchange(right.negated, false);
    plan.negates_c = std::exchange(other.negated, false);
    const bool has_c = b.operand_count() == 4;
    const Destination destination = b.destination(to, 'w');
    const Slot first = b.source(left, 'w');
    const Slot second = b.source(right, 'w');
    const Slot third = has_c ? b.source(other, 'w') : first;
    if (b.refused()) return;
    b.emit(Operation::video_scalar, {destination.slot, first, second, third}).imm =
        std::bit_cast<u64>(plan);
    b.write_back(destination);
}

// The parts that a selector names, last digit first; without a selector, `first` and the parts that
// follow it.
std::array<u8, 4> simd_parts(std::string_view selector, u8 first) {
    std::array<u8, 4> parts{first, static_cast<u8>(first + 1), static_cast<u8>(first + 2),
                            static_cast<u8>(first + 3)};
    const std::size_t count = selector.empty() ? 0 : selector.size() - 1;
    for (std::size_t k = 0; k < count; ++k)
        parts[k] = static_cast<u8>(selector[selector.size() - 1 - k] - '0');
    return parts;
}

// v{add,sub,absdiff,min,max,avrg}{2,4}.<d>.<a>.<b>[.sat][.add], vset{2,4}.<a>.<b>.<cmp>[.add]
void simd_video(Builder& b) {
    Opcode& opcode = b.opcode();
    const Word name = opcode.name();
    struct Kind {
        Word of_halves, of_bytes;
        exec::Video what;
    };
    static constexpr Kind kinds[] = {{"vadd2", "vadd4", exec::Video::add},
                                     {"vsub2", "vsub4", exec::Video::sub},
                                     {"vabsdiff2", "vabsdiff4", exec::Video::absdiff},
                                     {"vmin2", "vmin4", exec::Video::min},
                                     {"vmax2", "vmax4", exec::Video::max},
                                     {"vavrg2", "vavrg4", exec::Video::average},
                                     {"vset2", "vset4", exec::Video::set}};
    const auto* const found = std::ranges::find_if(
        kinds, [&](const Kind& one) { return one.of_halves == name || one.of_bytes == name; });
    if (found == std::end(kinds) || opcode.count() < 4 || b.operand_count() != 4) return b.refuse();
    const bool has_halves = found->of_halves == name;
    const bool sets = found->what == exec::Video::set;
    exec::SimdFlags flags;
    flags.what = found->what;
    flags.halves = has_halves;
    // vset names the types of a and b only; the others name the type of d first.
    u32 at = 1;
    flags.signed_d = !sets && is_signed(opcode.take(at++));
    flags.signed_a = is_signed(opcode.take(at++));
    flags.signed_b = is_signed(opcode.take(at));
    flags.saturates = opcode.take("sat");
    flags.accumulates = opcode.take("add");
    if (sets) flags.comparison = take_video_comparison(opcode);
    u32 written = 0;
    ptx::Operand to = b.operand(0);
    ptx::Operand left = b.operand(1);
    ptx::Operand right = b.operand(2);
    const std::string_view mask = std::exchange(to.selector, {});
    for (const char digit : mask.empty() ? std::string_view("3210") : mask.substr(1))
        written |= 1u << (digit - '0');
    flags.written = written & 15;
    exec::SimdPlan plan;
    plan.a = simd_parts(std::exchange(left.selector, {}), 0);
    plan.b = simd_parts(std::exchange(right.selector, {}), has_halves ? 2 : 4);
    const Destination destination = b.destination(to, 'w');
    const Slot first = b.source(left, 'w');
    const Slot second = b.source(right, 'w');
    const Slot third = b.source(b.operand(3), 'w');
    if (b.refused()) return;
    Op& op = b.emit(Operation::video_simd, {destination.slot, first, second, third});
    op.flags = flags;
    op.imm = std::bit_cast<u64>(plan);
    b.write_back(destination);
}

constexpr OpcodeDecoder video_decoders[] = {
    {"vadd", scalar_video},    {"vsub", scalar_video}, {"vabsdiff", scalar_video},
    {"vmin", scalar_video},    {"vmax", scalar_video}, {"vshl", scalar_video},
    {"vshr", scalar_video},    {"vset", scalar_video}, {"vmad", scalar_video},
    {"vadd2", simd_video},     {"vsub2", simd_video},  {"vabsdiff2", simd_video},
    {"vmin2", simd_video},     {"vmax2", simd_video},  {"vavrg2", simd_video},
    {"vset2", simd_video},     {"vadd4", simd_video},  {"vsub4", simd_video},
    {"vabsdiff4", simd_video}, {"vmin4", simd_video},  {"vmax4", simd_video},
    {"vavrg4", simd_video},    {"vset4", simd_video}};

}  // namespace

OpcodeDecoders video_opcodes() noexcept {
    return video_decoders;
}

}  // namespace lode::emulator::decode
