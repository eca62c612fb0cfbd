// Runs work that would disturb the test's own process (identity, limits, mounts) in a child.
#pragma once

#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace lode::test {

/// Runs `work` in a forked child and returns its result, which must fit an exit status; -1 if a
/// signal ended the child. Call it only while the process has a single thread.
template <class Work>
int in_child(Work&& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(static_cast<int>(std::forward<Work>(work)()));
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

}  // namespace lode::test
