#include "emulator/debug/lane_view.hpp"

#include "base/cxx_names.hpp"
#include "emulator/exec/lanes.hpp"

#include <algorithm>
#include <cstring>

namespace lode::emulator::debug {

namespace {

const Type& type_of(const ptx::Register& of) noexcept {
    static const Type none;
    static const Type bits_16{
        .kind = TypeKind::unsigned_integer, .name = "unsigned short", .bytes = 2};
    static const Type half{.kind = TypeKind::real, .name = "__half", .bytes = 2};
    static const Type signed_16{.kind = TypeKind::signed_integer, .name = "short", .bytes = 2};
    const bool is_real = of.kind == ptx::Class::real;
    const bool is_signed = of.kind == ptx::Class::signed_integer;
    switch (of.bytes) {
        case 0:
            return type_bool;
        case 1:
            return type_byte;
        case 2:
            return is_real ? half : is_signed ? signed_16 : bits_16;
        case 4:
            return is_real ? type_float : is_signed ? type_int : type_unsigned;
        case 8:
            return is_real ? type_double : is_signed ? type_long : type_unsigned_long;
        default:
            return none;
    }
}

const Type& type_dim3() {
    static const Type type{.kind = TypeKind::structure,
                           .name = "dim3",
                           .bytes = 12,
                           .members = {{"x", &type_unsigned, 0, 0, 0},
                                       {"y", &type_unsigned, 4, 0, 0},
                                       {"z", &type_unsigned, 8, 0, 0}}};
    return type;
}

Value value_of_dim3(const Dim3& dim) {
    Value made{&type_dim3(), Bytes(12), {}};
    const u32 parts[] = {dim.x, dim.y, dim.z};
    std::memcpy(made.bytes.data(), parts, sizeof(parts));
    return made;
}

std::optional<u32> index_of(const std::vector<ptx::Variable>& all, std::string_view name) {
    const auto found = std::ranges::find(all, name, &ptx::Variable::name);
    if (found == all.end()) return std::nullopt;
    return static_cast<u32>(found - all.begin());
}

}  // namespace

Dim3 LaneView::thread() const {
    return exec::thread_of(*warp, lane);
}

std::optional<LaneView> LaneView::caller() const {
    if (frame->parent == nullptr) return std::nullopt;
    LaneView outer = *this;
    outer.op = frame->call;
    outer.frame = frame->parent;
    return outer;
}

std::optional<Bytes> LaneView::read(u64 address, u64 bytes) const {
    constexpr u64 most = u64{1} << 24;
    if (bytes > most) return std::nullopt;
    Bytes made(bytes);
    const auto window = static_cast<Window>(address >> window_shift);
    const u64 offset = address & 0xffff'ffff;
    if (window == Window::global) {
        const auto [lo, hi] = launch->memory->bounds(address);
        if (address < lo || address >= hi || bytes > hi - address) return std::nullopt;
        std::memcpy(made.data(), reinterpret_cast<const void*>(address), bytes);
        return made;
    }
    if (window == Window::shared) {
        if (offset > launch->shared_bytes || bytes > launch->shared_bytes - offset)
            return std::nullopt;
        std::memcpy(made.data(), block->shared.data() + offset, bytes);
        return made;
    }
    if (window != Window::local || offset + bytes > warp->local.size() / lanes) return std::nullopt;
    for (u64 k = 0; k < bytes; ++k) {
        const u64 at = offset + k;
        made[k] = warp->local.data()[((at / 4) * lanes + lane) * 4 + at % 4];
    }
    return made;
}

Value LaneView::register_at(u32 index) const {
    const ptx::Register& of = code().function->registers[index];
    Value made{&type_of(of), {}, {}};
    if (index >= code().register_slots.size()) return made;
    const Slot slot = code().register_slots[index];
    if (slot == no_slot) return made;
    const u8* const areas[] = {frame->registers, code().constant_base, block->launch_base,
                               warp->specials};
    const u8* const row = areas[slot >> area_shift] + (slot & offset_mask);
    if (of.bytes == 0) {
        u32 mask = 0;
        std::memcpy(&mask, row, sizeof(mask));
        made.bytes = {static_cast<u8>((mask >> lane) & 1)};
    } else {
        const u8* const first = row + std::size_t{lane} * of.bytes;
        made.bytes.assign(first, first + of.bytes);
    }
    return made;
}

std::optional<Value> LaneView::find_register(std::string_view name) const {
    const auto& all = code().function->registers;
    const auto found = std::ranges::find(all, name, &ptx::Register::name);
    if (found == all.end()) return std::nullopt;
    return register_at(static_cast<u32>(found - all.begin()));
}

std::vector<std::pair<std::string, Value>> LaneView::registers() const {
    std::vector<std::pair<std::string, Value>> made;
    const auto& all = code().function->registers;
    for (u32 k = 0; k < all.size(); ++k)
        if (!all[k].name.empty()) made.emplace_back(all[k].name, register_at(k));
    return made;
}

std::vector<std::pair<std::string, Value>> LaneView::symbols(std::deque<Type>& made) const {
    std::vector<std::pair<std::string, Value>> all;
    const auto add = [&](std::string name, const ptx::Variable& of, u64 address, u64 bytes) {
        const Type* type = &type_of({of.type.bytes, of.type.kind});
        if (of.is_array || of.lanes > 1 || type->bytes == 0) {
            const u64 size = std::max<u64>(type->bytes, 1);
            type = &made.emplace_back(Type{.kind = TypeKind::array,
                                           .bytes = bytes / size * size,
                                           .of = type,
                                           .count = bytes / size});
        }
        all.emplace_back(std::move(name),
                         Value{type, read(address, type->bytes).value_or(Bytes()), address});
    };
    const ptx::Module& ast = launch->module->ast;
    const auto variable_of = [&](std::string_view symbol) -> const ptx::Variable* {
        if (const auto in_module = index_of(ast.variables, symbol))
            return &ast.variables[*in_module];
        for (const Code& code : launch->kernel->codes)
            if (const auto inside = index_of(code.function->variables, symbol))
                return &code.function->variables[*inside];
        return nullptr;
    };
    for (const SharedVariable& one : launch->kernel->shared_variables) {
        if (const ptx::Variable* const of = variable_of(one.symbol))
            add(exec::last_name(one.name), *of, window_tag(Window::shared) | one.offset, one.bytes);
    }
    const u32 dynamic = launch->kernel->dynamic_shared_offset;
    for (const ptx::Variable& of : ast.variables) {
        if (of.space == ptx::Space::shared && of.is_extern() && dynamic < launch->shared_bytes)
            add(lode::readable_name(of.name), of, window_tag(Window::shared) | dynamic,
                launch->shared_bytes - dynamic);
    }
    for (const Global& one : launch->module->globals) {
        if (const ptx::Variable* const of = variable_of(one.name))
            add(lode::readable_name(one.name), *of, one.address, one.bytes);
    }
    return all;
}

std::optional<Value> LaneView::find_builtin(std::string_view name) const {
    if (name == "threadIdx") return value_of_dim3(thread());
    if (name == "blockIdx") return value_of_dim3(block->index);
    if (name == "blockDim") return value_of_dim3(launch->shape.block);
    if (name == "gridDim") return value_of_dim3(launch->shape.grid);
    if (name == "warpSize") return value_of(static_cast<std::int64_t>(lanes));
    return std::nullopt;
}

std::optional<Bytes> LaneView::parameter(std::string_view symbol) const {
    const auto index = index_of(code().function->parameters, symbol);
    if (!index) return std::nullopt;
    Bytes made;
    if (code().function->entry) {
        const Parameter& of = launch->kernel->info.parameters[*index];
        const auto* const first = reinterpret_cast<const u8*>(launch->parameters.data());
        made.assign(first + of.offset, first + of.offset + of.size);
        return made;
    }
    const ParameterRows& rows = code().parameters[*index];
    for (u32 k = 0; k < rows.bytes; ++k)
        made.push_back(frame->registers[rows.offset + ((k / 4) * lanes + lane) * 4 + k % 4]);
    return made;
}

std::optional<u64> LaneView::address_of(std::string_view symbol) const {
    const DecodedKernel& kernel = *launch->kernel;
    const auto shared = std::ranges::find(kernel.shared_variables, symbol, &SharedVariable::symbol);
    if (shared != kernel.shared_variables.end()) return window_tag(Window::shared) | shared->offset;
    if (const auto global = launch->module->global_of.find(symbol);
        global != launch->module->global_of.end())
        return launch->module->globals[global->second].address;
    const auto local = index_of(code().function->variables, symbol);
    if (local && code().function->variables[*local].space == ptx::Space::local &&
        *local < code().local_offsets.size()) {
        return window_tag(Window::local) | (frame->local_base + code().local_offsets[*local]);
    }
    const auto dynamic = index_of(launch->module->ast.variables, symbol);
    if (dynamic && launch->module->ast.variables[*dynamic].space == ptx::Space::shared)
        return window_tag(Window::shared) | kernel.dynamic_shared_offset;
    return std::nullopt;
}

Value LaneView::variable(const DebugVariable& variable) const {
    static const Type unknown;
    Value made{variable.type == nullptr ? &unknown : variable.type, {}, {}};
    const u64 size = made.type->resolved().bytes;
    const Whereabouts place = variable.at(instruction().line);
    if (place.kind == Whereabouts::Kind::reg) {
        if (auto of = find_register(place.name)) {
            made.bytes = std::move(of->bytes);
            // A small variable may be in a wide register.
            if (made.bytes.size() > size) made.bytes.resize(size);
        }
    } else if (place.kind == Whereabouts::Kind::symbol) {
        if (const auto whole = parameter(place.name)) {
            if (place.offset <= whole->size() && size <= whole->size() - place.offset) {
                const auto first = whole->begin() + static_cast<std::ptrdiff_t>(place.offset);
                made.bytes.assign(first, first + static_cast<std::ptrdiff_t>(size));
            }
        } else if (const auto address = address_of(place.name)) {
            made.address = *address + place.offset;
            made.bytes = read(*made.address, size).value_or(Bytes());
        }
    }
    return made;
}

}  // namespace lode::emulator::debug
