// Sorts a table by the column whose heading is clicked. Without this script, its rows are in the order of the page.
"use strict";

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const given = [...body.rows];

  // The key of a cell: a number, or text; null for a blank.
  const key = (row, column) => {
    const text = row.cells[column].textContent.trim();
    if (column === 0) return text;
    return text === "–" ? null : Number(text.replace("−", "-"));
  };
  const compare = (one, other) => (typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other);

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // Names begin with the first one, numbers with the highest.
      const first = column === 0 ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? (first === "ascending" ? "descending" : "ascending") : first;
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const keys = new Map(given.map((row) => [row, key(row, column)]));
      const blank = (row) => keys.get(row) === null;
      body.append(...given.toSorted((one, other) => blank(one) - blank(other) || (blank(one) ? 0 : sign * compare(keys.get(one), keys.get(other)))));
    });
  });
}
