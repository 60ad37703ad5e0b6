// One picture, large: what it is, what matched, which captions fit, and which pictures are similar.
import { $, read, show } from "./service.js";
import { focusOn, hits } from "./grid.js";
import { askLike, question } from "./search.js";
import { draw } from "./heat.js";
import { locale, word } from "./words.js";

const SIMILAR = 12; // pictures that are shown beside it
const LENDERS = 6; // similar pictures whose captions are tried as well
let open = null; // the hit
let folder = () => {};
const part = (name) => $("large").querySelector(name);

export function start(chooseFolder) {
  folder = chooseFolder;
  $("close").addEventListener("click", () => $("large").close());
  $("large").addEventListener("close", () => {
    const last = open;
    open = null;
    if (last && document.activeElement !== $("q")) focusOn(last); // the event comes late: one may be typing
  });
  $("large").addEventListener("keydown", step);
  $("large").addEventListener("click", (event) => { if (event.target === $("large")) $("large").close(); });
  $("previous").addEventListener("click", () => turn(-1));
  $("next").addEventListener("click", () => turn(1));
  $("heat").addEventListener("click", toggle);
  $("similar").addEventListener("click", () => {
    const hit = open;
    $("large").close();
    askLike({ like: hit, name: hit.path });
  });
}

export function enlarge(hit) {
  open = hit;
  const image = part(".picture img");
  image.removeAttribute("src");
  image.alt = hit.path;
  show(image, hit.image, hit.thumbnail);
  $("name").textContent = hit.path.split("/").pop();
  part("canvas").hidden = true;
  $("heat").setAttribute("aria-pressed", "false");
  $("heat").hidden = !question()?.size;
  const all = hits().map((one) => one.id);
  $("previous").disabled = all.indexOf(hit.id) <= 0;
  $("next").disabled = !all.includes(hit.id) || all.at(-1) === hit.id;
  describe(hit, {});
  $("captions").hidden = $("others").hidden = true;
  if (!$("large").open) $("large").showModal();
  $("large").scrollTo(0, 0);
  tellMore(hit);
}

async function tellMore(hit) {
  const about = `/v1/search?${new URLSearchParams({ like: hit.id, limit: SIMILAR, everything: "true" })}`;
  const [info, near] = await Promise.all([read(`/v1/images/${encodeURIComponent(hit.id)}/info`), read(about)]);
  if (open !== hit) return;
  if (info) describe(hit, info);
  showSimilar(near?.hits || []);
  const lent = (near?.hits || []).slice(0, LENDERS).map((one) => read(`/v1/images/${encodeURIComponent(one.id)}/info`));
  const texts = [info, ...(await Promise.all(lent))].flatMap((one) => (one?.captions || []).map((caption) => caption.text));
  if (texts.length && open === hit) await showCaptions(hit, [...new Set(texts)].slice(0, 200));
}

async function showCaptions(hit, captions) {
  const body = JSON.stringify({ id: hit.id, captions, limit: 3 });
  const found = await read("/v1/captions", { method: "POST", body, headers: { "Content-Type": "application/json" } });
  if (!found?.captions.length || open !== hit) return;
  const lines = found.captions.map(({ text }) => Object.assign(document.createElement("li"), { textContent: text, dir: "auto" }));
  $("captions").querySelector("ul").replaceChildren(...lines);
  $("captions").hidden = false;
}

function showSimilar(near) {
  const list = $("others").querySelector("ul");
  list.replaceChildren(...near.map((hit) => {
    const element = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button" });
    const image = Object.assign(document.createElement("img"), { alt: hit.path, loading: "lazy" });
    show(image, hit.thumbnail);
    button.append(image);
    button.addEventListener("click", () => { enlarge(hit); $("close").focus(); });
    element.append(button);
    return element;
  }));
  $("others").hidden = !near.length;
}

function describe(hit, info) {
  const parts = [];
  const taken = info.taken || hit.taken;
  if (taken) {
    const how = { dateStyle: "long", timeStyle: "short" };
    parts.push([word("taken"), new Intl.DateTimeFormat(locale(), how).format(new Date(taken))]);
  }
  if (hit.width) parts.push([word("size"), `${hit.width} × ${hit.height}`]);
  const place = hit.path.split("/").slice(0, -1).join("/");
  if (place) parts.push([word("folder"), folderButton(place)]);
  if (info.latitude != null && info.longitude != null) parts.push([word("place"), placeLink(info)]);
  if (info.tags?.length) parts.push([word("tags"), info.tags.join(", ")]);
  part("dl").replaceChildren(...parts.flatMap(([name, value]) => {
    const [term, detail] = ["dt", "dd"].map((tag) => document.createElement(tag));
    term.textContent = name;
    detail.dir = "auto";
    detail.append(value);
    return [term, detail];
  }));
}

function folderButton(place) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: place, dir: "auto" });
  button.addEventListener("click", () => { $("large").close(); folder(place); });
  return button;
}

function placeLink({ latitude, longitude }) {
  const said = [latitude, longitude].map((one) => one.toFixed(4));
  return Object.assign(document.createElement("a"), { href: `geo:${said.join(",")}`, textContent: said.join(", ") });
}

async function toggle() {
  const canvas = part("canvas");
  const wanted = $("heat").getAttribute("aria-pressed") !== "true";
  $("heat").setAttribute("aria-pressed", String(wanted));
  canvas.hidden = true;
  if (!wanted) return;
  const hit = open;
  const found = await read(`/v1/images/${encodeURIComponent(hit.id)}/heat?${question()}`);
  if (open !== hit || $("heat").getAttribute("aria-pressed") !== "true") return;
  if (!found) { $("heat").setAttribute("aria-pressed", "false"); $("heat").hidden = true; return; }
  draw(canvas, found);
  canvas.hidden = false;
}

function turn(way) {
  const all = hits();
  const next = all[all.findIndex((one) => one.id === open.id) + way];
  if (next) enlarge(next);
}

function step(event) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const way = event.key === "ArrowRight" ? 1 : -1;
  turn(document.documentElement.dir === "rtl" ? -way : way);
}
