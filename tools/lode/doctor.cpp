// `lode doctor`: what would be slow or fail at the start of an application, and the cure.
#include "tools/lode/doctor.hpp"

#include "base/message_text.hpp"
#include "base/try.hpp"
#include "jit/name_expressions.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/output.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace lode::tool {
namespace {

void check_compiler(Findings& findings) {
    const auto info = Compiler().info();
    if (!info) {
        findings.push_back({Effect::fails, "compiler", info.error().message,
                            "Install NVRTC (a CUDA toolkit, or the wheel nvidia-cuda-nvrtc), or "
                            "set LODE_NVRTC to it. Images that are compiled elsewhere need none.",
                            info.error().code});
        return;
    }
    check_toolkit_headers(info->include_folders, findings);
}

/// The compilers of other languages, where a variable chooses them: most applications need none.
void check_other_compilers(Findings& findings) {
    using enum Source::Language;
    for (const auto& [variable, language] :
         {std::pair("LODE_NVVM", nvvm_ir), std::pair("LODE_LLVM", llvm_ir),
          std::pair("LODE_NVJITLINK", ptx)}) {
        if (!environment(variable)) continue;
        const auto info = Compiler().info(language);
        if (info) continue;
        findings.push_back({Effect::may_fail, variable, info.error().message,
                            "Correct the variable or unset it.", info.error().code});
    }
}

/// The driver and its devices, with a cache that nothing is written to.
Result<Runtime> open_for_examination() {
    CacheOptions cache = CacheOptions::from_environment().value_or(CacheOptions{});
    cache.mode = CacheMode::read_only;
    cache.record.clear();
    cache.log = Log();  // check_cache() says what is wrong with it.
    return Runtime::open({.cache = cache, .log = warning_log()});
}

/// How a device is compiled for. Returns whether the driver compiles PTX for it.
bool check_device(const Runtime& runtime, int ordinal, Findings& findings) {
    const std::string check = fmt::format("device {}", ordinal);
    const auto device = runtime.device(ordinal);
    if (!device) {
        const bool is_prohibited = device.error().code == Errc::device_unavailable;
        findings.push_back({Effect::fails, check, device.error().message,
                            is_prohibited ? "`nvidia-smi --compute-mode=0` as root makes it usable "
                                            "by any process."
                                          : "Choose other devices with CUDA_VISIBLE_DEVICES.",
                            device.error().code});
        return false;
    }
    if (device->properties().compute_mode == ComputeMode::exclusive_process) {
        findings.push_back(
            {Effect::may_fail, check,
             fmt::format("{} is in the compute mode exclusive_process: while a process uses it, "
                         "others fail.",
                         device->name()),
             "`nvidia-smi --compute-mode=0` as root makes it usable by any process.",
             Errc::device_unavailable});
    }
    const auto target = device->target();
    if (!target) {
        if (target.error().code == Errc::compiler_missing) return false;  // Reported already.
        findings.push_back({Effect::fails, check, target.error().message,
                            "Install an NVRTC that supports the device, or a newer driver.",
                            target.error().code});
        return false;
    }
    if (target->route == CodeRoute::machine_code) return false;
    findings.push_back(
        {Effect::slow, check,
         fmt::format("{} is compiled for as {}, {}: machine code isn't possible.\n{}",
                     device->name(), target->arch.to_string(), to_string(target->route),
                     target->describe()),
         "Install an NVRTC that supports the device and isn't of a newer major version than the "
         "driver."});
    return target->route == CodeRoute::driver_jit;
}

/// "3 compilations (about 120 ms by the recorded times)"
std::string amount_of(std::size_t count, double known_ms, bool is_all_known) {
    std::string compilations = fmt::format("{} compilation{}", count, count == 1 ? "" : "s");
    if (known_ms == 0) return compilations;
    return fmt::format("{} ({} {:.0f} ms by the recorded times)", compilations,
                       is_all_known ? "about" : "at least", known_ms);
}

/// The instances that a request asks for, else the kernels that its source declares, to follow its
/// name: " (saxpy, scale<...>)". Empty if there are none.
std::string kernels_of(const CompileRequest& request) {
    auto names = request.name_expressions;
    if (names.empty()) names = kernel_names(request.source.read().value_or(""), {});
    return names.empty() ? "" : fmt::format(" ({})", listed(names));
}

/// The manifest's compilations that the cache doesn't have.
class Missing {
public:
    void add(const WarmTask& task, std::string_view kernels, const std::string& reason) {
        ++count_;
        known_ms_ += task.compile_ms.value_or(0);
        is_all_known_ &= task.compile_ms.has_value();
        constexpr std::size_t most = 10;
        if (count_ <= most)
            list_ += fmt::format("\n{}{} for {}: {}", task.label, kernels,
                                 task.request.arch.to_string(), reason);
        if (count_ == most + 1) list_ += "\n…";
    }
    void report(JitPolicy policy, bool of_packs, Findings& findings) const {
        if (count_ == 0) return;
        const bool forbids = policy == JitPolicy::forbid;
        findings.push_back(
            {forbids ? Effect::fails : Effect::slow, "manifest",
             fmt::format("{} {}, {}.{}", of_packs ? "The packs lack" : "The cache lacks",
                         amount_of(count_, known_ms_, is_all_known_),
                         forbids ? "and LODE_JIT is forbid" : "for which the start waits", list_),
             of_packs ? "Run `lode warm --pack` with the same manifest and pack."
                      : "Run `lode warm` with the same manifest."});
    }

private:
    std::size_t count_ = 0;
    double known_ms_ = 0;
    bool is_all_known_ = true;
    std::string list_;
};

/// Whether the recordings were made with the compiler of this machine.
void check_recorded_compilers(const std::vector<WarmTask>& tasks, const CachedCompiler& compiler,
                              Findings& findings) {
    std::map<std::pair<std::string, std::string>, std::size_t> others;  // Recorded, found here.
    for (const auto& task : tasks) {
        if (task.compiler.empty()) continue;
        const auto info = compiler.info(task.request.source.language());
        if (!info) continue;  // check_compilers() reports it.
        if (task.compiler != info->name()) ++others[{task.compiler, info->name()}];
    }
    for (const auto& [names, count] : others) {
        findings.push_back(
            {Effect::slow, "manifest",
             fmt::format("{} of the manifest's requests were recorded with {}, but {} is found "
                         "here: what one has compiled is no hit for the other.",
                         count, names.first, names.second),
             "Warm the cache with the compiler that the application uses; LODE_NVRTC chooses it."});
    }
}

}  // namespace

bool check_machine(Findings& findings) {
    check_compiler(findings);
    check_other_compilers(findings);
    const auto runtime = open_for_examination();
    if (!runtime) {
        const auto& error = runtime.error();
        if (error.code == Errc::invalid_argument) {
            add_wrong_value("driver", error, findings);
            return false;
        }
        findings.push_back({Effect::fails, "driver", error.message,
                            "Install NVIDIA's driver for a GPU; LODE_DRIVER=emulator runs kernels "
                            "on the processor, for tests.",
                            error.code});
        return false;
    }
    if (runtime->device_count() == 0) {
        findings.push_back({Effect::fails, "driver", "The driver reports no device.",
                            "Check CUDA_VISIBLE_DEVICES, and with nvidia-smi whether the driver "
                            "sees the GPU.",
                            Errc::no_device});
    }
    if (runtime->driver().is_emulator()) {
        findings.push_back({Effect::slow, "driver",
                            "LODE_DRIVER is lode's software device: kernels run on the processor.",
                            "Unset LODE_DRIVER outside of tests."});
    }
    bool uses_ptx = false;
    for (int i = 0; i < runtime->device_count(); ++i)
        uses_ptx |= check_device(*runtime, i, findings);
    return uses_ptx;
}

void check_manifests(std::span<const std::string> files, const std::filesystem::path& pack,
                     const CacheOptions& application, Findings& findings) {
    if (files.empty()) return;
    CacheOptions options = application;
    options.mode = options.mode == CacheMode::off ? CacheMode::off : CacheMode::read_only;
    make_absolute(options);
    const auto tasks = read_tasks(files, {}, CachedCompiler({}, options));
    if (!tasks) {
        findings.push_back({Effect::fails, "manifest", tasks.error().message,
                            "Correct the manifest, or what it needs.", tasks.error().code});
        return;
    }
    if (!pack.empty()) {
        options = packs_alone(std::move(options), pack, archs_of(*tasks));
        check_packs(options.packs, findings);
    }
    const CachedCompiler compiler({}, options);
    check_recorded_compilers(*tasks, compiler, findings);
    std::vector<Result<CacheExplanation>> answers(tasks->size(), CacheExplanation{});
    std::vector<std::string> kernels(tasks->size());
    for_each_task(*tasks, 1, [&](std::size_t i, const Status& entered) {
        const WarmTask& task = (*tasks)[i];
        if (entered) kernels[i] = kernels_of(task.request);
        answers[i] = entered.and_then([&] {
            return compiler.explain(task.request.source, task.request.arch, task.request.options,
                                    task.request.name_expressions);
        });
    });
    Missing missing;
    std::size_t ptx_only = 0;
    std::set<std::string> said;  // A compiler is missing for all requests in its language.
    for (std::size_t i = 0; i < tasks->size(); ++i) {
        const WarmTask& task = (*tasks)[i];
        const auto& explanation = answers[i];
        if (!task.request.arch.is_real()) ++ptx_only;
        if (explanation && explanation->miss)
            missing.add(task, kernels[i], explanation->miss.to_string());
        if (explanation) continue;
        const Error& error = explanation.error();
        const bool lacks_compiler = error.code == Errc::compiler_missing;
        const auto language = task.request.source.language();
        // check_compiler() says that NVRTC is missing.
        if (lacks_compiler && language == Source::Language::cuda) continue;
        if (lacks_compiler && !said.insert(error.message).second) continue;
        findings.push_back(
            {Effect::fails, "manifest", fmt::format("{}: {}", task.where, error.message),
             lacks_compiler ? fmt::format("Install the compiler of {}.", to_string(language))
                            : std::string("Install the file, or correct the manifest."),
             error.code});
    }
    missing.report(application.policy, !pack.empty(), findings);
    if (ptx_only > 0) {
        findings.push_back({Effect::slow, "manifest",
                            fmt::format("{} of the manifest's requests give PTX, which the driver "
                                        "compiles when it is loaded first.",
                                        ptx_only),
                            "Compile for the devices' own architectures (sm_…)."});
    }
}

namespace {

std::string painted(const Colors& colors, Effect effect) {
    const auto word = to_string(effect);
    switch (effect) {
        case Effect::fails:
            return colors.error(word);
        case Effect::may_fail:
            return colors.warning(word);
        case Effect::slow:
            break;
    }
    return colors.remark(word);
}

struct DoctorCommand {
    std::vector<std::string> manifests;
    std::string pack;
};

Result<Answer> examine(const DoctorCommand& command) {
    if (!command.pack.empty() && command.manifests.empty())
        return fail(Errc::invalid_argument, "--pack needs a MANIFEST to compare the pack with.");
    Findings findings;
    check_variables(findings);
    if (const auto known = check_forced_families(); !known) {
        const bool is_malformed = known.error().code == Errc::invalid_argument;
        findings.push_back({is_malformed ? Effect::fails : Effect::may_fail, "LODE_FORCE_VARIANT",
                            known.error().message,
                            "Correct the variable or unset it; a family of the application's own "
                            "may be meant.",
                            known.error().code});
    }
    check_driver_variables(check_machine(findings), findings);
    // With wrong variables there is no cache to speak of.
    if (const auto options = CacheOptions::from_environment()) {
        check_cache(*options, findings);
        check_workers(*options, findings);
        check_manifests(command.manifests, command.pack, *options, findings);
    }
    std::ranges::stable_sort(findings, {}, &Finding::effect);

    const Colors colors = colors_of(STDOUT_FILENO);
    Answer answer;
    Json list = Json::array();
    std::array<std::size_t, 3> counts{};
    for (const auto& finding : findings) {
        ++counts.at(static_cast<std::size_t>(finding.effect));
        Section section(fmt::format("{}: {}", painted(colors, finding.effect), finding.check));
        section.row("finding", finding.message);
        section.row("cure", finding.cure);
        answer.text += section.to_string(text_width(STDOUT_FILENO)) + "\n";
        list.push_back({{"effect", to_string(finding.effect)},
                        {"check", finding.check},
                        {"message", finding.message},
                        {"cure", finding.cure}});
    }
    if (findings.empty()) {
        answer.text = colors.success(
            "Nothing that lode examines is slow or fails when an application starts.");
        answer.text += '\n';
    } else {
        answer.text +=
            fmt::format("{} fail, {} may fail, {} slow.\n", counts[0], counts[1], counts[2]);
    }
    answer.fields = {{"problems", std::move(list)},
                     {"fails", counts[0]},
                     {"may_fail", counts[1]},
                     {"slow", counts[2]}};
    if (counts[0] > 0) {
        answer.failure = Error{
            findings.front().code,
            counts[0] == 1 ? std::string("1 finding makes an application fail here.")
                           : fmt::format("{} findings make an application fail here.", counts[0])};
    }
    return answer;
}

}  // namespace

Command declare_doctor(CLI::App& app) {
    auto* command =
        app.add_subcommand("doctor", "Say what would be slow or fail when an application starts");
    const auto values = std::make_shared<DoctorCommand>();
    const auto* files =
        command
            ->add_option("MANIFEST", values->manifests,
                         "Manifests or recordings of the application, as for `lode warm`")
            ->type_name("");
    command
        ->add_option("--pack", values->pack,
                     "Compare MANIFEST with the packs that `lode warm --pack FILE` has written, in "
                     "place of the cache")
        ->type_name("FILE");
    command->footer("Run it with the environment of the application.");
    return {command,
            [values]() -> Result<Work> { return [values] { return examine(*values); }; },
            true,
            false,
            {files}};
}

}  // namespace lode::tool
