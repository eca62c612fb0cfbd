// Precompiler: the precompiled header of a compilation, found or made.
//
// The first compilation with a large header set makes it on the way: NVRTC writes it when it has
// read the head of the source (prefix.hpp), and what it had asked for until then is what the head
// depends on. A head that the compiler comments on isn't kept: a later compilation wouldn't repeat
// that. Before each use, everything recorded is compared with what is there now.
#pragma once

#include "base/os/descriptor.hpp"
#include "jit/files/file_accesses.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/pch_heap.hpp"
#include "jit/nvrtc/program.hpp"
#include "jit/pch/settings.hpp"
#include "jit/pch/store.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::pch {

/// What stands between the head and the rest of a source: the end of what is precompiled. The line
/// is the first of the rest.
[[nodiscard]] std::string head_end(std::string_view name, std::ptrdiff_t line);

/// One compilation. Views; the owner must outlive the call.
struct Question {
    std::string_view prefix;     ///< header_prefix() of the code.
    std::string_view name;       ///< The source's.
    const std::string& program;  ///< The name of NVRTC's program.
    const std::string& folder;   ///< The source's; empty for code in memory.
    std::span<const std::string> flags;
    std::span<const std::string> include_folders;  ///< Those in the flags.
    std::span<const HeaderView> headers;
};

/// The precompiled header of one compilation: to be used, or to be made.
struct PchPlan {
    cache::Key key;
    bool is_new = false;   ///< To be made.
    PchFile file;          ///< For NVRTC.
    Descriptor open_file;  ///< The file, if it is to be used.
    /// If it is to be used: the answers that the head depends on, as if the compiler had asked now.
    FileAccesses accesses;
    // If it is to be made:
    std::string program;
    std::string temporary;
    std::optional<cache::KeyLock> lock;

    /// NVRTC's flags.
    [[nodiscard]] std::vector<std::string> flags() const;
};

/// For one thread at a time, in a process in which nothing else uses NVRTC.
class Precompiler {
public:
    /// Before the first compilation with this NVRTC, which must outlive it.
    explicit Precompiler(const NvrtcLibrary& nvrtc);

    /// nullopt where the source is compiled as it is: nothing to precompile, too small, not
    /// possible. Waits for another process that makes the same.
    [[nodiscard]] std::optional<PchPlan> prepare(const Question& question,
                                                 const Settings& settings);

    /// What NVRTC did, read from its log; a header that it made is kept. Removes from the log what
    /// it says about the precompiled header; the rest is the log of a compilation without. False if
    /// the result can't be used: the source is to be compiled again, without.
    [[nodiscard]] bool accept(const PchPlan& plan, const Settings& settings, std::string& log);

private:
    [[nodiscard]] cache::Key key_of(const Question& question) const;
    /// The stored header, if everything that it depends on is as it was.
    [[nodiscard]] static std::optional<PchPlan> use(const cache::Key& key, StoredHeader stored);
    [[nodiscard]] std::optional<PchPlan> make(const Question& question, const PchStore& store,
                                              const cache::Key& key);
    /// Errors: not_supported if the header that was made can't be used by others; file_failed.
    [[nodiscard]] Status keep(const PchPlan& plan, const Settings& settings) const;
    /// The conditions of a header that was made. Errors: those of keep().
    [[nodiscard]] Result<Conditions> conditions_of(const PchPlan& plan,
                                                   std::uint64_t least_header_bytes) const;
    /// Gives up a header to be made, or one that NVRTC refuses.
    void refuse(const PchPlan& plan, const Settings& settings);

    const NvrtcLibrary& nvrtc_;
    std::optional<PchAddresses> addresses_;  ///< nullopt: none are used in this process.
    std::string library_;                    ///< Identifies the compiler's files.
    std::set<Digest> refused_;               ///< Not tried again by this process.
    std::map<Digest, std::size_t> unused_;   ///< By head: how many were made, none used since.
};

}  // namespace LODE_NAMESPACE::pch
