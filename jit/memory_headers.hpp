// The headers in memory of one compilation, in the form that NVRTC takes.
//
// NVRTC finds a header in memory by its name as a whole, before any file: a header of lode's named
// as a library's own one would hide it, and the user's can't include their neighbours. Where lode
// answers NVRTC's file queries, headers are also the files of folders that exist for the
// compilation only, and NVRTC's own search finds them in turn.
#pragma once

#include "jit/files/virtual_folder.hpp"
#include "jit/nvrtc/program.hpp"

#include <lode/jit/options.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// A text as it stands between the quotes of a string literal.
[[nodiscard]] std::string escaped_for_literal(std::string_view text);

class MemoryHeaders {
public:
    /// The user's headers and lode's own. With `is_watched` they are in folders. The user's are
    /// named after the files of the folder `written`, if it isn't empty. The views refer to the
    /// arguments' texts.
    MemoryHeaders(const std::vector<Header>& users, std::span<const HeaderView> own,
                  bool is_watched, std::string_view written = {});
    MemoryHeaders(const MemoryHeaders&) = delete;
    MemoryHeaders& operator=(const MemoryHeaders&) = delete;

    /// For NvrtcProgram::create; valid as long as this object.
    [[nodiscard]] std::span<const HeaderView> literal() const noexcept { return literal_; }

    /// Every text that an include may reach, by name or in a folder; valid as long as this object.
    [[nodiscard]] std::vector<HeaderView> all() const;

    /// The folder that is searched before any other; empty without user's headers in folders.
    [[nodiscard]] std::string first_flag() const;
    /// The folder that is searched after the user's and before the toolkit's; empty if lode's own
    /// headers aren't in a folder.
    [[nodiscard]] std::string shims_flag() const;

    /// For the compiler's FileAccesses.
    [[nodiscard]] std::vector<VirtualFolder> folders() const;

private:
    std::vector<HeaderView> literal_;
    std::vector<std::string> texts_;  ///< Texts of literal headers.
    VirtualFiles tree_;
    VirtualFiles shims_;
};

}  // namespace LODE_NAMESPACE
