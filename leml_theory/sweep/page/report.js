// The report of a sweep: sliders, the bounds they move, and the measured points of the run.
"use strict";

(() => {
  const { data, el, svg, byId, number } = Page;
  const QUANTITIES = {
    average: { name: "Rademacher average", measured: ["rademacher average"] },
    expected: { name: "expected excess risk", measured: ["excess risk", "supremum deviation"] },
    probable: { name: "excess risk, with probability 1 − δ", measured: ["excess risk"] },
    gap: { name: "supremum deviation, with probability 1 − δ", measured: ["supremum deviation", "generalisation gap"] },
  };
  const PATTERNS = {
    uniform: "exactly s labels, uniformly", heavy: "one heavy label", zipf: "Zipf's law",
    observed: "each label with a probability",
  };
  const NUMBERS = {
    n: { label: "points n", low: 1, high: 2 ** 40, whole: true, range: [16, 2 ** 24] },
    d: { label: "features d", low: 1, high: 65536, whole: true, range: [1, 4096] },
    L: { label: "labels L", low: 1, high: 65536, whole: true, range: [2, 4096] },
    s: { label: "labels seen per point s", low: 1, high: 4096, whole: true, range: [1, 64] },
    heavy: { label: "share of the heavy label", low: 1e-4, high: 0.9999, range: [0.01, 0.9999], of: "heavy" },
    zipf: { label: "exponent of Zipf's law", low: 0, high: 4, range: [0, 3], linear: true, of: "zipf" },
    observed: { label: "share observed", low: 1e-4, high: 1, range: [0.01, 1], of: "observed" },
    radius: { label: "radius of the ball", low: 1e-4, high: 1e4, range: [0.1, 100] },
    delta: { label: "δ, the chance that a bound fails", low: 1e-9, high: 0.5, of: "delta" },
  };
  const AXES = {
    n: "points n", L: "labels L", d: "features d", "L=d": "labels and features, L = d", s: "labels seen per point s",
    radius: "radius of the ball", heavy: "share of the heavy label", zipf: "exponent of Zipf's law", observed: "share observed",
  };
  const LOOKS = {
    theorem_3: ["#111111", ""], chevet: ["#0072b2", "10 3"], rademacher_chevet: ["#56a0d3", "10 3 2 3"],
    matrix_bernstein: ["#009e73", "6 3"], sub_gaussian_net: ["#b8860b", "2 3"], paper_route: ["#9c1c1c", "14 4"],
    theorem_3_as_printed: ["#666666", "4 4"], paper_route_as_printed: ["#cc79a7", "14 4 2 4"],
    mcdiarmid_excess: ["#0072b2", "10 3"], bousquet_excess: ["#009e73", "6 3"], gaussian_excess: ["#b8860b", "2 3"],
    paper_literal_excess: ["#9c1c1c", "14 4"], mcdiarmid_gap: ["#0072b2", "10 3"], bousquet_linear_gap: ["#009e73", "6 3"],
    gaussian_linear_gap: ["#b8860b", "2 3"], minimax: ["#6a3d9a", "1 4"],
  };
  // Shades of the map: light to dark, each with its number written on it.
  const SHADES = ["#dce9f5", "#fbe3b5", "#bfe3d3", "#f3c6c0", "#c9c3e6", "#d9d9d9", "#9fc3e0", "#e7a78f"];
  const BALLS = {
    trace: ["#0072b2", "circle", false], frobenius: ["#c65102", "square", true], leml: ["#222222", "cross", false],
    pooled: ["#00795a", "triangle", false],
  };
  const MODELS = ["circle", "square", "triangle", "diamond", "cross"];
  const label = Object.fromEntries(data.bounds.map((bound) => [bound.name, bound.label]));
  const look = (name) => LOOKS[name] || ["#3c5f8f", "7 2 1.5 2"];
  const rows = unpack(data.rows);
  const unique = (values) => [...new Set(values)];
  const laws = unique([...data.laws, ...rows.map((row) => row.law)]);
  const losses = unique([...Object.keys(data.losses), ...rows.map((row) => row.loss)]).filter(Boolean);
  const close = (a, b) => Math.abs(a - b) <= 2e-6 * Math.max(Math.abs(a), Math.abs(b));

  function unpack({ size, words, numbers, bounds }) {
    const column = ([name, { names, codes }]) => [name, codes.map((code) => names[code])];
    const columns = [...Object.entries(words).map(column), ...Object.entries(numbers)];
    return Array.from({ length: size }, (_, at) => ({
      ...Object.fromEntries(columns.map(([name, values]) => [name, values[at]])),
      bounds: Object.fromEntries(Object.entries(bounds).map(([name, values]) => [name, values[at]])),
    }));
  }

  // ---------------------------------------------------------------- the state and its controls

  const START = {
    quantity: "average", axis: "n", n: 4096, d: 64, L: 64, s: 1, pattern: "uniform", heavy: 0.3, zipf: 1, observed: 0.1,
    radius: 1, delta: 0.05, law: "gaussian", loss: "linear", ball: "trace", symmetric: false, series: "", phase: 0,
    probe_n: 4096, probe_L: 64,
  };
  let state = { ...START };
  const inputs = {};

  const patternText = (at) => (at.pattern === "uniform" ? "uniform" : `${at.pattern}:${at[at.pattern]}`);
  const world = (at) => ({ ...at, skew: patternText(at) });
  const evaluate = (at) => Bounds.evaluate(at.quantity, world(at), data.tables, data.losses);
  const probable = () => state.quantity === "probable" || state.quantity === "gap";

  function shown(key) {
    const needs = NUMBERS[key].of;
    if (needs === "delta") return probable();
    if (key === "s") return state.pattern !== "observed";
    return !needs || needs === state.pattern;
  }

  function clamp(key, value) {
    const { low, high, whole } = NUMBERS[key];
    if (!Number.isFinite(value)) return null;
    const inside = Math.min(high, Math.max(low, value));
    return whole ? Math.round(inside) : inside;
  }

  // A slider moves in steps of a logarithm; its value is kept to three digits.
  function numberControl(key) {
    const { label: words, low, high, whole, linear } = NUMBERS[key];
    const steps = 400;
    const place = (value) => (linear ? (value - low) / (high - low) : Math.log(value / low) / Math.log(high / low));
    const value = (share) => {
      const raw = linear ? low + share * (high - low) : low * (high / low) ** share;
      const power = Math.round(Math.log2(raw));
      if (whole && Math.abs(Math.log2(raw) - power) < 0.06) return 2 ** power;
      return whole ? Math.round(raw) : Number(raw.toPrecision(3));
    };
    const slider = el("input", { type: "range", min: 0, max: steps, step: 1, id: `slide-${key}`, "aria-label": `${words}, slider`,
      input: () => change({ [key]: clamp(key, value(slider.valueAsNumber / steps)) }) });
    const box = el("input", { type: "number", id: `set-${key}`, min: low, max: high, step: whole ? 1 : "any",
      change: () => change({ [key]: clamp(key, box.valueAsNumber) ?? state[key] }) });
    inputs[key] = () => {
      if (Math.abs(place(state[key]) - slider.valueAsNumber / steps) > 1 / steps) slider.value = steps * place(state[key]);
      slider.setAttribute("aria-valuetext", number(state[key]));
      if (box !== document.activeElement || box.valueAsNumber !== state[key]) box.value = state[key];
      line.hidden = !shown(key);
    };
    const line = el("div", { class: "control" }, el("label", { for: `set-${key}` }, words), slider, box);
    return line;
  }

  function choice(key, words, options) {
    const select = el("select", { id: `set-${key}`, change: () => change({ [key]: select.value }) },
      Object.entries(options).map(([value, name]) => el("option", { value }, name)));
    inputs[key] = () => { select.value = state[key]; };
    return el("div", { class: "control" }, el("label", { for: `set-${key}` }, words), select);
  }

  function buildControls() {
    const same = (names) => Object.fromEntries(names.map((name) => [name, name]));
    const check = el("input", { type: "checkbox", id: "set-symmetric", change: () => change({ symmetric: check.checked }) });
    const symmetric = el("div", { class: "check" }, check,
      el("label", { for: "set-symmetric" }, "labels are drawn without looking at x (Appendix C)"));
    inputs.symmetric = () => { check.checked = state.symmetric; symmetric.hidden = state.quantity !== "gap"; };
    byId("controls").append(
      el("fieldset", {}, el("legend", {}, "Show"),
        choice("quantity", "bounds on the", Object.fromEntries(Object.entries(QUANTITIES).map(([key, { name }]) => [key, name]))),
        choice("axis", "against", AXES), choice("ball", "of the", { trace: "trace ball", frobenius: "Frobenius ball" }),
        numberControl("delta"), symmetric),
      el("fieldset", {}, el("legend", {}, "Sizes"), ["n", "d", "L", "radius"].map(numberControl)),
      el("fieldset", {}, el("legend", {}, "Labels seen"), choice("pattern", "which labels", PATTERNS),
        ["s", "heavy", "zipf", "observed"].map(numberControl)),
      el("fieldset", {}, el("legend", {}, "World"), choice("law", "features", same(laws)), choice("loss", "loss", same(losses))));
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
  }

  // Sets what was changed and draws once per frame.
  let pending = 0;
  function change(values) {
    Object.assign(state, values);
    if (AXES[state.axis] && NUMBERS[state.axis]?.of && NUMBERS[state.axis].of !== state.pattern) {
      if ("axis" in values) state.pattern = NUMBERS[state.axis].of;
      else state.axis = "n";
    }
    if (state.axis === "s" && state.pattern === "observed") {
      if ("axis" in values) state.pattern = "uniform";
      else state.axis = "observed";
    }
    if (state.axis === "L=d") state.d = "d" in values ? state.d : state.L;
    if (state.axis === "L=d") state.L = state.d;
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(draw);
  }

  function readState() {
    const known = { quantity: QUANTITIES, axis: AXES, pattern: PATTERNS, ball: { trace: 1, frobenius: 1 },
      law: Object.fromEntries(laws.map((name) => [name, 1])), loss: Object.fromEntries(losses.map((name) => [name, 1])) };
    const found = {};
    for (const [key, text] of Page.readAddress()) {
      if (key in NUMBERS && text !== "") { const value = clamp(key, Number(text)); if (value !== null) found[key] = value; }
      if (Object.hasOwn(known, key) && Object.hasOwn(known[key], text)) found[key] = text;
      if (key === "symmetric") found.symmetric = text === "true";
      if (key === "series" && series.some((one) => one.key === text)) found.series = text;
      if (key === "phase" && data.maps[Number(text)]) found.phase = Number(text);
      if (key === "probe_n" && MAP_N.includes(Number(text))) found.probe_n = Number(text);
      if (key === "probe_L" && MAP_L.includes(Number(text))) found.probe_L = Number(text);
    }
    return found;
  }

  // ---------------------------------------------------------------- measured points

  // What the run's rows are at; the average does not depend on s, and the linear loss scales with the radius.
  function matches(row, at, axis) {
    const average = at.quantity === "average";
    const scales = average || at.loss === "linear";
    const [kind, parameter] = row.skew.split(":");
    const same = {
      n: row.n === at.n, d: row.d === at.d, L: row.L === at.L,
      s: average || at.pattern === "observed" || row.s === at.s, radius: scales || close(row.radius, at.radius),
    };
    const pattern = kind === "replaced" ? "uniform" : kind;
    same[at.pattern] = pattern === "uniform" || close(Number(parameter), at[at.pattern]);
    if (axis === "L=d") Object.assign(same, { L: row.L === row.d, d: true });
    else same[axis] = true;
    return QUANTITIES[at.quantity].measured.includes(row.quantity) && (row.ball === at.ball || (row.ball === "leml" && at.ball === "trace"))
      && row.law === at.law && (average || row.loss === at.loss) && pattern === at.pattern && Object.values(same).every(Boolean);
  }

  function place(row, axis) {
    if (axis === "L=d") return row.L;
    if (axis === "heavy" || axis === "zipf" || axis === "observed") return Number(row.skew.split(":")[1]);
    return row[axis];
  }

  function matched(at, axis) {
    const found = rows.filter((row) => row.value !== null && matches(row, at, axis));
    const scales = (row) => ((at.quantity === "average" || at.loss === "linear") && axis !== "radius" && row.radius ? at.radius / row.radius : 1);
    return found.map((row) => ({ row, x: place(row, axis), scale: scales(row) })).sort((a, b) => a.x - b.x);
  }

  function stateOf(row) {
    const quantity = Object.keys(QUANTITIES).find((key) => QUANTITIES[key].measured.includes(row.quantity));
    const [kind, parameter] = row.skew.split(":");
    const pattern = kind === "replaced" ? "uniform" : kind;
    const found = { quantity, law: row.law, n: row.n, d: row.d, L: row.L, radius: row.radius, pattern };
    if (row.loss) found.loss = row.loss;
    if (row.ball === "trace" || row.ball === "frobenius") found.ball = row.ball;
    if (pattern !== "uniform") found[pattern] = Number(parameter);
    if (pattern !== "observed") found.s = Math.round(row.s);
    return found;
  }

  function bestAxis(at, preferred) {
    const count = (axis) => unique(matched(at, axis).map(({ x }) => x)).length;
    const axes = Object.keys(AXES).filter((axis) => !NUMBERS[axis]?.of || NUMBERS[axis].of === at.pattern);
    return axes.reduce((best, axis) => (count(axis) > count(best) ? axis : best), axes.includes(preferred) ? preferred : "n");
  }

  function nearest() {
    const far = (a, b) => Math.abs(Math.log(a / b));
    const distance = (row) => {
      const at = stateOf(row);
      const sizes = far(at.n, state.n) + far(at.d, state.d) + far(at.L, state.L) + far(at.s ?? 1, state.s);
      return sizes + 3 * (at.law !== state.law) + 3 * (at.pattern !== state.pattern)
        + 3 * (state.quantity !== "average" && at.loss !== state.loss) + 2 * (row.ball !== state.ball);
    };
    const usable = rows.filter((row) => QUANTITIES[state.quantity].measured.includes(row.quantity) && BALLS[row.ball] && row.n && row.d && row.L);
    return usable.length ? usable.reduce((a, b) => (distance(b) < distance(a) ? b : a)) : null;
  }

  // ---------------------------------------------------------------- chart 1: bounds along an axis

  const at = (axis, x) => (axis === "L=d" ? { ...state, L: x, d: x } : { ...state, [axis]: x });
  const here = () => (state.axis === "L=d" ? state.L : state[state.axis]);

  function places(points) {
    const spec = NUMBERS[state.axis === "L=d" ? "L" : state.axis];
    const all = [...spec.range, here(), ...points.map(({ x }) => x)];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const steps = 60;
    const grid = Array.from({ length: steps + 1 }, (_, k) =>
      spec.linear ? low + ((high - low) * k) / steps : low * (high / low) ** (k / steps));
    const values = [...(spec.whole ? grid.map(Math.round) : grid), ...all].map((x) => clamp(state.axis === "L=d" ? "L" : state.axis, x));
    return unique(values).sort((a, b) => a - b);
  }

  function settingText(...without) {
    const parts = { law: `${state.law} features`, d: `d = ${number(state.d)}`, L: `L = ${number(state.L)}`, n: `n = ${number(state.n)}` };
    if (without.includes("L=d")) without.push("L", "d");
    if (state.pattern !== "observed" && state.quantity !== "average") parts.s = `s = ${number(state.s)}`;
    parts[state.pattern] = { uniform: "uniform labels", heavy: `heavy label ${number(state.heavy)}`, zipf: `Zipf exponent ${number(state.zipf)}`,
      observed: `share observed ${number(state.observed)}` }[state.pattern];
    parts.radius = `radius ${number(state.radius)}`;
    if (state.quantity !== "average") parts.loss = `${state.loss} loss`;
    if (probable()) parts.delta = `δ = ${number(state.delta)}`;
    for (const name of without) delete parts[name];
    return Object.values(parts).join(", ");
  }

  const BOX = { left: 72, right: 640, top: 84, bottom: 420 };

  function drawBounds() {
    const points = matched(state, state.axis);
    const xs = places(points);
    const curves = {};
    for (const x of xs) {
      for (const bound of evaluate(at(state.axis, x))) {
        (curves[bound.name] ??= []).push({ x, value: bound.value, valid: !bound.failures.length });
      }
    }
    const drawn = (value) => Number.isFinite(value) && value > 0;
    const cells = points.flatMap(({ row, x, scale }) => cellBounds(row).map(([name, value]) => ({ name, x, value: value * scale })));
    const heights = [...Object.values(curves).flat().map(({ value }) => value), ...points.map(({ row, scale }) => row.value * scale),
      ...cells.map(({ value }) => value)].filter(drawn);
    const [low, high] = heights.length ? [Math.min(...heights), Math.max(...heights)] : [0.1, 1];
    const spec = NUMBERS[state.axis === "L=d" ? "L" : state.axis];
    const x = Page.scale(xs[0], xs[xs.length - 1], BOX.left, BOX.right, !spec.linear);
    const y = Page.scale(low / 1.15, high * 1.15, BOX.bottom, BOX.top, true);
    const ballName = state.ball === "trace" ? "trace ball" : "Frobenius ball";
    const { chart, marks } = Page.frame({ width: 900, box: BOX, x, y,
      title: `Bounds on the ${QUANTITIES[state.quantity].name} of the ${ballName}`, subtitle: settingText(state.axis),
      xLabel: AXES[state.axis], yLabel: QUANTITIES[state.quantity].name });
    marks.append(svg("line", { x1: x(here()), x2: x(here()), y1: BOX.top, y2: BOX.bottom, stroke: "#16202b", "stroke-width": 1, "stroke-dasharray": "1 2" }));
    const ends = [];
    for (const [name, curve] of Object.entries(curves)) {
      for (const valid of [false, true]) marks.append(...segments(curve, valid, x, y, name));
      const end = curve.filter(({ value }) => drawn(value)).pop();
      if (end) ends.push({ name, valid: end.valid, y: y(end.value), x: x(end.x) });
    }
    drawEnds(marks, ends);
    drawPoints(marks, points, cells, x, y);
    const upper = evaluate(state).filter((bound) => !bound.lower);
    if (upper.every((bound) => bound.failures.length)) {
      const [first] = upper[0].failures;
      const each = upper.every((bound) => bound.failures.includes(first)) ? "each" : label[upper[0].name] || upper[0].name;
      marks.append(Page.text(BOX.left + 12, BOX.bottom - 36, "No upper bound is valid here:", { "font-size": 11.5, "font-weight": 600 }),
        Page.text(BOX.left + 12, BOX.bottom - 20, `${each} ${first}`, { "font-size": 11 }));
    }
    const columns = [{ name: AXES[state.axis], number: true, of: (line) => line.x },
      ...Object.keys(curves).map((name) => ({ name: label[name] || name, number: true,
        of: (line) => line[name].value, show: (line) => (line[name].valid ? number(line[name].value) : "not valid") })),
      { name: "measured", number: true, of: (line) => line.measured?.row.value * line.measured?.scale },
      { name: "standard error", number: true, of: (line) => line.measured?.row.stderr * line.measured?.scale },
      { name: "predicted", number: true, of: (line) => (line.measured?.row.predicted ?? NaN) * line.measured?.scale }];
    const lines = xs.map((value, k) => ({ x: value, measured: points.find((point) => point.x === value),
      ...Object.fromEntries(Object.entries(curves).map(([name, curve]) => [name, { ...curve[k], value: curve[k].valid ? curve[k].value : NaN }])) }));
    Page.figure(byId("bounds-figure"), "bounds", chart, columns, lines);
    sayMatched(points);
  }

  // Bounds of a cell that the page has no formula for: they need samples, or come from a plugin.
  function cellBounds(row) {
    const closed = new Set(Object.keys(LOOKS));
    const found = Object.entries(row.bounds).filter(([name, value]) => value !== null && !closed.has(name));
    return found.filter(([name]) => (name === "offset_excess" ? state.quantity === "expected" : state.quantity !== "probable"));
  }

  // The parts of a curve where the bound is valid, or where it is not; neighbours share the border.
  function segments(curve, valid, x, y, name) {
    const [colour, dash] = look(name);
    const parts = [];
    let part = [];
    for (const point of curve) {
      const inside = point.valid === valid && Number.isFinite(point.value) && point.value > 0;
      if (inside) part.push(`${x(point.x).toFixed(1)} ${y(point.value).toFixed(1)}`);
      else { if (part.length) parts.push(part); part = []; }
    }
    if (part.length) parts.push(part);
    return parts.map((points) => svg("path", { d: `M${points.join("L")}${points.length === 1 ? "h0.1" : ""}`, fill: "none",
      stroke: valid ? colour : "#b9c0c7", "stroke-width": valid ? 2.2 : 1, "stroke-dasharray": valid ? dash : "2 3",
      "stroke-linecap": points.length === 1 || dash === "1 4" ? "round" : "butt", "data-bound": name, "data-valid": String(valid) }));
  }

  function drawEnds(marks, ends) {
    const heights = Page.spread(ends.map((end) => end.y), 15, BOX.top, BOX.bottom);
    ends.forEach((end, k) => {
      const [colour, dash] = look(end.name);
      marks.append(
        svg("path", { d: `M${end.x + 3} ${end.y}L${BOX.right + 16} ${heights[k]}`, stroke: "#c9d0d8", fill: "none" }),
        svg("path", { d: `M${BOX.right + 16} ${heights[k]}h26`, stroke: end.valid ? colour : "#b9c0c7", fill: "none",
          "stroke-width": end.valid ? 2.2 : 1, "stroke-dasharray": end.valid ? dash : "2 3" }),
        Page.text(BOX.right + 47, heights[k] + 4, label[end.name] || end.name, { fill: end.valid ? "#16202b" : "#7b858f", "font-size": 11.5 }));
    });
  }

  function bars(x, low, high, colour) {
    return svg("path", { d: `M${x} ${low}V${high}M${x - 3} ${low}h6M${x - 3} ${high}h6`, stroke: colour, fill: "none", "stroke-width": 1.2 });
  }

  // Means with bars of two standard errors; a bar that reaches zero ends at the frame.
  function measuredMark(x, y, value, stderr, shape, colour, open, title, box = BOX) {
    const low = value - 2 * stderr;
    const floor = low > 0 ? Math.min(y(low), box.bottom) : box.bottom;
    return [stderr ? bars(x, floor, y(value + 2 * stderr), colour) : null, Page.marker(shape, x, y(value), { colour, open, title })];
  }

  function rowTitle(row) {
    const size = `n = ${number(row.n)}, d = ${number(row.d)}, L = ${number(row.L)}, s = ${number(row.s)}, radius ${number(row.radius)}`;
    return `${row.experiment}, ${row.series}: ${row.quantity} of ${row.ball}, ${row.labels}: ${number(row.value)} ± ${number(row.stderr, 2)} (${size}, ${row.skew})`;
  }

  function drawPoints(marks, points, cells, x, y) {
    const models = unique(points.map(({ row }) => `${row.quantity}, ${row.labels}${row.ball === "leml" ? ", LEML" : ""}`));
    const model = ({ row }) => models.indexOf(`${row.quantity}, ${row.labels}${row.ball === "leml" ? ", LEML" : ""}`);
    for (const point of points) {
      const { row, scale } = point;
      const shape = MODELS[model(point) % MODELS.length];
      if (row.predicted > 0) marks.append(Page.marker("diamond", x(point.x), y(row.predicted * scale), { open: true, size: 5.4, colour: "#9c1c1c", title: `predicted: ${number(row.predicted * scale)}` }));
      if (row.value > 0) marks.append(...measuredMark(x(point.x), y, row.value * scale, row.stderr * scale, shape, "#16202b", false, rowTitle(row)).filter(Boolean));
    }
    for (const cell of cells) marks.append(Page.marker("tick", x(cell.x), y(cell.value), { colour: look(cell.name)[0], title: `${label[cell.name] || cell.name}: ${number(cell.value)}` }));
    const keys = models.map((name, k) => [MODELS[k % MODELS.length], false, "#16202b", `measured, ± 2 s.e.: ${name}`]);
    if (points.some(({ row }) => row.predicted > 0)) keys.push(["diamond", true, "#9c1c1c", "predicted"]);
    for (const name of unique(cells.map((cell) => cell.name))) keys.push(["tick", false, look(name)[0], label[name] || name]);
    legend(marks, keys, 62);
  }

  function legend(marks, keys, top) {
    let left = 22;
    for (const [shape, open, colour, words] of keys) {
      marks.append(Page.marker(shape, left, top - 4, { colour, open, size: shape === "tick" ? 3 : 4.2 }), Page.text(left + 11, top, words, { "font-size": 11.5 }));
      left += 34 + 6.3 * words.length;
    }
  }

  function sayMatched(points) {
    const near = points.length ? null : nearest();
    const words = points.length
      ? `${points.length} measured ${points.length === 1 ? "mean" : "means"} of the run lie on this chart.`
      : "The run has no cell of this setting, so no point is drawn. ";
    const button = near && el("button", { type: "button", id: "nearest", click: () => {
      const target = { ...state, ...stateOf(near) };
      change({ ...target, axis: bestAxis(target, state.axis) });
    } }, `Go to the nearest: ${near.experiment}, ${near.series}`);
    byId("matched").replaceChildren(words, button || "");
  }

  function drawValues() {
    const found = evaluate(state);
    const upper = found.filter((bound) => !bound.lower && !bound.failures.length && !Bounds.PRINTED.has(bound.name));
    const least = upper.length ? Math.min(...upper.map((bound) => bound.value)) : NaN;
    const note = (bound) => {
      if (bound.failures.length) return `not valid: ${bound.failures.join("; ")}`;
      if (bound.lower) return "a lower bound, for noise of variance one";
      return bound.value === least && !Bounds.PRINTED.has(bound.name) ? "valid, the smallest" : "valid";
    };
    const swatch = (name, valid) => svg("svg", { width: 34, height: 8, class: "swatch", "aria-hidden": "true" },
      svg("path", { d: "M0 4h34", stroke: valid ? look(name)[0] : "#b9c0c7", "stroke-width": valid ? 2.4 : 1, "stroke-dasharray": valid ? look(name)[1] : "2 3" }));
    const columns = [
      { name: "bound", of: (bound) => label[bound.name] || bound.name, show: (bound) => [swatch(bound.name, !bound.failures.length), label[bound.name] || bound.name] },
      { name: "value here", number: true, of: (bound) => bound.value },
      { name: "times the smallest", number: true, of: (bound) => (bound.failures.length || bound.lower ? NaN : bound.value / least), show: (bound) => (bound.failures.length || bound.lower ? "" : number(bound.value / least, 3)) },
      { name: "valid?", of: note }];
    byId("values-head").textContent = `At ${{ "L=d": "L = d" }[state.axis] || AXES[state.axis]} = ${number(here())}`;
    byId("values").replaceChildren(Page.table(columns, found, { rowClass: (bound) => (bound.failures.length ? "refused" : null) }).element);
  }

  // ---------------------------------------------------------------- the command

  function command() {
    const wrong = evaluate(state)[0].failures.find((text) => text.startsWith("needs s <=") || text.startsWith("needs two labels"));
    if (wrong) return { note: `There is no such world: it ${wrong}.` };
    if (!data.laws.includes(state.law)) return { note: `--law has no name for '${state.law}'.` };
    if (Object.hasOwn(data.tables, state.law) && !Object.hasOwn(data.tables[state.law].at, state.d)) {
      return { note: `This page knows '${state.law}' at d = ${Object.keys(data.tables[state.law].at).join(", ")} only.` };
    }
    const random = state.pattern === "observed";
    const parts = { n: state.n, d: state.d, L: state.L };
    let note = "";
    let world = "averages";
    let radius = state.radius;
    const several = !random && state.s > 1;
    if (state.quantity !== "average" && state.loss === "linear") {
      if (!several && !random && state.law === "rademacher") world = "planted";
      else if (several && state.pattern !== "uniform") return { note: "Several labels per point are averaged only with uniform labels." };
      else if (several) parts.s = state.s;
      else note = "It measures the Rademacher average; twice that bounds the supremum deviation.";
    } else if (state.quantity !== "average") {
      world = Object.keys(data.worlds).find((name) => data.worlds[name][1] === state.loss);
      if (!world) {
        if (!Object.hasOwn(data.losses, state.loss)) return { note: `--loss has no name for '${state.loss}'.` };
        if (state.n > 10000) return { note: `The least ${state.loss} risk is estimated by sampling; choose n of at most 10,000.` };
        world = data.losses[state.loss] === null ? "rank-1" : "logistic";
        parts.loss = quoted(state.loss);
      }
      if (world === "logistic" && !/gaussian$/.test(state.law)) return { note: "The logistic world needs Gaussian features." };
      if (several) parts.s = state.s;
      radius = 1;
      note = "In this world --radius counts in norms of the true Z; the radius of the cell is that multiple of it.";
    }
    const options = Object.entries(parts).map(([name, value]) => `--${name} ${value}`);
    if (random) options.push(`--observed ${state.observed}`);
    else if (state.pattern !== "uniform") options.push(`--skew ${patternText(state)}`);
    const text = `python -m leml_theory.sweep ${options.join(" ")} --radius ${radius} --law ${quoted(state.law)} --world ${quoted(world)} --out mine`;
    return { text, note };
  }
  const quoted = (word) => (/^[\w.:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

  function drawCommand() {
    const { text, note } = command();
    byId("command").textContent = text || "(none)";
    byId("command-note").textContent = note;
    byId("copy-command").disabled = !text;
  }

  // ---------------------------------------------------------------- chart 2: which bound is smallest

  const MAP_N = Array.from({ length: 27 }, (_, k) => 2 ** (k + 4));
  const MAP_L = Array.from({ length: 13 }, (_, k) => 2 ** k);
  let mapped = { key: "", cells: [] };

  function smallest(n, L) {
    const found = evaluate({ ...state, n, L });
    const valid = found.filter((bound) => !bound.failures.length && !bound.lower && !Bounds.PRINTED.has(bound.name)).sort((a, b) => a.value - b.value);
    return { n, L, first: valid[0], second: valid[1], reasons: found[0].failures };
  }

  function mapCells() {
    const key = JSON.stringify({ ...state, n: 0, L: 0, axis: 0, series: 0, phase: 0, probe_n: 0, probe_L: 0 });
    if (mapped.key !== key) mapped = { key, cells: MAP_L.flatMap((L) => MAP_N.map((n) => smallest(n, L))) };
    return mapped.cells;
  }

  function drawMap() {
    const cells = mapCells();
    const names = unique(cells.map((cell) => cell.first?.name)).filter(Boolean).sort();
    const [left, top, width, height] = [64, 72, 23, 25];
    const bottom = top + height * MAP_L.length;
    const total = { width: 900, height: bottom + 56 };
    const chart = svg("svg", { viewBox: `0 0 ${total.width} ${total.height}`, role: "img", tabindex: 0, id: "map",
      "aria-label": "Map of the smallest valid bound in n and L. Arrow keys move the probe, Enter takes it to the sliders; the line above tells what it finds." },
      svg("rect", { ...total, fill: "white" }),
      Page.text(14, 22, `The smallest valid bound on the ${QUANTITIES[state.quantity].name} of the ${state.ball === "trace" ? "trace" : "Frobenius"} ball`, { "font-size": 15, "font-weight": 600 }),
      Page.text(14, 40, settingText("n", "L"), { fill: "#55606c" }),
      Page.text(left + (width * MAP_N.length) / 2, bottom + 42, "points n", { "text-anchor": "middle" }),
      Page.text(0, 0, "labels L", { "text-anchor": "middle", transform: `translate(16 ${(top + bottom) / 2}) rotate(-90)` }));
    MAP_N.forEach((n, k) => { if (k % 4 === 0) chart.append(Page.text(left + width * (k + 0.5), bottom + 17, `2${[...String(k + 4)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`, { "text-anchor": "middle" })); });
    MAP_L.forEach((L, k) => { if (k % 2 === 0) chart.append(Page.text(left - 6, bottom - height * (k + 0.5) + 4, Page.tick(L), { "text-anchor": "end" })); });
    for (const cell of cells) {
      const [x, y] = [left + width * MAP_N.indexOf(cell.n), bottom - height * (MAP_L.indexOf(cell.L) + 1)];
      const which = names.indexOf(cell.first?.name);
      chart.append(svg("rect", { x, y, width, height, fill: which < 0 ? "white" : SHADES[which % SHADES.length], stroke: "white", "stroke-width": 1,
        click: () => moveProbe(cell.n, cell.L), "data-n": cell.n, "data-l": cell.L },
        svg("title", {}, probeText(cell))),
        Page.text(x + width / 2, y + height / 2 + 4, which < 0 ? "–" : which + 1, { "text-anchor": "middle", "font-size": 11, "pointer-events": "none" }));
    }
    names.forEach((name, k) => chart.append(
      svg("rect", { x: 706, y: top + 24 * k, width: 20, height: 18, fill: SHADES[k % SHADES.length] }),
      Page.text(716, top + 24 * k + 13, k + 1, { "text-anchor": "middle", "font-size": 11 }),
      Page.text(733, top + 24 * k + 13, short(label[name] || name), { "font-size": 11.5 })));
    if (cells.some((cell) => !cell.first)) chart.append(Page.text(710, top + 24 * names.length + 13, "–   no bound is valid", { "font-size": 11.5 }));
    const [px, py] = [left + width * MAP_N.indexOf(state.probe_n), bottom - height * (MAP_L.indexOf(state.probe_L) + 1)];
    chart.append(svg("rect", { x: px, y: py, width, height, fill: "none", stroke: "#16202b", "stroke-width": 2.5, "pointer-events": "none" }));
    chart.addEventListener("keydown", mapKey);
    const focused = document.activeElement?.id === "map";
    const columns = [{ name: "n", number: true, of: (cell) => cell.n }, { name: "L", number: true, of: (cell) => cell.L },
      { name: "smallest valid bound", of: (cell) => (cell.first ? label[cell.first.name] || cell.first.name : "none") },
      { name: "value", number: true, of: (cell) => cell.first?.value ?? NaN }, { name: "next", of: (cell) => (cell.second ? label[cell.second.name] || cell.second.name : "") },
      { name: "next value", number: true, of: (cell) => cell.second?.value ?? NaN }];
    Page.figure(byId("map-figure"), "smallest_bound", chart, columns, cells);
    if (focused) chart.focus({ preventScroll: true });
    byId("probe").textContent = probeText(cells.find((cell) => cell.n === state.probe_n && cell.L === state.probe_L));
  }

  const short = (text) => (text.length > 27 ? `${text.slice(0, 26)}…` : text);

  function probeText({ n, L, first, second, reasons }) {
    const start = `n = ${number(n)}, L = ${number(L)}: `;
    if (!first) return `${start}no bound is valid; the first ${reasons[0] || "fails"}.`;
    const next = second ? `; next is ${label[second.name] || second.name}, ${number(second.value / first.value, 3)} times as large` : "; no other is valid";
    return `${start}${label[first.name] || first.name}, ${number(first.value)}${next}.`;
  }

  const moveProbe = (n, L) => change({ probe_n: n, probe_L: L });
  function mapKey(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (event.key === "Enter") change({ n: state.probe_n, L: state.probe_L });
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const n = MAP_N[MAP_N.indexOf(state.probe_n) + step[0]];
    const L = MAP_L[MAP_L.indexOf(state.probe_L) + step[1]];
    if (n && L) moveProbe(n, L);
  }

  // ---------------------------------------------------------------- chart 3: series of the run

  const series = [...Map.groupBy(rows.filter((row) => row.value !== null && row.quantity !== "predicted excess"),
    (row) => `${row.experiment}|${row.series}|${row.quantity}`)].map(([key, list]) => ({ key, rows: list, axis: seriesAxis(list) }));

  function seriesAxis(list) {
    const count = (axis) => unique(list.map((row) => row[axis]).filter((value) => value !== null)).length;
    return ["n", "L", "s", "observed", "P", "d", "delta", "radius"].reduce((best, axis) => (count(axis) > count(best) ? axis : best), "n");
  }

  const SERIES_AXES = { ...AXES, P: "largest label probability P", delta: "δ" };

  function drawSeries() {
    const chosen = series.find(({ key }) => key === state.series) || series[0];
    byId("measured").hidden = !chosen;
    if (!chosen) return;
    byId("series").value = chosen.key;
    const { rows: list, axis } = chosen;
    const known = list.filter((row) => row[axis] > 0 && row.value > 0);
    const valid = known.flatMap((row) => Object.entries(row.bounds).filter(([, value]) => value > 0).map(([name, value]) => ({ name, row, value })));
    const heights = [...known.flatMap((row) => [row.value, row.value + 2 * (row.stderr || 0), row.predicted || row.value]), ...valid.map(({ value }) => value)];
    const xs = known.map((row) => row[axis]);
    const pad = Math.max(...xs) === Math.min(...xs) ? 2 : 1.25;
    const x = Page.scale(Math.min(...xs) / pad, Math.max(...xs) * pad, BOX.left, BOX.right, true);
    const y = Page.scale(Math.min(...heights) / 1.2, Math.max(...heights) * 1.2, BOX.bottom, BOX.top, true);
    const [first] = list;
    const places = unique(xs);
    const { chart, marks } = Page.frame({ width: 900, box: BOX, x, y, xTicks: places.length <= 8 ? places : undefined,
      title: `${first.experiment}, ${first.series}: ${first.quantity}`, subtitle: seriesText(list, axis),
      xLabel: SERIES_AXES[axis] || axis, yLabel: first.quantity });
    const ends = new Map();
    for (const { name, row, value } of valid) {
      marks.append(Page.marker("tick", x(row[axis]), y(value), { colour: look(name)[0], title: `${label[name] || name}, ${row.ball}: ${number(value)}` }));
      if (row[axis] === Math.max(...xs)) ends.set(name, { name, valid: true, x: x(row[axis]) + 9, y: y(value) });
    }
    drawEnds(marks, [...ends.values()]);
    for (const row of known) {
      const [colour, shape, open] = BALLS[row.ball] || ["#444444", "diamond", false];
      if (row.predicted > 0) marks.append(Page.marker("diamond", x(row[axis]), y(row.predicted), { open: true, size: 7, colour, title: `predicted, ${row.prediction}: ${number(row.predicted)}` }));
      marks.append(...measuredMark(x(row[axis]), y, row.value, row.stderr || 0, shape, colour, open, rowTitle(row)).filter(Boolean));
    }
    const keys = unique(known.map((row) => row.ball)).map((ball) => { const [colour, shape, open] = BALLS[ball] || ["#444444", "diamond", false]; return [shape, open, colour, `${ball}, ± 2 s.e.`]; });
    if (known.some((row) => row.predicted > 0)) keys.push(["diamond", true, "#16202b", "predicted"]);
    if (valid.length) keys.push(["tick", false, "#16202b", "bound, valid at this cell"]);
    legend(marks, keys, 62);
    const bounds = Object.keys(first.bounds).filter((name) => list.some((row) => row.bounds[name] !== null));
    const column = (name, words = name) => ({ name: words, number: typeof first[name] === "number", of: (row) => row[name] });
    const columns = [column("ball"), ...["law", "labels", "loss", "n", "d", "L", "s", "skew"].map((name) => column(name)), column("radius"),
      ...["draws", "value", "stderr", "predicted"].map((name) => ({ name: { stderr: "standard error" }[name] || name, number: true, of: (row) => row[name] })),
      { name: "prediction", of: (row) => row.prediction },
      ...bounds.map((name) => ({ name: label[name] || name, number: true, of: (row) => row.bounds[name], show: (row) => (row.bounds[name] === null ? "not valid" : number(row.bounds[name])) }))];
    Page.figure(byId("series-figure"), `${first.experiment}_${first.quantity.replaceAll(" ", "_")}`.replace(/[^\w]/g, "_"), chart, columns, list);
  }

  function seriesText(list, axis) {
    const fixed = ["law", "labels", "loss", "n", "d", "L", "s", "skew", "radius"].filter((name) => name !== axis && unique(list.map((row) => row[name])).length === 1);
    const words = { law: (v) => `${v} features`, labels: (v) => `${v} labels`, loss: (v) => `${v} loss`, skew: (v) => (v === "uniform" ? "uniform" : v), radius: (v) => `radius ${number(v)}` };
    return fixed.map((name) => (words[name] ? words[name](list[0][name]) : `${name} = ${number(list[0][name])}`)).join(", ");
  }

  function buildSeries() {
    for (const [experiment, list] of Map.groupBy(series, ({ rows: [row] }) => row.experiment)) {
      const title = data.summary.titles[experiment];
      byId("series").append(el("optgroup", { label: title ? `${experiment}: ${title}` : experiment },
        list.map(({ key, rows: [row] }) => el("option", { value: key }, `${row.experiment}, ${row.series}: ${row.quantity}`))));
    }
    byId("series").addEventListener("change", () => change({ series: byId("series").value }));
    byId("to-sliders").addEventListener("click", () => {
      const chosen = series.find(({ key }) => key === byId("series").value);
      const usable = chosen.rows.filter((row) => row.ball === "trace" && Object.values(QUANTITIES).some(({ measured }) => measured.includes(row.quantity)));
      if (!usable.length) return;
      const target = { ...state, ...stateOf(usable[Math.floor(usable.length / 2)]) };
      change({ ...target, axis: bestAxis(target, "n") });
      byId("bounds").scrollIntoView();
    });
  }

  // ---------------------------------------------------------------- chart 4: maps of X12

  function drawPhase() {
    const map = data.maps[state.phase];
    byId("phases").hidden = byId("phases-link").hidden = !map;
    if (!map) return;
    byId("phase").value = state.phase;
    const [left, top, width, height] = [84, 72, Math.min(84, 640 / map.n.length), Math.min(44, 300 / map.other.length)];
    const bottom = top + height * map.other.length;
    const total = { width: 900, height: bottom + 84 };
    const across = map.across === "L" ? "labels L" : "share observed";
    const chart = svg("svg", { viewBox: `0 0 ${total.width} ${total.height}`, role: "img", "aria-label": `How many times smaller the excess of the trace ball is than that of ${map.rival}, in n and ${across}; the table below holds the numbers.` },
      svg("defs", {}, svg("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("line", { y2: 7, stroke: "#b9c0c7", "stroke-width": 2 }))),
      svg("rect", { ...total, fill: "white" }),
      Page.text(14, 22, `Excess risk of ${RIVALS[map.rival]} over that of the trace ball`, { "font-size": 15, "font-weight": 600 }),
      Page.text(14, 40, map.across === "L" ? "one label seen per point; predicted, and measured where circled" : `L = ${map.L}; predicted, and measured where circled`, { fill: "#55606c" }),
      Page.text(left + (width * map.n.length) / 2, bottom + 40, "points n", { "text-anchor": "middle" }),
      Page.text(0, 0, across, { "text-anchor": "middle", transform: `translate(16 ${(top + bottom) / 2}) rotate(-90)` }));
    map.n.forEach((n, k) => chart.append(Page.text(left + width * (k + 0.5), bottom + 18, Page.tick(n), { "text-anchor": "middle", "font-size": width < 50 ? 9.5 : 12 })));
    map.other.forEach((other, k) => chart.append(Page.text(left - 7, bottom - height * (k + 0.5) + 4, map.across === "L" ? Page.tick(other) : `${number((100 * other) / map.L, 3)} %`, { "text-anchor": "end" })));
    const find = (list, n, other) => list.find((cell) => cell[0] === n && cell[1] === other);
    const lines = map.other.flatMap((other) => map.n.map((n) => ({ n, other, cell: find(map.cells, n, other), point: find(map.points, n, other) })));
    for (const { n, other, cell, point } of lines) {
      const [x, y] = [left + width * map.n.indexOf(n), bottom - height * (map.other.indexOf(other) + 1)];
      const depth = cell ? Math.max(0, Math.min(1, (Math.log2(cell[2]) + 1) / 8)) : 0;
      const grey = Math.round(250 - 170 * depth);
      chart.append(svg("rect", { x, y, width: width - 1, height: height - 1, fill: cell ? `rgb(${grey},${grey},${Math.min(255, grey + 8)})` : "url(#hatch)" }));
      if (cell) chart.append(Page.text(x + width / (point ? 3.4 : 2), y + height / 2 + 4, number(cell[2], 2), { "text-anchor": "middle", fill: depth > 0.6 ? "white" : "#16202b", "font-size": width < 50 ? 9.5 : 12 }));
      if (point) chart.append(svg("circle", { cx: x + width * 0.72, cy: y + height / 2, r: Math.min(15, height / 2 - 2), fill: "white", stroke: "#16202b", "stroke-width": 1.5 }, svg("title", {}, `measured ${number(point[2], 3)} ± ${number(point[3], 2)}`)),
        Page.text(x + width * 0.72, y + height / 2 + 4, number(point[2], 2), { "text-anchor": "middle", "font-size": 11 }));
    }
    chart.append(Page.text(left, bottom + 68, "above 1 the trace ball is better; hatched: not predicted, a fit interpolates or points are too few", { fill: "#55606c", "font-size": 11.5 }));
    const columns = [{ name: "n", number: true, of: (line) => line.n }, { name: map.across === "L" ? "L" : "labels seen of L", number: true, of: (line) => line.other },
      { name: "predicted advantage", number: true, of: (line) => line.cell?.[2] ?? NaN }, { name: "its standard error", number: true, of: (line) => line.cell?.[3] ?? NaN },
      { name: "measured advantage", number: true, of: (line) => line.point?.[2] ?? NaN }, { name: "its standard error", number: true, of: (line) => line.point?.[3] ?? NaN }];
    Page.figure(byId("phase-figure"), "when_low_rank_helps", chart, columns, lines);
  }
  const RIVALS = { frobenius: "the Frobenius ball", pooled: "pooled least squares", separate: "separate least squares" };

  // ---------------------------------------------------------------- slopes, checks, head

  function buildTables() {
    const { slopes = [], checks = [] } = data.summary;
    const word = (name, title = name) => ({ name: title, of: (row) => row[name] });
    const figure = (name, title = name) => ({ name: title, number: true, of: (row) => row[name] });
    const verdict = { name: "verdict", of: (row) => row.verdict, show: (row) => el("span", { class: row.verdict === "fails" ? "bad" : null }, row.verdict) };
    const slopeColumns = [word("experiment", "id"), word("series"), word("quantity"), word("ball"), word("axis"), figure("slope"), figure("stderr", "standard error"),
      figure("predicted", "sharp prediction"), figure("asymptotic", "limit"), word("rule"), verdict];
    const checkColumns = [word("experiment", "id"), word("name", "check"), verdict, word("detail")];
    const tables = [["slope-table", slopeColumns, slopes], ["check-table", checkColumns, checks]].map(([id, columns, list]) => {
      const built = Page.table(columns, list, { sortable: true });
      byId(id).replaceChildren(list.length ? built.element : el("p", {}, "none"));
      return (wanted) => built.update(list.filter((row) => Object.values(row).join(" ").toLowerCase().includes(wanted)));
    });
    byId("filter").addEventListener("input", () => tables.forEach((update) => update(byId("filter").value.trim().toLowerCase())));
    byId("slopes-csv").addEventListener("click", () => Page.saveCsv("slopes", slopeColumns, slopes));
    byId("checks-csv").addEventListener("click", () => Page.saveCsv("checks", checkColumns, checks));
  }

  function buildHead() {
    const { summary } = data;
    const judged = [...(summary.slopes || []), ...(summary.checks || [])].filter(({ verdict }) => verdict !== "reported");
    const failed = judged.filter(({ verdict }) => verdict === "fails").length;
    const shown = (value) => [value].flat().join(", ");
    const grid = Object.entries(summary.grid || {}).filter(([, value]) => shown(value) && value !== 0);
    const many = (count, one) => `${number(count)} ${one}${count === 1 ? "" : "s"}`;
    const what = grid.length ? [`Grid of ${grid.map(([name, value]) => `${name} = ${shown(value)}`).join("; ")}`]
      : [`Preset ${summary.preset}`, `experiments ${shown(summary.experiments || [])}`];
    byId("run").textContent = [...what, `seed ${summary.seed}`,
      many(summary.cells ?? 0, "cell"), `leml-theory ${summary.version}`].join("; ") + ".";
    const bad = summary.violations.length + summary.contradictions.length + failed;
    byId("verdict").textContent = `${many(summary.violations.length, "violation")} in ${many(summary.comparisons, "comparison")} with valid bounds; ${many(summary.contradictions.length, "contradiction")} of ${many(summary.sharp_predictions, "sharp prediction")}`
      + (judged.length ? `; ${number(judged.length - failed)} of ${many(judged.length, "check")} of slopes and values came out as recorded.` : ".")
      + (data.left_out.length ? ` The page would be too large with all rows; results.csv also holds: ${data.left_out.join(", ")}.` : "");
    byId("verdict").className = bad ? "bad" : "";
    byId("versions").textContent = Object.entries(summary.versions || {}).map(([name, version]) => `${name} ${version}`).join(", ");
  }

  function draw() {
    for (const update of Object.values(inputs)) update();
    drawBounds();
    drawValues();
    drawCommand();
    drawMap();
    drawSeries();
    drawPhase();
    Page.writeAddress(state);
    document.documentElement.dataset.drawn = Number(document.documentElement.dataset.drawn || 0) + 1;
  }

  // The run's first series of averages against n is a good place to begin.
  function start() {
    const first = series.find(({ rows: [row], axis }) => row.quantity === "rademacher average" && axis === "n" && row.law === "gaussian") || series.find(({ rows: [row] }) => row.quantity === "rademacher average");
    const row = first?.rows[Math.floor(first.rows.length / 2)];
    const begun = { ...START, series: first?.key ?? "", ...(row ? { ...stateOf(row), ball: "trace" } : {}) };
    return row ? { ...begun, axis: bestAxis(begun, "n") } : begun;
  }

  const copied = (text, words) => navigator.clipboard?.writeText(text).then(() => { byId("copied").textContent = words; },
    () => { byId("copied").textContent = "The browser does not permit copying; select the text instead."; });
  byId("copy-command").addEventListener("click", () => copied(byId("command").textContent, "The command is copied."));
  byId("copy-link").addEventListener("click", () => copied(location.href, "The link is copied."));
  byId("reset").addEventListener("click", () => change(start()));
  byId("phase").append(...data.maps.map((map, at) => el("option", { value: at }, `${map.series}, against ${RIVALS[map.rival]}`)));
  byId("phase").addEventListener("change", () => change({ phase: Number(byId("phase").value) }));
  window.addEventListener("hashchange", () => change({ ...start(), ...readState() }));
  buildControls();
  buildSeries();
  buildTables();
  buildHead();
  state = { ...start(), ...readState() };
  draw();
})();
