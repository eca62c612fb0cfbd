// A worker process of the cache's multi-process tests.
//
//   cache_worker read FOLDER SECONDS      reads records, exit 1 if one is wrong
//   cache_worker compile FOLDER FILE ARCH [INCLUDE]    compiles with NVRTC through the cache
//
// `compile` prints one JSON object: tier, compilations, waits, digest of the code, nvrtc_mapped.
#include "base/file.hpp"
#include "jit/store/disk_tier.hpp"
#include "tests/cache_torture/records.hpp"

#include <lode/jit/cache.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

using namespace lode;
using namespace lode::cache;

int complain(const Error& error) {
    fmt::print(stderr, "{}\n", error.describe());
    return 1;
}

int read_for(const char* folder, double seconds) {
    auto tier = DiskTier::open(folder, true, world_bytes);
    if (!tier) return complain(tier.error());
    std::vector<Key> keys;
    std::vector<Entry> entries;
    for (int i = 0; i < world_size; ++i) {
        entries.push_back(world_entry(i));
        keys.push_back(key_of(entries.back()));
        entries.back().header_list.clear();  // A hit returns no header list.
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::size_t hits = 0;
    std::size_t refused = 0;
    while (std::chrono::steady_clock::now() < end) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto record = (*tier)->get({RecordKind::entry, keys[i].digest});
            if (!record) return complain(record.error());
            if (!*record) continue;
            const auto entry = parse_entry_for((*record)->bytes, keys[i]);
            if (!entry) {
                ++refused;
            } else if (*entry == entries[i]) {
                ++hits;
            } else {
                fmt::print(stderr, "record {} is wrong\n", i);
                return 1;
            }
        }
    }
    fmt::print("{} hits, {} refused\n", hits, refused);
    return hits > 0 ? 0 : 1;
}

bool is_nvrtc_mapped() {
    const auto maps = read_text("/proc/self/maps");
    return maps && maps->find("libnvrtc") != std::string::npos;
}

int compile(std::span<char*> arguments) {
    CacheOptions options;
    options.folder = arguments[0];
    const CachedCompiler compiler({}, options);
    const auto arch = Arch::parse(arguments[2]);
    if (!arch) return complain(arch.error());
    CompileOptions how;
    if (arguments.size() > 3) how.include_folders.emplace_back(arguments[3]);
    const auto result = compiler.compile(Source::file(arguments[1]), *arch, how);
    if (!result) return complain(result.error());
    const auto counters = compiler.counters();
    const nlohmann::json answer = {
        {"tier", result->report.tier},
        {"not_kept", result->report.not_kept},
        {"reason", result->report.miss.to_string()},
        {"compilations", counters.compilations},
        {"waits", counters.waits},
        {"faults", counters.faults},
        {"code", sha256(result->image->cubin).to_hex()},
        {"milliseconds", result->report.milliseconds},
        {"nvrtc_mapped", is_nvrtc_mapped()},
    };
    fmt::print("{}\n", answer.dump());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    const std::string_view verb = argc > 2 ? argv[1] : "";
    if (verb == "read" && argc == 4) return read_for(argv[2], std::atof(argv[3]));
    if (verb == "compile" && argc >= 5) return compile(arguments.subspan(2));
    fmt::print(stderr, "usage: cache_worker read|compile FOLDER ...\n");
    return 2;
}
