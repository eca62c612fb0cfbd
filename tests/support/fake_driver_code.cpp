// The fake driver's code images, libraries, kernels and launches.
#include "base/cuda_additions.hpp"
#include "tests/support/fake_driver_state.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace lode::test {
namespace {

constexpr std::size_t elf_header_bytes = 64;
constexpr std::size_t tile_ir_header_bytes = 12;
constexpr std::size_t flags_at = 48;

bool is_elf(const void* code) {
    return std::memcmp(code, "\177ELF", 4) == 0;
}

int sm_of_elf(const void* code) {
    std::uint32_t flags = 0;
    std::memcpy(&flags, static_cast<const char*>(code) + flags_at, sizeof(flags));
    return static_cast<int>(flags & 0xffU);
}

FakeKernel* kernel_of(CUfunction function) {
    return reinterpret_cast<FakeKernel*>(function);
}
FakeKernel* kernel_of(CUkernel kernel) {
    return reinterpret_cast<FakeKernel*>(kernel);
}
FakeLibrary* library_of(CUlibrary library) {
    return reinterpret_cast<FakeLibrary*>(library);
}

}  // namespace

using State = FakeDriver::State;

std::string ptx_of(std::initializer_list<std::string_view> entries, std::string_view target) {
    std::string text = fmt::format(".version 8.0\n.target {}\n.address_size 64\n", target);
    for (const auto entry : entries)
        text += fmt::format(".visible .entry {}\n{{\n\tret;\n}}\n", entry);
    return text;
}

Image tile_image(std::initializer_list<std::string_view> entries, int version_major,
                 int version_minor) {
    std::string tile_ir("\x7fTileIR\0\0\0\0\0", tile_ir_header_bytes);
    tile_ir[8] = static_cast<char>(version_major);
    tile_ir[9] = static_cast<char>(version_minor);
    tile_ir += ptx_of(entries, "sm_90") + '\0';
    Image image;
    image.name = "tile.cu";
    image.arch = Arch(ComputeCapability{9, 0});
    const auto bytes = std::as_bytes(std::span(tile_ir));
    image.tile_ir.assign(bytes.begin(), bytes.end());
    return image;
}

Image ptx_image(std::initializer_list<std::string_view> entries, std::string_view target) {
    return Image::from_ptx(ptx_of(entries, target), "fake.cu").value();
}

Image cubin_image(std::initializer_list<std::string_view> entries, bool with_ptx, int sm) {
    const std::string target = fmt::format("sm_{}", sm);
    Image image = ptx_image(entries, target);
    std::vector<std::byte> cubin(elf_header_bytes);
    std::memcpy(cubin.data(), "\177ELF\2\1\1", 7);
    cubin[18] = std::byte{190};  // The machine: CUDA.
    cubin[flags_at] = static_cast<std::byte>(sm);
    const auto* text = reinterpret_cast<const std::byte*>(image.ptx.c_str());
    cubin.insert(cubin.end(), text, text + image.ptx.size() + 1);
    Image wrapped = Image::from_cubin(cubin, "fake.cu").value();
    if (with_ptx) {
        wrapped.ptx = image.ptx;
        wrapped.kernels = image.kernels;
    }
    return wrapped;
}

CUresult State::load(FakeLibrary& library, const void* code, unsigned count,
                     CUjit_option* jit_names, void** values) {
    last_jit_options.clear();
    for (unsigned i = 0; i < count; ++i)
        last_jit_options[jit_names[i]] = reinterpret_cast<std::uintptr_t>(values[i]);
    if (!facade.jit_log.empty()) {
        auto* buffer = reinterpret_cast<char*>(last_jit_options.at(CU_JIT_ERROR_LOG_BUFFER));
        const auto room = last_jit_options.at(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
        buffer[facade.jit_log.copy(buffer, room - 1)] = '\0';
    }
    library.is_cubin = is_elf(code);
    if (!library.is_cubin && facade.ptx_answer != CUDA_SUCCESS) return facade.ptx_answer;
    const bool is_tile_ir = std::memcmp(code, "\x7fTile", 5) == 0;
    library.ptx = static_cast<const char*>(code) + (library.is_cubin ? elf_header_bytes
                                                    : is_tile_ir     ? tile_ir_header_bytes
                                                                     : 0);
    if (library.ptx.find(".target") == std::string::npos) return CUDA_ERROR_INVALID_IMAGE;
    for (auto& signature : kernels_of_ptx(library.ptx)) {
        auto kernel = std::make_unique<FakeKernel>();
        const FakeKernelProperties cost = facade.kernel_properties[signature.kernel];
        kernel->library = &library;
        kernel->signature = std::move(signature);
        kernel->attributes = {
            {CU_FUNC_ATTRIBUTE_NUM_REGS, cost.registers},
            {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, cost.static_shared_bytes},
            {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, cost.max_threads},
            {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152 - cost.static_shared_bytes},
            {CU_FUNC_ATTRIBUTE_PTX_VERSION, 90},
            {CU_FUNC_ATTRIBUTE_BINARY_VERSION, 90},
        };
        library.kernels.push_back(std::move(kernel));
    }
    library.globals["table"] = std::vector<std::byte>(256);
    return CUDA_SUCCESS;
}

CUresult State::cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_names,
                                  void** values, unsigned count, CUlibraryOption*, void**,
                                  unsigned) {
    if (const CUresult bad = check_capture(); bad != CUDA_SUCCESS) return bad;
    auto made = std::make_unique<FakeLibrary>();
    const CUresult bad = load(*made, code, count, jit_names, values);
    if (bad != CUDA_SUCCESS) return bad;
    if (made->is_cubin && current() != nullptr) {
        const auto cc = options.devices.at(static_cast<std::size_t>(current()->ordinal)).cc;
        if (!Arch(ComputeCapability::from_number(sm_of_elf(code))).runs_on(cc))
            return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    *library = reinterpret_cast<CUlibrary>(made.get());
    libraries.emplace(*library, std::move(made));
    return CUDA_SUCCESS;
}

CUresult State::cuLibraryUnload(CUlibrary library) {
    if (const CUresult bad = check_capture(); bad != CUDA_SUCCESS) return bad;
    return libraries.erase(library) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult State::cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    *module = reinterpret_cast<CUmodule>(library);
    return check_current();
}

CUresult State::cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    for (const auto& known : library_of(library)->kernels) {
        if (known->signature.kernel != name) continue;
        *kernel = reinterpret_cast<CUkernel>(known.get());
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult State::cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary library,
                                   const char* name) {
    auto& globals = library_of(library)->globals;
    const auto found = globals.find(name);
    if (found == globals.end()) return CUDA_ERROR_NOT_FOUND;
    *address = reinterpret_cast<CUdeviceptr>(found->second.data());
    *bytes = found->second.size();
    return check_current();
}

CUresult State::cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
    *count = static_cast<unsigned>(library_of(library)->kernels.size());
    return CUDA_SUCCESS;
}

CUresult State::cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
    const auto& known = library_of(library)->kernels;
    for (unsigned i = 0; i < std::min<std::size_t>(count, known.size()); ++i)
        kernels[i] = reinterpret_cast<CUkernel>(known[i].get());
    return CUDA_SUCCESS;
}

CUresult State::cuKernelGetName(const char** name, CUkernel kernel) {
    *name = kernel_of(kernel)->signature.kernel.c_str();
    return CUDA_SUCCESS;
}

CUresult State::cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                                     std::size_t* size) {
    const auto& parameters = kernel_of(kernel)->signature.parameters;
    if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
    // As on an H200 if the first parameter is a tensor map, which is aligned to 64 bytes.
    constexpr std::size_t tensor_map_bytes = 128;
    const std::size_t start = parameters.front().size == tensor_map_bytes ? 48 : 0;
    *offset = start + parameters[index].offset;
    *size = parameters[index].size;
    return CUDA_SUCCESS;
}

CUresult State::cuKernelGetParamCount(CUkernel kernel, std::size_t* count) {
    *count = kernel_of(kernel)->signature.parameters.size();
    return CUDA_SUCCESS;
}

CUresult State::cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    *function = reinterpret_cast<CUfunction>(kernel);
    return check_current();
}

CUresult State::cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                                     CUdevice) {
    const auto& attributes = kernel_of(kernel)->attributes;
    const auto found = attributes.find(attribute);
    *value = found == attributes.end() ? 0 : found->second;
    return CUDA_SUCCESS;
}

CUresult State::cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                     CUdevice) {
    kernel_of(kernel)->attributes[attribute] = value;
    return CUDA_SUCCESS;
}

CUresult State::cuFuncLoad(CUfunction) {
    return check_current();
}

CUresult State::launch(FakeLaunch seen, FakeKernel& kernel, void** arguments, void** extra) {
    if (const CUresult bad = check_stream(seen.stream); bad != CUDA_SUCCESS) return bad;
    const auto allowed = kernel.attributes.at(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    // A mode takes the place of what the kernel has opted in to; lode checks its limit.
    const bool has_mode = std::ranges::any_of(seen.attributes, [](const CUlaunchAttribute& one) {
        return one.id == launch_attribute_shared_memory_mode;
    });
    if (!has_mode && seen.shared_bytes > static_cast<unsigned>(allowed))
        return CUDA_ERROR_INVALID_VALUE;
    const auto& parameters = kernel.signature.parameters;
    const std::byte* packed = nullptr;
    if (extra != nullptr) {
        if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE)
            return CUDA_ERROR_INVALID_VALUE;
        packed = static_cast<const std::byte*>(extra[1]);
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::byte* from = packed != nullptr ? packed + parameters[i].offset
                                                  : static_cast<const std::byte*>(arguments[i]);
        seen.arguments.emplace_back(from, from + parameters[i].size);
    }
    seen.symbol = kernel.signature.kernel;
    seen.context_depth = stack().size();
    if (facade.on_launch) facade.on_launch(seen);
    launch_log.push_back(std::move(seen));
    return CUDA_SUCCESS;
}

CUresult State::cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                               unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes, CUstream stream,
                               void** arguments, void** extra) {
    FakeLaunch seen;
    seen.grid = {grid_x, grid_y, grid_z};
    seen.block = {block_x, block_y, block_z};
    seen.shared_bytes = shared_bytes;
    seen.stream = stream;
    return launch(std::move(seen), *kernel_of(function), arguments, extra);
}

CUresult State::cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                 void** arguments, void** extra) {
    FakeLaunch seen;
    seen.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
    seen.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
    seen.shared_bytes = config->sharedMemBytes;
    seen.stream = config->hStream;
    seen.attributes.assign(config->attrs, config->attrs + config->numAttrs);
    return launch(std::move(seen), *kernel_of(function), arguments, extra);
}

CUresult State::cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int,
                                                            std::size_t) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    *blocks =
        facade.kernel_properties[kernel_of(function)->signature.kernel].blocks_per_multiprocessor;
    return CUDA_SUCCESS;
}

CUresult State::cuOccupancyMaxPotentialBlockSize(int* least_grid, int* block, CUfunction function,
                                                 CUoccupancyB2DSize, std::size_t, int) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    *least_grid = 8;
    *block = kernel_of(function)->attributes.at(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    return CUDA_SUCCESS;
}

/// As many clusters as there are pairs of multiprocessors.
CUresult State::cuOccupancyMaxActiveClusters(int* clusters, CUfunction,
                                             const CUlaunchConfig* config) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    if (config->gridDimX == 0 || config->blockDimX == 0) return CUDA_ERROR_INVALID_VALUE;
    *clusters = config->numAttrs == 0 ? 8 : 2;
    return CUDA_SUCCESS;
}

CUresult State::cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function,
                                                   const CUlaunchConfig*) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    const auto& attributes = kernel_of(function)->attributes;
    *blocks = attributes.contains(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) ? 16 : 8;
    return CUDA_SUCCESS;
}

/// Within what the kernel has opted in to, as the driver answers.
CUresult State::cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, CUfunction function,
                                                        int blocks, int) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    constexpr std::size_t of_multiprocessor = 200 << 10;
    const auto allowed =
        kernel_of(function)->attributes.at(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    *bytes = std::min(of_multiprocessor / static_cast<std::size_t>(blocks),
                      static_cast<std::size_t>(allowed));
    return CUDA_SUCCESS;
}

}  // namespace lode::test
