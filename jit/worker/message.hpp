// The messages between a host and its workers: one request, one answer.
//
// Both are whole when they arrive: a worker reads no file for the host and asks no question back.
// Numbers are little-endian and texts carry their length; nothing points anywhere. A host and a
// worker of different versions refuse each other (protocol_version).
#pragma once

#include "jit/nvrtc/locate.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/pch/settings.hpp"
#include "jit/request/bytes.hpp"
#include "jit/request/compile_files.hpp"
#include "jit/request/nvrtc_call.hpp"
#include "jit/request/source_files.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/compile_request.hpp>
#include <lode/jit/linker.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::worker {

/// The version of this format. Any change of a message changes it.
inline constexpr std::uint32_t protocol_version = 14;

/// What a host wants of a worker.
enum class Task : std::uint8_t {
    compile,
    properties,  ///< Those of the compiler.
    link,
    call,               ///< A program's, with the files of the compilation.
    linker_properties,  ///< Those of the linker.
    link_call           ///< A program's to the linker (link_call.hpp).
};

/// The rest of a request to link.
struct LinkTask {
    LinkerSearch search = {};
    std::vector<LinkInput> inputs = {};
    LinkOptions options = {};
};

/// One compilation or link, with everything of the host that decides its result.
struct Request {
    /// Where the host searches for the compiler of the source's language.
    NvrtcSearchEnvironment nvrtc;
    std::filesystem::path working_folder;  ///< Where relative paths start.
    std::vector<std::string> environment;  ///< "NAME=value"
    /// The host ends the worker at its limits; see memory_limit.hpp. For a link, the source has its
    /// name and the architecture is its target.
    CompileRequest compilation;
    pch::Settings pch = {};
    SourceFiles source_files = {};
    bool is_measured = false;  ///< Whether the host measures the worker's memory.
    Task task = Task::compile;
    LinkTask link = {};
    NvrtcCall call = {};
    bool needs_new_process = false;  ///< Even if the options leave no traces.

    /// Whether the worker has to end after the answer: leaves_traces().
    [[nodiscard]] bool is_last() const;
};

/// The result, and what it depends on.
struct Answer {
    Result<Image> image;  ///< Without code where another member is the result.
    CompileFiles files = {};
    CompilerProperties properties = {};  ///< Those of the compiler or linker.
    NvrtcAnswer call = {};               ///< For Task::call and link_call.
};

/// The error of a compilation that reaches its limit of memory.
[[nodiscard]] tl::unexpected<Error> fail_memory_limit(const Request& request);

/// What a worker in a jail needs to know at its start (jail.hpp).
struct JailSetup {
    Source::Language language;                   ///< What is compiled there.
    NvrtcSearchEnvironment nvrtc;                ///< Where the host searches for its compiler.
    std::vector<std::filesystem::path> folders;  ///< Readable ones.
    std::uint32_t open_files = 0;
    std::uint64_t read_bytes = 0;
};

[[nodiscard]] Bytes format_setup(const JailSetup& setup);
/// Accepts any bytes; fuzzed. Errors: invalid_image, with the reason.
[[nodiscard]] Result<JailSetup> parse_setup(std::span<const std::byte> bytes);

[[nodiscard]] Bytes format_request(const Request& request);
/// Accepts any bytes; fuzzed. Errors: invalid_image, with the reason.
[[nodiscard]] Result<Request> parse_request(std::span<const std::byte> bytes);

[[nodiscard]] Bytes format_answer(const Answer& answer);
/// Accepts any bytes; fuzzed. Errors: invalid_image, with the reason.
[[nodiscard]] Result<Answer> parse_answer(std::span<const std::byte> bytes);

}  // namespace LODE_NAMESPACE::worker
