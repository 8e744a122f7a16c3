// The page for handing in: without this script, the same forms load the page again.
"use strict";

const key = document.getElementById("key");
if (key && location.hash.length > 1) {
  key.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}

const POLL = 2000;

function replace(text, address) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const focused = document.activeElement && document.activeElement.id;
  const main = page.getElementById("main");
  if (!main) {
    location.reload();
    return;
  }
  document.getElementById("main").replaceWith(main);
  if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
  if (address) history.replaceState(null, "", address);
  prepare();
}

async function send(form, extra) {
  const isFile = form.enctype === "multipart/form-data";
  const data = new FormData(form);
  if (extra) data.set(extra.name, extra.value);
  document.body.setAttribute("aria-busy", "true");
  try {
    const body = isFile ? data : new URLSearchParams(data);
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body });
    replace(await answer.text(), answer.redirected ? answer.url : "");
  } catch (error) {
    form.submit();
  } finally {
    document.body.removeAttribute("aria-busy");
  }
}

async function look() {
  const waiting = document.querySelector("[data-waiting]");
  if (!waiting) return;
  try {
    const answer = await fetch(location.href);
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of ["entries", "facts"]) {
        const [old, now] = [document.getElementById(part), page.getElementById(part)];
        if (old && now && old.innerHTML !== now.innerHTML) old.replaceWith(now);
      }
      prepare();
      return;
    }
  } catch (error) { /* the next look may succeed */ }
  setTimeout(look, POLL);
}

let timer = 0;

function prepare() {
  clearTimeout(timer);
  if (document.querySelector("[data-waiting]")) timer = setTimeout(look, POLL);
  for (const button of document.querySelectorAll("form.check button, #picks button")) button.hidden = true;
}

document.addEventListener("change", (event) => {
  const input = event.target;
  if (input.type === "file" && input.files.length) send(input.form);
  if (input.form && input.form.id === "picks") send(input.form, { name: "action", value: "pick" });
  if (input.type === "radio" && input.name === "track") {
    const file = document.getElementById("file");
    if (file && file.files.length) send(input.form);
    else location.search = "?track=" + encodeURIComponent(input.value);
  }
});

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || !button.name || !["withdraw", "pick", "hand-in"].includes(button.value)) return;
  event.preventDefault();
  send(event.target, button);
});

prepare();
