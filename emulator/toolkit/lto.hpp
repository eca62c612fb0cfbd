// Compiles LTO-IR to PTX with NVIDIA's nvJitLink, which needs no GPU for that.
#pragma once

#include <lode/base/error.hpp>

#include <span>
#include <string>
#include <vector>

namespace lode::emulator::toolkit {

struct LtoInput {
    std::string bytes;
    std::string name;
};

/// One PTX text for all inputs. `options` are those of nvJitLinkCreate, with -arch. NVIDIA's
/// library is searched for in LODE_NVJITLINK, the folders of LD_LIBRARY_PATH, the toolkits of
/// CUDA_HOME and CUDA_PATH, the active Python environment, and /usr/local/cuda. Errors: not_found
/// with the places; link_failed with the library's log.
[[nodiscard]] Result<std::string> ptx_of_lto_ir(std::span<const LtoInput> inputs,
                                                std::vector<std::string> options);

}  // namespace lode::emulator::toolkit
