#!/usr/bin/env python3
"""Runs a sample once for each of its driver calls that shall fail, and judges how it ends.

The sample's driver is the agent (agent.cpp): the software device with one call that fails. A first
run counts the calls. Then the first and the last call of each function fail, each in a run of its
own. Every run must end by itself, without a signal, a hang or a handle left. Its output names the
call, and its exit code isn't 0, except where RELEASES or SURVIVED says that the program goes on.

    sweep_samples.py AGENT SAMPLE [--calls N] [--timeout SECONDS] [-v]

--calls N fails the first call of N functions only, evenly chosen in the order of their first calls.
Exit code 0 if nothing is wrong; otherwise each complaint is printed with the command to repeat it.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

# They release or restore something, or what they ask is needed for a release; a failure is logged,
# for no caller could do anything about it. The last owner of a device waits for its work
# (cuCtxSynchronize) before it releases the context.
RELEASES = {
    "cuArrayDestroy", "cuCtxGetId", "cuCtxPopCurrent", "cuCtxSynchronize", "cuDevicePrimaryCtxRelease",
    "cuEventDestroy", "cuGraphDestroy", "cuGraphExecDestroy", "cuGreenCtxDestroy", "cuLibraryUnload",
    "cuLinkDestroy", "cuLogsUnregisterCallback", "cuMemAddressFree", "cuMemFree", "cuMemFreeAsync", "cuMemFreeHost",
    "cuMemHostUnregister", "cuMemPoolDestroy", "cuMemRelease", "cuMemUnmap",
    "cuMipmappedArrayDestroy", "cuStreamDestroy", "cuSurfObjectDestroy", "cuTexObjectDestroy",
    "cuThreadExchangeStreamCaptureMode",
}
# Other functions whose failure every sample survives: without the driver's log, errors only lack the
# driver's own words.
OPTIONAL = {"cuLogsRegisterCallback"}
# A loader of variants refuses the row that can't be loaded, and takes the next one.
OF_VARIANTS = {
    "cuFuncSetAttribute", "cuKernelGetAttribute", "cuKernelGetFunction", "cuKernelGetParamInfo",
    "cuLibraryGetKernel", "cuLibraryGetModule", "cuLibraryLoadData",
}
# Functions whose failure one sample survives. It still says so.
SURVIVED = {
    "05_variants": OF_VARIANTS,
    # The kernels of the captured graph stay loaded in any case.
    "08_graph": {"cuGraphKernelNodeGetParams"},
    # Its last request for a variable must fail.
    "12_globals": {"cuLibraryGetGlobal"},
    # The memory is freed in the stream's order if its state isn't known.
    "16_pools": {"cuStreamIsCapturing"},
    "31_kernels": {*OF_VARIANTS, "cuStreamIsCapturing"},
}
# Samples that lose their device: failures of releases after that aren't logged.
LOST = {"06_memory_check"}
# Handles that a failed call may leave, with the reason.
LEAVES = {
    "cuCtxPushCurrent": "without its context nothing can be released",
}


class Run:
    """One run of the sample, in which one call may fail."""

    def __init__(self, options, fail=None):
        self.sample = os.path.basename(options.sample)
        self.fail = fail
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report"
            environment = dict(os.environ, LODE_DRIVER=options.agent, LODE_EMULATOR=options.agent,
                               LODE_CACHE_DIR=options.cache, LODE_SWEEP_REPORT=str(report),
                               TMPDIR=folder)
            environment.pop("LODE_SWEEP_FAIL", None)
            if fail:
                environment["LODE_SWEEP_FAIL"] = fail
            try:
                ended = subprocess.run([options.sample], env=environment, cwd=folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       timeout=options.timeout, check=False)
                self.code = ended.returncode
                self.output = ended.stdout.decode(errors="replace")
            except subprocess.TimeoutExpired as late:
                self.code = None
                self.output = (late.stdout or b"").decode(errors="replace")
            lines = report.read_text().splitlines() if report.exists() else []
        self.is_complete = lines[-1:] == ["end"]
        rows = [line.split(" ", 2) for line in lines]
        self.live = [f"{row[1]} {row[2]}" for row in rows if row[0] == "live"]
        self.calls = {row[2]: int(row[1]) for row in rows if row[0] == "called"}
        self.struck = ["struck", "1"] in rows

    def complaints(self):
        """What is wrong with the run."""
        if self.code is None:
            return ["it hangs"]
        if self.code < 0:
            return [f"signal {-self.code} ends it"]
        if not self.is_complete:
            return ["it ends without its exit handlers"]
        entry = self.fail.split()[0] if self.fail else None
        found = []
        if self.live and entry not in LEAVES:
            found.append("it leaves " + ", ".join(self.live))
        if not entry or not self.struck:
            if self.code != 0:
                found.append(f"it exits with {self.code} though no call failed")
            return found
        goes_on = (entry in RELEASES or entry in LEAVES or entry in OPTIONAL
                   or entry in SURVIVED.get(self.sample, ()))
        if self.code == 0 and not goes_on:
            found.append("it exits with 0")
        is_silent = self.sample in LOST and (entry in RELEASES or entry in LEAVES)
        if f"{entry} fails" not in self.output and not is_silent:
            found.append("its output doesn't name the call")
        return found


def chosen_calls(calls, most):
    """The calls that shall fail: "cuMemAlloc 1" and so on."""
    names = list(calls)
    if most:
        step = max(len(names) / most, 1)
        return [f"{names[int(i * step)]} 1" for i in range(min(most, len(names)))]
    return [f"{name} {number}" for name in names for number in sorted({1, calls[name]})]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("agent", type=os.path.abspath)
    parser.add_argument("sample", type=os.path.abspath)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=250)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    wrong = 0
    struck = 0
    with tempfile.TemporaryDirectory() as options.cache:
        first = Run(options)
        runs = [first]
        if first.code == 0 and first.is_complete:
            runs += (Run(options, call) for call in chosen_calls(first.calls, options.calls))
        for run in runs:
            struck += run.struck
            complaints = run.complaints()
            wrong += bool(complaints)
            if complaints or options.verbose:
                print(f"{run.fail or 'no call fails'}: {'; '.join(complaints) or 'right'}")
            if complaints:
                print("    " + run.output.strip().replace("\n", "\n    "))
                if run.fail:
                    print(f"    LODE_DRIVER={options.agent} LODE_SWEEP_REPORT=report "
                          f"LODE_SWEEP_FAIL='{run.fail}' {options.sample}")
    print(f"{struck} calls failed, {wrong} runs are wrong")
    return 0 if wrong == 0 and struck > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
