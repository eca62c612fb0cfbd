"""Plots as SVG text, without scripts and without colours of their own: the page's style sheet gives
the classes s0 … s7 (series), axis, grid and note their colours, in light and dark mode.

Every function returns one <svg> element. A series is a dict with `name` and `points`; a point is
(x, y) or (x, y, low, high), where low and high are drawn as a whisker. Every mark has a <title>,
which browsers show as a tooltip and screen readers read.
"""
import math
from html import escape

WIDTH, HEIGHT = 560, 380
LEFT, RIGHT, TOP, BOTTOM = 78, 16, 14, 52
SERIES = 8  # Classes of the style sheet; further series begin again with another shape.


def number(value):
    """A number for people: three significant digits, with thousands as 12,300."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 999.5:
        return f"{float(f'{value:.4g}'):,.0f}"
    text = f"{value:.3g}"
    return f"{float(text):g}" if "e" in text and abs(value) >= 1e-3 else text


def bytes_text(value):
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value * (1 + 1e-6) >= size:  # Written with a limited number of digits.
            return f"{round(value / size, 3):g} {unit}"
    return f"{value:g} B"


class Scale:
    """Maps values to positions. `kind` is "linear" or "log"."""

    def __init__(self, kind, low, high, begin, end):
        self.kind, self.begin, self.end = kind, begin, end
        if kind == "log":
            low, high = math.log10(low), math.log10(high)
        if high <= low:
            low, high = low - 0.5, high + 0.5
        self.low, self.high = low, high

    def __call__(self, value):
        if self.kind == "log":
            value = math.log10(max(value, 10**self.low))
        part = (value - self.low) / (self.high - self.low)
        return round(self.begin + part * (self.end - self.begin), 1)

    def ticks(self):
        """Values for labels: powers of ten, or simple multiples of them."""
        if self.kind == "log":
            decades = range(math.floor(self.low), math.ceil(self.high) + 1)
            span = self.high - self.low
            factors = (1, 2, 5) if span <= 2.2 else (1,)
            factors = (1, 1.5, 2, 3, 4, 5, 7) if span <= 0.8 else factors
            found = [f * 10.0**d for d in decades for f in factors]
            found = [v for v in found if self.low - 1e-9 <= math.log10(v) <= self.high + 1e-9]
            step = math.ceil(len(found) / 9)
            return found[::step]
        raw = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(f * power for f in (1, 2, 5, 10) if f * power >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 10) for i in range(first, last + 1)]


def limits(values, kind, from_zero=True):
    """The range of an axis: from zero if it is linear, with room at the ends otherwise."""
    low, high = min(values), max(values)
    if kind == "log":
        room = max((high / low) ** 0.04, 1.05)
        return low / room, high * room
    low = min(low, 0) if from_zero else low
    return low, high + (high - low) * 0.05


def marker(shape, x, y, title, index):
    """One mark; the shape tells series apart where colours don't."""
    kind = f'class="mark s{index % SERIES}"'
    title = f"<title>{escape(title)}</title>"
    size = 4
    if shape == 0:
        return f'<circle {kind} cx="{x}" cy="{y}" r="{size}">{title}</circle>'
    corners = {1: ((-1, -1), (1, -1), (1, 1), (-1, 1)), 2: ((0, -1.25), (1.15, 0.9), (-1.15, 0.9)),
               3: ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
               4: ((0, 1.25), (1.15, -0.9), (-1.15, -0.9)),
               5: ((-1.2, -.4), (-.4, -.4), (-.4, -1.2), (.4, -1.2), (.4, -.4), (1.2, -.4),
                   (1.2, .4), (.4, .4), (.4, 1.2), (-.4, 1.2), (-.4, .4), (-1.2, .4))}[shape]
    points = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in corners)
    return f'<polygon {kind} points="{points}">{title}</polygon>'


def shape_of(index):
    return (index + index // SERIES) % 6


def frame(title, description, body, height=HEIGHT, width=WIDTH):
    return (f'<svg class="plot" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(title, True)}"><desc>{escape(description)}</desc>\n'
            + "\n".join(body) + "\n</svg>")


def axes(x, y, x_label, y_label, x_text=number, y_text=number, x_ticks=None):
    """Grid, tick labels and the axes' names; the scale's kind is part of the name."""
    body = []
    for value in y.ticks():
        at = y(value)
        body.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
        body.append(f'<text class="tick" x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">'
                    f"{escape(y_text(value))}</text>")
    bottom = HEIGHT - BOTTOM
    for value in x_ticks if x_ticks is not None else x.ticks():
        at = x(value)
        body.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP}" y2="{bottom}"/>')
        body.append(f'<text class="tick" x="{at}" y="{bottom + 17}" text-anchor="middle">'
                    f"{escape(x_text(value))}</text>")
    body.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    body.append(f'<line class="axis" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{bottom}"/>')
    body.append(f'<text class="label" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" '
                f'text-anchor="middle">{escape(x_label)} ({x.kind})</text>')
    middle = (TOP + bottom) / 2
    body.append(f'<text class="label" x="18" y="{middle}" text-anchor="middle" '
                f'transform="rotate(-90 18 {middle})">{escape(y_label)} ({y.kind})</text>')
    return body


def lines(title, x_label, y_label, series, x_kind="linear", y_kind="linear", x_text=number,
          x_ticks=None, references=(), joined=True, from_zero=True):
    """Series of points, joined by lines if `joined`. `references` are horizontal lines as
    (value, text)."""
    points = [point for one in series for point in one["points"]]
    ys = [v for p in points for v in p[1:]] + [value for value, _ in references]
    x = Scale(x_kind, *limits([p[0] for p in points], x_kind, False), LEFT + 8, WIDTH - RIGHT - 8)
    y = Scale(y_kind, *limits(ys, y_kind, from_zero), HEIGHT - BOTTOM, TOP)
    body = axes(x, y, x_label, y_label, x_text, x_ticks=x_ticks)
    for value, text in references:
        at = y(value)
        body.append(f'<line class="reference" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>'
                    f'<text class="note" x="{WIDTH - RIGHT - 4}" y="{at - 5:.1f}" '
                    f'text-anchor="end">{escape(text)}</text>')
    for index, one in enumerate(series):
        at = one.get("class", index)
        ordered = sorted(one["points"]) if joined else one["points"]
        if joined and len({p[0] for p in ordered}) == len(ordered) > 1:
            path = " ".join(f"{x(p[0])},{y(p[1])}" for p in ordered)
            body.append(f'<polyline class="line s{at % SERIES}" points="{path}"/>')
        for point in ordered:
            if len(point) == 4 and point[2] < point[3]:
                body.append(f'<line class="whisker s{at % SERIES}" x1="{x(point[0])}" '
                            f'x2="{x(point[0])}" y1="{y(point[2])}" y2="{y(point[3])}"/>')
            spread = f" ({number(point[2])} to {number(point[3])})" if len(point) == 4 else ""
            body.append(marker(shape_of(at), x(point[0]), y(point[1]),
                               f"{one['name']}: {x_text(point[0])}, {number(point[1])}{spread}", at))
    return frame(title, f"{y_label} against {x_label}, {len(series)} series", body)


def scatter(title, x_label, y_label, series, x_kind="log", y_kind="log", roofs=(), guides=()):
    """Single points; the third value of a point is a name to write beside it. `roofs`: lines as (name, function of x);
    `guides`: vertical lines as (x, text)."""
    points = [point for one in series for point in one["points"]]
    xs = [p[0] for p in points]
    x_low, x_high = limits(xs + [g[0] for g in guides], x_kind, False)
    if x_kind == "log":
        x_low, x_high = x_low / 1.3, x_high * 1.6
    ys = [p[1] for p in points] + [roof(v) for _, roof in roofs for v in (x_low, x_high)]
    x = Scale(x_kind, x_low, x_high, LEFT, WIDTH - RIGHT)
    y = Scale(y_kind, *limits(ys, y_kind), HEIGHT - BOTTOM, TOP)
    body = axes(x, y, x_label, y_label)
    for value, text in guides:
        body.append(f'<line class="reference" x1="{x(value)}" x2="{x(value)}" y1="{TOP}" '
                    f'y2="{HEIGHT - BOTTOM}"/><text class="note" x="{x(value) + 4}" '
                    f'y="{TOP + 12}">{escape(text)}</text>')
    for index, (name, roof) in enumerate(roofs):
        steps = [10 ** (math.log10(x_low) + (math.log10(x_high / x_low)) * i / 60)
                 for i in range(61)]
        path = " ".join(f"{x(v)},{y(roof(v))}" for v in steps)
        body.append(f'<polyline class="roof" points="{path}"><title>{escape(name)}</title>'
                    "</polyline>")
        # Beside the slope, the first below it and the others above.
        place = steps[24] if index == 0 else steps[30]
        across, down, anchor = (8, 14, "start") if index == 0 else (-8, -8, "end")
        body.append(f'<text class="note" x="{x(place) + across:.1f}" '
                    f'y="{y(roof(place)) + down:.1f}" text-anchor="{anchor}">{escape(name)}</text>')
    names = []
    for index, one in enumerate(series):
        for point in one["points"]:
            name = f"{one['name']}, {point[2]}" if len(point) > 2 else one["name"]
            body.append(marker(shape_of(index), x(point[0]), y(point[1]),
                               f"{name}: {number(point[0])}, {number(point[1])}", index))
            if len(point) > 2:
                # On the side that has room, and below names that are there already.
                across, anchor = (7, "start") if x(point[0]) < WIDTH * 0.8 else (-7, "end")
                at = x(point[0]) + across, y(point[1]) + 4
                while any(abs(at[0] - u) < 60 and abs(at[1] - v) < 15 for u, v in names):
                    at = at[0], at[1] + 15
                names.append(at)
                body.append(f'<text class="note" x="{at[0]:.1f}" y="{at[1]:.1f}" '
                            f'text-anchor="{anchor}">{escape(point[2])}</text>')
    return frame(title, f"{y_label} against {x_label}, {len(points)} points", body)


def bars(title, x_label, rows, kind="linear", reference=None):
    """Horizontal bars; a row is (name, value, low, high, class). Their names are above them, so that
    long ones fit on a phone. On a logarithmic axis bars begin at its left end."""
    row_height, top = 34, 6
    values = [v for row in rows for v in row[1:4] if v is not None]
    values += [reference[0]] if reference else []
    height = top + row_height * len(rows) + 46
    low, high = limits(values, kind)
    if kind == "log":
        low /= 2
    x = Scale(kind, low, high, 12, WIDTH - 70)
    bottom = top + row_height * len(rows)
    body = []
    for value in x.ticks():
        at = x(value)
        body.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{top}" y2="{bottom}"/>')
        body.append(f'<text class="tick" x="{at}" y="{bottom + 16}" text-anchor="middle">'
                    f"{number(value)}</text>")
    for index, (name, value, low_bound, high_bound, kind_of) in enumerate(rows):
        at = top + index * row_height
        begin = x(0) if kind == "linear" else 12
        width = max(x(value) - begin, 0.5)
        body.append(f'<text class="name" x="12" y="{at + 12}">{escape(name)}</text>')
        body.append(f'<rect class="bar s{kind_of % SERIES}" x="{begin}" y="{at + 16}" '
                    f'width="{width:.1f}" height="12"><title>{escape(name)}: {number(value)}'
                    "</title></rect>")
        if low_bound is not None and high_bound is not None and low_bound < high_bound:
            body.append(f'<line class="axis" x1="{x(low_bound)}" x2="{x(high_bound)}" '
                        f'y1="{at + 22}" y2="{at + 22}"/>')
        right = x(max(value, high_bound if high_bound is not None else value))
        body.append(f'<text class="value" x="{right + 5:.1f}" y="{at + 26}">{number(value)}</text>')
    if reference:
        at = x(reference[0])
        body.append(f'<line class="reference" x1="{at}" x2="{at}" y1="{top}" y2="{bottom}">'
                    f"<title>{escape(reference[1])}</title></line>")
    body.append(f'<text class="label" x="{WIDTH / 2}" y="{height - 10}" text-anchor="middle">'
                f"{escape(x_label)} ({kind})</text>")
    return frame(title, f"{x_label}, {len(rows)} bars", body, height)


def timeline(title, x_label, rows):
    """Bars from a begin to an end; a row is (name, [(begin, end, text, class)])."""
    row_height, top, left = 30, 8, 84
    high = max(end for _, spans in rows for _, end, _, _ in spans)
    x = Scale("linear", 0, high * 1.02, left, WIDTH - RIGHT)
    bottom = top + row_height * len(rows)
    body = []
    for value in x.ticks():
        at = x(value)
        body.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{top}" y2="{bottom}"/>')
        body.append(f'<text class="tick" x="{at}" y="{bottom + 16}" text-anchor="middle">'
                    f"{number(value)}</text>")
    for index, (name, spans) in enumerate(rows):
        at = top + index * row_height
        body.append(f'<text class="name" x="{left - 8}" y="{at + 20}" text-anchor="end">'
                    f"{escape(name)}</text>")
        for begin, end, text, kind in spans:
            body.append(f'<rect class="bar s{kind % SERIES}" x="{x(begin)}" y="{at + 5}" '
                        f'width="{max(x(end) - x(begin), 0.5):.1f}" height="20"><title>'
                        f"{escape(name)}, {escape(text)}: {number(begin)} to {number(end)}"
                        "</title></rect>")
    body.append(f'<text class="label" x="{(left + WIDTH) / 2}" y="{bottom + 38}" '
                f'text-anchor="middle">{escape(x_label)} (linear)</text>')
    return frame(title, f"{x_label}, {len(rows)} rows", body, bottom + 48)
