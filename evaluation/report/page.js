// Unpacks what the page holds and builds elements of it. Text is set as text, never as markup.
"use strict";

const PAGE = 50;

function make(tag, given, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== "") element.append(child);
  }
  return element;
}

async function unpack(name) {
  const bytes = Uint8Array.from(atob(document.getElementById(`packed-${name}`).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

let lines = [];
const line = (n) => (n < 0 ? `> ${lines[-1 - n]}` : lines[n]);

function words(text) {
  if (text === null || text === undefined) return null;
  return typeof text === "number" ? line(text) : text.map(line).join("\n");
}

function clipped(text, most) {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length <= most ? flat : `${flat.slice(0, most)} …`;
}

const number = (value, places = 3) =>
  value === null || value === undefined ? "" : value.toFixed(places).replace("-", "−");
const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const when = (time) => `${new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
const told = (text) => make("div", { class: "text", dir: "auto" }, text);
const name = (text) => make("bdi", null, text);

// Pages through `size` things: draw(first, last) shows them. Returns an element, and a function that starts over.
function pager(what, draw, size) {
  const status = make("p", { class: "soft status", role: "status", "aria-live": "polite" });
  const step = (label, to) => make("button", { type: "button", onclick: () => show(to()) }, label);
  let page = 0;
  let total = 0;
  const last = () => Math.max(0, Math.ceil(total / size) - 1);
  const back = [step("First", () => 0), step("Previous", () => page - 1)];
  const on = [step("Next", () => page + 1), step("Last", last)];
  const jump = make("input", { type: "number", min: 1, value: 1, "aria-label": `Page of ${what}` });
  jump.addEventListener("change", () => show(Math.round(Number(jump.value) || 1) - 1));

  function show(wanted) {
    page = Math.min(Math.max(0, wanted), last());
    const first = page * size;
    const end = Math.min(total, first + size);
    for (const button of back) button.disabled = page === 0;
    for (const button of on) button.disabled = page === last();
    jump.value = page + 1;
    jump.max = last() + 1;
    draw(first, end);
    status.textContent = total === 0
      ? `No ${what}.`
      : `${what} ${(first + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${total.toLocaleString("en")}, page ${page + 1} of ${last() + 1}`;
  }

  const controls = make("div", { class: "controls", role: "group", "aria-label": `Pages of ${what}` }, back, jump, on);
  return {
    status,
    controls,
    start(all, at = 0) {
      total = all;
      controls.hidden = total <= size;
      show(Math.floor(at / size));
    },
  };
}

function scroller(label, table) {
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
}

// The sheets of which only the first rows stand in the page.
function longSheets(sheets) {
  for (const note of document.querySelectorAll("p.paged")) {
    const sheet = sheets[note.dataset.sheet];
    const table = document.querySelector(`table[data-sheet="${CSS.escape(note.dataset.sheet)}"]`);
    const body = table.tBodies[0];
    const own = pager(table.closest("[role=region]").getAttribute("aria-label"), (first, end) => {
      body.replaceChildren(...sheet.rows.slice(first, end).map(([where, said]) => make("tr", null, said.map((value, n) =>
        make(n ? "td" : "th", { scope: n ? null : "row", class: sheet.words[n] ? "words" : null },
          where && value && !(n && sheet.words[n]) ? make("a", { href: "#rows", "data-where": where }, value) : value)))));
    }, 25);
    note.replaceWith(own.controls, own.status);
    own.start(sheet.rows.length);
  }
}
