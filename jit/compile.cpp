#include "jit/compile.hpp"

#include "base/elf.hpp"
#include "base/ir_container.hpp"
#include "base/message_text.hpp"
#include "base/ptx_scan.hpp"
#include "base/text_encoding.hpp"
#include "base/try.hpp"
#include "jit/compilation.hpp"
#include "jit/compile_failure.hpp"
#include "jit/diagnostics.hpp"
#include "jit/name_expressions.hpp"
#include "jit/nvrtc/compiler_thread.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/program.hpp"
#include "jit/pch/precompiler.hpp"
#include "jit/pch/prefix.hpp"
#include "jit/ptxas_report.hpp"
#include "jit/request/compile_control.hpp"
#include "jit/request/flags.hpp"
#include "jit/request/shims.hpp"
#include "jit/translation_unit.hpp"

#include <lode/base/fatbin.hpp>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

Status check_tile(const NvrtcLibrary& nvrtc, const CompileOptions& options) {
    constexpr int since[] = {13, 3};
    if (options.tile == Tile::none) return {};
    // NVRTC 13.2 has the functions, but not the flags.
    if (nvrtc.at_least(since[0], since[1]) && nvrtc.table().nvrtcGetTileIR != nullptr &&
        nvrtc.table().nvrtcGetTileIRSize != nullptr)
        return {};
    return fail(Errc::compiler_too_old,
                fmt::format("CompileOptions::tile needs NVRTC {}.{} or newer; this one is {}.{}.",
                            since[0], since[1], nvrtc.version_major(), nvrtc.version_minor()));
}

/// Checks the include folders: NVRTC silently skips a folder that it can't read.
Status check_include_folders(const CompileOptions& options) {
    for (const auto& folder : options.include_folders) {
        std::error_code problem;
        const auto status = std::filesystem::status(folder, problem);
        if (status.type() == std::filesystem::file_type::not_found) {
            return fail(Errc::not_found,
                        fmt::format("Include folder '{}' doesn't exist.", folder.string()));
        }
        if (!problem && status.type() != std::filesystem::file_type::directory) {
            return fail(Errc::invalid_argument,
                        fmt::format("Include folder '{}' isn't a folder.", folder.string()));
        }
        if (problem || !os::may_list_folder(folder)) {
            const int reason = problem ? problem.value() : errno;
            return fail(Errc::file_failed,
                        fmt::format("Include folder '{}' isn't readable: {}.", folder.string(),
                                    std::generic_category().message(reason)),
                        {Native::Origin::system, reason, fmt::format("errno {}", reason)});
        }
    }
    return {};
}

/// All flags of one compilation.
Result<std::vector<std::string>> assemble_flags(const Compilation& job, const Arch& arch) {
    const auto& [nvrtc, request, headers, files, written, should_stop] = job;
    const CompileOptions& options = request.options;
    auto flags = nvrtc.machine_flags(arch);
    // NVRTC 12.0 refuses a flag that is given twice.
    const auto is_int128 = [](std::string_view flag) { return flag.ends_with("-device-int128"); };
    if (std::ranges::none_of(options.extra_flags, is_int128)) flags.emplace_back("--device-int128");
    if (arch.is_real() && !options.lto && !options.optix_ir)
        flags.emplace_back("--ptxas-options=-v");
    if (auto first = headers.first_flag(); !first.empty()) flags.push_back(std::move(first));
    LODE_TRY_ASSIGN(auto asked, compile_flags(options));
    std::ranges::move(asked, std::back_inserter(flags));
    if (auto own = headers.shims_flag(); !own.empty()) flags.push_back(std::move(own));
    if (options.toolkit_headers) {
        for (const auto& folder : nvrtc.include_folders())
            flags.push_back("-I" + folder.string());
    }
    return flags;
}

/// The headers in memory: the user's and lode's own.
MemoryHeaders assemble_headers(const CompileRequest& request, CompileFiles& files,
                               const SourceFiles& written) {
    std::vector<HeaderView> own;
    if (request.options.toolkit_headers) own = shims_for(request, files.shims);
    return {request.options.headers, own, files.is_watched, written.headers};
}

/// The folders that the disk doesn't have. To the compiler those with the texts of line information
/// are empty: it would put the files' times into the code.
std::vector<VirtualFolder> virtual_folders(const Compilation& job) {
    auto folders = job.headers.folders();
    const auto hide = [&](std::string_view folder) {
        if (!folder.empty()) folders.emplace_back(folder.substr(1), VirtualFiles());
    };
    hide(std::filesystem::path(job.written.source).parent_path().string());
    hide(job.written.headers);
    return folders;
}

/// Creates the program of a job. NVRTC searches quoted includes in the folder of the program's
/// name; for code in memory that would be the working directory. Such code gets a name in a folder
/// that doesn't exist. A #line directive has its own name or that of its file in SourceFiles.
/// (--no-source-include would keep headers from including their neighbours.)
Result<NvrtcProgram> make_program(const Compilation& job) {
    const auto& table = job.nvrtc.table();
    const auto name = program_name(job.request.source);
    if (!job.request.source.folder().empty() && job.written.source.empty())
        return NvrtcProgram::create(table, job.request.source.code(), name, job.headers.literal());
    const auto code = fmt::format("#line 1 \"{}\"\n{}", escaped_for_literal(job.line_name()),
                                  job.request.source.code());
    return NvrtcProgram::create(table, code, name, job.headers.literal());
}

/// What NVRTC made of a job.
struct Outcome {
    NvrtcProgram program;
    nvrtcResult result;
    std::string log;
};

Result<Outcome> run(const Compilation& job, NvrtcProgram program,
                    std::span<const std::string> flags, PchFile* pch = nullptr) {
    for (const auto& name : job.request.name_expressions) {
        LODE_TRY(program.add_name(name));
    }
    const auto result = [&] {
        const FileAccessScope scope(job.files.compiler, pch);
        return program.compile(flags, job.should_stop);
    }();
    LODE_TRY_ASSIGN(auto log, program.log());
    if (!job.written.empty())
        log = with_given_names(std::move(log), job.written, job.request.source.name(),
                               job.request.options.headers);
    return Outcome{std::move(program), result, std::move(log)};
}

/// The outcome with a precompiled header, which the compilation uses or makes; nullopt where there
/// is none.
Result<std::optional<Outcome>> run_precompiled(const Compilation& job,
                                               std::span<const std::string> flags, PchUse pch) {
    if (pch.precompiler == nullptr || !job.files.is_watched) return std::nullopt;
    const auto head = pch::header_prefix(job.request.source.code());
    const auto& name = job.line_name();
    const auto program_name = lode::program_name(job.request.source);
    const auto folder = job.request.source.folder().string();
    const auto headers = job.headers.all();
    const auto literal = job.headers.literal();
    std::vector<std::string> folders;
    for (const auto& flag : flags)
        if (flag.starts_with("-I")) folders.push_back(flag.substr(2));
    auto plan = pch.precompiler->prepare(
        {head, name, program_name, folder, flags, folders, headers}, *pch.settings);
    if (!plan) return std::nullopt;
    const auto code =
        fmt::format("{}{}{}", head, pch::head_end(name, 1 + std::ranges::count(head, '\n')),
                    std::string_view(job.request.source.code()).substr(head.size()));
    LODE_TRY_ASSIGN(auto program,
                    NvrtcProgram::create(job.nvrtc.table(), code, program_name, literal));
    std::vector<std::string> all(flags.begin(), flags.end());
    std::ranges::move(plan->flags(), std::back_inserter(all));
    job.files.compiler = std::move(plan->accesses);
    job.files.compiler.set_virtual_folders(virtual_folders(job));
    LODE_TRY_ASSIGN(auto outcome, run(job, std::move(program), all, &plan->file));
    if (pch.precompiler->accept(*plan, *pch.settings, outcome.log)) return outcome;
    job.files.compiler = FileAccesses();
    job.files.compiler.set_virtual_folders(virtual_folders(job));
    return std::nullopt;
}

/// A compilation of a job without a precompiled header.
Result<Outcome> run_plainly(const Compilation& job, std::span<const std::string> flags) {
    LODE_TRY_ASSIGN(auto program, make_program(job));
    return run(job, std::move(program), flags);
}

bool note_unit(const Compilation& job) {
    return note_texts(job.files, job.request, job.nvrtc.include_folders());
}

/// The PTX of a source whose compilation fails, without name expressions and machine code; empty if
/// there is none either.
std::string ptx_alone(const Compilation& job) {
    const auto flags = assemble_flags(job, job.request.arch.as_virtual());
    if (!flags) return {};
    const auto program = make_program(job);
    const FileAccessScope scope(job.files.compiler);
    if (!program || program->compile(*flags) != NVRTC_SUCCESS) return {};
    return program->ptx().value_or("");
}

/// What a file that a compiler wrote is; empty for anything else.
std::string_view compiled_kind(std::string_view code) noexcept {
    const auto bytes = std::as_bytes(std::span(code));
    if (is_fatbin(bytes)) return "a fat binary";
    if (code.starts_with(elf::magic)) return "a cubin or object file";
    const auto ir = ir_kind(bytes);
    if (!ir) return "";
    return ir == IrKind::lto ? "LTO-IR" : "OptiX IR";
}

/// The code in a form that NVRTC accepts: without a byte order mark, which it reports as an
/// unrecognized token, and without NUL, where it would stop reading.
Result<std::string> read_code(const Source& source) {
    LODE_TRY_ASSIGN(auto code, source.read());
    const auto kind = compiled_kind(code);
    if (!kind.empty()) {
        return fail(Errc::invalid_argument,
                    fmt::format("'{}' is {}, compiled already. Pass the CUDA C++ that it was made "
                                "from, or PTX (lode compile --ptx).",
                                source.name(), kind));
    }
    LODE_TRY(check_encoding(code, source.name(), Errc::invalid_argument));
    if (const auto at = code.find('\0'); at != std::string::npos) {
        return fail(Errc::invalid_argument,
                    fmt::format("'{}' isn't source text: byte {} of {} is NUL.", source.name(), at,
                                code.size()));
    }
    code.erase(0, byte_order_mark_size(code));
    return code;
}

Result<Image> collect(const Compilation& job, const NvrtcProgram& program, SplitLog log) {
    Image image;
    image.name = job.request.source.name();
    image.arch = job.request.arch;
    if (job.request.options.lto) {
        LODE_TRY_ASSIGN(image.lto_ir, program.lto_ir());
    } else if (job.request.options.optix_ir) {
        LODE_TRY_ASSIGN(image.optix_ir, program.optix_ir());
    } else if (job.request.options.tile != Tile::only) {
        LODE_TRY_ASSIGN(image.ptx, program.ptx());
        if (has_lines(job.request.options)) {
            if (const auto path = quoted_file_of_ptx(image.ptx); !path.empty())
                return fail_for_quoted_path(job, path);
        }
        if (job.request.arch.is_real()) {
            LODE_TRY_ASSIGN(image.cubin, program.cubin());
        }
    }
    if (job.request.options.tile != Tile::none) {
        LODE_TRY_ASSIGN(image.tile_ir, program.tile_ir());
    }
    for (const auto& name : job.request.name_expressions) {
        LODE_TRY_ASSIGN(image.lowered_names[name], program.lowered_name(name));
    }
    image.kernels = kernels_of_ptx(image.ptx);
    if (job.request.options.tile != Tile::only) image.resources = std::move(log.resources);
    image.diagnostics = parse_diagnostics(log.messages);
    image.log = std::move(log.messages);

    job.nvrtc.learn_build(build_in_ptx(image.ptx));
    LODE_TRY_ASSIGN(const auto build, job.nvrtc.build());
    image.compiler = fmt::format("NVRTC {}", build);
    return image;
}

/// The image of an outcome, or why there is none.
Result<Image> image_of(const Compilation& job, const Outcome& outcome) {
    const auto& [program, result, raw_log] = outcome;
    if (result == NVRTC_ERROR_CANCELLED) return fail_cancelled(job.request.source.name());
    auto log = split_ptxas_report(raw_log);
    if (result != NVRTC_SUCCESS)
        return fail_compile(job, result, std::move(log.messages), [&] { return ptx_alone(job); });
    return collect(job, program, std::move(log));
}

/// The image of a job at another time, with the same files.
Result<Image> image_at(CompilerTime time, const Compilation& job,
                       std::span<const std::string> flags) {
    CompileFiles files;
    files.compiler = FileAccesses(job.files.compiler.record());
    files.compiler.set_virtual_folders(virtual_folders(job));
    files.compiler.give(time);
    const Compilation timed = job.with(files);
    LODE_TRY_ASSIGN(const auto outcome, run_plainly(timed, flags));
    return image_of(timed, outcome);
}

bool is_same(const Result<Image>& a, const Result<Image>& b) {
    if (!a || !b)
        return !a && !b && a.error().message == b.error().message && a.error().log == b.error().log;
    return a->cubin == b->cubin && a->ptx == b->ptx && a->lto_ir == b->lto_ir &&
           a->tile_ir == b->tile_ir && a->optix_ir == b->optix_ir &&
           a->lowered_names == b->lowered_names && a->log == b->log;
}

/// compile_with() on its thread.
///
/// The compiler gets a constant time, unless the request itself asks for the time. Where other
/// texts may do so, it compiles again with a time that no code can use. If that makes a difference,
/// the result is the one at the real time.
Result<Image> compile_here(const Compilation& job, PchUse pch) {
    CompileFiles& seen = job.files;
    LODE_TRY_ASSIGN(auto flags, assemble_flags(job, job.request.arch));
    // With --tile-only NVRTC (13.3 to 13.5) knows the symbol of no name expression.
    if (job.request.options.tile == Tile::only && !job.request.name_expressions.empty())
        std::ranges::replace(flags, "--tile-only", "--enable-tile");
    const bool is_timed = mentions_time(job.request);
    seen.compiler.set_virtual_folders(virtual_folders(job));
    LODE_TRY_ASSIGN(auto outcome, run_precompiled(job, flags, is_timed ? PchUse() : pch));
    if (!outcome || note_unit(job)) {
        if (is_timed) seen.compiler.give(CompilerTime::real);
        LODE_TRY_ASSIGN(outcome, run_plainly(job, flags));
        note_unit(job);
    }
    auto image = image_of(job, *outcome);
    if (seen.uses_time && !is_timed) {
        seen.uses_time = !is_same(image, image_at(CompilerTime::unusable, job, flags));
        if (seen.uses_time) image = image_at(CompilerTime::real, job, flags);
    }
    seen.compiler_files = job.nvrtc.files();
    return image;
}

}  // namespace

bool note_texts(CompileFiles& files, const CompileRequest& request,
                std::span<const std::filesystem::path> toolkit) {
    const TranslationUnit unit(request, files.compiler, toolkit);
    files.uses_time = unit.may_use_time();
    files.may_name_files = unit.may_name_files();
    files.may_join_questions = unit.may_join_questions();
    return files.uses_time || unit.may_name_source();
}

Result<Image> wrap_ptx(const Source& source) {
    LODE_TRY_ASSIGN(auto code, source.read());
    return Image::from_ptx(std::move(code), source.name());
}

Result<Image> compile_with(const NvrtcLibrary& nvrtc, const CompileRequest& request,
                           const CompileContext& context) {
    const auto& [source, arch, options, names, limits] = request;
    if (source.language() == Source::Language::ptx) return wrap_ptx(source);
    CompileFiles unwanted;
    CompileFiles& seen = context.files != nullptr ? *context.files : unwanted;
    seen.is_watched = nvrtc.watches_files();
    const auto headers = assemble_headers(request, seen, context.source_files);
    LODE_TRY(compile_flags(options));
    LODE_TRY(check_arch(fmt::format("NVRTC {}.{}", nvrtc.version_major(), nvrtc.version_minor()),
                        nvrtc.supported(), arch));
    LODE_TRY(check_tile(nvrtc, options));
    LODE_TRY(check_include_folders(options));
    LODE_TRY_ASSIGN(auto code, read_code(source));
    const CompileRequest read{source.pinned(std::move(code)), arch, options, names};
    Compilation job{nvrtc, read, headers, seen, context.source_files};
    if (context.control != nullptr)
        job.should_stop = [&control = *context.control] { return control.is_stopped(); };
    Result<Image> image;
    LODE_TRY(on_compiler_thread([&] { image = compile_here(job, context.pch); }));
    if (count_of_foreign_compilations() > 0)
        seen.compiler_state = "other code of this process compiles with the same NVRTC";
    return image;
}

}  // namespace LODE_NAMESPACE
