// What every page shares: building elements, tables that sort, charts in SVG, downloads, the address.
// Text from the data only ever becomes a text node or an attribute, never markup.
"use strict";

const Page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    for (const child of children.flat(3)) if (child !== null && child !== undefined) element.append(child);
    return element;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const byId = (id) => document.getElementById(id);

  function number(x, digits = 4) {
    if (x === null || x === undefined || Number.isNaN(x)) return "";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    const size = Math.abs(x);
    if (size >= 1e15 || (size > 0 && size < 1e-4)) return x.toExponential(digits - 1).replace("-", "−");
    if (Number.isInteger(x) || size >= 1e4) return Math.round(x).toLocaleString("en-GB").replace("-", "−");
    return String(Number(x.toPrecision(digits))).replace("-", "−");
  }

  // A short name for a tick: 1,024 or 10⁶.
  function tick(x) {
    const power = Math.log10(x);
    if (x > 0 && (x >= 1e6 || x < 1e-3) && Math.abs(power - Math.round(power)) < 1e-9) {
      const digits = [...String(Math.abs(Math.round(power)))].map((digit) => SUPERSCRIPTS[digit]).join("");
      return `10${power < 0 ? "⁻" : ""}${digits}`;
    }
    return number(x, 3);
  }

  // A table with sortable heads; a column is {name, number?, of: row => value, show?: row => node or text}.
  function table(columns, rows, options = {}) {
    const body = el("tbody");
    const heads = columns.map((column, index) =>
      el("th", { scope: "col", class: column.number ? "number" : null },
        options.sortable ? el("button", { type: "button", click: () => sort(index) }, column.name) : column.name));
    let order = null;
    const shown = (column, row) => {
      if (column.show) return column.show(row);
      const value = column.of(row);
      return typeof value === "number" ? number(value) : value ?? "";
    };
    const draw = (list) => {
      const lines = list.map((row) =>
        el("tr", { class: options.rowClass ? options.rowClass(row) : null },
          columns.map((column) => el("td", { class: column.number ? "number" : null }, shown(column, row)))));
      body.replaceChildren(...lines);
    };
    const sort = (index) => {
      const down = order && order.index === index && !order.down;
      order = { index, down };
      const { of } = columns[index];
      const missing = (value) => value === null || value === undefined || Number.isNaN(value);
      const sorted = [...current].sort((a, b) => {
        const [x, y] = [of(a), of(b)];
        if (missing(x) || missing(y)) return missing(x) - missing(y);
        const compared = typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
        return down ? -compared : compared;
      });
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      heads[index].setAttribute("aria-sort", down ? "descending" : "ascending");
      draw(sorted);
    };
    let current = rows;
    draw(rows);
    const element = el("table", {},
      options.caption ? el("caption", { class: "soft" }, options.caption) : null,
      el("thead", {}, el("tr", {}, heads)), body);
    const update = (list) => {
      current = list;
      if (order) { order.down = !order.down; sort(order.index); } else draw(list);
    };
    return { element, update };
  }

  function save(name, blob) {
    const address = URL.createObjectURL(blob);
    const link = el("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  function svgText(element) {
    const copy = element.cloneNode(true);
    const [, , width, height] = element.getAttribute("viewBox").split(" ");
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    return new XMLSerializer().serializeToString(copy);
  }

  function savePng(name, element) {
    const [, , width, height] = element.getAttribute("viewBox").split(" ").map(Number);
    const picture = new Image();
    picture.addEventListener("load", () => {
      const canvas = el("canvas", { width: 2 * width, height: 2 * height });
      const context = canvas.getContext("2d");
      context.fillStyle = "white";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(`${name}.png`, blob), "image/png");
    });
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(element))}`;
  }

  // Quoted where needed; a leading sign that a spreadsheet would take for a formula is kept as text.
  function csvField(value) {
    let text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  function csvText(columns, rows) {
    const lines = [columns.map((column) => csvField(column.name)), ...rows.map((row) => columns.map((c) => csvField(c.of(row))))];
    return lines.map((line) => line.join(",")).join("\r\n") + "\r\n";
  }

  const saveCsv = (name, columns, rows) =>
    save(`${name}.csv`, new Blob([csvText(columns, rows)], { type: "text/csv;charset=utf-8" }));

  // Fills a figure: the chart, its downloads and the same numbers as a table.
  function figure(holder, name, chart, columns, rows) {
    const open = holder.querySelector("details")?.open ?? false;
    const button = (text, label, click) => el("button", { type: "button", "aria-label": label, click }, text);
    holder.replaceChildren(
      el("div", { class: "chart" }, chart),
      el("div", { class: "bar screen" }, "Download:",
        button("PNG", `Download ${name} as PNG`, () => savePng(name, chart)),
        button("SVG", `Download ${name} as SVG`, () =>
          save(`${name}.svg`, new Blob([svgText(chart)], { type: "image/svg+xml" }))),
        button("CSV", `Download ${name} as CSV`, () => saveCsv(name, columns, rows))),
      el("details", { open }, el("summary", {}, "The chart as a table"),
        el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${name} as a table` },
          table(columns, rows).element)));
  }

  // Scales and ticks. A scale maps [low, high] to [from, to].
  function scale(low, high, from, to, log) {
    const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
    const slope = b > a ? (to - from) / (b - a) : 0;
    const middle = b > a ? from : (from + to) / 2;
    return Object.assign((x) => middle + slope * ((log ? Math.log(x) : x) - a), { low, high, log });
  }

  function ticks({ low, high, log }) {
    if (!log) {
      const step = 10 ** Math.floor(Math.log10((high - low) / 2));
      const nice = [1, 2, 5, 10].map((k) => k * step).find((s) => (high - low) / s <= 6) || step;
      return Array.from({ length: 12 }, (_, k) => Math.ceil(low / nice) * nice + k * nice)
        .filter((x) => x <= high * (1 + 1e-12)).map((x) => Number(x.toPrecision(12)));
    }
    const decades = Math.log10(high / low);
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const stride = Math.max(1, Math.ceil((last - first) / 9));
    const found = [];
    for (let power = first; power <= last; power += stride) {
      for (const lead of decades < 2.2 ? [1, 2, 5] : [1]) {
        const x = Number(`${lead}e${power}`);
        if (x >= low * (1 - 1e-9) && x <= high * (1 + 1e-9)) found.push(x);
      }
    }
    return found.length > 1 ? found : [low, high];
  }

  const DARK = "#16202b";
  const text = (x, y, words, more = {}) =>
    svg("text", { x, y, "font-size": 12, fill: DARK, "font-family": "system-ui, DejaVu Sans, sans-serif", ...more }, words);

  // The frame of a chart: title, axes, grid. Returns the svg and a group to draw in.
  function frame({ width = 860, height = 470, box, x, y, title, subtitle, xLabel, yLabel, xTicks, description }) {
    const grid = svg("g", { stroke: "#e4e8ec", "stroke-width": 1 });
    const names = svg("g");
    for (const value of xTicks || ticks(x)) {
      grid.append(svg("line", { x1: x(value), x2: x(value), y1: box.top, y2: box.bottom }));
      names.append(text(x(value), box.bottom + 17, tick(value), { "text-anchor": "middle" }));
    }
    for (const value of ticks(y)) {
      grid.append(svg("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value) }));
      names.append(text(box.left - 8, y(value) + 4, tick(value), { "text-anchor": "end" }));
    }
    const axes = svg("path", {
      d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`, fill: "none", stroke: DARK, "stroke-width": 1 });
    const middle = (box.top + box.bottom) / 2;
    const marks = svg("g");
    const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}. ${description || subtitle}` },
      svg("rect", { width, height, fill: "white" }),
      text(14, 22, title, { "font-size": 15, "font-weight": 600 }), text(14, 40, subtitle, { fill: "#55606c" }),
      grid, axes, names,
      text((box.left + box.right) / 2, box.bottom + 38, xLabel, { "text-anchor": "middle" }),
      text(0, 0, yLabel, { "text-anchor": "middle", transform: `translate(16 ${middle}) rotate(-90)` }), marks);
    return { chart, marks };
  }

  // Moves labels apart: returns positions at least `gap` from each other, close to where they were.
  function spread(places, gap, low, high) {
    const order = places.map((y, index) => ({ y, index })).sort((a, b) => a.y - b.y);
    let last = low - gap;
    for (const item of order) { item.y = Math.max(item.y, last + gap); last = item.y; }
    let next = high + gap;
    for (const item of order.reverse()) { item.y = Math.min(item.y, next - gap); next = item.y; }
    const found = [];
    for (const item of order) found[item.index] = item.y;
    return found;
  }

  // Markers that differ in shape, so that they can be told apart without colour.
  const SHAPES = {
    circle: (x, y, r) => svg("circle", { cx: x, cy: y, r }),
    square: (x, y, r) => svg("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r }),
    triangle: (x, y, r) => svg("path", { d: `M${x} ${y - 1.2 * r}L${x + 1.1 * r} ${y + r}H${x - 1.1 * r}Z` }),
    diamond: (x, y, r) => svg("path", { d: `M${x} ${y - 1.35 * r}L${x + 1.35 * r} ${y}L${x} ${y + 1.35 * r}L${x - 1.35 * r} ${y}Z` }),
    cross: (x, y, r) => svg("path", { d: `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}` }),
    tick: (x, y, r) => svg("path", { d: `M${x - 2.2 * r} ${y}H${x + 2.2 * r}` }),
  };
  function marker(shape, x, y, { colour = DARK, open = false, size = 4.2, title = "" } = {}) {
    return fill(SHAPES[shape](x, y, size), {
      fill: open || shape === "cross" || shape === "tick" ? (open ? "white" : "none") : colour,
      stroke: colour, "stroke-width": shape === "tick" ? 2 : 1.5 }, [title ? svg("title", {}, title) : null]);
  }

  // The state of a page in the part of its address after '#'.
  const readAddress = () => new URLSearchParams(location.hash.slice(1));
  function writeAddress(values) {
    const address = new URLSearchParams(values).toString();
    if (address !== location.hash.slice(1)) history.replaceState(null, "", `#${address}`);
  }

  // Links within the page move the focus and leave the address to the state.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    const target = link && byId(link.getAttribute("href").slice(1));
    if (!target) return;
    event.preventDefault();
    target.setAttribute("tabindex", "-1");
    target.focus();
    target.scrollIntoView();
  });

  return { data, el, svg, byId, number, tick, table, figure, saveCsv, csvText, scale, ticks, frame, text, spread, marker,
    readAddress, writeAddress };
})();
