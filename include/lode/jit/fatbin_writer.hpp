/// \file
/// FatbinWriter: nvFatbin, searched for and opened on first use. It puts code for several
/// architectures into one file.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Where to look for nvFatbin.
struct FatbinWriterSearch {
    /// A library file, or the folder that contains it. If set, no other place is searched.
    std::filesystem::path library = {};
};

/// Properties of the opened nvFatbin.
struct FatbinWriterInfo {
    int version = 0;                           ///< 13000 for 13.0.
    std::filesystem::path path;                ///< The library file in use.
    std::vector<std::string> search_attempts;  ///< One line per place tried.
};

/// How to write a fat binary. A plain value.
struct FatbinOptions {
    bool compress = true;                       ///< -compress: PTX and machine code.
    std::vector<std::string> extra_flags = {};  ///< nvFatbin's own, e.g. "-compress-mode=speed".
};

/// Writes fat binaries, which lode, the driver and CUDA's tools read. Needs no driver and no GPU.
///
/// The first call that needs nvFatbin (CUDA 12.4 and newer; NVIDIA's wheel nvidia-nvfatbin)
/// searches for it and opens it. If `search.library` or LODE_NVFATBIN is set, only that place is
/// tried; otherwise these are, in order: CUDA_HOME and CUDA_PATH, /usr/local/cuda, the loader's
/// path. A failed search isn't repeated. Thread-safe; copies share the opened library.
class FatbinWriter {
public:
    /// Opens nothing yet.
    explicit FatbinWriter(FatbinWriterSearch search = {});

    /// Properties of nvFatbin; opens it if needed. Errors: not_found lists every place tried.
    [[nodiscard]] Result<FatbinWriterInfo> info() const;

    /// The bytes of a fat binary with every form of every image: machine code, PTX and LTO-IR,
    /// but not Tile IR. fatbin_entries() and images_of_fatbin() read it back. It has no place for
    /// name expressions, logs and reports, and nvFatbin drops the comments and the indentation of
    /// PTX.
    ///
    /// Errors: not_found without the library; invalid_argument for an empty list, and for an image
    /// without code; invalid_image with nvFatbin's reason for code that it refuses.
    [[nodiscard]] Result<std::vector<std::byte>> write(std::span<const Image> images,
                                                       const FatbinOptions& options = {}) const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
