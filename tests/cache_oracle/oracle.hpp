// The oracle: a machine that searches for a wrong hit of the compile cache.
//
// A world of source trees changes at random, before and during compilations. Every answer of the
// cache is compared with an uncached compilation of the same request in the same state of the
// world.
#pragma once

#include "jit/cache/backend.hpp"
#include "jit/cache/state.hpp"
#include "tests/cache_oracle/fake_nvrtc.hpp"
#include "tests/cache_oracle/world.hpp"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace lode::oracle {

struct Plan {
    std::uint64_t seed = 1;
    std::uint64_t steps = 500;
    bool nvrtc = false;            ///< Else FakeNvrtc.
    std::filesystem::path folder;  ///< Exists and is empty; belongs to the run.
    std::set<std::uint64_t> left_out;
    bool verbose = false;
};

struct Outcome {
    std::string failure;  ///< What was wrong; empty when nothing was.
    std::uint64_t failed_step = 0;
    std::uint64_t requests = 0;
    std::uint64_t compared = 0;  ///< With an uncached compilation.
    std::uint64_t failures = 0;  ///< Requests that don't compile, which the cache said too.
    std::uint64_t hits = 0;
    std::uint64_t changed_during = 0;  ///< Compilations with changes on their way.
    std::uint64_t expected_hits = 0;   ///< The same inputs were kept in that folder before.
    std::uint64_t missed = 0;          ///< Of the expected ones.
    std::map<std::string, std::uint64_t> missed_reasons;
    std::map<std::string, std::uint64_t> not_kept;  ///< By reason, without paths.
    std::deque<std::string> last_notes;

    void add(const Outcome& other);
    [[nodiscard]] double hit_percentage() const;
    [[nodiscard]] std::string to_string() const;
};

/// One run. Changes the working directory and the variable ORACLE_VALUE of the process.
class Oracle {
public:
    explicit Oracle(Plan plan);
    ~Oracle();
    Oracle(const Oracle&) = delete;
    Oracle& operator=(const Oracle&) = delete;

    Outcome run();

private:
    /// What a user compiles again and again.
    struct Project {
        std::size_t tree = 0;
        std::string place = "src/k.cu";
        bool in_memory = false;
        std::string text;  ///< Of code in memory.
        bool relative = false;
        std::string working;  ///< Below the world's root.
        std::vector<std::string> folders = {"inc", "inc2"};
        CompileOptions options;
    };
    /// One call of the compiler.
    struct Request {
        Source source;
        CompileOptions options;
        std::filesystem::path working;
        [[nodiscard]] std::string to_string() const;
    };
    /// One process of users, on one cache folder.
    struct Process {
        std::size_t cache = 0;
        FakeNvrtc* fake = nullptr;
        std::unique_ptr<CachedCompiler> compiler;
    };

    void step(std::uint64_t number);
    void note(std::string text);
    void fail(std::string what);
    void change_world(Dice& dice);
    void change_environment(Dice& dice);
    void change_project(Project& project, Dice& dice);
    void start_process(std::size_t slot, Dice& dice);
    void use_pack(Dice& dice);
    [[nodiscard]] Request request_of(const Project& project, Dice& dice) const;
    void ask(const Project& project, Process& process, Dice& dice, bool disturb);
    [[nodiscard]] Result<CachedImage> compile(const Request& request, Process& process, Dice& dice,
                                              bool disturb, bool& is_disturbed);
    [[nodiscard]] std::filesystem::path cache_folder(std::size_t index) const;

    /// Kept states of requests: by request, the judge's account of all its inputs.
    using Kept = std::map<std::string, std::set<std::string>>;

    const Plan plan_;
    Dice start_;
    World world_;
    std::unique_ptr<cache::CompilerBackend> judge_;
    std::vector<Project> projects_;
    std::vector<Process> processes_;
    std::vector<Kept> kept_;
    int packs_ = 0;
    Outcome outcome_;
    std::uint64_t now_ = 0;
};

/// Runs the plan; where it fails, looks for fewer steps that fail too, for at most `replays` runs.
/// The second is the plan that fails still.
[[nodiscard]] std::pair<Outcome, Plan> run_and_shrink(const Plan& plan, int replays);

}  // namespace lode::oracle
