// The devices that the emulator can present: one profile per architecture.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/occupancy.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator {

/// The limits and properties of one architecture.
struct Profile {
    ComputeCapability cc;
    MultiprocessorLimits limits;
    int multiprocessors;
    int l2_mib;
    int clock_mhz;
    int memory_clock_mhz;
    int memory_bus_bits;
    int single_to_double;  ///< Ratio of single-precision to double-precision throughput.
    bool integrated;

    /// For example "lode emulator (CPU) sm_90".
    [[nodiscard]] std::string device_name() const;
    /// Shared memory in bytes that the driver reserves in every block.
    [[nodiscard]] int reserved_shared_bytes() const noexcept {
        return static_cast<int>(limits.reserved_shared_bytes_per_block);
    }
    /// The most L2 cache that can be set aside for persisting accesses; of no effect here.
    [[nodiscard]] int persisting_l2_bytes() const noexcept {
        constexpr int share = 4;  // As on an H200: all but a quarter.
        return cc.cc_major() >= 8 ? l2_mib * (1024 * 1024 / share) * (share - 1) : 0;
    }
    /// The largest access-policy window; of no effect here.
    [[nodiscard]] std::size_t access_policy_window_bytes() const noexcept {
        return cc.cc_major() >= 8 ? std::size_t{128} << 20 : 0;
    }
};

// Values common to every architecture since 7.5.
inline constexpr int warp_size = 32;
inline constexpr int max_threads_per_block = 1024;
inline constexpr int max_block_x = 1024;
inline constexpr int max_block_y = 1024;
inline constexpr int max_block_z = 64;
inline constexpr int max_grid_x = 2147483647;
inline constexpr int max_grid_yz = 65535;
inline constexpr int shared_bytes_per_block = 48 * 1024;
inline constexpr int constant_bytes = 64 * 1024;
inline constexpr int registers_per_multiprocessor = 65536;
inline constexpr int registers_per_block = 65536;
inline constexpr int max_registers_per_thread = 255;
inline constexpr int register_granularity = 256;  ///< Registers per warp are a multiple of it.
inline constexpr int multiprocessor_partitions = 4;

/// All profiles in ascending order of capability.
std::span<const Profile> profiles() noexcept;

/// The profile of `cc`, or nullptr if there is none.
const Profile* find_profile(ComputeCapability cc) noexcept;

/// Parses LODE_EMULATOR_DEVICES, such as "sm_75,sm_90,sm_120"; "none" means no devices. Fails with
/// invalid_argument, naming the unknown entry and the known architectures.
[[nodiscard]] Result<std::vector<const Profile*>> parse_devices(std::string_view text);

}  // namespace lode::emulator
