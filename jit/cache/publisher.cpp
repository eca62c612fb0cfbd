#include "jit/cache/publisher.hpp"

#include "jit/cache/request_key.hpp"
#include "jit/headers/collect.hpp"
#include "jit/store/entry_format.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

CollectedHeaders collect(const PreparedRequest& request, const CompileFiles& files,
                         const Image* image, HeaderStore& headers) {
    std::error_code ignored;
    if (std::filesystem::current_path(ignored) != request.folders.working) {
        return {{}, "the working directory has changed since the request"};
    }
    // NVIDIA's compilers always ask for something.
    const bool is_llvm = request.request.source.language() == Source::Language::llvm_ir;
    if (files.is_watched && (is_llvm || files.compiler.questions() > 0)) {
        return collect_headers(request.request, request.folders, files, image, headers);
    }
    return {{}, "lode can't see what this compiler reads"};
}

}  // namespace

Published Publisher::publish(const PreparedRequest& request, const CompileFiles& files,
                             const std::shared_ptr<const Image>& image, double compile_ms) const {
    CollectedHeaders headers = collect(request, files, image.get(), storage_.headers);
    if (!headers.obstacle.empty()) return {{}, std::move(headers.obstacle)};
    return publish(request, std::move(headers.set), {image, compile_ms});
}

Published Publisher::publish(const PreparedRequest& request, HeaderSet headers,
                             const KeptImage& kept) const {
    const std::string list = headers.key_list();
    const Digest list_digest = sha256(list);
    const Key key = entry_key(request.key, list_digest);
    Entry made{key.text, list, kept.compile_ms, *kept.image};
    if (kept.answer) made.answer = *kept.answer;
    const Bytes bytes = format_entry(made);
    // An entry that wouldn't verify when it is read isn't kept.
    if (const auto again = parse_entry(bytes); !again) return {key.digest, again.error().message};
    storage_.keep_in_memory(key.digest, kept);
    const RecordKey entry{RecordKind::entry, key.digest};
    auto stored = storage_.store(entry, bytes);
    // A request that depends only on its key needs no manifest.
    if (!request.free_of_includes || !headers.is_empty()) {
        if (storage_.remote() != nullptr && stored) {
            Manifest shared{request.key.text, {}};
            shared.add(KnownSet{headers, list_digest});
            shared.forget_stamps();
            storage_.share({RecordKind::manifest, request.key.digest}, format_manifest(shared),
                           {entry, *std::move(stored)});
        }
        publish_headers(request, {std::move(headers), list_digest});
    }
    return {key.digest, {}};
}

Published Publisher::publish(const Key& key, const std::shared_ptr<const Image>& image,
                             double compile_ms) const {
    const Bytes bytes = format_entry(Entry{key.text, {}, compile_ms, *image});
    if (const auto again = parse_entry(bytes); !again) return {key.digest, again.error().message};
    storage_.keep_in_memory(key.digest, {image, compile_ms});
    storage_.store({RecordKind::entry, key.digest}, bytes);
    return {key.digest, {}};
}

void Publisher::publish_failure(const PreparedRequest& request, const CompileFiles& files,
                                const Error& error) const {
    if (error.code != Errc::compile_failed) return;
    CollectedHeaders headers = collect(request, files, nullptr, storage_.headers);
    if (!headers.obstacle.empty()) return;
    const std::size_t bytes = sizeof(KeptFailure) + error.message.size() + error.log.size() +
                              headers.set.approximate_bytes();
    storage_.failures.put(
        request.flight_key(),
        std::make_shared<const KeptFailure>(KeptFailure{error, std::move(headers.set)}), bytes);
}

void Publisher::publish_headers(const PreparedRequest& request, KnownSet known, When when) const {
    Manifest manifest{request.key.text, {}};
    if (const auto kept = storage_.known_manifest(request)) manifest = *kept;
    // A set that another process adds between this read and the put is lost; its request is
    // compiled once more.
    if (auto stored = storage_.stored_manifest(request)) manifest = *std::move(stored);
    manifest.add(std::move(known));
    auto kept = storage_.keep_in_memory(request, std::move(manifest));
    if (when == When::later) return storage_.write_later(request, std::move(kept));
    storage_.tiers().put({RecordKind::manifest, request.key.digest}, format_manifest(*kept));
}

void Publisher::withdraw(const CompileReport& report) const {
    if (report.key == Digest{}) return;
    ++storage_.counters.repairs;
    storage_.options().log.write(LogLevel::warning,
                                 fmt::format("The cache drops '{}' for {}: the driver refuses it.",
                                             report.source, report.arch.to_string()));
    storage_.images.remove(report.key);
    storage_.remove({RecordKind::entry, report.key});
}

}  // namespace LODE_NAMESPACE::cache
