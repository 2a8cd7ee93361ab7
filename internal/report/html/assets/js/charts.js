// Charts are drawn when the library is loaded, and again when the size, the colours or the data change.

const drawn = new Map(); // element -> its chart and the function that returns its option

// Width in pixels that an upright A4 page leaves to a chart.
const paperWidth = 650;

// draw shows the chart that option(theme, width) returns. clicked receives click events.
function draw(element, option, clicked) {
  drawn.set(element, Object.assign(drawn.get(element) ?? {}, { option, clicked }));
  redraw(element);
}

function redraw(element) {
  const picture = drawn.get(element);
  const paper = matchMedia("print").matches,
    width = paper ? paperWidth : element.clientWidth;
  if (!width) return;
  const { height, canvas, ...option } = picture.option(theme(), width);
  const renderer = canvas && !paper ? "canvas" : "svg";
  if (picture.chart && picture.renderer !== renderer) forget(picture);
  element.style.height = height + "px";
  if (!picture.chart) {
    picture.renderer = renderer;
    picture.chart = echarts.init(element, null, { renderer, width, height });
    picture.chart.on("click", (event) => picture.clicked?.(event));
  } else {
    picture.chart.resize({ width, height });
  }
  picture.width = width;
  picture.chart.setOption({ animation: false, ...option }, true);
  picture.chart.getZr().flush(); // printing does not wait for the next frame
}

function forget(picture) {
  picture.chart?.dispose();
  picture.chart = null;
}

function redrawAll() {
  for (const element of drawn.keys()) redraw(element);
}

// forgetAll disposes of all charts before the page is replaced.
function forgetAll() {
  for (const picture of drawn.values()) forget(picture);
  drawn.clear();
}

function watchAppearance() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  matchMedia("print").addEventListener("change", redrawAll);
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      for (const [element, picture] of drawn) if (element.clientWidth !== picture.width) redraw(element);
    }, 80);
  });
}

// box is the style of a tooltip.
const box = (t) => ({
  backgroundColor: t.card,
  borderColor: t.line,
  textStyle: { color: t.ink, fontFamily: t.font, fontSize: 13 },
  confine: true,
  extraCssText: "max-width:26rem;white-space:normal;box-shadow:0 4px 18px rgb(0 0 0/18%)",
  transitionDuration: 0,
});

const words = (t, size = 12) => ({ color: t.muted, fontFamily: t.font, fontSize: size });
