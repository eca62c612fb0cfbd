// `lode warm`: compiles what manifests list into the cache or into packs; --check says what is
// missing.
#include "base/file.hpp"
#include "base/message_text.hpp"
#include "base/try.hpp"
#include "jit/cache/packs.hpp"
#include "tools/lode/cache_command.hpp"
#include "tools/lode/command_line.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/output.hpp"
#include "tools/lode/progress.hpp"
#include "tools/lode/result_file.hpp"
#include "tools/lode/warm_tasks.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

namespace lode::tool {
namespace {

struct WarmCommand {
    std::vector<std::string> manifests;
    std::vector<std::string> arch_names;
    std::string pack;
    std::optional<std::uint64_t> max_size;
    bool check = false;
    bool from_remote = false;
    std::optional<std::size_t> jobs;
    std::optional<int> timeout_ms;
};

/// The work's inputs, read and checked.
struct WarmRequest {
    std::vector<std::string> manifests;
    std::vector<std::optional<Arch>> archs;
    std::filesystem::path pack;  ///< Absolute; empty for none.
    std::uint64_t max_pack_bytes = std::numeric_limits<std::uint64_t>::max();
    bool check = false;
    bool from_remote = false;
    std::size_t jobs = 1;
    std::chrono::milliseconds timeout{0};
};

Result<WarmRequest> read_warm_request(const WarmCommand& command) {
    WarmRequest request;
    request.manifests = command.manifests;
    request.check = command.check;
    request.from_remote = command.from_remote;
    if (request.from_remote && (request.check || !command.pack.empty())) {
        return fail(Errc::invalid_argument,
                    "--from-remote can't be combined with --check or --pack.");
    }
    for (const auto& name : command.arch_names) {
        auto arch = parse_manifest_arch(name);
        if (!arch) return tl::unexpected(std::move(arch).error().in("reading --arch"));
        if (std::ranges::find(request.archs, *arch) == request.archs.end())
            request.archs.push_back(*arch);
    }
    request.jobs = command.jobs.value_or(
        std::clamp(std::thread::hardware_concurrency(), 1U, unsigned{most_jobs}));
    request.timeout = std::chrono::milliseconds(command.timeout_ms.value_or(0));
    if (command.max_size && command.pack.empty())
        return fail(Errc::invalid_argument, "--max-size is for packs: name them with --pack.");
    if (!command.pack.empty() && !command.check)
        LODE_TRY(check_result_file({"--pack", command.pack}, {}, "Name one in it."));
    request.max_pack_bytes = command.max_size.value_or(request.max_pack_bytes);
    if (!command.pack.empty()) request.pack = std::filesystem::absolute(command.pack);
    return request;
}

std::string text_of(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

Json task_json(const WarmTask& task) {
    return {{"where", task.where},
            {"source", task.label},
            {"arch", task.request.arch.to_string()},
            {"names", task.request.name_expressions}};
}

/// The options of the cache to fill. Errors: invalid_argument if it can't be filled.
Result<CacheOptions> cache_to_fill(const WarmRequest& request) {
    LODE_TRY_ASSIGN(CacheOptions options, options_to_compile(static_cast<int>(request.jobs)));
    options.policy = JitPolicy::allow;  // LODE_JIT is for the application.
    options.record.clear();
    auto& workers = options.workers;
    if (request.timeout.count() > 0) workers.limits.time = request.timeout;
    if (workers.limits.any()) workers.policy = WorkerPolicy::always;
    if (request.check) return options;
    // A pack is written from the folder.
    if (!request.pack.empty()) options.packs.clear();
    if (options.mode != CacheMode::on) {
        return fail(Errc::invalid_argument,
                    fmt::format("LODE_CACHE is {}, so nothing can be added to the cache. Set it to "
                                "on.",
                                options.mode == CacheMode::off ? "off" : "read-only"));
    }
    if (options.folder.empty()) {
        return fail(Errc::invalid_argument,
                    "There is no cache folder to fill: set LODE_CACHE_DIR, or HOME to a folder "
                    "that exists.");
    }
    if (!options.sign_with.empty()) {
        LODE_TRY(cache::read_secret_key(options.sign_with));
    } else if (options.trust == CacheTrust::signed_only) {
        return fail(Errc::invalid_argument,
                    "LODE_CACHE_TRUST is signed, and there is no key to sign what is compiled: set "
                    "LODE_CACHE_SIGN_WITH.");
    }
    return options;
}

// -- Checking ----------------------------------------------------------------------------------

/// Why a task isn't in the cache; empty if it is.
std::string missing_because(const WarmTask& task, const CachedCompiler& compiler,
                            const Status& entered, std::string& tier) {
    if (!entered) return entered.error().message;
    const auto told = compiler.explain(task.request.source, task.request.arch, task.request.options,
                                       task.request.name_expressions);
    if (!told) return told.error().message;
    tier = told->tier;
    return told->miss.to_string();
}

Result<Answer> check(const std::vector<WarmTask>& tasks, const CachedCompiler& compiler) {
    std::vector<std::string> reasons(tasks.size());
    std::vector<std::string> tiers(tasks.size());
    for_each_task(tasks, 1, [&](std::size_t i, const Status& entered) {
        reasons[i] = missing_because(tasks[i], compiler, entered, tiers[i]);
    });
    Table table({{"missing"}, {"target"}, {"names"}, {"because"}});
    Json list = Json::array();
    std::size_t missing = 0;
    double missing_ms = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const WarmTask& task = tasks[i];
        Json json = task_json(task);
        json["state"] = tiers[i].empty() ? "missing" : "hit";
        json["tier"] = tiers[i].empty() ? Json() : Json(tiers[i]);
        json["reason"] = tiers[i].empty() ? Json(reasons[i]) : Json();
        list.push_back(std::move(json));
        if (!tiers[i].empty()) continue;
        ++missing;
        missing_ms += task.compile_ms.value_or(0);
        table.row({task.label, task.request.arch.to_string(),
                   text_of(task.request.name_expressions), reasons[i]});
    }
    Answer answer;
    if (missing > 0) {
        answer.text = table.to_string();
        answer.failure = Error{
            Errc::not_found,
            fmt::format("{} of {} compilations are missing from the cache. `lode warm` without "
                        "--check compiles them.",
                        missing, tasks.size())};
    } else {
        answer.text = fmt::format("The cache has everything that was asked for: {}.\n",
                                  counted(tasks.size(), "compilation"));
    }
    answer.fields = {{"requests", std::move(list)},
                     {"hits", tasks.size() - missing},
                     {"missing", missing},
                     {"missing_ms", missing_ms}};
    return answer;
}

// -- Filling -----------------------------------------------------------------------------------

/// The outcome of one task.
using Warmed = std::optional<Result<CompileReport>>;

std::vector<Warmed> compile_tasks(const std::vector<WarmTask>& tasks,
                                  const CachedCompiler& compiler, std::size_t jobs) {
    std::vector<Warmed> outcomes(tasks.size());
    for_each_task(tasks, jobs, [&](std::size_t i, const Status& entered) {
        const WarmTask& task = tasks[i];
        const auto compile = [&]() -> Result<CompileReport> {
            LODE_TRY(entered);
            LODE_TRY_ASSIGN(const auto cached, compiler.compile(task.request));
            if (cached.report.not_kept.empty()) return cached.report;
            return fail(Errc::file_failed,
                        fmt::format("The result can't be kept: {}.", cached.report.not_kept));
        };
        outcomes[i] = compile();
    });
    return outcomes;
}

/// A pack for each architecture; the order of the tasks decides what fits. Errors: those of the
/// folder, the entries and the files.
Status write_packs(const WarmRequest& request, const CacheOptions& cache,
                   const std::vector<WarmTask>& tasks, const std::vector<Warmed>& outcomes,
                   Answer& answer) {
    const cache::PackOptions options{request.max_pack_bytes, {}};
    cache::PackReport left_out;
    LODE_TRY_ASSIGN(const auto tier, cache::DiskTier::open(cache.folder, false, cache.max_bytes));
    Json packs = Json::array();
    for (const Arch& arch : archs_of(tasks)) {
        std::vector<Digest> entries;
        for (std::size_t i = 0; i < tasks.size(); ++i)
            if (tasks[i].request.arch == arch && *outcomes[i])
                entries.push_back((*outcomes[i])->key);
        const auto file = cache::pack_for(request.pack, arch);
        LODE_TRY_ASSIGN(const auto report, cache::pack(*tier, file, entries, options));
        answer.text +=
            fmt::format("{}: {}, {}\n", file.string(), counted(report.entries, "entry", "entries"),
                        bytes_text(report.bytes));
        Json missing = Json::array();
        for (const auto& entry : report.left_out) {
            missing.push_back(entry_json(entry));
            left_out.left_out.push_back(entry);
        }
        packs.push_back({{"file", file.string()},
                         {"arch", arch.to_string()},
                         {"entries", report.entries},
                         {"bytes", report.bytes},
                         {"left_out", std::move(missing)}});
    }
    answer.fields["packs"] = std::move(packs);
    if (!left_out.left_out.empty())
        answer.failure = left_out_error(left_out, request.max_pack_bytes);
    return {};
}

Result<Answer> fill(const WarmRequest& request, const std::vector<WarmTask>& tasks,
                    const CachedCompiler& compiler) {
    const auto start = std::chrono::steady_clock::now();
    const auto outcomes = compile_tasks(tasks, compiler, request.jobs);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::size_t hits = 0;
    std::size_t compiled = 0;
    std::size_t failed = 0;
    Json list = Json::array();
    Answer answer;
    std::optional<Error> first;
    std::string failures;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const WarmTask& task = tasks[i];
        const Result<CompileReport>& outcome = *outcomes[i];
        Json json = task_json(task);
        if (outcome) {
            ++(outcome->hit() ? hits : compiled);
            json["state"] = outcome->hit() ? "hit" : "compiled";
            json["code"] = to_json(*outcome);
        } else {
            if (!first) first = outcome.error();
            json["state"] = "failed";
            json["error"] = to_json(outcome.error());
            if (++failed <= most_listed) {
                failures += fmt::format("\n  {} ({} for {}): {}", task.where, task.label,
                                        task.request.arch.to_string(), outcome.error().message);
            }
        }
        list.push_back(std::move(json));
    }
    if (failed > most_listed)
        failures += fmt::format("\n  {} more; --json lists all", failed - most_listed);
    answer.text = fmt::format("{}: {} in the cache, {} compiled in {:.1f} s{}.\n",
                              counted(tasks.size(), "compilation"), hits, compiled, taken.count(),
                              failed > 0 ? fmt::format(", {} failed", failed) : "");
    answer.fields = {{"requests", std::move(list)}, {"hits", hits},
                     {"compiled", compiled},        {"failed", failed},
                     {"jobs", request.jobs},        {"taken_ms", taken.count() * 1e3}};
    if (first) {
        answer.failure = Error{first->code, fmt::format("{} of {} compilations fail:{}", failed,
                                                        tasks.size(), failures)};
        answer.failure->native = first->native;
        answer.failure->log = first->log;
    } else if (!request.pack.empty()) {
        LODE_TRY(write_packs(request, compiler.options(), tasks, outcomes, answer));
    }
    return answer;
}

/// Fetches from the remote cache what others have compiled; compiles nothing.
Result<Answer> fetch(const std::vector<WarmTask>& tasks, const CachedCompiler& compiler) {
    const auto& remote = compiler.options().remote;
    if (!remote.is_set()) {
        return fail(Errc::invalid_argument,
                    "--from-remote needs a remote cache; set LODE_CACHE_REMOTE.");
    }
    const auto start = std::chrono::steady_clock::now();
    PrefetchReport sum;
    // Paths of a request may be relative to the folder of its manifest.
    std::map<std::filesystem::path, std::vector<CompileRequest>> folders;
    for (const auto& task : tasks)
        folders[task.folder].push_back(task.request);
    const auto before = std::filesystem::current_path();
    for (const auto& [folder, requests] : folders) {
        std::error_code problem;
        std::filesystem::current_path(folder.empty() ? before : folder, problem);
        if (problem) continue;  // Its requests count as missing.
        const auto report = compiler.prefetch(requests);
        sum.local += report.local;
        sum.remote += report.remote;
    }
    std::filesystem::current_path(before);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const auto counters = compiler.counters();
    const std::size_t missing = tasks.size() - sum.local - sum.remote;
    Answer answer{fmt::format(
        "{}: {} in the cache, {} from the remote cache in {:.2f} s, {} missing.\n",
        counted(tasks.size(), "compilation"), sum.local, sum.remote, taken.count(), missing)};
    answer.fields = {{"hits", sum.local},
                     {"remote", sum.remote},
                     {"missing", missing},
                     {"bytes", counters.bytes_read},
                     {"taken_ms", taken.count() * 1e3}};
    if (missing > 0) {
        answer.failure =
            Error{Errc::not_found, fmt::format("{} of {} compilations aren't in the remote cache. "
                                               "`lode warm` without --from-remote compiles them.",
                                               missing, tasks.size())};
    }
    return answer;
}

Result<Answer> warm(const WarmRequest& request) {
    LODE_TRY_ASSIGN(CacheOptions options, cache_to_fill(request));
    // A warm-up exists to be shared: its end waits until everything is sent.
    options.remote.drain = std::chrono::minutes(10);
    make_absolute(options);
    LODE_TRY_ASSIGN(const auto tasks,
                    read_tasks(request.manifests, request.archs, CachedCompiler({}, options)));
    if (request.check) {
        options.mode = options.mode == CacheMode::off ? CacheMode::off : CacheMode::read_only;
        if (!request.pack.empty())
            options = packs_alone(std::move(options), request.pack, archs_of(tasks));
    }
    if (request.from_remote) return fetch(tasks, CachedCompiler({}, options));
    if (request.check) return check(tasks, CachedCompiler({}, options));
    ProgressLine progress;
    progress.expect(tasks.size());
    options.events = progress.hook();
    return fill(request, tasks, CachedCompiler({}, options));
}

}  // namespace

Command declare_warm(CLI::App& app) {
    auto* command =
        app.add_subcommand("warm", "Compile what manifests list into the cache or into packs");
    const auto values = std::make_shared<WarmCommand>();
    const auto* manifests = command
                                ->add_option("MANIFEST", values->manifests,
                                             "Manifests, or files that LODE_RECORD has written")
                                ->required()
                                ->type_name("");
    command
        ->add_option("--arch", values->arch_names,
                     "Architectures, separated by commas, in place of the manifests' own: sm_90, "
                     "sm_120a, or native for the devices of this machine")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("ARCH");
    command
        ->add_option(
            "--pack", values->pack,
            "Also write a pack for each architecture, FILE with .ARCH before its extension")
        ->type_name("FILE");
    command
        ->add_option("--max-size", values->max_size,
                     "The largest size of a pack, e.g. 64MB. What doesn't fit, later requests "
                     "first, is left out and named, and the exit code is 1")
        ->transform(byte_count())
        ->type_name("N");
    command->add_flag("--check", values->check,
                      "Compile nothing; list what is missing, and exit with 1 if anything is");
    command->add_flag("--from-remote", values->from_remote,
                      "Compile nothing; fetch what LODE_CACHE_REMOTE has, and exit with 1 if it "
                      "lacks anything");
    command
        ->add_option("-j,--jobs", values->jobs,
                     "Compile this many at once, each in a process of its own. Default: the number "
                     "of processors")
        ->transform(whole_number(1, most_jobs))
        ->type_name("N");
    command
        ->add_option("--timeout", values->timeout_ms,
                     "The time after which one compilation is ended: 30s, or a number of "
                     "milliseconds. Default: LODE_COMPILE_TIMEOUT")
        ->transform(milliseconds(1, std::numeric_limits<int>::max()))
        ->type_name("TIME");
    command->footer(
        "A warm-up that is interrupted goes on where it ended: what is compiled is in the cache.");
    return {command,
            [values]() -> Result<Work> {
                LODE_TRY_ASSIGN(auto request, read_warm_request(*values));
                return [request = std::move(request)] { return warm(request); };
            },
            true,
            false,
            {manifests}};
}

}  // namespace lode::tool
