// Adds how far a time is to each place for it, as in "in 3 days". Without this script, the page has the time itself.
"use strict";

(() => {
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const format = new Intl.RelativeTimeFormat("en", { numeric: "always" });
  const show = () => {
    for (const place of document.querySelectorAll(".left[data-until]")) {
      const seconds = (Date.parse(place.dataset.until) - Date.now()) / 1000;
      const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= 2 * each) || units.at(-1);
      place.textContent = `(${format.format(Math.trunc(seconds / size), unit)})`;
    }
  };
  show();
  setInterval(show, 60000);
})();
