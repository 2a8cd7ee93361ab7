// Colours, numbers and elements that all charts share. The style sheet defines the colours.

function theme() {
  const style = getComputedStyle(document.documentElement);
  const colours = {};
  for (const name of [
    "paper",
    "card",
    "ink",
    "muted",
    "line",
    "soft",
    "accent",
    "pass",
    "warn",
    "fail",
    "unknown",
    "other",
    "none",
    "ceiling",
    "rdma",
    "tcp",
  ]) {
    colours[name] = style.getPropertyValue("--" + name).trim();
  }
  colours.skipped = colours.other;
  colours.heat = style
    .getPropertyValue("--heat")
    .split(",")
    .map((c) => c.trim());
  colours.font = getComputedStyle(document.body).fontFamily;
  return colours;
}

// ramp returns 201 colours from 0 to 100 %. The colour changes abruptly at least, the target.
function ramp(heat, least) {
  const stops = [0, least * 0.5, least * 0.85, least, least, 1];
  const rgb = heat.map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
  return Array.from({ length: 201 }, (_, i) => {
    const at = i / 200;
    let k = at < least ? 0 : 4;
    while (k < 2 && at > stops[k + 1]) k++;
    const part = Math.min(1, Math.max(0, (at - stops[k]) / (stops[k + 1] - stops[k] || 1)));
    return "rgb(" + rgb[k].map((from, j) => Math.round(from + (rgb[k + 1][j] - from) * part)).join(",") + ")";
  });
}

const escape = (text) => String(text).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");

// gbps formats a rate with at least three digits.
const gbps = (v) => (v >= 1000 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)) + " Gb/s";

const percent = (part) => (100 * (part > 0.9995 && part < 1 ? 0.999 : part)).toFixed(1) + " %";

const count = (n, noun) => n.toLocaleString("en") + " " + noun + (n === 1 ? "" : "s");

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// choice creates a toggle button.
function choice(text, pressed, choose) {
  const button = make("button", { type: "button", onclick: choose }, text);
  button.setAttribute("aria-pressed", pressed);
  return button;
}
