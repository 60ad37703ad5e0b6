// What is asked, and what comes back.
import { $, call, read } from "./service.js";
import { chosen } from "./filters.js";
import { fill, hits } from "./grid.js";
import { hold } from "./thumbnails.js";
import { language, word, spoken } from "./words.js";

const PAGE = "40"; // pictures that are fetched at a time
const IDLE = 500; // without a keystroke before the address changes and other spellings are looked for
const asked = { like: null, picture: null, everything: false };
let running = false;
let waiting = false;
let shown = null; // the search whose results are there: { parts, options, cursor }
let idle = 0;
let again = 0;

// The parameters that say what was looked for, for the map of what matched; null for an upload.
export function question() {
  if (!shown || shown.options.body) return null;
  const parts = new URLSearchParams();
  for (const name of ["q", "like"]) if (shown.parts.get(name)) parts.set(name, shown.parts.get(name));
  return parts;
}

export function askLike({ like = null, picture = null, name = "" }) {
  Object.assign(asked, { like, picture });
  $("like").hidden = !like && !picture;
  $("like").querySelector("bdi").textContent = name;
  search();
}

// A search begins with the keystroke. While one is under way no other does: a service that is
// slow would get ever more to do.
export async function search(everything = false) {
  asked.everything = everything === true;
  rest();
  if (running) { waiting = true; return; }
  const text = $("q").value.trim();
  if (!text && !asked.like && !asked.picture) { clear(); return; }
  running = true;
  hold(true);
  $("grid").setAttribute("aria-busy", "true");
  await ask(request(text));
  running = false;
  hold(waiting);
  $("grid").setAttribute("aria-busy", "false");
  if (waiting) { waiting = false; search(); }
}

function request(text) {
  const parts = new URLSearchParams({ limit: PAGE, ...chosen() });
  if (text) parts.set("q", text);
  if (asked.like) parts.set("like", asked.like.id);
  if (asked.everything) parts.set("everything", "true");
  if (!asked.picture) return { parts, options: {} };
  const type = asked.picture.type.startsWith("image/") ? asked.picture.type : "application/octet-stream";
  return { parts, options: { method: "POST", body: asked.picture, headers: { "Content-Type": type } } };
}

async function ask({ parts, options }) {
  try {
    const answer = await call(`/v1/search?${parts}`, options);
    const later = answer.status === 503 && Number(answer.headers.get("Retry-After"));
    if (later) { // it is indexing, or overloaded
      await spoken;
      clear(word("busy"));
      again = setTimeout(() => search(asked.everything), 1000 * later);
      return;
    }
    const found = await answer.json();
    if (!answer.ok) { clear(found.error.message); return; }
    if (!$("q").value.trim() && !asked.like && !asked.picture) { clear(); return; }
    shown = { parts, options, cursor: found.cursor };
    fill(found.hits);
    window.scrollTo(0, 0);
    tell(found);
  } catch {
    await spoken;
    clear(word("unreachable"));
  }
}

export async function more() {
  const { parts, options, cursor } = shown;
  parts.set("cursor", cursor);
  const found = await read(`/v1/search?${parts}`, options);
  if (!found) { search(); return; } // the pictures have changed
  shown.cursor = found.cursor;
  fill(found.hits, true);
  tell(found);
}

function clear(message = "") {
  shown = null;
  fill([]);
  $("more").hidden = $("closest").hidden = true;
  $("status").textContent = message;
}

function tell(found) {
  const count = hits().length;
  $("more").hidden = !found.cursor;
  $("closest").hidden = count > 0 || asked.everything || !["no_match", "hardly_known"].includes(found.reason);
  const said = count ? [word("found").replace("{n}", count.toLocaleString(language()))] : nothing(found.reason);
  $("status").textContent = [...said, ...found.notes].join(" · ");
}

function nothing(reason) {
  if (reason === "empty") return [word("empty")];
  if (reason === "filtered") return [word("filtered")];
  return reason === "hardly_known" ? [word("nothing"), word("hardly")] : [word("nothing")];
}

// What is not part of a search waits until nobody types: browsers take long to change an address.
function rest() {
  clearTimeout(idle);
  clearTimeout(again);
  $("meant").hidden = true;
  idle = setTimeout(() => { keep(); suggest(); }, IDLE);
}

function keep() {
  const text = $("q").value.trim();
  history.replaceState(null, "", text ? `#${new URLSearchParams({ q: text })}` : location.pathname);
}

async function suggest() {
  const text = $("q").value.trim();
  if (!text || asked.picture || asked.like) return;
  const found = await read(`/v1/suggestions?${new URLSearchParams({ q: text })}`);
  if (!found?.suggestion || text !== $("q").value.trim()) return;
  const button = $("meant").querySelector("button");
  button.textContent = found.suggestion;
  $("meant").hidden = false;
}

export function takeSuggestion() {
  $("q").value = $("meant").querySelector("button").textContent;
  $("q").focus();
  search();
}
