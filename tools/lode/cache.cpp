// `lode cache`: lists, verifies, explains and cleans the cache. Packs: cache_packs.cpp; signatures:
// cache_keys.cpp.
#include "base/message_text.hpp"
#include "base/try.hpp"
#include "jit/cache/admin.hpp"
#include "jit/remote/traffic_file.hpp"
#include "tools/lode/cache_command.hpp"
#include "tools/lode/command_line.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/input.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/output.hpp"

#include <lode/jit/cache.hpp>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace lode::tool {
namespace {

using cache::RecordKind;
using cache::RecordProperties;

std::string time_text(std::int64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(time));
}

Json properties_json(const RecordProperties& properties) {
    Json json = {{"kind", cache::folder_name(properties.key.kind)},
                 {"key", properties.key.digest.to_hex()},
                 {"bytes", properties.bytes},
                 {"last_use", properties.last_use}};
    if (!properties.problem.empty()) json["problem"] = properties.problem;
    if (properties.key.kind == RecordKind::entry && properties.problem.empty()) {
        json.update({{"source", properties.source},
                     {"arch", properties.arch.to_string()},
                     {"compiler", properties.compiler},
                     {"compile_ms", properties.compile_ms},
                     {"cubin_bytes", properties.cubin_bytes},
                     {"ptx_bytes", properties.ptx_bytes}});
    }
    return json;
}

std::string traffic_text(const cache::RemoteTraffic& traffic) {
    Section section("Remote cache");
    section.row("processes", std::to_string(traffic.processes));
    section.row("hits", std::to_string(traffic.hits));
    section.row("misses", std::to_string(traffic.misses));
    section.row("faults", std::to_string(traffic.faults));
    section.row("writes", fmt::format("{}, {} dropped", traffic.writes, traffic.dropped));
    section.row("read", bytes_text(traffic.bytes_read));
    section.row("written", bytes_text(traffic.bytes_written));
    return section.to_string();
}

Json traffic_json(const cache::RemoteTraffic& traffic) {
    return {{"processes", traffic.processes},   {"hits", traffic.hits},
            {"misses", traffic.misses},         {"faults", traffic.faults},
            {"writes", traffic.writes},         {"dropped", traffic.dropped},
            {"bytes_read", traffic.bytes_read}, {"bytes_written", traffic.bytes_written}};
}

Result<Answer> stats(const CacheCommand& command) {
    LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::read));
    LODE_TRY_ASSIGN(const auto all, inspect(*tier));
    std::map<RecordKind, std::pair<std::uint64_t, std::uint64_t>> kinds;
    std::uint64_t bytes = 0;
    std::uint64_t damaged = 0;
    double compile_ms = 0;
    for (const auto& properties : all) {
        auto& [count, size] = kinds[properties.key.kind];
        ++count;
        size += properties.bytes;
        bytes += properties.bytes;
        damaged += properties.problem.empty() ? 0U : 1U;
        compile_ms += properties.compile_ms;
    }
    Section section("Cache");
    section.row("folder", tier->folder().path().string());
    section.row("size",
                fmt::format("{} of at most {}", bytes_text(bytes), bytes_text(tier->max_bytes())));
    Json json_kinds = Json::object();
    for (const auto& [kind, sums] : kinds) {
        const std::string name(cache::folder_name(kind));
        section.row(name, fmt::format("{}, {}", sums.first, bytes_text(sums.second)));
        json_kinds[name] = {{"count", sums.first}, {"bytes", sums.second}};
    }
    section.row("damaged", std::to_string(damaged));
    section.row("compile time", fmt::format("{:.1f} s", compile_ms / 1e3));
    LODE_TRY_ASSIGN(const auto traffic, cache::read_traffic(tier->folder()));
    Answer answer{section.to_string()};
    if (traffic.processes > 0) answer.text += "\n" + traffic_text(traffic);
    answer.fields = {{"folder", tier->folder().path().string()},
                     {"remote", traffic_json(traffic)},
                     {"bytes", bytes},
                     {"max_bytes", tier->max_bytes()},
                     {"kinds", std::move(json_kinds)},
                     {"damaged", damaged},
                     {"compile_ms", compile_ms}};
    return answer;
}

Result<Answer> list(const CacheCommand& command) {
    LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::read));
    LODE_TRY_ASSIGN(const auto all, inspect(*tier));
    Table table({{"key"}, {"source"}, {"target"}, {"size", Align::right}, {"last use"}});
    Json entries = Json::array();
    for (const auto& properties : all) {
        if (properties.key.kind != RecordKind::entry) continue;
        const bool sound = properties.problem.empty();
        table.row({short_key(properties.key.digest), sound ? properties.source : "(damaged)",
                   sound ? properties.arch.to_string() : "", bytes_text(properties.bytes),
                   time_text(properties.last_use)});
        entries.push_back(properties_json(properties));
    }
    Answer answer{entries.empty() ? "The cache holds no entries.\n" : table.to_string()};
    answer.fields = {{"entries", std::move(entries)}};
    return answer;
}

Result<Answer> show(const CacheCommand& command) {
    LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::read));
    LODE_TRY_ASSIGN(const auto properties, inspect_one(*tier, command.key));
    Section section(properties.key.digest.to_hex());
    if (!properties.problem.empty()) section.row("problem", properties.problem);
    section.row("source", properties.source);
    section.row("target", properties.arch.to_string());
    section.row("compiler", properties.compiler);
    section.row("compiled in", fmt::format("{:.1f} ms", properties.compile_ms));
    section.row("cubin", bytes_text(properties.cubin_bytes));
    section.row("ptx", bytes_text(properties.ptx_bytes));
    section.row("file", bytes_text(properties.bytes));
    section.row("last use", time_text(properties.last_use));
    Answer answer{section.to_string() + "\n" + properties.key_text + "\n" + properties.header_list};
    answer.fields = properties_json(properties);
    answer.fields["key_text"] = properties.key_text;
    answer.fields["headers"] = properties.header_list;
    return answer;
}

Status check_verify(CacheCommand& command) {
    if (command.check_trust && command.repair) {
        return fail(Errc::invalid_argument,
                    "--repair removes damaged records, and --trust checks signatures. Verify twice "
                    "for both.");
    }
    if (command.check_trust) return {};
    if (!command.pack_file.empty()) {
        return fail(Errc::invalid_argument,
                    "A pack is verified as a whole when it is read; with --trust, its records are "
                    "too.");
    }
    if (!command.trusted.empty())
        return fail(Errc::invalid_argument, "--keys needs --trust, which checks signatures.");
    return {};
}

/// Fails if an entry is damaged, so that scripts notice.
Result<Answer> verify(const CacheCommand& command) {
    if (command.check_trust) return verify_trust(command);
    LODE_TRY_ASSIGN(const auto tier,
                    open_cache(command, command.repair ? Access::change : Access::read));
    LODE_TRY_ASSIGN(const auto all, inspect(*tier));
    Answer answer;
    Json damaged = Json::array();
    std::vector<std::string> list;
    for (const auto& properties : all) {
        if (properties.problem.empty()) continue;
        damaged.push_back(properties_json(properties));
        list.push_back(fmt::format("{}/{}: {}", cache::folder_name(properties.key.kind),
                                   properties.key.digest.to_hex(), properties.problem));
        if (command.repair) LODE_TRY(tier->remove(properties.key, nullptr));
    }
    if (!damaged.empty() && !command.repair) {
        return fail(
            Errc::invalid_image,
            fmt::format("{} of {} records are damaged; --repair removes them.\n{}", damaged.size(),
                        all.size(), listed(list, {"\n", search_form.entries, search_form.length})));
    }
    for (const auto& line : list)
        answer.text += line + "\n";
    answer.text +=
        fmt::format("{} of {} records are intact.\n", all.size() - damaged.size(), all.size());
    answer.fields = {{"records", all.size()}, {"removed", std::move(damaged)}};
    return answer;
}

Result<Answer> gc(const CacheCommand& command) {
    LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::change));
    LODE_TRY_ASSIGN(const auto report, tier->sweep(tier->max_bytes()));
    if (!report) return Answer{"Another process is cleaning this cache.\n"};
    Answer answer{fmt::format("Removed {} of {} records ({} of {}) and {} temporary files.\n",
                              report->removed_records, report->records,
                              bytes_text(report->removed_bytes), bytes_text(report->bytes),
                              report->removed_temporaries)};
    answer.fields = {{"records", report->records},
                     {"bytes", report->bytes},
                     {"removed_records", report->removed_records},
                     {"removed_bytes", report->removed_bytes},
                     {"removed_temporaries", report->removed_temporaries}};
    return answer;
}

Result<Answer> clear(const CacheCommand& command) {
    LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::change));
    LODE_TRY(tier->clear());
    Answer answer{fmt::format("The cache in {} is empty.\n", tier->folder().path().string())};
    answer.fields = {{"folder", tier->folder().path().string()}};
    return answer;
}

Status check_why(CacheCommand& command) {
    LODE_TRY(check_options(command.source, command.flags));
    LODE_TRY_ASSIGN(command.options, to_compile_options(command.flags));
    LODE_TRY_ASSIGN(command.target,
                    read_arch(command.arch, language_of(command.source, command.flags.llvm_ir)));
    return {};
}

Result<Answer> why(const CacheCommand& command) {
    LODE_TRY_ASSIGN(CacheOptions options, options_of(command));
    options.mode = CacheMode::read_only;
    LODE_TRY_ASSIGN(const auto arch, command.target());
    const CachedCompiler compiler({}, options);
    const auto language = language_of(command.source, command.flags.llvm_ir);
    Source source = Source::file(command.source, language);
    if (command.embedded) {
        LODE_TRY_ASSIGN(std::string code, source.read());
        auto name = std::filesystem::path(command.source).filename().string();
        source = Source::of(language, std::move(code), std::move(name));
    }
    LODE_TRY_ASSIGN(const auto explanation,
                    compiler.explain(source, arch, command.options, command.name_expressions));
    Answer answer;
    Json differences = Json::array();
    if (!explanation.tier.empty()) {
        answer.text = fmt::format("{} for {} is a hit ({}): entry {}.\n", command.source,
                                  arch.to_string(), explanation.tier, short_key(explanation.key));
    } else {
        answer.text = fmt::format("{} for {} is a miss: {}.\n", command.source, arch.to_string(),
                                  explanation.miss.to_string());
        Table table({{"field"}, {"this request"}, {"nearest entry"}});
        for (const auto& difference : explanation.differences) {
            table.row(
                {difference.field, shortened(difference.wanted), shortened(difference.nearest)});
            differences.push_back({{"field", difference.field},
                                   {"wanted", difference.wanted},
                                   {"nearest", difference.nearest}});
        }
        if (!explanation.differences.empty()) answer.text += table.to_string();
        if (std::ranges::count(explanation.differences, "source.kind",
                               &CacheExplanation::Difference::field) > 0) {
            answer.text += command.embedded
                               ? "The nearest entry is of a file: leave out --embedded for it.\n"
                               : "The nearest entry is of code in memory: --embedded asks for what "
                                 "lode_embed_kernels puts into a program.\n";
        }
    }
    answer.fields = {
        {"hit", !explanation.tier.empty()},       {"tier", explanation.tier},
        {"reason", explanation.miss.to_string()}, {"key", explanation.key.to_hex()},
        {"nearest", explanation.nearest},         {"differences", std::move(differences)}};
    return answer;
}

/// Adds an argument that names files to read.
template <class Value>
CLI::Option* add_input(Command& command, CLI::App* sub, const char* name, Value& value,
                       const char* meaning) {
    auto* option = sub->add_option(name, value, meaning)->type_name("");
    command.inputs.push_back(option);
    return option;
}

/// The verbs for packs.
void declare_packs(const std::shared_ptr<CacheCommand>& values, Command& command, CLI::App* pack,
                   CLI::App* unpack, CLI::App* merge, CLI::App* diff) {
    add_input(command, unpack, "FILE", values->pack_file, "The pack")->required();
    add_input(command, merge, "PACK", values->packs, "The packs, the most important first")
        ->required();
    add_input(command, diff, "PACK", values->packs, "Two packs, or folders of caches")
        ->required()
        ->expected(2);
    for (auto* sub : {pack, merge}) {
        command.results.push_back(
            sub->add_option("-o,--output", values->output, "The pack to write")
                ->type_name("FILE")
                ->required(sub == merge));
        sub->add_option("--max-size", values->max_bytes,
                        "The largest size of a pack, e.g. 64MB. What doesn't fit is left out and "
                        "named, and the exit code is 1")
            ->transform(byte_count())
            ->type_name("N");
    }
    pack->add_option("--out-dir", values->out_dir,
                     "Write a pack for each architecture to this folder: ARCH.pack")
        ->type_name("DIR");
}

/// The verbs for signatures.
void declare_signatures(const std::shared_ptr<CacheCommand>& values, Command& command,
                        CLI::App* keygen, CLI::App* sign, CLI::App* verify) {
    command.results.push_back(
        keygen
            ->add_option("FILE", values->key_file,
                         "A new file for the secret key; FILE.pub gets the public key")
            ->required()
            ->type_name(""));
    add_input(command, sign, "PACK", values->pack_file, "A pack. Default: the cache's folder");
    sign->add_option("--key", values->key_file, "The secret key. Default: LODE_CACHE_SIGN_WITH")
        ->type_name("FILE");
    add_input(command, verify, "PACK", values->pack_file,
              "With --trust: a pack. Default: the cache's folder");
    verify->add_flag("--trust", values->check_trust,
                     "Also check that a trusted key has signed every record");
    verify
        ->add_option("--keys", values->trusted,
                     "With --trust: files or folders of trusted keys. Default: LODE_CACHE_KEYS")
        ->allow_extra_args(false)
        ->type_name("PATH");
}

}  // namespace

Result<CacheOptions> options_of(const CacheCommand& command) {
    LODE_TRY_ASSIGN(CacheOptions options, CacheOptions::from_environment());
    if (!command.folder.empty()) options.folder = command.folder;
    options.log = warning_log();
    if (options.folder.empty()) {
        return fail(Errc::invalid_argument,
                    "There is no cache folder: pass --folder, or set LODE_CACHE_DIR, or HOME to a "
                    "folder that exists.");
    }
    return options;
}

Result<std::unique_ptr<cache::DiskTier>> open_cache(const CacheCommand& command, Access access) {
    LODE_TRY_ASSIGN(const auto options, options_of(command));
    if (access != Access::make && !command.folder.empty()) {
        const std::filesystem::path folder = command.folder;
        std::error_code unknown;
        const auto refuse = [&](std::string_view why) {
            return fail(Errc::not_found, fmt::format("--folder is '{}', {}.", command.folder, why));
        };
        if (!std::filesystem::exists(folder, unknown)) return refuse("which doesn't exist");
        if (!std::filesystem::is_directory(folder, unknown)) return refuse("which isn't a folder");
        if (access == Access::change &&
            !std::filesystem::exists(folder / cache::version_folder, unknown))
            return refuse("which has no cache of this version of lode");
    }
    return cache::DiskTier::open(options.folder, access != Access::read,
                                 command.max_bytes.value_or(options.max_bytes));
}

std::string short_key(const Digest& key) {
    constexpr std::size_t digits = 12;
    return key.to_hex().substr(0, digits);
}

Command declare_cache(CLI::App& app) {
    auto* command =
        app.add_subcommand("cache", "Inspect, clean and pack the cache; explain its misses");
    const auto values = std::make_shared<CacheCommand>();
    struct Verb {
        Result<Answer> (*work)(const CacheCommand&) = nullptr;
        Status (*check)(CacheCommand&) = nullptr;
    };
    const auto chosen = std::make_shared<Verb>();
    Command declared{command, [values, chosen]() -> Result<Work> {
                         if (chosen->check != nullptr) LODE_TRY(chosen->check(*values));
                         return [values, chosen] { return chosen->work(*values); };
                     }};
    command->require_subcommand(1);
    command->add_option("--folder", values->folder, "The cache's folder. Default: lode's own")
        ->type_name("DIR");
    const auto verb = [&](const char* name, const char* meaning,
                          Result<Answer> (*work)(const CacheCommand&),
                          Status (*checks)(CacheCommand&) = nullptr) {
        auto* sub = command->add_subcommand(name, meaning);
        sub->fallthrough();
        sub->callback([chosen, work, checks] { *chosen = {work, checks}; });
        return sub;
    };
    verb("stats", "Number and size of the records; the traffic with the remote cache", stats);
    verb("list", "Every entry, the most recently used first", list);
    verb("show", "One entry: its properties, key and headers", show)
        ->add_option("KEY", values->key,
                     "The first digits of its key, or of the key that a message names")
        ->required()
        ->type_name("");
    auto* check =
        verb("verify", "Check every record; exit 1 when one is damaged", verify, check_verify);
    check->add_flag("--repair", values->repair, "Remove damaged records");
    verb("gc", "Remove stale temporary files, and old entries beyond the size limit", gc)
        ->add_option("--max-bytes", values->max_bytes,
                     "The size limit, e.g. 1GB. Default: lode's own")
        ->transform(byte_count())
        ->type_name("N");
    verb("clear", "Remove everything", clear);
    auto* pack = verb("pack",
                      "Write every intact entry to one file, or one for each "
                      "architecture",
                      pack_cache, check_pack);
    auto* unpack = verb("unpack", "Put a pack's entries into the cache", unpack_cache);
    auto* merge = verb("merge", "Make one pack of several", merge_cache);
    auto* diff = verb("diff", "Compare two packs; exit 1 when they differ", diff_cache);
    declare_packs(values, declared, pack, unpack, merge, diff);
    auto* keygen = verb("keygen", "Make a key that signs entries", make_key);
    auto* sign = verb("sign", "Sign every intact entry of the cache or of a pack", sign_cache);
    declare_signatures(values, declared, keygen, sign, check);
    auto* ask = verb("why", "Why a compilation would hit or miss", why, check_why);
    add_input(declared, ask, "FILE", values->source, "The source file")->required();
    ask->add_option("--arch", values->arch,
                    "The target, e.g. sm_90a. Default: native, the visible device's")
        ->type_name("ARCH");
    ask->add_flag("--embedded", values->embedded,
                  "The program holds the file's code, as lode_embed_kernels embeds it");
    ask->add_option("--name", values->name_expressions, "A name expression of the compilation")
        ->allow_extra_args(false)
        ->type_name("EXPR");
    declare_compile_flags(*ask, values->flags);
    return declared;
}

}  // namespace lode::tool
