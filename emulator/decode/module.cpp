// Module: parses PTX, allocates its variables, and decodes kernels on demand.
#include "base/align_up.hpp"
#include "emulator/decode/kernel.hpp"
#include "emulator/decode/limits.hpp"
#include "emulator/decode/module_parts.hpp"

#include <lode/base/arch.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator {

namespace {

/// Checks whether PTX for `target` can be compiled for the device. Returns the error, or "".
std::string unfit(std::string_view target, ComputeCapability device) {
    const Result<Arch> arch = Arch::parse(target);
    if (!arch) return fmt::format("The .target {} is unknown.", target);
    if (arch->as_virtual().runs_on(device)) return {};
    return fmt::format("The PTX is for {} and doesn't run on a device of compute capability {}.",
                       target, device.to_string());
}

void put(u8* to, u64 value, u32 bytes) {
    std::memcpy(to, &value, bytes);
}

/// Writes a variable's initial value; false when it names an unknown symbol.
bool initialise(const ModuleParts& module, const ptx::Variable& variable, u64 address,
                std::string_view& unknown) {
    u8* to = reinterpret_cast<u8*>(address);
    const u8* const end = to + variable.bytes;
    const u32 bytes = std::max<u32>(1, variable.type.bytes);
    for (const ptx::Initial& value : variable.initial) {
        u64 bits = value.bits;
        if (!value.symbol.empty()) {
            const auto global = module.global_of.find(value.symbol);
            const auto function = module.functions.find(value.symbol);
            if (global != module.global_of.end()) {
                bits += module.globals[global->second].address;
            } else if (function != module.functions.end()) {
                bits += window_tag(Window::code) | function->second;
            } else {
                unknown = value.symbol;
                return false;
            }
            bits >>= value.shift;
            if (value.is_byte) bits &= 0xff;
        }
        if (to + bytes > end) return true;
        put(to, bits, std::min<u32>(bytes, 8));
        to += bytes;
    }
    return true;
}

LoadOutcome failed(LoadStatus status, std::string log, u32 line = 0) {
    LoadOutcome outcome;
    outcome.status = status;
    outcome.log = std::move(log);
    outcome.ptx_line = line;
    return outcome;
}

void index_names(ModuleParts& parts) {
    auto& functions = parts.ast.functions;
    for (u32 k = 0; k < functions.size(); ++k) {
        const auto [at, fresh] = parts.functions.try_emplace(functions[k].name, k);
        if (!fresh && functions[k].defined) at->second = k;
        if (functions[k].entry && functions[k].defined) {
            parts.names.emplace_back(functions[k].name);
        }
    }
    for (const ptx::Alias& alias : parts.ast.aliases) {
        const auto of = parts.functions.find(alias.of);
        if (of != parts.functions.end()) parts.functions[alias.name] = of->second;
    }
    for (u32 k = 0; k < parts.ast.variables.size(); ++k) {
        const ptx::Variable& variable = parts.ast.variables[k];
        const auto [at, fresh] = parts.variables.try_emplace(variable.name, k);
        if (!fresh && !variable.is_extern()) at->second = k;
    }
}

/// Records that the size of the variables overflows 64 bits.
bool no_room(ModuleParts& parts) {
    parts.data_bytes = ~u64{0};
    return false;
}

/// Places all variables in one allocation, so that thousands of them cost one lookup. False when
/// there is no room for them; data_bytes is the size they need.
bool allocate_variables(ModuleParts& parts, u64 room) {
    u64 size = 0;
    u64 most_aligned = 1;
    for (const ptx::Variable& variable : parts.ast.variables) {
        const bool constant = variable.space == ptx::Space::constant;
        if (variable.space != ptx::Space::global && !constant) continue;
        if (variable.is_extern()) continue;
        // A gap between neighbours exposes overruns.
        const u64 gap = variable.bytes >= 16 ? 16 : 0;
        const u64 align = std::max<u64>(variable.align, gap);
        most_aligned = std::max(most_aligned, align);
        if (__builtin_add_overflow(size, align - 1, &size)) return no_room(parts);
        size = size / align * align;
        parts.global_of.emplace(variable.name, static_cast<u32>(parts.globals.size()));
        parts.globals.push_back(
            {std::string(variable.name), size, variable.bytes, constant, variable.is_managed});
        if (__builtin_add_overflow(size, variable.bytes, &size) ||
            __builtin_add_overflow(size, gap, &size))
            return no_room(parts);
        if (constant) parts.constant_bytes += variable.bytes;
    }
    if (parts.globals.empty()) return true;
    // An allocation's own alignment is usually enough.
    const u64 slack = most_aligned > Memory::alignment ? most_aligned : 0;
    if (__builtin_add_overflow(std::max<u64>(size, 1), slack, &parts.data_bytes))
        return no_room(parts);
    if (parts.data_bytes > room) return false;
    parts.data =
        parts.memory->allocate(parts.data_bytes, MemoryKind::module_data, parts.label, parts.owner);
    if (parts.data == 0) return false;
    const u64 first = slack == 0 ? parts.data : align_up(parts.data, slack);
    for (Global& global : parts.globals)
        global.address += first;
    return true;
}

/// The first call to a function that is neither defined nor provided by the device.
std::optional<std::pair<std::string_view, u32>> unresolved_call(const ModuleParts& parts) {
    for (const ptx::Function& function : parts.ast.functions) {
        for (const ptx::Instruction& instruction : function.instructions) {
            if (instruction.traits.effect != ptx::Effect::call) continue;
            for (u32 k = 0; k < instruction.count; ++k) {
                const ptx::Operand& operand = function.operands[instruction.first + k];
                if (operand.kind != ptx::OperandKind::symbol) continue;
                const auto found = parts.functions.find(operand.name);
                if (found == parts.functions.end() || parts.ast.functions[found->second].defined ||
                    builtin_named(operand.name) != no_builtin)
                    continue;
                return std::pair(operand.name, instruction.line);
            }
        }
    }
    return std::nullopt;
}

LoadOutcome unresolved(std::string_view name, u32 line) {
    return failed(LoadStatus::unresolved_symbol,
                  fmt::format("The symbol {} isn't defined (PTX line {}).", name, line), line);
}

}  // namespace

ModuleParts::~ModuleParts() {
    if (data != 0) memory->release(data);
}

const Global* ModuleParts::variable_near(u64 address) const noexcept {
    if (!owns(address)) return nullptr;
    auto at = std::ranges::upper_bound(globals, address, {}, &Global::address);
    return at == globals.begin() ? nullptr : &*std::prev(at);
}

const Global* ModuleParts::variable_at(u64 address) const noexcept {
    const Global* const near = variable_near(address);
    return near != nullptr && address - near->address < near->bytes ? near : nullptr;
}

const DecodedKernel* ModuleParts::kernel(std::string_view name,
                                         void (*bind)(DecodedKernel&)) const {
    const std::lock_guard lock(mutex);
    auto known = kernels.find(name);
    if (known == kernels.end()) {
        const auto found = functions.find(name);
        if (found == functions.end()) return nullptr;
        const ptx::Function& function = ast.functions[found->second];
        if (!function.entry || !function.defined) return nullptr;
        known = kernels.emplace(function.name, decode::decode_kernel(*this, found->second)).first;
    }
    DecodedKernel& kernel = *known->second;
    if (bind != nullptr && !std::exchange(kernel.is_bound, true)) bind(kernel);
    return &kernel;
}

LoadOutcome Module::load(Memory& memory, std::string_view text, int cc_major, int cc_minor,
                         const LoadOptions& options) {
    auto body = std::make_unique<Body>();
    body->memory = &memory;
    body->owner = options.owner;
    body->shares_slots = options.shares_slots;
    body->follows_shuffles = options.follows_shuffles;
    body->lines.set_source(options.lines);
    body->compute_capability = 10 * cc_major + cc_minor;
    body->label = options.label.empty() ? "module" : options.label;
    body->text = std::string(text.substr(0, text.find('\0')));
    const ptx::ParseError error = ptx::parse(body->text, body->ast, options.newest_ptx);
    const auto refused = [](LoadStatus status, const ptx::ParseError& why) {
        return failed(status, fmt::format("PTX line {}: {}", why.line, why.message), why.line);
    };
    // PTX from a newer compiler is accepted if all of it is understood.
    const bool too_new = body->ast.is_too_new;
    const auto unread = [&](const ptx::ParseError& why) {
        if (!too_new) return refused(LoadStatus::invalid_ptx, why);
        return failed(
            LoadStatus::unsupported_version,
            fmt::format("PTX line 1: {} PTX line {}: {}",
                        ptx::too_new(body->ast, options.newest_ptx), why.line, why.message),
            1);
    };
    if (too_new && options.newest_ptx < ptx::own_version)
        return refused(LoadStatus::unsupported_version, error);
    if (const std::string_view name = body->ast.target; !name.empty()) {
        // Checked before other errors, because PTX for another architecture may have unknown
        // syntax.
        if (std::string why = unfit(name, {cc_major, cc_minor}); !why.empty())
            return failed(LoadStatus::wrong_target, std::move(why));
    }
    if (!error.message.empty()) return unread(error);
    if (const ptx::ParseError wrong = ptx::validate(body->ast); !wrong.message.empty())
        return unread(wrong);
    if (body->ast.address_size != 64) {
        return failed(LoadStatus::invalid_ptx,
                      "The software device only runs PTX with 64-bit addresses.");
    }
    index_names(*body);
    if (const auto call = unresolved_call(*body)) return unresolved(call->first, call->second);
    if (const ptx::ParseError over = decode::check_limits(*body); !over.message.empty())
        return refused(LoadStatus::invalid_ptx, over);
    if (!allocate_variables(*body, options.room)) {
        const u64 wanted = std::exchange(body->data_bytes, 0);
        return failed(
            LoadStatus::out_of_memory,
            fmt::format("There is no room for the module's {} bytes of variables.", wanted));
    }
    for (const ptx::Variable& variable : body->ast.variables) {
        const auto global = body->global_of.find(variable.name);
        const bool shared = variable.space == ptx::Space::shared;
        std::string_view unknown = variable.name;
        const bool fine =
            shared ||
            (global != body->global_of.end() &&
             (variable.is_extern() ||
              initialise(*body, variable, body->globals[global->second].address, unknown)));
        if (!fine) {
            return unresolved(unknown, variable.line);
        }
    }
    LoadOutcome outcome;
    outcome.module.reset(new Module(std::move(body)));
    return outcome;
}

Module::Module(std::unique_ptr<Body> body) noexcept : body_(std::move(body)) {}
Module::~Module() = default;

const std::vector<std::string>& Module::kernel_names() const noexcept {
    return body_->names;
}
const KernelInfo* Module::kernel(std::string_view name) const {
    const DecodedKernel* const kernel = body_->kernel(name);
    return kernel != nullptr ? &kernel->info : nullptr;
}
const Refusal* Module::refusal(std::string_view name) const {
    const DecodedKernel* const kernel = body_->kernel(name);
    return kernel != nullptr && kernel->refusal ? &*kernel->refusal : nullptr;
}
std::uint64_t Module::variable_bytes() const noexcept {
    return body_->data_bytes;
}
const std::vector<Global>& Module::globals() const noexcept {
    return body_->globals;
}
const Global* Module::global(std::string_view name) const {
    const auto found = body_->global_of.find(name);
    return found != body_->global_of.end() ? &body_->globals[found->second] : nullptr;
}

}  // namespace lode::emulator
