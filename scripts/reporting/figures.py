"""Reads results, gives their figures in one form, and compares two runs.

A result file of scripts/report is one JSON object: `lode_report` (the version of this form, 1),
`machine`, `commit`, `date`, `command` and `results`. Each result has `program`, `command`,
`seconds`, `exit_code`, `last_line` and `data`, which is what the program wrote with --json.

A figure is a dict: program, group, series, unit, value, low, high, better ("more", "less" or None)
and, on an axis, x and x_name.
"""
import json
import pathlib
import shlex

VERSION = 1
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEAST_NOISE = 0.02  # A change by less than this is never called one.


def plain(command):
    """A command as it can be repeated anywhere: its paths within the repository, or a file's name
    without its folder."""
    def of(word):
        path = pathlib.Path(word)
        if not path.is_absolute():
            return word
        return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name

    return shlex.join(of(word) for word in shlex.split(command))


class Unreadable(Exception):
    """A file that isn't a result; the message is a sentence."""


def read(file):
    try:
        found = json.loads(pathlib.Path(file).read_text())
    except (OSError, json.JSONDecodeError) as problem:
        raise Unreadable(f"{file} can't be read: {problem}.") from problem
    if isinstance(found, dict) and found.get("lode_report") == VERSION:
        return found
    name = program_of(found) if isinstance(found, dict) else None
    if name is None:
        raise Unreadable(f"{file} isn't a result of scripts/report in form {VERSION}, nor of one "
                         "of its programs.")
    found["command"] = plain(found.get("command", name))
    device = "software device" if found.get("software_device") in (True, "yes") \
        else found.get("device")
    return {"lode_report": VERSION, "machine": {"device": device},
            "commit": found.get("commit", "unknown"), "date": "", "command": "", "left_out": [],
            "results": [{"program": name, "command": found["command"], "exit_code": 0,
                         "seconds": 0, "last_line": "", "data": found}]}


def program_of(data):
    """The program that wrote this with --json: "kernels", "experiment:overlap"; None if none did."""
    if "experiment" in data and "rows" in data:
        return f"experiment:{data['experiment']}"
    if "problems" in data:
        peers = all(result["kind"] == "peer" for problem in data["problems"]
                    for result in problem["results"])
        return "kernel_peers" if peers else "kernels"
    return data.get("bench") if "figures" in data else None


def merged(files):
    """One result with the programs of all files: of a program that several have, the last file's
    that ended well counts, of kernels the last one for each problem. Files may also be what a
    single program wrote with --json. Machine and date are those of the last whole run; results of
    another device are refused, because times may be compared only on one machine."""
    runs = [read(file) for file in files]
    devices = {run["machine"].get("device") for run in runs} - {None}
    if len(devices) > 1:
        raise Unreadable("The files are of different devices: "
                         + ", ".join(sorted(str(device) for device in devices)) + ".")
    results = {}
    for run in runs:
        for result in run["results"]:
            result = {"commit": run["commit"], "date": run["date"]} | result
            before = results.get(result["program"])
            if before is not None and before["exit_code"] == result["exit_code"] == 0 and \
                    "problems" in result["data"]:
                result["data"] = joined(before["data"], result["data"])
                result["commit"] = listed([before["commit"], result["commit"]], ", ")
                result["command"] = listed([before["command"], result["command"]], "; ")
            if before is None or result["exit_code"] == 0 or before["exit_code"] != 0:
                results[result["program"]] = result
    whole = [run for run in runs if run["date"]] or runs
    return whole[-1] | {
        "commit": listed([run["commit"] for run in whole], ", "),
        "command": listed([run["command"] for run in whole], "; "),
        "left_out": [name for name in whole[-1]["left_out"] if name not in results],
        "results": list(results.values())}


def joined(old, new):
    """The problems of both, each with the copy rate of its run; of one that both have, only the
    new rows and peers, because rows of different runs can't be compared, and may be gone."""
    problems = {(one["family"], *one["problem"]): {"copy_rate": data["copy_rate"]} | one
                for data in (old, new) for one in data["problems"]}
    return new | {"problems": [one for _, one in sorted(problems.items())]}


def listed(texts, separator):
    """All parts of texts that may be such lists themselves, each once."""
    parts = [part for text in texts for part in text.split(separator)]
    return separator.join(dict.fromkeys(part for part in parts if part))


def data_of(run, program):
    """What the program wrote, or None."""
    for result in run["results"]:
        if result["program"] == program and result["exit_code"] == 0:
            return result["data"]
    return None


def of_experiment(data):
    for row in data["rows"]:
        if row["measured"] is None:
            continue
        half = row["spread"] / 2 * abs(row["measured"])
        more = row["unit"] in ("x", "GB/s", "10^9/s", "GFLOP/s", "%") or None
        yield {"group": data["experiment"], "series": row["what"].strip(), "unit": row["unit"],
               "value": row["measured"], "low": row["measured"] - half,
               "high": row["measured"] + half,
               "better": "more" if more else "less" if row["unit"] in ("ms", "us", "ns") else None}


def of_kernels(data):
    for problem in data["problems"]:
        size = "x".join(str(extent) for extent in problem["problem"])
        for result in problem["results"]:
            if "median_ms" in result:
                yield {"group": f"{problem['family']} {size}", "series": result["name"],
                       "unit": "ms", "value": result["median_ms"], "low": result["low_ms"],
                       "high": result["high_ms"], "better": "less"}


def of(run):
    """Every figure of a run."""
    for result in run["results"]:
        data = result["data"]
        if result["exit_code"] != 0 or data is None:
            continue
        if "rows" in data:
            found = of_experiment(data)
        elif "problems" in data:
            found = of_kernels(data)
        else:
            found = data.get("figures", [])
        for figure in found:
            yield {"program": result["program"]} | figure


def key_of(figure):
    return figure["program"], figure["group"], figure["series"], figure.get("x")


def changes(old, new):
    """What is faster or slower: pairs of figures, with the change as a part of the old value
    (positive: better). A figure has changed if the ranges of both runs are apart, and by more than
    half of either range and LEAST_NOISE."""
    before = {key_of(figure): figure for figure in of(old)}
    found = []
    for figure in of(new):
        known = before.get(key_of(figure))
        if known is None or not figure.get("better") or not known["value"] or not figure["value"]:
            continue
        change = figure["value"] / known["value"] - 1
        noise = max(LEAST_NOISE, *((one["high"] - one["low"]) / 2 / abs(one["value"])
                                   for one in (known, figure)))
        apart = figure["low"] > known["high"] or figure["high"] < known["low"]
        if abs(change) <= noise or not apart:
            continue
        better = change > 0 if figure["better"] == "more" else change < 0
        found.append({"old": known, "new": figure, "change": change, "noise": noise,
                      "better": better})
    return sorted(found, key=lambda one: (one["better"], -abs(one["change"])))
