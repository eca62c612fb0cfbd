#include "jit/compile_ptx.hpp"

#include "base/message_text.hpp"
#include "base/try.hpp"
#include "jit/compile_failure.hpp"
#include "jit/diagnostics.hpp"
#include "jit/link_checks.hpp"
#include "jit/ptxas_report.hpp"
#include "jit/request/link_call.hpp"
#include "jit/request/refused_options.hpp"
#include "jit/target_rules.hpp"
#include "jit/text.hpp"

#include <lode/jit/target.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// The members of CompileOptions that an assembler has, or that change nothing for it.
constexpr std::string_view assembler_members[] = {
    "max_registers", "line_info", "debug", "source_files", "extra_flags", "toolkit_headers"};

/// The assembler's option in one of the spellings of nvcc's flag; empty if it is another flag.
std::string_view assembler_option(std::string_view flag) {
    for (const std::string_view spelling : {"-Xptxas=", "--ptxas-options="})
        if (take_prefix(flag, spelling) && !is_opaque_link_flag(flag)) return flag;
    return {};
}

/// The messages of a link without what -verbose adds, which differs between equal links.
std::string messages_of(std::string_view log) {
    const std::string rest = split_ptxas_report(log).messages;
    std::string messages;
    for (std::string_view lines = rest; !lines.empty();) {
        const auto line = take_line(lines);
        // nvJitLink 12 marks the lines.
        if (!line.starts_with("info ") && !line.starts_with("@O@info "))
            messages.append(line).push_back('\n');
    }
    return messages;
}

/// A log's messages, with the source's name in the place of nvJitLink's for every input.
std::vector<Diagnostic> diagnostics_of(std::string_view log, const std::string& name) {
    auto diagnostics = parse_diagnostics(log);
    for (auto& diagnostic : diagnostics)
        if (!diagnostic.file.empty()) diagnostic.file = name;
    return diagnostics;
}

}  // namespace

Result<LinkOptions> ptx_options(const CompileRequest& request) {
    const CompileOptions& options = request.options;
    if (const auto member = refused_member(options, assembler_members); !member.empty()) {
        return fail_for_option(request, "CompileOptions::" + member,
                               "it is an option of compilers that make PTX");
    }
    if (!request.name_expressions.empty()) {
        return fail_for_option(
            request, fmt::format("the name expression '{}'", request.name_expressions.front()),
            "only C++ has templates; name a kernel by its symbol");
    }
    LinkOptions made;
    for (const auto& flag : options.extra_flags) {
        const auto option = assembler_option(flag);
        if (option.empty()) {
            return fail_for_option(
                request, fmt::format("the extra flag '{}'", flag),
                "only -Xptxas=OPTION is for assemblers, and an OPTION that names a file "
                "isn't taken");
        }
        made.extra_flags.push_back(fmt::format("-Xptxas={}", option));
    }
    made.max_registers = options.max_registers;
    made.line_info = options.line_info && !options.debug;
    made.debug = options.debug;
    made.verbose = true;  // For Image::resources.
    LODE_TRY(link::check_options(made));
    return made;
}

Result<Image> assemble(const nvjitlink::Library& linker, const CompileRequest& request,
                       const LinkOptions& options, std::string_view ptx, FileAccesses& accesses) {
    LinkInput input;
    input.kind = LinkInput::Kind::ptx;
    input.name = request.source.name();
    const auto bytes = as_bytes(ptx);
    input.bytes.assign(bytes.begin(), bytes.end());
    auto linked = nvjitlink::link(linker, std::span(&input, 1), request.arch, options, accesses);
    if (linked)
        linked->log = messages_of(linked->log);
    else if (linked.error().code == Errc::link_failed)
        linked.error().code = Errc::compile_failed;
    return linked;
}

LinkerSearch linker_search_of(const NvrtcSearchEnvironment& here) {
    return {.library = here.chosen};
}

Result<std::shared_ptr<const PtxTools>> PtxTools::open(const NvrtcSearchEnvironment& here) {
    LODE_TRY_ASSIGN(auto linker, nvjitlink::open(linker_search_of(here)).map_error([](Error error) {
        if (error.code == Errc::not_found) error.code = Errc::compiler_missing;
        return error;
    }));
    return std::shared_ptr<const PtxTools>(new PtxTools(std::move(linker)));
}

std::string PtxTools::describe() const {
    return fmt::format("{} ({})", product, linker_.info.path.string());
}

Result<CompilerProperties> PtxTools::properties() const {
    return nvjitlink::properties_of(linker_, file_);
}

Result<Image> PtxTools::compile(const CompileRequest& request,
                                const CompileContext& context) const {
    CompileFiles unwanted;
    CompileFiles& seen = context.files != nullptr ? *context.files : unwanted;
    seen.is_watched = watches_files();
    seen.compiler_files = {file_};
    LODE_TRY_ASSIGN(const LinkOptions options, ptx_options(request));
    LODE_TRY(check_arch(linker_.info.name(), target_rules::capabilities_of(linker_.info.version),
                        request.arch));
    LODE_TRY_ASSIGN(Image source, wrap_ptx(request.source));
    if (!source.arch.runs_on(request.arch.cc())) {
        return fail(Errc::unsupported_arch,
                    fmt::format("'{}' is PTX for {}, which {} can't run.", source.name,
                                source.arch.to_string(), request.arch.to_string()));
    }
    auto made = assemble(linker_, request, options, source.ptx, seen.compiler);
    if (!made) {
        Error& error = made.error();
        const auto found = diagnostics_of(error.log, source.name);
        if (error.code == Errc::compile_failed && !found.empty())
            error.message = fmt::format("'{}' doesn't compile for {}: {}.", source.name,
                                        request.arch.to_string(), describe_errors(found));
        return made;
    }
    made->kernels = std::move(source.kernels);
    made->ptx = std::move(source.ptx);
    made->diagnostics = diagnostics_of(made->log, source.name);
    return made;
}

}  // namespace LODE_NAMESPACE
