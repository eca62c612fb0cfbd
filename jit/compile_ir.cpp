#include "jit/compile_ir.hpp"

#include "base/ptx_scan.hpp"
#include "base/try.hpp"
#include "jit/compile_failure.hpp"
#include "jit/compile_ptx.hpp"
#include "jit/diagnostics.hpp"
#include "jit/nvrtc/compiler_thread.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvvm_log.hpp"
#include "jit/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// A hint for opaque pointers where the compiler reads LLVM 7's IR; else empty.
std::string dialect_hint(const Diagnostic& first, std::string_view code, const Arch& arch,
                         Source::Language language) {
    for (int line = 1; line < first.line; ++line)
        (void)take_line(code);
    const auto text = take_line(code);
    const auto at = std::min(static_cast<std::size_t>(std::max(first.column - 1, 0)), text.size());
    if (first.line == 0 || !text.substr(at).starts_with("ptr")) return {};
    if (language == Source::Language::llvm_ir) {
        return " This LLVM reads typed pointers; use a newer one for opaque ones.";
    }
    return fmt::format(
        " For {}, libNVVM reads the IR of LLVM 7, with typed pointers; opaque ones are for sm_100 "
        "and newer.",
        arch.to_string());
}

}  // namespace

LinkerSearch linker_search_for(const std::filesystem::path& compiler) {
    const auto folder = compiler.parent_path();
    // In toolkits, libNVVM is in nvvm/lib64.
    return {.folders = {folder, folder.parent_path().parent_path()}};
}

std::string IrTools::describe() const {
    return fmt::format("{} ({})", compiler_->product(), compiler_->path().string());
}

Result<CompilerProperties> IrTools::properties() const {
    LODE_TRY_ASSIGN(auto made, compiler_->properties());
    made.files = files_;
    return made;
}

Result<Image> IrTools::fail_compile(const CompileRequest& request, IrOutcome outcome) const {
    if (outcome.is_unknown_target) {
        LODE_TRY_ASSIGN(const CompilerProperties mine, compiler_->properties());
        const Status known = check_arch(mine.info.name(), mine.info.supported, request.arch);
        if (!known) return tl::unexpected<Error>(known.error());
        return fail(Errc::unsupported_arch,
                    fmt::format("{} doesn't support the target {}, only {}.", mine.info.name(),
                                request.arch.to_string(),
                                Arch(request.arch.cc(), {}, request.arch.kind()).to_string()),
                    outcome.native, std::move(outcome.log));
    }
    const auto diagnostics = nvvm::parse_log(outcome.log, true);
    const auto hint = diagnostics.empty() ? std::string()
                                          : dialect_hint(diagnostics.front(), request.source.code(),
                                                         request.arch, request.source.language());
    return fail(Errc::compile_failed,
                fmt::format("'{}' doesn't compile for {}: {}.{}", request.source.name(),
                            request.arch.to_string(), describe_errors(diagnostics), hint),
                outcome.native, std::move(outcome.log));
}

Result<Image> IrTools::compile_here(const CompileRequest& request, const IrFlags& flags,
                                    const std::string& code, CompileFiles& seen) const {
    IrOutcome outcome;
    {
        const FileAccessScope scope(seen.compiler);
        LODE_TRY_ASSIGN(outcome, compiler_->compile(code, request.source.name(), flags.compiler));
    }
    seen.compiler_files = files_;
    if (outcome.has_failed) return fail_compile(request, std::move(outcome));
    LODE_TRY_ASSIGN(const std::string build, compiler_->build());

    Image image;
    if (request.options.lto) {
        const auto bytes = as_bytes(outcome.code);
        image.lto_ir.assign(bytes.begin(), bytes.end());
    } else if (request.arch.is_real()) {
        LODE_TRY_ASSIGN(image,
                        assemble(*linker_, request, flags.link, outcome.code, seen.compiler));
    }
    if (!request.options.lto) image.ptx = std::move(outcome.code);
    image.name = request.source.name();
    image.arch = request.arch;
    image.kernels = kernels_of_ptx(image.ptx);
    image.diagnostics = nvvm::parse_log(outcome.log, false);
    std::ranges::move(parse_diagnostics(image.log), std::back_inserter(image.diagnostics));
    image.log = outcome.log + image.log;
    image.compiler = fmt::format("{} {}", compiler_->product(), build);
    return image;
}

Result<Image> IrTools::compile(const CompileRequest& request, const CompileContext& context) const {
    CompileFiles unwanted;
    CompileFiles& seen = context.files != nullptr ? *context.files : unwanted;
    seen.is_watched = watches_files();
    LODE_TRY_ASSIGN(const IrFlags flags, ir_flags(request));
    LODE_TRY_ASSIGN(const std::string code, request.source.read());
    if (!linker_ && request.arch.is_real() && !request.options.lto) {
        Error missing = linker_.error();
        missing.message = fmt::format(
            "Machine code of '{}' needs nvJitLink; PTX, for {}, doesn't. {}", request.source.name(),
            request.arch.as_virtual().to_string(), missing.message);
        return tl::unexpected<Error>(std::move(missing));
    }
    Result<Image> image;
    const CompileRequest read{request.source.pinned(code), request.arch, request.options};
    LODE_TRY(on_compiler_thread([&] { image = compile_here(read, flags, code, seen); }));
    return image;
}

}  // namespace LODE_NAMESPACE
