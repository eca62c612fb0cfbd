// A program's calls to nvJitLink, as an NvrtcCall: what a link has been given, up to one function.
//
// `name` is that function, `options` are those of nvJitLinkCreate, and each header is an input: its
// type and name, and its bytes.
#pragma once

#include "jit/compile.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/nvrtc_call.hpp"

#include <lode/base/error.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// The functions that may take long: PTX is compiled when it is added.
inline constexpr std::string_view add_to_link = "nvJitLinkAddData";
inline constexpr std::string_view complete_link = "nvJitLinkComplete";

/// nvJitLink's outputs: nvJitLinkGetLinkedCubinSize and nvJitLinkGetLinkedCubin give "LinkedCubin".
/// An answer to add_to_link has only the logs.
inline constexpr std::string_view link_outputs[] = {"ErrorLog", "InfoLog", "LinkedCubin",
                                                    "LinkedPtx", "LinkedLTOIR"};

/// An input as nvJitLinkAddData gets it. The name may be null.
[[nodiscard]] Header input_of_link(int type, std::span<const std::byte> bytes, const char* name);
/// Calls `add` with the handle and an input.
[[nodiscard]] int add_input(int (*add)(nvjitlink::Handle, int, const void*, std::size_t,
                                       const char*),
                            nvjitlink::Handle handle, const Header& input);

/// As uncacheable_reason(), leaves_traces() and request_of() for calls to NVRTC.
[[nodiscard]] std::string uncacheable_link_reason(const NvrtcCall& call);
[[nodiscard]] bool link_leaves_traces(const NvrtcCall& call);
[[nodiscard]] CompileRequest link_request_of(const NvrtcCall& call);
/// Whether the same call gives the same result again. Others report the state of the machine.
[[nodiscard]] bool is_lasting_link(const NvrtcAnswer& answer);

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
    struct Begun {
        nvjitlink::Handle handle = nullptr;
        std::vector<std::string> options;
        std::deque<Header> inputs = {};   ///< nvJitLink keeps pointers to their names.
        int result = nvjitlink::success;  ///< That of the last function.
        FileAccesses accesses = {};
    };
    [[nodiscard]] Status begin(const NvrtcCall& call);
    [[nodiscard]] bool goes_on(const NvrtcCall& call) const;

    const nvjitlink::Library library_;
    const bool is_watched_;
    const CompilerFile file_;
    std::optional<Begun> begun_;
};

}  // namespace LODE_NAMESPACE
