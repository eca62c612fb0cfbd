// What the files of `lode cache` share: its options, and the verbs that other files define.
#pragma once

#include "jit/cache/packs.hpp"
#include "tools/lode/options.hpp"
#include "tools/lode/report.hpp"
#include "tools/lode/target.hpp"

#include <lode/jit/cache.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lode::tool {

/// The options of all subcommands.
struct CacheCommand {
    std::string folder;
    std::string key;
    std::string pack_file;           ///< Read; may be empty.
    std::string output;              ///< The pack to write.
    std::string out_dir;             ///< Instead of `output`: a pack for each architecture.
    std::vector<std::string> packs;  ///< For `diff` and `merge`.
    std::string key_file;
    std::vector<std::string> trusted;
    std::string source;
    std::string arch;
    bool embedded = false;
    std::optional<std::uint64_t> max_bytes;
    bool repair = false;
    bool check_trust = false;
    std::vector<std::string> name_expressions;
    CompileFlags flags;
    ArchChoice target;       ///< The target of `why`, from `arch`.
    CompileOptions options;  ///< The options of `why`, from `flags`.
};

/// The cache's options with those of the command. Errors: invalid_argument without a folder.
[[nodiscard]] Result<CacheOptions> options_of(const CacheCommand& command);

/// How a command opens the cache's folder.
enum class Access : std::uint8_t { read, change, make };

/// The folder that the command works on. Errors: not_found if --folder doesn't exist and isn't to
/// be made; those of options_of() and DiskTier::open().
[[nodiscard]] Result<std::unique_ptr<cache::DiskTier>> open_cache(const CacheCommand& command,
                                                                  Access access);

/// What the cache's options, or --keys in place of theirs, trust. Errors: those of the keys' files.
[[nodiscard]] Result<cache::Trust> trust_of(const CacheCommand& command);

/// "saxpy.cu for sm_90 (0123456789ab, 3.2 KiB)"
std::string entry_text(const cache::PackedEntry& entry);
Json entry_json(const cache::PackedEntry& entry);
/// The first digits of a key.
std::string short_key(const Digest& key);

/// The failure of a pack that lacks entries for its size limit.
Error left_out_error(const cache::PackReport& report, std::uint64_t max_bytes);

// A verb's check, if it has one, comes before its work; its errors are usage errors.

// cache_packs.cpp
[[nodiscard]] Status check_pack(CacheCommand& command);
[[nodiscard]] Result<Answer> pack_cache(const CacheCommand& command);
[[nodiscard]] Result<Answer> unpack_cache(const CacheCommand& command);
[[nodiscard]] Result<Answer> merge_cache(const CacheCommand& command);
[[nodiscard]] Result<Answer> diff_cache(const CacheCommand& command);

// cache_keys.cpp
[[nodiscard]] Result<Answer> make_key(const CacheCommand& command);
[[nodiscard]] Result<Answer> sign_cache(const CacheCommand& command);
[[nodiscard]] Result<Answer> verify_trust(const CacheCommand& command);

}  // namespace lode::tool
