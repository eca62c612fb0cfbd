// NvrtcProgram: one NVRTC program, destroyed with the object.
#pragma once

#include "jit/nvrtc/table.hpp"
#include "jit/request/header_view.hpp"

#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// Move-only. Holds a pointer to `table`, which must outlive it. For one thread at a time.
class NvrtcProgram {
public:
    [[nodiscard]] static Result<NvrtcProgram> create(const NvrtcTable& table,
                                                     const std::string& code,
                                                     const std::string& name,
                                                     std::span<const HeaderView> headers);

    /// Requests the lowered name of a C++ name; call before compile().
    [[nodiscard]] Status add_name(const std::string& expression) const;

    /// The raw result: the meaning of a failure depends on the log. Preserves the calling thread's
    /// locale (NVRTC before 12.6 changes it). NVRTC_ERROR_CANCELLED once `should_stop` is true, if
    /// this NVRTC can ask it.
    [[nodiscard]] nvrtcResult compile(std::span<const std::string> flags,
                                      const std::function<bool()>& should_stop = {}) const;

    [[nodiscard]] Result<std::string> log() const;
    [[nodiscard]] Result<std::string> ptx() const;
    /// Empty for a virtual target.
    [[nodiscard]] Result<std::vector<std::byte>> cubin() const;
    /// Only after a compilation with --dlink-time-opt.
    [[nodiscard]] Result<std::vector<std::byte>> lto_ir() const;
    /// Only after a compilation with --enable-tile or --tile-only.
    [[nodiscard]] Result<std::vector<std::byte>> tile_ir() const;
    [[nodiscard]] Result<std::vector<std::byte>> optix_ir() const;
    [[nodiscard]] Result<std::string> lowered_name(const std::string& expression) const;

private:
    struct Traits {
        using Handle = nvrtcProgram;
        using Owner = const NvrtcTable*;
        static void destroy(Handle program, Owner table) noexcept;
    };

    NvrtcProgram(const NvrtcTable& table, nvrtcProgram program) : program_(program, &table) {}
    [[nodiscard]] const NvrtcTable& table() const noexcept { return *program_.owner(); }

    UniqueHandle<Traits> program_;
};

}  // namespace LODE_NAMESPACE
