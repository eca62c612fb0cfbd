"""What a run's exit code and output mean, and the verdicts that are kept."""

import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE / "verdicts.txt"
KEPT_OF_GPU = HERE / "gpu.json"
LODE = "lode"
SANITIZERS = ["memcheck", "racecheck", "initcheck", "synccheck"]
PLAIN = "plain"  # a GPU without any tool: are the right programs right?
BROKEN, REFUSED = 2, 3  # exit codes of the host
HEAD, TAIL = 8000, 1000  # characters that are kept of a run's output


def cut(output):
    return output if len(output) <= HEAD + TAIL else output[:HEAD] + "\n…\n" + output[-TAIL:]


def summary_of(tool, output):
    """How many errors compute-sanitizer counts."""
    if tool == "racecheck":
        counts = re.findall(r"RACECHECK SUMMARY: (\d+) hazard", output)
    else:
        counts = re.findall(r"ERROR SUMMARY: (\d+) error", output)
    return int(counts[-1]) if counts else None


def reports_of(tool, code, output):
    """What the tool reports, as text; empty if nothing."""
    if tool == LODE:
        # The host prints the error of the step that failed, with its log. What is found after the
        # last step, or before a program is stopped, is in the software device's log alone.
        # An entry about a benign race accuses nobody.
        entries = re.findall(r"^lode software device: .*(?:\n .*)*", output, re.M)
        log = [entry for entry in entries if "benign" not in entry]
        return output if code == 1 else "\n".join(log)
    if tool in SANITIZERS:
        # Errors of calls follow from what the tool found or from the device; alone, they say no
        # more than the program would without a tool.
        marked = [line for line in output.splitlines() if line.startswith("=========")]
        blocks = re.split(r"\n(?=={9} \S)", "\n".join(marked))
        mine = [block for block in blocks
                if not re.match(r"========= (COMPUTE-SANITIZER|Program hit|ERROR SUMMARY|WARNING|"
                                r"RACECHECK SUMMARY|LEAK SUMMARY|Target application|Internal|"
                                r"Error: (process|No |Target))", block)]
        return "\n".join(mine) if code is None or summary_of(tool, output) else ""
    return ""


def lines_in(text, program):
    name = re.escape(program.path.name)
    return {int(number) for number in re.findall(name + r"[:(](\d+)", text)}


def judge(program, tool, code, output, wrong):
    """`wrong`: the first wrong value of a right program's results, or None."""
    if code == BROKEN:
        return {"verdict": "broken", "note": first_line(output)}
    if code == REFUSED:
        return {"verdict": "refused", "note": last_line(output)}
    reports = reports_of(tool, code, output)
    if program.right:
        if reports:
            return {"verdict": "false alarm", "note": first_line(reports)}
        if code is None:
            return {"verdict": "hangs", "note": "The time ran out."}
        if code != 0:
            return {"verdict": "broken", "note": last_line(output)}
        return {"verdict": "wrong result", "note": wrong} if wrong else {"verdict": "clean"}
    if program.cls == "hang" and code is None:
        # Whatever is in the log, nobody has said that the program hangs.
        reports = ""
    if reports:
        # Which of two streams runs first decides what else is found, and with it the lines.
        here = program.cls != "streams" and bool(lines_in(reports, program) & set(program.lines))
        return {"verdict": "found at the line" if here else "found", "note": first_line(reports)}
    return {"verdict": "missed", "note": "The time ran out." if code is None else
            "" if code in (0, 9) else last_line(output)}


def first_line(text):
    lines = [line.strip("= ") for line in text.splitlines() if line.strip("= ")]
    return lines[0][:300] if lines else ""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def take_apart(found, tool, output, wrong):
    """The runs of several programs in one process: a program's output ends with a line that says
    how it ended. If one loses the device, those that come later count as not run."""
    keys = {program.key for program in found}
    runs = {}
    parts = re.split(r"^(ended|failed) (\S+)$", output, flags=re.M)
    for said, how, key in zip(parts[::3], parts[1::3], parts[2::3]):
        lost = "must be restarted" in said
        if key in keys and not (lost and "The first failure" in said):
            reports = len(re.findall(r"^={9} \S", said.replace("= COMPUTE-SANITIZER", ""), re.M))
            name = "RACECHECK SUMMARY" if tool == "racecheck" else "ERROR SUMMARY"
            unit = "hazards" if tool == "racecheck" else "errors"
            runs[key] = {"code": 9 if reports else 0 if how == "ended" else 1,
                         "output": f"{said[:HEAD]}\n========= {name}: {reports} {unit}\n",
                         "wrong": wrong.get(key)}
    return runs


def judge_all(found, runs):
    return {program.key: {tool: judge(program, tool, run["code"], run["output"], run["wrong"])
                          for tool, run in runs.get(program.key, {}).items()}
            for program in found}


def kept_verdicts():
    if not KEPT.exists():
        return {}
    lines = [line for line in KEPT.read_text().splitlines() if line and not line.startswith("#")]
    return dict(re.split(r"\s+", line, maxsplit=1) for line in lines)


def write_verdicts(verdicts):
    width = max(map(len, verdicts)) + 2
    text = ("# What the software device says of each program, kept by `run --update`; "
            "`run --compare` fails\n# if a verdict changes in either direction.\n")
    text += "".join(f"{key:<{width}}{verdict}\n" for key, verdict in sorted(verdicts.items()))
    KEPT.write_text(text)


def kept_gpu_verdicts():
    return json.loads(KEPT_OF_GPU.read_text()) if KEPT_OF_GPU.exists() else {}


def write_gpu_verdicts(results):
    kept = kept_gpu_verdicts()
    for key, columns in results.items():
        kept.setdefault(key, {}).update(
            {tool: column["verdict"] for tool, column in columns.items() if tool != LODE})
    lines = [f"{json.dumps(key)}: {json.dumps(kept[key])}" for key in sorted(kept) if kept[key]]
    KEPT_OF_GPU.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def compare(results):
    """Prints every verdict that isn't the kept one; whether there is none."""
    kept = kept_verdicts()
    gone = sorted(key for key in kept if not (HERE / "kernels" / f"{key}.cu").exists())
    same = not gone
    for key in gone:
        print(f"verdicts.txt names {key}, which isn't in kernels.")
    for key, tools in results.items():
        now = tools[LODE]["verdict"]
        if kept.get(key) != now:
            same = False
            print(f"{key}: {now} instead of {kept.get(key, 'no verdict')}. "
                  f"{tools[LODE].get('note', '')}")
    if not same:
        print("If this is as it should be, `tests/bugs/run --update` keeps the new verdicts.")
    return same


def update(results):
    """Keeps the verdicts, beside those of programs that haven't run; forgets programs that are
    gone."""
    now = {key: columns[LODE]["verdict"] for key, columns in results.items() if LODE in columns}
    if now:
        kept = {key: verdict for key, verdict in kept_verdicts().items()
                if (HERE / "kernels" / f"{key}.cu").exists()}
        write_verdicts({**kept, **now})
    if any(set(columns) - {LODE} for columns in results.values()):
        write_gpu_verdicts(results)


def add_kept_of_gpu(results):
    for key, columns in kept_gpu_verdicts().items():
        for tool, verdict in columns.items():
            results.get(key, {}).setdefault(tool, {"verdict": verdict})
