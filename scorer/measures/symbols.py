"""The symbols that several formulas use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol and what it means, for the page of measures."""

    latex: str
    """The symbol in LaTeX between ``$``."""
    name: str
    """Its first identifier, as formulas have it."""
    meaning: str
    """In words, with LaTeX between ``$``."""


WORDS = {
    "query": "What a list answers. Each query has its own solution, its own list and its own score.",
    "item": "What a list consists of. A list has each item once; a repeated item counts at its first rank.",
    "list": "The items of a submission for a query, the best first.",
    "grade": "A number that the solution gives to an item for a query: the higher, the more relevant.",
    "relevant": "An item with a grade above 0. In a solution in VL.NET's format, every listed item. The parameter rel "
    "sets another lowest grade.",
}

SYMBOLS = (
    Symbol("$r$", "r", "A rank: 1 for the first item of the list."),
    Symbol("$g$", "g", "A grade. $g_r$ is that of the item at rank $r$, 0 if the solution does not list the item."),
    Symbol("$k$", "k", "A cut-off: only the first $k$ items of the list count. Without a cut-off, all of them."),
    Symbol("$z$", "z", "A cut-off that limits the relevant items too. $z_1, \\dots, z_n$ are several of them."),
    Symbol("$m$", "m", "The number of relevant items of the query, in the list or not."),
    Symbol(
        r"$\mathrm{relevant}(z)$",
        "relevant",
        r"The relevant set at $z$: the $\min(m, z)$ relevant items with the highest grades, and every relevant item "
        "with the same grade as the last of these. So it may have more than $z$ items.",
    ),
    Symbol(r"$\mathrm{first}(z)$", "first", "The first $z$ items of the list; all of them if the list is shorter."),
    Symbol(
        r"$\mathrm{Rp@}z$",
        "Rp@",
        r"R-precision at $z$: $\frac{|\mathrm{relevant}(z) \cap \mathrm{first}(z)|}{\min(m, z)}$.",
    ),
    Symbol("$R$", "R", "The number of relevant items of the query, in the list or not; $m$ in the formulas of VL.NET."),
    Symbol(r"$\mathrm{rel}(r)$", "rel", "1 if the item at rank $r$ is relevant, otherwise 0."),
    Symbol(
        r"$\mathrm{hits}(k)$",
        "hits",
        r"The number of relevant items in the first $k$ ranks; $\mathrm{hits}$ is that in the whole list.",
    ),
    Symbol(r"$\mathrm{P@}k$", "P@", r"Precision: $\frac{\mathrm{hits}(k)}{k}$."),
    Symbol(r"$\mathrm{R@}k$", "R@", r"Recall: $\frac{\mathrm{hits}(k)}{R}$."),
    Symbol(
        r"$\mathrm{AP@}k$",
        "AP@",
        r"Average precision: $\frac{1}{R} \sum_{r=1}^{k} \mathrm{rel}(r) \cdot \mathrm{P@}r$.",
    ),
    Symbol(r"$|\mathrm{list}|$", "list", "The number of items in the list, repeated items included."),
    Symbol("$Q$", "Q", "The queries of the solution. $|Q|$ is their number."),
    Symbol(r"$\mathrm{gain}(g)$", "gain", "What an item with grade $g$ is worth; each measure says how much."),
    Symbol(
        r"$\mathrm{discount}(r)$", "discount", "What part of a gain counts at rank $r$; each measure says how much."
    ),
    Symbol(
        r"$\mathrm{DCG@}k$",
        "DCG@",
        r"Discounted cumulated gain: $\sum_{r=1}^{k} \mathrm{gain}(g_r) \cdot \mathrm{discount}(r)$.",
    ),
    Symbol(r"$\mathrm{IDCG@}k$", "IDCG@", r"The $\mathrm{DCG@}k$ of the items in descending order of gain."),
    Symbol("$i$", "i", "Counts the terms of a sum or of a product."),
)
"""The symbols of all formulas, but for those that only one formula has, which defines them."""
