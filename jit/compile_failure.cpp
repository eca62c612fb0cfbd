#include "jit/compile_failure.hpp"

#include "base/file.hpp"
#include "base/message_text.hpp"
#include "base/ptx_scan.hpp"
#include "base/text_encoding.hpp"
#include "jit/diagnostics.hpp"
#include "jit/name_expressions.hpp"
#include "jit/nvcc_flags.hpp"
#include "jit/nvrtc/table.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// A hint for a missing header if NVRTC was found without a toolkit; else empty.
std::string missing_toolkit_hint(const Compilation& job, std::string_view log) {
    const bool asked = job.request.options.toolkit_headers && job.nvrtc.include_folders().empty();
    if (!asked || log.find(" open source file ") == std::string_view::npos) return {};
    return fmt::format(
        " lode finds no toolkit headers for the NVRTC in '{}'; install them beside it or "
        "set CUDA_HOME.",
        job.nvrtc.path().parent_path().string());
}

/// A hint for an included file that isn't a regular file; else empty.
std::string irregular_file_hint(const Compilation& job) {
    const std::string path = job.files.compiler.irregular_file();
    return path.empty() ? path
                        : fmt::format(" '{}' isn't a regular file, so lode doesn't read it.", path);
}

/// A hint for a header with a byte order mark; else empty. lode removes only that of the source.
std::string_view byte_order_mark_hint(const Compilation& job,
                                      std::span<const Diagnostic> diagnostics) {
    const auto is_marked = [&](const Diagnostic& diagnostic) {
        if (diagnostic.line != 1 || !diagnostic.text.starts_with("unrecognized token"))
            return false;
        const auto& headers = job.request.options.headers;
        const auto header = std::ranges::find(headers, diagnostic.file, &Header::name);
        const auto text =
            header != headers.end() ? header->text : read_text(diagnostic.file).value_or("");
        return byte_order_mark_size(text) > 0;
    };
    return std::ranges::any_of(diagnostics, is_marked)
               ? " NVRTC takes no byte order mark in a header: save the file without."
               : "";
}

/// A hint for tile kernels that weren't asked for; else empty.
std::string_view tile_hint(const Compilation& job, std::string_view log) {
    const bool is_about_tiles = job.request.options.tile == Tile::none &&
                                log.find("parsing for Tile constructs") != std::string_view::npos;
    return is_about_tiles ? " Tile kernels are compiled with CompileOptions::tile." : "";
}

/// A hint for what the compiler says without its cure; else empty.
std::string_view cure_hint(std::string_view log) {
    constexpr std::pair<std::string_view, std::string_view> cures[] = {
        {"Consider using -default-device",
         " lode compiles device code alone: a kernel needs __global__, and host code belongs into "
         "another file or into #ifndef __CUDACC_RTC__."},
        {"uses too much shared data",
         " Static shared memory is at most 48 KiB; dynamic, an extern __shared__ array, may be "
         "more."}};
    const auto is_said = [&](const auto& cure) {
        return log.find(cure.first) != std::string_view::npos;
    };
    const auto found = std::ranges::find_if(cures, is_said);
    return found == std::end(cures) ? "" : found->second;
}

/// A hint for a file that untrusted source may not read; else empty.
std::string forbidden_file_hint(const Compilation& job) {
    const std::string& what = job.files.compiler.forbidden();
    return what.empty() ? what : fmt::format(" Not allowed: {}.", what);
}

}  // namespace

std::string describe_errors(std::span<const Diagnostic> diagnostics) {
    const auto is_error = [](const Diagnostic& diagnostic) {
        return diagnostic.severity == Diagnostic::Severity::error;
    };
    const auto first = std::ranges::find_if(diagnostics, is_error);
    if (first == diagnostics.end()) return "the compiler reports no error; its log may say more";
    const auto count = std::ranges::count_if(diagnostics, is_error);
    constexpr std::size_t most = 600;
    auto text = fmt::format("{} error{}, {}{}", count, count == 1 ? "" : "s",
                            count == 1 ? "" : "the first is ", shortened(first->to_string(), most));
    if (text.ends_with('.')) text.pop_back();  // The surrounding sentence ends with its own.
    return text;
}

Status check_arch(std::string_view compiler, std::span<const ComputeCapability> supported,
                  const Arch& arch) {
    if (std::ranges::binary_search(supported, arch.cc())) return {};
    std::vector<std::string> names;
    std::string nearest;  // Below the target if there is one: its code may run where that would.
    for (const auto cc : supported) {
        names.push_back(Arch(cc).to_string());
        if (nearest.empty() || cc < arch.cc()) nearest = Arch(cc, {}, arch.kind()).to_string();
    }
    return fail(Errc::unsupported_arch,
                fmt::format("{} doesn't support the target {}; it supports {}. The nearest is {}.",
                            compiler, arch.to_string(), listed(names, arch_form), nearest));
}

bool has_lines(const CompileOptions& options) noexcept {
    return options.line_info || options.debug;
}

tl::unexpected<Error> fail_for_quoted_path(const Compilation& job, std::string_view path) {
    return fail(Errc::compile_failed,
                fmt::format("'{}' can't have line information: PTX has no way to write the double "
                            "quote in the path {}. Rename it, or compile without "
                            "CompileOptions::line_info and CompileOptions::debug.",
                            job.request.source.name(), path));
}

tl::unexpected<Error> fail_compile(const Compilation& job, nvrtcResult result, std::string log,
                                   const std::function<std::string()>& ptx_alone) {
    const auto diagnostics = parse_diagnostics(log);
    const auto& nvrtc = job.nvrtc;
    if (result == NVRTC_ERROR_COMPILATION) {
        if (const auto wrong = wrong_names(job.request.name_expressions, diagnostics, log);
            !wrong.empty()) {
            const std::string& code = job.request.source.code();
            return fail_for_names(wrong, kernel_names(code, ptx_alone()), code, diagnostics,
                                  job.request.source.name(), std::move(log));
        }
        if (has_lines(job.request.options) && log.find("Parsing error near") != std::string::npos) {
            if (const auto path = quoted_file_of_ptx(ptx_alone()); !path.empty())
                return fail_for_quoted_path(job, path);
        }
        auto message = fmt::format(
            "'{}' doesn't compile for {}: {}.{}{}{}{}{}{}", job.request.source.name(),
            job.request.arch.to_string(), describe_errors(diagnostics),
            missing_toolkit_hint(job, log), irregular_file_hint(job), forbidden_file_hint(job),
            byte_order_mark_hint(job, diagnostics), tile_hint(job, log), cure_hint(log));
        return fail(Errc::compile_failed, std::move(message), native_of(nvrtc.table(), result),
                    std::move(log));
    }
    if (result == NVRTC_ERROR_INVALID_OPTION) {
        const bool about_arch = log.find("--gpu-architecture") != std::string::npos;
        const std::string what =
            diagnostics.empty() ? "it doesn't say which" : diagnostics.front().text;
        return fail(about_arch ? Errc::unsupported_arch : Errc::invalid_argument,
                    fmt::format("NVRTC {}.{} refuses a flag for {}: {}.{}", nvrtc.version_major(),
                                nvrtc.version_minor(), job.request.arch.to_string(),
                                shortened(what), unknown_flag_hint(what)),
                    native_of(nvrtc.table(), result), std::move(log));
    }
    auto failure = fail_from_nvrtc(nvrtc.table(), result,
                                   fmt::format("Compiling '{}'", job.request.source.name()));
    failure.value().log = std::move(log);
    return failure;
}

}  // namespace LODE_NAMESPACE
