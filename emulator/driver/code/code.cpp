#include "emulator/driver/code/code.hpp"

#include "base/ptx_scan.hpp"
#include "emulator/driver/code/machine_code.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/version.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

CUresult result_of(LoadStatus status) noexcept {
    switch (status) {
        case LoadStatus::ok:
            return CUDA_SUCCESS;
        case LoadStatus::invalid_ptx:
        case LoadStatus::wrong_target:
        case LoadStatus::unresolved_symbol:
            return CUDA_ERROR_INVALID_PTX;
        case LoadStatus::unsupported_version:
            return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
        case LoadStatus::out_of_memory:
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_ERROR_UNKNOWN;
}

LoadOutcome load_ptx(Context& context, std::string_view ptx, std::shared_ptr<LineSource> lines) {
    const Device& device = context.device();
    const std::size_t used = driver().allocations.used(device.ordinal);
    const ComputeCapability cc = device.profile.cc;
    return Module::load(driver().memory, ptx, cc.cc_major(), cc.cc_minor(),
                        {.owner = context.id(),
                         .label = "module",
                         .newest_ptx = newest_ptx(),
                         .room = device.total_memory() - std::min(used, device.total_memory()),
                         .shares_slots = driver().settings.debugger == nullptr,
                         .follows_shuffles = driver().settings.checks.sync,
                         .lines = std::move(lines)});
}

/// The contexts in which to check code before it is used: the current context, then other open
/// ones; if none is open, every device's primary context.
std::vector<std::shared_ptr<Context>> candidate_contexts() {
    std::vector<std::shared_ptr<Context>> contexts;
    if (Context* top = current::top(); top != nullptr && top->is_open())
        contexts.push_back(top->shared_from_this());
    driver().contexts.for_each([&](Context& context) {
        if (context.is_open() && (contexts.empty() || contexts.front().get() != &context))
            contexts.push_back(context.shared_from_this());
    });
    if (!contexts.empty()) return contexts;
    for (const auto& device : driver().devices)
        contexts.push_back(device->primary);
    return contexts;
}

}  // namespace

CUresult LoadedModule::function(const char* name, std::shared_ptr<Function>& function) {
    const std::lock_guard lock(mutex_);
    if (forgotten_) return CUDA_ERROR_INVALID_HANDLE;
    if (const auto known = functions_.find(name); known != functions_.end()) {
        function = known->second;
        return CUDA_SUCCESS;
    }
    const KernelInfo* info = code_->kernel(name);
    if (info == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (const Refusal* refusal = code_->refusal(name); refusal != nullptr) {
        log::report(refusal->message);
        journal::add(journal::Kind::refusal, name, refusal->message);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    function = std::make_shared<Function>(shared_from_this(), *info);
    functions_.emplace(name, function);
    driver().functions.add(function);
    return CUDA_SUCCESS;
}

std::vector<std::shared_ptr<Function>> LoadedModule::take_functions() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(forgotten_, true)) {
        driver().allocations.give_back(context_->device().ordinal, code_->variable_bytes());
    }
    std::vector<std::shared_ptr<Function>> all;
    for (const auto& [name, function] : std::exchange(functions_, {}))
        all.push_back(function);
    return all;
}

CUresult LibraryKernel::function(Context& context, std::shared_ptr<Function>& function) {
    const auto library = library_.lock();
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<LoadedModule> module;
    if (const CUresult state = library->module(context, module); state != CUDA_SUCCESS)
        return state;
    if (const CUresult state = module->function(name_.c_str(), function); state != CUDA_SUCCESS)
        return state;
    return CUDA_SUCCESS;
}

journal::Kind kind_of_load_error(std::string& message) {
    constexpr std::string_view names[] = {"cudaGetParameterBuffer", "cudaLaunchDevice"};
    const auto is_named = [&](std::string_view name) { return message.find(name) != message.npos; };
    if (std::ranges::none_of(names, is_named)) return journal::Kind::refusal;
    message.insert(0,
                   "Kernels that launch kernels as before CUDA 12 (CUDA_FORCE_CDP1_IF_SUPPORTED) "
                   "aren't supported.\n");
    return journal::Kind::unusable;
}

CUresult load_module(Context& context, const PtxTexts& texts, Library* library, const JitLogs& logs,
                     std::shared_ptr<LoadedModule>& module) {
    const Stopwatch watch;
    const ComputeCapability cc = context.device().profile.cc;
    const std::string* const ptx = texts.for_device(cc);
    if (ptx == nullptr) {
        return refuse_image(
            CUDA_ERROR_NO_BINARY_FOR_GPU,
            fmt::format("{} is a fat binary with PTX for {}, which doesn't run on {}. Show such a "
                        "device (--devices), or build it with -gencode "
                        "arch=compute_80,code=compute_80.",
                        texts.place(), texts.targets(), Arch(cc).to_string()),
            logs, journal::Kind::unusable);
    }
    LoadOutcome outcome = load_ptx(context, *ptx, library != nullptr ? library->lines() : nullptr);
    const journal::Kind kind = kind_of_load_error(outcome.log);
    logs.write(outcome.log, outcome.status != LoadStatus::ok, watch.milliseconds());
    if (outcome.status != LoadStatus::ok) {
        log::report(outcome.log);
        journal::add(kind, {}, outcome.log);
        return result_of(outcome.status);
    }
    machine_code::look_for_missing(*outcome.module);
    const auto target = ptx_target_of(*ptx);
    driver().allocations.take(context.device().ordinal, outcome.module->variable_bytes());
    module = std::make_shared<LoadedModule>(context.shared_from_this(), std::move(outcome.module),
                                            library, target ? target->cc().number() : 0);
    driver().modules.add(module);
    return CUDA_SUCCESS;
}

void forget_module(const std::shared_ptr<LoadedModule>& module) {
    Driver& state = driver();
    for (const auto& function : module->take_functions())
        state.functions.remove(Handles<Function, CUfunction>::native_of(*function));
    state.modules.remove(Handles<LoadedModule, CUmodule>::native_of(*module));
}

CUresult Library::load_somewhere(const JitLogs& logs, std::shared_ptr<LoadedModule>& module) {
    CUresult first_failure = CUDA_ERROR_NO_BINARY_FOR_GPU;
    bool failed = false;
    for (const auto& context : candidate_contexts()) {
        const CUresult state = load_module(*context, texts_, this, logs, module);
        if (state == CUDA_SUCCESS) {
            modules_.emplace(context->id(), module);
            return CUDA_SUCCESS;
        }
        if (!std::exchange(failed, true)) first_failure = state;
    }
    return first_failure;
}

CUresult Library::check(const JitLogs& logs) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<LoadedModule> module;
    const CUresult state = load_somewhere(logs, module);
    if (state != CUDA_SUCCESS) return state;
    names_ = module->code().kernel_names();
    known_names_ = {names_.begin(), names_.end()};
    return CUDA_SUCCESS;
}

CUresult Library::any_module(std::shared_ptr<LoadedModule>& module) {
    const std::lock_guard lock(mutex_);
    if (modules_.empty()) return load_somewhere(JitLogs{}, module);
    module = modules_.begin()->second;
    return CUDA_SUCCESS;
}

CUresult Library::module(Context& context, std::shared_ptr<LoadedModule>& module) {
    const std::lock_guard lock(mutex_);
    if (const auto found = modules_.find(context.id()); found != modules_.end()) {
        module = found->second;
        return CUDA_SUCCESS;
    }
    if (const CUresult state = load_module(context, texts_, this, JitLogs{}, module);
        state != CUDA_SUCCESS)
        return state;
    modules_.emplace(context.id(), module);
    return CUDA_SUCCESS;
}

CUresult Library::kernel(const char* name, std::shared_ptr<LibraryKernel>& kernel) {
    const std::lock_guard lock(mutex_);
    if (const auto known = kernels_.find(name); known != kernels_.end()) {
        kernel = known->second;
        return CUDA_SUCCESS;
    }
    if (!known_names_.contains(name)) return CUDA_ERROR_NOT_FOUND;
    // Any loaded module can tell whether the kernel is unsupported.
    if (!modules_.empty()) {
        const Refusal* refusal = modules_.begin()->second->code().refusal(name);
        if (refusal != nullptr) {
            log::report(refusal->message);
            journal::add(journal::Kind::refusal, name, refusal->message);
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    kernel = std::make_shared<LibraryKernel>(weak_from_this(), name);
    kernels_.emplace(name, kernel);
    driver().kernels.add(kernel);
    return CUDA_SUCCESS;
}

std::vector<std::shared_ptr<LibraryKernel>> Library::kernels() {
    std::vector<std::shared_ptr<LibraryKernel>> all;
    for (const std::string& name : names_) {
        std::shared_ptr<LibraryKernel> one;
        if (kernel(name.c_str(), one) == CUDA_SUCCESS) all.push_back(std::move(one));
    }
    return all;
}

void Library::unload() {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, module] : modules_) {
        module->context().drain();
        forget_module(module);
    }
    for (const auto& [name, kernel] : kernels_)
        driver().kernels.remove(Handles<LibraryKernel, CUkernel>::native_of(*kernel));
    modules_.clear();
    kernels_.clear();
    lines_->set({});
}

void Library::leave(const Context& context) {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(context.id());
    if (found == modules_.end()) return;
    forget_module(found->second);
    modules_.erase(found);
}

}  // namespace lode::emulator::driver
