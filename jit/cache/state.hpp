// CachedCompiler::State: the parts of a CachedCompiler, which share one Storage.
#pragma once

#include "jit/cache/async_requests.hpp"
#include "jit/cache/async_tasks.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/compile_pipeline.hpp"
#include "jit/cache/link_pipeline.hpp"
#include "jit/cache/recorder.hpp"
#include "jit/cache/requests.hpp"
#include "jit/cache/storage.hpp"

#include <lode/jit/cache.hpp>

#include <memory>
#include <mutex>

namespace LODE_NAMESPACE {

class detail::CachedCompilerState : public std::enable_shared_from_this<CachedCompilerState> {
public:
    /// `operations` are those of the cache's folder, and must outlive the state. `backend` compiles
    /// the languages that aren't among the others.
    CachedCompilerState(std::unique_ptr<cache::CompilerBackend> backend, CacheOptions options,
                        const os::FileOperations& operations = os::FileOperations::system(),
                        cache::Backends others = {});

    [[nodiscard]] Result<CachedImage> compile(CompileRequest request);
    /// CachedCompiler::quiesce() and resume()
    [[nodiscard]] Status quiesce();
    void resume() noexcept;

    cache::Storage storage;
    cache::AsyncTasks tasks;
    cache::Requests requests{storage, tasks};
    cache::Flights flights;
    cache::CompilePipeline pipeline;
    cache::LinkPipeline links{storage, requests, flights};
    const std::unique_ptr<cache::Recorder> recorder = cache::Recorder::make(storage.options());
    cache::AsyncRequests asynchronous{pipeline, requests, flights, tasks, recorder.get()};

private:
    std::mutex quiescing_;  ///< Held while the gate is closed or opened, and what is inside ends.
};

}  // namespace LODE_NAMESPACE
