// Work that would disturb the test's own process (identity, limits, mounts), done in a child.
#pragma once

#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace lode::test {

/// Runs `work` in a forked child and gives its return value, which must fit an exit status; -1 when
/// the child died of a signal. Call it while the process has a single thread.
template <class Work>
int in_child(Work&& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(static_cast<int>(std::forward<Work>(work)()));
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

}  // namespace lode::test
