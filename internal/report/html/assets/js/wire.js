// Lines of what each rail of a machine moved over time. Rails with broken connections stand out.

function motions(all, keep) {
  for (const section of document.querySelectorAll("[data-motion]")) {
    const i = section.dataset.motion,
      m = all[i],
      mine = (keep[i] ??= { received: false });
    const charts = m.parts.map(() => make("div", { className: "chart", role: "img" }));
    const places = m.parts.map((p, k) => {
      charts[k].setAttribute("aria-label", "Lines of the rails of " + p.name + "; the table below has the numbers");
      return make("div", {}, make("h3", {}, p.name), charts[k]);
    });
    section.querySelector(".motions").replaceChildren(...places);
    const show = (received) => {
      mine.received = received;
      section
        .querySelector(".controls")
        .replaceChildren(choice("Sent", !received, () => show(false)), choice("Received", received, () => show(true)));
      const most = Math.max(...m.parts.flatMap((p) => p.rails.flatMap((r) => [...r.sent, ...r.received])));
      m.parts.forEach((p, k) => draw(charts[k], (t) => motionOption(m, p, received, most, t)));
    };
    show(mine.received);
  }
}

function motionOption(m, part, received, most, t) {
  const amount = (v) => (v == null ? "not read" : v.toLocaleString("en", { maximumFractionDigits: 2 }) + " " + m.unit);
  const marks = (part.marks || []).map((mark) => [
    { name: mark.text, xAxis: mark.since },
    { xAxis: Math.max(mark.until, mark.since) },
  ]);
  return {
    height: 230,
    textStyle: { fontFamily: t.font },
    useUTC: true,
    grid: { left: 62, right: 20, top: 34, bottom: 28 },
    xAxis: {
      type: "time",
      axisLabel: { ...words(t, 11), hideOverlap: true },
      axisLine: { lineStyle: { color: t.line } },
      axisTick: { lineStyle: { color: t.line } },
    },
    yAxis: {
      type: "value",
      max: most > 0 ? most * 1.1 : 1,
      name: m.unit,
      nameTextStyle: { ...words(t, 11), align: "left" },
      axisLabel: { ...words(t, 11), showMaxLabel: false },
      splitLine: { lineStyle: { color: t.line } },
    },
    tooltip: {
      ...box(t),
      trigger: "axis",
      formatter: (points) =>
        "<b>" +
        new Date(points[0].value[0]).toISOString().slice(11, 19) +
        "</b>" +
        points.map((p) => "<br>" + p.marker + escape(p.seriesName) + ": " + amount(p.value[1])).join(""),
    },
    series: part.rails.map((r, i) => ({
      type: "line",
      name: r.name,
      showSymbol: m.times.length === 1,
      symbolSize: 6,
      z: r.broken ? 1 : 2,
      lineStyle: { width: r.broken ? 2.5 : 1.5, color: r.broken ? t.fail : t.rdma },
      itemStyle: { color: r.broken ? t.fail : t.rdma },
      data: m.times.map((time, k) => [time, (received ? r.received : r.sent)[k] ?? null]),
      markArea: i === 0 && marks.length ? markOption(marks, t) : undefined,
    })),
  };
}

const markOption = (marks, t) => ({
  silent: true,
  itemStyle: { color: t.fail, opacity: 0.1, borderColor: t.fail, borderWidth: 1 },
  label: { color: t.fail, fontFamily: t.font, fontWeight: 650, position: "insideTopLeft" },
  data: marks,
});
