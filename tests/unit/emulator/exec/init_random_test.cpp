// The check for unwritten memory against a model of every byte, for random kernels: loads and
// stores of every size, alone and as vectors, guarded and in loops, to and from registers that are
// only copied and others that are used, and atomics.
#include "tests/unit/emulator/exec/init_programs.hpp"
#include "tests/unit/emulator/exec/random_programs.hpp"
#include "tests/unit/emulator/exec/support.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace init_random {
namespace {

/// Every byte of memory and of registers, as documented: a load whose unwritten bytes are all in
/// registers that are only copied is none that uses them, if some of its bytes are written, or if
/// it may load padding.
class Model {
public:
    explicit Model(const Program& program) : program_(program), is_copied_(register_count) {
        std::array<bool, register_count> stored{};
        std::array<bool, register_count> used{};
        for (const Step& step : program.steps) {
            if (step.what == What::add) used[step.registers[1]] = true;
            if (step.what != What::store) continue;
            const bool beside = program.has_neighbour(step);
            for (const unsigned reg : step.registers) {
                stored[reg] = true;
                in_structure_[reg] = in_structure_[reg] || beside;
            }
        }
        for (std::size_t pass = 0; pass < program.steps.size(); ++pass) {
            for (const Step& step : program.steps) {
                if (step.what != What::move) continue;
                const unsigned to = step.registers[0];
                const unsigned from = step.registers[1];
                stored[from] = stored[from] || stored[to];
                used[from] = used[from] || used[to];
                in_structure_[from] = in_structure_[from] || in_structure_[to];
            }
        }
        for (unsigned reg = 0; reg < register_count; ++reg)
            is_copied_[reg] = stored[reg] && !used[reg];
        memory_[0].assign(threads * area_bytes, false);
        memory_[1].assign(threads * area_bytes, false);
    }

    void run() {
        const std::size_t count = program_.steps.size();
        for (unsigned turn = 0; turn < program_.turns; ++turn) {
            if (turn == 0 || program_.in_function) enter();
            for (std::size_t k = 0; k < count; ++k)
                take(program_.steps[k], &program_.guards[(turn * count + k) * threads]);
        }
    }

    std::set<unsigned> lines;  ///< Lines of loads and atomics that use unwritten bytes.
    [[nodiscard]] const std::vector<bool>& global() const { return memory_[0]; }

private:
    void enter() {
        for (auto& one : local_)
            one.assign(area_bytes, false);
        for (auto& one : unwritten_)
            one.fill({});
    }
    std::vector<bool>& memory(const Step& step, unsigned thread) {
        return step.space == Space::local ? local_[thread]
                                          : memory_[static_cast<std::size_t>(step.space)];
    }

    void take(const Step& step, const std::uint8_t* guards) {
        for (unsigned thread = 0; thread < threads; ++thread) {
            if (step.guarded && guards[thread] == 0) continue;
            auto& own = unwritten_[thread];
            const auto& all = step.registers;
            switch (step.what) {
                case What::number:
                case What::parameter:
                case What::add:
                    own[all[0]] = {};
                    break;
                case What::move:
                    own[all[0]] = own[all[1]];
                    break;
                case What::load:
                    load(step, thread);
                    break;
                case What::store:
                    store(step, thread);
                    break;
                case What::atomic: {
                    auto& marks = memory(step, thread);
                    const unsigned at = program_.place(step, thread);
                    for (unsigned k = 0; k < step.bytes; ++k) {
                        if (!marks[at + k]) lines.insert(step.line);
                        marks[at + k] = true;
                    }
                    own[all[0]] = {};
                    break;
                }
            }
        }
    }

    void load(const Step& step, unsigned thread) {
        const auto& marks = memory(step, thread);
        const unsigned at = program_.place(step, thread);
        unsigned missing = 0;
        bool uses = false;
        bool copies = false;
        for (std::size_t k = 0; k < step.registers.size(); ++k) {
            const bool copied = is_copied_[step.registers[k]];
            copies = copies || copied;
            for (unsigned byte = 0; byte < step.bytes; ++byte) {
                if (marks[at + k * step.bytes + byte]) continue;
                ++missing;
                uses = uses || !copied;
            }
        }
        bool follows = false;
        for (unsigned k = at / 16 * 16; k < at; ++k)
            follows = follows || marks[k];
        bool may_pad = program_.has_neighbour(step);
        for (const unsigned reg : step.registers)
            may_pad = may_pad || in_structure_[reg];
        const unsigned size = step.bytes * static_cast<unsigned>(step.registers.size());
        const bool pads = may_pad && follows && (step.bytes == 1 || (at + size) % 8 == 0);
        const bool tells = missing != 0 && (uses || !copies || (missing == size && !pads));
        if (tells) lines.insert(step.line);
        for (std::size_t k = 0; k < step.registers.size(); ++k) {
            auto& reg = unwritten_[thread][step.registers[k]];
            reg = {};
            for (unsigned byte = 0; byte < step.bytes && !tells; ++byte)
                reg[byte] = !marks[at + k * step.bytes + byte];
        }
    }

    void store(const Step& step, unsigned thread) {
        auto& marks = memory(step, thread);
        const unsigned at = program_.place(step, thread);
        for (std::size_t k = 0; k < step.registers.size(); ++k) {
            const unsigned reg = step.registers[k];
            for (unsigned byte = 0; byte < step.bytes; ++byte) {
                marks[at + k * step.bytes + byte] =
                    !is_copied_[reg] || !unwritten_[thread][reg][byte];
            }
        }
    }

    const Program& program_;
    std::vector<bool> is_copied_;
    std::array<bool, register_count> in_structure_{};
    std::array<std::vector<bool>, 2> memory_;
    std::array<std::vector<bool>, threads> local_;
    std::array<std::array<std::array<bool, 8>, register_count>, threads> unwritten_{};
};

std::string joined(const std::set<unsigned>& lines) {
    return fmt::format("{}", fmt::join(lines, " "));
}

/// '#' for a written byte, '.' for an unwritten one.
template <class F>
std::string map_of(F&& is_written) {
    std::string map;
    for (unsigned k = 0; k < threads * area_bytes; ++k)
        map += is_written(k) ? '#' : '.';
    return map;
}

/// Runs random kernels on both tiers. LODE_TEST_RANDOM_KERNELS makes `programs` as many times as
/// large.
void judge(unsigned programs) {
    programs = testing::as_many(programs);
    testing::Rig rig;
    REQUIRE(rig.memory.watch_writes());
    std::vector<std::string> findings;
    rig.options.checks.init = true;
    rig.options.finding = [&](std::string_view text) { findings.emplace_back(text); };
    unsigned clean = 0;
    std::size_t found = 0;
    for (unsigned seed = 0; seed < programs; ++seed) {
        Program program = Generator(seed).program();
        const std::string text = Writer(program).text();
        Model model(program);
        model.run();
        clean += model.lines.empty() ? 1 : 0;
        found += model.lines.size();
        const auto module = rig.load(text);
        const std::uint64_t guards = rig.put(program.guards);
        for (const std::uint32_t after : {0, 1}) {
            const std::uint64_t data =
                rig.memory.allocate(threads * area_bytes, MemoryKind::device, "cuMemAlloc");
            findings.clear();
            rig.options.compile_after = after;
            const LaunchOutcome outcome = rig.run(*module, "k", {1}, {threads}, data, guards);
            CAPTURE(seed);
            CAPTURE(after);
            INFO(text);
            REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
            CHECK(joined(testing::ptx_lines(findings)) == joined(model.lines));
            const WrittenBytes& written = *rig.memory.written();
            CHECK(map_of([&](unsigned k) { return written.written(data + k); }) ==
                  map_of([&](unsigned k) { return model.global()[k]; }));
            rig.memory.free(data);
        }
        rig.memory.free(guards);
    }
    MESSAGE(clean, " of ", programs, " programs use nothing unwritten, the others ", found,
            " loads and atomics");
    CHECK(clean > 0);
    CHECK(found > programs);
}

}  // namespace
}  // namespace init_random

TEST_CASE("init: random kernels read unwritten bytes where a model of every byte says so") {
    init_random::judge(400);
}

}  // namespace lode::emulator::exec
