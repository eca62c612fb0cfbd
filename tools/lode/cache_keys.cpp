// The verbs of `lode cache` for signatures: keygen, sign, verify --trust.
#include "base/file.hpp"
#include "base/message_text.hpp"
#include "base/try.hpp"
#include "jit/store/key_files.hpp"
#include "tools/lode/cache_command.hpp"
#include "tools/lode/layout.hpp"

#include <fmt/format.h>

namespace lode::tool {

Result<cache::Trust> trust_of(const CacheCommand& command) {
    LODE_TRY_ASSIGN(CacheOptions options, CacheOptions::from_environment());
    if (!command.trusted.empty())
        options.keys.assign(command.trusted.begin(), command.trusted.end());
    std::optional<Error> problem;
    cache::Trust trust = cache::Trust::read(options, problem);
    if (problem) return tl::unexpected<Error>(*std::move(problem));
    return trust;
}

Result<Answer> make_key(const CacheCommand& command) {
    const auto folder = std::filesystem::path(command.key_file).parent_path();
    if (const int problem = folder.empty() ? 0 : make_folders(folder); problem != 0)
        return fail_from_errno("Making the folder of a key", folder, problem);
    LODE_TRY_ASSIGN(const auto key, cache::SecretKey::generate());
    LODE_TRY(cache::write_key_pair(command.key_file, key));
    const std::string id = key.public_key().id().to_hex();
    Answer answer{fmt::format("The key {} is in {}, its public key in {}.pub.\n", id,
                              command.key_file, command.key_file)};
    answer.fields = {
        {"key_id", id}, {"secret", command.key_file}, {"public", command.key_file + ".pub"}};
    return answer;
}

Result<Answer> sign_cache(const CacheCommand& command) {
    LODE_TRY_ASSIGN(const CacheOptions options, CacheOptions::from_environment());
    const std::filesystem::path file =
        command.key_file.empty() ? options.sign_with : std::filesystem::path(command.key_file);
    if (file.empty()) {
        return fail(Errc::invalid_argument,
                    "There is no key to sign with: pass --key, or set LODE_CACHE_SIGN_WITH.");
    }
    LODE_TRY_ASSIGN(const auto key, cache::read_secret_key(file));
    cache::SignReport report;
    std::string place = command.pack_file;
    if (place.empty()) {
        LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::change));
        place = tier->folder().path().string();
        LODE_TRY_ASSIGN(report, cache::sign_records(*tier, key));
    } else {
        LODE_TRY_ASSIGN(report, cache::sign_records(place, key));
    }
    const std::string id = key.public_key().id().to_hex();
    Answer answer{fmt::format(
        "The key {} has signed {} of {}{}.\n", id, counted(report.records, "record"), place,
        report.skipped == 0 ? ""
                            : fmt::format(", and none of {} that are damaged", report.skipped))};
    answer.fields = {
        {"key_id", id}, {"place", place}, {"records", report.records}, {"skipped", report.skipped}};
    return answer;
}

/// Fails if a record wouldn't be taken, so that scripts notice.
Result<Answer> verify_trust(const CacheCommand& command) {
    CacheOptions options;
    options.trust = CacheTrust::signed_only;
    LODE_TRY_ASSIGN(const CacheOptions from_environment, CacheOptions::from_environment());
    options.keys = from_environment.keys;
    options.sign_with = from_environment.sign_with;
    if (!command.trusted.empty())
        options.keys.assign(command.trusted.begin(), command.trusted.end());
    std::optional<Error> problem;
    const cache::Trust trust = cache::Trust::read(options, problem);
    if (problem) return tl::unexpected<Error>(*std::move(problem));
    std::string place = command.pack_file;
    if (place.empty()) {
        LODE_TRY_ASSIGN(const auto tier, open_cache(command, Access::read));
        place = tier->folder().path().string();
    }
    LODE_TRY_ASSIGN(const auto report, cache::check_trust(place, trust));
    Answer answer;
    Json refused = Json::array();
    std::vector<std::string> list;
    for (const auto& [key, reason] : report.refused) {
        const auto kind = cache::folder_name(key.kind);
        list.push_back(fmt::format("{}/{}: {}", kind, key.digest.to_hex(), reason));
        refused.push_back({{"kind", kind}, {"key", key.digest.to_hex()}, {"reason", reason}});
    }
    answer.text = fmt::format("A trusted key has signed {} of {} records of {}.\n",
                              report.records - report.refused.size(), report.records, place);
    answer.fields = {{"place", place}, {"records", report.records}, {"refused", refused}};
    if (!report.refused.empty()) {
        answer.failure =
            Error{Errc::invalid_image,
                  fmt::format("{} of {} records wouldn't be used:\n  {}", report.refused.size(),
                              report.records, listed(list, search_form))};
    }
    return answer;
}

}  // namespace lode::tool
