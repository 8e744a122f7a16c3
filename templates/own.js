// The team of the reader, which this browser keeps for all pages of the site: pinned on a board or on the page of the
// team, or set by signing in at /submit. It has a link in the header, and its rows are marked.
"use strict";

globalThis.own = (() => {
  const home = document.querySelector("header.site .home");
  const key = home && `pin ${home.href}`;

  // A browser may refuse to store anything.
  const get = () => {
    try {
      return (key && localStorage.getItem(key)) || "";
    } catch {
      return "";
    }
  };

  const links = [];
  const link = (place, text, address) => {
    const each = document.createElement("a");
    each.className = "own";
    each.textContent = text;
    place.append(" ", each);
    links.push([each, address]);
    return each;
  };

  const show = () => {
    const team = get();
    for (const [each, address] of links) {
      each.hidden = !team;
      each.href = new URL(address(team), home.href).href;
    }
    for (const row of document.querySelectorAll("table.top tbody tr")) {
      row.classList.toggle("pinned", Boolean(team) && row.querySelector(".team a").href.endsWith(`/teams/${team}.html`));
    }
    for (const button of document.querySelectorAll("button.own")) {
      button.textContent = team === button.value ? "Your team; unpin" : "Pin as your team";
    }
  };

  const set = (team) => {
    try {
      if (team) localStorage.setItem(key, team);
      else localStorage.removeItem(key);
    } catch {
      // The URL of a board still has it.
    }
    show();
  };

  const list = document.querySelector("header.site ul");
  if (home && list) {
    const item = document.createElement("li");
    const mine = link(item, "My team", (team) => `teams/${team}.html`);
    list.append(item);
    for (const each of document.querySelectorAll(".track > .onward")) {
      const board = each.querySelector("a").getAttribute("href");
      link(each, "My team on it", (team) => `${board}#team-${team}`);
    }
    for (const button of document.querySelectorAll("button.own")) {
      button.hidden = false;
      button.addEventListener("click", () => set(get() === button.value ? "" : button.value));
    }
    const signed = document.querySelector("[data-team]");
    if (signed?.dataset.team) set(signed.dataset.team);
    else show();
    if (mine.href === location.href) mine.setAttribute("aria-current", "page");
  }
  return { get, set };
})();
