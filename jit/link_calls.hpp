// LinkCalls: makes a program's calls (request/link_call.hpp) to nvJitLink.
#pragma once

#include "jit/compile.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/request/link_call.hpp"

#include <lode/base/error.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace LODE_NAMESPACE {

/// Calls `add` with the handle and an input.
[[nodiscard]] int add_input(int (*add)(nvjitlink::Handle, int, const void*, std::size_t,
                                       const char*),
                            nvjitlink::Handle handle, const Header& input);

/// A link that has been given some inputs.
struct BegunLink {
    nvjitlink::Handle handle = nullptr;
    std::vector<std::string> options = {};
    std::deque<Header> inputs = {};   ///< nvJitLink keeps pointers to their names.
    int result = nvjitlink::success;  ///< That of the last function.
    FileAccesses accesses = {};
};

/// Makes calls to one nvJitLink, each on a compiler's thread, one at a time. A link whose beginning
/// was the last call goes on from there.
class LinkCalls {
public:
    /// Watches the library.
    explicit LinkCalls(nvjitlink::Library library);
    ~LinkCalls() { forget(); }
    LinkCalls(const LinkCalls&) = delete;
    LinkCalls& operator=(const LinkCalls&) = delete;

    [[nodiscard]] CompilerProperties properties() const;
    /// Notes what the whole link has read. Errors: link_failed, if it can't be started.
    [[nodiscard]] Result<NvrtcAnswer> answer(const NvrtcCall& call, CompileFiles& files);
    /// The next call starts from its beginning.
    void forget() noexcept;

private:
    [[nodiscard]] Status begin(const NvrtcCall& call);
    [[nodiscard]] bool goes_on(const NvrtcCall& call) const;

    const nvjitlink::Library library_;
    const bool is_watched_;
    const CompilerFile file_;
    std::optional<BegunLink> begun_;
};

}  // namespace LODE_NAMESPACE
