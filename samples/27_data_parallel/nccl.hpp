// NCCL, opened where it is there: the few functions that samples use, as its manual declares them.
#pragma once

#include "check.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <dlfcn.h>

namespace sample {

struct Nccl {
    using Id = std::array<char, 128>;
    /// ncclUniqueId, which is passed by value.
    struct IdArgument {
        Id bytes;
    };
    static constexpr int float32 = 7;  ///< ncclFloat32
    static constexpr int sum = 0;      ///< ncclSum

    int (*get_id)(Id*) = nullptr;
    int (*init_all)(void** communicators, int count, const int* devices) = nullptr;
    int (*init_rank)(void** communicator, int world, IdArgument id, int rank) = nullptr;
    int (*group_start)() = nullptr;
    int (*group_end)() = nullptr;
    int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int operation,
                      void* communicator, void* stream) = nullptr;
    int (*destroy)(void* communicator) = nullptr;
    const char* (*error)(int) = nullptr;

    /// The library, or nullptr if it isn't installed. It stays loaded.
    static const Nccl* find() {
        static const Nccl found = [] {
            Nccl made;
            void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
            if (library == nullptr) return made;
            const auto get = [&](auto& function, const char* name) {
                function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
                    dlsym(library, name));
                check_symbol(function != nullptr, name);
            };
            get(made.get_id, "ncclGetUniqueId");
            get(made.init_all, "ncclCommInitAll");
            get(made.init_rank, "ncclCommInitRank");
            get(made.group_start, "ncclGroupStart");
            get(made.group_end, "ncclGroupEnd");
            get(made.all_reduce, "ncclAllReduce");
            get(made.destroy, "ncclCommDestroy");
            get(made.error, "ncclGetErrorString");
            return made;
        }();
        return found.error == nullptr ? nullptr : &found;
    }

    void check(int status) const { sample::check(status == 0, error(status)); }

private:
    static void check_symbol(bool found, const char* name) {
        sample::check(found, std::string("libnccl.so.2 has ") + name);
    }
};

/// Communicators, which are destroyed with it.
struct NcclCommunicators {
    NcclCommunicators(const Nccl& library, int count)
        : nccl(library), all(static_cast<std::size_t>(count)) {}
    ~NcclCommunicators() {
        for (void* const one : all)
            if (one != nullptr) (void)nccl.destroy(one);
    }
    NcclCommunicators(const NcclCommunicators&) = delete;
    NcclCommunicators& operator=(const NcclCommunicators&) = delete;

    const Nccl& nccl;
    std::vector<void*> all;
};

}  // namespace sample
