// The kernel's limit of a compilation's memory, which holds whether or not the host can measure the
// worker.
#pragma once

#include "jit/worker/message.hpp"

#include <lode/base/error.hpp>

#include <memory>
#include <vector>

#include <sys/resource.h>

namespace LODE_NAMESPACE::worker {

struct LastAnswer;

/// While it exists, this process gets no more private memory than its request may take, beyond what
/// it had before. An allocation that would exceed it sends the host the answer fail_memory_limit()
/// and ends the process, so that no image is made of what a compiler does then. One at a time; no
/// other thread allocates while one is made.
class MemoryLimit {
public:
    /// Limits nothing if the request has no limit. With `for_good`, the limit stays when the object
    /// is gone, and can only be lowered. Errors: not_supported if the kernel enforces no limit and
    /// the host doesn't measure the worker.
    [[nodiscard]] static Result<MemoryLimit> set(const Request& request, int socket, bool for_good);
    ~MemoryLimit();
    MemoryLimit(MemoryLimit&&) noexcept;
    MemoryLimit& operator=(MemoryLimit&&) = delete;

private:
    MemoryLimit() noexcept;

    std::vector<rlimit> before_;
    std::unique_ptr<LastAnswer> last_answer_;
};

}  // namespace LODE_NAMESPACE::worker
