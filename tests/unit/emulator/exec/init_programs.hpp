// Random kernels for the check for unwritten memory: what their threads do, and their PTX.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace init_random {

inline constexpr unsigned threads = 64;
inline constexpr unsigned area_bytes = 64;  ///< Bytes of each thread, in each space.

enum class Space : unsigned { global, shared, local };
enum class What : unsigned { load, store, number, parameter, move, add, atomic };

/// Registers of one size; each is named by its index in all of them.
struct RegisterSet {
    unsigned bytes;
    const char* prefix;
};
inline constexpr std::array<RegisterSet, 3> register_sets = {{{2, "h"}, {4, "w"}, {8, "d"}}};
inline constexpr unsigned set_size = 5;
inline constexpr unsigned register_count = set_size * register_sets.size();

inline unsigned bytes_of(unsigned reg) {
    return register_sets[reg / set_size].bytes;
}
inline std::string name_of(unsigned reg) {
    return fmt::format("%{}{}", register_sets[reg / set_size].prefix, reg % set_size);
}

/// What all threads do, if their guard says so.
struct Step {
    What what = What::number;
    Space space = Space::global;
    bool generic = false;  ///< By a generic address.
    bool wide = true;      ///< A 64-bit address in shared or local memory.
    unsigned whose = 0;    ///< Memory of 0: the thread, 1: its partner, 2: one thread.
    unsigned bytes = 4;    ///< Bytes of an element.
    unsigned offset = 0;   ///< In the area.
    std::vector<unsigned> registers;
    bool guarded = false;
    unsigned line = 0;  ///< Line of the PTX text.
};

struct Program {
    unsigned chunk = area_bytes;  ///< Threads have chunks of this many bytes in turn.
    unsigned partner = 1;         ///< A thread's partner has its number ^ this.
    unsigned one = 0;
    unsigned turns = 1;
    bool in_function = false;  ///< The steps are in a function that each turn calls.
    std::vector<Step> steps;
    std::vector<std::uint8_t> guards;  ///< By turn, step and thread.

    [[nodiscard]] unsigned other(unsigned whose, unsigned thread) const {
        return whose == 0 ? thread : whose == 1 ? thread ^ partner : one;
    }
    /// Where an offset in the area of thread 0 is.
    [[nodiscard]] unsigned place(Space space, unsigned offset) const {
        if (space == Space::local) return offset;
        return offset / chunk * chunk * threads + offset % chunk;
    }
    /// Whether another access by the same address register is right before or after one.
    [[nodiscard]] bool has_neighbour(const Step& step) const {
        const auto base = [](const Step& near) {
            return std::tuple(near.space, near.whose, near.space != Space::global && near.generic,
                              near.space != Space::global && !near.generic && near.wide);
        };
        const auto size = [](const Step& near) { return near.bytes * near.registers.size(); };
        return std::ranges::any_of(steps, [&](const Step& near) {
            if (near.what != What::load && near.what != What::store) return false;
            if (base(near) != base(step)) return false;
            const unsigned its = place(near.space, near.offset);
            const unsigned own = place(step.space, step.offset);
            return its + size(near) == own || own + size(step) == its;
        });
    }
    [[nodiscard]] unsigned place(const Step& step, unsigned thread) const {
        const unsigned first = place(step.space, step.offset);
        return step.space == Space::local ? first : first + other(step.whose, thread) * chunk;
    }
};

class Generator {
public:
    explicit Generator(unsigned seed) : random_(seed) {}

    Program program() {
        Program made;
        constexpr unsigned chunks[] = {4, 8, 16, area_bytes};
        made.chunk = chunks[pick(4)];
        made.partner = 1 + pick(threads - 1);
        made.one = pick(threads);
        made.turns = 1 + pick(4);
        made.in_function = pick(4) == 0;
        // Most offsets are of a few places, so that what is stored is loaded again.
        for (unsigned& place : places_)
            place = 16 * pick(area_bytes / 16);
        const unsigned count = 4 + pick(20);
        for (unsigned k = 0; k < count; ++k)
            made.steps.push_back(step(made.chunk, k < count / 2));
        for (unsigned k = 0; k < made.turns * count * threads; ++k)
            made.guards.push_back(static_cast<std::uint8_t>(pick(2)));
        return made;
    }

private:
    unsigned pick(unsigned count) {
        return std::uniform_int_distribution<unsigned>(0, count - 1)(random_);
    }
    unsigned reg_of(unsigned set) { return set * set_size + pick(set_size); }

    /// The first steps are mostly stores of many bytes.
    Step step(unsigned chunk, bool first) {
        Step made;
        made.guarded = pick(2) == 0;
        const unsigned what = first && pick(4) != 0 ? 8 : pick(20);
        if (first) made.guarded = pick(4) == 0;
        made.what = what < 8    ? What::load
                    : what < 15 ? What::store
                    : what < 16 ? (pick(2) == 0 ? What::number : What::parameter)
                    : what < 18 ? What::move
                    : what < 19 ? What::add
                                : What::atomic;
        if (made.what >= What::number && made.what <= What::add) {
            const unsigned set = pick(3);
            // Only the first registers of a set are ever used.
            made.registers = {reg_of(set), made.what == What::add ? set * set_size : reg_of(set)};
            return made;
        }
        made.space = static_cast<Space>(pick(3));
        made.generic = pick(5) == 0;
        made.wide = pick(3) == 0;
        if (made.what == What::load && made.space != Space::local) made.whose = pick(3);
        if (made.what == What::atomic) {
            if (made.space == Space::local) made.space = Space::shared;
            made.bytes = chunk >= 8 && pick(2) == 0 ? 8 : 4;
            made.registers = {reg_of(made.bytes == 8 ? 2 : 1)};
        } else {
            // The smallest is the most frequent, as compilers copy padding by bytes.
            do
                made.bytes = first ? 4u << pick(2) : pick(3) == 0 ? 1 : 1u << pick(4);
            while (made.bytes > chunk);
            unsigned lanes = 1u << (first ? 2 : pick(3));
            while (lanes * made.bytes > std::min(chunk, 16u))
                lanes /= 2;
            const unsigned least = made.bytes <= 2 ? 0 : made.bytes == 4 ? 1 : 2;
            const unsigned set = pick(3) == 0 ? least + pick(3 - least) : least;
            while (made.registers.size() < lanes) {
                const unsigned reg = reg_of(set);
                // A load needs different registers.
                if (made.what == What::store ||
                    std::ranges::find(made.registers, reg) == made.registers.end())
                    made.registers.push_back(reg);
            }
        }
        const auto size = static_cast<unsigned>(made.bytes * made.registers.size());
        made.offset = places_[pick(2)] + size * pick(16 / size);
        return made;
    }

    std::mt19937 random_;
    std::array<unsigned, 2> places_{};
};

/// Writes the PTX of a program and notes the lines of its steps.
class Writer {
public:
    explicit Writer(Program& program) : program_(program) {}

    std::string text() {
        line(".version 8.7");
        line(".target sm_90");
        line(".address_size 64");
        line(".shared .align 16 .b8 area[4096];");
        if (program_.in_function) {
            line(".func body(.param .b64 data, .param .b64 guards) {");
            body();
            line("ret; }");
        }
        line(".visible .entry k(.param .u64 data, .param .u64 guards) {");
        if (!program_.in_function) {
            body();
        } else {
            line(".reg .b64 %a, %g; .reg .b32 %t; .reg .pred %p;");
            line("ld.param.u64 %a, [data]; ld.param.u64 %g, [guards]; mov.u32 %t, 0;");
            line("turn: { .param .b64 x; .param .b64 y; st.param.b64 [x], %a;");
            line("st.param.b64 [y], %g; call.uni body, (x, y); }");
            line(fmt::format("add.u64 %g, %g, {};", guards_a_turn()));
            next_turn();
        }
        line("ret; }");
        return text_;
    }

private:
    void line(std::string_view text) {
        text_ += text;
        text_ += '\n';
        ++lines_;
    }
    [[nodiscard]] std::size_t guards_a_turn() const { return program_.steps.size() * threads; }
    void next_turn() {
        line("add.u32 %t, %t, 1;");
        line(fmt::format("setp.ne.u32 %p, %t, {};", program_.turns));
        line("@%p bra turn;");
    }

    void body() {
        line(".local .align 16 .b8 own[64];");
        line(".reg .pred %p; .reg .b32 %me, %x, %y, %t, %s<3>, %l;");
        line(".reg .b64 %a, %g, %o, %global<3>, %shared<3>, %local, %gs<3>, %gl;");
        for (const RegisterSet& set : register_sets)
            line(fmt::format(".reg .b{} %{}<{}>;", 8 * set.bytes, set.prefix, set_size));
        line("ld.param.u64 %a, [data]; ld.param.u64 %g, [guards];");
        line("mov.u32 %me, %tid.x; cvt.u64.u32 %o, %me; add.u64 %g, %g, %o;");
        for (unsigned k = 0; k < 3; ++k) {
            const std::string thread = k == 0 ? "mov.u32 %x, %me;"
                                       : k == 1
                                           ? fmt::format("xor.b32 %x, %me, {};", program_.partner)
                                           : fmt::format("mov.u32 %x, {};", program_.one);
            line(thread);
            line(fmt::format("mul.lo.u32 %x, %x, {}; cvt.u64.u32 %o, %x;", program_.chunk));
            line(fmt::format("add.u64 %global{}, %a, %o; mov.u32 %y, area;", k));
            line(fmt::format("add.u32 %s{0}, %y, %x; cvt.u64.u32 %shared{0}, %s{0};", k));
            line(fmt::format("cvta.shared.u64 %gs{0}, %shared{0};", k));
        }
        line("mov.u32 %l, own; cvt.u64.u32 %local, %l; cvta.local.u64 %gl, %local;");
        for (unsigned reg = 0; reg < register_count; ++reg)
            line(fmt::format("mov.b{} {}, 7;", 8 * bytes_of(reg), name_of(reg)));
        if (!program_.in_function) line("mov.u32 %t, 0;\nturn:"), ++lines_;
        for (std::size_t k = 0; k < program_.steps.size(); ++k) {
            Step& step = program_.steps[k];
            line("bar.sync 0;");
            if (step.guarded) {
                line(fmt::format("ld.global.u8 %x, [%g+{}]; setp.ne.u32 %p, %x, 0;", k * threads));
            }
            line((step.guarded ? "@%p " : "") + instruction(step));
            step.line = lines_;
        }
        if (program_.in_function) return;
        line(fmt::format("add.u64 %g, %g, {};", guards_a_turn()));
        next_turn();
    }

    [[nodiscard]] std::string address(const Step& step) const {
        const std::string whose = std::to_string(step.whose);
        std::string base = "%global" + whose;
        if (step.space == Space::shared)
            base = (step.generic ? "%gs" : step.wide ? "%shared" : "%s") + whose;
        if (step.space == Space::local) base = step.generic ? "%gl" : step.wide ? "%local" : "%l";
        return fmt::format("[{}+{}]", base, program_.place(step.space, step.offset));
    }

    [[nodiscard]] std::string instruction(const Step& step) const {
        const auto& all = step.registers;
        const unsigned bits = 8 * bytes_of(all[0]);
        switch (step.what) {
            case What::number:
                return fmt::format("mov.b{} {}, 3;", bits, name_of(all[0]));
            case What::parameter:
                return fmt::format("ld.param.u{} {}, [data];", bits, name_of(all[0]));
            case What::move:
                return fmt::format("mov.b{} {}, {};", bits, name_of(all[0]), name_of(all[1]));
            case What::add:
                return fmt::format("add.u{} {}, {}, 1;", bits, name_of(all[0]), name_of(all[1]));
            default:
                break;
        }
        constexpr std::string_view spaces[] = {".global", ".shared", ".local"};
        const std::string_view space =
            step.generic ? "" : spaces[static_cast<std::size_t>(step.space)];
        if (step.what == What::atomic) {
            return fmt::format("atom{}.add.u{} {}, {}, 1;", space, bits, name_of(all[0]),
                               address(step));
        }
        std::string list = name_of(all[0]);
        for (std::size_t k = 1; k < all.size(); ++k)
            list += ", " + name_of(all[k]);
        const std::string vector = all.size() > 1 ? fmt::format(".v{}", all.size()) : "";
        if (all.size() > 1) list = "{" + list + "}";
        const std::string type = fmt::format("{}{}.u{}", space, vector, 8 * step.bytes);
        return step.what == What::load ? fmt::format("ld{} {}, {};", type, list, address(step))
                                       : fmt::format("st{} {}, {};", type, address(step), list);
    }

    Program& program_;
    std::string text_;
    unsigned lines_ = 0;
};

}  // namespace init_random

}  // namespace lode::emulator::exec
