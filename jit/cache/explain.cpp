#include "base/try.hpp"
#include "jit/cache/compile_pipeline.hpp"
#include "jit/store/entry_format.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

/// The values of each field; several values of one name are joined.
std::map<std::string, std::string> joined(const KeyFields& fields) {
    std::map<std::string, std::string> values;
    for (const auto& [name, value] : fields) {
        const auto [entry, is_new] = values.try_emplace(name, value);
        if (!is_new) entry->second += ", " + value;
    }
    return values;
}

std::vector<CacheExplanation::Difference> compare(const KeyFields& wanted,
                                                  const KeyFields& nearest) {
    const auto mine = joined(wanted);
    const auto other = joined(nearest);
    std::set<std::string> names;
    for (const auto* side : {&mine, &other}) {
        for (const auto& [name, value] : *side)
            names.insert(name);
    }
    // An entry's key continues the request's key with this field.
    names.erase("headers.sha256");
    std::vector<CacheExplanation::Difference> differences;
    for (const auto& name : names) {
        const auto value_in = [&](const auto& values) {
            const auto found = values.find(name);
            return found == values.end() ? std::string() : found->second;
        };
        std::string a = value_in(mine);
        std::string b = value_in(other);
        if (a != b) differences.push_back({name, std::move(a), std::move(b)});
    }
    return differences;
}

std::string source_name(const KeyFields& fields) {
    const auto found = std::ranges::find(fields, "source.name", &KeyFields::value_type::first);
    return found == fields.end() ? std::string() : found->second;
}

}  // namespace

Result<CacheExplanation> CompilePipeline::explain(CompileRequest request) {
    LODE_TRY(read_source(request));
    LODE_TRY_ASSIGN(const auto compiler, compiler_of(request).identity.get());
    LODE_TRY_ASSIGN(const PreparedRequest prepared, prepare(request, *compiler));

    CacheExplanation explanation;
    explanation.key = prepared.key.digest;
    if (std::string why = uncacheable_reason(request); !why.empty()) {
        explanation.miss = {MissReason::uncacheable, std::move(why)};
        return explanation;
    }
    if (const auto hit = look_up(prepared, explanation.miss)) {
        explanation.tier = hit->report.tier;
        explanation.key = hit->report.key;
        return explanation;
    }
    TierStack& tiers = storage_.tiers();
    const DiskTier* disk = tiers.disk();
    const auto wanted = key_fields(prepared.key.text);
    if (disk == nullptr || !wanted) return explanation;
    std::optional<std::size_t> fewest;
    LODE_TRY(disk->for_each(RecordKind::entry, [&](const RecordKey& key, const FileIdentity&) {
        const auto entry = tiers.find<Entry>(key, parse_entry);
        if (!entry) return;
        const auto fields = key_fields(entry->value.key_text);
        if (!fields || source_name(*fields) != source_name(*wanted)) return;
        auto differences = compare(*wanted, *fields);
        if (fewest && *fewest <= differences.size()) return;
        fewest = differences.size();
        explanation.nearest = source_name(*fields);
        explanation.differences = std::move(differences);
    }));
    return explanation;
}

}  // namespace LODE_NAMESPACE::cache
