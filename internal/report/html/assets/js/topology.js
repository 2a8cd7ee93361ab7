// The picture of a machine: its parts in columns, connected from left to right.

const columns = ["GPU", "PCIe", "NIC", "Rail", "Subnet"];

function topology(machines, keep) {
  const place = document.getElementById("machines");
  if (!place) return;
  const all = machines.length <= 4;
  const show = (chosen) => {
    place.replaceChildren();
    for (const m of chosen) place.append(machineBox(m));
    for (const m of chosen)
      if (m.parts)
        draw(document.getElementById("machine-" + machines.indexOf(m)), (t, width) => machineOption(m, t, width));
  };
  const machineBox = (m) => {
    const badge = make("span", { className: "badge" }, m.status);
    const box = make(
      "div",
      { className: "machine is-" + m.status },
      make("h3", {}, badge, m.name, make("small", {}, m.note)),
    );
    if (m.parts) {
      const chart = make("div", { className: "chart", id: "machine-" + machines.indexOf(m) });
      chart.style.minWidth = 110 * usedColumns(m).length + "px"; // on a phone the box scrolls
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", spoken(m));
      box.append(chart);
    }
    return box;
  };
  if (all) return show(machines);
  const select = make(
    "select",
    { id: "machine-choice" },
    ...machines.map((m, i) => make("option", { value: i }, (m.status === "pass" ? "" : m.status + ": ") + m.name)),
  );
  const choose = () => {
    for (const element of place.querySelectorAll(".chart")) {
      forget(drawn.get(element));
      drawn.delete(element);
    }
    keep.machine = machines[select.value].name;
    const first = Number(select.value);
    show(machines.slice(first, first + 2));
  };
  select.onchange = choose;
  const step = (by) => () => {
    select.value = Math.min(machines.length - 1, Math.max(0, Number(select.value) + by));
    choose();
  };
  select.value = Math.max(
    0,
    machines.findIndex((m) => m.name === keep.machine),
  );
  document
    .getElementById("topology-controls")
    .replaceChildren(
      make("label", { htmlFor: "machine-choice" }, "Machine (worst first):"),
      select,
      make("button", { type: "button", onclick: step(-2) }, "← Back"),
      make("button", { type: "button", onclick: step(2) }, "Next →"),
    );
  choose();
}

const usedColumns = (m) => columns.map((_, i) => i).filter((i) => m.parts.some((p) => p.column === i));

// spoken describes a picture for screen readers.
function spoken(m) {
  const bad = m.parts.filter((p) => p.status === "fail" || p.status === "warn");
  return (
    "Topology of " +
    m.name +
    ": " +
    m.note +
    ". " +
    (bad.length
      ? "Problems: " + bad.map((p) => p.label + " (" + (p.details || []).join("; ") + ")").join(", ")
      : "Nothing is wrong.")
  );
}

function machineOption(m, t, width) {
  const used = usedColumns(m);
  const gap = (width - 8) / used.length;
  const size = [Math.min(176, gap - 14), 32];
  const tone = (status) => ({ fail: t.fail, warn: t.warn, unknown: t.unknown })[status];
  const row = m.height > 10 ? 34 : 40;
  return {
    height: Math.round(m.height * row + 34),
    textStyle: { fontFamily: t.font },
    grid: { left: 4, right: 4, top: 26, bottom: 4 },
    xAxis: {
      type: "category",
      position: "top",
      data: used.map((i) => columns[i]),
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { ...words(t, 11), interval: 0 },
    },
    yAxis: { type: "value", show: false, inverse: true, min: -0.55, max: m.height - 0.45 },
    tooltip: {
      ...box(t),
      formatter: ({ dataType, dataIndex }) => {
        if (dataType !== "node") return "";
        const p = m.parts[dataIndex];
        return (
          "<b>" +
          escape(p.label) +
          "</b> " +
          escape(p.below || "") +
          (p.details || []).map((s) => "<br>" + escape(s)).join("")
        );
      },
    },
    series: [
      {
        type: "graph",
        coordinateSystem: "cartesian2d",
        symbol: "rect",
        symbolSize: size,
        edgeSymbol: "none",
        cursor: "default",
        data: m.parts.map((p, i) => ({
          id: String(i),
          value: [used.indexOf(p.column), p.row],
          ...partLook(p, t, tone(p.status), size[0] - 4),
        })),
        links: m.edges.map((e) => ({
          source: String(e.from),
          target: String(e.to),
          lineStyle: {
            color: tone(e.status) || t.other,
            width: tone(e.status) ? 2.4 : 1.2,
            opacity: tone(e.status) ? 0.95 : 0.6,
            curveness: 0,
          },
        })),
        emphasis: { focus: "adjacency", lineStyle: { width: 3 } },
      },
    ],
  };
}

// sign shows a status without colour.
const sign = (status) => ({ fail: "✕ ", warn: "! ", unknown: "? " })[status] || "";

function partLook(p, t, tone, width) {
  const cut = (text, each) =>
    text.length > Math.floor(width / each) ? text.slice(0, Math.floor(width / each) - 1) + "…" : text;
  return {
    itemStyle: { color: "transparent" }, // ECharts distorts the corners of a symbol, but not those of a label
    label: {
      show: true,
      width,
      height: 28,
      padding: 2,
      align: "center",
      verticalAlign: "middle",
      borderRadius: 6,
      backgroundColor: tone ? mixed(tone, t.card) : p.column === 1 ? t.soft : t.card,
      borderColor: tone || t.line,
      borderWidth: tone ? 2 : 1.2,
      formatter: "{a|" + cut(sign(p.status) + p.label, 6.9) + "}" + (p.below ? "\n{b|" + cut(p.below, 5.3) + "}" : ""),
      rich: {
        a: {
          color: tone || t.ink,
          fontSize: p.label.length * 6.9 > width - 8 ? 11 : 12,
          fontWeight: 600,
          lineHeight: p.below ? 14 : 26,
          fontFamily: t.font,
        },
        b: { color: t.muted, fontSize: 10, lineHeight: 12, fontFamily: t.font },
      },
    },
  };
}

// mixed returns 14 % of a colour on a background.
function mixed(colour, background) {
  const rgb = [colour, background].map((c) =>
    c.length === 4
      ? [1, 2, 3].map((i) => 17 * parseInt(c[i], 16))
      : [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)),
  );
  return "rgb(" + rgb[0].map((v, i) => Math.round(v * 0.14 + rgb[1][i] * 0.86)).join(",") + ")";
}
