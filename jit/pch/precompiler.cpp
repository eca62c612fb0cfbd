#include "jit/pch/precompiler.hpp"

#include "base/os/file.hpp"
#include "base/try.hpp"
#include "jit/pch/header_size.hpp"
#include "jit/request/text_words.hpp"
#include "jit/store/sealed_file.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::pch {
namespace {

/// Programs such as CuPy compile each source in a new temporary folder, where nothing uses it
/// again.
constexpr std::size_t most_unused = 2;

using cache::Key;
using cache::KeyLock;
using Clock = std::chrono::steady_clock;

/// Flags that read or write other files, or that the user has for precompiled headers.
constexpr std::string_view foreign_flags[] = {"pch",          "create-pch", "use-pch",    "optf",
                                              "options-file", "time",       "pre-include"};
constexpr std::string_view pre_include = "include";  // Not include-path.

bool has_foreign_flag(std::span<const std::string> flags) {
    return std::ranges::any_of(flags, [](std::string_view flag) {
        flag.remove_prefix(std::min(flag.find_first_not_of('-'), flag.size()));
        return flag.substr(0, flag.find('=')) == pre_include ||
               std::ranges::any_of(foreign_flags,
                                   [&](auto prefix) { return flag.starts_with(prefix); });
    });
}

/// The state of a file without opening it.
std::string state_of(const std::filesystem::path& path) {
    const auto stamp = stamp_of(path).value_or(FileStamp{});
    return fmt::format("{} {} {} {}", path.string(), stamp.size, stamp.modified_ns,
                       stamp.changed_ns);
}

std::string identity_of(const NvrtcLibrary& nvrtc) {
    const auto companion =
        fmt::format("libnvrtc-builtins.so.{}.{}", nvrtc.version_major(), nvrtc.version_minor());
    return fmt::format("{}\n{}", state_of(nvrtc.path()),
                       state_of(nvrtc.path().parent_path() / companion));
}

/// Removes the line in which NVRTC says what it did with the file; returns where it was.
std::size_t take_line(std::string& log, const PchPlan& plan) {
    const auto line = fmt::format("\": {} precompiled header file \"{}\"\n",
                                  plan.is_new ? "creating" : "using", plan.file.path);
    const auto at = log.find(line);
    if (at == std::string::npos) return at;
    const auto start = at == 0 ? at : log.rfind('\n', at - 1) + 1;
    log.erase(start, at + line.size() - start);
    return start;
}

}  // namespace

Precompiler::Precompiler(const NvrtcLibrary& nvrtc)
    : nvrtc_(nvrtc),
      addresses_(has_fixed_addresses() && nvrtc.watches_files() ? place_pch_heap(nvrtc)
                                                                : std::nullopt),
      library_(identity_of(nvrtc)) {}

Key Precompiler::key_of(const Question& question) const {
    std::error_code ignored;
    cache::KeyWriter key;
    key.field("format", cache::format_version).field("lode", LODE_VERSION);
    key.field("compiler", library_);
    key.field("address.heap", addresses_->heap).field("address.size", addresses_->heap_bytes);
    key.field("address.compiler", addresses_->library);
    // NVRTC compares them too, and refuses the file if they differ.
    key.field("folder.working", std::filesystem::current_path(ignored).string());
    key.field("folder.source", question.folder);
    for (const auto& flag : question.flags)
        key.field("flag", flag);
    for (const auto& header : question.headers) {
        key.field("header.name", header.name);
        key.field("header.sha256", sha256(std::string_view(header.text)).to_hex());
    }
    key.field("prefix", question.prefix);
    return key.finish();
}

std::vector<std::string> PchPlan::flags() const {
    return {(is_new ? "--create-pch=" : "--use-pch=") + file.path,
            // Otherwise templates are instantiated in another order, and the code isn't the same.
            "--instantiate-templates-in-pch=false",
            // It warns of #line even after the head.
            "--diag-suppress=20283"};
}

std::string head_end(std::string_view name, std::ptrdiff_t line) {
    return fmt::format("#pragma nv_hdrstop\n#line {} \"{}\"\n", line, name);
}

std::optional<PchPlan> Precompiler::prepare(const Question& question, const Settings& settings) {
    // Names are written as they are, into a #line directive.
    if (!addresses_ || settings.folder.empty() || settings.max_bytes == 0 ||
        question.prefix.empty() || question.name.find_first_of("\n\r\"\\") != std::string::npos ||
        has_foreign_flag(question.flags))
        return std::nullopt;
    const Key key = key_of(question);
    if (refused_.contains(key.digest)) return std::nullopt;
    const auto store = PchStore::open(settings);
    if (!store) return std::nullopt;
    if (settings.is_suspect) {
        store->remove(key);
        store->refuse(key);
        return std::nullopt;
    }
    auto found = store->find(key);
    if (found.header) {
        if (auto plan = use(key, *std::move(found.header))) {
            unused_.erase(sha256(question.prefix));
            return plan;
        }
    }
    if (!store->is_writable() || found.is_refused) return std::nullopt;
    std::size_t& unused = unused_[sha256(question.prefix)];
    if (unused >= most_unused) return std::nullopt;
    const auto bytes = estimate_header_bytes(
        question.prefix, {question.folder, question.headers, question.include_folders},
        settings.least_header_bytes);
    if (bytes < settings.least_header_bytes) return std::nullopt;
    auto plan = make(question, *store, key);
    if (plan && plan->is_new) ++unused;
    return plan;
}

std::optional<PchPlan> Precompiler::use(const Key& key, StoredHeader stored) {
    PchPlan plan;
    plan.key = key;
    plan.open_file = std::move(stored.file);
    if (!stored.record.conditions.hold(plan.accesses)) return std::nullopt;
    // What was verified is what NVRTC opens, whatever happens to the name.
    plan.file.path = os::path_of(plan.open_file.get()).string();
    return plan;
}

std::optional<PchPlan> Precompiler::make(const Question& question, const PchStore& store,
                                         const Key& key) {
    constexpr std::chrono::milliseconds pause{5};
    constexpr std::chrono::seconds longest_wait{30};
    PchPlan plan;
    plan.key = key;
    plan.is_new = true;
    plan.program = question.program;
    plan.lock = store.lock(key);
    const auto deadline = Clock::now() + longest_wait;
    for (bool waited = false;; waited = true) {
        const auto outcome = plan.lock->attempt();
        if (outcome == KeyLock::Outcome::failed) return std::nullopt;
        if (outcome == KeyLock::Outcome::taken) {
            if (!waited) break;
            // The previous holder may have made it.
            auto found = store.find(key);
            if (found.is_refused) return std::nullopt;
            if (found.header) return use(key, *std::move(found.header));
            break;
        }
        if (Clock::now() >= deadline) return std::nullopt;
        std::this_thread::sleep_for(pause);
    }
    auto temporary = store.make_temporary();
    if (!temporary) return std::nullopt;
    plan.temporary = *std::move(temporary);
    plan.file.path = store.path_of(plan.temporary).string();
    return plan;
}

bool Precompiler::accept(const PchPlan& plan, const Settings& settings, std::string& log) {
    const auto at = take_line(log, plan);
    const bool is_said = at != std::string::npos;
    const bool is_fine = plan.is_new ? at == 0 && keep(plan, settings) : is_said;
    if (!is_fine) refuse(plan, settings);
    return is_said;
}

Status Precompiler::keep(const PchPlan& plan, const Settings& settings) const {
    if (!plan.file.head || pch_heap_is_elsewhere())
        return fail(Errc::not_supported, "The precompiled header is of no use to others.");
    LODE_TRY_ASSIGN(auto conditions, conditions_of(plan, settings.least_header_bytes));
    LODE_TRY_ASSIGN(const auto store, PchStore::open(settings));
    return store.publish(plan.key, plan.temporary, std::move(conditions));
}

Result<Conditions> Precompiler::conditions_of(const PchPlan& plan,
                                              std::uint64_t least_header_bytes) const {
    const FileAccesses accesses(plan.file.head.value_or(FileRecord{}));
    std::uint64_t bytes = 0;
    WordPieces pieces;
    if (!accesses.calculations().empty())
        return fail(Errc::not_supported, "It calculates constants with the C library.");
    for (const auto& [name, answer] : accesses.answers()) {
        if (answer.content == nullptr) continue;
        bytes += answer.content->text.size();
        const bool is_toolkit =
            std::ranges::any_of(nvrtc_.include_folders(), [&, &name = name](const auto& folder) {
                return name.starts_with(folder.string() + "/");
            });
        if (!is_toolkit) pieces.add_code(answer.content->text);
    }
    // Such a compilation is repeated without (compile.cpp).
    if (pieces.can_form_any(time_words) || pieces.can_form_any(source_words))
        return fail(Errc::not_supported, "It depends on the time, or on the source's name.");
    if (bytes < least_header_bytes) return fail(Errc::not_supported, "The headers are small.");
    return Conditions::of(accesses, plan.program);
}

void Precompiler::refuse(const PchPlan& plan, const Settings& settings) {
    refused_.insert(plan.key.digest);
    const auto store = PchStore::open(settings);
    if (!store || !store->is_writable()) return;
    if (plan.is_new) {
        store->discard(plan.temporary);
        store->refuse(plan.key);
    } else {
        store->remove(plan.key);
    }
}

}  // namespace LODE_NAMESPACE::pch
