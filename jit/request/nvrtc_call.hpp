// NvrtcCall: a compilation as a program asks NVRTC for it, and NvrtcAnswer: all that it can see of
// the result.
//
// lode's own requests are options that lode understands. A call is what any program passes, and the
// answer is what NVRTC gives back in a new process, byte for byte: result codes, the log, every
// output, the lowered names.
#pragma once

#include "jit/request/bytes.hpp"

#include <lode/jit/compile_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// The arguments of a program's calls up to nvrtcCompileProgram, in their order.
struct NvrtcCall {
    std::string source;
    std::optional<std::string> name;  ///< nullopt for a null pointer.
    std::vector<Header> headers;
    std::vector<std::string> options;
    std::vector<std::string> name_expressions;

    friend bool operator==(const NvrtcCall&, const NvrtcCall&) = default;
};

/// The outputs of NVRTC: nvrtcGetPTXSize and nvrtcGetPTX give "PTX".
inline constexpr std::string_view nvrtc_outputs[] = {"ProgramLog", "PTX",  "CUBIN", "LTOIR",
                                                     "OptiXIR",    "NVVM", "TileIR"};

/// Result codes are those of nvrtcResult.
struct NvrtcAnswer {
    struct Output {
        std::string name;  ///< One of nvrtc_outputs.
        std::int32_t size_result = 0;
        std::int32_t result = 0;
        std::string bytes;  ///< Empty unless both succeed.

        friend bool operator==(const Output&, const Output&) = default;
    };
    struct Name {
        std::string expression;
        std::int32_t result = 0;
        std::string lowered;

        friend bool operator==(const Name&, const Name&) = default;
    };

    std::int32_t result = 0;
    std::vector<Output> outputs;  ///< Those that this NVRTC has functions for.
    std::vector<Name> names;      ///< One for each expression.
    std::int32_t other_name = 0;  ///< The result for an expression that wasn't added.

    /// nullptr if this NVRTC has no function for it.
    [[nodiscard]] const Output* output(std::string_view name) const noexcept;
    /// Approximate memory use.
    [[nodiscard]] std::size_t approximate_bytes() const noexcept;

    friend bool operator==(const NvrtcAnswer&, const NvrtcAnswer&) = default;
};

void write(ByteWriter& out, const std::vector<Header>& headers);
[[nodiscard]] std::vector<Header> read_headers(ByteReader& in);
/// Takes an output with the library's functions for its size and its bytes, which return codes.
[[nodiscard]] NvrtcAnswer::Output take_output(std::string_view name, const auto& size_of,
                                              const auto& get) {
    NvrtcAnswer::Output output;
    output.name = name;
    std::size_t size = 0;
    output.size_result = size_of(&size);
    // The second function says by itself why there is nothing; it writes nothing then.
    constexpr std::size_t least = 16;
    std::string bytes(std::max(size, least), '\0');
    output.result = get(bytes.data());
    if (output.size_result == 0 && output.result == 0) output.bytes = bytes.substr(0, size);
    return output;
}

void write(ByteWriter& out, const NvrtcCall& call);
[[nodiscard]] NvrtcCall read_nvrtc_call(ByteReader& in);
void write(ByteWriter& out, const NvrtcAnswer& answer);
[[nodiscard]] NvrtcAnswer read_nvrtc_answer(ByteReader& in);

/// Why the answer isn't known to be a function of the call and of what the compilation reads, as a
/// clause; empty if it is. Options that lode doesn't know count, as those of a newer NVRTC.
[[nodiscard]] std::string uncacheable_reason(const NvrtcCall& call);

/// Whether later compilations in the same process may give other code than in a new one.
[[nodiscard]] bool leaves_traces(const NvrtcCall& call);

/// The folders that its options name for headers, as given.
[[nodiscard]] std::vector<std::string> include_folders_of(const NvrtcCall& call);

/// Those of them that have headers of NVIDIA's toolkit.
[[nodiscard]] std::vector<std::filesystem::path> toolkit_folders_of(const NvrtcCall& call);

/// The call's texts as a request. Its target and options are those that lode's checks of texts and
/// paths need.
[[nodiscard]] CompileRequest request_of(const NvrtcCall& call);

}  // namespace LODE_NAMESPACE
