// Sorts and filters the rows of the board, chooses its columns, pins a team, and copies what is shown. The fragment of
// the URL holds the state, so a view can be linked.
"use strict";

(() => {
  const table = document.getElementById("board");
  if (!table) return;
  const controls = document.getElementById("controls");
  const fields = controls.elements;
  const status = document.getElementById("status");
  const box = document.getElementById("box");
  const menu = document.getElementById("columns");
  const keep = document.getElementById("keep");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const sortable = heads.filter((head) => head.dataset.key !== "strip");
  const ranked = [...body.rows];
  const initial = heads.find((head) => head.hasAttribute("aria-sort"));
  const boxes = [...menu.querySelectorAll("[value]")];
  const home = document.querySelector("header.site .home").href;
  const state = {};
  const filters = [...controls.querySelectorAll("select[name^='stated-']")];

  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
  const name = (row) => row.querySelector(".team bdi").textContent;
  const names = new Map(ranked.map((row) => [row, plain(name(row))]));
  const slug = (row) => row.id.slice("team-".length);
  const orders = {
    team: ["A to Z", "Z to A"],
    last: ["earliest first", "latest first"],
    best: ["earliest best first", "latest best first"],
  };

  // Values

  // The sort key of a cell: text for a team, a number otherwise, null for a blank.
  const value = (row, column) => {
    const cell = row.cells[column];
    if (heads[column].dataset.key === "team") return names.get(row);
    if (cell.dataset.value) return Number(cell.dataset.value);
    if (cell.classList.contains("stated") && !cell.querySelector("data")) return plain(cell.textContent) || null;
    const time = cell.querySelector("time");
    if (time) return Date.parse(time.dateTime);
    const marked = cell.querySelector("data");
    const number = Number.parseFloat(marked ? marked.value : cell.textContent.replace("=", ""));
    return Number.isNaN(number) ? null : number;
  };

  // Blanks come last in both directions. Equal values stay in the order of the ranking.
  const sorted = () => {
    if (state.head === initial && state.descending) return ranked;
    const column = heads.indexOf(state.head);
    const sign = state.descending ? -1 : 1;
    const keyed = ranked.map((row) => [value(row, column), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return a < b ? -sign : a > b ? sign : 0;
    });
    return keyed.map(([, row]) => row);
  };

  // Whether the range of ranks of a team begins with 1.
  const couldBeFirst = (row) => Number.parseInt(row.querySelector("td.range")?.textContent, 10) === 1;

  // Whether a row has the value that a filter chooses.
  const matches = (row) => filters.every(({ name: key }) => {
    const column = heads.findIndex((head) => head.dataset.key === key);
    return !state[key] || row.cells[column].textContent.trim() === state[key];
  });

  // Showing the state

  const none = document.createElement("p");
  none.className = "none";
  table.after(none);

  const first = document.createElement("tbody");
  first.className = "first";

  const showPin = () => {
    first.remove();
    for (const mark of table.querySelectorAll(".pinned .pin")) mark.remove();
    for (const row of ranked) {
      row.classList.toggle("pinned", slug(row) === state.pin);
      if (slug(row) !== state.pin) continue;
      const mark = document.createElement("span");
      mark.className = "badge pin";
      mark.textContent = " pinned";
      row.querySelector(".team").append(mark);
      if (!table.classList.contains("dense")) continue;
      const copy = row.cloneNode(true);
      copy.removeAttribute("id");
      copy.hidden = false;
      first.replaceChildren(copy);
      body.before(first);
    }
  };

  const showColumns = () => {
    for (const each of boxes) each.checked = state.toggled.has(each.value) === each.classList.contains("extra");
    keep.checked = state.keep;
    const scrolls = state.keep || boxes.some((each) => each.checked && each.classList.contains("extra"));
    // A box that scrolls can be focused, so that the arrow keys scroll it.
    if (scrolls) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-labelledby", "caption");
    } else for (const attribute of ["tabindex", "role", "aria-labelledby"]) box.removeAttribute(attribute);
    const measures = heads.filter((head) => head.classList.contains("measure")).map((head) => head.dataset.key);
    const small = menu.querySelector("summary small");
    const shown = boxes.filter((each) => each.checked && measures.includes(each.value)).length;
    if (small) small.textContent = `${shown} of ${measures.length} measure${measures.length === 1 ? "" : "s"}`;
  };

  const describe = (shown) => {
    const [up, down] = orders[state.head.dataset.key] || ["lowest first", "highest first"];
    const direction = state.descending ? down : up;
    const count = shown === ranked.length ? `All ${shown} rows` : `${shown} of ${ranked.length} rows`;
    const rest = document.createElement("span");
    rest.className = "unseen";
    rest.textContent = `, sorted by ${state.head.dataset.label}, ${direction}`;
    const number = document.createElement("span");
    number.textContent = count;
    if (shown === ranked.length) number.className = "unseen";
    status.replaceChildren(number, rest);
  };

  const show = (announce) => {
    const wanted = plain(state.team);
    let shown = 0;
    for (const row of ranked) {
      const baseline = row.classList.contains("baseline");
      row.hidden = (baseline && !state.baselines) || !names.get(row).includes(wanted) || (state.first && !couldBeFirst(row)) || !matches(row);
      shown += row.hidden ? 0 : 1;
    }
    // Moving rows resets the scroll position, so do it only if the order changes.
    const order = sorted();
    if (order.some((row, index) => row !== body.rows[index])) {
      // Rows are moved outside of the page, which is much faster on a long board.
      const mark = document.createComment("");
      body.replaceWith(mark);
      body.append(...order);
      mark.replaceWith(body);
    }
    // Tiers are drawn across rows, which only makes sense in the order of the ranking and without gaps.
    table.classList.toggle("sorted", order !== ranked || ranked.some((row) => row.hidden && !row.classList.contains("baseline")));
    for (const head of heads) {
      if (head === state.head) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    fields.sort.value = state.head.dataset.key;
    fields.order.textContent = state.descending ? "↓" : "↑";
    fields.team.value = state.team;
    for (const filter of filters) filter.value = state[filter.name];
    if (fields.baselines) fields.baselines.checked = state.baselines;
    if (fields.first) fields.first.checked = state.first;
    fields.pin.value = state.pin;
    none.hidden = shown > 0;
    none.textContent = shown ? "" : `No team ${state.first ? "that could be first " : ""}matches${state.team ? ` “${state.team}”` : ""}${state.baselines ? "" : " without the baselines"}.`;
    showColumns();
    showPin();
    if (announce || shown < ranked.length) describe(shown);
  };

  // The state in the URL

  const list = (text) => (text ? text.split(" ") : []);

  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    state.head = sortable.find((head) => head.dataset.key === given.get("sort")) || initial;
    state.descending = (given.get("order") || state.head.dataset.first) !== "ascending";
    state.team = given.get("team") || "";
    state.baselines = given.get("baselines") !== "no";
    state.first = given.get("first") === "yes" && Boolean(fields.first);
    state.toggled = new Set(list(given.get("columns")));
    for (const { name: key, options } of filters) {
      state[key] = [...options].some((option) => option.value === given.get(key)) ? given.get(key) : "";
    }
    state.keep = given.get("keep") === "yes";
    const pin = given.get("pin") ?? globalThis.own?.get() ?? "";
    state.pin = ranked.some((row) => slug(row) === pin) ? pin : "";
    show(false);
  };

  const fragment = () => {
    const given = new URLSearchParams();
    const order = state.descending ? "descending" : "ascending";
    if (state.head !== initial || order !== initial.dataset.first) {
      given.set("sort", state.head.dataset.key);
      if (order !== state.head.dataset.first) given.set("order", order);
    }
    if (state.team) given.set("team", state.team);
    if (!state.baselines) given.set("baselines", "no");
    if (state.first) given.set("first", "yes");
    for (const { name: key } of filters) if (state[key]) given.set(key, state[key]);
    if (state.toggled.size) given.set("columns", [...state.toggled].join(" "));
    if (state.keep) given.set("keep", "yes");
    if (state.pin) given.set("pin", state.pin);
    return given.size ? `#${given}` : "";
  };

  const change = (changes) => {
    Object.assign(state, changes);
    history.replaceState(null, "", fragment() || location.pathname + location.search);
    show(true);
  };

  // Copies

  const pictures = new Set(["strip", "queries", "best"]);

  // Text as a spreadsheet does not take it for a formula, as in scorer/wording.py.
  const guarded = (text) => text.replace(/(?:^|(?<=[;\t\r\n]))(?=[ "]*[=+\-@\t\r])/g, "'");

  const content = (row, column) => {
    const key = heads[column].dataset.key;
    const cell = row.cells[column];
    if (key === "team") return name(row);
    if (key === "rank") return cell.querySelector("a").textContent.replace(/[=–]/, "");
    if (key === "before") return cell.textContent.replace("=", "");
    const time = cell.querySelector("time");
    const marked = cell.querySelector("data");
    const text = time ? time.dateTime : marked ? marked.value : cell.textContent.trim();
    return text === "–" ? "" : text;
  };

  const shownTable = () => {
    const columns = heads.keys().filter((column) => !pictures.has(heads[column].dataset.key)
      && getComputedStyle(table.querySelectorAll("col")[column]).display !== "none");
    const kept = [...columns];
    const rows = [...body.rows].filter((row) => !row.hidden);
    return [kept.map((column) => heads[column].dataset.label), ...rows.map((row) => kept.map((column) => content(row, column)))];
  };

  const isNumber = (text) => /^-?\d+(\.\d+)?$/.test(text);

  const csv = (rows) => rows.map((row) => row.map((text) => {
    const safe = isNumber(text) ? text : guarded(text);
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",")).join("\r\n") + "\r\n";

  const markdown = ([head, ...rows]) => {
    const escaped = (text) => text.replace(/[\\`*_[\]|~]/g, "\\$&").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    const line = (cells) => `| ${cells.map(escaped).join(" | ")} |`;
    const rule = head.map((_, column) => (rows.some((row) => row[column]) && rows.every((row) => !row[column] || isNumber(row[column])) ? "---:" : "---"));
    return [line(head), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n") + "\n";
  };

  const copy = async (text, message) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without a secure context, only a selection can be copied.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const copied = document.execCommand("copy");
      area.remove();
      if (!copied) message = "Not copied: refused";
    }
    status.textContent = message;
  };

  const rowsCopied = () => `Copied ${[...body.rows].filter((row) => !row.hidden).length} rows`;

  // Controls

  // The heading of each column becomes a button that sorts. The notes below the table link to the measures.
  for (const head of sortable) {
    const old = head.firstElementChild;
    const button = document.createElement("button");
    button.type = "button";
    button.title = old.title;
    button.append(...old.childNodes);
    old.replaceWith(button);
    button.addEventListener("click", () => {
      const again = state.head === head;
      change({ head, descending: again ? !state.descending : head.dataset.first === "descending" });
    });
    fields.sort.append(new Option(head.dataset.label, head.dataset.key));
  }
  for (const row of ranked) fields.pin.append(new Option(name(row), slug(row)));

  controls.addEventListener("input", (event) => {
    const given = event.target;
    if (given.name === "sort") {
      const head = sortable.find((each) => each.dataset.key === given.value);
      change({ head, descending: head.dataset.first === "descending" });
    } else if (given.name === "pin") {
      globalThis.own?.set(given.value);
      change({ pin: given.value });
    } else if (given === keep) change({ keep: keep.checked });
    else if (boxes.includes(given)) {
      const toggled = boxes.filter((each) => each.checked === each.classList.contains("extra"));
      // A column that this window has no room for is shown by scrolling sideways.
      const column = heads.findIndex((head) => head.dataset.key === given.value);
      const lacks = given.checked && getComputedStyle(heads[column]).display === "none" && matchMedia("(width > 44rem)").matches;
      change({ toggled: new Set(toggled.map((each) => each.value)), keep: state.keep || lacks });
    } else change({ team: fields.team.value, baselines: !fields.baselines || fields.baselines.checked, first: Boolean(fields.first?.checked), ...Object.fromEntries(filters.map((each) => [each.name, each.value])) });
  });
  controls.addEventListener("click", ({ target }) => {
    if (target.name === "order") change({ descending: !state.descending });
    else if (target.name === "csv") copy(csv(shownTable()), rowsCopied());
    else if (target.name === "markdown") copy(markdown(shownTable()), rowsCopied());
    else if (target.name === "link") copy(location.href.replace(/#.*/, "") + fragment(), "Copied the link");
  });
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("reset", (event) => {
    event.preventDefault();
    globalThis.own?.set("");
    menu.open = false;
    change({ head: initial, descending: initial.dataset.first === "descending", team: "", baselines: true, first: false, toggled: new Set(), keep: false, pin: "", ...Object.fromEntries(filters.map((each) => [each.name, ""])) });
  });

  // The menu closes as menus do.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });

  // On a phone, a tap anywhere in a row opens the rest of it.
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row || getComputedStyle(row).display !== "grid") return;
    const details = row.querySelector("details");
    // On a long board, the link to a row opens it without this script.
    if (!details && event.target.closest(".rank a")) event.preventDefault();
    else if (event.target.closest("a, summary")) return;
    if (details) details.open = !details.open;
    else row.classList.toggle("open");
  });

  window.addEventListener("hashchange", read);
  for (const part of controls.querySelectorAll("[hidden]")) part.hidden = false;
  read();

  // A long board on a phone opens at the pinned team, unless the reader comes back to another place or follows a link.
  const pinned = body.querySelector(".pinned:not([hidden])");
  const comes = performance.getEntriesByType("navigation")[0]?.type === "navigate" && !document.querySelector(":target");
  if (pinned && comes && table.classList.contains("dense") && matchMedia("(width <= 44rem)").matches) {
    Promise.resolve(globalThis.rows).then(() => pinned.scrollIntoView({ block: "center" }));
  }
})();
