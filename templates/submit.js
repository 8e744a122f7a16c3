// The page for handing in: without this script, the same forms load the page again.
"use strict";

const key = document.getElementById("key");
if (key && location.hash.length > 1) {
  key.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}

const POLL = 2000;
const BOARD_LOOKS = 60; // for a board that has the score
let boardLooks = 0;
let upload = null;
let timer = 0;

function replace(text, address) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const focused = document.activeElement && document.activeElement.id;
  const wrong = page.querySelector("[aria-invalid]");
  if (wrong) wrong.autofocus = false; // of the page without this script
  const main = page.getElementById("main");
  if (!main) {
    location.reload();
    return;
  }
  document.getElementById("main").replaceWith(main);
  const next = document.getElementById(wrong ? wrong.id : focused);
  if (next) next.focus();
  if (address) history.replaceState(null, "", address);
  prepare();
}

async function send(form, extra) {
  const data = new FormData(form);
  if (extra) data.set(extra.name, extra.value);
  document.body.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: new URLSearchParams(data) });
    replace(await answer.text(), answer.redirected ? answer.url : "");
  } catch (error) {
    say("The service did not answer. Look at your entries before you try again.");
  } finally {
    document.body.removeAttribute("aria-busy");
  }
}

// An empty page: what was checked before is not this file.
function clear() {
  const old = ".found, .hand-in, .verdict, .chosen, #news > *";
  for (const each of document.querySelectorAll(old)) each.remove();
}

function say(text) {
  const warning = document.createElement("p");
  warning.className = "warning";
  warning.setAttribute("role", "alert");
  warning.textContent = text;
  document.getElementById("news").append(warning);
}

function send_file(form) {
  const [file] = form.querySelector("input").files;
  const line = document.querySelector(".sending");
  const [bar, words] = line.children;
  clear();
  const ended = (text) => {
    upload = null;
    form.reset();
    form.hidden = false;
    line.hidden = true;
    if (text) say(text);
  };
  if (upload) upload.abort();
  if (file.size > Number(form.querySelector("input").dataset.most)) {
    ended("The file is too large: " + file.size.toLocaleString("en") + " bytes.");
    return;
  }
  upload = new XMLHttpRequest();
  upload.upload.onprogress = (event) => {
    bar.max = event.total;
    bar.value = event.loaded;
    const share = Math.floor(100 * event.loaded / event.total);
    words.textContent = file.name + (share < 100 ? ", " + share + "% sent" : " is being checked");
  };
  upload.onload = (event) => {
    const answer = event.target;
    upload = null;
    replace(answer.responseText, new URL(answer.responseURL).search ? answer.responseURL : "");
  };
  upload.onerror = () => ended("The file did not arrive. Choose it again.");
  upload.onabort = () => ended("");
  upload.open("POST", form.getAttribute("action"));
  upload.send(new FormData(form));
  words.textContent = file.name + ", 0% sent";
  form.hidden = true;
  line.hidden = false;
  line.querySelector("button").focus();
}

// A form that was sent meanwhile replaces the page: an answer from before it is late.
async function look() {
  if (!document.querySelector("[data-waiting]")) return;
  const main = document.getElementById("main");
  try {
    const answer = await fetch(location.href);
    const text = await answer.text();
    if (main !== document.getElementById("main")) return;
    if (answer.ok && !document.body.hasAttribute("aria-busy")) {
      const page = new DOMParser().parseFromString(text, "text/html");
      if (!page.getElementById("entries")) {
        say("You are not signed in any more. Load the page again to sign in.");
        return;
      }
      for (const part of ["entries", "facts", "paused", "changes", "handed-in"]) {
        const [old, now] = [document.getElementById(part), page.getElementById(part)];
        if (old && now && old.innerHTML !== now.innerHTML) old.replaceWith(now);
      }
      prepare();
      return;
    }
  } catch (error) { /* the next look may succeed */ }
  timer = setTimeout(look, POLL);
}

function prepare() {
  clearTimeout(timer);
  const waiting = document.querySelector("[data-waiting]");
  boardLooks = waiting && waiting.dataset.waiting === "board" ? boardLooks + 1 : 0;
  if (waiting && boardLooks < BOARD_LOOKS) timer = setTimeout(look, POLL);
  for (const button of document.querySelectorAll("form.check button, #picks button")) button.hidden = true;
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
}

document.addEventListener("change", (event) => {
  const input = event.target;
  if (input.type === "file" && input.files.length) send_file(input.form);
  if (input.form && input.name === "entry") send(input.form, { name: "action", value: "pick" });
});

document.addEventListener("click", async (event) => {
  if (upload && event.target.closest(".sending button")) upload.abort();
  const { copy } = event.target.dataset;
  if (!copy) return;
  await navigator.clipboard.writeText(document.getElementById(copy).textContent);
  event.target.textContent = "Copied";
});

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || !(["withdraw", "pick", "hand-in", "describe"].includes(button.value) || button.name === "to")) return;
  event.preventDefault();
  send(event.target, button);
});

prepare();
const early = document.getElementById("file"); // a file may be chosen before this script is here
if (early && early.files.length) send_file(early.form);
