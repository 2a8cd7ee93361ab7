// Bars and lines: the ladder and its ceilings, the all-reduce by size, the nodes of a rollout.

function ladders(all, keep) {
  const place = document.getElementById("ladder-chart");
  if (!place) return;
  const show = (i) => {
    keep.ladder = i;
    const l = all[i];
    draw(place, (t, width) => ladderOption(l, t, width));
    document.getElementById("ladder-wire").textContent = l.wire || "";
    const gap = document.getElementById("ladder-gap");
    gap.textContent = l.gap || (l.status === "pass" ? "Every step with a ceiling reaches its target." : "");
    gap.classList.toggle("fine", l.status === "pass");
    const factors = (l.factors || []).map((f) =>
      make(
        "p",
        {},
        make("b", {}, f.times.toFixed(1) + "×"),
        "RDMA (" + gbps(f.rdma) + ") vs. " + f.tcp + " (" + gbps(f.gbps) + ")",
      ),
    );
    document.getElementById("factors").replaceChildren(make("div", { className: "factors" }, ...factors));
  };
  const controls = document.getElementById("ladder-controls");
  if (all.length > 1) {
    const select = make(
      "select",
      { id: "ladder-choice", onchange: () => show(Number(select.value)) },
      ...all.map((l, i) => make("option", { value: i }, (l.status === "pass" ? "" : l.status + ": ") + l.title)),
    );
    select.value = keep.ladder < all.length ? keep.ladder : 0;
    controls.replaceChildren(make("label", { htmlFor: "ladder-choice" }, "Pair and rail (worst first):"), select);
  } else {
    controls.replaceChildren(make("b", {}, all[0].title));
  }
  show(keep.ladder < all.length ? keep.ladder : 0);
}

function ladderOption(l, t, width) {
  const tone = (s) => (s.tcp ? t.tcp : s.status === "fail" ? t.fail : t.rdma);
  const known = l.steps.some((s) => s.full);
  const part = (s) => (known ? (s.full ? (100 * (s.gbps || 0)) / s.full : 0) : s.gbps || 0);
  const most = Math.max(...l.steps.map(part), known ? 100 : 1);
  const narrow = width < 640;
  const room = width >= 1000 ? 260 : narrow ? 125 : 170;
  const against = (s) => (width >= 1000 ? s.against : narrow || !s.against ? "" : percent(s.gbps / s.ceiling));
  const beside = (s) => s.text + (against(s) ? "   {soft|" + against(s) + "}" : "");
  const left = narrow ? 120 : 215,
    plot = width - left - 10;
  const ink = (s) => (s.status === "fail" ? t.fail : s.gbps ? t.ink : t.muted);
  const text = (mine) => ({
    show: true,
    position: "right",
    distance: 9,
    fontFamily: t.font,
    fontSize: 12,
    fontWeight: 600,
    rich: { soft: { fontWeight: 400, color: t.muted, fontSize: 12 } },
    formatter: ({ dataIndex }) => (mine(l.steps[dataIndex]) ? beside(l.steps[dataIndex]) : ""),
  });
  return {
    height: l.steps.length * 44 + 50,
    textStyle: { fontFamily: t.font },
    grid: { left, right: 10, top: 8, bottom: 34 },
    xAxis: {
      type: "value",
      max: Math.ceil((most * plot) / (plot - room)),
      interval: known ? (narrow ? 50 : 20) : undefined,
      axisLabel: {
        ...words(t, 11),
        showMaxLabel: false,
        formatter: (v) => (known ? (v > 100 ? "" : v === 100 ? "ceiling" : v + " %") : v),
      },
      splitLine: {
        lineStyle: {
          color: known ? [...Array(narrow ? 3 : 6).fill(t.line), ...Array(20).fill("transparent")] : t.line,
        },
      },
      name: known ? "" : "Gb/s",
      nameTextStyle: words(t, 11),
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: l.steps.map((s) => s.name),
      axisLine: { lineStyle: { color: t.line } },
      axisTick: { show: false },
      axisLabel: {
        color: t.ink,
        fontFamily: t.font,
        fontSize: narrow ? 11 : 12,
        lineHeight: 14,
        width: narrow ? 110 : 200,
        overflow: "break",
      },
    },
    tooltip: {
      ...box(t),
      trigger: "axis",
      axisPointer: { type: "shadow", shadowStyle: { color: t.soft, opacity: 0.5 } },
      formatter: ([{ dataIndex }]) => {
        const s = l.steps[dataIndex];
        return "<b>" + escape(s.name) + "</b><br>" + escape(s.text) + (s.note ? "<br>" + escape(s.note) : "");
      },
    },
    series: [
      {
        type: "bar",
        name: "ceiling",
        barWidth: 24,
        silent: true,
        z: 1,
        label: text((s) => s.ceiling),
        data: l.steps.map((s) => ({
          value: s.ceiling ? 100 : 0,
          itemStyle: {
            color: t.ceiling,
            borderColor: t.other,
            borderWidth: s.ceiling ? 1 : 0,
            borderType: "dashed",
            borderRadius: 3,
          },
          label: { color: ink(s) },
        })),
      },
      {
        type: "bar",
        name: "measured",
        barGap: "-79%",
        barWidth: 14,
        z: 2,
        label: text((s) => !s.ceiling),
        data: l.steps.map((s) => ({
          value: part(s),
          itemStyle: { color: tone(s), borderRadius: [0, 3, 3, 0] },
          label: { color: ink(s) },
        })),
      },
    ],
  };
}

function allReduces(all) {
  const place = document.getElementById("allreduce-chart"),
    runs = all.filter((a) => a.sizes?.length);
  if (!place) return;
  if (!runs.length) return place.remove();
  draw(place, (t) => {
    const sizes = [...new Set(runs.flatMap((a) => a.sizes.map((s) => s.bytes)))].sort((a, b) => a - b);
    const labels = new Map(runs.flatMap((a) => a.sizes.map((s) => [s.bytes, s.label])));
    const ceiling = Math.max(...runs.map((a) => a.ceiling || 0));
    return {
      height: 340,
      textStyle: { fontFamily: t.font },
      grid: { left: 56, right: 40, top: 40, bottom: 44 },
      legend: { top: 4, right: 10, textStyle: { ...words(t), color: t.ink }, icon: "roundRect" },
      xAxis: {
        type: "category",
        data: sizes.map((s) => labels.get(s)),
        axisLabel: words(t, 11),
        axisLine: { lineStyle: { color: t.line } },
        axisTick: { alignWithLabel: true, lineStyle: { color: t.line } },
        name: "message size",
        nameLocation: "middle",
        nameGap: 28,
        nameTextStyle: words(t, 11),
      },
      yAxis: {
        type: "value",
        max: ceiling ? ({ max }) => Math.ceil(Math.max(max, ceiling) * 1.08) : null,
        name: "busbw, GB/s",
        nameTextStyle: { ...words(t, 11), align: "left" },
        axisLabel: { ...words(t, 11), showMaxLabel: !ceiling },
        splitLine: { lineStyle: { color: t.line } },
      },
      tooltip: { ...box(t), trigger: "axis", valueFormatter: (v) => (v == null ? "—" : v.toFixed(2) + " GB/s") },
      series: runs.map((a, i) => {
        const at = new Map(a.sizes.map((s) => [s.bytes, s.busbw]));
        const colour = a.mode === "tcp" ? t.tcp : t.rdma;
        return {
          type: "line",
          name: a.name,
          data: sizes.map((s) => at.get(s) ?? null),
          symbolSize: 7,
          symbol: a.mode === "tcp" ? "rect" : "circle",
          lineStyle: { width: 2.5, color: colour },
          itemStyle: { color: colour },
          markLine:
            i === 0 && ceiling
              ? {
                  silent: true,
                  symbol: "none",
                  lineStyle: { color: t.other, type: "dashed" },
                  label: {
                    position: "insideEndTop",
                    color: t.muted,
                    fontFamily: t.font,
                    formatter: "ring ceiling: " + ceiling.toFixed(1) + " GB/s",
                  },
                  data: [{ yAxis: ceiling }],
                }
              : undefined,
        };
      }),
    };
  });
}

function rollouts(all) {
  const place = document.getElementById("rollout-chart");
  if (!place) return;
  const states = [...new Set(all.flatMap((r) => r.states.map((s) => s.state)))];
  draw(place, (t) => {
    const tones = { Done: t.pass, Working: t.accent, Rebooting: t.warn, Degraded: t.fail, Unreconcilable: t.fail };
    return {
      height: all.length * 46 + 60,
      textStyle: { fontFamily: t.font },
      grid: { left: 120, right: 30, top: 34, bottom: 24 },
      legend: { top: 0, left: 0, textStyle: { ...words(t), color: t.ink }, icon: "roundRect", selectedMode: false },
      xAxis: {
        type: "value",
        max: Math.max(...all.map((r) => r.total)),
        minInterval: 1,
        axisLabel: words(t, 11),
        splitLine: { show: false },
      },
      yAxis: {
        type: "category",
        inverse: true,
        data: all.map((r) => r.pool),
        axisTick: { show: false },
        axisLine: { show: false },
        axisLabel: { color: t.ink, fontFamily: t.font, fontSize: 13, width: 105, overflow: "truncate" },
      },
      tooltip: { ...box(t), trigger: "axis", axisPointer: { type: "none" } },
      series: states.map((state) => ({
        type: "bar",
        stack: "nodes",
        name: state,
        barWidth: 22,
        itemStyle: { color: tones[state] || t.ceiling, borderColor: t.card, borderWidth: 1 },
        label: {
          show: true,
          color: tones[state] ? t.card : t.ink,
          fontFamily: t.font,
          fontWeight: 650,
          formatter: ({ value }) => value || "",
        },
        data: all.map((r) => r.states.find((s) => s.state === state)?.count ?? 0),
      })),
    };
  });
}
