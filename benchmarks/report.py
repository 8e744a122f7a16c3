"""The results as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from benchmarks.tools import LIBRARIES, PEERS, PYTREC_EVAL, READING

Results = Mapping[str, Any]


def tables(results: Results) -> str:
    """Return all results as Markdown."""
    sections = [_facts(results)]
    if "run" in results:
        sections.append(
            f"### One run of {results['run']['lines']:,} lines\n\n{run_table(results)}\n\n{_scores(results['run'])}"
        )
    started = [results[part] for part in ("start",) if part in results]
    sections += [f"### Start-up, {part['lines']:,} lines\n\n{_side_by_side(part)}" for part in started]
    if "submissions" in results:
        part = results["submissions"]
        sections.append(
            f"### {part['submissions']:,} submissions of {part['lists']:,} lists of 30\n\n"
            f"{_side_by_side(part)}\n\n{_scores(part)}"
        )
    in_memory = [results[part] for part in ("kernels", "small") if part in results]
    sections += [f"### In memory, {part['lines']:,} lines\n\n{_kernels(part)}" for part in in_memory]
    sections += [_judged(results[part]) for part in ("judged",) if part in results]
    if held := limits(results):
        sections.append("### Limits\n\n" + "\n".join(f"- {limit.sentence}" for limit in held))
    if "growth" in results:
        sections.append(f"### Growth\n\n{_growth(results['growth'])}")
    if "batch" in results:
        sections.append(_batch(results["batch"]))
    if "statistics" in results:
        sections += [_statistics(board) for board in results["statistics"]["boards"]]
    sections += [_live(challenge) for challenge in results.get("live", {}).get("challenges", [])]
    sections += [_serving(results["serving"])] if "serving" in results else []
    sections += [_record(results[part]) for part in ("record",) if part in results]
    if "verification" in results:
        sections.append(_verification(results["verification"]))
    if "fusion" in results:
        sections += _fusion(results["fusion"])
    if "huge" in results:
        sections.append(_huge(results["huge"]))
    return "\n\n".join(sections)


FASTER = (("kernels", "dicts", 1.5), ("kernels", "pandas", 4.0), ("kernels", "polars", 4.0), ("small", "dicts", 1.5))
"""How many times as fast as pytrec_eval scorer must be, by part and form of the data."""


MOST: Mapping[tuple[int, int, int], float] = {
    (1, 50, 100): 5.0,
    (1, 750, 1000): 1.2,
    (50, 50, 100): 1.1,
    (50, 750, 100): 1.6,
    (50, 50, 1000): 0.66,
    (50, 750, 1000): 1.0,
    (1000, 50, 1000): 0.58,
    (6980, 50, 10): 1.5,
}
"""How many times as long as pytrec_eval scorer may take for dicts with a kept solution, by the numbers of queries, of
judged items and of the items of a list.
"""


class Limit(NamedTuple):
    """A bound on the time of a tool, as a multiple of that of another."""

    what: str
    times: float
    """The multiple that was measured."""
    most: float

    @property
    def held(self) -> bool:
        """Whether the multiple is within the bound."""
        return self.times <= self.most

    @property
    def sentence(self) -> str:
        """The multiple and the bound."""
        return f"{self.what}: {self.times:.2f}; {'' if self.held else 'not '}at most {self.most:g}"


def limits(results: Results) -> list[Limit]:
    """Return the bounds that scorer holds; none for a quick run, whose sizes are too small for them."""
    if results["quick"]:
        return []
    found = []
    for part, other, most in (("run", READING, 1.7), ("start", LIBRARIES, 1.5)):
        tools = results.get(part, {}).get("tools", {})
        if other in tools:
            times = median(tools["scorer"]["wall"]) / median(tools[other]["wall"])
            found.append(Limit(f"scorer on {results[part]['lines']:,} lines, as a multiple of {other}", times, most))
    for part, form, least in FASTER:
        tools = results.get(part, {}).get("tools", {})
        theirs = tools.get(f"{PYTREC_EVAL}, {form}")
        if theirs:
            share = median(tools[f"scorer, {form}"]["seconds"]) / median(theirs["seconds"])
            what = f"scorer from {form} of {results[part]['lines']:,} lines, as a share of pytrec_eval"
            found.append(Limit(what, share, round(1 / least, 2)))
    for point in results.get("judged", {}).get("points", ()):
        case, share = (point["queries"], point["judged"], point["depth"]), _share(point, "kept")
        if case in MOST and share:
            what = f"scorer from dicts, {_case(point)}, solution kept, as a share of pytrec_eval"
            found.append(Limit(what, share, MOST[case]))
    return found


def _case(point: Results) -> str:
    case = f"{point['queries']} × {point['judged']} judged × {point['depth']:,}"
    return f"{case}, {point['calls']} calls" if point.get("calls", 1) > 1 else case


def run_table(results: Results) -> str:
    """Return the table of the large run, which the README contains."""
    return _side_by_side(results["run"])


def _facts(results: Results) -> str:
    machine = results["machine"]
    facts = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory'] / 1e9:.0f} GB, {machine['system']}",
        ", ".join(f"{name} {number}" for name, number in results["versions"].items()),
    ]
    if results["date"]:
        facts.insert(0, results["date"])
    if results["left_out"]:
        facts.append(f"Left out, because not installed: {', '.join(results['left_out'])}")
    measured: dict[str, list[str]] = {}
    for part, when in results.get("earlier", {}).items():
        measured.setdefault(when, []).append(part)
    facts += [f"Measured earlier: {', '.join(parts)} ({when})" for when, parts in measured.items()]
    floor = results["memory_floor"] / 1e6
    facts.append(f"Peak memory is that of the whole process; values below {floor:.0f} MB cannot be measured")
    shares = [share for tool in _measured(results) for share in tool["others"] if share is not None]
    if shares:
        facts.append(
            f"Other programs used {median(shares):.0%} of the cores during the median measurement, "
            f"{max(shares):.0%} at most; not counted for the batches, which run in several processes"
        )
    return "\n".join(f"- {fact}" for fact in facts)


def _measured(results: Results) -> list[Results]:
    """Return the measurements of the tools."""
    sides = [
        tool
        for part in ("run", "start", "submissions", "verification")
        if part in results
        for tool in results[part]["tools"].values()
    ]
    grown = results["growth"]["tools"].values() if "growth" in results else ()
    return [*sides, *(point for points in grown for point in points)]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def _side_by_side(part: Results) -> str:
    """Return a table of medians; times and memory also as multiples of the first tool's, which is scorer."""
    costs = {
        name: {key: median(tool[key]) for key in ("wall", "processor", "memory")}
        for name, tool in part["tools"].items()
    }
    first = next(iter(costs.values()))
    rows = [
        [
            name,
            f"{cost['wall']:.2f}",
            f"{cost['wall'] / first['wall']:.1f}",
            f"{cost['processor']:.2f}",
            f"{cost['memory'] / 1e6:,.0f}",
            f"{cost['memory'] / first['memory']:.2f}",
        ]
        for name, cost in costs.items()
    ]
    return _table(["tool", "seconds", "× scorer", "processor seconds", "peak MB", "× scorer"], rows)


def _scores(part: Results) -> str:
    first = next(iter(part["tools"].values()))
    scores = ", ".join(f"{name} {score:.6f}" for name, score in first["scores"].items())
    scored = {name: tool for name, tool in part["tools"].items() if "difference" in tool}
    apart = {name: tool["difference"] for name, tool in scored.items()}
    different = [name for name, tool in scored.items() if not tool["same"]]
    verdict = f"Different: {', '.join(different)}." if different else "All tools agree."
    differences = ", ".join(f"{name} {value:.0e}" for name, value in list(apart.items())[1:])
    return f"{scores}. {verdict}" + (f" Largest differences: {differences}." if differences else "")


def _kernels(part: Results) -> str:
    times = {name: median(tool["seconds"]) for name, tool in part["tools"].items()}
    rows = []
    for name, seconds in times.items():
        ours = times.get(f"scorer, {name.partition(', ')[2]}")
        rows.append([name, f"{1e3 * seconds:.1f}", f"{seconds / ours:.1f}" if ours else "–"])
    return _table(["from memory to scores", "milliseconds", "× scorer from the same"], rows)


def _share(point: Results, solution: str) -> float | None:
    """The time of scorer as a share of that of pytrec_eval; None where that was not measured."""
    ours, theirs = (point["tools"].get(f"{name}, {solution}") for name in ("scorer", PYTREC_EVAL))
    return median(ours["seconds"]) / median(theirs["seconds"]) if theirs else None


def _judged(part: Results) -> str:
    rows = []
    for point in part["points"]:
        for solution in ("kept", "not kept"):
            times = [point["tools"].get(f"{name}, {solution}") for name in ("scorer", *PEERS)]
            if not any(times):
                continue
            cells = (f"{1e3 * median(each['seconds']):.3g}" if each else "–" for each in times)
            share = _share(point, solution)
            rows.append([f"{_case(point)}, {solution}", *cells, f"{share:.2f}" if share else "–"])
    header = [
        "queries × judged items × items of a list, solution",
        "scorer, milliseconds",
        "pytrec_eval, milliseconds",
        "ir_measures, milliseconds",
        "ranx, milliseconds",
        "share of pytrec_eval",
    ]
    return f"### Dicts, by the numbers of queries and of judged items\n\n{_table(header, rows)}"


def _growth(part: Results) -> str:
    sizes = sorted({point["lines"] for points in part["tools"].values() for point in points})
    rows = []
    for name, points in part["tools"].items():
        at = {point["lines"]: point for point in points}
        cells = (
            f"{median(at[size]['wall']):.2f} s, {median(at[size]['memory']) / 1e6:,.0f} MB" if size in at else "–"
            for size in sizes
        )
        rows.append([name, *cells])
    return _table(["lines", *(f"{size:,}" for size in sizes)], rows)


def _batch(part: Results) -> str:
    count = part["submissions"]
    walls = {name: median(each["wall"]) for name, each in part["executors"].items()}
    # processes:1 uses one process that scores and one that stores, so it can use more than one core; serial cannot.
    base = [walls[name] for name in ("serial", "processes:1")]
    rows = [
        [name, f"{wall:.1f}", f"{count / wall:.1f}", *(f"{one / wall:.2f}" for one in base)]
        for name, wall in walls.items()
    ]
    table = _table(["executor", "seconds", "submissions a second", "× serial", "× processes:1"], rows)
    same = "All executors store the same results." if part["same"] else "The stored results differ."
    first, again = part["render"]
    return (
        f"### {count:,} submissions of {part['lists']:,} lists of 30, {part['measures']} measures, scored and stored"
        f"\n\n{table}\n\n{same} Database with the statistics of the board: {part['database'] / 1e6:.1f} MB.\n\n"
        f"Rendering takes {first:.1f} s the first time, with the statistics of all measures, and {again:.1f} s again."
    )


def _statistics(board: Results) -> str:
    rows = []
    for task, each in board["tasks"].items():
        ours = median(each["scorer"]["seconds"])
        if "scipy" not in each:
            rows.append([task, f"{ours:.2f}", "–", "–", "–"])
            continue
        theirs = median(each["scipy"]["seconds"])
        extrapolated = f" (from {each['measured']:,} of {each['calls']:,})" if each["measured"] < each["calls"] else ""
        rows.append(
            [task, f"{ours:.2f}", f"{theirs:,.1f}{extrapolated}", f"{theirs / ours:,.0f}", f"{each['difference']:.0e}"]
        )
    header = ["statistics", "scorer, seconds", "scipy in a loop, seconds", "× scorer", "largest difference"]
    verdict = "Random draws explain the differences" if board["same"] else "The results differ"
    return (
        f"### Statistics of {board['teams']:,} teams and {board['queries']:,} queries, {board['draws']:,} draws\n\n"
        f"{_table(header, rows)}\n\n{verdict}. Peak memory: scorer {board['memory']['scorer'] / 1e6:,.0f} MB, "
        f"scipy {board['memory']['scipy'] / 1e6:,.0f} MB."
    )


def _live(part: Results) -> str:
    ours = {name: tool["boards"] for name, tool in part["tools"].items()}
    first = {name: f"{median(boards):.1f}" if any(boards) else "—" for name, boards in ours.items()}
    table = _processes("step", "seconds until the boards", first, part)
    verdict = "A run writes the site of a render from nothing." if part["same"] else "The sites differ."
    if loop := part.get("loop"):
        board, site = (median(column) for column in zip(*loop, strict=True))
        verdict += (
            f" An entry that is handed in to `scorer serve` is on the board {board:.1f} s after its last byte, and the "
            f"site is complete after {site:.1f} s."
        )
    return f"### A live challenge of {part['teams']:,} teams and {part['queries']:,} queries\n\n{table}\n\n{verdict}"


def _serving(part: Results) -> str:
    rows = [
        [
            name,
            f"{each['a_second']:.1f}",
            f"{1000 * each['median']:.0f}",
            f"{1000 * each['p99']:.0f}",
            f"{each['memory'] / 1e6:.0f}",
        ]
        for name, each in ((name, part[name]) for name in ("accepting", "scoring"))
    ]
    head = ["the server", "accepted a second", "median, ms", "99 %, ms", "memory, MB"]
    scored, shown = (sorted(column) for column in zip(*part["single"], strict=True))
    last = int(0.95 * (len(scored) - 1))
    return (
        f"### The service: {part['recorded']:,} recorded entries of {part['teams']} teams, files of 1 MB, "
        f"{part['rate']} a second\n\n{_table(head, rows)}\n\nA single entry is scored {scored[last]:.1f} s after its "
        f"last byte, and on the board {shown[last]:.1f} s later (95 %)."
    )


def _record(part: Results) -> str:
    steps = part["points"][0]["seconds"]
    rows = [
        [
            f"{point['entries']:,}",
            *(f"{median(point['seconds'][step]):.3f}" for step in steps),
            f"{point['memory'] / 1e6:.0f}",
        ]
        for point in part["points"]
    ]
    table = _table(["entries", *steps, "memory of the loop, MB"], rows)
    return f"### A record of {part['teams']} teams that grows, seconds of the processor\n\n{table}"


def _processes(what: str, heading: str, column: Mapping[str, str], part: Results) -> str:
    """The table of the costs of commands, with a further column."""
    rows = [
        [
            name,
            f"{median(tool['wall']):.2f}",
            column[name],
            f"{median(tool['processor']):.2f}",
            f"{max(tool['memory']) / 1e6:,.0f}",
        ]
        for name, tool in part["tools"].items()
    ]
    return _table([what, "seconds", heading, "processor seconds", "peak MB"], rows)


def _verification(part: Results) -> str:
    ours = median(part["tools"]["scorer verify log"]["wall"])
    times = {name: f"{median(tool['wall']) / ours:.2f}" for name, tool in part["tools"].items()}
    table = _processes("process", "× scorer", times, part)
    verdict = "Both compute the same head." if part["same"] else "The heads differ."
    return f"### Verification of a log of {part['events']:,} events\n\n{table}\n\n{verdict}"


def _fusion(part: Results) -> list[str]:
    sections = []
    for method, each in part["methods"].items():
        same = all(tool["same"] for tool in each["tools"].values())
        verdict = "All tools give the same scores." if same else "The scores differ."
        sections.append(
            f"### Fusion of {part['runs']} runs of {part['lines']:,} lines by `{method}`, from files to a file\n\n"
            f"{_side_by_side(each)}\n\n{verdict}"
        )
    return sections


def _huge(part: Results) -> str:
    if "failed" in part:
        return f"### {part['lines']:,} lines through a pipe\n\n{part['failed']}."
    return (
        f"### {part['lines']:,} lines through a pipe\n\n{part['wall'][0]:.0f} s, "
        f"{part['memory'][0] / 1e6:,.0f} MB at the peak."
    )
