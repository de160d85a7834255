// The table of rows: filtered by what a link or the form says, a page at a time.

const FILTERS = [["run", "Run"], ["mode", "Mode"], ["task", "Task"], ["system", "System"], ["place", "Community"],
  ["user", "Person"], ["failure", "Failure"]];
const FIRST = { sentiment: ["correct", "brier"], impact: ["abs_error", "slog_error"], generation: ["rouge1", "rougeL", "sbert"] };
const TITLES = { correct: "Right", brier: "Brier", abs_error: "Error", slog_error: "Error, log", rouge1: "ROUGE-1", rougeL: "ROUGE-L", sbert: "SBERT" };

function rowsView(rows, open) {
  const value = (n, field) => (rows.coded[field] ? rows.words[field][rows.coded[field][n]] : rows[field] ? rows[field][n] : undefined);
  const safe = (n, field) => {
    const at = rows.coded[field][n];
    return rows.safe[field][at] ?? rows.words[field][at];
  };
  const place = document.getElementById("rows-view");
  const selects = new Map();
  const extra = new Map();
  let chosen = [];

  const form = make("form", { class: "controls", "aria-label": "Which rows", onsubmit: (event) => event.preventDefault() });
  for (const [field, label] of FILTERS) {
    if (field === "run" && rows.words.run.length < 2) continue;
    const select = make("select", { name: field, onchange: () => { extra.clear(); apply(); } }, make("option", { value: "" }, "all"));
    if (field === "failure") select.append(make("option", { value: "any" }, "any"));
    const options = rows.words[field].map((word, n) => [rows.safe[field][n] ?? word, n]).filter(([word]) => word !== "");
    for (const [word, n] of options.sort((a, b) => (a[0] < b[0] ? -1 : 1))) {
      select.append(make("option", { value: n }, clipped(shortly(field, word), 60)));
    }
    selects.set(field, select);
    form.append(make("label", null, label, select));
  }
  const sort = make("select", { name: "sort", onchange: () => apply() }, make("option", { value: "" }, "as played"),
    make("option", { value: "low" }, "lowest first measure"), make("option", { value: "high" }, "highest first measure"));
  form.append(make("label", null, "Order", sort), make("button", { type: "button", onclick: () => set("") }, "Show all rows"));

  const head = make("thead");
  const body = make("tbody");
  const caption = make("caption", null, "Rows");
  const pages = pager("rows", (first, end) => body.replaceChildren(...chosen.slice(first, end).map(row)), PAGE);
  place.replaceChildren(form, pages.status, scroller("Rows", make("table", { class: "rows" }, caption, head, body)), pages.controls);

  // Whether a row's value is the word, or within the numbers that it names, such as 3-4.
  function matches(found, word) {
    const span = typeof found === "number" ? /^(-?[\d.]+)(?:-| to )(-?[\d.]+)$/.exec(word) : null;
    return span ? found >= Number(span[1]) && found <= Number(span[2]) : String(found) === word;
  }

  function shortly(field, word) {
    return field === "system" ? word.replace("baseline:", "").replaceAll("_", " ") : word;
  }

  function measures(shown) {
    const tasks = new Set(shown.map((n) => value(n, "task")));
    const known = tasks.size === 1 ? FIRST[[...tasks][0]] : null;
    return (known || []).filter((metric) => rows.metrics[metric]);
  }

  function apply() {
    const wanted = [];
    for (const [field, select] of selects) if (select.value !== "") wanted.push([field, select.value]);
    chosen = [];
    for (let n = 0; n < rows.size; n += 1) {
      const fits = wanted.every(([field, at]) => (at === "any" ? value(n, field) !== "" : rows.coded[field][n] === Number(at)));
      if (fits && [...extra].every(([field, word]) => matches(value(n, field), word))) chosen.push(n);
    }
    const shown = measures(chosen);
    if (sort.value && shown.length) {
      const of = (n) => rows.metrics[shown[0]][n] ?? Infinity;
      const sign = sort.value === "low" ? 1 : -1;
      chosen.sort((a, b) => sign * (of(a) - of(b)));
    }
    const measured = shown.map((m) => TITLES[m]);  // what is read first stands first: a phone shows no more
    const titles = ["Person", "Truth", "Answer", ...measured, "Turn", "Task", "System", "Community"];
    head.replaceChildren(make("tr", null, titles.map((title) =>
      make("th", { scope: "col", class: measured.includes(title) ? null : "words" }, title))));
    pages.start(chosen.length);
  }

  function row(n) {
    const shown = measures(chosen);
    const failed = value(n, "failure");
    const isText = Array.isArray(rows.value[n]) || rows.metrics.rouge1?.[n] != null || value(n, "task") === "generation";
    const said = (content) => (content === null || content === undefined ? "" : isText ? clipped(words(content), 160) : String(content).replace("-", "−"));
    const why = failed ? clipped(words(rows.reason[n]) || words(rows.answer[n]) || "", 120) : "";
    const answer = failed ? make("span", { class: "warn" }, `failed: ${failed}${why ? `, ${why}` : ""}`) : said(rows.value[n]);
    return make("tr", { class: value(n, "system") === "model" ? "model" : null },
      make("th", { scope: "row", class: "words" }, name(safe(n, "user"))),
      make("td", { class: "words long", dir: "auto" }, said(rows.truth[n]) || make("span", { class: "soft" }, "unknown")),
      make("td", { class: "words long", dir: "auto" }, answer),
      shown.map((metric) => make("td", null, number(rows.metrics[metric][n]))),
      make("td", { class: "words" }, make("a", { href: "#threads", onclick: (event) => {
        event.preventDefault();
        open(n);
      } }, "open", make("span", { class: "sr" }, ` the turn of ${safe(n, "user")}`))),
      make("td", { class: "words" }, `${value(n, "task")}, ${value(n, "mode")}`),
      make("td", { class: "words" }, shortly("system", safe(n, "system"))),
      make("td", { class: "words" }, name(safe(n, "place"))));
  }

  // Sets the filter to a query such as "mode=replay&task=impact"; what is no field of the form is kept beside it.
  function set(query) {
    for (const select of selects.values()) select.value = "";
    extra.clear();
    for (const [field, word] of new URLSearchParams(query)) {
      const select = selects.get(field);
      const at = rows.words[field] ? rows.words[field].indexOf(word) : -1;
      if (select) select.value = word === "any" ? "any" : String(at);
      if (select ? select.value === "" : field !== "run") extra.set(field, word);
    }
    sort.value = "";
    apply();
  }

  set("system=model");
  return { set, value };
}
