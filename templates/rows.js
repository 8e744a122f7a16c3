// Leaves out the later rows of a long board until the page is complete, so that the first ones can be used sooner. It
// runs before the table; without it, or on a link into the table, all rows are there at once.
"use strict";

globalThis.rows = new Promise((resolve) => {
  const page = document.documentElement.classList;
  const arrives = performance.getEntriesByType("navigation")[0]?.type === "navigate" && !location.hash;
  page.toggle("loading", arrives);
  const show = () => {
    page.remove("loading");
    resolve();
  };
  addEventListener("DOMContentLoaded", () => requestAnimationFrame(() => setTimeout(show)));
  addEventListener("load", () => setTimeout(show, 1000)); // a page in the background draws no frame
});
