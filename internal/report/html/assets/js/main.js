// Draws the charts from the data in the page, and again when the server reports an update.

async function unpack(text) {
  const raw = atob(text),
    bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// library runs ECharts. The Content-Security-Policy allows it by its hash.
async function library() {
  const code = new TextDecoder().decode(await unpack(document.getElementById("echarts").textContent));
  document.head.append(make("script", { textContent: code }));
}

// kept holds the selections of the reader, which survive an update.
const kept = { topology: {}, ladder: {}, links: [], motions: [] };

async function drawPage() {
  const none = { machines: [], links: [], ladders: [], allReduces: [], rollouts: [], motions: [] };
  const data = { ...none, ...JSON.parse(document.getElementById("data").textContent) };
  topology(data.machines, kept.topology);
  if (data.ladders.length) ladders(data.ladders, kept.ladder);
  allReduces(data.allReduces);
  if (data.rollouts.length) rollouts(data.rollouts);
  motions(data.motions, kept.motions);
  for (const section of document.querySelectorAll("[data-links]")) {
    const i = section.dataset.links,
      l = data.links[i];
    const bytes = await unpack(document.getElementById("links-" + i).textContent);
    bandwidth(
      section,
      fabric(l, l.bytes === 2 ? new Uint16Array(bytes) : new Uint8Array(bytes)),
      (kept.links[i] ??= { rail: anyRail }),
    );
  }
  document.documentElement.dataset.drawn = "yes";
}

// renew loads the page from the server again, and keeps open sections open.
async function renew() {
  const answer = await fetch(location.pathname, { cache: "no-store" });
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  const open = new Map([...document.querySelectorAll("details")].map((d) => [outline(d), d.open]));
  forgetAll();
  document.title = next.title;
  for (const old of document.querySelectorAll("#data, .links")) old.remove();
  document.getElementById("page").replaceWith(document.adoptNode(next.getElementById("page")));
  document.body.append(...next.querySelectorAll("#data, .links"));
  for (const d of document.querySelectorAll("details")) d.open = open.get(outline(d)) ?? d.open;
  await drawPage();
}

const outline = (details) => details.closest("section")?.id + details.firstElementChild.textContent;

function follow(events) {
  const source = new EventSource(events);
  const say = (text, lost) => {
    const live = document.getElementById("live");
    live.textContent = text;
    live.classList.toggle("lost", lost);
  };
  let turn = Promise.resolve();
  source.onmessage = () => {
    turn = turn.then(renew).catch(trouble);
  };
  source.onopen = () => say("live", false);
  source.onerror = () => say("disconnected: this is the last update", true);
}

function trouble(error) {
  const note = document.getElementById("trouble");
  note.hidden = false;
  note.textContent =
    "This browser cannot draw the charts (" + error.message + "). The text and the tables have the same information.";
}

async function start() {
  await library();
  watchAppearance();
  await drawPage();
  const events = document.querySelector("meta[name=events]");
  if (events) follow(events.content);
}

start().catch(trouble);
