"""The results as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

DetectedFormat = Mapping[str, Any]


def tables(told: DetectedFormat) -> str:
    """All that was measured."""
    sections = [_facts(told)]
    if "run" in told:
        sections.append(f"### One run of {told['run']['lines']:,} lines\n\n{run_table(told)}\n\n{_scores(told['run'])}")
    if "submissions" in told:
        part = told["submissions"]
        sections.append(
            f"### {part['submissions']:,} submissions of {part['lists']:,} lists of 30\n\n"
            f"{_side_by_side(part)}\n\n{_scores(part)}"
        )
    if "kernels" in told:
        sections.append(f"### In memory, {told['kernels']['lines']:,} lines\n\n{_kernels(told['kernels'])}")
    if "growth" in told:
        sections.append(f"### Growth\n\n{_growth(told['growth'])}")
    if "batch" in told:
        sections.append(_batch(told["batch"]))
    if "huge" in told:
        sections.append(_huge(told["huge"]))
    return "\n\n".join(sections)


def run_table(told: DetectedFormat) -> str:
    """The table of the one large run: the README has it too."""
    return _side_by_side(told["run"])


def _facts(told: DetectedFormat) -> str:
    machine = told["machine"]
    facts = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory'] / 1e9:.0f} GB, {machine['system']}",
        ", ".join(f"{name} {number}" for name, number in told["versions"].items()),
    ]
    if told["date"]:
        facts.insert(0, told["date"])
    if told["left_out"]:
        facts.append(f"Left out, because not at hand: {', '.join(told['left_out'])}")
    facts.append(f"Peak memory is that of the whole process; less than {told['memory_floor'] / 1e6:.0f} MB is not seen")
    shares = [share for tool in _measured(told) for share in tool["others"] if share is not None]
    if shares:
        facts.append(
            f"Other programs took {median(shares):.0%} of the cores during the measurements in the middle, "
            f"{max(shares):.0%} at the most; the batches, in processes of their own, are not in this"
        )
    return "\n".join(f"- {fact}" for fact in facts)


def _measured(told: DetectedFormat) -> list[DetectedFormat]:
    """What was measured side by side."""
    sides = [tool for part in ("run", "submissions") if part in told for tool in told[part]["tools"].values()]
    grown = told["growth"]["tools"].values() if "growth" in told else ()
    return [*sides, *(point for points in grown for point in points)]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def _side_by_side(part: DetectedFormat) -> str:
    """Medians; times and memory also as multiples of the first tool's, which is scorer."""
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


def _scores(part: DetectedFormat) -> str:
    first = next(iter(part["tools"].values()))
    scores = ", ".join(f"{name} {score:.6f}" for name, score in first["scores"].items())
    apart = {name: tool["difference"] for name, tool in part["tools"].items()}
    different = [name for name, tool in part["tools"].items() if not tool["same"]]
    verdict = f"Different: {', '.join(different)}." if different else "All tools agree."
    differences = ", ".join(f"{name} {value:.0e}" for name, value in list(apart.items())[1:])
    return f"{scores}. {verdict}" + (f" Largest differences: {differences}." if differences else "")


def _kernels(part: DetectedFormat) -> str:
    rows = [[name, f"{1e3 * median(tool['seconds']):.1f}"] for name, tool in part["tools"].items()]
    return _table(["from memory to scores", "milliseconds"], rows)


def _growth(part: DetectedFormat) -> str:
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


def _batch(part: DetectedFormat) -> str:
    count = part["submissions"]
    walls = {name: median(each["wall"]) for name, each in part["executors"].items()}
    # processes:1 is a process that scores, and one that stores: more than one core's worth, where serial is just that.
    base = [walls[name] for name in ("serial", "processes:1")]
    rows = [
        [name, f"{wall:.1f}", f"{count / wall:.1f}", *(f"{one / wall:.2f}" for one in base)]
        for name, wall in walls.items()
    ]
    table = _table(["executor", "seconds", "submissions a second", "× serial", "× processes:1"], rows)
    same = "The same site from all." if part["same_site"] else "The sites differ."
    return (
        f"### `scorer run`: {count:,} submissions of {part['lists']:,} lists of 30, {part['measures']} measures, "
        f"scored, stored and rendered\n\n{table}\n\n{same} Database: {part['database'] / 1e6:.1f} MB. "
        f"Run again, with nothing new: {part['again']:.1f} s."
    )


def _huge(part: DetectedFormat) -> str:
    if "failed" in part:
        return f"### {part['lines']:,} lines through a pipe\n\n{part['failed']}."
    return (
        f"### {part['lines']:,} lines through a pipe\n\n{part['wall'][0]:.0f} s, "
        f"{part['memory'][0] / 1e6:,.0f} MB at the peak."
    )
