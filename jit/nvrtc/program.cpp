#include "jit/nvrtc/program.hpp"

#include "base/os/thread.hpp"
#include "base/try.hpp"

namespace LODE_NAMESPACE {
namespace {

/// NVRTC's flow callback: 1 cancels the compilation.
int ask_to_stop(void* should_stop, void* /*reserved*/) {
    return (*static_cast<const std::function<bool()>*>(should_stop))() ? 1 : 0;
}

using SizeGetter = nvrtcResult(nvrtcProgram, std::size_t*);
using TextGetter = nvrtcResult(nvrtcProgram, char*);

/// Calls a pair of NVRTC functions: one for the size, one for the bytes.
template <class Buffer>
Result<Buffer> fetch(const NvrtcTable& table, nvrtcProgram program, SizeGetter* size_of,
                     TextGetter* bytes_of, std::string_view doing) {
    std::size_t size = 0;
    auto result = size_of(program, &size);
    Buffer buffer;
    if (result == NVRTC_SUCCESS && size > 0) {
        buffer.resize(size);
        result = bytes_of(program, reinterpret_cast<char*>(buffer.data()));
    }
    if (result != NVRTC_SUCCESS) return fail_from_nvrtc(table, result, doing);
    return buffer;
}

}  // namespace

void NvrtcProgram::Traits::destroy(Handle program, Owner table) noexcept {
    table->nvrtcDestroyProgram(&program);
}

Result<NvrtcProgram> NvrtcProgram::create(const NvrtcTable& table, const std::string& code,
                                          const std::string& name,
                                          std::span<const HeaderView> headers) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    names.reserve(headers.size());
    texts.reserve(headers.size());
    for (const auto& header : headers) {
        names.push_back(header.name);
        texts.push_back(header.text);
    }
    nvrtcProgram program = nullptr;
    const auto result =
        table.nvrtcCreateProgram(&program, code.c_str(), name.c_str(),
                                 static_cast<int>(headers.size()), texts.data(), names.data());
    if (result != NVRTC_SUCCESS) {
        return fail_from_nvrtc(table, result, "Creating an NVRTC program");
    }
    return NvrtcProgram(table, program);
}

Status NvrtcProgram::add_name(const std::string& expression) const {
    const auto result = table().nvrtcAddNameExpression(program_.get(), expression.c_str());
    if (result != NVRTC_SUCCESS) {
        return fail_from_nvrtc(table(), result, "Adding a name expression");
    }
    return {};
}

nvrtcResult NvrtcProgram::compile(std::span<const std::string> flags,
                                  const std::function<bool()>& should_stop) const {
    if (should_stop && table().nvrtcSetFlowCallback != nullptr) {
        (void)table().nvrtcSetFlowCallback(program_.get(), ask_to_stop,
                                           const_cast<std::function<bool()>*>(&should_stop));
    }
    std::vector<const char*> raw;
    raw.reserve(flags.size());
    for (const auto& flag : flags)
        raw.push_back(flag.c_str());
    const os::LocaleScope guard;
    return table().nvrtcCompileProgram(program_.get(), static_cast<int>(raw.size()), raw.data());
}

Result<std::string> NvrtcProgram::log() const {
    auto log = fetch<std::string>(table(), program_.get(), table().nvrtcGetProgramLogSize,
                                  table().nvrtcGetProgramLog, "Reading the compiler's log");
    // NVRTC ends each stage's part of the log with a NUL, also in the middle.
    if (log) std::erase(*log, '\0');
    return log;
}

Result<std::string> NvrtcProgram::ptx() const {
    auto ptx = fetch<std::string>(table(), program_.get(), table().nvrtcGetPTXSize,
                                  table().nvrtcGetPTX, "Reading the compiled PTX");
    if (ptx) ptx->erase(ptx->find_last_not_of('\0') + 1);
    return ptx;
}

Result<std::vector<std::byte>> NvrtcProgram::cubin() const {
    return fetch<std::vector<std::byte>>(table(), program_.get(), table().nvrtcGetCUBINSize,
                                         table().nvrtcGetCUBIN, "Reading the compiled cubin");
}

Result<std::vector<std::byte>> NvrtcProgram::lto_ir() const {
    return fetch<std::vector<std::byte>>(table(), program_.get(), table().nvrtcGetLTOIRSize,
                                         table().nvrtcGetLTOIR, "Reading the compiled LTO-IR");
}

Result<std::vector<std::byte>> NvrtcProgram::tile_ir() const {
    return fetch<std::vector<std::byte>>(table(), program_.get(), table().nvrtcGetTileIRSize,
                                         table().nvrtcGetTileIR, "Reading the compiled Tile IR");
}

Result<std::vector<std::byte>> NvrtcProgram::optix_ir() const {
    return fetch<std::vector<std::byte>>(table(), program_.get(), table().nvrtcGetOptiXIRSize,
                                         table().nvrtcGetOptiXIR, "Reading the compiled OptiX IR");
}

Result<std::string> NvrtcProgram::lowered_name(const std::string& expression) const {
    const char* lowered = nullptr;
    const auto result = table().nvrtcGetLoweredName(program_.get(), expression.c_str(), &lowered);
    if (result != NVRTC_SUCCESS) {
        return fail_from_nvrtc(table(), result, "Asking for the symbol of '" + expression + "'");
    }
    return std::string(lowered);
}

}  // namespace LODE_NAMESPACE
