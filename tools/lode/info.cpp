// `lode info`: what lode finds on this machine, and why it doesn't find the rest.
#include "base/foreign_environment.hpp"
#include "base/try.hpp"
#include "jit/request/options_text.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/info_file.hpp"
#include "tools/lode/info_kernels.hpp"
#include "tools/lode/info_part.hpp"
#include "tools/lode/input.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/output.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/remote_cache.hpp>
#include <lode/runtime/device_attributes.hpp>
#include <lode/runtime/runtime.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace lode::tool {
namespace {

constexpr double giga = 1e9;
constexpr int khz_per_mhz = 1000;

Part driver_part(const Result<Runtime>& runtime) {
    if (!runtime) return missing("Driver", runtime.error());
    const auto& driver = runtime->driver();
    const auto lacking = driver.missing_entry_points();
    Section section("Driver");
    section.row("version", driver.version_text());
    section.row("library", driver.origin());
    if (driver.is_emulator()) section.row("kind", "lode's software device: no GPU is used");
    section.row("devices", std::to_string(driver.device_count()));
    if (!lacking.empty()) {
        section.row("missing",
                    wrapped(fmt::format("{} (optional)", fmt::join(lacking, ", ")), list_width, 0));
    }
    return {text_of(section),
            {{"found", true},
             {"version", driver.version_text()},
             {"library", driver.origin()},
             {"emulator", driver.is_emulator()},
             {"device_count", driver.device_count()},
             {"missing_entry_points", lacking}}};
}

/// The boolean properties by name.
std::array<std::pair<std::string_view, bool>, 7> abilities_of(const DeviceProperties& p) {
    return {{{"ecc", p.ecc},
             {"integrated", p.integrated},
             {"concurrent_kernels", p.concurrent_kernels},
             {"cooperative_launch", p.cooperative_launch},
             {"cluster_launch", p.cluster_launch},
             {"memory_pools", p.memory_pools},
             {"managed_memory", p.managed_memory}}};
}

/// A missing compiler is explained in the compiler's section.
std::string why_no_target(const Error& error) {
    return error.code == Errc::compiler_missing ? "unknown without a compiler" : error.message;
}

std::string device_text(const DeviceProperties& p, const DeviceClocks& clocks,
                        const Result<Target>& target) {
    const double bandwidth = theoretical_bandwidth(clocks.memory_khz, p.memory_bus_bits);
    Section section(fmt::format("Device {}", p.ordinal));
    section.row("name", p.name);
    section.row("compute capability", p.cc.to_string());
    section.row("compiled for", target ? target->arch.to_string() : why_no_target(target.error()));
    section.row("UUID", p.uuid_text());
    section.row("PCI", p.pci_id);
    section.row("compute mode", std::string(to_string(p.compute_mode)));
    section.row("memory", bytes_text(p.total_memory_bytes));
    section.row("memory bus",
                fmt::format("{} bits at {} MHz, {:.1f} GB/s in theory", p.memory_bus_bits,
                            clocks.memory_khz / khz_per_mhz, bandwidth / giga));
    section.row("L2 cache", bytes_text(p.l2_bytes));
    section.row("multiprocessors",
                fmt::format("{} at {} MHz", p.multiprocessors, clocks.core_khz / khz_per_mhz));
    section.row("threads", fmt::format("at most {} per block, {} per multiprocessor,\nwarps of {}",
                                       p.max_threads_per_block, p.max_threads_per_multiprocessor,
                                       p.warp_size));
    section.row("block", fmt::format("at most {}, {} per multiprocessor", p.max_block.to_string(),
                                     p.max_blocks_per_multiprocessor));
    section.row("grid", fmt::format("at most {}", p.max_grid.to_string()));
    section.row("registers", fmt::format("{} per block, {} per multiprocessor",
                                         p.registers_per_block, p.registers_per_multiprocessor));
    section.row("shared memory",
                fmt::format("{} per block, {} with opt-in,\n{} per multiprocessor, {} reserved",
                            bytes_text(p.shared_bytes_per_block),
                            bytes_text(p.shared_bytes_per_block_optin),
                            bytes_text(p.shared_bytes_per_multiprocessor),
                            bytes_text(p.reserved_shared_bytes_per_block)));
    section.row("copy engines", std::to_string(p.async_engines));
    for (const bool wanted : {true, false}) {
        std::string list;
        for (const auto& [name, present] : abilities_of(p)) {
            if (present == wanted) list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
        }
        std::ranges::replace(list, '_', ' ');
        section.row(wanted ? "supported" : "not supported",
                    list.empty() ? "-" : wrapped(list, list_width, 0));
    }
    return text_of(section);
}

Json device_json(const DeviceProperties& p, const DeviceClocks& clocks,
                 const Result<Target>& target) {
    Json json = {
        {"found", true},
        {"ordinal", p.ordinal},
        {"name", p.name},
        {"compute_capability", p.cc.to_string()},
        {"target", target ? Json(target->arch.to_string()) : Json()},
        {"uuid", p.uuid_text()},
        {"pci_id", p.pci_id},
        {"compute_mode", to_string(p.compute_mode)},
        {"total_memory_bytes", p.total_memory_bytes},
        {"theoretical_bandwidth", theoretical_bandwidth(clocks.memory_khz, p.memory_bus_bits)},
        {"multiprocessors", p.multiprocessors},
        {"clock_khz", clocks.core_khz},
        {"memory_clock_khz", clocks.memory_khz},
        {"memory_bus_bits", p.memory_bus_bits},
        {"l2_bytes", p.l2_bytes},
        {"async_engines", p.async_engines},
        {"warp_size", p.warp_size},
        {"max_threads_per_block", p.max_threads_per_block},
        {"max_block", to_json(p.max_block)},
        {"max_grid", to_json(p.max_grid)},
        {"max_threads_per_multiprocessor", p.max_threads_per_multiprocessor},
        {"max_blocks_per_multiprocessor", p.max_blocks_per_multiprocessor},
        {"registers_per_block", p.registers_per_block},
        {"registers_per_multiprocessor", p.registers_per_multiprocessor},
        {"shared_bytes_per_block", p.shared_bytes_per_block},
        {"shared_bytes_per_block_optin", p.shared_bytes_per_block_optin},
        {"shared_bytes_per_multiprocessor", p.shared_bytes_per_multiprocessor},
        {"reserved_shared_bytes_per_block", p.reserved_shared_bytes_per_block},
    };
    for (const auto& [name, present] : abilities_of(p)) {
        json[std::string(name)] = present;
    }
    return json;
}

/// "48.0 KiB", "1980000 kHz", "yes"; a plain number for counts and codes.
std::string attribute_text(AttributeUnit unit, int value) {
    switch (unit) {
        case AttributeUnit::bytes:
            return value < 0 ? std::to_string(value)
                             : bytes_text(static_cast<std::uint64_t>(value));
        case AttributeUnit::bits:
            return fmt::format("{} bits", value);
        case AttributeUnit::kilohertz:
            return fmt::format("{} kHz", value);
        case AttributeUnit::flag:
            return value != 0 ? "yes" : "no";
        case AttributeUnit::count:
        case AttributeUnit::code:
            break;
    }
    return std::to_string(value);
}

/// Every attribute that the driver knows.
Part attributes_part(const Device& device) {
    Section section(fmt::format("Attributes of device {}", device.ordinal()));
    Json json = Json::object();
    for (const auto& row : device_attributes()) {
        const auto value = device_attribute(device, row.attribute);
        const std::string name(row.name);
        section.row(name, value ? attribute_text(row.unit, *value) : "unknown to the driver");
        json[name] = {{"value", value ? Json(*value) : Json()}, {"unit", to_string(row.unit)}};
    }
    return {text_of(section), std::move(json)};
}

Part device_part(const Runtime& runtime, int ordinal, bool all) {
    const auto device = runtime.device(ordinal);
    if (!device) {
        auto part = missing(fmt::format("Device {}", ordinal), device.error());
        part.json["ordinal"] = ordinal;
        return part;
    }
    const auto target = device->target();
    const auto clocks = device->clocks();
    Part part{device_text(device->properties(), clocks, target),
              device_json(device->properties(), clocks, target)};
    if (all) {
        auto attributes = attributes_part(*device);
        part.text += "\n" + attributes.text;
        part.json["attributes"] = std::move(attributes.json);
    }
    return part;
}

/// A variable's row: with `all` also if it isn't set, and with its meaning.
void add_variable(Section& section, std::string_view name, const std::optional<std::string>& value,
                  std::string_view fallback, std::string_view meaning, bool all) {
    if (!value && !all) return;
    std::string text = value ? *value : "not set";
    if (text.empty()) text = "(empty)";
    if (!value && !fallback.empty()) text += fmt::format(": {}", fallback);
    if (all) text += fmt::format("\n{}", meaning);
    section.row(std::string(name), text);
}

Part environment_part(bool all) {
    Section section("Environment");
    Json json = Json::array();
    for (const auto& variable : environment_table()) {
        auto value = environment(variable.name);
        // A URL that isn't valid may contain a password by mistake.
        const bool may_have_secret = value && variable.name == "LODE_CACHE_REMOTE" &&
                                     !RemoteCacheOptions::from_environment();
        if (value && (variable.is_secret || may_have_secret)) value = "(set)";
        add_variable(section, variable.name, value, variable.default_value, variable.meaning, all);
        json.push_back({{"name", variable.name},
                        {"value", value ? Json(*value) : Json()},
                        {"default", variable.default_value},
                        {"meaning", variable.meaning}});
    }
    return {text_of(section), std::move(json)};
}

/// A variable that the driver reads.
struct DriverVariable {
    std::string_view name;
    std::string_view meaning;
};

/// Programming Guide, "CUDA Environment Variables": those that change which devices there are, and
/// how launches behave.
constexpr DriverVariable driver_variables[] = {
    {"CUDA_VISIBLE_DEVICES",
     "The devices that the driver shows, in this order: numbers, or UUIDs such as GPU-… and MIG-…, "
     "up to the first that doesn't exist; a software device that lode falls back to shows all"},
    {"CUDA_DEVICE_ORDER",
     "FASTEST_FIRST (default) or PCI_BUS_ID: how devices are numbered; the software device keeps "
     "the order of LODE_EMULATOR_DEVICES"},
    {"CUDA_LAUNCH_BLOCKING", "1 makes every launch wait; LODE_SYNC_LAUNCHES=1 also names it"},
    {"CUDA_DEVICE_MAX_CONNECTIONS",
     "Hardware queues for streams, 1 to 32; 8 by default; the software device has none"},
};

Part driver_environment_part(bool all) {
    Section section("Environment of the driver");
    Json json = Json::array();
    for (const auto& variable : driver_variables) {
        const auto value = foreign_environment(variable.name);
        add_variable(section, variable.name, value, {}, variable.meaning, all);
        json.push_back({{"name", variable.name},
                        {"value", value ? Json(*value) : Json()},
                        {"meaning", variable.meaning}});
    }
    return {text_of(section), std::move(json)};
}

Result<Answer> info(bool all) {
    const auto runtime = open_runtime();
    // A variable has a wrong value.
    if (!runtime && runtime.error().code == Errc::invalid_argument)
        return tl::unexpected<Error>(runtime.error());
    Answer answer{fmt::format("lode {}\n", LODE_VERSION)};
    const auto add = [&](Part part) {
        if (!part.text.empty()) answer.text += "\n" + part.text;
        return std::move(part.json);
    };
    Json driver = add(driver_part(runtime));
    Json devices = Json::array();
    for (int i = 0; runtime && i < runtime->device_count(); ++i)
        devices.push_back(add(device_part(*runtime, i, all)));
    const Compiler compilers;
    using enum Source::Language;
    Json compiler = add(compiler_part(compilers, cuda, all));
    Json others = Json::object();
    for (const auto language : {nvvm_ir, llvm_ir, ptx})
        others[name_of(language)] = add(compiler_part(compilers, language, all));
    Json variables = add(environment_part(all));
    Json driver_variables_json = add(driver_environment_part(all));
    if (!all) {
        answer.text +=
            "\n--all adds attributes, the places searched, and variables that aren't set.\n";
    }
    answer.fields = {{"version", LODE_VERSION},
                     {"driver", std::move(driver)},
                     {"devices", std::move(devices)},
                     {"compiler", std::move(compiler)},
                     {"other_compilers", std::move(others)},
                     {"environment", std::move(variables)},
                     {"driver_environment", std::move(driver_variables_json)}};
    return answer;
}

}  // namespace

Command declare_info(CLI::App& app) {
    struct InfoCommand {
        bool all = false;
        std::vector<std::string> files;
        std::string kernels;
        std::vector<std::string> arch_names;
        CompileFlags flags;
    };
    auto* command =
        app.add_subcommand("info", "Show driver, devices and compiler, and where each was found");
    const auto values = std::make_shared<InfoCommand>();
    auto* all =
        command->add_flag("--all", values->all,
                          "Add every attribute of the devices, the places searched, and each "
                          "variable with its meaning");
    auto* file = command
                     ->add_option("FILE", values->files,
                                  "Instead: list what fat binaries, machine code and PTX hold; "
                                  "- is standard input")
                     ->excludes(all)
                     ->type_name("");
    auto* kernels = command
                        ->add_option("--kernels", values->kernels,
                                     "Instead: compile this file, and show what its kernels cost "
                                     "and their occupancy")
                        ->excludes(all)
                        ->excludes(file)
                        ->type_name("FILE");
    command
        ->add_option("--arch", values->arch_names,
                     "With --kernels: the targets, separated by commas. Default: the visible "
                     "device's")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->needs(kernels)
        ->type_name("ARCH");
    declare_compile_flags(*command, values->flags);
    return {command,
            [values]() -> Result<Work> {
                if (!values->files.empty()) {
                    LODE_TRY(check_inputs(values->files));
                    return [files = values->files] { return info_files(files); };
                }
                if (values->kernels.empty()) return [all = values->all] { return info(all); };
                LODE_TRY_ASSIGN(
                    auto request,
                    read_kernels_request(values->kernels, values->arch_names, values->flags));
                return [request = std::move(request)] { return info_kernels(request); };
            },
            true,
            true,
            {file, kernels}};
}

}  // namespace lode::tool
