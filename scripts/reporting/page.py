"""The page: one HTML file without scripts and without anything from elsewhere."""
import re
from html import escape

from . import figures, plots, svg
from .svg import number

PICTURES = ("launches", "compilation-beside-raw-nvrtc", "the-cache", "families", "products")

# Colours that people with colour blindness tell apart, on white and on black.
LIGHT = ("#0b5fa5", "#c2500a", "#0a7a55", "#a3306f", "#5b50b8", "#8a6500", "#0f7f8c", "#4d4d4d")
DARK = ("#6db6f2", "#f59a57", "#4fd0a0", "#ee8fc2", "#b3a8ff", "#dcb74a", "#5fd3df", "#c4c4c4")


def colours(values):
    return "".join(f"--s{index}:{value};" for index, value in enumerate(values))


# The page and a plot in a file of its own have these.
COLOURS = f""":root{{color-scheme:light dark;--ink:#1b1b1b;--soft:#5a5a5a;--paper:#fff;--card:#f6f6f4;
--line:#d9d9d6;--bad:#a3140f;--good:#0a6b43;{colours(LIGHT)}}}
@media (prefers-color-scheme:dark){{:root{{--ink:#ececec;--soft:#b0b0b0;--paper:#151515;--card:#1f1f1f;
--line:#3b3b3b;--bad:#ff8f88;--good:#6fd8a8;{colours(DARK)}}}}}
"""
MARKS = """.plot text{fill:var(--ink);font:13px system-ui,sans-serif}.plot .note,.plot .tick{fill:var(--soft)}
.plot .note{font-size:12px}
.grid{stroke:var(--line)}.axis{stroke:var(--soft)}
.reference,.roof{stroke:var(--soft);stroke-width:1.5;fill:none}.reference{stroke-dasharray:5 4}
.line{fill:none;stroke-width:2}.whisker{stroke-width:1}
.mark{stroke:var(--card);stroke-width:1}
"""
SERIES = "".join(f".mark.s{i},.bar.s{i}{{fill:var(--s{i})}}"
                 f".line.s{i},.whisker.s{i}{{stroke:var(--s{i})}}" for i in range(svg.SERIES))
STYLE = COLOURS + """*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}h2{font-size:1.2rem;margin:0 0 .25rem}
p{max-width:46rem;margin:.25rem 0 .75rem}a{color:var(--s0)}nav a{margin-right:.9rem}
section{border-top:1px solid var(--line);padding:1.25rem 0}
.pair{display:grid;grid-template-columns:minmax(0,35rem) minmax(0,1fr);gap:1.5rem;align-items:start}
.wide{overflow:auto;max-height:27rem;border:1px solid var(--line);border-radius:4px}
figure{margin:0}figcaption{margin-top:.25rem}
table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums;width:100%}
caption{text-align:left;padding:.35rem .5rem;color:var(--soft)}
th,td{padding:.25rem .5rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top}
th:first-child,td:first-child,.text td,.text th{text-align:left}
td,tbody th{white-space:nowrap}.text td,.text tbody th{white-space:normal}thead th{position:sticky;top:0;background:var(--card)}
.plot{width:100%;height:auto;background:var(--card);border-radius:4px}
""" + MARKS + """.key{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;list-style:none;padding:0;margin:.3rem 0}
.key svg{width:14px;height:14px;vertical-align:-2px;margin-right:.3rem}
.missed,.worse{color:var(--bad)}.met,.better{color:var(--good)}
details{margin:.3rem 0}summary{cursor:pointer}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0}dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
@media (max-width:56rem){.pair{grid-template-columns:minmax(0,1fr)}dl{grid-template-columns:1fr}
dd{margin-bottom:.3rem}}
@media (max-width:34rem){.plot text{font-size:17px}.plot .note{font-size:16px}}
""" + SERIES


def table(caption, columns, rows, text=False):
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "\n".join(
        "<tr>" + "".join(f'<th scope="row">{escape(cell)}</th>' if i == 0 else
                         f"<td>{escape(cell)}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in rows)
    kind = ' class="text"' if text else ""
    return (f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption, True)}">'
            f"<table{kind}><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>\n{body}\n</tbody></table></div>")


def legend(names):
    if not names:
        return ""
    items = "".join(
        '<li><svg viewBox="-7 -7 14 14" aria-hidden="true">'
        f"{svg.marker(svg.shape_of(i), 0, 0, name, i)}</svg>{escape(name)}</li>"
        for i, name in enumerate(names))
    return f'<ul class="key">{items}</ul>'


def plot_section(one):
    return f"""<section id="{one['id']}">
<h2>{escape(one['title'])}</h2>
<p>{escape(one['text'])}</p>
<div class="pair"><figure>{one['svg']}
<figcaption>{legend(one['legend'])}</figcaption></figure>
{table(one['title'], one['columns'], one['rows'])}</div>
</section>"""


def pictures(run):
    """The plots of docs/performance.md, by their sections' names."""
    return {one["id"]: picture(one) for one in plots.sections(run) if one["id"] in PICTURES}


def picture(one):
    """A section's plot as a file, with its title above and the names of its series below."""
    height = int(re.search(r'viewBox="0 0 \d+ (\d+)"', one["svg"])[1])
    row, above = 20, 30
    columns = 3 if max(map(len, one["legend"]), default=0) <= 20 else 2
    marks = []
    for index, name in enumerate(one["legend"]):
        x = 18 + index % columns * (svg.WIDTH - 18) // columns
        y = height + index // columns * row + 12
        marks.append(svg.marker(svg.shape_of(index), x, y - 4, name, index)
                     + f'<text class="note" x="{x + 10}" y="{y}">{escape(name)}</text>')
    full = above + height + -(-len(one["legend"]) // columns) * row
    plot = one["svg"].replace('<svg class="plot"', f'<svg y="{above}" height="{height}"', 1)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="{svg.WIDTH}" '
            f'height="{full}" viewBox="0 0 {svg.WIDTH} {full}">\n<style>{COLOURS}{MARKS}{SERIES}'
            f'</style>\n<rect width="100%" height="100%" fill="var(--card)"/>\n'
            f'<text class="name" x="12" y="22">{escape(one["title"])}</text>\n{plot}\n'
            f'<g transform="translate(0 {above})">{"".join(marks)}</g>\n</svg>\n')


def short(commits):
    return ", ".join(commit[:12] for commit in commits.split(", "))


def machine_section(run):
    machine = run["machine"]
    facts = [("Device", machine.get("device")), ("Driver", machine.get("gpu", {}).get(
        "driver_version"))]
    gpu = machine.get("gpu", {})
    if gpu:
        facts.append(("Clocks", f"{gpu.get('clocks.sm')} of {gpu.get('clocks.max.sm')}, memory "
                                f"{gpu.get('clocks.mem')}; power limit {gpu.get('power.limit')}, "
                                f"ECC {gpu.get('ecc.mode.current')}"))
    facts += [("Processor", f"{machine.get('processor')}, {machine.get('processors')} processors"),
              ("System", f"{machine.get('system')}, Linux {machine.get('kernel')}"),
              ("nvcc", machine.get("nvcc")), ("Commit", run["commit"]), ("Date", run["date"]),
              ("Command", run["command"])]
    if run.get("left_out"):
        facts.append(("Left out", ", ".join(run["left_out"])))
    items = "".join(f"<dt>{escape(key)}</dt><dd>{escape(str(value))}</dd>"
                    for key, value in facts if value)
    rows = [[result["program"], result["command"], short(result.get("commit", run["commit"])),
             number(result["seconds"]),
             "ended well" if result["exit_code"] == 0 else
             "skipped" if result["exit_code"] == 77 else f"exit code {result['exit_code']}: "
             + result["last_line"]] for result in run["results"]]
    return f"""<section id="machine"><h2>The run</h2><dl>{items}</dl>
<details><summary>{len(rows)} programs, with their commands</summary>
{table('Programs of this run', ['program', 'command', 'commit', 'seconds', 'outcome'], rows, True)}
</details></section>"""


def expectation(row):
    low, high = row["low"], row["high"]
    parts = [f"{number(low)} to {number(high)}" if low is not None and high is not None else
             f"at least {number(low)}" if low is not None else
             f"at most {number(high)}" if high is not None else ""]
    parts += [row["note"]] if row["note"] else []
    return "; ".join(part for part in parts if part)


def experiment_details(one):
    if one["problem"] is not None:
        word = "skipped" if one["skipped"] else "fails"
        return (f"<details><summary>{escape(one['name'])}: <span class=\"missed\">{word}</span>"
                f"</summary><p>{escape(one['problem'])}</p></details>")
    judged = [row["verdict"] for row in one["rows"]]
    met, missed = judged.count("as expected"), judged.count("missed")
    rows = [[row["what"], f"{number(row['measured'])} {row['unit']}".strip(), expectation(row),
             row["verdict"]] for row in one["rows"]]
    return (f"<details><summary>{escape(one['name'])}: <span class=\"met\">{met} as expected</span>"
            f", <span class=\"{'missed' if missed else ''}\">{missed} missed</span>, "
            f"{len(judged) - met - missed} only reported or not measured</summary>"
            f"<p>{escape(one['claim'])}</p>"
            + table(one["name"], ["figure", "measured", "expected", "verdict"], rows, True)
            + "</details>")


def experiments_section(run):
    found = plots.experiments(run)
    if not found:
        return ""
    return f"""<section id="experiments"><h2>Experiments of NVIDIA's guides</h2>
<p>What the guides say, as programs of a page each. A figure that differs from what is expected is a
finding about the device and no failure; a wrong result is.</p>
{chr(10).join(experiment_details(one) for one in found)}</section>"""


def changes_section(changes, old):
    if changes is None:
        return ""
    rows = [[f"{one['new']['program']}: {one['new']['group']}, {one['new']['series']}"
             + (f", {number(one['new']['x'])}" if one["new"].get("x") is not None else ""),
             f"{number(one['old']['value'])} {one['old']['unit']}",
             f"{number(one['new']['value'])} {one['new']['unit']}",
             f"{100 * one['change']:+.1f} %", f"{100 * one['noise']:.1f} %",
             "better" if one["better"] else "worse"] for one in changes]
    worse = sum(not one["better"] for one in changes)
    return f"""<section id="changes"><h2>Changes since {escape(old['commit'][:12])}</h2>
<p>Figures whose ranges in both runs are apart, by more than the spread of either:
<span class="worse">{worse} worse</span>, <span class="better">{len(rows) - worse} better</span>.</p>
{table('Changes', ['figure', 'before', 'now', 'change', 'noise', ''], rows) if rows else ''}</section>"""


def render(run, old=None):
    """The page of a run as text; `old`: the run to compare with."""
    sections = plots.sections(run)
    changes = figures.changes(old, run) if old is not None else None
    links = [(one["id"], one["title"]) for one in sections]
    experiments = experiments_section(run)
    links += [("experiments", "Experiments of NVIDIA's guides")] if experiments else []
    links = ([("changes", "Changes")] if changes is not None else []) + links
    nav = " ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in links)
    device = run["machine"].get("device") or "no device"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>lode on {escape(device)}</title><link rel="icon" href="data:,"><style>{STYLE}</style></head>
<body><header><h1>lode on {escape(device)}</h1>
<p>Every plot has its scale at the axis, linear or logarithmic, and its figures in the table beside
it. Whiskers show the middle half of the measurements.</p>
<nav aria-label="Sections">{nav}</nav></header>
<main>{machine_section(run)}
{changes_section(changes, old)}
{chr(10).join(plot_section(one) for one in sections)}
{experiments}</main></body></html>
"""
