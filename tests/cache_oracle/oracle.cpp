#include "tests/cache_oracle/oracle.hpp"

#include "jit/cache/packs.hpp"
#include "jit/store/disk_tier.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace lode::oracle {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t caches = 2;
constexpr std::size_t slots = 4;
constexpr std::size_t projects = 8;
constexpr std::size_t most_notes = 60;

fs::path made(const fs::path& folder) {
    fs::create_directories(folder);
    return folder;
}

/// `cache` is the folder for precompiled headers; empty for none.
std::unique_ptr<cache::CompilerBackend> make_backend(const Plan& plan, const World& world,
                                                     const fs::path& cache) {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
    pch::Settings pch;
    if (plan.precompiles && !cache.empty()) pch = {cache, true, most_bytes, 1, false};
    if (plan.nvrtc) return cache::make_nvrtc_backend({}, plan.workers, std::move(pch), {});
    return std::make_unique<FakeNvrtc>(world.toolkit(), plan.compiler_folder());
}

/// Longer than a tick of the file system's clock, so that stamps settle.
void wait_for_tick() {
    std::this_thread::sleep_for(std::chrono::milliseconds(14));
}

Dialect dialect_of(const Plan& plan) {
    if (!plan.nvrtc) return Dialect::fake;
    return plan.precompiles ? Dialect::head : Dialect::cuda;
}

/// The precompiled headers of a cache, by name, with the time of the last use.
std::map<std::string, fs::file_time_type> precompiled_headers(const fs::path& cache) {
    std::map<std::string, fs::file_time_type> all;
    std::error_code none;
    for (const auto& item : fs::directory_iterator(cache / "v6/pch", none)) {
        if (item.path().extension() == ".record")
            all[item.path().filename()] = item.last_write_time(none);
    }
    return all;
}

/// Compiles in this process, whatever the caches do.
std::unique_ptr<cache::CompilerBackend> make_judge(Plan plan, const World& world) {
    plan.workers = {};
    return make_backend(plan, world, {});
}

/// A digest of all answers that the judge got, with files identified by number instead of by inode:
/// equal digests mean equal inputs.
std::string account_of(const CompileFiles& files, const fs::path& working) {
    Hasher hasher;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> names;
    for (const auto* accesses : {&files.compiler, &files.shims}) {
        for (const auto& [path, answer] : accesses->answers()) {
            hasher.field((path.starts_with('/') ? fs::path(path) : working / path).string());
            hasher.field(static_cast<std::uint64_t>(answer.kind));
            hasher.field(answer.content && answer.consumed ? answer.content->text : "");
            if (answer.kind != FileAnswer::Kind::file) continue;
            // Records which paths are the same file.
            const auto identity = std::pair(answer.attributes.device, answer.attributes.number);
            hasher.field(names.try_emplace(identity, names.size()).first->second);
        }
    }
    for (const auto& [name, value] : files.compiler.variables())
        hasher.field(name).field(value.value_or("unset"));
    return hasher.finish().to_hex();
}

std::string without_paths(std::string text) {
    for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos;) {
        const auto end = text.find('\'', at + 1);
        if (end == std::string::npos) break;
        text.replace(at, end - at + 1, "…");
    }
    return text;
}

}  // namespace

std::string Oracle::Request::to_string() const {
    std::string text = fmt::format("{} in {}", source.name(), working.string());
    for (const auto& folder : options.include_folders)
        text += " -I " + folder.string();
    for (const auto& definition : options.definitions)
        text += fmt::format(" -D{}={}", definition.name, definition.value.value_or("1"));
    for (const auto& header : options.headers)
        text += fmt::format(" [{} in memory: {}]", header.name, header.text);
    for (const auto& name : options.pre_includes)
        text += " --pre-include=" + name;
    if (options.line_info) text += " -lineinfo";
    if (!options.toolkit_headers) text += " (no toolkit)";
    const char* const value = std::getenv(value_variable);
    text += fmt::format(" {}={}", value_variable, value != nullptr ? value : "unset");
    if (source.folder().empty()) text += " in memory: " + source.read().value_or("");
    return text;
}

Oracle::Oracle(Plan plan)
    : plan_(std::move(plan)),
      start_(seed_of_step(plan_.seed, 0)),
      world_(made(plan_.folder / "world"), dialect_of(plan_), plan_.has_clock(), start_),
      judge_(make_judge(plan_, world_)),
      processes_(slots),
      kept_(caches) {
    put_compiler({});
    for (std::size_t i = 0; i < projects; ++i) {
        projects_.push_back({});
        projects_.back().tree = i % 2;
        // Line information would name a file of the cache folder, which the judge doesn't write.
        projects_.back().options.source_files = false;
        for (std::size_t changes = start_.below(4); changes > 0; --changes)
            change_project(projects_.back(), start_);
    }
    for (std::size_t slot = 0; slot < slots; ++slot)
        start_process(slot, start_);
}

Oracle::~Oracle() {
    std::error_code ignored;
    fs::current_path("/", ignored);
    ::unsetenv(value_variable);
}

fs::path Oracle::cache_folder(std::size_t index) const {
    return plan_.folder / fmt::format("cache{}", index);
}

Outcome Oracle::run() {
    for (now_ = 1; now_ <= plan_.steps && outcome_.failure.empty(); ++now_) {
        if (!plan_.left_out.contains(now_)) step(now_);
    }
    return outcome_;
}

void Oracle::note(std::string text) {
    if (plan_.verbose) fmt::print("{}: {}\n", now_, text);
    outcome_.last_notes.push_back(fmt::format("{}: {}", now_, text));
    if (outcome_.last_notes.size() > most_notes) outcome_.last_notes.pop_front();
}

void Oracle::fail(std::string what) {
    if (!outcome_.failure.empty()) return;
    outcome_.failure = std::move(what);
    outcome_.failed_step = now_;
}

void Oracle::step(std::uint64_t number) {
    Dice dice(seed_of_step(plan_.seed, number));
    if (dice.percent(55)) change_world(dice);
    if (dice.percent(8)) change_environment(dice);
    if (plan_.has_clock() && dice.percent(40)) pass_time(dice);
    if (dice.percent(2)) use_pack(dice);
    if (dice.percent(8)) start_process(dice.below(slots), dice);
    if (dice.percent(8)) wait_for_tick();
    Project& project = projects_[dice.below(projects)];
    if (dice.percent(20)) change_project(project, dice);
    // The same head with another rest: what a precompiled header is for.
    if (plan_.precompiles && dice.percent(60)) change_tail(project, dice);
    Process& process = processes_[dice.below(slots)];
    const bool disturb = dice.percent(30);
    ask(project, process, dice, disturb);
    if (disturb || dice.percent(25)) {
        ask(project, processes_[dice.below(slots)], dice, false);
    }
}

void Oracle::start_process(std::size_t slot, Dice& dice) {
    Process& process = processes_[slot];
    process.cache = dice.below(caches);
    CacheOptions options;
    options.folder = cache_folder(process.cache);
    auto backend = make_backend(plan_, world_, options.folder);
    process.fake = dynamic_cast<FakeNvrtc*>(backend.get());
    process.compiler = std::make_unique<CachedCompiler>(
        std::make_shared<CachedCompiler::State>(std::move(backend), std::move(options)));
    note(fmt::format("starts process {} on cache {}", slot, process.cache));
}

/// Packs one cache folder and unpacks it into the other.
void Oracle::use_pack(Dice& dice) {
    const std::size_t from = dice.below(caches);
    const std::size_t to = (from + 1) % caches;
    const fs::path file = plan_.folder / fmt::format("{}.pack", packs_++);
    auto source = cache::DiskTier::open(cache_folder(from), true, CacheOptions::default_max_bytes);
    auto target = cache::DiskTier::open(cache_folder(to), true, CacheOptions::default_max_bytes);
    if (!source || !target) return fail("a cache folder can't be opened");
    if (const auto packed = cache::pack(**source, file); !packed) {
        return fail("packing: " + packed.error().describe());
    }
    if (const auto unpacked = cache::unpack(**target, file); !unpacked) {
        return fail("unpacking: " + unpacked.error().describe());
    }
    std::error_code ignored;
    fs::remove(file, ignored);
    for (const auto& [request, states] : kept_[from])
        kept_[to][request].insert(states.begin(), states.end());
    note(fmt::format("packs cache {} and unpacks it into {}", from, to));
}

Oracle::Request Oracle::request_of(const Project& project, Dice& dice) const {
    const fs::path tree = world_.root() / world_.trees()[project.tree % world_.trees().size()];
    fs::path working = world_.root() / project.working;
    std::error_code ignored;
    if (!fs::is_directory(working, ignored)) working = world_.root();
    working = fs::canonical(working);
    const auto path = [&](const std::string& name) {
        const fs::path whole = name.empty() ? tree : tree / name;
        if (!project.relative) return whole;
        const auto relative = whole.lexically_relative(working);
        // lexically_relative() resolves "..", which is wrong if the path goes through a link.
        return name.find("..") == std::string::npos ? relative
                                                    : tree.lexically_relative(working) / name;
    };
    Request request{
        project.in_memory ? Source::text(project.text, "k.cu") : Source::file(path(project.place)),
        project.options, working};
    const bool keeps_missing = dice.percent(8);
    for (const auto& folder : project.folders) {
        if (!keeps_missing && !fs::is_directory(tree / folder, ignored)) continue;
        request.options.include_folders.push_back(path(folder));
    }
    return request;
}

Result<CachedImage> Oracle::compile(const Request& request, Process& process, Dice& dice,
                                    bool disturb, bool& is_disturbed) {
    const Arch arch = *Arch::parse("sm_90");
    is_disturbed = false;
    std::thread disturber;
    if (disturb && process.fake != nullptr) {
        process.fake->before_question = [&, left = dice.below(25)]() mutable {
            if (left-- != 0) return;
            is_disturbed = true;
            for (std::size_t count = 1 + dice.below(3); count > 0; --count)
                change_world(dice);
        };
        process.fake->before_mapping = [&] {
            if (dice.percent(50)) return;
            is_disturbed = true;
            change_compiler(dice);
            wait_for_tick();
        };
    } else if (disturb) {
        const auto delay = std::chrono::microseconds(dice.below(15'000));
        is_disturbed = true;
        disturber = std::thread([this, delay, &dice] {
            std::this_thread::sleep_for(delay);
            change_world(dice);
        });
    }
    const CompilerVersions versions = compiler_versions_;
    auto answer = process.compiler->compile(request.source, arch, request.options);
    if (process.fake != nullptr) {
        process.fake->before_question = nullptr;
        process.fake->before_mapping = nullptr;
    }
    if (compiler_versions_ != versions && dice.percent(50)) put_compiler(versions);
    if (disturber.joinable()) disturber.join();
    return answer;
}

Result<Image> Oracle::judge(const Request& request, const FakeNvrtc::Mapped* mapped,
                            CompileFiles& files) {
    if (auto* const fake = dynamic_cast<FakeNvrtc*>(judge_.get()))
        fake->mapped = mapped != nullptr ? *mapped : fake->map();
    // The code at the present time, whether the cache thinks that it depends on it or not.
    files.compiler.give(CompilerTime::real);
    const Arch arch = *Arch::parse("sm_90");
    const CompileControl control;
    return judge_->compile({request.source, arch, request.options},
                           {.files = &files, .control = &control});
}

void Oracle::ask(const Project& project, Process& process, Dice& dice, bool disturb) {
    const Request request = request_of(project, dice);
    fs::current_path(request.working);
    const std::string name = request.to_string();
    ++outcome_.requests;
    bool is_disturbed = false;
    const auto before = precompiled_headers(cache_folder(process.cache));
    const auto answer = compile(request, process, dice, disturb, is_disturbed);
    for (const auto& [header, used] : precompiled_headers(cache_folder(process.cache))) {
        const auto known = before.find(header);
        if (known == before.end())
            ++outcome_.pch_made;
        else if (known->second != used)
            ++outcome_.pch_uses;
    }
    const auto slot = &process - processes_.data();
    note(fmt::format("process {} on cache {} compiles {}: {}", slot, process.cache, name,
                     !answer ? answer.error().message
                             : answer->report.to_string() + " " + answer->report.miss.to_string() +
                                   (answer->report.not_kept.empty()
                                        ? ""
                                        : "; not kept: " + answer->report.not_kept)));
    if (is_disturbed) {
        ++outcome_.changed_during;
        return;
    }

    CompileFiles files;
    const auto* const mapped =
        process.fake != nullptr && process.fake->mapped ? &*process.fake->mapped : nullptr;
    auto judged = judge(request, mapped, files);
    // A process whose compiler has been replaced may also get what new processes make.
    const bool is_replaced = mapped != nullptr && mapped->code != process.fake->map().code;
    if (is_replaced && answer && judged && answer->report.hit() &&
        answer->image->cubin != judged->cubin)
        judged = judge(request, nullptr, files);
    ++outcome_.compared;
    if (!answer || !judged) {
        ++outcome_.failures;
        if (answer)
            return fail("the cache gives code, but it doesn't compile: " + judged.error().message);
        if (judged)
            return fail("the cache gives an error, but it compiles: " + answer.error().message);
        // If there are two errors, either may be reported first.
        if (!request.source.read()) return;
        if (answer.error().code != judged.error().code) {
            fail(fmt::format("the cache says '{}', the compiler '{}'", answer.error().message,
                             judged.error().message));
        }
        return;
    }
    const CompileReport& report = answer->report;
    if (answer->image->cubin != judged->cubin || answer->image->ptx != judged->ptx) {
        return fail(fmt::format("the code is wrong ({}):\n{}\ninstead of\n{}", report.to_string(),
                                answer->image->ptx, judged->ptx));
    }
    if (answer->image->name != request.source.name()) {
        return fail("the image has another name: " + answer->image->name);
    }
    if (report.hit()) ++outcome_.hits;
    if (!report.not_kept.empty()) {
        ++outcome_.not_kept[without_paths(report.not_kept)];
        return;
    }
    if (is_replaced) return;
    auto& states = kept_[process.cache][name];
    const std::string account = account_of(files, request.working) +
                                sha256(request.source.read().value_or("")).to_hex() +
                                (mapped != nullptr ? mapped->code : "");
    if (states.contains(account)) {
        ++outcome_.expected_hits;
        if (!report.hit()) {
            ++outcome_.missed;
            ++outcome_.missed_reasons[report.miss.to_string()];
            note("missed although the inputs are the same: " + report.miss.to_string());
        }
    }
    states.insert(account);
}

std::pair<Outcome, Plan> run_and_shrink(const Plan& plan, int replays) {
    const auto run = [](const Plan& one) {
        std::error_code ignored;
        fs::remove_all(one.folder, ignored);
        fs::create_directories(one.folder);
        return Oracle(one).run();
    };
    Outcome outcome = run(plan);
    Plan smallest = plan;
    if (outcome.failure.empty()) return {outcome, smallest};
    smallest.steps = outcome.failed_step;
    // Leaves out groups of steps that aren't needed to fail; halves the group size each time.
    for (std::uint64_t size = std::max<std::uint64_t>(smallest.steps / 2, 1); size > 0; size /= 2) {
        for (std::uint64_t first = 1; first < smallest.steps; first += size) {
            Plan fewer = smallest;
            for (std::uint64_t step = first; step < std::min(first + size, smallest.steps); ++step)
                fewer.left_out.insert(step);
            if (fewer.left_out.size() == smallest.left_out.size() || replays-- <= 0) continue;
            Outcome again = run(fewer);
            if (again.failure.empty()) continue;
            outcome = std::move(again);
            smallest = std::move(fewer);
        }
    }
    return {outcome, smallest};
}

}  // namespace lode::oracle
