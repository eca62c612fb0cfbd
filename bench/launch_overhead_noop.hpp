// A CUDA driver that does nothing, fast.
#pragma once

#include <lode/lode.hpp>

#include <cstddef>
#include <string_view>

#include <cuda.h>
#include <cudaTypedefs.h>

namespace lode::bench {

/// A driver with one sm_90 device; every call succeeds without effect.
Driver noop_driver();

/// An image for that driver: a kernel "k" with `arguments` parameters of one PTX type.
Image noop_image(std::size_t arguments, std::string_view type = ".u32");

/// The driver's cuLaunchKernel and cuLaunchKernelEx.
PFN_cuLaunchKernel_v4000 noop_launch() noexcept;
PFN_cuLaunchKernelEx_v11060 noop_launch_ex() noexcept;

}  // namespace lode::bench
