"""The programs of a report: what they are, how they are called, and running them with progress."""
import datetime
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile
import time

from . import figures

SKIPPED = 77

# name, arguments, expected seconds on a GPU and on the software device (None: not there). The
# arguments of --short take less time.
BENCHES = [
    ("launch_overhead", [], [], 6, 15),
    ("transfers", [], [], 12, 5),
    ("kernels", [], ["--rounds", "9"], 240, None),
    ("cold_compile", ["21"], ["7"], 35, 60),
    ("cache", ["20000"], ["2000"], 6, 20),
    ("warm_start", ["183"], ["61"], 130, 60),
    ("memory", [], [], 20, None),
    ("emulator", ["1"], ["1"], 60, 60),
]
PEERS = [("launch_peers", "bench/peers/launch_peers.py", 30),
         ("kernel_peers", "bench/peers/kernel_peers.py", 120),
         ("compile_peers", "bench/peers/compile_peers.py", 240)]
EXPERIMENT_SECONDS = 2
SECONDS = 600  # A program that takes longer is ended.


def first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def system():
    try:
        names = dict(line.split("=", 1) for line in
                     pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
        return names.get("PRETTY_NAME", "").strip('"')
    except OSError:
        return platform.platform()


GPU_KEYS = ("name", "driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem",
            "power.limit", "temperature.gpu", "ecc.mode.current", "compute_mode", "memory.total")


def machine():
    """What the figures depend on. `device` is the GPU's name; without one, the software device."""
    found = {"processor": processor(), "processors": os.cpu_count(), "system": system(),
             "kernel": platform.release(), "python": platform.python_version(),
             "environment": {key: value for key, value in sorted(os.environ.items())
                             if key.startswith(("LODE_DRIVER", "LODE_EMULATOR_", "LODE_CACHE",
                                                "CUDA_VISIBLE", "CUDA_MODULE", "CUDA_DEVICE"))
                             and not key.endswith("_DIR")}}
    line = first_line(["nvidia-smi", "--query-gpu=" + ",".join(GPU_KEYS), "--format=csv,noheader"])
    if line and os.environ.get("LODE_DRIVER") != "emulator":
        values = dict(zip(GPU_KEYS, (value.strip() for value in line.split(","))))
        found["device"] = values.pop("name")
        found["gpu"] = values
        count = first_line(["nvidia-smi", "--query-gpu=count", "--format=csv,noheader"])
        found["gpus"] = int(count) if count and count.isdigit() else 1
    else:
        found["device"] = "software device"
    compiler = first_line(["nvcc", "--version"])
    if compiler:
        done = subprocess.run(["nvcc", "--version"], capture_output=True, text=True)
        found["nvcc"] = done.stdout.strip().splitlines()[-1]
    return found


def commit(root):
    """The commit of the sources, with + if there are changes; LODE_COMMIT where there is no git."""
    given = os.environ.get("LODE_COMMIT")
    if given:
        return given
    text = first_line(["git", "-C", str(root), "rev-parse", "HEAD"])
    if text is None:
        return "unknown"
    changed = first_line(["git", "-C", str(root), "status", "--porcelain", "-uno"])
    return text + ("+" if changed else "")


def found_in(folder):
    """The programs of a folder by name: benchmarks and experiments."""
    programs = {}
    for pattern, prefix, kind in (("**/lode_bench_*", "lode_bench_", ""),
                                  ("**/lode_experiment_*", "lode_experiment_", "experiment:")):
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and os.access(path, os.X_OK) and not path.suffix:
                programs.setdefault(kind + path.name.removeprefix(prefix), path)
    return programs


def planned(folder, root, names, short, software):
    """(name, command, expected seconds) of what is to run, and the names of what is missing."""
    programs = found_in(folder)
    plan, missing = [], []
    for name, arguments, short_arguments, seconds, software_seconds in BENCHES:
        if software and software_seconds is None:
            continue
        if name not in programs:
            missing.append(f"lode_bench_{name}")
            continue
        seconds = software_seconds if software else seconds
        plan.append((name, [str(programs[name]), *(short_arguments if short else arguments)],
                     seconds / 2 if short else seconds))
    for name, file, seconds in PEERS:
        if software or not (root / file).exists():
            continue
        if name == "kernel_peers" and "kernels" not in programs:
            continue
        command = [sys.executable, str(root / file)]
        if name == "compile_peers" and "peer" in programs:  # lode's part is a program of its own.
            command += ["--lode", str(programs["peer"])]
        if name == "compile_peers" and short:
            command, seconds = [*command, "--rounds", "1"], seconds / 4
        plan.append((name, command, seconds))
    experiments = sorted(name for name in programs if name.startswith("experiment:"))
    if not experiments:
        missing.append("lode_experiments")
    plan += [(name, [str(programs[name])], EXPERIMENT_SECONDS) for name in experiments]
    if names:  # In their order; "experiments" stands for all of them.
        wanted = [one for name in names
                  for one in (experiments if name == "experiments" else [name])]
        known = {entry[0]: entry for entry in plan}
        plan = [known[name] for name in wanted if name in known]
        missing = [name for name in wanted if name not in known]
    return plan, missing


def ratios_in(output):
    """The figures in the table of lode_bench_emulator, which has no --json: kernel, emulated, plain,
    ratio, …; None without a row."""
    found = []
    for line in output.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        try:
            ratio = float(cells[3])
        except (IndexError, ValueError):
            continue
        found.append({"group": "ratio to plain C++", "series": cells[0], "unit": "x",
                      "value": ratio, "low": ratio, "high": ratio, "better": "less"})
    return {"bench": "emulator", "figures": found} if found else None


def run_one(name, command, folder, seconds):
    file = folder / (name.replace(":", "_") + ".json")
    begin = time.monotonic()
    options = [] if name == "emulator" else ["--json", str(file)]
    try:
        done = subprocess.run([*command, *options], text=True, timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        code, output = -1, f"ended after {seconds:.0f} s"
    data = None
    if name == "emulator" and code == 0:
        data = ratios_in(output)
    if file.exists():
        try:
            data = json.loads(file.read_text())
        except json.JSONDecodeError as problem:
            code, output = code or 1, f"its JSON can't be read: {problem}"
    if code == 0 and data is None:
        code, output = 1, "it wrote no JSON"
    lines = output.strip().splitlines()
    shown = figures.plain(shlex.join(command))
    if data is not None and "command" in data:
        data["command"] = shown
    return {"program": name, "command": shown, "exit_code": code,
            "seconds": round(time.monotonic() - begin, 2), "last_line": lines[-1] if lines else "",
            "data": data}


def clock_text(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def run_all(plan, root, arguments, limit=None, out=sys.stderr):
    """Runs the plan and returns the result. Programs that would begin after `limit` seconds are
    left out, which the result says."""
    begin = time.monotonic()
    total = sum(seconds for _, _, seconds in plan)
    results, left_out, done = [], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for index, (name, command, seconds) in enumerate(plan, 1):
            spent = time.monotonic() - begin
            if limit is not None and spent + seconds > limit:
                left_out.append(name)
                print(f"[{index:2}/{len(plan)}] {name}: left out, the time is used up", file=out,
                      flush=True)
                continue
            # The time left: what is still expected, scaled by how expectations held so far.
            scale = spent / done if done > total / 10 else 1
            print(f"[{index:2}/{len(plan)}] {name:34} {clock_text(spent)} gone, about "
                  f"{clock_text((total - done) * scale)} left", file=out, flush=True)
            if name == "kernel_peers":  # The same problems as lode's rows.
                command = [*command, "--like", f"{folder}/kernels.json"]
            cut = SECONDS if limit is None else min(SECONDS, max(limit - spent, 1))
            results.append(run_one(name, command, pathlib.Path(folder), cut))
            done += seconds
            last = results[-1]
            if last["exit_code"] not in (0, SKIPPED):
                print(f"        exit code {last['exit_code']}: {last['last_line']}", file=out,
                      flush=True)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return {"lode_report": 1, "machine": machine(), "commit": commit(root), "date": date,
            "command": "scripts/report " + shlex.join(arguments), "left_out": left_out,
            "results": results}
