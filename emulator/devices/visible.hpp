// Which devices CUDA_VISIBLE_DEVICES shows.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator {

/// The numbers of the devices that the list shows, in its order. `uuids` has the UUID of each
/// device, as nvidia-smi prints them ("GPU-…").
///
/// A list is of numbers or of UUIDs, or beginnings of UUIDs that only one device has. It ends at
/// the first element that names no device: programming guide, "CUDA Environment Variables". A
/// device that is named twice leaves none visible, and a number may have other text after it; so
/// PyTorch describes the driver (torch/cuda/__init__.py, _parse_visible_devices).
std::vector<std::size_t> visible_devices(std::string_view list, std::span<const std::string> uuids);

}  // namespace lode::emulator
