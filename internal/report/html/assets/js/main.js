// From the data in the page to its charts, and again when a server says that there is something new.

async function unpack(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// library runs ECharts, which the policy of the page knows by its hash.
async function library() {
  const code = new TextDecoder().decode(await unpack(document.getElementById("echarts").textContent));
  document.head.append(make("script", { textContent: code }));
}

// kept is what the reader chose: it outlives what a server sends.
const kept = { topology: {}, ladder: {}, links: [] };

async function drawPage() {
  const data = JSON.parse(document.getElementById("data").textContent);
  topology(data.machines, kept.topology);
  if (data.ladders.length) ladders(data.ladders, kept.ladder);
  allReduces(data.allReduces);
  if (data.rollouts.length) rollouts(data.rollouts);
  for (const section of document.querySelectorAll("[data-links]")) {
    const i = section.dataset.links, l = data.links[i];
    const bytes = await unpack(document.getElementById("links-" + i).textContent);
    bandwidth(section, fabric(l, l.bytes === 2 ? new Uint16Array(bytes) : new Uint8Array(bytes)), (kept.links[i] ??= { rail: anyRail }));
  }
  document.documentElement.dataset.drawn = "yes";
}

// renew takes the page as it is now on the server, and keeps what was opened.
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
  source.onmessage = () => { turn = turn.then(renew).catch(trouble); };
  source.onopen = () => say("live", false);
  source.onerror = () => say("the server is gone: this is the last that it said", true);
}

function trouble(error) {
  const note = document.getElementById("trouble");
  note.hidden = false;
  note.textContent = "The pictures cannot be drawn in this browser (" + error.message + "). All that matters is in the text and the tables.";
}

async function start() {
  await library();
  watchAppearance();
  await drawPage();
  const events = document.querySelector("meta[name=events]");
  if (events) follow(events.content);
}

start().catch(trouble);
