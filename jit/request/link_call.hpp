// A program's calls to nvJitLink, as an NvrtcCall: what a link has been given, up to one function.
//
// `name` is that function, `options` are those of nvJitLinkCreate, and each header is an input: its
// type and name, and its bytes.
#pragma once

#include "jit/request/nvrtc_call.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

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

/// Whether a flag makes the linker or its assembler read or write a file, or measure time.
[[nodiscard]] bool is_opaque_link_flag(std::string_view flag);

/// As uncacheable_reason(), leaves_traces() and request_of() for calls to NVRTC.
[[nodiscard]] std::string uncacheable_link_reason(const NvrtcCall& call);
[[nodiscard]] bool link_leaves_traces(const NvrtcCall& call);
[[nodiscard]] CompileRequest link_request_of(const NvrtcCall& call);
/// Whether the same call gives the same result again. Others report the state of the machine.
[[nodiscard]] bool is_lasting_link(const NvrtcAnswer& answer);

}  // namespace LODE_NAMESPACE
