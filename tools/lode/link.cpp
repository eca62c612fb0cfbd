// `lode link`: links objects, PTX, LTO-IR and fat binaries to one cubin, offline.
#include "base/try.hpp"
#include "tools/lode/command_line.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/input.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/result_file.hpp"
#include "tools/lode/target.hpp"

#include <lode/jit/linker.hpp>

#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

namespace lode::tool {
namespace {

struct LinkCommand {
    std::vector<std::string> files;
    std::string output;
    std::string arch;
    bool device_runtime = false;
    bool report = false;
    LinkOptions options;
};

/// The work's inputs, read and checked.
struct LinkJob {
    std::vector<std::string> files;
    std::filesystem::path output;
    ArchChoice arch;
    bool device_runtime;
    bool report;
    LinkOptions options;
};

/// What is written: the linked LTO-IR if it is asked for, else the code.
struct LinkResult {
    std::string_view kind;  ///< As the file ends.
    std::string_view name;
    std::span<const std::byte> bytes;

    static LinkResult of(const Image& image, const LinkOptions& options) {
        if (options.keep_lto_ir) return {"ltoir", "LTO-IR", image.lto_ir};
        if (image.arch.is_real()) return {"cubin", "machine code", image.cubin};
        return {"ptx", "PTX", std::as_bytes(std::span(image.ptx))};
    }
};

Result<LinkJob> read_link_request(const LinkCommand& command) {
    LODE_TRY(check_inputs(command.files));
    LODE_TRY_ASSIGN(auto arch, read_arch(command.arch));
    if (!command.arch.empty()) {
        LODE_TRY_ASSIGN(const auto target, arch());
        Image nothing;
        nothing.arch = target;
        const auto result = LinkResult::of(nothing, command.options);
        LODE_TRY(check_result_kind(command.output, result.kind,
                                   fmt::format("{} for {}", result.name, target.to_string()),
                                   target));
    }
    return LinkJob{command.files,          command.output, std::move(arch),
                   command.device_runtime, command.report, command.options};
}

Result<std::vector<LinkInput>> read_link_inputs(const LinkJob& request) {
    std::vector<LinkInput> inputs;
    for (const auto& file : request.files) {
        LODE_TRY_ASSIGN(const auto bytes, read_input(file));
        auto input = LinkInput::from_bytes(bytes, input_name(file));
        if (!input) {
            Error error = std::move(input).error();
            if (std::filesystem::path(file).extension() == ".cu")
                error.message += " `lode compile` compiles CUDA C++ first.";
            return tl::unexpected(std::move(error));
        }
        inputs.push_back(*std::move(input));
    }
    if (request.device_runtime) {
        LODE_TRY_ASSIGN(auto runtime, LinkInput::device_runtime());
        inputs.push_back(std::move(runtime));
    }
    return inputs;
}

Result<Answer> link(const LinkJob& request) {
    LODE_TRY_ASSIGN(const auto arch, request.arch());
    LODE_TRY_ASSIGN(const auto inputs, read_link_inputs(request));
    LODE_TRY_ASSIGN(const Image image, Linker().link(inputs, arch, request.options));
    const auto [kind, name, bytes] = LinkResult::of(image, request.options);
    LODE_TRY(write_result(request.output, bytes));

    Answer answer;
    Json list = Json::array();
    for (const auto& input : inputs) {
        list.push_back({{"name", input.name},
                        {"kind", to_string(input.kind)},
                        {"arch", input.arch ? Json(input.arch->to_string()) : Json()},
                        {"bytes", input.bytes.size()}});
    }
    answer.text = fmt::format("{}, {} for {}, {}, of {} input{}\n", request.output.string(), name,
                              arch.to_string(), bytes_text(bytes.size()), inputs.size(),
                              inputs.size() == 1 ? "" : "s");
    if (request.report) answer.text += "\n" + kernels_text(image);
    answer.notes = image.log;
    if (!answer.notes.empty() && !answer.notes.ends_with('\n')) answer.notes += '\n';
    answer.fields = {
        {"inputs", std::move(list)},
        {"linker", image.compiler},
        {"arch", arch.to_string()},
        {"file", {{"kind", kind}, {"path", request.output.string()}, {"bytes", bytes.size()}}},
        {"lowered_names", Json(image.lowered_names)},
        {"kernels", kernels_json(image)},
        {"log", image.log}};
    return answer;
}

}  // namespace

Command declare_link(CLI::App& app) {
    auto* command =
        app.add_subcommand("link", "Link PTX, cubins, LTO-IR, fat binaries and objects to a cubin");
    const auto values = std::make_shared<LinkCommand>();
    const auto* files =
        command
            ->add_option("FILE", values->files,
                         "The inputs, recognised by their content; - is standard input")
            ->required()
            ->type_name("");
    const auto* output = command->add_option("-o,--output", values->output, "The file to write")
                             ->required()
                             ->type_name("FILE");
    command
        ->add_option("--arch", values->arch,
                     "The target: sm_90, native for the visible device's, or compute_90 for PTX, "
                     "which needs LTO-IR as the input. Default: native")
        ->type_name("ARCH");
    command->add_flag("--lto", values->options.lto,
                      "Optimise across the inputs; LTO-IR in a file of its own implies it");
    command->add_flag("--lto-ir", values->options.keep_lto_ir,
                      "Write the linked LTO-IR, for a later link, instead of code; needs nvJitLink "
                      "of CUDA 13.3");
    command->add_flag("--device-runtime", values->device_runtime,
                      "Also link the toolkit's libcudadevrt.a, for kernels that launch kernels");
    command->add_flag("--line-info", values->options.line_info, "Keep source lines for profilers");
    command->add_flag("--debug", values->options.debug, "Keep debug information");
    command
        ->add_option("--max-registers", values->options.max_registers,
                     "Maximum number of registers per thread")
        ->transform(whole_number(0, most_registers))
        ->type_name("N");
    command
        ->add_option("--flag", values->options.extra_flags,
                     "Pass a flag to nvJitLink as it is: --flag=-Xptxas=-dlcm=cg")
        ->allow_extra_args(false)
        ->type_name("FLAG");
    command->add_flag("--report", values->report, "Show each kernel's resources and parameters");
    return {command,
            [values]() -> Result<Work> {
                values->options.verbose = values->report;
                LODE_TRY_ASSIGN(auto request, read_link_request(*values));
                return [request = std::move(request)] { return link(request); };
            },
            true,
            false,
            {files},
            {output}};
}

}  // namespace lode::tool
