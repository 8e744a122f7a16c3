// Sorts and filters the rows of the board. The fragment of the URL holds the state, so a view can be linked.
"use strict";

(() => {
  const table = document.getElementById("board");
  const controls = document.getElementById("controls");
  const status = document.getElementById("status");
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  const ranked = Array.from(body.rows);
  const initial = heads.find((head) => head.hasAttribute("aria-sort"));
  const state = {};

  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
  const orders = { team: ["A to Z", "Z to A"], last: ["earliest first", "latest first"] };

  // The sort key of a cell: text for a team, a number otherwise, null for a blank.
  const value = (row, column) => {
    const cell = row.cells[column];
    if (heads[column].dataset.key === "team") return plain(cell.querySelector("bdi").textContent);
    const time = cell.querySelector("time");
    if (time) return Date.parse(time.dateTime);
    const marked = cell.querySelector("data");
    const number = Number.parseFloat(marked ? marked.value : cell.textContent.replace("=", ""));
    return Number.isNaN(number) ? null : number;
  };

  // Blanks come last in both directions. Equal values stay in the order of the ranking.
  const sorted = () => {
    const column = heads.indexOf(state.head);
    const sign = state.descending ? -1 : 1;
    const keyed = ranked.map((row) => [value(row, column), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return a < b ? -sign : a > b ? sign : 0;
    });
    return keyed.map(([, row]) => row);
  };

  const show = () => {
    const wanted = plain(state.team);
    let shown = 0;
    for (const row of ranked) {
      const baseline = row.classList.contains("baseline");
      row.hidden = (baseline && !state.baselines) || !plain(row.querySelector("bdi").textContent).includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    // Moving rows resets the scroll position, so do it only if the order changes.
    const order = sorted();
    if (order.some((row, index) => row !== body.rows[index])) body.append(...order);
    for (const head of heads) {
      if (head === state.head) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    controls.elements.team.value = state.team;
    controls.elements.baselines.checked = state.baselines;
    const count = shown === ranked.length ? `All ${shown} rows` : `${shown} of ${ranked.length} rows`;
    const [up, down] = orders[state.head.dataset.key] || ["lowest first", "highest first"];
    status.textContent = `${count}, sorted by ${state.head.dataset.label}, ${state.descending ? down : up}`;
  };

  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    state.head = heads.find((head) => head.dataset.key === given.get("sort")) || initial;
    const first = given.get("order") || state.head.dataset.first;
    state.descending = first !== "ascending";
    state.team = given.get("team") || "";
    state.baselines = given.get("baselines") !== "no";
    show();
  };

  const change = (changes) => {
    Object.assign(state, changes);
    const fragment = new URLSearchParams();
    const order = state.descending ? "descending" : "ascending";
    if (state.head !== initial || order !== initial.dataset.first) {
      fragment.set("sort", state.head.dataset.key);
      if (order !== state.head.dataset.first) fragment.set("order", order);
    }
    if (state.team) fragment.set("team", state.team);
    if (!state.baselines) fragment.set("baselines", "no");
    history.replaceState(null, "", fragment.size ? `#${fragment}` : location.pathname + location.search);
    show();
  };

  // The heading of each column becomes a button that sorts. The notes below the table link to the measures.
  for (const head of heads) {
    const old = head.firstElementChild;
    const button = document.createElement("button");
    button.type = "button";
    button.title = old.title;
    head.dataset.label = old.textContent;
    button.append(...old.childNodes);
    old.replaceWith(button);
    button.addEventListener("click", () => {
      const again = state.head === head;
      change({ head, descending: again ? !state.descending : head.dataset.first === "descending" });
    });
  }
  controls.addEventListener("input", () => {
    change({ team: controls.elements.team.value, baselines: controls.elements.baselines.checked });
  });
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("reset", (event) => {
    event.preventDefault();
    change({ head: initial, descending: initial.dataset.first === "descending", team: "", baselines: true });
  });
  window.addEventListener("hashchange", read);
  controls.hidden = false;
  read();
})();
