// A CUDA driver that does nothing, quickly.
#pragma once

#include <lode/lode.hpp>

#include <cuda.h>
#include <cudaTypedefs.h>

namespace lode::bench {

/// One sm_90 device; everything succeeds without effect.
Driver noop_driver();

/// An image for it: a kernel "k" with `arguments` ints.
Image noop_image(std::size_t arguments);

/// Its cuLaunchKernel and cuLaunchKernelEx.
PFN_cuLaunchKernel_v4000 noop_launch() noexcept;
PFN_cuLaunchKernelEx_v11060 noop_launch_ex() noexcept;

}  // namespace lode::bench
