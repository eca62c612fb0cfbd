// `lode compile`: compiles CUDA C++, NVVM IR, LLVM IR and PTX to cubin and PTX files, offline.
#include "base/message_text.hpp"
#include "base/ptx_scan.hpp"
#include "base/try.hpp"
#include "tools/lode/command_line.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/input.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/output.hpp"
#include "tools/lode/progress.hpp"
#include "tools/lode/result_file.hpp"
#include "tools/lode/target.hpp"

#include <lode/jit/cache.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace lode::tool {
namespace {

struct CompileCommand {
    std::vector<std::string> files;
    std::vector<std::string> arch_names;
    TargetFlags target;
    bool explain = false;
    CompileFlags flags;
    std::vector<std::string> name_expressions;
    std::optional<std::string> output;
    std::string folder = ".";
    bool ptx = false;
    bool report = false;
    std::optional<int> jobs;
};

/// The work's inputs, read and checked.
struct CompileJob {
    std::vector<std::string> files;
    bool is_llvm_ir;
    ArchList archs;
    std::optional<Result<Target>> target;  ///< Instead of archs.
    bool explain;
    CompileOptions options;
    std::vector<std::string> name_expressions;
    std::filesystem::path output;  ///< The only result; empty: files in the folder.
    std::filesystem::path folder;
    bool ptx;
    bool report;
    std::optional<int> jobs;  ///< How many architectures to compile at once.
};

tl::unexpected<Error> fail_for_ptx(const std::string& file) {
    return fail(
        Errc::invalid_argument,
        fmt::format("{} is PTX already. Name machine code to make of it: --arch sm_90.", file));
}

tl::unexpected<Error> fail_for_languages(const std::string& first, const std::string& file) {
    return fail(
        Errc::invalid_argument,
        fmt::format("{} and {} are in different languages. Compile them separately.", first, file));
}

/// The name of a file's outputs, before the architecture.
std::string stem_of(const std::string& file) {
    return std::filesystem::path(input_name(file)).stem().string();
}

/// All files are in one language, and no two may have the same outputs.
Status check_files(const CompileCommand& command) {
    LODE_TRY(check_inputs(command.files));
    std::map<std::string, std::string> written;
    const auto& first = command.files.front();
    for (const auto& file : command.files) {
        const auto language = [&](const auto& name) {
            return language_of(name, command.flags.llvm_ir);
        };
        if (language(file) != language(first) && file != standard_input && first != standard_input)
            return fail_for_languages(first, file);
        LODE_TRY(check_options(file, command.flags));
        const auto [other, is_new] = written.try_emplace(stem_of(file), file);
        if (is_new) continue;
        if (other->second == file) {
            return fail(Errc::invalid_argument,
                        fmt::format("'{}' is named twice; name each source once.", file));
        }
        return fail(Errc::invalid_argument,
                    fmt::format("{} and {} would have the same output, {}.ARCH.cubin. Compile them "
                                "separately, each with an --out-dir of its own.",
                                other->second, file, other->first));
    }
    return {};
}

/// The kinds of files that a compilation for `arch` gives, as they end.
std::vector<std::string> kinds_of(const CompileJob& job, const Arch& arch) {
    std::vector<std::string> kinds;
    const bool has_code =
        job.options.tile != Tile::only && !job.options.lto && !job.options.optix_ir;
    if (has_code && arch.is_real()) kinds.emplace_back("cubin");
    if (has_code && (job.ptx || !arch.is_real())) kinds.emplace_back("ptx");
    if (job.options.lto) kinds.emplace_back("ltoir");
    if (job.options.optix_ir) kinds.emplace_back("optixir");
    if (job.options.tile != Tile::none) kinds.emplace_back("tileir");
    return kinds;
}

/// Whether there is one result, of the kind that --output names.
Status check_one_result(const CompileJob& job) {
    auto archs = job.archs.archs;
    if (job.target && *job.target) archs = {(*job.target)->arch};
    std::vector<std::string> results;
    std::vector<std::string> kinds;
    for (const auto& file : job.files) {
        for (const auto& arch : archs) {
            kinds = kinds_of(job, arch);
            for (const auto& kind : kinds)
                results.push_back(fmt::format("{}.{}.{}", stem_of(file), arch.to_string(), kind));
        }
        if (job.archs.all) results.push_back(stem_of(file) + ".ARCH.cubin for every architecture");
    }
    if (results.size() > 1 || job.archs.all) {
        return fail(Errc::invalid_argument,
                    fmt::format("--output names one file, but the results are {}. Name their "
                                "folder with --out-dir.",
                                listed(results)));
    }
    if (results.empty()) return {};  // The work says why there is no target.
    return check_result_kind(job.output, kinds.front(), results.front(), archs.front());
}

Result<CompileJob> read_job(const CompileCommand& command) {
    LODE_TRY(check_files(command));
    if (!command.output) LODE_TRY(check_result_folder(command.folder));
    LODE_TRY_ASSIGN(auto options, to_compile_options(command.flags));
    if (command.ptx && (options.lto || options.optix_ir || options.tile == Tile::only)) {
        return fail(Errc::invalid_argument,
                    fmt::format("--ptx and --{} exclude each other: there is no PTX.",
                                options.lto        ? "lto"
                                : options.optix_ir ? "optix-ir"
                                                   : "tile only"));
    }
    const auto language = language_of(command.files.front(), command.flags.llvm_ir);
    LODE_TRY_ASSIGN(auto archs, read_arch_list(command.arch_names, language));
    const auto is_virtual = [](const Arch& arch) { return !arch.is_real(); };
    if (language == Source::Language::ptx && std::ranges::any_of(archs.archs, is_virtual))
        return fail_for_ptx(command.files.front());
    std::optional<Result<Target>> target;
    if (command.arch_names.empty()) {
        LODE_TRY_ASSIGN(const auto request, read_target(command.target, language));
        target = choose_for(request);
    } else if (command.explain || command.target.any()) {
        return fail(Errc::invalid_argument,
                    "--arch sets the target, but --explain, --for, --suffix and --driver are for a "
                    "target that lode chooses. Leave out --arch.");
    }
    CompileJob job{command.files,
                   command.flags.llvm_ir,
                   std::move(archs),
                   std::move(target),
                   command.explain,
                   std::move(options),
                   command.name_expressions,
                   command.output.value_or(""),
                   command.folder,
                   command.ptx,
                   command.report,
                   command.jobs};
    if (command.output) LODE_TRY(check_one_result(job));
    return job;
}

/// The architectures asked for, with "all" replaced by those that the compiler reports and PTX
/// runs on.
Result<std::vector<Arch>> expand(const ArchList& list, const CachedCompiler& compiler,
                                 const Source& source) {
    std::vector<Arch> archs;
    if (list.all) {
        LODE_TRY_ASSIGN(const auto info, compiler.info(source.language()));
        std::optional<Arch> least;  // PTX's own target.
        if (source.language() == Source::Language::ptx) {
            LODE_TRY_ASSIGN(const std::string code, source.read());
            least = ptx_target_of(code);
        }
        for (const auto cc : info.supported)
            if (!least || least->runs_on(cc)) archs.emplace_back(cc);
    }
    for (const auto& arch : list.archs) {
        if (std::ranges::find(archs, arch) == archs.end()) archs.push_back(arch);
    }
    return archs;
}

/// One file to write. Its path is made from the source's name, the architecture and the kind.
struct Output {
    std::string kind;
    std::filesystem::path path;
    std::span<const std::byte> bytes;
};

std::vector<Output> outputs_of(const std::string& file, const Image& image, const CompileJob& job) {
    std::vector<Output> outputs;
    for (auto& kind : kinds_of(job, image.arch)) {
        const auto bytes = kind == "cubin"     ? std::span(image.cubin)
                           : kind == "ptx"     ? std::as_bytes(std::span(image.ptx))
                           : kind == "ltoir"   ? std::span(image.lto_ir)
                           : kind == "optixir" ? std::span(image.optix_ir)
                                               : std::span(image.tile_ir);
        if (bytes.empty()) continue;  // Not every source has tile kernels.
        auto path = job.output;
        if (path.empty()) {
            path =
                job.folder / fmt::format("{}.{}.{}", stem_of(file), image.arch.to_string(), kind);
        }
        outputs.push_back({std::move(kind), std::move(path), bytes});
    }
    return outputs;
}

Json image_json(const std::string& file, const CachedImage& cached,
                const std::vector<Output>& outputs) {
    const Image& image = *cached.image;
    Json json = {{"source", file},
                 {"arch", image.arch.to_string()},
                 {"code", to_json(cached.report)},
                 {"files", Json::array()}};
    for (const auto& output : outputs) {
        json["files"].push_back({{"kind", output.kind},
                                 {"path", output.path.string()},
                                 {"bytes", output.bytes.size()}});
    }
    json["lowered_names"] = Json(image.lowered_names);
    json["kernels"] = kernels_json(image);
    json["diagnostics"] = Json::array();
    for (const auto& diagnostic : image.diagnostics)
        json["diagnostics"].push_back(to_json(diagnostic));
    json["log"] = image.log;
    return json;
}

/// The files, all in one language; standard input shows its own only now.
Result<std::vector<Source>> sources_of(std::span<const std::string> files, bool is_llvm_ir) {
    std::vector<Source> sources;
    for (const auto& file : files) {
        LODE_TRY_ASSIGN(sources.emplace_back(Source::text({})), source_of(file, is_llvm_ir));
        if (sources.back().language() != sources.front().language())
            return fail_for_languages(files.front(), file);
    }
    return sources;
}

/// One request for each source and architecture, in this order.
Result<std::vector<CompileRequest>> requests_of(const CompileJob& job,
                                                std::span<const Source> sources,
                                                std::span<const Arch> archs) {
    std::vector<CompileRequest> requests;
    for (const auto& source : sources) {
        for (const auto& arch : archs) {
            if (source.language() == Source::Language::ptx && !arch.is_real())
                return fail_for_ptx(source.name());
            requests.push_back({source, arch, job.options, job.name_expressions, {}});
        }
    }
    return requests;
}

/// Compiles everything first, so that a failure leaves no file behind: as many requests at once as
/// there are workers. The images are in the order of the requests; an error is that of the first
/// one that fails.
Result<std::vector<CachedImage>> compile_all(std::span<const CompileRequest> requests,
                                             const CachedCompiler& compiler,
                                             ProgressLine& progress) {
    progress.expect(requests.size());
    std::vector<CachedImage> images;
    if (compiler.options().workers.policy != WorkerPolicy::always) {
        for (const auto& request : requests) {
            LODE_TRY_ASSIGN(auto image,
                            compiler.compile(request.source, request.arch, request.options,
                                             request.name_expressions));
            images.push_back(std::move(image));
        }
        return images;
    }
    std::vector<Pending<CachedImage>> all;
    for (const auto& request : requests)
        all.push_back(compiler.compile_async(request));
    for (const auto& pending : all) {
        auto image = pending.get();
        if (!image) {
            for (const auto& other : all)
                other.cancel();
            return tl::unexpected<Error>(std::move(image).error());
        }
        images.push_back(*std::move(image));
    }
    return images;
}

Result<Answer> compile(const CompileJob& job) {
    LODE_TRY_ASSIGN(auto cache, options_to_compile(job.jobs));
    ProgressLine progress;
    cache.events = progress.hook();
    const CachedCompiler compiler({}, cache);
    ArchList archs = job.archs;
    std::optional<Target> target;
    if (job.target) {
        LODE_TRY_ASSIGN(target, *job.target);
        archs.archs = {target->arch};
    }
    LODE_TRY_ASSIGN(const auto sources, sources_of(job.files, job.is_llvm_ir));
    LODE_TRY_ASSIGN(const auto targets, expand(archs, compiler, sources.front()));
    LODE_TRY_ASSIGN(const auto requests, requests_of(job, sources, targets));
    LODE_TRY_ASSIGN(const auto images, compile_all(requests, compiler, progress));

    Answer answer;
    Json list = Json::array();
    std::vector<std::string> names;
    std::string last_log;
    for (std::size_t i = 0; i < job.files.size(); ++i) {
        const auto& file = job.files[i];
        const auto& name = requests[i * targets.size()].source.name();
        names.push_back(name);
        Table files({{"target"}, {"size", Align::right}, {"file"}, {"code"}});
        std::string reports;
        for (const auto& cached : std::span(images).subspan(i * targets.size(), targets.size())) {
            const Image& image = *cached.image;
            const auto outputs = outputs_of(file, image, job);
            for (const auto& output : outputs) {
                LODE_TRY(write_result(output.path, output.bytes));
                files.row({image.arch.to_string(), bytes_text(output.bytes.size()),
                           output.path.string(), cached.report.to_string()});
            }
            if (image.log != last_log) answer.notes += image.log;  // Once if targets agree.
            last_log = image.log;
            if (job.report) {
                reports += fmt::format("\n{}\n{}", image.arch.to_string(), kernels_text(image));
            }
            list.push_back(image_json(name, cached, outputs));
        }
        answer.text += fmt::format("{}{}, {}\n{}{}", i == 0 ? "" : "\n", visible(name, {}),
                                   images.front().image->compiler, files.to_string(), reports);
    }
    if (!answer.notes.empty() && !answer.notes.ends_with('\n')) answer.notes += '\n';
    answer.fields = {{"sources", names},
                     {"compiler", images.front().image->compiler},
                     {"images", std::move(list)}};
    if (job.files.size() == 1) answer.fields["source"] = names.front();
    if (job.explain) {
        answer.text = to_text(*target) + answer.text;
        answer.fields["target"] = to_json(*target);
    }
    return answer;
}

}  // namespace

void declare_compile_flags(CLI::App& command, CompileFlags& flags) {
    constexpr const char* group = "Compilation";
    const auto add = [&](const char* names, auto& value, const char* meaning, const char* kind) {
        return command.add_option(names, value, meaning)->type_name(kind)->group(group);
    };
    add("-D,--define", flags.definitions, "Define a macro: N, N=4 or \"SQ(x)=x*x\"", "NAME[=VALUE]")
        ->allow_extra_args(false);
    add("-I,--include", flags.include_folders, "Search this folder for headers", "DIR")
        ->allow_extra_args(false);
    add("--std", flags.standard, "The C++ dialect: 11, 14, 17 (default) or 20", "N");
    add("--math", flags.math, "ieee (default), fast or host_comparable", "PRESET");
    command.add_flag("--fast-math", flags.fast_math, "The same as --math fast")->group(group);
    command.add_flag("--line-info", flags.line_info, "Keep source lines for profilers")
        ->group(group);
    command.add_flag("--debug", flags.debug, "Full debug information, no optimisation")
        ->group(group);
    command
        .add_flag("--relocatable", flags.relocatable,
                  "Code that `lode link` completes: it may call functions of other files")
        ->group(group);
    command.add_flag("--lto", flags.lto, "LTO-IR for `lode link`, instead of machine code and PTX")
        ->group(group);
    command
        .add_flag("--optix-ir", flags.optix_ir,
                  "OptiX IR for optixModuleCreate(), instead of machine code and PTX")
        ->group(group);
    command.add_flag("--llvm-ir", flags.llvm_ir, "A .ll or .bc file is LLVM IR, not NVVM IR")
        ->group(group);
    add("--max-registers", flags.max_registers, "Maximum number of registers per thread", "N")
        ->transform(whole_number(0, most_registers));
    add("--tile", flags.tile,
        "Compile tile kernels to Tile IR: none (default), enabled, or only them", "MODE");
    add("--flag", flags.extra_flags,
        "A flag of NVRTC or nvcc that has no option here: --flag=--restrict", "FLAG")
        ->allow_extra_args(false);
}

Command declare_compile(CLI::App& app) {
    auto* command = app.add_subcommand(
        "compile", "Compile CUDA C++, NVVM IR, LLVM IR or PTX to cubins and PTX, without a device");
    const auto values = std::make_shared<CompileCommand>();
    const auto* files =
        command
            ->add_option(
                "FILE", values->files,
                "The source files: CUDA C++, IR in .ll and .bc, or PTX; - is standard input")
            ->required()
            ->type_name("");
    command
        ->add_option(
            "--arch", values->arch_names,
            "Targets, separated by commas: sm_80,sm_90a, compute_90 for PTX alone, native for the "
            "visible devices', or all. Default: the visible device's")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("ARCH");
    command
        ->add_option("--for", values->target.device,
                     "Without --arch: choose the target for a device of this capability")
        ->type_name("X.Y");
    command
        ->add_option("--suffix", values->target.suffix,
                     "Prefer the target with this suffix where the device has one: a, f or none")
        ->type_name("SUFFIX");
    command->add_option("--driver", values->target.driver, "With --for: that device's CUDA version")
        ->type_name("X.Y");
    command->add_flag("--explain", values->explain,
                      "Explain why lode chose the target and refused every other one");
    command->add_flag("--ptx", values->ptx, "Write the PTX beside each cubin");
    command
        ->add_option("--name", values->name_expressions,
                     "Instantiate this template and print its symbol, e.g. \"scale<float>\"")
        ->allow_extra_args(false)
        ->type_name("EXPR");
    auto* output =
        command
            ->add_option("-o,--output", values->output, "The file to write, if there is one result")
            ->type_name("FILE");
    command
        ->add_option("--out-dir", values->folder,
                     "The folder to write to, if there is no --output: NAME.ARCH.cubin and so on")
        ->type_name("DIR")
        ->capture_default_str()
        ->excludes(output);
    command->add_flag("--report", values->report, "Show each kernel's resources and parameters");
    command
        ->add_option("-j,--jobs", values->jobs,
                     "Compile this many architectures at once, each in a process of its own. "
                     "Default: LODE_WORKERS if it is a number, else 1")
        ->transform(whole_number(1, most_jobs))
        ->type_name("N");
    declare_compile_flags(*command, values->flags);
    command->footer(
        "Without --output, results are named after FILE, with .ARCH.cubin, .ARCH.ptx, .ARCH.ltoir, "
        ".ARCH.tileir or .ARCH.optixir in place of its extension.");

    return {command,
            [values]() -> Result<Work> {
                LODE_TRY_ASSIGN(auto job, read_job(*values));
                return [job = std::move(job)] { return compile(job); };
            },
            true,
            true,
            {files},
            {output}};
}

}  // namespace lode::tool
