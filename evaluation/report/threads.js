// The threads: one at a time, real on the left and simulated beside it, every turn opening to how it came about.

const OPENINGS = { simulated: "Opening post, written by the model", inserted: "Opening post, as it was given" };

function threadsView(threads, rows) {
  const place = document.getElementById("threads-view");
  const choice = make("select", { onchange: () => show(Number(choice.value)) }, threads.map((thread, n) =>
    make("option", { value: n }, `${n + 1}. ${clipped(thread.title, 70)} (${count(turns(thread), "turn", "turns")})`)));
  const title = make("h3", { tabindex: -1 });
  const about = make("p", { class: "soft" });
  const changed = make("ul", { class: "soft" });
  const list = make("ol", { class: "tree" });
  let current = 0;
  const pages = pager("messages", (first, end) => list.replaceChildren(...threads[current].nodes.slice(first, end).map(node)), PAGE);
  const step = (label, by) => make("button", { type: "button", onclick: () => show(current + by) }, label);
  const before = step("Previous thread", -1);
  const after = step("Next thread", 1);
  if (!threads.length) return { open() {} };
  place.replaceChildren(
    make("div", { class: "controls", role: "group", "aria-label": "Which thread" }, make("label", null, "Thread", choice), before, after),
    title, about, changed, pages.status, list, pages.controls);

  function turns(thread) {
    return thread.nodes.reduce((sum, node) => sum + (node.turns ? node.turns.length : 0), 0);
  }

  function show(n, at = 0) {
    current = Math.min(Math.max(0, n), threads.length - 1);
    const thread = threads[current];
    choice.value = current;
    before.disabled = current === 0;
    after.disabled = current === threads.length - 1;
    title.replaceChildren(name(thread.title));
    const real = thread.nodes.filter((node) => node.real && !node.real.origin).length;
    about.replaceChildren(name(thread.place || "(no community)"), `: ${count(real, "real message", "real messages")}, ${count(turns(thread), "turn", "turns")}, `, name(thread.id));
    changed.replaceChildren(...(thread.changes || []).map((change) => make("li", null, change)));
    changed.hidden = !thread.changes;
    pages.start(thread.nodes.length, at);
  }

  function node(given) {
    const arms = threads[current].arms;
    const head = (label) => make("header", null, make("p", { class: "label" }, label),
      make("strong", null, name(given.author || "somebody")),
      given.answers !== undefined ? [" answers ", name(given.answers || "somebody")] : " opens the thread",
      make("span", { class: "soft" }, ` ${when(given.time)}`));
    const real = make("div", { class: "side" }, head(OPENINGS[(given.real || {}).origin] || "Real"), given.real
      ? [given.real.text === null ? make("p", { class: "soft" }, "(words are gone)") : told(words(given.real.text)),
        given.real.score === undefined ? null : make("p", { class: "soft" }, `score ${String(given.real.score).replace("-", "−")}`)]
      : make("p", { class: "soft" }, "(nobody really wrote here)"));
    const simulated = (given.turns || []).map((turn) => side(turn, arms, given, head));
    return make("li", { class: `node d${Math.min(given.depth, 8)}`, "data-id": given.id },
      make("span", { class: given.depth > 8 ? "soft" : "sr" }, `Level ${given.depth + 1}`),
      make("div", { class: "pair" }, real, simulated), (given.turns || []).map((turn) => opened(turn, arms, given)));
  }

  function opened(turn, arms, given) {
    const [run, mode, repeat] = arms[turn.arm];
    const more = make("details", { ontoggle: () => { if (more.open && more.childElementCount === 1) more.append(...inside(turn)); } },
      make("summary", null, `How ${mode}${repeat ? `, repeat ${repeat}` : ""} came about`, arms.length > 1 ? [" (", name(run), ")"] : "",
        make("span", { class: "sr" }, ` for ${given.author}`)));
    return more;
  }

  function side(turn, arms, given, head) {
    const [run, mode, repeat] = arms[turn.arm];
    const several = new Set(arms.map((arm) => arm[0])).size > 1;
    const label = ["Simulated, ", mode, several ? [", run ", name(run)] : "", repeat ? `, repeat ${repeat}` : "", turn.copied ? ", shared with the run that was branched" : ""];
    const failed = turn.calls.find((call) => call.ask === "reply" && call.failure);
    const text = turn.said !== null ? told(words(turn.said))
      : failed ? make("p", { class: "warn" }, `Failed: ${failed.failure}. `, words(failed.reason) || "")
      : make("p", { class: "soft" }, turn.asked ? "(nothing said)" : "(no reply was asked for)");
    return make("div", { class: `side ${failed ? "failed" : "simulated"}` }, head(label), text, facts(turn));
  }

  function facts(turn) {
    const found = [];
    for (const n of turn.rows) {
      const task = rows.value(n, "task");
      const all = data.rows;
      if (task === "generation") {
        for (const metric of FIRST.generation) if (all.metrics[metric]?.[n] != null) found.push([TITLES[metric], number(all.metrics[metric][n])]);
      } else {
        const say = (value) => (value === null ? "unknown" : String(value).replace("-", "−"));
        const answer = all.value[n] === null ? `failed (${rows.value(n, "failure")})` : say(all.value[n]);
        found.push([`${task[0].toUpperCase()}${task.slice(1)}`, answer, ` (truth ${say(all.truth[n])})`]);
      }
    }
    return make("ul", { class: "facts" }, found.map(([label, value, after]) => make("li", null, `${label} `, make("b", null, value), after || "")));
  }

  function inside(turn) {
    const parts = [
      make("h4", null, "Persona card"),
      turn.card === null ? make("p", { class: "soft" }, turn.persona === "hand" ? "Written by hand." : "None.") : make("pre", { dir: "auto" }, words(turn.card)),
      make("p", { class: "soft" }, `Made of: ${turn.persona || "nothing said"}. ${count(turn.history, "earlier message", "earlier messages")}; ${turn.distance} since the last real one, this included.`,
        turn.person ? [" Plays ", name(turn.person), "."] : ""),
      make("h4", null, `Recalled: ${turn.recalled.length}, best first, and why (`, name(turn.retriever), ")"),
      turn.recalled.length ? recalled(turn.recalled) : make("p", { class: "soft" }, "Nothing."),
      make("h4", null, "Prompts and answers")];
    for (const call of turn.calls) parts.push(asked(call, turn));
    return parts;
  }

  function recalled(items) {
    const terms = (of) => Object.entries(of).map(([term, value]) => `${term} ${number(value)}`).join(", ");
    return make("ol", { class: "recalled" }, items.map(([score, time, text, of]) => make("li", null,
      make("p", { class: "soft" }, `score ${number(score)}: ${terms(of)}; ${when(time)}`), told(words(text)))));
  }

  function asked(call, turn) {
    const usage = call.usage;
    const row = turn.rows.find((n) => rows.value(n, "task") === (call.ask === "reply" ? "generation" : call.ask));
    const p = row === undefined ? null : data.rows.p[row];
    const mass = row === undefined ? null : data.rows.mass[row];
    return make("details", null, make("summary", null, `${call.ask}: `, name(call.failure ? `failed, ${call.failure}` : clipped(words(call.answer) || "", 60))),
      make("p", { class: "soft" }, name(call.model), `, seed ${call.seed}, prompt `, make("code", null, call.hash || "none"),
        usage ? `; ${usage[0] ?? "?"} tokens in (${usage[2] ?? "?"} cached), ${usage[1] ?? "?"} out, ${usage[3]} s, ended by ${usage[4]}` : "",
        call.attempts > 1 ? `; ${call.attempts} attempts` : ""),
      p === null ? null : make("p", null, `P(first label) ${number(p)}`, mass === null ? "" : `, label mass ${number(mass)}`),
      call.reason === undefined ? null : make("p", { class: "warn" }, words(call.reason)),
      call.answer === undefined ? null : [make("h5", null, "Answer, word for word"), make("pre", { dir: "auto" }, words(call.answer))],
      (call.rejected || []).map(([kind, reason, text]) => [make("h5", null, `Answer that did not stand: ${kind}`), make("p", { class: "soft" }, words(reason)), make("pre", { dir: "auto" }, words(text))]),
      call.prompt === undefined ? make("p", { class: "soft" }, "The prompt was not kept; simulate --keep-prompts keeps it.")
        : [make("h5", null, "Prompt"), make("pre", { dir: "auto" }, words(call.prompt))]);
  }

  show(0);
  return {
    // Shows the turn that a row is about.
    open(n) {
      for (const [t, thread] of threads.entries()) {
        const at = thread.nodes.findIndex((given) => (given.turns || []).some((turn) => turn.rows.includes(n)) || (given.id === rows.value(n, "slot") && thread.id === rows.value(n, "thread")));
        if (at < 0) continue;
        show(t, at);
        const found = [...list.children].find((item) => item.dataset.id === thread.nodes[at].id);
        found.setAttribute("tabindex", "-1");
        found.scrollIntoView();
        found.focus();
        return;
      }
    },
  };
}

const data = {};

async function start() {
  const [known, rows, threads, sheets] = await Promise.all(["lines", "rows", "threads", "sheets"].map(unpack));
  lines = known;
  data.rows = rows;
  let shown = { open() {} };
  const table = rowsView(rows, (n) => shown.open(n));
  shown = threadsView(threads, table);
  longSheets(sheets);
  const follow = () => {
    const [id, query] = location.hash.slice(1).split("?");
    if (id === "rows" && query !== undefined) {
      table.set(query);
      document.getElementById("rows").scrollIntoView();
      document.getElementById("rows").focus({ preventScroll: true });
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest ? event.target.closest("a[data-where]") : null;
    if (!link) return;
    event.preventDefault();
    if (location.hash === `#rows?${link.dataset.where}`) follow();
    else location.hash = `#rows?${link.dataset.where}`;
  });
  window.addEventListener("hashchange", follow);
  follow();
  document.documentElement.dataset.ready = "yes";
}

start();
