// The statements of the paper: a table that filters, sorts and opens to its evidence.
"use strict";

(() => {
  const { data, el, svg, byId, number } = Page;
  const RELATIONS = { "==": "=", "!=": "≠", "<=": "≤", ">=": "≥" };
  const PARTS = { correct: "Correct form", why: "Why", example: "Example", how: "How it is checked", refuted_by: "What would refute the verdict",
    where: "Where", sure: "How sure", note: "Note" };
  const verdicts = data.verdicts.filter((verdict) => data.statements.some((one) => one.verdict === verdict));
  const kinds = [...new Set(data.statements.map((one) => one.kind))].sort();
  const text = (one) => Object.values(one).filter((value) => typeof value === "string").join(" ").toLowerCase();
  const START = () => ({ words: "", kind: "", failed: false, verdicts: [...verdicts], open: [] });
  let state = START();

  const isShown = (one) => state.verdicts.includes(one.verdict) && (!state.kind || one.kind === state.kind)
    && (!state.failed || !one.as_recorded) && text(one).includes(state.words.toLowerCase());

  function evidence(one) {
    const columns = [
      { name: "compared", of: (fact) => fact.name }, { name: "measured", number: true, of: (fact) => fact.measured, show: (fact) => number(fact.measured, 6) },
      { name: "", of: (fact) => RELATIONS[fact.relation] }, { name: "predicted", number: true, of: (fact) => fact.predicted, show: (fact) => number(fact.predicted, 6) },
      { name: "tolerance", of: (fact) => (fact.reason ? `${number(fact.tolerance, 2)}: ${fact.reason}` : "") },
      { name: "if it holds", of: (fact) => fact.bears },
      { name: "holds", of: (fact) => (fact.holds ? "yes" : "no"), show: (fact) => el("span", { class: fact.holds ? null : "bad" }, fact.holds ? "yes" : "NO") }];
    const parts = Object.entries(PARTS).filter(([name]) => one[name]).map(([name, title]) => el("p", {}, el("strong", {}, `${title}. `), one[name]));
    return [...parts, one.facts.length ? Page.table(columns, one.facts, { caption: "Evidence" }).element : el("p", { class: "bad" }, "No evidence: the check broke down.")];
  }

  // Evidence is built when a statement is opened.
  function told(one) {
    const details = el("details", { "data-id": one.id, open: state.open.includes(one.id) }, el("summary", {}, one.says));
    const open = () => { if (details.open && details.childElementCount === 1) details.append(...evidence(one)); };
    details.addEventListener("toggle", () => {
      open();
      state.open = state.open.filter((id) => id !== one.id).concat(details.open ? [one.id] : []);
      remember();
    });
    open();
    return details;
  }

  const columns = [
    { name: "id", of: (one) => one.id }, { name: "place", of: (one) => one.place },
    { name: "statement", of: (one) => one.says, show: told },
    { name: "kind", of: (one) => one.kind },
    { name: "verdict", of: (one) => one.verdict, show: (one) => (one.as_recorded ? one.verdict : el("span", { class: "bad" }, `${one.verdict}: NOT as recorded (${one.objection})`)) },
    { name: "matters", number: true, of: (one) => one.matters },
    { name: "measured", number: true, of: (one) => one.measured }, { name: "relation", of: (one) => RELATIONS[one.relation] || "" },
    { name: "predicted", number: true, of: (one) => one.predicted }];
  const table = Page.table(columns, [], { sortable: true });
  const chosen = () => data.statements.filter(isShown);

  function drawVerdicts() {
    const counts = verdicts.map((verdict) => ({ verdict, count: data.statements.filter((one) => one.verdict === verdict).length }));
    const most = Math.max(...counts.map(({ count }) => count));
    const height = 40 + 26 * counts.length;
    const chart = svg("svg", { viewBox: `0 0 760 ${height}`, role: "img", "aria-label": `Statements by verdict: ${counts.map(({ verdict, count }) => `${count} ${verdict}`).join(", ")}` },
      svg("rect", { width: 760, height, fill: "white" }), Page.text(14, 22, "Statements by verdict", { "font-size": 14, "font-weight": 600 }),
      counts.flatMap(({ verdict, count }, k) => [
        Page.text(232, 50 + 26 * k, verdict, { "text-anchor": "end" }),
        svg("rect", { x: 240, y: 36 + 26 * k, width: (440 * count) / most, height: 19, fill: verdict === "holds" ? "#b9c0c7" : "#0b5394" }),
        Page.text(246 + (440 * count) / most, 50 + 26 * k, count)]));
    const lines = [{ name: "verdict", of: (line) => line.verdict }, { name: "statements", number: true, of: (line) => line.count }];
    Page.figure(byId("verdict-figure"), "verdicts", chart, lines, counts);
  }

  function remember() {
    const values = {};
    if (state.words) values.words = state.words;
    if (state.kind) values.kind = state.kind;
    if (state.failed) values.failed = "true";
    if (state.verdicts.length !== verdicts.length) values.verdicts = state.verdicts.join(",");
    if (state.open.length) values.open = state.open.join(",");
    Page.writeAddress(values);
  }

  function draw() {
    byId("words").value = state.words;
    byId("kind").value = state.kind;
    byId("failed").checked = state.failed;
    for (const box of byId("verdicts").querySelectorAll("input")) box.checked = state.verdicts.includes(box.value);
    const list = chosen();
    table.update(list);
    byId("shown").textContent = `${list.length} of ${data.statements.length} statements are shown.`;
    remember();
    document.documentElement.dataset.drawn = Number(document.documentElement.dataset.drawn || 0) + 1;
  }
  const change = (values) => { Object.assign(state, values); draw(); };

  function readState() {
    const address = Page.readAddress();
    const list = (key) => (address.get(key) ?? "").split(",");
    const ids = new Set(data.statements.map((one) => one.id));
    return { words: address.get("words") ?? "", kind: kinds.includes(address.get("kind")) ? address.get("kind") : "", failed: address.get("failed") === "true",
      verdicts: address.has("verdicts") ? verdicts.filter((verdict) => list("verdicts").includes(verdict)) : [...verdicts],
      open: list("open").filter((id) => ids.has(id)) };
  }

  const failed = data.statements.filter((one) => !one.as_recorded).map((one) => one.id);
  byId("outcome").textContent = `${data.statements.length} statements, ${data.how}. ${failed.length ? `NOT as recorded: ${failed.join(", ")}.` : "All come out as recorded."}`;
  byId("outcome").className = failed.length ? "bad" : "";
  byId("kind").append(el("option", { value: "" }, "all"), ...kinds.map((kind) => el("option", { value: kind }, kind)));
  byId("verdicts").append(...verdicts.map((verdict) => el("label", { class: "check" }, el("input", { type: "checkbox", value: verdict, change: () => change({
    verdicts: verdicts.filter((one) => [...byId("verdicts").querySelectorAll("input:checked")].some((box) => box.value === one)) }) }), verdict)));
  byId("words").addEventListener("input", () => change({ words: byId("words").value }));
  byId("kind").addEventListener("change", () => change({ kind: byId("kind").value }));
  byId("failed").addEventListener("change", () => change({ failed: byId("failed").checked }));
  byId("open-all").addEventListener("click", () => change({ open: chosen().map((one) => one.id) }));
  byId("close-all").addEventListener("click", () => change({ open: [] }));
  byId("reset").addEventListener("click", () => change(START()));
  byId("csv").addEventListener("click", () => Page.saveCsv("statements", columns, chosen()));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", () => change(readState()));
  byId("statement-table").append(table.element);
  state = readState();
  drawVerdicts();
  draw();
})();
