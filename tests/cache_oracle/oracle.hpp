// The oracle: searches for wrong hits of the compile cache.
//
// A world of source trees changes at random, before and during compilations. Every answer of the
// cache is compared with an uncached compilation of the same request in the same state of the
// world.
#pragma once

#include "jit/cache/backend.hpp"
#include "jit/cache/state.hpp"
#include "tests/cache_oracle/fake_nvrtc.hpp"
#include "tests/cache_oracle/outcome.hpp"
#include "tests/cache_oracle/world.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace lode::oracle {

struct Plan {
    std::uint64_t seed = 1;
    std::uint64_t steps = 500;
    bool nvrtc = false;            ///< Use NVRTC instead of FakeNvrtc.
    WorkerOptions workers = {};    ///< Options of the caches, with NVRTC; the judge has none.
    bool precompiles = false;      ///< Workers use precompiled headers, however small.
    std::filesystem::path folder;  ///< An existing, empty folder for this run only.
    std::set<std::uint64_t> left_out;
    bool verbose = false;

    /// Whether texts may ask for the time: a worker has a clock of its own.
    [[nodiscard]] bool has_clock() const { return nvrtc && workers.policy == WorkerPolicy::never; }
    /// Where FakeNvrtc's files are.
    [[nodiscard]] std::filesystem::path compiler_folder() const { return folder / "compiler"; }
};

/// The environment variable that the fake compiler reads.
inline constexpr const char* value_variable = "ORACLE_VALUE";

/// One run. Changes the process's working directory and its environment variable ORACLE_VALUE.
class Oracle {
public:
    explicit Oracle(Plan plan);
    ~Oracle();
    Oracle(const Oracle&) = delete;
    Oracle& operator=(const Oracle&) = delete;

    Outcome run();

private:
    /// A source that a user compiles repeatedly.
    struct Project {
        std::size_t tree = 0;
        std::string place = "src/k.cu";
        bool in_memory = false;
        std::string text;  ///< The code, if in_memory.
        bool relative = false;
        std::string working;  ///< Working directory, relative to the world's root.
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
    /// One user process with its cache folder.
    struct Process {
        std::size_t cache = 0;
        FakeNvrtc* fake = nullptr;
        std::unique_ptr<CachedCompiler> compiler;
    };

    /// The version of each of the compiler's files.
    using CompilerVersions = std::array<std::size_t, std::size(FakeNvrtc::file_names)>;

    void step(std::uint64_t number);
    void note(std::string text);
    void fail(std::string what);
    void change_world(Dice& dice);
    void change_environment(Dice& dice);
    void change_compiler(Dice& dice);
    void put_compiler(const CompilerVersions& versions);
    void pass_time(Dice& dice);
    /// Compiles without a cache: with what a process has mapped, or as a new process would.
    [[nodiscard]] Result<Image> judge(const Request& request, const FakeNvrtc::Mapped* mapped,
                                      CompileFiles& files);
    void change_project(Project& project, Dice& dice);
    void change_tail(Project& project, Dice& dice);
    void start_process(std::size_t slot, Dice& dice);
    void use_pack(Dice& dice);
    [[nodiscard]] Request request_of(const Project& project, Dice& dice) const;
    void ask(const Project& project, Process& process, Dice& dice, bool disturb);
    [[nodiscard]] Result<CachedImage> compile(const Request& request, Process& process, Dice& dice,
                                              bool disturb, bool& is_disturbed);
    [[nodiscard]] std::filesystem::path cache_folder(std::size_t index) const;

    /// Kept inputs: by request, the digests of all inputs of the judge.
    using Kept = std::map<std::string, std::set<std::string>>;

    const Plan plan_;
    Dice start_;
    World world_;
    std::unique_ptr<cache::CompilerBackend> judge_;
    std::vector<Project> projects_;
    std::vector<Process> processes_;
    std::vector<Kept> kept_;
    CompilerVersions compiler_versions_ = {};
    int packs_ = 0;
    Outcome outcome_;
    std::uint64_t now_ = 0;
};

/// Runs the plan. If it fails, searches for fewer steps that still fail, in at most `replays` runs.
/// Returns the outcome with the smallest failing plan.
[[nodiscard]] std::pair<Outcome, Plan> run_and_shrink(const Plan& plan, int replays);

}  // namespace lode::oracle
