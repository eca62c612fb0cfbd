// `lode run`: compiles a kernel for a device, launches it with the given arguments, and shows the
// results.
#include "base/cxx_names.hpp"
#include "base/file.hpp"
#include "base/identifier.hpp"
#include "base/try.hpp"
#include "tools/lode/arguments.hpp"
#include "tools/lode/buffer_content.hpp"
#include "tools/lode/command_line.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/emulation_report.hpp"
#include "tools/lode/input.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/output.hpp"
#include "tools/lode/progress.hpp"
#include "tools/lode/result_file.hpp"
#include "tools/lode/sarif.hpp"

#include <lode/runtime/runtime.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::tool {
namespace {

constexpr std::size_t head_count = 8;
constexpr int max_repeat = 10000;

struct RunCommand {
    std::string file;
    std::string kernel;
    std::vector<std::string> arguments;
    std::string grid;
    std::string block = "256";
    std::optional<std::uint64_t> cover;
    std::uint32_t shared_bytes = 0;
    int device = 0;
    int repeat = 1;
    std::string arch;
    std::optional<std::string> checks;
    std::optional<std::string> findings;
    CompileFlags flags;
};

/// The work's inputs, read and checked.
struct RunRequest {
    std::string file;
    bool is_llvm_ir;
    std::string kernel;
    std::vector<Argument> arguments;
    LaunchShape shape;
    int device;
    int repeat;
    std::optional<Arch> arch;
    CompileOptions options;
    std::filesystem::path findings;                  ///< Empty: none.
    std::shared_ptr<const MemoryFile> journal = {};  ///< What the software device finds.
};

Result<LaunchShape> read_shape(const RunCommand& command) {
    if (command.grid.empty() == !command.cover) {
        return fail(Errc::invalid_argument,
                    "Pass exactly one of --grid and --cover to say how many blocks to launch.");
    }
    LODE_TRY_ASSIGN(const Dim3 block, parse_dim3("--block", command.block));
    LaunchShape shape;
    if (command.cover) {
        if (block.y != 1 || block.z != 1) {
            return fail(Errc::invalid_argument,
                        fmt::format("--cover needs a block of one dimension, and --block is {}.",
                                    command.block));
        }
        constexpr std::uint64_t most_blocks = 0x7fffffff;
        const auto blocks = (*command.cover - 1) / block.x + 1;
        if (blocks > most_blocks) {
            return fail(Errc::invalid_argument,
                        fmt::format("--cover is {}, which takes {} blocks of {} threads; a grid "
                                    "has at most {}.",
                                    *command.cover, blocks, block.x, most_blocks));
        }
        shape = cover(*command.cover, block.x);
    } else {
        LODE_TRY_ASSIGN(shape.grid, parse_dim3("--grid", command.grid));
        shape.block = block;
    }
    shape.dynamic_shared_bytes = command.shared_bytes;
    return shape;
}

/// Refuses what was meant as the first argument.
Status check_kernel_name(const RunCommand& command) {
    const char first = command.kernel.empty() ? ' ' : command.kernel.front();
    const bool may_begin_name =
        (is_identifier_character(first) && !is_digit(first)) || first == ':' || first == '&';
    if (may_begin_name && command.kernel.find('[') == std::string::npos) return {};
    return fail(
        Errc::invalid_argument,
        fmt::format("KERNEL is '{}', which isn't a kernel's name. It stands after FILE, and "
                    "its arguments after --: lode run {} KERNEL … -- {}",
                    command.kernel, command.file, command.kernel));
}

Result<RunRequest> read_request(const RunCommand& command) {
    LODE_TRY(check_kernel_name(command));
    LODE_TRY_ASSIGN(const auto shape, read_shape(command));
    LODE_TRY(check_options(command.file, command.flags));
    LODE_TRY_ASSIGN(auto options, to_compile_options(command.flags));
    std::optional<Arch> arch;
    if (!command.arch.empty() && command.arch != native_arch) {  // The device's own.
        LODE_TRY_ASSIGN(arch, parse_arch("--arch", command.arch));
    }
    std::vector<Argument> arguments;
    for (const auto& text : command.arguments) {
        LODE_TRY_ASSIGN(auto argument,
                        parse_argument(text, static_cast<int>(arguments.size()) + 1));
        arguments.push_back(std::move(argument));
    }
    std::shared_ptr<const MemoryFile> journal;
    if (command.findings) {
        LODE_TRY_ASSIGN(auto file, make_memory_file());
        journal = std::make_shared<const MemoryFile>(std::move(file));
        // The software device looks for it when its driver is opened.
        ::setenv("LODE_EMULATOR_REPORT", journal->path.c_str(), 1);
    }
    if (command.checks) LODE_TRY(use_checks(*command.checks));
    return RunRequest{command.file,
                      command.flags.llvm_ir,
                      command.kernel,
                      std::move(arguments),
                      shape,
                      command.device,
                      command.repeat,
                      arch,
                      std::move(options),
                      command.findings.value_or(""),
                      std::move(journal)};
}

/// Compiles for the device, or for the architecture asked for.
Result<CachedImage> compile_for(const Runtime& runtime, const Device& device, const Source& source,
                                const RunRequest& request) {
    std::vector<std::string> names;
    if (source.language() == Source::Language::cuda) names = {request.kernel};
    if (request.arch) {
        // The software device runs PTX itself.
        const bool runs_ptx =
            source.language() == Source::Language::ptx && runtime.driver().is_emulator();
        return runtime.compiler().compile(
            source, runs_ptx ? request.arch->as_virtual() : *request.arch, request.options, names);
    }
    return device.compile_cached(
        source, {.compile = request.options, .name_expressions = std::move(names)});
}

/// The arguments on the device: the buffers, and the values to pass in order.
class DeviceArguments {
public:
    static Result<DeviceArguments> create(const Device& device,
                                          const std::vector<Argument>& arguments) {
        DeviceArguments made;
        for (const auto& argument : arguments) {
            if (const auto* scalar = std::get_if<ScalarArgument>(&argument.value)) {
                made.values_.push_back(scalar->bytes);
                continue;
            }
            const auto& shape = std::get<BufferArgument>(argument.value);
            LODE_TRY_ASSIGN(const auto content, make_content(shape));
            LODE_TRY_ASSIGN(auto buffer, device.upload(content));
            ElementBytes address{};
            const NativeDevicePointer native = buffer.native();
            static_assert(sizeof native == sizeof address);
            std::memcpy(address.data(), &native, sizeof native);
            made.values_.push_back(address);
            made.buffers_.push_back(std::move(buffer));
        }
        return made;
    }

    /// One pointer per argument; valid while this object lives and isn't moved.
    [[nodiscard]] std::vector<void*> pointers() {
        std::vector<void*> pointers;
        for (auto& value : values_)
            pointers.push_back(value.data());
        return pointers;
    }

    /// The current contents of each buffer, in order.
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> read_back() const {
        std::vector<std::vector<std::byte>> contents;
        for (const auto& buffer : buffers_) {
            LODE_TRY_ASSIGN(auto content, buffer.to_vector());
            contents.push_back(std::move(content));
        }
        return contents;
    }

private:
    std::vector<ElementBytes> values_;
    std::vector<DeviceBuffer<std::byte>> buffers_;
};

/// Enqueues `count` launches back to back; returns the milliseconds of each.
Result<std::vector<float>> timed_launches(const Device& device, const UntypedKernel& kernel,
                                          const LaunchShape& shape, std::span<void*> arguments,
                                          StreamRef stream, int count) {
    std::vector<Event> events;
    for (int i = 0; i <= count; ++i) {
        LODE_TRY_ASSIGN(auto event, device.create_event());
        events.push_back(std::move(event));
    }
    LODE_TRY(events.front().record(stream));
    for (std::size_t i = 1; i < events.size(); ++i) {
        LODE_TRY(kernel.launch(stream, shape, arguments));
        LODE_TRY(events[i].record(stream));
    }
    LODE_TRY(stream.sync());
    std::vector<float> times;
    for (std::size_t i = 1; i < events.size(); ++i) {
        LODE_TRY_ASSIGN(const float ms, events[i].elapsed_ms_since(events[i - 1]));
        times.push_back(ms);
    }
    return times;
}

/// The results of the launches.
struct RunResult {
    std::vector<std::vector<std::byte>> buffers;  ///< After the first launch.
    std::vector<float> times_ms;                  ///< One per launch, in order.
};

Result<RunResult> launch(const Device& device, const UntypedKernel& kernel,
                         const RunRequest& request) {
    LODE_TRY_ASSIGN(const auto stream, device.create_stream());
    LODE_TRY_ASSIGN(auto arguments, DeviceArguments::create(device, request.arguments));
    LODE_TRY(kernel.preload());
    auto pointers = arguments.pointers();
    RunResult result;
    LODE_TRY_ASSIGN(result.times_ms,
                    timed_launches(device, kernel, request.shape, pointers, stream, 1));
    LODE_TRY_ASSIGN(result.buffers, arguments.read_back());
    if (request.repeat > 1) {
        LODE_TRY_ASSIGN(const auto more, timed_launches(device, kernel, request.shape, pointers,
                                                        stream, request.repeat - 1));
        result.times_ms.insert(result.times_ms.end(), more.begin(), more.end());
    }
    return result;
}

/// The arguments after the first launch, as a table and as JSON.
struct ArgumentReport {
    std::string text;
    Json json = Json::array();
};

ArgumentReport report_arguments(const std::vector<Argument>& arguments,
                                const std::vector<std::vector<std::byte>>& buffers) {
    ArgumentReport report;
    Table table({{"", Align::right}, {"argument"}, {"sum", Align::right}, {"head"}});
    auto content = buffers.begin();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto& argument = arguments[i];
        Json json = {{"text", argument.text}};
        if (const auto* scalar = std::get_if<ScalarArgument>(&argument.value)) {
            const auto value = number_at(scalar->type, scalar->bytes.data());
            json.update(
                {{"kind", "scalar"}, {"type", to_string(scalar->type)}, {"value", to_json(value)}});
            table.row({std::to_string(i + 1), argument.text, "", to_string(value)});
        } else {
            const auto& buffer = std::get<BufferArgument>(argument.value);
            const auto summary = summarise(buffer.type, *content++, head_count);
            std::string head;
            Json head_json = Json::array();
            for (const auto& number : summary.head) {
                head += (head.empty() ? "" : " ") + to_string(number);
                head_json.push_back(to_json(number));
            }
            if (buffer.count > summary.head.size()) head += " ...";
            json.update({{"kind", "buffer"},
                         {"type", to_string(buffer.type)},
                         {"count", buffer.count},
                         {"head", std::move(head_json)},
                         {"sum", to_json(summary.sum)}});
            table.row({std::to_string(i + 1), argument.text, to_string(summary.sum), head});
        }
        report.json.push_back(std::move(json));
    }
    if (!arguments.empty()) report.text = "\n" + table.to_string();
    return report;
}

/// First, median and minimum of the launches' times.
struct Times {
    float first;
    float median;
    float min;
};

Times times_of(std::vector<float> all) {
    const float first = all.front();
    std::ranges::sort(all);
    return {first, all[all.size() / 2], all.front()};
}

Answer report(const RunRequest& request, const Device& device, const CachedImage& cached,
              const UntypedKernel& kernel, const RunResult& result) {
    const Image& image = *cached.image;
    const auto times = times_of(result.times_ms);
    const auto& attributes = kernel.attributes();
    const auto arguments = report_arguments(request.arguments, result.buffers);

    Section section(request.kernel);
    section.row("device", fmt::format("{} ({})", device.ordinal(), device.name()));
    section.row("target", image.arch.to_string());
    section.row("code", cached.report.to_string());
    section.row("launch",
                fmt::format("grid {}, block {}, {} dynamic shared memory",
                            request.shape.grid.to_string(), request.shape.block.to_string(),
                            bytes_text(request.shape.dynamic_shared_bytes)));
    section.row("resources", fmt::format("{} registers, {} shared, {} local", attributes.registers,
                                         bytes_text(attributes.static_shared_bytes),
                                         bytes_text(attributes.local_bytes)));
    section.row("time", request.repeat == 1
                            ? fmt::format("{:.4f} ms", times.first)
                            : fmt::format("{:.4f} ms median, {:.4f} ms at best, {:.4f} ms first, "
                                          "of {} launches",
                                          times.median, times.min, times.first, request.repeat));
    Answer answer{section.to_string() + arguments.text, image.log};
    if (!answer.notes.empty() && !answer.notes.ends_with('\n')) answer.notes += '\n';
    answer.fields = {
        {"source", request.file},
        {"kernel", kernel.name()},
        {"symbol", kernel.symbol()},
        {"device", {{"ordinal", device.ordinal()}, {"name", device.name()}}},
        {"arch", image.arch.to_string()},
        {"code", to_json(cached.report)},
        {"grid", to_json(request.shape.grid)},
        {"block", to_json(request.shape.block)},
        {"dynamic_shared_bytes", request.shape.dynamic_shared_bytes},
        {"registers", attributes.registers},
        {"static_shared_bytes", attributes.static_shared_bytes},
        {"local_bytes", attributes.local_bytes},
        {"launches", request.repeat},
        {"time_ms", {{"first", times.first}, {"median", times.median}, {"min", times.min}}},
        {"arguments", arguments.json},
        {"findings", findings().value_or(std::vector<std::string>())},
        {"log", image.log},
    };
    return answer;
}

/// The arguments that fit the image's PTX if it has any, else what the driver knows: only sizes.
Result<std::vector<Argument>> fit(const RunRequest& request, const Image& image,
                                  const UntypedKernel& kernel) {
    std::vector<KernelParameter> parameters;
    if (const auto* signature = image.signature_of(kernel.symbol())) {
        parameters = signature->parameters;
    } else {
        LODE_TRY_ASSIGN(const auto slots, kernel.parameters());
        for (const auto& slot : slots)
            parameters.push_back({.offset = slot.offset, .size = slot.size});
    }
    return fit_arguments(request.kernel, parameters, parameter_types(kernel.symbol()),
                         request.arguments);
}

Result<Answer> run(RunRequest request) {
    LODE_TRY(check_forced_families());
    for (const auto& argument : request.arguments) {
        if (const auto* buffer = std::get_if<BufferArgument>(&argument.value))
            LODE_TRY(check_content(*buffer));
    }
    ProgressLine progress;
    LODE_TRY_ASSIGN(const auto runtime,
                    open_runtime(NoDevice::take_software_device, progress.hook()));
    LODE_TRY_ASSIGN(const auto device, runtime.device(request.device));
    LODE_TRY_ASSIGN(const Source source, source_of(request.file, request.is_llvm_ir));
    LODE_TRY_ASSIGN(const auto cached, compile_for(runtime, device, source, request));
    const Image& image = *cached.image;
    LODE_TRY_ASSIGN(const auto library, device.load(image));
    LODE_TRY_ASSIGN(const auto kernel, library.kernel(request.kernel));
    LODE_TRY_ASSIGN(request.arguments, fit(request, image, kernel));
    watch_findings();
    LODE_TRY_ASSIGN(const auto result, launch(device, kernel, request));
    return report(request, device, cached, kernel, result);
}

/// Writes what the software device reports while the kernel runs to a file, as SARIF.
Result<Answer> run_with_findings(const RunRequest& request) {
    auto answer = run(request);
    const auto report = EmulationReport::read(read_text(request.journal->path).value_or(""));
    const Json sarif = sarif_of(report, LODE_VERSION, std::filesystem::current_path());
    LODE_TRY(write_result(request.findings, dump(sarif)));
    return answer;
}

}  // namespace

Command declare_run(CLI::App& app) {
    auto* command =
        app.add_subcommand("run", "Compile a kernel for a device, launch it and show what it did");
    const auto values = std::make_shared<RunCommand>();
    const auto* file =
        command->add_option("FILE", values->file, "The source file, or PTX; - is standard input")
            ->required()
            ->type_name("");
    command
        ->add_option("KERNEL", values->kernel,
                     "The kernel: its name, or a template such as \"scale<float>\"")
        ->required()
        ->type_name("");
    const auto* arguments =
        command->add_option("ARGS", values->arguments, "The kernel's arguments, after --")
            ->type_name("ARG");
    command->add_option("--grid", values->grid, "Number of blocks (or use --cover)")
        ->type_name("X[,Y[,Z]]");
    command->add_option("--cover", values->cover, "Launch as many blocks as cover N threads")
        ->transform(whole_number(1))
        ->type_name("N");
    command->add_option("--block", values->block, "Threads per block")
        ->type_name("X[,Y[,Z]]")
        ->capture_default_str();
    command->add_option("--shared", values->shared_bytes, "Dynamic shared memory per block")
        ->transform(byte_count(std::numeric_limits<std::uint32_t>::max()))
        ->type_name("BYTES")
        ->capture_default_str();
    command->add_option("--device", values->device, "The device's number")
        ->type_name("N")
        ->transform(whole_number(0, std::numeric_limits<int>::max()))
        ->capture_default_str();
    command
        ->add_option("--repeat", values->repeat,
                     "Number of launches, up to 10000; the results are those of the first")
        ->type_name("N")
        ->transform(whole_number(1, max_repeat))
        ->capture_default_str();
    command
        ->add_option("--arch", values->arch,
                     "Compile for this target, e.g. sm_90a. Default: native, the device's")
        ->type_name("ARCH")
        ->group("Compilation");
    command
        ->add_option("--check", values->checks,
                     "Run on the software device with these checks, separated by commas: memory, "
                     "race, init, sync, streams, all or none")
        ->type_name("CHECK,...");
    const auto* findings =
        command
            ->add_option("--findings", values->findings,
                         "Write what the software device finds to a file, as SARIF")
            ->type_name("FILE");
    declare_compile_flags(*command, values->flags);
    command->footer(std::string(argument_help()));

    return {command,
            [values]() -> Result<Work> {
                LODE_TRY_ASSIGN(auto request, read_request(*values));
                return [request = std::move(request)] {
                    return request.findings.empty() ? run(request) : run_with_findings(request);
                };
            },
            true,
            true,
            {file, arguments},
            {findings}};
}

}  // namespace lode::tool
