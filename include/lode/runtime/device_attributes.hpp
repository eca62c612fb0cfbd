/// \file
/// Every attribute of a device by name, beyond those that DeviceProperties holds.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

class Device;

/// The attributes of CUDA 13.0's driver with their numbers (CUdevice_attribute). A limit is the
/// largest possible value unless the comment says otherwise.
enum class DeviceAttribute : std::uint16_t {
    max_threads_per_block = 1,        ///< Threads of a block.
    max_block_dim_x = 2,              ///< First extent of a block.
    max_block_dim_y = 3,              ///< Second extent of a block.
    max_block_dim_z = 4,              ///< Third extent of a block.
    max_grid_dim_x = 5,               ///< First extent of a grid, in blocks.
    max_grid_dim_y = 6,               ///< Second extent of a grid, in blocks.
    max_grid_dim_z = 7,               ///< Third extent of a grid, in blocks.
    max_shared_memory_per_block = 8,  ///< Without opt-in.
    total_constant_memory = 9,        ///< For `__constant__` variables.
    warp_size = 10,                   ///< Threads of a warp.
    max_pitch = 11,                   ///< Bytes, in a copy of two or three dimensions.
    max_registers_per_block = 12,     ///< 32-bit registers.
    clock_rate = 13,                  ///< Typical clock of the multiprocessors, in kHz.
    texture_alignment = 14,           ///< Alignment of a texture's address, in bytes.
    gpu_overlap = 15,                 ///< Copies can overlap kernels; async_engine_count says more.
    multiprocessor_count = 16,        ///< Multiprocessors.
    kernel_exec_timeout = 17,         ///< A kernel's run time is limited.
    integrated = 18,                  ///< The device shares physical memory with the host.
    can_map_host_memory = 19,         ///< Kernels can access page-locked host memory.
    compute_mode = 20,                ///< CUcomputemode.
    maximum_texture1d_width = 21,     ///< Texels.
    maximum_texture2d_width = 22,     ///< Texels.
    maximum_texture2d_height = 23,    ///< Texels.
    maximum_texture3d_width = 24,     ///< Texels.
    maximum_texture3d_height = 25,    ///< Texels.
    maximum_texture3d_depth = 26,     ///< Texels.
    maximum_texture2d_layered_width = 27,     ///< Texels.
    maximum_texture2d_layered_height = 28,    ///< Texels.
    maximum_texture2d_layered_layers = 29,    ///< Layers.
    surface_alignment = 30,                   ///< Alignment of a surface's address, in bytes.
    concurrent_kernels = 31,                  ///< Kernels of several streams can run at once.
    ecc_enabled = 32,                         ///< Error correction is on.
    pci_bus_id = 33,                          ///< The bus of the PCI address.
    pci_device_id = 34,                       ///< The device of the PCI address.
    tcc_driver = 35,                          ///< Windows' TCC driver model.
    memory_clock_rate = 36,                   ///< Highest clock of the memory, in kHz.
    global_memory_bus_width = 37,             ///< Width of the memory bus, in bits.
    l2_cache_size = 38,                       ///< Size of the L2 cache, in bytes.
    max_threads_per_multiprocessor = 39,      ///< Resident threads.
    async_engine_count = 40,                  ///< Engines that copy while kernels run.
    unified_addressing = 41,                  ///< Host and device share one address space.
    maximum_texture1d_layered_width = 42,     ///< Texels.
    maximum_texture1d_layered_layers = 43,    ///< Layers.
    can_tex2d_gather = 44,                    ///< Texture gather; deprecated.
    maximum_texture2d_gather_width = 45,      ///< Texels, with gather.
    maximum_texture2d_gather_height = 46,     ///< Texels, with gather.
    maximum_texture3d_width_alternate = 47,   ///< Texels, if another extent is smaller.
    maximum_texture3d_height_alternate = 48,  ///< Texels, if another extent is smaller.
    maximum_texture3d_depth_alternate = 49,   ///< Texels, if another extent is smaller.
    pci_domain_id = 50,                       ///< The domain of the PCI address.
    texture_pitch_alignment =
        51,  ///< Alignment of the pitch of a texture in linear memory, in bytes.
    maximum_texturecubemap_width = 52,           ///< Texels; the height is the same.
    maximum_texturecubemap_layered_width = 53,   ///< Texels; the height is the same.
    maximum_texturecubemap_layered_layers = 54,  ///< Layers.
    maximum_surface1d_width = 55,                ///< Elements.
    maximum_surface2d_width = 56,                ///< Elements.
    maximum_surface2d_height = 57,               ///< Elements.
    maximum_surface3d_width = 58,                ///< Elements.
    maximum_surface3d_height = 59,               ///< Elements.
    maximum_surface3d_depth = 60,                ///< Elements.
    maximum_surface1d_layered_width = 61,        ///< Elements.
    maximum_surface1d_layered_layers = 62,       ///< Layers.
    maximum_surface2d_layered_width = 63,        ///< Elements.
    maximum_surface2d_layered_height = 64,       ///< Elements.
    maximum_surface2d_layered_layers = 65,       ///< Layers.
    maximum_surfacecubemap_width = 66,           ///< Elements; the height is the same.
    maximum_surfacecubemap_layered_width = 67,   ///< Elements; the height is the same.
    maximum_surfacecubemap_layered_layers = 68,  ///< Layers.
    maximum_texture1d_linear_width = 69,         ///< Texels; deprecated.
    maximum_texture2d_linear_width = 70,         ///< Texels, in linear memory.
    maximum_texture2d_linear_height = 71,        ///< Texels, in linear memory.
    maximum_texture2d_linear_pitch = 72,         ///< In linear memory.
    maximum_texture2d_mipmapped_width = 73,      ///< Texels.
    maximum_texture2d_mipmapped_height = 74,     ///< Texels.
    compute_capability_major = 75,               ///< The X of X.Y.
    compute_capability_minor = 76,               ///< The Y of X.Y.
    maximum_texture1d_mipmapped_width = 77,      ///< Texels.
    stream_priorities_supported = 78,            ///< Streams have priorities.
    global_l1_cache_supported = 79,              ///< L1 caches global memory.
    local_l1_cache_supported = 80,               ///< L1 caches local memory.
    max_shared_memory_per_multiprocessor = 81,   ///< For all resident blocks together.
    max_registers_per_multiprocessor = 82,  ///< 32-bit registers, for all resident blocks together.
    managed_memory = 83,                    ///< Managed memory can be allocated.
    multi_gpu_board = 84,                   ///< The board has several GPUs.
    multi_gpu_board_group_id = 85,          ///< The same for all GPUs of a board.
    host_native_atomic_supported = 86,      ///< Atomic operations work across the link to the host.
    single_to_double_precision_perf_ratio =
        87,                             ///< Single-precision throughput over double-precision.
    pageable_memory_access = 88,        ///< Kernels can access any host memory.
    concurrent_managed_access = 89,     ///< The host can access managed memory while kernels run.
    compute_preemption_supported = 90,  ///< Kernels can be interrupted at any instruction.
    can_use_host_pointer_for_registered_mem =
        91,                          ///< Registered host memory has one address for both.
    can_use_stream_mem_ops_v1 = 92,  ///< First version of stream memory operations; deprecated.
    can_use_64_bit_stream_mem_ops_v1 = 93,  ///< The same with 64 bits; deprecated.
    can_use_stream_wait_value_nor_v1 = 94,  ///< The same with NOR; deprecated.
    cooperative_launch = 95,                ///< LaunchShape::cooperative is supported.
    cooperative_multi_device_launch = 96,  ///< Cooperative launches on several devices; deprecated.
    max_shared_memory_per_block_optin = 97,  ///< With opt-in.
    can_flush_remote_writes = 98,            ///< Streams can flush writes of other devices.
    host_register_supported = 99,            ///< Host memory can be registered.
    pageable_memory_access_uses_host_page_tables = 100,  ///< Through the host's page tables.
    direct_managed_mem_access_from_host =
        101,  ///< The host accesses managed memory without migration.
    virtual_memory_management_supported = 102,  ///< cuMemCreate, cuMemMap and their relatives.
    handle_type_posix_file_descriptor_supported =
        103,                                       ///< Memory can be shared as a file descriptor.
    handle_type_win32_handle_supported = 104,      ///< Memory can be shared as an NT handle.
    handle_type_win32_kmt_handle_supported = 105,  ///< Memory can be shared as a KMT handle.
    max_blocks_per_multiprocessor = 106,           ///< Resident blocks.
    generic_compression_supported = 107,           ///< Memory can be compressed.
    max_persisting_l2_cache_size = 108,   ///< L2 that can be set aside for persisting accesses.
    max_access_policy_window_size = 109,  ///< Size of an access policy window, in bytes.
    gpu_direct_rdma_with_cuda_vmm_supported = 110,  ///< GPUDirect RDMA with cuMemCreate.
    reserved_shared_memory_per_block = 111,         ///< Reserved by the driver in every block.
    sparse_cuda_array_supported = 112,              ///< Arrays with partial memory.
    read_only_host_register_supported = 113,        ///< Host memory can be registered as read-only.
    timeline_semaphore_interop_supported = 114,     ///< External timeline semaphores.
    memory_pools_supported = 115,                   ///< cuMemAllocAsync and memory pools.
    gpu_direct_rdma_supported = 116,                ///< GPUDirect RDMA.
    gpu_direct_rdma_flush_writes_options = 117,     ///< Bits of CUflushGPUDirectRDMAWritesOptions.
    gpu_direct_rdma_writes_ordering = 118,          ///< CUGPUDirectRDMAWritesOrdering.
    mempool_supported_handle_types = 119,           ///< Bits of CUmemAllocationHandleType.
    cluster_launch = 120,                           ///< LaunchShape::cluster is supported.
    deferred_mapping_cuda_array_supported = 121,    ///< Arrays whose memory is mapped later.
    can_use_64_bit_stream_mem_ops = 122,            ///< 64-bit stream memory operations.
    can_use_stream_wait_value_nor = 123,            ///< Streams can wait for a NOR.
    dma_buf_supported = 124,                        ///< Memory can be shared as a dma_buf.
    ipc_event_supported = 125,                      ///< Events can be shared with other processes.
    mem_sync_domain_count = 126,                    ///< Memory synchronisation domains.
    tensor_map_access_supported = 127,              ///< Tensor maps.
    handle_type_fabric_supported = 128,             ///< Memory can be shared as a fabric handle.
    unified_function_pointers = 129,      ///< Function pointers are the same on all devices.
    numa_config = 130,                    ///< CUdeviceNumaConfig.
    numa_id = 131,                        ///< The NUMA node of the device's memory.
    multicast_supported = 132,            ///< Multicast objects.
    mps_enabled = 133,                    ///< Contexts are shared through MPS.
    host_numa_id = 134,                   ///< The closest NUMA node of the host; -1 for none.
    d3d12_cig_supported = 135,            ///< CUDA in graphics, with Direct3D 12.
    mem_decompress_algorithm_mask = 136,  ///< Bits of CUmemDecompressAlgorithm.
    mem_decompress_maximum_length = 137,  ///< Bytes of one decompression.
    vulkan_cig_supported = 138,           ///< CUDA in graphics, with Vulkan.
    gpu_pci_device_id = 139,              ///< PCI device and vendor, 16 bits each.
    gpu_pci_subsystem_id = 140,           ///< PCI subsystem and its vendor, 16 bits each.
    host_numa_virtual_memory_management_supported =
        141,                                         ///< cuMemCreate on a NUMA node of the host.
    host_numa_memory_pools_supported = 142,          ///< Memory pools on a NUMA node of the host.
    host_numa_multinode_ipc_supported = 143,         ///< Sharing of such memory between machines.
    host_memory_pools_supported = 144,               ///< Memory pools on the host.
    host_virtual_memory_management_supported = 145,  ///< cuMemCreate on the host.
    host_alloc_dma_buf_supported = 146,  ///< Page-locked host memory can be shared as a dma_buf.
    only_partial_host_native_atomic_supported =
        147,                           ///< Some atomic operations work across the link.
    atomic_reduction_supported = 148,  ///< Atomic reductions in batches of memory operations.
    locality_domain_count = 149,       ///< Locality domains.
    max_oversized_shared_memory_per_block = 150,  ///< With a shared-memory mode that allows it.
    d3d12_cig_streams_supported = 151,           ///< CUDA in graphics in streams, with Direct3D 12.
    dma_buf_mmap_supported = 152,                ///< A dma_buf of device memory can be mapped.
    logical_endpoint_unicast_supported = 153,    ///< Unicast logical endpoints.
    logical_endpoint_multicast_supported = 154,  ///< Multicast logical endpoints.
    logical_endpoint_counted_ops_supported = 155,  ///< Counted operations through endpoints.
    logical_endpoint_unicast_access_on_owner_device_supported =
        156,                                        ///< The owner uses its own endpoint.
    locality_domain_multiprocessor_count = 157,     ///< Multiprocessors of a locality domain.
    logical_endpoint_supported_handle_types = 158,  ///< Bits of CUlogicalEndpointIpcHandleType.
    vulkan_cig_streams_supported = 159,             ///< CUDA in graphics in streams, with Vulkan.
    tensor_map_large_tensor_min_size = 160,         ///< The least that a large tensor map needs.
    gpu_direct_rdma_with_localized_memory_supported =
        161,  ///< GPUDirect RDMA with localised memory.
};

/// What an attribute's number means.
enum class AttributeUnit : std::uint8_t {
    count,      ///< A number of the things that the attribute is named for.
    flag,       ///< 1 for yes, 0 for no.
    bytes,      ///< A size in bytes.
    bits,       ///< A width in bits.
    kilohertz,  ///< A clock rate.
    code        ///< An identifier, an enumerator or a set of bits.
};

/// The enumerator's own spelling, such as "kilohertz".
std::string_view to_string(AttributeUnit unit) noexcept;

/// One attribute, its name and its unit.
struct DeviceAttributeInfo {
    DeviceAttribute attribute;  ///< The enumerator.
    std::string_view name;      ///< The enumerator's spelling, such as "warp_size".
    AttributeUnit unit;         ///< What its value counts.
};

/// All attributes in the order of their numbers. Valid for the whole program.
std::span<const DeviceAttributeInfo> device_attributes() noexcept;

/// The attribute with this name in any case, with or without "CU_DEVICE_ATTRIBUTE_"; nullopt if
/// there is none.
std::optional<DeviceAttribute> device_attribute_of(std::string_view name) noexcept;

/// Asks the driver for an attribute (cuDeviceGetAttribute); needs no context. Errors: not_supported
/// if the driver is too old to know it; invalid_argument for a number that isn't an enumerator; the
/// driver's own.
[[nodiscard]] Result<int> device_attribute(const Device& device, DeviceAttribute attribute);
/// The same for a name. Errors also: not_found for an unknown name.
[[nodiscard]] Result<int> device_attribute(const Device& device, std::string_view name);

}  // namespace LODE_NAMESPACE

LODE_API_END
