// Heat maps of links. A map has at most 128 cells on a side. With more pods a cell shows the slowest of several links:
// one bad link of millions is visible, and a click on the cell zooms in.

const side = 128;
const anyRail = -1;

// fabric gives access to the values of a matrix.
function fabric(l, levels) {
  const n = l.pods.length,
    pairs = (n * (n - 1)) / 2;
  const value = (level) => (level - 1) * l.step;
  return {
    ...l,
    n,
    pairs,
    levels,
    exact: l.bytes === 2,
    rate: (level) => (level === 0 ? null : value(level)),
    part: (level, rail) => value(level) / l.rails[rail].full,
    level: (a, b, rail) =>
      a > b
        ? levels[rail * pairs + (b * (2 * n - b - 1)) / 2 + a - b - 1]
        : levels[rail * pairs + (a * (2 * n - a - 1)) / 2 + b - a - 1],
  };
}

// prefix returns the common start of all names, up to their number.
function prefix(names) {
  if (names.length < 2) return "";
  let end = 0;
  while (end < names[0].length && names.every((name) => name[end] === names[0][end])) end++;
  return names[0].slice(0, end).replace(/[^-._/ ]*$/, "");
}

// gather returns the slowest link of each cell in a window.
function gather(f, rail, view) {
  const size = Math.max(1, Math.ceil(Math.max(view.x1 - view.x0, view.y1 - view.y0) / side));
  const across = Math.ceil((view.x1 - view.x0) / size),
    down = Math.ceil((view.y1 - view.y0) / size);
  const parts = new Float32Array(across * down).fill(Infinity);
  const worst = new Int32Array(3 * across * down);
  const rails = rail === anyRail ? f.rails.map((_, i) => i) : [rail];
  for (const r of rails) {
    for (let y = view.y0; y < view.y1; y++) {
      const line = Math.floor((y - view.y0) / size) * across;
      for (let x = view.x0; x < view.x1; x++) {
        if (x === y) continue;
        const level = f.level(x, y, r);
        if (level === 0) continue;
        const cell = line + Math.floor((x - view.x0) / size),
          part = f.part(level, r);
        if (part < parts[cell]) {
          parts[cell] = part;
          worst[3 * cell] = x;
          worst[3 * cell + 1] = y;
          worst[3 * cell + 2] = r;
        }
      }
    }
  }
  return { size, across, down, parts, worst };
}

// heat returns the options that all maps share.
function heat(f, t, width, m) {
  const cell = m.cell,
    whole = f.rails.every((r) => r.known) ? "100 % of the ceiling" : "100 % of a healthy link";
  return {
    height: m.height,
    canvas: m.data.length > 3000,
    textStyle: { fontFamily: t.font },
    grid: { left: m.left, right: 12, top: 8, bottom: m.bottom, show: true, backgroundColor: t.none, borderWidth: 0 },
    xAxis: {
      type: "category",
      data: m.x,
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { ...words(t, 11), ...m.xLabel },
      name: m.xName,
      nameLocation: "middle",
      nameGap: m.bottom - 60,
      nameTextStyle: words(t, 11),
    },
    yAxis: {
      type: "category",
      data: m.y,
      inverse: true,
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { ...words(t, 11), ...m.yLabel },
    },
    visualMap: {
      type: "continuous",
      min: 0,
      max: 100,
      dimension: 2,
      orient: "horizontal",
      left: "center",
      bottom: 0,
      itemHeight: 220,
      itemWidth: 12,
      precision: 0,
      calculable: false,
      hoverLink: false,
      text: [width < 500 ? "100 %" : whole, "0 %"],
      textStyle: words(t, 11),
      inRange: { color: ramp(t.heat, f.least) },
    },
    tooltip: { ...box(t), formatter: m.tooltip },
    series: [
      {
        type: "heatmap",
        data: m.data,
        progressive: 0,
        itemStyle: { borderColor: t.card, borderWidth: cell >= 7 ? 1 : 0 },
        emphasis: { itemStyle: { borderColor: t.ink, borderWidth: 1.5 } },
        label: { show: Boolean(m.label), fontSize: 11, fontFamily: t.font, formatter: m.label },
      },
    ],
  };
}

// linkText describes a link, as HTML.
function linkText(f, a, b, rail) {
  const level = f.level(a, b, rail),
    r = f.rails[rail],
    node = (i) => (f.nodes[i] ? " <small>(" + escape(f.nodes[i]) + ")</small>" : "");
  const names =
    "<b>" +
    escape(f.pods[a]) +
    "</b>" +
    node(a) +
    " ↔ <b>" +
    escape(f.pods[b]) +
    "</b>" +
    node(b) +
    "<br>rail " +
    escape(r.name) +
    ": ";
  if (level === 0) return names + "not measured";
  return (
    names +
    "<b>" +
    (f.exact ? "" : "≈ ") +
    gbps(f.rate(level)) +
    "</b>, " +
    percent(f.part(level, rail)) +
    " of " +
    gbps(r.full) +
    (r.known ? "" : " (a healthy link)")
  );
}

// endsOption draws one cell for each NIC, or for the slowest of several pods if there are too many.
function endsOption(f, t, width) {
  const rails = f.rails.length,
    size = Math.ceil(f.n / side),
    across = Math.ceil(f.n / size),
    start = prefix(f.pods);
  const data = [],
    pods = [];
  for (let x = 0; x < across; x++) {
    for (let r = 0; r < rails; r++) {
      let worst = Infinity,
        pod = -1;
      for (let p = x * size; p < Math.min(f.n, (x + 1) * size); p++) {
        const v = f.ends[p * rails + r];
        if (v >= 0 && v < worst) [worst, pod] = [v, p];
      }
      if (pod < 0) continue;
      data.push([x, r, Math.min(100, (100 * worst) / f.rails[r].full)]);
      pods.push(pod);
    }
  }
  const left = 16 + 6.6 * Math.max(...f.rails.map((r) => r.name.length)),
    cell = (width - left - 12) / across,
    few = cell > 46;
  return heat(f, t, width, {
    data,
    cell,
    left,
    bottom: 86,
    height: Math.max(150, rails * 24 + 96),
    x: Array.from({ length: across }, (_, x) => span(f, x * size, size, start)),
    y: f.rails.map((r) => r.name),
    xName: start ? "pods " + start + "…" : "pods",
    xLabel: { hideOverlap: true },
    yLabel: { interval: 0 },
    label: few && (({ dataIndex }) => Math.round(f.ends[pods[dataIndex] * rails + data[dataIndex][1]])),
    tooltip: ({ dataIndex }) => {
      const r = data[dataIndex][1],
        pod = pods[dataIndex],
        v = f.ends[pod * rails + r];
      return (
        (size > 1 ? "slowest of " + size + " pods:<br>" : "") +
        "<b>" +
        escape(f.pods[pod]) +
        "</b>" +
        (f.nodes[pod] ? " <small>(" + escape(f.nodes[pod]) + ")</small>" : "") +
        ", rail " +
        escape(f.rails[r].name) +
        "<br>median of its links: <b>" +
        gbps(v) +
        "</b>, " +
        percent(v / f.rails[r].full)
      );
    },
  });
}

// span returns the name of one pod, or of the first and the last of several.
function span(f, from, size, start) {
  const name = (i) => f.pods[i].slice(start.length);
  const to = Math.min(f.n, from + size) - 1;
  return to > from ? name(from) + "–" + name(to) : name(from);
}

// pairsOption draws every link of few pods: pairs down, rails across, numbers in the cells.
function pairsOption(f, t, width) {
  const data = [],
    at = [],
    y = [];
  for (let a = 0; a < f.n; a++) {
    for (let b = a + 1; b < f.n; b++) {
      for (let r = 0; r < f.rails.length; r++) {
        const level = f.level(a, b, r);
        if (level === 0) continue;
        data.push([r, y.length, Math.min(100, 100 * f.part(level, r))]);
        at.push([a, b, r]);
      }
      y.push(f.pods[a] + " ↔ " + f.pods[b]);
    }
  }
  const left = 16 + 6.4 * Math.max(...y.map((name) => name.length)),
    longest = 6.4 * Math.max(...f.rails.map((r) => r.name.length));
  const turned = longest + 4 > (width - left - 12) / f.rails.length ? longest : 0; // names that would overlap
  return heat(f, t, width, {
    data,
    cell: 24,
    left,
    bottom: 72 + turned,
    height: y.length * 26 + 80 + turned,
    x: f.rails.map((r) => r.name),
    y,
    xName: "",
    xLabel: { interval: 0, rotate: turned ? 90 : 0 },
    yLabel: { interval: 0 },
    label: ({ dataIndex }) => f.rate(f.level(...at[dataIndex])).toFixed((width - left) / f.rails.length > 50 ? 1 : 0),
    tooltip: ({ dataIndex }) => linkText(f, ...at[dataIndex]),
  });
}

// mapOption draws pods by pods of one rail, or the slowest of all rails.
function mapOption(f, t, width, cells, view) {
  const { size, across, down, parts, worst } = cells,
    start = prefix(f.pods),
    data = [],
    at = [];
  for (let i = 0; i < across * down; i++) {
    if (parts[i] === Infinity) continue;
    data.push([i % across, Math.floor(i / across), Math.min(100, 100 * parts[i])]);
    at.push(i);
  }
  const names = (from, n) => Array.from({ length: n }, (_, i) => span(f, from + i * size, size, start));
  const x = names(view.x0, across),
    y = names(view.y0, down),
    longest = Math.max(...y.map((s) => s.length));
  const left = 18 + 6.2 * longest,
    cell = Math.min((width - left - 12) / across, 26),
    tall = Math.max(Math.min(cell * down, 900), 160);
  return heat(f, t, width, {
    data,
    cell,
    left,
    bottom: 86 + (longest > 4 ? 5 * longest : 0),
    height: Math.round(tall + 94 + (longest > 4 ? 5 * longest : 0)),
    x,
    y,
    xName: start ? "pods " + start + "…" : "pods",
    xLabel: { rotate: longest > 4 ? 90 : 0, hideOverlap: true, interval: cell > 13 && longest > 4 ? 0 : "auto" },
    yLabel: { hideOverlap: true, interval: cell > 12 ? 0 : "auto" },
    tooltip: ({ dataIndex }) => {
      const i = 3 * at[dataIndex];
      return (
        (size > 1 ? "slowest of " + size + " × " + size + " pods:<br>" : "") +
        linkText(f, worst[i], worst[i + 1], worst[i + 2])
      );
    },
  });
}

// bandwidth draws the section of one matrix.
function bandwidth(section, f, keep) {
  const ends = section.querySelector(".ends"),
    map = section.querySelector(".map"),
    controls = section.querySelector(".controls"),
    readout = section.querySelector(".readout");
  const few = f.n <= 10,
    whole = { x0: 0, x1: f.n, y0: 0, y1: f.n };
  keep.rail = keep.rail < f.rails.length ? keep.rail : anyRail;
  keep.view = keep.view?.x1 <= f.n && keep.view?.y1 <= f.n ? keep.view : whole;
  let cells;
  const show = () => {
    cells = gather(f, keep.rail, keep.view);
    draw(
      map,
      (t, width) => (few ? pairsOption(f, t, width) : mapOption(f, t, width, cells, keep.view)),
      few ? null : closer,
    );
    if (!few) steer();
    tell();
  };
  const around = (at, by) => [Math.max(0, Math.min(f.n - by, at - by / 2)), Math.min(f.n, Math.max(by, at + by / 2))];
  const zoom = (x, y, by) => {
    by = Math.min(by, f.n);
    const [x0, x1] = around(x, by),
      [y0, y1] = around(y, by);
    keep.view = { x0, x1, y0, y1 };
    show();
  };
  const closer = ({ data }) => {
    const by = cells.size > 1 ? side : 16;
    if (keep.view.x1 - keep.view.x0 > by)
      zoom((keep.view.x0 + (data[0] + 0.5) * cells.size) | 0, (keep.view.y0 + (data[1] + 0.5) * cells.size) | 0, by);
  };
  const choose = (rail) => () => {
    keep.rail = rail;
    show();
  };
  const slow = f.rails.map((r, i) =>
    f.ends.some((v, at) => at % f.rails.length === i && v >= 0 && v < f.least * r.full),
  );
  const steer = () => {
    const focus =
      document.activeElement?.parentElement === controls ? [...controls.children].indexOf(document.activeElement) : -1;
    const rails =
      f.rails.length > 16
        ? [railSelect()]
        : [
            choice("All rails (slowest)", keep.rail === anyRail, choose(anyRail)),
            ...f.rails.map((r, i) => {
              const button = choice(r.name, keep.rail === i, choose(i));
              button.classList.toggle("slow", slow[i]);
              return button;
            }),
          ];
    if (keep.view.x1 - keep.view.x0 < f.n)
      rails.push(
        make(
          "button",
          {
            type: "button",
            onclick: () => {
              keep.view = whole;
              show();
            },
          },
          "↩ All pods",
        ),
      );
    controls.replaceChildren(...rails);
    controls.children[focus]?.focus();
  };
  const railSelect = () => {
    const select = make(
      "select",
      { ariaLabel: "Rail", onchange: () => choose(Number(select.value))() },
      make("option", { value: anyRail }, "All rails (slowest)"),
      ...f.rails.map((r, i) => make("option", { value: i }, r.name)),
    );
    select.value = keep.rail;
    return select;
  };
  const tell = () => {
    let least = Infinity,
      at = -1;
    cells.parts.forEach((part, i) => {
      if (part < least) [least, at] = [part, i];
    });
    const shown = keep.view.x1 - keep.view.x0;
    const scope = few
      ? ""
      : (shown < f.n ? count(shown, "pod") + " of " + f.n.toLocaleString("en") + ". " : "") +
        (cells.size > 1 ? "Each cell shows the slowest of " + cells.size + " × " + cells.size + " pods. " : "");
    const [x, y, rail] = cells.worst.slice(3 * at, 3 * at + 3),
      a = Math.min(x, y),
      b = Math.max(x, y);
    readout.textContent =
      at < 0
        ? "Nothing was measured."
        : scope +
          "Slowest: " +
          f.pods[a] +
          " to " +
          f.pods[b] +
          " on rail " +
          f.rails[rail].name +
          ", " +
          gbps(f.rate(f.level(a, b, rail))) +
          ", " +
          percent(least) +
          ".";
  };
  if (ends) draw(ends, (t, width) => endsOption(f, t, width));
  section.querySelectorAll(".mark-button").forEach((button, i) => {
    button.onclick = () => {
      const m = f.marks[i];
      keep.rail = m.rail;
      if (m.pods?.length && f.n > side) zoom(m.pods[1] ?? m.pods[0], m.pods[0], side);
      else show();
      map.scrollIntoView({ block: "center" });
    };
  });
  show();
}
