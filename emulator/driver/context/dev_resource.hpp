// The resources of devices and of green contexts: cuDev…, cu…GetDevResource.
#pragma once

#include "emulator/driver/context/context.hpp"
#include "emulator/driver/context/green_context.hpp"

#include <span>

namespace lode::emulator::driver {

/// What is asked for a resource. Only contexts have existing work queues, and devices have a
/// configuration for new ones.
enum class ResourceOwner : std::uint8_t { device, context, stream };

/// Writes all of a device's resource of a type; INVALID_RESOURCE_TYPE if `owner` has none.
CUresult write_resource(const Device& device, ResourceOwner owner, CUdevResource* resource,
                        CUdevResourceType type);
/// Writes a green context's resource.
CUresult write_resource(const GreenContext& green, ResourceOwner owner, CUdevResource* resource,
                        CUdevResourceType type);

/// cuDevSmResourceSplitByCount.
CUresult split_range(CUdevResource* result, unsigned* groups, const CUdevResource* input,
                     CUdevResource* remaining, unsigned flags, unsigned least);

/// cuDevSmResourceSplit: the groups that `params` ask for, one after the other; what they leave
/// goes to `remainder`. A group of 0 multiprocessors takes all that are left.
CUresult split_groups(CUdevResource* result, unsigned groups, const CUdevResource* input,
                      CUdevResource* remainder, unsigned flags,
                      CU_DEV_SM_RESOURCE_GROUP_PARAMS* params);

/// Reads the resources of one description, at least one.
CUresult describe_resources(std::span<const CUdevResource> resources,
                            ResourceDescription& description);

}  // namespace lode::emulator::driver
