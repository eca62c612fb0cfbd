// The verbs of `lode cache` for packs: pack, unpack, merge, diff.
#include "base/try.hpp"
#include "tools/lode/cache_command.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/result_file.hpp"

#include <filesystem>
#include <limits>

#include <fmt/format.h>

namespace lode::tool {
namespace {

Answer pack_answer(std::string_view verb, const std::filesystem::path& file,
                   const cache::PackReport& report) {
    Answer answer{
        fmt::format("{} {} and {} {} {} ({}).\n", verb, counted(report.entries, "entry", "entries"),
                    counted(report.manifests, "header record"),
                    verb == "Unpacked" ? "from" : "into", file.string(), bytes_text(report.bytes))};
    const auto add = [&](std::uint64_t count, std::string_view what) {
        if (count > 0) answer.text += fmt::format("{}: {}.\n", what, count);
    };
    add(report.skipped, "Damaged records, left out");
    add(report.untrusted, "Records that no trusted key has signed, left out");
    add(report.unsigned_merges,
        "Manifests that lost their signatures where header sets were merged (`lode cache sign` "
        "signs them)");
    add(report.not_merged,
        "Manifests that replaced others, because merging them needs LODE_CACHE_SIGN_WITH");
    Json left_out = Json::array();
    for (const auto& entry : report.left_out)
        left_out.push_back(entry_json(entry));
    answer.fields = {{"file", file.string()},
                     {"entries", report.entries},
                     {"manifests", report.manifests},
                     {"bytes", report.bytes},
                     {"skipped", report.skipped},
                     {"untrusted", report.untrusted},
                     {"unsigned_merges", report.unsigned_merges},
                     {"not_merged", report.not_merged},
                     {"left_out", std::move(left_out)}};
    return answer;
}

std::uint64_t limit_of(const CacheCommand& command) {
    return command.max_bytes.value_or(std::numeric_limits<std::uint64_t>::max());
}

Answer with_left_out(Answer answer, const CacheCommand& command, const cache::PackReport& report) {
    if (!report.left_out.empty()) answer.failure = left_out_error(report, limit_of(command));
    return answer;
}

/// A pack for each architecture.
Result<Answer> pack_by_arch(const CacheCommand& command, cache::DiskTier& tier,
                            const cache::PackOptions& options) {
    LODE_TRY_ASSIGN(const auto archs, packed_archs(tier));
    Answer all;
    Json packs = Json::array();
    cache::PackReport left_out;
    for (const Arch& arch : archs) {
        const auto file = std::filesystem::path(command.out_dir) / (arch.to_string() + ".pack");
        LODE_TRY_ASSIGN(const auto report, cache::pack(tier, file, arch, options));
        Answer answer = pack_answer("Packed", file, report);
        all.text += answer.text;
        answer.fields["arch"] = arch.to_string();
        packs.push_back(std::move(answer.fields));
        left_out.left_out.insert(left_out.left_out.end(), report.left_out.begin(),
                                 report.left_out.end());
    }
    if (archs.empty()) all.text = "The cache holds no entries; there is nothing to pack.\n";
    all.fields = {{"packs", std::move(packs)}};
    return with_left_out(std::move(all), command, left_out);
}

void add_entries(std::string_view title, const std::vector<cache::PackedEntry>& entries,
                 std::string_view field, Answer& answer) {
    Json list = Json::array();
    for (const auto& entry : entries) {
        answer.text += fmt::format("{} {}\n", title, entry_text(entry));
        list.push_back(entry_json(entry));
    }
    answer.fields[std::string(field)] = std::move(list);
}

}  // namespace

std::string entry_text(const cache::PackedEntry& entry) {
    return fmt::format("{} for {} ({}, {})", entry.source, entry.arch.to_string(),
                       short_key(entry.key), bytes_text(entry.bytes));
}

Json entry_json(const cache::PackedEntry& entry) {
    return {{"source", entry.source},
            {"arch", entry.arch.to_string()},
            {"key", entry.key.to_hex()},
            {"bytes", entry.bytes}};
}

Error left_out_error(const cache::PackReport& report, std::uint64_t max_bytes) {
    std::string names;
    for (const auto& entry : report.left_out)
        names += "\n  " + entry_text(entry);
    return {Errc::file_failed,
            fmt::format("The limit of {} bytes leaves no room for {}:{}", max_bytes,
                        counted(report.left_out.size(), "entry", "entries"), names)};
}

Status check_pack(CacheCommand& command) {
    if (command.output.empty() == command.out_dir.empty()) {
        return fail(Errc::invalid_argument,
                    "Pass --output FILE for one pack, or --out-dir DIR for a pack of each "
                    "architecture.");
    }
    return command.out_dir.empty() ? Status() : check_result_folder(command.out_dir);
}

Result<Answer> pack_cache(const CacheCommand& command) {
    LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::read));
    LODE_TRY_ASSIGN(cache::Trust trust, trust_of(command));
    const cache::PackOptions options{limit_of(command), std::move(trust)};
    if (!command.out_dir.empty()) return pack_by_arch(command, *tier, options);
    LODE_TRY_ASSIGN(const auto report, cache::pack(*tier, command.output, options));
    return with_left_out(pack_answer("Packed", command.output, report), command, report);
}

Result<Answer> unpack_cache(const CacheCommand& command) {
    LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::make));
    LODE_TRY_ASSIGN(const auto trust, trust_of(command));
    LODE_TRY_ASSIGN(const auto report, cache::unpack(*tier, command.pack_file, trust));
    return pack_answer("Unpacked", command.pack_file, report);
}

Result<Answer> merge_cache(const CacheCommand& command) {
    LODE_TRY_ASSIGN(cache::Trust trust, trust_of(command));
    const std::vector<std::filesystem::path> packs(command.packs.begin(), command.packs.end());
    LODE_TRY_ASSIGN(const auto report, cache::merge_packs(packs, command.output,
                                                          {limit_of(command), std::move(trust)}));
    return with_left_out(pack_answer("Merged", command.output, report), command, report);
}

/// Exits with 1 if the two differ, as diff(1) does.
Result<Answer> diff_cache(const CacheCommand& command) {
    const std::string& first = command.packs.at(0);
    const std::string& second = command.packs.at(1);
    LODE_TRY_ASSIGN(const auto difference, cache::compare_packs(first, second));
    Answer answer;
    add_entries(fmt::format("only in {}:", first), difference.only_in_first, "only_in_first",
                answer);
    add_entries(fmt::format("only in {}:", second), difference.only_in_second, "only_in_second",
                answer);
    Json changed = Json::array();
    for (const auto& [entry, parts] : difference.changed) {
        std::string list;
        for (const auto& part : parts)
            list += (list.empty() ? "" : ", ") + part;
        answer.text += fmt::format("differs ({}): {}\n", list, entry_text(entry));
        Json json = entry_json(entry);
        json["parts"] = parts;
        changed.push_back(std::move(json));
    }
    const auto sets = [&](const std::string& place, std::uint64_t count) {
        if (count > 0) {
            answer.text +=
                fmt::format("only in {}: {}\n", place,
                            counted(count, "known state of headers", "known states of headers"));
        }
    };
    sets(first, difference.sets_only_in_first);
    sets(second, difference.sets_only_in_second);
    if (difference.damaged > 0)
        answer.text += fmt::format("damaged: {}\n", counted(difference.damaged, "record"));
    answer.text += fmt::format("the same: {}\n", counted(difference.equal, "entry", "entries"));
    answer.fields["changed"] = std::move(changed);
    answer.fields["sets_only_in_first"] = difference.sets_only_in_first;
    answer.fields["sets_only_in_second"] = difference.sets_only_in_second;
    answer.fields["damaged"] = difference.damaged;
    answer.fields["equal"] = difference.equal;
    if (difference.any()) answer.exit_code = exit_failed;
    return answer;
}

}  // namespace lode::tool
