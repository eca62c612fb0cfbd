// Caches of several machines in one folder with the faults of NFS: what a cache returns is right,
// what it says it has stored is there, and nothing is compiled more than twice.
//
// LODE_NETWORK_RUNS sets the number of random worlds of each test, LODE_NETWORK_SEED the first.
#include "tests/unit/jit/cache/network_files.hpp"

#include "tests/unit/jit/cache/example_entry.hpp"
#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <lode/base/unwrap.hpp>

#include <algorithm>
#include <cstdlib>
#include <thread>

using namespace lode;
using namespace lode::cache;

namespace {

std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10))
                           : otherwise;
}

/// Calls `work` with one seed after another.
template <class Work>
void for_each_seed(std::uint32_t runs, Work work) {
    const std::uint32_t first = number_from("LODE_NETWORK_SEED", std::random_device()());
    runs = number_from("LODE_NETWORK_RUNS", runs);
    for (std::uint32_t i = 0; i < runs; ++i) {
        const std::uint32_t seed = first + i;
        INFO("LODE_NETWORK_SEED=" << seed);
        work(seed);
    }
}

struct Compiled {
    std::uint64_t most = 0;    ///< The most of one key.
    std::uint64_t faults = 0;  ///< That the file layer made.
};

/// One world: machines that request the same sources at the same time from one folder. Checks every
/// result, and at the end, with sound files, that everything is in the folder.
Compiled run_world(std::uint32_t seed, std::size_t machines, const NetworkFaults& faults) {
    constexpr int sources = 6;
    constexpr int threads = 2;
    const Scratch scratch;
    scratch.write("c.h", fmt::format("header of {}\n", seed));
    settle();
    std::array<std::atomic<std::uint64_t>, sources> compilations{};
    const auto source_of = [&](int i) {
        return Source::text(fmt::format("#include <c.h>\nkernel {}\n", i), fmt::format("{}.cu", i));
    };
    CacheOptions options;
    options.folder = scratch / "cache";
    std::mutex log_mutex;
    std::string log;
    options.log = Log([&](LogLevel, std::string_view line) {
        const std::lock_guard guard(log_mutex);
        log += fmt::format("{}\n", line);
    });
    CompileOptions compile_options;
    compile_options.include_folders = {scratch.path()};
    const Arch arch = unwrap(Arch::parse("sm_90a"));

    Compiled compiled;
    std::atomic<int> wrong = 0;
    std::atomic<int> failed = 0;
    {
        std::vector<std::unique_ptr<NetworkFiles>> files;
        std::vector<std::unique_ptr<FakeProcess>> processes;
        for (std::size_t i = 0; i < machines; ++i) {
            files.push_back(
                std::make_unique<NetworkFiles>(seed * 97 + static_cast<std::uint32_t>(i), faults));
            processes.push_back(std::make_unique<FakeProcess>(options, "13.0.88", *files.back()));
            processes.back()->fake->takes = std::chrono::milliseconds(2);
        }
        std::vector<std::thread> workers;
        for (std::size_t i = 0; i < machines * threads; ++i) {
            workers.emplace_back([&, i] {
                std::mt19937 random(seed + static_cast<std::uint32_t>(i));
                const FakeProcess& process = *processes[i % machines];
                std::array<int, sources> order{};
                for (int at = 0; at < sources; ++at)
                    order[static_cast<std::size_t>(at)] = at;
                std::shuffle(order.begin(), order.end(), random);
                for (const int at : order) {
                    const auto answer =
                        process.cached->compile(source_of(at), arch, compile_options);
                    if (!answer) {
                        ++failed;
                        continue;
                    }
                    const auto code = as_text(answer->image->cubin);
                    const bool is_right =
                        code.ends_with(fmt::format("header of {}\nkernel {}\n", seed, at));
                    if (!is_right) ++wrong;
                    // Those that share another thread's compilation have its report.
                    const bool is_compiled = !answer->report.hit() && !answer->report.shared;
                    if (is_compiled) ++compilations[static_cast<std::size_t>(at)];
                }
            });
        }
        for (auto& worker : workers)
            worker.join();
        for (std::size_t i = 0; i < machines; ++i) {
            INFO(log);
            const auto counters = processes[i]->cached->counters();
            CHECK(counters.faults == 0);
            CHECK(counters.repairs == 0);
            compiled.faults += files[i]->count();
        }
    }
    CHECK(wrong == 0);
    CHECK(failed == 0);
    for (const auto& count : compilations)
        compiled.most = std::max<std::uint64_t>(compiled.most, count);

    const FakeProcess sound(options);
    for (int at = 0; at < sources; ++at)
        CHECK(sound.tier(source_of(at), compile_options) == "disk");
    return compiled;
}

}  // namespace

TEST_CASE("network files: two machines with all faults compile nothing more than twice") {
    std::uint64_t faults = 0;
    for_each_seed(15, [&](std::uint32_t seed) {
        const Compiled compiled = run_world(seed, 2, {});
        CHECK(compiled.most <= 2);
        faults += compiled.faults;
    });
    CHECK(faults > 0);
}

TEST_CASE("network files: machines whose locks work compile nothing more than twice") {
    NetworkFaults faults;
    faults.no_locks = 0;
    faults.stale_absence = 0;
    std::uint64_t count = 0;
    for_each_seed(10, [&](std::uint32_t seed) {
        const Compiled compiled = run_world(seed, 5, faults);
        CHECK(compiled.most <= 2);
        count += compiled.faults;
    });
    CHECK(count > 0);
}

TEST_CASE("network files: a record that was reported stored is there until it is replaced") {
    for_each_seed(20, [](std::uint32_t seed) {
        const Scratch scratch;
        std::mt19937 random(seed);
        const auto below = [&](std::size_t bound) {
            return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
        };
        constexpr std::size_t machines = 3;
        constexpr std::size_t keys = 4;
        constexpr int steps = 300;
        constexpr std::uint64_t roomy = std::uint64_t{1} << 30;
        std::vector<std::unique_ptr<NetworkFiles>> files;
        std::vector<std::unique_ptr<DiskTier>> tiers;
        for (std::size_t i = 0; i < machines; ++i) {
            files.push_back(std::make_unique<NetworkFiles>(seed + static_cast<std::uint32_t>(i),
                                                           NetworkFaults{}));
            tiers.push_back(unwrap(DiskTier::open(scratch / "cache", true, roomy, *files[i])));
        }
        const auto sound = unwrap(DiskTier::open(scratch / "cache", true, roomy));
        std::array<Bytes, keys> stored;  // Empty: nothing.
        std::array<std::map<std::size_t, FileIdentity>, keys> seen;
        for (int step = 0; step < steps; ++step) {
            const std::size_t at = below(keys);
            const std::size_t machine = below(machines);
            const RecordKey key{RecordKind::entry, sha256(std::to_string(at))};
            DiskTier& tier = *tiers[machine];
            switch (below(4)) {
                case 0: {
                    const Bytes bytes = format_entry(example_entry(step));
                    const Status put = tier.put(key, bytes);
                    REQUIRE_MESSAGE(put, (put ? "" : put.error().describe()));
                    stored[at] = bytes;
                    break;
                }
                case 1: {
                    const auto got = tier.get(key);
                    REQUIRE_MESSAGE(got, (got ? "" : got.error().describe()));
                    // An absence may be old; a record never is.
                    if (*got) {
                        CHECK((*got)->bytes == stored[at]);
                        seen[at][machine] = (*got)->identity;
                    }
                    break;
                }
                case 2: {
                    // As after a record that doesn't verify: only that one goes.
                    const auto known = seen[at].find(machine);
                    if (known == seen[at].end()) break;
                    const auto now = unwrap(sound->peek(key));
                    const bool is_same = now && now->identity == known->second;
                    const Status removed = tier.remove(key, &known->second);
                    REQUIRE_MESSAGE(removed, (removed ? "" : removed.error().describe()));
                    // A name that seems absent, or a handle that is stale, keeps it.
                    if (is_same && !unwrap(sound->peek(key))) stored[at].clear();
                    break;
                }
                default: {
                    const auto swept = tier.sweep(roomy);
                    REQUIRE_MESSAGE(swept, (swept ? "" : swept.error().describe()));
                }
            }
            const auto now = unwrap(sound->peek(key));
            REQUIRE(now.has_value() == !stored[at].empty());
            if (now) REQUIRE(now->bytes == stored[at]);
        }
        std::uint64_t faults = 0;
        for (const auto& machine : files)
            faults += machine->count();
        CHECK(faults > 0);
    });
}
