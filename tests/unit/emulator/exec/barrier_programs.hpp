// Random programs of one block whose warps meet at named barriers and exchange words of shared
// memory, and a model of what they do: their results, their races, and whether they end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::exec::testing::barriers {

enum class BarrierForm : unsigned { sync, arrive, popc, all, any };

/// What a warp does next: all of its lanes that live.
struct BarrierStep {
    enum class Kind : unsigned { write, read, meet, leave };

    Kind kind = Kind::read;
    /// Each lane's access to the word (lane + rotation) % 32 of the slot. A write stores `value`
    /// plus what the lane has read so far.
    unsigned slot = 0;
    unsigned rotation = 0;
    std::uint32_t value = 0;

    BarrierForm form = BarrierForm::sync;
    unsigned phase = 0;     ///< By which the generator names the use of a barrier.
    unsigned id = 0;        ///< The barrier's number.
    unsigned count = 0;     ///< How many threads it expects; 0: not given.
    unsigned spelling = 0;  ///< bar., bar.cta., barrier., barrier.cta., and the last two aligned.
    bool id_register = false;
    bool count_register = false;
    /// Lanes that execute another instruction than the others; 0: one for all. Not for aligned
    /// ones, if the program is right.
    std::uint32_t apart = 0;
    std::uint32_t predicates = 0;  ///< The lanes' predicates, for reductions.
    bool negated = false;

    std::uint32_t lanes = 0;  ///< Which lanes leave.
};

struct BarrierProgram {
    static constexpr unsigned slots = 10;

    unsigned threads = 32;  ///< The last warp may have fewer than 32.
    unsigned rounds = 1;    ///< How often the warps do their steps.
    std::vector<std::vector<BarrierStep>> warps;

    [[nodiscard]] std::uint32_t lanes_of(unsigned warp) const;
    /// A module with the kernel k(in, out, last), which sets out[thread] to a mix of what the
    /// thread has read.
    [[nodiscard]] std::string ptx() const;
};

struct BarrierOutcome {
    bool ends = true;  ///< False if warps wait for ever.
    /// One of each thread; meaningless with a race.
    std::vector<std::uint32_t> results;
    /// Whether two accesses to a word, one of them a write, are in no order.
    bool races = false;
    /// The same, but for lanes that exit: a barrier that their warp passes later orders them too.
    /// PTX doesn't say whether it does.
    bool surely_races = false;
};

/// Does the steps of the warps in turns. A barrier completes when as many warps have arrived as its
/// count asks for, or all that live.
BarrierOutcome model_of(const BarrierProgram& program);

class BarrierGenerator {
public:
    /// Without `divides_counts`, no warp is divided at red.popc: in 5 of 3,000 programs, the driver
    /// of an H200 (580.159.04) makes code in which a part then has another result.
    explicit BarrierGenerator(unsigned seed, bool divides_counts = true)
        : random_(seed), divides_counts_(divides_counts) {}

    /// A program whose barriers are used rightly. Without `racy`, no accesses race; otherwise
    /// they may.
    BarrierProgram program(bool racy);
    unsigned pick(unsigned count) {
        return std::uniform_int_distribution<unsigned>(0, count - 1)(random_);
    }
    std::uint32_t bits() { return static_cast<std::uint32_t>(random_()); }

private:
    struct Phase;
    void add_accesses(BarrierProgram& to, const std::vector<unsigned>& who, bool racy);
    void add_phase(BarrierProgram& to, unsigned number);
    void add_leave(BarrierProgram& to);
    bool choose_id(const std::vector<unsigned>& who, unsigned& id);
    void meet(BarrierProgram& to, const Phase& phase);

    std::mt19937 random_;
    bool divides_counts_;
    std::vector<std::uint32_t> live_;  ///< By warp: its lanes that haven't left.
    /// By warp: the phases that it knows to be complete.
    std::vector<std::vector<bool>> known_;
    std::array<int, 16> last_use_{};  ///< By barrier: its last phase, or -1.
};

}  // namespace lode::emulator::exec::testing::barriers
