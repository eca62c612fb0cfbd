#include "tests/fuzz/driver_world.hpp"

#include <iterator>

namespace lode::fuzz {
namespace {

constexpr std::size_t small[] = {0, 1, 2, 3, 4, 7, 8, 16, 64, 100, 256, 512, 1024, 4096};
/// Far more than any device has: a copy of this size must be refused before it reads anything.
constexpr std::size_t enormous[] = {
    std::size_t{1} << 40, std::size_t{1} << 62,   (std::size_t{1} << 63) - 1,
    std::size_t{1} << 63, ~std::size_t{0} - 4095, ~std::size_t{0} - 7,
    ~std::size_t{0}};
constexpr std::size_t middle[] = {std::size_t{1} << 20, std::size_t{1} << 33, std::size_t{1} << 34};

constexpr std::string_view good_ptx =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".global .align 4 .u32 g[4];\n.const .align 4 .u32 c = 7;\n"
    ".visible .entry touch(.param .u64 p)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n"
    "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
    ".visible .entry nothing()\n{\nret;\n}\n"
    ".visible .entry stops()\n{\ntrap;\n}\n"
    ".visible .entry wants(.param .u64 p, .param .u32 n, .param .align 8 .b8 s[24])\n"
    ".maxntid 64, 1, 1\n{\n.shared .align 8 .b8 m[64];\nbar.sync 0;\nret;\n}\n"
    ".visible .entry refused()\n{\n.reg .b32 %r<4>;\nwmma.nothing.f32 %r1, %r2;\nret;\n}\n";
/// A header of 16 bytes with nothing after it. A driver trusts the size in a header, so no image
/// may end before it.
constexpr std::string_view empty_fat_binary(
    "\x50\xed\x55\xba\x01\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00", 16);
constexpr std::string_view images[] = {
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n",
    ".version 9.9\n.target sm_75\n",
    ".version 8.0\n.target sm_120\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n",
    ".version",
    "\177ELF\2\1\1\0                                                         ",  // A whole header.
    "",
    "{}",
    empty_fat_binary,
    ".version 8.0\n.target sm_75\n.address_size 64\n.extern .global .u32 missing;\n.visible .entry "
    "k()\n{\n.reg .b32 %r<2>;\nld.global.u32 %r1, [missing];\nret;\n}\n"};
constexpr std::string_view names[] = {"touch",  "nothing", "stops",       "wants", "refused",
                                      "g",      "c",       "missing",     "",      "cuMemAlloc",
                                      "cuInit", "cuNone",  "0000:01:00.0"};
constexpr std::string_view paths[] = {"/dev/null", "/nonexistent/x", "", "/"};

bool is_unified_copy(std::string_view symbol) {
    return symbol.starts_with("cuMemcpy_ptds") || symbol == "cuMemcpy" ||
           symbol.starts_with("cuMemcpyAsync");
}

/// Calls that take the number of elements of an array in the world.
bool counts_an_array(std::string_view symbol) {
    for (const std::string_view start :
         {"cuModuleLoadDataEx", "cuLibraryLoadData", "cuLibraryLoadFromFile",
          "cuPointerGetAttributes", "cuMemPoolSetAccess", "cuCtxCreate_v3", "cuDeviceGetName",
          "cuDeviceGetPCIBusId"}) {
        if (symbol.starts_with(start)) return true;
    }
    return false;
}

template <class Value>
std::size_t offset_of(Value value) {
    return static_cast<std::size_t>(value);
}

}  // namespace

void CUDA_CB do_nothing(void*) {}
void CUDA_CB do_nothing_after(CUstream, CUresult, void*) {}
void CUDA_CB hear_nothing(void*, CUlogLevel, char*, std::size_t) {}
std::size_t CUDA_CB no_shared(int) {
    return 0;
}

void World::begin(std::string_view symbol) {
    symbol_ = symbol;
    arrays_ = 0;
    options_.clear();
    makes_host_memory_ =
        symbol.starts_with("cuMemHostAlloc") || symbol.starts_with("cuMemAllocHost");
    gives_address_ = symbol.starts_with("cuMem") || symbol.find("GetGlobal") != symbol.npos ||
                     symbol.find("GetManaged") != symbol.npos;
}

void* World::filled_slot() {
    auto* const numbers = slot<std::uint32_t>();
    std::memset(numbers, 0, Areas::slot_bytes);
    if (source_.below(2) == 0) {
        for (std::size_t k = 0; k < 8; ++k)
            numbers[k] = number();
    }
    return numbers;
}

void* World::any_handle(const std::vector<void*>& own) {
    static constexpr std::uintptr_t odd[] = {0, 1, 2, 3, 0xdeadbeef, ~std::uintptr_t{0}};
    const std::size_t choice = source_.below(16);
    if (choice < 11 && !own.empty()) return own[source_.below(own.size())];
    if (choice < 13 && !every_handle_.empty())
        return every_handle_[source_.below(every_handle_.size())];
    if (choice == 13) return areas_.host;
    return reinterpret_cast<void*>(source_.one_of(odd));
}

void* World::host_pointer() {
    const bool frees = symbol_.find("Free") != std::string_view::npos ||
                       symbol_.find("Unregister") != std::string_view::npos ||
                       symbol_.find("HostGet") != std::string_view::npos;
    const std::size_t choice = source_.below(8);
    if (frees && choice < 4 && !host_addresses_.empty())
        return host_addresses_[source_.below(host_addresses_.size())];
    if (frees && choice == 4) return reinterpret_cast<void*>(address());
    static constexpr std::size_t offsets[] = {0, 64, 512, 4096, 1, 3, 8192};
    return areas_.host + source_.one_of(offsets);
}

const void* World::image() {
    if (source_.below(2) == 0) return good_ptx.data();
    return source_.one_of(images).data();
}

const char* World::text() {
    // No path may name a file that a call could create or change.
    const bool path = symbol_.find("File") != std::string_view::npos || symbol_ == "cuModuleLoad" ||
                      symbol_ == "cuGraphDebugDotPrint";
    return path ? source_.one_of(paths).data() : source_.one_of(names).data();
}

void** World::pointer_array() {
    auto* const array = slot<void*>();
    std::memset(array, 0, Areas::slot_bytes);
    const bool first = arrays_++ == 0;
    if (symbol_.starts_with("cuLaunch") && !first) {
        // `extra` is mostly null, because the parameters are given as well.
        if (source_.below(4) != 0) return nullptr;
        auto* const bytes = slot<std::uint64_t>();
        auto* const size = slot<std::size_t>();
        *size = source_.one_of(small) % Areas::slot_bytes;
        for (std::size_t k = 0; k < 8; ++k)
            bytes[k] = address();
        void* const list[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE,
                              size, CU_LAUNCH_PARAM_END};
        std::memcpy(array, list, sizeof(list));
        return array;
    }
    if (symbol_.starts_with("cuLaunch")) {
        for (std::size_t k = 0; k < 16; ++k) {
            auto* const value = slot<std::uint64_t>();
            *value = address();
            array[k] = value;
        }
        return array;
    }
    if (symbol_.starts_with("cuPointerGetAttributes")) {
        for (std::size_t k = 0; k < 8; ++k)
            array[k] = slot<void>();
        return array;
    }
    for (std::size_t k = 0; k < options_.size(); ++k) {
        const bool buffer =
            options_[k] == CU_JIT_ERROR_LOG_BUFFER || options_[k] == CU_JIT_INFO_LOG_BUFFER;
        array[k] = buffer ? areas_.text : reinterpret_cast<void*>(source_.one_of(small));
    }
    return array;
}

CUdeviceptr World::address() {
    static constexpr CUdeviceptr odd[] = {0, 1, 4096, 0x7f0000000000, 1ull << 63, ~0ull, ~0ull - 7};
    static constexpr CUdeviceptr offsets[] = {0, 0, 0, 0, 1, 4, 8, 100, 4095, 4096, ~0ull};
    const std::size_t choice = source_.below(16);
    if (choice < 12 && !addresses_.empty()) {
        const CUdeviceptr address = addresses_[source_.below(addresses_.size())];
        const CUdeviceptr offset = source_.one_of(offsets);
        // Memory before the device's memory belongs to the process.
        return is_unified_copy(symbol_) && offset > 4096 ? address : address + offset;
    }
    if (choice < 14) return reinterpret_cast<CUdeviceptr>(areas_.host + source_.below(256));
    if (is_unified_copy(symbol_)) return 0;
    return source_.one_of(odd);
}

std::size_t World::size() {
    const std::size_t choice = source_.below(8);
    // Only the world's own memory is known to exist.
    if (symbol_.starts_with("cuMemHostRegister")) return source_.one_of(small);
    const bool copies_on_the_host =
        is_unified_copy(symbol_) || symbol_.find("GetName") != std::string_view::npos;
    if (choice < 6 || copies_on_the_host) return source_.one_of(small);
    if (choice == 6 && symbol_.find("Alloc") != std::string_view::npos)
        return source_.one_of(middle);
    return source_.one_of(enormous);
}

std::uint32_t World::number() {
    static constexpr std::uint32_t edges[] = {
        0,  0,  0,  1,    1,    2,     3,     4,          5,          7,  8,
        16, 32, 64, 1024, 4096, 65535, 65536, 0x7fffffff, 0x80000000, ~0u};
    // Six of these are multiplied.
    static constexpr std::uint32_t shapes[] = {0, 1, 1, 1, 1, 2, 2, 3, 5, 7, 0x80000000, ~0u};
    if (counts_an_array(symbol_)) return static_cast<std::uint32_t>(source_.below(8));
    if (symbol_.starts_with("cuLaunch")) return source_.one_of(shapes);
    if (source_.below(3) == 0) return source_.take<std::uint8_t>();
    return source_.one_of(edges);
}

CUjit_option* World::jit_options() {
    auto* const options = slot<CUjit_option>();
    options_.clear();
    for (std::size_t k = 0; k < 8; ++k) {
        options[k] = static_cast<CUjit_option>(source_.below(40));
        options_.push_back(options[k]);
    }
    return options;
}

const CUlaunchConfig* World::launch_config() {
    auto* const config = slot<CUlaunchConfig>();
    *config = {};
    config->gridDimX = number();
    config->gridDimY = number();
    config->gridDimZ = number();
    config->blockDimX = number();
    config->blockDimY = number();
    config->blockDimZ = number();
    config->sharedMemBytes = number();
    config->hStream = make<CUstream>();
    config->numAttrs = static_cast<unsigned>(source_.below(4));
    if (source_.below(8) == 0) return config;  // numAttrs without attrs.
    config->attrs = slot<CUlaunchAttribute>();
    std::memset(config->attrs, 0, Areas::slot_bytes);
    for (unsigned k = 0; k < config->numAttrs; ++k) {
        config->attrs[k].id = static_cast<CUlaunchAttributeID>(source_.below(20));
        config->attrs[k].value.clusterDim = {number(), number(), number()};
    }
    return config;
}

template <class Descriptor>
const Descriptor* World::box() {
    auto* const made = slot<Descriptor>();
    *made = {};
    static constexpr std::size_t lengths[] = {0, 1, 2, 4, 16, 64};
    static constexpr std::size_t pitches[] = {0, 1, 16, 64, 100};
    static constexpr CUmemorytype types[] = {CU_MEMORYTYPE_HOST,    CU_MEMORYTYPE_DEVICE,
                                             CU_MEMORYTYPE_DEVICE,  CU_MEMORYTYPE_DEVICE,
                                             CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_ARRAY};
    const auto length = [&](bool free) {
        return free && source_.below(6) == 0 ? source_.one_of(enormous) : source_.one_of(lengths);
    };
    const auto type = [&] {
        return source_.below(8) == 0 ? static_cast<CUmemorytype>(number()) : source_.one_of(types);
    };
    made->srcMemoryType = type();
    made->dstMemoryType = type();
    const bool from_device = made->srcMemoryType == CU_MEMORYTYPE_DEVICE;
    const bool to_device = made->dstMemoryType == CU_MEMORYTYPE_DEVICE;
    // The world keeps accesses to its own memory in range; the driver must check those to device
    // memory.
    const bool checked = from_device || to_device;
    const auto unified = [&](CUdeviceptr any) {
        return any % 2 == 0 && !addresses_.empty() ? addresses_[any % addresses_.size()]
                                                   : reinterpret_cast<CUdeviceptr>(areas_.host);
    };
    made->srcHost = areas_.host;
    made->dstHost = areas_.host + offset_of(64 * 1024);
    made->srcDevice = from_device ? address() : unified(source_.below(8));
    made->dstDevice = to_device ? address() : unified(source_.below(8));
    made->srcXInBytes = length(from_device);
    made->srcY = length(from_device);
    made->srcPitch = from_device ? length(true) : source_.one_of(pitches);
    made->dstXInBytes = length(to_device);
    made->dstY = length(to_device);
    made->dstPitch = to_device ? length(true) : source_.one_of(pitches);
    made->WidthInBytes = length(checked);
    made->Height = length(checked) % (checked ? ~std::size_t{0} : 17);
    if constexpr (requires { made->Depth; }) {
        made->srcZ = length(from_device) % (from_device ? ~std::size_t{0} : 5);
        made->dstZ = length(to_device) % (to_device ? ~std::size_t{0} : 5);
        made->Depth = length(checked) % (checked ? ~std::size_t{0} : 5);
        made->srcHeight = length(from_device) % (from_device ? ~std::size_t{0} : 17);
        made->dstHeight = length(to_device) % (to_device ? ~std::size_t{0} : 17);
    }
    if constexpr (requires { made->srcContext; }) {
        made->srcContext = make<CUcontext>();
        made->dstContext = make<CUcontext>();
    }
    return made;
}

template const CUDA_MEMCPY2D* World::box();
template const CUDA_MEMCPY3D* World::box();
template const CUDA_MEMCPY3D_PEER* World::box();

const CUmemPoolProps* World::pool_properties() {
    auto* const properties = slot<CUmemPoolProps>();
    *properties = {};
    properties->allocType = source_.below(8) == 0 ? static_cast<CUmemAllocationType>(number())
                                                  : CU_MEM_ALLOCATION_TYPE_PINNED;
    properties->location.type = source_.below(8) == 0 ? static_cast<CUmemLocationType>(number())
                                                      : CU_MEM_LOCATION_TYPE_DEVICE;
    properties->location.id = source_.below(4) == 0 ? static_cast<int>(number()) : 0;
    properties->handleTypes =
        static_cast<CUmemAllocationHandleType>(source_.below(8) == 0 ? number() : 0u);
    properties->maxSize = source_.below(4) == 0 ? size() : 0;
    return properties;
}

}  // namespace lode::fuzz
