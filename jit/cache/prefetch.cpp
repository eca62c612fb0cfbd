// CachedCompiler::prefetch: many requests from the remote cache at once.
#include "base/process_end.hpp"
#include "jit/cache/state.hpp"

#include <algorithm>

namespace LODE_NAMESPACE {

PrefetchReport CachedCompiler::prefetch(std::span<const CompileRequest> requests) const {
    return state_->prefetch(requests);
}

PrefetchReport CachedCompiler::State::prefetch(std::span<const CompileRequest> requests) {
    using cache::RecordKey;
    using cache::RecordKind;
    // What is read ahead lies in memory until it is asked for.
    constexpr std::size_t at_once = 64;
    PrefetchReport report;
    report.requests = requests.size();
    const ProcessUse use;
    if (!use) return report;
    for (; !requests.empty(); requests = requests.subspan(std::min(requests.size(), at_once))) {
        std::vector<const CompileRequest*> missing;
        std::vector<RecordKey> keys;
        for (const auto& request : requests.first(std::min(requests.size(), at_once))) {
            prepare(request, [&](const PreparedRequest& prepared) {
                CacheMiss ignored;
                if (look_up(prepared, ignored)) {
                    ++report.local;
                    return;
                }
                missing.push_back(&request);
                keys.push_back({RecordKind::manifest, prepared.key.digest});
            });
        }
        if (storage_.remote() == nullptr || missing.empty()) continue;
        storage_.remote()->prefetch(keys);
        for (const CompileRequest* request : missing) {
            prepare(*request, [&](const PreparedRequest& prepared) {
                if (look_up_remote(prepared)) {
                    ++report.remote;
                } else {
                    count_remote_miss();
                }
            });
        }
    }
    storage_.wait_for_writes();
    return report;
}

}  // namespace LODE_NAMESPACE
