#!/usr/bin/env python3
"""Opens pages of scripts/report in a headless Chromium without a network, light and dark, as wide as
a desk and as a phone, and looks whether every plot draws:

    tests/report/browser_test.py PAGE.html… [--screenshots FOLDER]

A script that is added to a copy of the page measures each plot: marks with an extent, inside of the
picture, in a colour other than its background; texts inside of the picture and large enough to read.
The page mustn't be wider than the window, write to the console or ask for anything. The exit code is
77 if there is no Chromium.
"""
import argparse
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SIZES = {"desk": (1280, 900), "phone": (390, 844)}
LEAST_TEXT = 9.5  # Pixels.

PROBE = """
<script>
const found = {problems: [], plots: [], width: innerWidth, page: document.documentElement.scrollWidth,
               dark: matchMedia("(prefers-color-scheme: dark)").matches,
               paper: getComputedStyle(document.body).backgroundColor,
               ink: getComputedStyle(document.body).color,
               requests: performance.getEntriesByType("resource").map(one => one.name)};
for (const plot of document.querySelectorAll("svg.plot")) {
  const frame = plot.getBoundingClientRect(), name = plot.getAttribute("aria-label");
  const paper = getComputedStyle(plot).backgroundColor;
  const inside = box => box.left >= frame.left - 1 && box.right <= frame.right + 1 &&
                        box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
  let marks = 0, text = 1e9;
  for (const mark of plot.querySelectorAll(".mark, .bar")) {
    const box = mark.getBoundingClientRect();
    if (box.width > 0 && box.height > 0) ++marks;
    if (!inside(box)) found.problems.push(name + ": a mark is outside");
    const colour = getComputedStyle(mark).fill;
    if (colour === paper || colour === "none" || colour === "rgb(0, 0, 0)")
      found.problems.push(name + ": a mark has the colour " + colour);
  }
  for (const one of plot.querySelectorAll("text")) {
    const box = one.getBoundingClientRect();
    if (!inside(box)) found.problems.push(name + ": the text '" + one.textContent + "' is cut");
    text = Math.min(text, parseFloat(getComputedStyle(one).fontSize) * frame.width /
                          plot.viewBox.baseVal.width);
  }
  for (const line of plot.querySelectorAll(".line")) {
    if (getComputedStyle(line).stroke === "none") found.problems.push(name + ": a line has no colour");
  }
  found.plots.push({name, marks, text, width: frame.width, height: frame.height});
}
const out = document.createElement("pre");
out.id = "found";
out.textContent = JSON.stringify(found);
document.body.append(out);
</script></body>"""


def chromium():
    return next((path for name in ("chromium", "chromium-browser", "google-chrome")
                 if (path := shutil.which(name))), None)


def browse(browser, page, size, dark, folder, arguments):
    """What the browser prints for a page. Names resolve to nothing, and a proxy that isn't there
    catches what has an address."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
               "--disable-extensions", "--disable-background-networking", "--enable-logging=stderr",
               "--hide-scrollbars", "--force-device-scale-factor=1",
               "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
               f"--user-data-dir={folder}/profile", f"--window-size={size[0]},{size[1]}",
               f"--blink-settings=preferredColorScheme={0 if dark else 1}", *arguments,
               page.resolve().as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def framed(page, width, folder):
    """The page in a frame as wide as a phone, because windows have a least width."""
    outer = pathlib.Path(folder) / "frame.html"
    outer.write_text(f'<!DOCTYPE html><body style="margin:0"><iframe src="{page.name}" '
                     f'style="border:0;width:{width}px;height:100vh"></iframe>')
    return outer


def check(browser, page, name, dark, screenshots):
    """Sentences about what is wrong with the page."""
    width, height = SIZES[name]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "page.html"
        text = page.read_text()
        expected = text.count('<svg class="plot"')
        # The probe runs in a frame of the phone's width; its answer comes by the outer page's title.
        probe = PROBE.replace("document.body.append(out);",
                              "document.body.append(out); parent.postMessage(out.textContent, '*');")
        copy.write_text(text.replace("</body>", probe))
        outer = framed(copy, width, folder)
        outer.write_text(outer.read_text().replace(
            "<iframe", "<script>onmessage = e => { const p = document.createElement('pre');"
                       "p.id = 'answer'; p.textContent = e.data; document.body.append(p); }</script>"
                       "<iframe", 1))
        done = browse(browser, outer, (max(width, 600), height), dark, folder,
                      ["--virtual-time-budget=3000", "--dump-dom"])
        console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
        answer = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.S)
        if screenshots:
            clean = pathlib.Path(folder) / "clean.html"
            clean.write_text(text)
            shot = screenshots / f"{page.stem}-{name}-{'dark' if dark else 'light'}.png"
            browse(browser, clean if width >= 500 else framed(clean, width, folder),
                   (max(width, 500), 2400), dark, folder, [f"--screenshot={shot.resolve()}"])
    if not answer:
        return [f"the browser answers nothing: {done.stderr.strip()[-300:]}"]
    found = json.loads(html.unescape(answer[1]))
    wrong = found["problems"] + [f"the console says: {line}" for line in console]
    wrong += [f"it asks for {one}" for one in found["requests"] if not one.startswith("data:")]
    if len(found["plots"]) != expected or not expected:
        wrong.append(f"{len(found['plots'])} plots are there instead of {expected}")
    wrong += [f"{one['name']}: nothing is drawn" for one in found["plots"]
              if one["marks"] == 0 or one["width"] < 100 or one["height"] < 40]
    wrong += [f"{one['name']}: its text has {one['text']:.1f} pixels" for one in found["plots"]
              if one["text"] < LEAST_TEXT]
    if found["width"] != width:
        wrong.append(f"the window is {found['width']} wide instead of {width}")
    if found["page"] > found["width"]:
        wrong.append(f"the page is {found['page']} wide in a window of {found['width']}")
    if found["dark"] != dark or found["paper"] == found["ink"]:
        wrong.append("the colours aren't those of the mode")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    browser = chromium()
    if browser is None:
        print("skipped: there is no Chromium")
        return 77
    failed = False
    for page in options.pages:
        for name in SIZES:
            for dark in (False, True):
                wrong = check(browser, page, name, dark, options.screenshots)
                print(f"{page.name}, {name}, {'dark' if dark else 'light'}: "
                      + ("fine" if not wrong else ""), flush=True)
                for sentence in sorted(set(wrong)):
                    print(f"  {sentence}")
                failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
