"use strict";

const root = document.currentScript.dataset.root;

// The menu of a narrow window.
const menu = document.getElementById("menu");
document.documentElement.classList.add("script");
menu.onclick = () => {
  const open = document.body.classList.toggle("menu-open");
  menu.setAttribute("aria-expanded", open);
};
const navigation = document.getElementById("navigation");
const current = navigation.querySelector('[aria-current="page"]');
if (current) navigation.scrollTop = current.offsetTop - navigation.offsetTop - navigation.clientHeight / 3;

// A button copies the commands of a block, where the browser lets pages copy: from files and over HTTPS.
const copied = 'pre[data-language="sh"], pre[data-language="yaml"], pre[data-language="json"]';
for (const block of navigator.clipboard ? document.querySelectorAll(copied) : []) {
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "Copy";
  button.onclick = async () => {
    const text = block.querySelector("code").innerText;
    button.textContent = await navigator.clipboard.writeText(text).then(() => "Copied", () => "Not copied");
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
  const frame = document.createElement("div");
  frame.className = "block";
  block.replaceWith(frame);
  frame.append(block, button);
}

// The search loads its index when it is first used.
const search = document.getElementById("search");
const input = search.querySelector("input");
const results = document.getElementById("results");
const most = 12; // results
let loading;
search.hidden = false;

function load() {
  loading ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = root + "assets/search.js";
    script.onload = done;
    document.head.append(script);
  });
  return loading;
}

const escaped = (term) => term.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

// score returns how well a passage matches all terms; 0 if it lacks one. The beginning of a word counts more than the
// middle, a whole word more than its beginning, and a title more than the text.
function score([address, page, heading, text], terms) {
  const fields = heading ? [[page, 6], [heading, 12], [text, 2]] : [[page, 30], [address, 10], [text, 2]];
  let sum = 0;
  for (const term of terms) {
    const start = "(?<![\\p{L}\\p{N}])" + escaped(term);
    const [word, whole] = [new RegExp(start, "iu"), new RegExp(start + "(?![\\p{L}\\p{N}])", "iu")];
    let points = 0;
    for (const [field, worth] of fields) {
      if (!field.toLowerCase().includes(term)) continue;
      points += word.test(field) ? worth * (whole.test(field) ? 1.5 : 1) : worth / 3;
    }
    if (points === 0) return 0;
    sum += points;
  }
  return page.toLowerCase() === terms.join(" ") && !heading ? sum + 100 : sum;
}

// fewOfPage leaves at most two passages of a page.
function fewOfPage({ passage: [address] }, i, all) {
  const page = address.split("#")[0];
  return all.slice(0, i).filter((f) => f.passage[0].split("#")[0] === page).length < 2;
}

// excerpt returns the text around the first term, with all terms marked.
function excerpt(text, terms) {
  const at = Math.min(...terms.map((term) => text.toLowerCase().indexOf(term)).filter((i) => i >= 0), text.length);
  const from = at === text.length ? 0 : Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 40)) + 1);
  const part = document.createElement("span");
  part.className = "excerpt";
  const any = new RegExp("(" + terms.map(escaped).join("|") + ")", "iu");
  text.slice(from, from + 140).split(any).forEach((piece, i) => {
    const node = document.createElement(i % 2 ? "mark" : "span");
    node.textContent = piece;
    part.append(node);
  });
  return part;
}

async function show() {
  await load();
  const terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = terms.length === 0 ? [] : window.searchIndex
    .map((passage) => ({ passage, points: score(passage, terms) }))
    .filter((f) => f.points > 0)
    .sort((a, b) => b.points - a.points)
    .slice(0, 10 * most)
    .filter(fewOfPage)
    .slice(0, most);
  results.replaceChildren(...found.map(({ passage }, i) => {
    const [address, page, heading, text] = passage;
    const link = document.createElement("a");
    link.href = root + address;
    link.textContent = heading ? page + " › " + heading : page;
    link.append(excerpt(text, terms));
    const item = document.createElement("li");
    item.setAttribute("role", "option");
    item.id = "result-" + i;
    item.append(link);
    return item;
  }));
  if (terms.length > 0 && found.length === 0) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "Nothing found";
    results.append(none);
  }
  toggle(terms.length > 0);
  select(0);
}

function toggle(open) {
  results.hidden = !open;
  input.setAttribute("aria-expanded", open);
}

function select(index) {
  const items = [...results.querySelectorAll('[role="option"]')];
  if (items.length === 0) return input.removeAttribute("aria-activedescendant");
  index = (index + items.length) % items.length;
  items.forEach((item, i) => item.setAttribute("aria-selected", i === index));
  items[index].scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", items[index].id);
}

input.onfocus = load;
input.oninput = show;
input.onkeydown = (event) => {
  const items = [...results.querySelectorAll('[role="option"]')];
  const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown") select(at + 1);
  else if (event.key === "ArrowUp") select(at - 1);
  else if (event.key === "Enter" && at >= 0) items[at].querySelector("a").click();
  else if (event.key === "Escape") input.blur(), toggle(false);
  else return;
  event.preventDefault();
};
document.addEventListener("click", (event) => {
  if (!search.contains(event.target) || event.target.closest("#results a")) toggle(false);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea")) return;
  input.focus();
  event.preventDefault();
});
