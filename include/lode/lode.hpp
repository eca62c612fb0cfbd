/// \file
/// All of lode in one include.
///
/// \namespace lode
/// The public API of lode. Names in `lode::detail` are internal.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/digest.hpp>
#include <lode/base/environment.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/base/log.hpp>
#include <lode/base/occupancy.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/box.hpp>
#include <lode/runtime/array.hpp>
#include <lode/runtime/choose_device.hpp>
#include <lode/runtime/context.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/device_attributes.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/driver.hpp>
#include <lode/runtime/driver_linker.hpp>
#include <lode/runtime/graph.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/kernel_occupancy.hpp>
#include <lode/runtime/launch.hpp>
#include <lode/runtime/launch_attributes.hpp>
#include <lode/runtime/library.hpp>
#include <lode/runtime/limits.hpp>
#include <lode/runtime/memory.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/pitched.hpp>
#include <lode/runtime/prepared_launch.hpp>
#include <lode/runtime/runtime.hpp>
#include <lode/runtime/sm_partition.hpp>
#include <lode/runtime/stream.hpp>
#include <lode/runtime/stream_attributes.hpp>
#include <lode/runtime/surface.hpp>
#include <lode/runtime/tensor_map.hpp>
#include <lode/runtime/texture.hpp>
#include <lode/runtime/timing.hpp>
#include <lode/runtime/variants.hpp>
#include <lode/runtime/variants_choices.hpp>
#include <lode/runtime/variants_loader.hpp>
