#include "jit/cache/prepared_request.hpp"

#include "base/try.hpp"
#include "jit/headers/include_scan.hpp"

#include <algorithm>
#include <utility>

namespace LODE_NAMESPACE::cache {

Status read_source(CompileRequest& request) {
    if (request.source.is_read()) return {};
    LODE_TRY_ASSIGN(std::string code, request.source.read());
    request.source = request.source.pinned(std::move(code));
    return {};
}

Digest PreparedRequest::flight_key(const CompileLimits& limits) const {
    Hasher hasher;
    hasher.field(key.text).field(request.source.name());
    hasher.field(folders.to_string());
    hasher.field(static_cast<std::uint64_t>(limits.time.count()));
    hasher.field(limits.memory_bytes);
    return hasher.finish();
}

Result<PreparedRequest> prepare(const CompileRequest& request, const KnownCompiler& compiler,
                                const std::optional<Jail>& jail, SourceFiles source_files) {
    PreparedRequest prepared{request, compiler.digest, {}, {}, std::move(source_files), false};
    prepared.folders = search_folders(request, compiler.info().include_folders);
    LODE_TRY_ASSIGN(prepared.key, request_key(request, compiler, prepared.folders));
    if (jail) {
        KeyWriter key(prepared.key.text);
        key.field("jail", "yes").field("jail.bytes", jail->max_read_bytes);
        for (const auto& folder : jail->readable_folders)
            key.field("jail.folder", folder.string());
        prepared.key = key.finish();
    }
    if (const SourceFiles& files = prepared.source_files; !files.empty()) {
        KeyWriter key(prepared.key.text);
        key.field("source_files.source", files.source);
        key.field("source_files.headers", files.headers);
        prepared.key = key.finish();
    }
    prepared.free_of_includes =
        request.options.pre_includes.empty() && is_free_of_includes(request.source.code()) &&
        std::ranges::all_of(request.options.definitions,
                            [](const Definition& definition) {
                                return is_free_of_includes(definition.name) &&
                                       is_free_of_includes(definition.value.value_or(""));
                            }) &&
        std::ranges::all_of(request.name_expressions, is_free_of_includes);
    return prepared;
}

}  // namespace LODE_NAMESPACE::cache
