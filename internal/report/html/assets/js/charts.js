// The life of a chart: drawn once the library is there, and again when the size, the colours or the data change.

const drawn = new Map(); // element -> what draws its option

// What an upright page of A4 has beside its margins and those of a section.
const paperWidth = 650;

// draw shows what option(theme, width) returns, with a height of its own; clicked takes what was chosen.
function draw(element, option, clicked) {
  drawn.set(element, Object.assign(drawn.get(element) ?? {}, { option, clicked }));
  redraw(element);
}

function redraw(element) {
  const picture = drawn.get(element);
  const paper = matchMedia("print").matches, width = paper ? paperWidth : element.clientWidth;
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
  picture.chart.getZr().flush(); // a printer does not wait for the next frame
}

function forget(picture) {
  picture.chart?.dispose();
  picture.chart = null;
}

function redrawAll() {
  for (const element of drawn.keys()) redraw(element);
}

// forgetAll ends all charts: the page is about to be replaced.
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

// box is the look of what appears beside the pointer.
const box = (t) => ({
  backgroundColor: t.card, borderColor: t.line, textStyle: { color: t.ink, fontFamily: t.font, fontSize: 13 }, confine: true,
  extraCssText: "max-width:26rem;white-space:normal;box-shadow:0 4px 18px rgb(0 0 0/18%)", transitionDuration: 0,
});

const words = (t, size = 12) => ({ color: t.muted, fontFamily: t.font, fontSize: size });
