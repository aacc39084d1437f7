// The closed-form bounds of leml_theory.bounds, with the sentences that say why one is not valid.
// A test compares every value and every sentence with the Python functions in a browser.
"use strict";

const Bounds = (() => {
  const BERNSTEIN = 1 / (128 * Math.E ** 2);
  const NET = Math.log(9) / BERNSTEIN;
  const LARGEST_EXPONENT = 600;

  // Python's format(x, ".{digits}g").
  function general(x, digits = 6) {
    if (!Number.isFinite(x)) return x > 0 ? "inf" : x < 0 ? "-inf" : "nan";
    if (x === 0) return "0";
    const [mantissa, power] = x.toExponential(digits - 1).split("e");
    const exponent = Number(power);
    const bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    if (exponent >= -4 && exponent < digits) return bare(x.toFixed(digits - 1 - exponent));
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${bare(mantissa)}e${exponent < 0 ? "-" : "+"}${size}`;
  }

  const LAWS = {
    gaussian: (d) => ({ kind: "gaussian", second: 1, top: 1 / d, proxy: 1 / d, radius: Infinity, centred: true }),
    rademacher: (d) => ({ kind: "rademacher", second: 1, top: 1 / d, proxy: 1 / d, radius: 1, centred: true }),
    "rank-one": () => ({ kind: "other", second: 1, top: 1, proxy: 1, radius: 1, centred: true }),
    "raw-gaussian": (d) => ({ kind: "gaussian", second: d, top: 1, proxy: 1, radius: Infinity, centred: true }),
    "non-negative": (d) => ({
      kind: "other", second: 1, top: (1 - 2 / Math.PI) / d + 2 / Math.PI, proxy: 1 / d + 2 / Math.PI,
      radius: Infinity, centred: false,
    }),
    "heavy-tailed": (d) => ({ kind: "other", second: 1, top: 1 / d, proxy: null, radius: Infinity, centred: true }),
  };

  // Constants of the losses where |f| <= reach and |y| <= label.
  const LOSSES = {
    linear: (reach, label) => ({ lipschitz: label, range: 2 * reach * label }),
    squared: (reach, label) => ({ lipschitz: reach + label, range: 0.5 * (reach + label) ** 2 }),
    logistic: (reach) => ({ lipschitz: 1 / (1 + Math.exp(-reach)), range: reach }),
    squared_hinge: (reach) => ({ lipschitz: 2 * (1 + reach), range: (1 + reach) ** 2 - Math.max(0, 1 - reach) ** 2 }),
    absolute: (reach, label) => ({ lipschitz: 1, range: reach + label }),
    "clipped linear": () => ({ lipschitz: 1, range: 2 }),
    hinge: (reach) => ({ lipschitz: 1, range: 1 + reach - Math.max(0, 1 - reach) }),
  };

  // Laws that a page has no formula for are tabled: {law: {kind, at: {d: [second, top, proxy, radius, centred]}}}.
  function moments(law, d, tables) {
    if (Object.hasOwn(LAWS, law)) return LAWS[law](d);
    const table = tables && Object.hasOwn(tables, law) ? tables[law] : null;
    const found = table && Object.hasOwn(table.at, d) ? table.at[d] : null;
    if (!found) return null;
    const [second, top, proxy, radius, centred] = found;
    return { kind: table.kind, second: second ?? Infinity, top: top ?? Infinity, proxy, radius: radius ?? Infinity, centred };
  }

  const binomials = new Map();

  // The law of the number of labels seen, without values whose probability is zero in double precision.
  function binomial(size, rate) {
    const key = `${size}:${rate}`;
    if (binomials.has(key)) return binomials.get(key);
    const numbers = { values: [], chances: [], mean: 0, spread: 0, largest: 0 };
    let log = size * Math.log1p(-rate);
    const odds = Math.log(rate) - Math.log1p(-rate);
    let square = 0;
    for (let k = 0; k <= size; k += 1) {
      if (k > 0) log += Math.log((size - k + 1) / k) + odds;
      const chance = Math.exp(log);
      if (chance === 0) continue;
      numbers.values.push(k);
      numbers.chances.push(chance);
      numbers.mean += k * chance;
      square += k * k * chance;
    }
    numbers.spread = square / numbers.mean ** 2;
    numbers.largest = size / numbers.mean;
    if (binomials.size > 200) binomials.clear();
    binomials.set(key, numbers);
    return numbers;
  }

  function zipf(size, exponent) {
    let total = 0;
    for (let rank = 1; rank <= size; rank += 1) total += rank ** -exponent;
    return { P: 1 / total, p: size ** -exponent / total };
  }

  // Returns the smallest and largest label probability, s and the law of random numbers, or why there is none.
  function observation(skew, L, s) {
    const [kind, text] = skew.split(":");
    const number = Number(text);
    const uniform = { p: 1 / L, P: 1 / L, s, numbers: null };
    if (kind === "replaced") return uniform;
    if (kind === "uniform") {
      return s <= L ? uniform : { wrong: `needs s <= L, here s = ${s} and L = ${L}` };
    }
    if (kind === "observed") {
      if (number === 1) return { ...uniform, s: L };
      return { ...uniform, s: number * L, numbers: binomial(L, number) };
    }
    if (kind === "zipf") return { ...zipf(L, number), s, numbers: null };
    if (kind !== "heavy") return { wrong: `needs a known pattern of labels, here it is '${skew}'` };
    if (L < 2) return { wrong: "needs two labels, one heavy and one other, here L = 1" };
    const rest = (1 - number) / (L - 1);
    return { P: Math.max(number, rest), p: Math.min(number, rest), s, numbers: null };
  }

  // Everything that a bound depends on; `wrong` says why there is no such world.
  function setting(state, tables) {
    const seen = observation(state.skew, state.L, state.s);
    if (seen.wrong) return seen;
    const plain = moments(state.law, state.d, tables);
    if (!plain) {
      const table = tables && Object.hasOwn(tables, state.law) ? Object.keys(tables[state.law].at).join(", ") : "";
      const known = table ? `d = ${table}` : "the cells of the run";
      return { wrong: `needs the moments of the law '${state.law}', which this page knows at ${known} only` };
    }
    const counted = seen.numbers ? count(plain, seen.numbers) : plain;
    return {
      ...state, ...seen, plain, moments: counted,
      law: seen.numbers ? "other" : plain.kind, featureLaw: plain.kind,
    };
  }

  function count(plain, numbers) {
    const { spread, largest } = numbers;
    return {
      ...plain, second: spread * plain.second, top: spread * plain.top, radius: largest * plain.radius,
      proxy: plain.proxy === null ? null : largest ** 2 * plain.proxy,
    };
  }

  // The smallest exponent(a)/a over a > 0, by golden section in log a: it has one minimum.
  function chernoff(exponent, largest) {
    const ratio = (Math.sqrt(5) - 1) / 2;
    const at = (u) => exponent(Math.exp(u)) / Math.exp(u);
    let high = Math.log(LARGEST_EXPONENT / largest);
    let low = high - 20;
    let [left, right] = [high - ratio * (high - low), low + ratio * (high - low)];
    let [first, second] = [at(left), at(right)];
    while (high - low > 1e-6) {
      if (first <= second) {
        [high, right, second] = [right, left, first];
        left = high - ratio * (high - low);
        first = at(left);
      } else {
        [low, left, first] = [left, right, second];
        right = low + ratio * (high - low);
        second = at(right);
      }
    }
    return Math.min(first, second);
  }

  function largestCount(w) {
    const log = Math.log(w.L);
    const { numbers } = w;
    if (!numbers) {
      const mean = w.n * w.P;
      return Math.min(w.n, mean + Math.sqrt(2 * mean * log) + log / 3);
    }
    const weights = numbers.values.map((k) => (k / numbers.mean) ** 2);
    const exponent = (scale) => {
      let growth = 0;
      for (let i = 0; i < weights.length; i += 1) growth += numbers.chances[i] * Math.expm1(scale * weights[i]);
      return log + w.n * Math.log1p(w.P * growth);
    };
    return Math.min(w.n * numbers.spread, chernoff(exponent, numbers.largest ** 2));
  }

  function largestNumber(w) {
    const { numbers } = w;
    if (!numbers) return 1;
    const factors = numbers.values.map((k) => k / numbers.mean);
    const exponent = (scale) => {
      let total = 0;
      for (let i = 0; i < factors.length; i += 1) total += numbers.chances[i] * Math.exp(scale * factors[i]);
      return Math.log(w.n * total);
    };
    return Math.min(numbers.largest, Math.max(1, chernoff(exponent, numbers.largest)));
  }

  const trace = (w) =>
    w.ball === "trace" ? [] : [`bounds a spectral norm, so it needs the trace ball, here the ${w.ball} ball`];
  const needsLaw = (w, law, words) => (w.featureLaw === law ? [] : [`needs ${words}, here the law is '${w.featureLaw}'`]);
  const bounded = (w) =>
    Number.isFinite(w.moments.radius) ? [] : ["needs |x| <= R almost surely, here |x| is unbounded"];
  const subGaussian = (w) =>
    w.moments.proxy !== null ? [] : ["needs x, symmetrised, to be sub-Gaussian, here there is no proxy"];
  const normalised = (w) =>
    w.moments.second <= 1 + 1e-12 ? [] : [`needs E|x|^2 <= 1, here it is ${general(w.moments.second)}`];
  const sameNumbers = (w) =>
    w.numbers
      ? [`needs the same number of observed labels at every point, here it is random with mean ${general(w.s, 4)}`]
      : [];

  function chevetValue(w) {
    w.count ??= largestCount(w);
    return (w.radius / w.n) * (Math.sqrt(w.n * w.moments.top) + Math.sqrt(w.plain.second * w.count));
  }

  function bernsteinValue(w) {
    const log = Math.log(w.d + w.L);
    const spread = Math.sqrt((2 * Math.max(w.moments.top, w.P * w.moments.second) * log) / w.n);
    if (!Number.isFinite(w.plain.radius)) return Infinity;
    return w.radius * (spread + (w.plain.radius * largestNumber(w) * log) / (3 * w.n));
  }

  function netValue(w) {
    if (w.plain.proxy === null) return Infinity;
    w.count ??= largestCount(w);
    const q = Math.sqrt(2 * w.d * Math.log(9));
    return (w.radius / w.n) * (4 / 3) * Math.sqrt(w.plain.proxy) * Math.sqrt(w.count) * (Math.sqrt(w.L) + q + 1 / q);
  }

  function paperValue(w) {
    if (w.moments.proxy === null) return Infinity;
    const constant = Math.sqrt(4 * (NET + 1 / (BERNSTEIN * w.d)) + 1);
    return constant * w.radius * Math.sqrt((w.P * w.d * (w.moments.proxy + w.moments.top)) / w.n);
  }

  function paperConditions(w) {
    const failures = subGaussian(w);
    if (!w.moments.centred) failures.push("needs E x = 0, which its condition 3 forces, here x is not centred");
    if (w.d < w.L) failures.push(`needs d >= L, here d = ${w.d} and L = ${w.L}`);
    if (w.moments.proxy === null) return failures;
    const share = w.P * w.d * (w.moments.proxy + w.moments.top);
    const needed = Math.log((w.L * w.moments.second) / share) / (2 * w.p ** 2);
    if (!(w.n > needed) && Number.isFinite(needed)) {
      failures.push(`needs n > ${general(needed)}, here n = ${w.n} and p = ${general(w.p, 4)}`);
    }
    return failures;
  }

  const AVERAGES = {
    theorem_3: (w) => [
      w.radius * Math.sqrt(w.moments.second / w.n),
      Number.isFinite(w.moments.second) ? [] : ["needs a finite E|x|^2, here it is infinite"],
    ],
    chevet: (w) => [chevetValue(w), [...trace(w), ...needsLaw(w, "gaussian", "centred Gaussian features")]],
    rademacher_chevet: (w) => [
      Math.sqrt(Math.PI / 2) * chevetValue(w),
      [...trace(w), ...needsLaw(w, "rademacher", "features of independent signs over sqrt(d)")],
    ],
    matrix_bernstein: (w) => [bernsteinValue(w), [...trace(w), ...bounded(w)]],
    sub_gaussian_net: (w) => [netValue(w), [...trace(w), ...subGaussian(w)]],
    paper_route: (w) => [paperValue(w), [...trace(w), ...paperConditions(w)]],
    theorem_3_as_printed: (w) => [w.radius / Math.sqrt(w.n), normalised(w)],
    paper_route_as_printed: (w) => {
      const { second } = w.moments;
      const value = paperValue(w) / (Number.isFinite(second) ? Math.sqrt(second) : 1);
      return [value, [...trace(w), ...paperConditions(w), ...normalised(w)]];
    },
  };
  const PRINTED = new Set(["theorem_3_as_printed", "paper_route_as_printed"]);

  function averages(w) {
    return Object.entries(AVERAGES).map(([name, formula]) => {
      if (w.wrong) return { name, value: NaN, failures: [w.wrong] };
      const [value, failures] = formula(w);
      return { name, value, failures };
    });
  }

  // The smallest valid bound that is not only as printed.
  function best(found) {
    const candidates = found.filter((bound) => !PRINTED.has(bound.name));
    const valid = candidates.filter((bound) => !bound.failures.length);
    if (valid.length) return valid.reduce((a, b) => (b.value < a.value ? b : a));
    const failures = candidates.flatMap(({ name, failures: reasons }) => reasons.map((reason) => `${name} ${reason}`));
    return { name: "none", value: Infinity, failures };
  }

  function riskOf(w, labelBound) {
    const reach = w.radius * w.plain.radius;
    const known = Object.hasOwn(LOSSES, w.loss);
    const constants = known ? LOSSES[w.loss](reach, labelBound) : { lipschitz: Infinity, range: Infinity };
    return { ...constants, known };
  }

  function sampling(w, risk) {
    if (Number.isFinite(risk.lipschitz)) return [];
    const none = `the ${w.loss} loss has none on the ball and the support of x and y`;
    const unknown = `this page has no formula for that of the ${w.loss} loss`;
    return [`needs a finite Lipschitz constant, here ${risk.known ? none : unknown}`];
  }

  const boundedLoss = (w, risk) =>
    Number.isFinite(risk.range) ? [] : [`needs a bounded loss, here the range of the ${w.loss} loss is infinite`];
  const gaussianOnly = (w) => needsLaw(w, "gaussian", "centred Gaussian features");
  const linearOnly = (w) => (w.loss === "linear" ? [] : [`needs the linear loss, here ${w.loss}`]);

  function bousquet(mean, variance, b, n, delta) {
    const t = Math.log(1 / delta);
    return mean + Math.sqrt((2 * t * (variance + 2 * b * mean)) / n) + (b * t) / (3 * n);
  }

  function bousquetExcess(w, risk, mean, reach, delta) {
    const size = 2 * risk.lipschitz * w.radius;
    return bousquet(mean, size ** 2 * w.moments.top * w.P, 2 * size * reach, w.n, delta);
  }

  function gaussianExcess(w, risk, mean) {
    const { top, second } = w.plain;
    const excursion = Math.sqrt(2 * top * Math.log((2 * w.n) / w.delta));
    const cut = Math.sqrt(second) + excursion;
    const tail = ((cut + top / excursion) * w.delta) / (2 * w.n);
    const inside = bousquetExcess(w, risk, mean, (w.numbers ? w.numbers.largest : 1) * cut, w.delta / 2);
    return inside + 2 * risk.lipschitz * w.radius * tail;
  }

  function gaussianGap(w, risk) {
    const mean = w.n * w.P;
    const u = Math.log((2 * w.L) / w.delta);
    const most = Math.min(w.n, mean + Math.sqrt(2 * mean * u) + u / 3);
    const { top, second } = w.moments;
    const chevet = Math.sqrt(w.n * top) + Math.sqrt(second * most);
    const center = w.ball === "trace" ? chevet : Math.sqrt(w.n * second);
    return ((risk.lipschitz * w.radius) / w.n) * (center + Math.sqrt(2 * top * most * Math.log(2 / w.delta)));
  }

  function linearGap(w, risk, average) {
    const factor = w.symmetric ? 1 : 2;
    const size = risk.lipschitz * w.radius;
    const variance = size ** 2 * w.moments.top * w.P;
    return bousquet(factor * risk.lipschitz * average.value, variance, factor * size * w.moments.radius, w.n, w.delta);
  }

  // What no method can beat over the ball: squared loss, noise of variance one, Z of any rank.
  function minimax(w) {
    const close = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
    const failures = [];
    if (w.loss !== "squared") failures.push(`needs the squared loss, here ${w.loss}`);
    const isotropic = w.law === "gaussian" && close(w.plain.second, w.d * w.plain.top);
    if (!isotropic) failures.push("needs isotropic Gaussian features, here they are others");
    if (!close(w.p, w.P)) failures.push(`needs uniform labels, here p = ${general(w.p, 4)} and P = ${general(w.P, 4)}`);
    failures.push(...sameNumbers(w));
    const size = Math.max(w.d, w.L);
    const information = ((w.n * w.s) / w.L) * w.moments.top;
    const cubes = (Math.PI ** 2 * size) / w.radius ** 2;
    let value = 0;
    for (let k = 1; k <= Math.min(w.d, w.L); k += 1) {
      const prior = cubes * (w.ball === "trace" ? k * k : k);
      value = Math.max(value, ((k * size * w.moments.top) / (2 * w.L)) / (information + prior));
    }
    return { name: "minimax", value, failures, lower: true };
  }

  const RISKS = {
    probable: {
      mcdiarmid_excess: (w, risk, average, mean) => [
        mean + moved(w, risk) * Math.sqrt((2 * Math.log(1 / w.delta)) / w.n), boundedLoss(w, risk)],
      bousquet_excess: (w, risk, average, mean) => [
        bousquetExcess(w, risk, mean, w.moments.radius, w.delta), bounded(w)],
      gaussian_excess: (w, risk, average, mean) => [gaussianExcess(w, risk, mean), gaussianOnly(w)],
      paper_literal_excess: (w, risk, average, mean) => {
        const blocks = ((1 + 1 / w.s) * Math.log(2 / w.delta)) / (2 * w.n);
        return [4 * mean + 2 * risk.range * Math.sqrt(blocks), [...boundedLoss(w, risk), ...sameNumbers(w)]];
      },
    },
    gap: {
      mcdiarmid_gap: (w, risk, average, mean) => [
        mean + moved(w, risk) * Math.sqrt(Math.log(1 / w.delta) / (2 * w.n)),
        [...boundedLoss(w, risk), ...sameNumbers(w)]],
      bousquet_linear_gap: (w, risk, average) => [linearGap(w, risk, average), [...linearOnly(w), ...bounded(w)]],
    },
  };
  const moved = (w, risk) => (w.numbers ? w.numbers.largest : 1) * risk.range;

  // The bound of Appendix C does not go through the average.
  function appendixC(w, risk) {
    const failures = [...sampling(w, risk), ...linearOnly(w), ...gaussianOnly(w), ...sameNumbers(w)];
    if (w.s !== 1) failures.push(`needs one label per point, here s = ${general(w.s)}`);
    if (!w.symmetric) failures.push("needs y x to be Gaussian given the label, here it is not said to be (`symmetric`)");
    return { name: "gaussian_linear_gap", value: gaussianGap(w, risk), failures };
  }

  // All bounds on one of the quantities 'average', 'expected', 'probable' and 'gap'.
  function evaluate(quantity, state, tables, labelBounds) {
    const w = setting(state, tables);
    const found = averages(w);
    if (quantity === "average") return found;
    if (w.wrong) {
      const names = quantity === "expected" ? [...Object.keys(AVERAGES), "minimax"] : Object.keys(RISKS[quantity]);
      if (quantity === "gap") names.push("gaussian_linear_gap");
      return names.map((name) => ({ name, value: NaN, failures: [w.wrong], lower: name === "minimax" }));
    }
    const label = labelBounds && Object.hasOwn(labelBounds, w.loss) ? labelBounds[w.loss] ?? Infinity : 1;
    const risk = riskOf(w, label);
    const common = sampling(w, risk);
    const finite = (value) => (Number.isNaN(value) ? Infinity : value);
    if (quantity === "expected") {
      const risks = found.map(({ name, value, failures }) => ({
        name, value: finite(2 * risk.lipschitz * value), failures: [...common, ...failures],
      }));
      return [...risks, minimax(w)];
    }
    const average = best(found);
    const inherited = average.name === "none" ? average.failures : [];
    const mean = 2 * risk.lipschitz * average.value;
    const risks = Object.entries(RISKS[quantity]).map(([name, formula]) => {
      const [value, own] = formula(w, risk, average, mean);
      return { name, value: finite(value), failures: [...common, ...inherited, ...own] };
    });
    return quantity === "gap" ? [...risks, appendixC(w, risk)] : risks;
  }

  return { LAWS: Object.keys(LAWS), LOSSES: Object.keys(LOSSES), evaluate, general, PRINTED };
})();
