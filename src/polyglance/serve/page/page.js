"use strict";
// One search box; what is asked goes to /v1/search, and nothing goes elsewhere.

const WAIT = 80; // milliseconds without a keystroke before a search
const $ = (id) => document.getElementById(id);
const state = { words: {}, like: null, picture: null, cursor: null, running: null, token: "" };

async function call(address, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (state.token) headers.Authorization = `Bearer ${state.token}`;
  const answer = await fetch(address, { ...options, headers });
  if (answer.status !== 401) return answer;
  await askForToken();
  return call(address, options);
}

let asking = null;
function askForToken() {
  asking ??= new Promise((done) => {
    $("token").value = "";
    $("ask").addEventListener("close", () => {
      state.token = $("token").value.replace(/[^\x21-\x7e]/g, "");
      asking = null;
      done();
    }, { once: true });
    $("ask").showModal();
  });
  return asking;
}

async function show(image, address) {
  // A token travels in a header, which <img> cannot send.
  if (!state.token) { image.src = address; return; }
  const answer = await call(address);
  if (!answer.ok) return;
  const local = URL.createObjectURL(await answer.blob());
  image.addEventListener("load", () => URL.revokeObjectURL(local), { once: true });
  image.src = local;
}

function word(name) { return state.words[name] || name; }

async function search(more = false) {
  const text = $("q").value.trim();
  if (state.running) state.running.abort();
  if (!text && !state.like && !state.picture) { clear(); return; }
  const running = (state.running = new AbortController());
  const parts = new URLSearchParams({ q: text, limit: "40" });
  if (state.like) parts.set("like", state.like.id);
  if (more && state.cursor) parts.set("cursor", state.cursor);
  const options = { signal: running.signal };
  if (state.picture) {
    const type = state.picture.type.startsWith("image/") ? state.picture.type : "application/octet-stream";
    Object.assign(options, { method: "POST", body: state.picture, headers: { "Content-Type": type } });
  }
  try {
    const answer = await call(`/v1/search?${parts}`, options);
    const found = await answer.json();
    if (running.signal.aborted) return;
    if (!answer.ok) { clear(found.error.message); return; }
    draw(found, more);
  } catch (error) {
    if (error.name !== "AbortError") clear(word("unreachable"));
  }
}

function clear(message = "") {
  $("grid").replaceChildren();
  $("more").hidden = true;
  $("status").textContent = message;
}

function draw(found, more) {
  const items = found.hits.map(item);
  if (more) $("grid").append(...items);
  else { $("grid").replaceChildren(...items); window.scrollTo(0, 0); }
  state.cursor = found.cursor;
  $("more").hidden = found.cursor === null;
  const count = $("grid").childElementCount;
  const said = count ? word("found").replace("{n}", count.toLocaleString(document.documentElement.lang)) : word("nothing");
  $("status").textContent = [said, ...found.notes].join(" · ");
  if (more && items.length) items[0].firstChild.focus();
}

function item(hit) {
  const li = document.createElement("li");
  const button = document.createElement("button");
  const image = document.createElement("img");
  const ratio = hit.width && hit.height ? Math.min(4, Math.max(0.4, hit.width / hit.height)) : 1;
  li.style.flex = `${ratio} 1 calc(var(--row) * ${ratio})`;
  image.alt = hit.path;
  image.loading = "lazy";
  show(image, hit.thumbnail);
  button.type = "button";
  button.append(image);
  button.addEventListener("click", () => enlarge(hit));
  li.append(button);
  return li;
}

function enlarge(hit) {
  const image = $("large").querySelector("img");
  image.removeAttribute("src");
  image.alt = hit.path;
  show(image, hit.image);
  $("large").querySelector("p").textContent =
    hit.path + (hit.width ? ` · ${hit.width} × ${hit.height}` : "");
  $("similar").onclick = () => { $("large").close(); like({ like: hit, name: hit.path }); };
  $("large").showModal();
}

function like({ like = null, picture = null, name = "" }) {
  Object.assign(state, { like, picture });
  $("like").hidden = !like && !picture;
  $("like").querySelector("span").textContent = `${word("like")} ${name}`;
  $("unlike").textContent = word("unlike");
  search();
}

function take(files) {
  const picture = [...files].find((file) => file.type.startsWith("image/"));
  if (picture) like({ picture, name: picture.name });
}

function step(event) {
  // Arrow keys go from picture to picture.
  const steps = { ArrowRight: 1, ArrowLeft: -1 };
  if (!(event.key in steps)) return;
  const all = [...$("grid").querySelectorAll("button")];
  const turn = document.documentElement.dir === "rtl" ? -1 : 1;
  const next = all[all.indexOf(document.activeElement) + turn * steps[event.key]];
  if (next) { event.preventDefault(); next.focus(); }
}

async function speak() {
  const all = await (await fetch("/page/words.json")).json();
  const code = navigator.languages.map((one) => one.split("-")[0]).find((one) => one in all) || "en";
  state.words = { ...all.en, ...all[code] };
  document.documentElement.lang = code;
  document.documentElement.dir = code === "ar" ? "rtl" : "ltr";
  for (const part of document.querySelectorAll("[data-word]")) part.textContent = word(part.dataset.word);
  $("q").placeholder = word("hint");
  $("pick").title = word("pick");
}

let timer = 0;
$("q").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, WAIT); });
$("form").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); search(); });
$("more").addEventListener("click", () => search(true));
$("unlike").addEventListener("click", () => { like({}); $("q").focus(); });
$("file").addEventListener("change", (event) => { take(event.target.files); event.target.value = ""; });
$("grid").addEventListener("keydown", step);
document.addEventListener("paste", (event) => take(event.clipboardData.files));
document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
document.addEventListener("dragleave", () => document.body.classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  take(event.dataTransfer.files);
});
speak();
