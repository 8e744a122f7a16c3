// Compares the two teams that the fragment of the URL names. All numbers come from the page; this script selects them.
"use strict";

(() => {
  const result = document.getElementById("result");
  const form = document.getElementById("choose");
  const { a, b } = form.elements;
  const { pairs, decimals, ids, scores } = JSON.parse(result.dataset.of);
  const teams = [...a.options];
  const pair = new Map(pairs.map((each) => [`${each[0]} ${each[1]}`, each]));
  const LISTED = 5;

  const number = (units, digits) => (units / 10 ** digits).toFixed(digits);
  const signed = (units, digits) => (units > 0 ? "+" : units < 0 ? "−" : "") + number(Math.abs(units), digits);
  const range = (low, high) => (low === null ? "–" : `${signed(low, decimals[1])} to ${signed(high, decimals[1])}`);
  const pText = (units) => (units ? number(units, decimals[2]) : `< ${10 ** -decimals[2]}`);
  const element = (tag, text, name = "") => Object.assign(document.createElement(tag), { textContent: text, className: name });
  const count = (each) => `${each.toLocaleString("en")} ${each === 1 ? "query" : "queries"}`;

  // The pair as the first team minus the second; undefined where the record does not have it.
  const compared = (one, other) => {
    const found = pair.get(`${Math.min(one, other)} ${Math.max(one, other)}`);
    if (!found) return undefined;
    const [, , difference, low, high, p, clear, wins, ties, losses, needed] = found;
    if (one < other) return { difference, low, high, p, clear, wins, ties, losses, needed };
    const turned = (value) => (value === null ? null : 0 - value);
    return { difference: 0 - difference, low: turned(high), high: turned(low), p, clear, wins: losses, ties, losses: wins, needed };
  };

  const sentences = (one, other, found) => {
    if (!found) return "The record does not compare these two teams: they are too far apart on a long board.";
    const [first, second] = found.difference < 0 ? [other, one] : [one, other];
    const texts = [found.difference
      ? `${first.text} scores ${number(Math.abs(found.difference), decimals[0])} more than ${second.text}.`
      : `${first.text} and ${second.text} do not differ in their scores.`];
    texts.push(found.clear ? "The queries separate the two." : "It is too close to call: the queries do not separate the two.");
    if (found.needed) texts.push(`If the differences stayed as they are, about ${Number(found.needed.toPrecision(2)).toLocaleString("en")} queries would.`);
    return texts.join(" ");
  };

  const showPair = (one, other, found) => {
    const table = document.getElementById("pair");
    [one, other].forEach((team, column) => {
      const link = table.querySelectorAll("thead a")[column];
      link.href = `../teams/${team.value}.html`;
      link.firstChild.textContent = team.text;
    });
    const texts = [
      [one.dataset.rank || "–", other.dataset.rank || "–", ""],
      [one.dataset.score, other.dataset.score, found ? signed(found.difference, decimals[0]) : "–"],
      [one.dataset.interval || "–", other.dataset.interval || "–", found ? range(found.low, found.high) : "–"],
      found && found.wins !== null ? [count(found.wins), count(found.losses), `${found.ties.toLocaleString("en")} equal`] : null,
      ["", "", found ? pText(found.p) : "–"],
      ["", "", !found ? "–" : found.clear ? "yes" : "too close to call"],
    ];
    texts.forEach((cells, row) => {
      const line = table.tBodies[0].rows[row];
      line.hidden = !cells;
      (cells || []).forEach((text, column) => { line.cells[column + 1].textContent = text; });
    });
  };

  const showPicture = (one, other, found) => {
    const picture = document.getElementById("picture");
    picture.toggleAttribute("hidden", !found);
    if (!found) return;
    const difference = found.difference / 10 ** decimals[0];
    const [low, high] = [found.low, found.high].map((end) => (end === null ? difference : end / 10 ** decimals[1]));
    // The axis goes as far to the left as to the right, in at most four round steps each.
    const reach = Math.max(...[difference, low, high].map(Math.abs)) || 1;
    const power = 10 ** Math.floor(Math.log10(reach / 4));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each * 4 >= reach * (1 - 1e-9));
    const last = Math.ceil(reach / step - 1e-9);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const at = (value) => `${50 + 50 * value / (last * step)}%`;
    const drawn = (tag, attributes) => {
      const each = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [key, value] of Object.entries(attributes)) each.setAttribute(key, value);
      return each;
    };
    picture.querySelector(".ticks").replaceChildren(...Array.from({ length: 2 * last + 1 }, (_, place) => place - last).flatMap((place) => {
      const text = drawn("text", { x: at(place * step), y: 72, class: place % 2 ? "minor" : "" });
      text.textContent = place ? signed(place * Math.round(step * 10 ** digits), digits).replace("+", "") : "0";
      return [drawn("line", { class: "grid", x1: at(place * step), x2: at(place * step), y1: 20, y2: 56 }), text];
    }));
    picture.querySelector(".dot").setAttribute("cx", at(difference));
    picture.querySelector(".span").setAttribute("x1", at(low));
    picture.querySelector(".span").setAttribute("x2", at(high));
    const short = (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text);
    picture.querySelector(".left").textContent = `← ${short(other.text)} better`;
    picture.querySelector(".right").textContent = `${short(one.text)} better →`;
  };

  const median = (values) => {
    const order = values.filter((value) => value !== null).sort((x, y) => x - y);
    return order.length ? (order[(order.length - 1) >> 1] + order[order.length >> 1]) / 2 : null;
  };

  const showQueries = (one, other) => {
    const table = document.getElementById("queries");
    if (!table) return;
    const [first, second] = [one.index, other.index];
    const field = teams.filter((team) => team.dataset.rank && team !== one && team !== other).map((team) => scores[team.index]);
    const queries = ids.map((id, query) => {
      const [x, y] = [scores[first][query], scores[second][query]];
      const middle = median(field.map((row) => row[query]));
      return { id, x, y, middle, up: x - (middle ?? y), down: y - (middle ?? x) };
    }).filter(({ x, y }) => x !== null && y !== null);
    const groups = [
      [`${one.text} above the field, ${other.text} below`, ({ up, down }) => (up > 0 && down < 0 ? up - down : 0)],
      [`${other.text} above the field, ${one.text} below`, ({ up, down }) => (up < 0 && down > 0 ? down - up : 0)],
      ["Both above the field", ({ up, down }) => Math.min(up, down)],
      ["Both below the field", ({ up, down }) => -Math.max(up, down)],
    ];
    const heads = table.tHead.rows[0].cells;
    [heads[1].textContent, heads[2].textContent] = [one.text, other.text];
    for (const body of [...table.tBodies]) body.remove();
    for (const [title, size] of groups) {
      const members = queries.filter((query) => size(query) > 0).sort((x, y) => size(y) - size(x));
      const body = table.createTBody();
      const head = body.insertRow().appendChild(element("th", `${title}: ${count(members.length)}`, "kind"));
      head.colSpan = 5;
      head.scope = "rowgroup";
      for (const { id, x, y, middle } of members.slice(0, LISTED)) {
        const row = body.insertRow();
        const name = row.appendChild(element("th", "", "query"));
        name.scope = "row";
        name.append(element("bdi", id));
        row.append(element("td", number(x, decimals[0])), element("td", number(y, decimals[0])));
        row.append(element("td", signed(x - y, decimals[0]), "difference"), element("td", middle === null ? "–" : number(middle, decimals[0]), "field"));
      }
    }
  };

  const show = () => {
    const [one, other] = [a.selectedOptions[0], b.selectedOptions[0]];
    for (const option of b.options) option.disabled = option.value === one.value;
    for (const option of a.options) option.disabled = option.value === other.value;
    const found = compared(one.index, other.index);
    document.getElementById("verdict").textContent = sentences(one, other, found);
    showPair(one, other, found);
    showPicture(one, other, found);
    showQueries(one, teams[other.index]);
    history.replaceState(null, "", `#${new URLSearchParams({ a: a.value, b: b.value })}`);
  };

  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    const place = (slug) => teams.findIndex((team) => team.value === slug);
    a.selectedIndex = Math.max(place(given.get("a")), 0);
    const other = place(given.get("b"));
    b.selectedIndex = other >= 0 && other !== a.selectedIndex ? other : a.selectedIndex ? 0 : 1;
    show();
  };

  for (const team of teams) b.append(new Option(team.text, team.value));
  for (const team of b.options) Object.assign(team.dataset, teams[team.index].dataset);
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.swap.addEventListener("click", () => {
    [a.selectedIndex, b.selectedIndex] = [b.selectedIndex, a.selectedIndex];
    show();
  });
  window.addEventListener("hashchange", read);
  form.hidden = result.hidden = false;
  read();
})();
