#include "jit/cache/lookup.hpp"

#include "jit/cache/request_key.hpp"

#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

tl::unexpected<CacheMiss> miss(MissReason reason, std::string detail = {}) {
    return tl::unexpected(CacheMiss{reason, std::move(detail)});
}

/// Gives a set that check_headers() accepted the current stamps.
void renew(HeaderSet& fresh, const HeaderCheck& check) {
    for (const auto& [index, stamp, settled] : check.renewed) {
        fresh.headers[index].stamp = stamp;
        fresh.headers[index].settled = settled;
    }
    for (const auto& [index, stamp] : check.renewed_probes)
        fresh.probes[index].file = {stamp.device, stamp.inode, 0, 0, 0};
}

/// A copy of such a set with the current stamps; nullopt if none is new.
std::optional<KnownSet> renewed(const KnownSet& known, const HeaderCheck& check) {
    if (check.renewed.empty() && check.renewed_probes.empty()) return std::nullopt;
    KnownSet fresh = known;
    renew(fresh.set, check);
    return fresh;
}

}  // namespace

tl::expected<Hit, CacheMiss> Lookup::find(const PreparedRequest& request) const {
    // A result that depends only on its key has no manifest.
    if (request.free_of_includes) {
        // Only a missing folder matters, since it is an error.
        HeaderCheck check = check_headers({}, request.folders, storage_.headers);
        if (!check.mismatch.empty())
            return miss(MissReason::dependency_changed, std::move(check.mismatch));
        const Key key = entry_key(request.key, sha256(""));
        if (auto entry = storage_.find_entry(key, Reach::local))
            return Hit{std::move(entry->value), key.digest, entry->tier};
    }
    tl::expected<Hit, CacheMiss> answer = miss(MissReason::never_compiled);
    const auto known = storage_.known_manifest(request);
    if (known) {
        answer = find_in(request, *known);
        if (answer) return answer;
    }
    // Another process may have stored further sets, and each tier may have others.
    storage_.visit_manifests(request, [&](Manifest stored) {
        if (known && stored == *known) return false;
        auto found = find_in(request, stored);
        if (!found) {
            if (answer.error().reason == MissReason::never_compiled) answer = std::move(found);
            return false;
        }
        answer = std::move(found);
        if (!answer->renewed) storage_.keep_in_memory(request, std::move(stored));
        return true;
    });
    return answer;
}

tl::expected<Hit, CacheMiss> Lookup::find_in(const PreparedRequest& request,
                                             const Manifest& manifest) const {
    CacheMiss why{MissReason::never_compiled, {}};
    for (const KnownSet& known : manifest.sets) {
        HeaderCheck check = check_headers(known.set, request.folders, storage_.headers);
        if (!check.mismatch.empty()) {
            if (why.reason == MissReason::never_compiled)
                why = {MissReason::dependency_changed, std::move(check.mismatch)};
            continue;
        }
        const Key key = entry_key(request.key, known.list);
        auto entry = storage_.find_entry(key, Reach::local);
        if (!entry) {
            why = {MissReason::entry_lost, {}};
            continue;
        }
        return Hit{std::move(entry->value), key.digest, entry->tier, renewed(known, check)};
    }
    return tl::unexpected(std::move(why));
}

std::optional<Hit> Lookup::find_remote(const PreparedRequest& request) const {
    if (storage_.remote() == nullptr || !storage_.remote()->is_usable()) return std::nullopt;
    // NVRTC asks for variables even where a source includes nothing, so that there is a manifest.
    auto manifest = storage_.remote_manifest(request);
    if (!manifest && request.free_of_includes) {
        if (!check_headers({}, request.folders, storage_.headers).mismatch.empty())
            return std::nullopt;
        const Key key = entry_key(request.key, sha256(""));
        if (auto entry = storage_.find_entry(key, Reach::everywhere))
            return Hit{std::move(entry->value), key.digest, entry->tier};
    }
    if (!manifest) return std::nullopt;
    for (KnownSet& known : manifest->sets) {
        const HeaderCheck check = check_headers(known.set, request.folders, storage_.headers);
        // A digest of other headers would lead to their entry.
        if (!check.mismatch.empty() || sha256(known.set.key_list()) != known.list) continue;
        const Key key = entry_key(request.key, known.list);
        if (auto entry = storage_.find_entry(key, Reach::everywhere)) {
            renew(known.set, check);
            return Hit{std::move(entry->value), key.digest, entry->tier, std::move(known)};
        }
    }
    return std::nullopt;
}

std::optional<Lookup::Current> Lookup::current_set(
    const PreparedRequest& request, const std::function<bool(const KnownSet&)>& accepts) const {
    const auto find_in = [&](const Manifest& manifest) -> std::optional<Current> {
        for (const auto& known : manifest.sets) {
            if (!accepts(known)) continue;
            HeaderCheck check = check_headers(known.set, request.folders, storage_.headers);
            if (check.mismatch.empty()) return Current{known, std::move(check)};
        }
        return std::nullopt;
    };
    if (const auto known = storage_.known_manifest(request)) {
        if (auto found = find_in(*known)) return found;
    }
    // Another process may have stored further sets, and each tier may have others.
    std::optional<Current> current;
    storage_.visit_manifests(request, [&](const Manifest& stored) {
        current = find_in(stored);
        return current.has_value();
    });
    return current;
}

std::optional<std::vector<std::filesystem::path>> Lookup::headers_of(
    const PreparedRequest& request) const {
    if (request.free_of_includes) return std::vector<std::filesystem::path>();
    const auto current = current_set(request, [](const KnownSet& /*any*/) { return true; });
    if (!current) return std::nullopt;
    std::vector<std::filesystem::path> paths;
    for (const auto& header : current->known.set.headers)
        paths.emplace_back(header.path.resolve(request.folders));
    return paths;
}

bool Lookup::is_current(const PreparedRequest& request, const Digest& key,
                        std::optional<KnownSet>& fresh) const {
    // As in find(): a source without includes may still depend on what the compiler looked up.
    if (request.free_of_includes && entry_key(request.key, sha256("")).digest == key)
        return check_headers({}, request.folders, storage_.headers).mismatch.empty();
    const auto current = current_set(request, [&](const KnownSet& known) {
        return entry_key(request.key, known.list).digest == key;
    });
    if (current) fresh = renewed(current->known, current->check);
    return current.has_value();
}

std::optional<Error> Lookup::find_failure(const PreparedRequest& request) const {
    const Digest key = request.flight_key();
    const auto kept = storage_.failures.get(key);
    if (!kept) return std::nullopt;
    if (!check_headers(kept->headers, request.folders, storage_.headers).mismatch.empty()) {
        storage_.failures.remove(key);
        return std::nullopt;
    }
    return kept->error;
}

}  // namespace LODE_NAMESPACE::cache
