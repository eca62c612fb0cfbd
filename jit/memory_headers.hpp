// The headers in memory of one compilation, in the form that NVRTC takes.
//
// NVRTC finds a header in memory by its name as a whole, so one can't include its neighbour. Where
// lode answers NVRTC's file queries, headers are also the files of a folder that exists for the
// compilation only, and NVRTC's own search finds neighbours in it.
#pragma once

#include "jit/files/virtual_folder.hpp"
#include "jit/nvrtc/program.hpp"

#include <lode/jit/options.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode {

/// A text as it stands between the quotes of a string literal.
[[nodiscard]] std::string escaped_for_literal(std::string_view text);

class MemoryHeaders {
public:
    /// Headers matched by name, in `literal` of the user's headers and of lode's own. With
    /// `is_watched` and user's headers, the tree too. The views refer to the arguments' texts.
    MemoryHeaders(const std::vector<Header>& users, std::span<const HeaderView> own,
                  bool is_watched);
    MemoryHeaders(const MemoryHeaders&) = delete;
    MemoryHeaders& operator=(const MemoryHeaders&) = delete;

    /// For NvrtcProgram::create; valid as long as this object.
    [[nodiscard]] std::span<const HeaderView> literal() const noexcept { return literal_; }

    /// Adds the tree's folder as the first that is searched, if there is a tree.
    void add_flag(std::vector<std::string>& flags) const;

    /// The tree, for the compiler's FileAccesses; empty without a tree.
    [[nodiscard]] VirtualFolder tree() const;

private:
    std::vector<HeaderView> literal_;
    std::vector<std::string> stubs_;
    VirtualFiles tree_;
};

}  // namespace lode
