// Adds how far a time is to each place for it, as in "in 3 days", changes the words of a state once its time is over, and
// marks the present on the bar of a phase. Without this script, the page has the times themselves.
"use strict";

(() => {
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const format = new Intl.RelativeTimeFormat("en", { numeric: "always" });
  const show = () => {
    for (const place of document.querySelectorAll(".left[data-until]")) {
      const seconds = (Date.parse(place.dataset.until) - Date.now()) / 1000;
      const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= 2 * each) || units.at(-1);
      place.textContent = seconds > 0 ? `(${format.format(Math.trunc(seconds / size), unit)})` : "";
    }
    for (const state of document.querySelectorAll("[data-then]")) {
      if (Date.parse(state.dataset.until) <= Date.now()) state.textContent = state.dataset.then;
    }
    for (const bar of document.querySelectorAll(".course")) {
      const [start, end] = [bar.dataset.start, bar.dataset.end].map(Date.parse);
      const share = `${100 * Math.min(Math.max((Date.now() - start) / (end - start), 0), 1)}%`;
      bar.querySelector(".past").setAttribute("x2", share);
      bar.querySelector("circle").setAttribute("cx", share);
    }
  };
  show();
  setInterval(show, 60000);
})();
