// The race check against a comparison of all pairs of accesses, for random accesses of warps: in
// whole rows, from anywhere on, by single lanes, and all to one word.
#include "tests/unit/emulator/exec/checked.hpp"
#include "tests/unit/emulator/exec/random_programs.hpp"

#include <algorithm>
#include <random>

#include <fmt/format.h>

namespace lode::emulator::exec {

using testing::Checked;

namespace {

enum class Kind : int { read, write, atomic, barrier, warp_barrier };

constexpr unsigned words = 224;
constexpr unsigned block_threads = 96;

/// What all threads do, one step after the other.
struct Program {
    unsigned blocks = 1;
    std::vector<Kind> kinds;
    std::vector<char> halves;  ///< By step: whether elements have half of the array's size.
    std::vector<int> index;    ///< By step and thread: the element; -1 if the thread does nothing.

    [[nodiscard]] unsigned threads() const { return blocks * block_threads; }
};

/// How often programs have atomics.
enum class Atomics : int { none, some, most };

/// Whether all programs access whole elements of the array, or some halves, or both.
enum class Sizes : int { whole, mixed };

class Generator {
public:
    Generator(unsigned seed, Atomics atomics, Sizes sizes) : random_(seed), atomics_(atomics) {
        if (sizes == Sizes::mixed) halves_of_three_ = pick(3);
    }

    Program program(unsigned blocks) {
        Program made;
        made.blocks = blocks;
        const unsigned steps = 3 + pick(7);
        for (unsigned step = 0; step < steps; ++step) {
            if (atomics_ == Atomics::most) {
                const unsigned what = pick(16);
                add(made, what == 0 ? Kind::read : what == 1 ? Kind::write : Kind::atomic);
                if (pick(4) == 0) add(made, pick(4) == 0 ? Kind::warp_barrier : Kind::barrier);
                continue;
            }
            const unsigned what = pick(20);
            const Kind rare = atomics_ == Atomics::some ? Kind::atomic : Kind::read;
            add(made, what < 11 ? Kind::read : what < 17 ? Kind::write : rare);
            if (pick(8) != 0) add(made, pick(4) == 0 ? Kind::warp_barrier : Kind::barrier);
        }
        return made;
    }

private:
    unsigned pick(unsigned count) {
        return std::uniform_int_distribution<unsigned>(0, count - 1)(random_);
    }
    void add(Program& to, Kind kind) {
        to.kinds.push_back(kind);
        // None, some or all.
        const bool may_halve = halves_of_three_ != 0 && (halves_of_three_ == 2 || pick(2) == 0);
        const bool halves = may_halve && (kind == Kind::read || kind == Kind::write);
        to.halves.push_back(halves ? 1 : 0);
        // Blocks mostly have words of their own.
        const unsigned apart = to.blocks == 1 || pick(60) == 0 ? 0 : words / to.blocks;
        const unsigned base = pick(2) == 0 ? 0 : pick(3) == 0 ? 16 : pick(9);
        const unsigned shape = pick(8);
        const bool is_one = kind == Kind::read || pick(8) == 0;
        const unsigned number = pick(block_threads);
        const unsigned rotation = 32 * pick(3);
        for (unsigned thread = 0; thread < to.threads(); ++thread) {
            const unsigned in_block = thread % block_threads;
            int word = static_cast<int>(base + in_block);
            switch (shape) {
                case 0:  // A thread has another warp's word.
                    word = static_cast<int>(base + (in_block + rotation) % block_threads);
                    break;
                case 1:  // One thread.
                    if (in_block != number) word = -1;
                    break;
                case 2:  // All have one word.
                    if (is_one) word = static_cast<int>(number);
                    break;
                case 3:  // Lanes exchange their words.
                    word = static_cast<int>(base + (in_block ^ (number % 32)));
                    break;
                case 4:  // Some lanes.
                    if (pick(3) == 0) word = -1;
                    break;
                case 5:  // Both halves of a warp have the same words.
                    if (is_one) word = static_cast<int>(base + in_block / 32 * 16 + in_block % 16);
                    break;
                default:
                    break;
            }
            if (word >= 0)
                word = (word + static_cast<int>(apart * (thread / block_threads))) %
                       static_cast<int>(words);
            to.index.push_back(word);
        }
    }

    std::mt19937 random_;
    Atomics atomics_;
    unsigned halves_of_three_ = 0;
};

/// Whether two accesses of different threads to one place are in no order, and one of them writes.
bool has_race(const Program& program) {
    const unsigned threads = program.threads();
    // By thread: how many barriers of the block and of the warp it has passed.
    struct Access {
        Kind kind;
        unsigned thread, barriers, warp_barriers;
    };
    std::vector<std::vector<Access>> accesses(std::size_t{2} * words);  // By half of an element.
    unsigned barriers = 0;
    unsigned warp_barriers = 0;
    for (std::size_t step = 0; step < program.kinds.size(); ++step) {
        const Kind kind = program.kinds[step];
        barriers += kind == Kind::barrier ? 1 : 0;
        warp_barriers += kind == Kind::warp_barrier ? 1 : 0;
        if (kind == Kind::barrier || kind == Kind::warp_barrier) continue;
        for (unsigned thread = 0; thread < threads; ++thread) {
            const int element = program.index[step * threads + thread];
            if (element < 0) continue;
            const Access access{kind, thread, barriers, warp_barriers};
            const auto place = static_cast<std::size_t>(element);
            if (program.halves[step] != 0) {
                accesses[place].push_back(access);
            } else {
                accesses[2 * place].push_back(access);
                accesses[2 * place + 1].push_back(access);
            }
        }
    }
    const auto in_race = [](const Access& a, const Access& b) {
        if (a.thread == b.thread || (a.kind == Kind::read && b.kind == Kind::read)) return false;
        if (a.kind == Kind::atomic && b.kind == Kind::atomic) return false;
        const bool one_block = a.thread / block_threads == b.thread / block_threads;
        if (one_block && a.barriers != b.barriers) return false;
        return a.thread / 32 != b.thread / 32 || a.warp_barriers == b.warp_barriers;
    };
    return std::ranges::any_of(accesses, [&](const std::vector<Access>& of_place) {
        for (std::size_t a = 0; a < of_place.size(); ++a) {
            for (std::size_t b = a + 1; b < of_place.size(); ++b)
                if (in_race(of_place[a], of_place[b])) return true;
        }
        return false;
    });
}

/// Arrays that the kernel's loads read, and that its stores and atomics write.
struct Arrays {
    std::string_view type = "unsigned";
    std::string_view before = "";  ///< Code in front.
    std::string_view read = "r";
    std::string_view written = "w";
    Atomics atomics = Atomics::some;
    std::string_view half = "T";  ///< The type of halves of elements, if there are any.
    Sizes sizes = Sizes::whole;
};

std::string source(const Arrays& arrays) {
    const std::string atomic =
        arrays.atomics != Atomics::none
            ? fmt::format("if (kind == 2) atomicAdd({} + i, T(1));", arrays.written)
            : "";
    return fmt::format(R"(
using T = {};
using H = {};
extern "C" __global__ void k(const int* kinds, const int* index, T* out, int count, const T* r,
                             T* w, T** table, unsigned salt) {{
    {}
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    T sum = 0;
    for (int j = 0; j < count; ++j) {{
        const int kind = kinds[j];
        const int i = index[j * gridDim.x * blockDim.x + thread];
        if (kind == 3) {{
            __syncthreads();
        }} else if (kind == 4) {{
            __syncwarp();
        }} else if (i >= 0) {{
            const unsigned value = (salt + 256 * j + thread) * 2654435761u;
            if (kind == 0) sum += {}[i];
            if (kind == 1) {}[i] = T(sizeof(T) < 4 ? value >> 16 : value);
            if (kind == 5) sum += reinterpret_cast<const H*>({})[i];
            if (kind == 6) reinterpret_cast<H*>({})[i] = H(value >> 16);
            {}
        }}
    }}
    out[thread] = sum;
}})",
                       arrays.type, arrays.half, arrays.before, arrays.read, arrays.written,
                       arrays.read, arrays.written, atomic);
}

/// Runs random programs in two orders of warps and on both tiers, and compares the verdicts.
/// LODE_TEST_RANDOM_KERNELS makes `programs` as many times as large.
void compare(const Arrays& arrays, unsigned blocks, bool one_array, unsigned programs) {
    programs = testing::as_many(programs);
    Checked rig(source(arrays));
    rig.options.checks.race = true;
    rig.options.most_findings = 1;
    const std::uint64_t read = rig.words(2 * words);
    const std::uint64_t written = one_array ? read : rig.words(2 * words);
    const std::uint64_t table = rig.put(std::vector<std::uint64_t>{written});
    unsigned races = 0;
    unsigned salt = 0;  // Programs don't store what memory has: such races would be benign.
    for (unsigned seed = 0; seed < programs; ++seed) {
        const Program program = Generator(seed, arrays.atomics, arrays.sizes).program(blocks);
        // Reads of another array than the written one can't race.
        Program alone = program;
        for (std::size_t step = 0; !one_array && step < alone.kinds.size(); ++step) {
            if (alone.kinds[step] != Kind::read) continue;
            std::fill_n(alone.index.begin() + static_cast<long>(step * alone.threads()),
                        alone.threads(), -1);
        }
        const bool wanted = has_race(alone);
        races += wanted ? 1 : 0;
        std::vector<int> kinds;
        for (std::size_t step = 0; step < program.kinds.size(); ++step)
            kinds.push_back(static_cast<int>(program.kinds[step]) +
                            (program.halves[step] != 0 ? 5 : 0));
        const std::uint64_t kinds_at = rig.put(kinds);
        const std::uint64_t index_at = rig.put(program.index);
        const std::uint64_t out = rig.words(2 * program.threads());
        for (const std::uint64_t order : {0, 3}) {
            rig.options.seed = order;
            rig.options.compile_after = seed % 2 == 0 ? 0 : 1;
            const std::string found =
                rig.found({blocks}, {block_threads}, kinds_at, index_at, out,
                          static_cast<int>(kinds.size()), read, written, table, salt += 8192);
            CAPTURE(seed);
            CAPTURE(order);
            INFO(found);
            // A store may leave a byte as it is by chance.
            CHECK((found.find(" race: ") != std::string::npos ||
                   found.find(" has a benign race ") != std::string::npos) == wanted);
        }
        for (const std::uint64_t at : {kinds_at, index_at, out})
            rig.memory.free(at);
    }
    MESSAGE(races, " of ", programs, " programs have a race");
    CHECK(races > programs / 5);
    CHECK(races < programs - programs / 5);
}

}  // namespace

TEST_CASE(
    "race: random programs in shared memory race where a comparison of all accesses says so") {
    compare({.before = "__shared__ T s[256];", .read = "s", .written = "s"}, 1, true, 300);
    compare({.type = "unsigned long long",
             .before = "__shared__ T s[256];",
             .read = "s",
             .written = "s"},
            1, true, 200);
    compare({.type = "unsigned short",
             .before = "__shared__ T s[256];",
             .read = "s",
             .written = "s",
             .atomics = Atomics::none},
            1, true, 200);
}

TEST_CASE("race: random programs that sum in shared memory race where all accesses say so") {
    compare(
        {.before = "__shared__ T s[256];", .read = "s", .written = "s", .atomics = Atomics::most},
        1, true, 300);
}

TEST_CASE(
    "race: random programs in global memory race where a comparison of all accesses says so") {
    compare({}, 2, true, 150);
    compare({.type = "unsigned long long"}, 2, true, 100);
    compare({.type = "unsigned short", .atomics = Atomics::none}, 2, true, 100);
}

TEST_CASE("race: random programs race where they access a whole element and half of it, too") {
    compare({.before = "__shared__ T s[256];",
             .read = "s",
             .written = "s",
             .half = "unsigned short",
             .sizes = Sizes::mixed},
            1, true, 200);
    compare({.half = "unsigned short", .sizes = Sizes::mixed}, 2, true, 150);
    compare({.type = "unsigned long long", .half = "unsigned", .sizes = Sizes::mixed}, 2, true,
            100);
    compare({.type = "unsigned short",
             .atomics = Atomics::none,
             .half = "unsigned char",
             .sizes = Sizes::mixed},
            2, true, 100);
}

TEST_CASE("race: random programs with two arrays race only where they write") {
    compare({}, 2, false, 150);
}

TEST_CASE("race: random programs that write by a pointer from memory race with their loads") {
    compare({.before = "w = table[0];"}, 2, true, 150);
}

}  // namespace lode::emulator::exec
