// Pictures in rows that fill the width, each in its own proportions.
import { $ } from "./service.js";
import { drop, load } from "./thumbnails.js";

const GAP = 6;
const ROW = { narrow: 110, wide: 190 }; // pixels that a row is high, about
const NARROWEST = 0.4, WIDEST = 4; // of a picture; others are cut
let items = []; // { hit, element, ratio, top }
let opener = () => {};

export const hits = () => items.map((item) => item.hit);

export function start(open) {
  opener = open;
  new ResizeObserver(arrange).observe($("grid"));
  $("grid").addEventListener("keydown", step);
  $("grid").addEventListener("focusin", (event) => enter(event.target));
}

export function fill(found, more = false) {
  // Pictures that stay keep their elements: nothing flickers while one types.
  const there = new Map(items.map((item) => [item.hit.id, item]));
  const fresh = found.map((hit) => ({ ...(there.get(hit.id) || make(hit)), hit }));
  const same = !more && fresh.length === items.length && fresh.every((item, place) => item.element === items[place].element);
  items = more ? [...items, ...fresh] : fresh;
  const kept = new Set(items.map((item) => item.element));
  for (const item of there.values()) if (!kept.has(item.element)) drop(picture(item));
  if (!same) $("grid").replaceChildren(...kept);
  for (const item of items) button(item).tabIndex = -1;
  if (items.length) button(items[0]).tabIndex = 0;
  arrange();
  // Of the rows above the window's end, without asking the browser where they are.
  for (const item of fresh) if (!there.has(item.hit.id)) load(picture(item), item.hit.thumbnail, !more && item.top < innerHeight);
  if (more && fresh.length) button(fresh[0]).focus();
}

export function focusOn(hit) {
  const item = items.find((one) => one.hit.id === hit.id);
  if (item) button(item).focus();
}

const button = (item) => item.element.firstChild;
const picture = (item) => button(item).firstChild;

function make(hit) {
  const element = document.createElement("li");
  const open = document.createElement("button");
  const image = document.createElement("img");
  image.alt = hit.path;
  image.decoding = "async";
  open.type = "button";
  open.append(image);
  element.append(open);
  const ratio = hit.width && hit.height ? hit.width / hit.height : 1;
  const item = { element, ratio: Math.min(WIDEST, Math.max(NARROWEST, ratio)) };
  open.addEventListener("click", () => opener(items.find((one) => one.element === element).hit));
  return item;
}

function arrange() {
  const width = $("grid").clientWidth;
  if (!width) return;
  const high = width < 600 ? ROW.narrow : ROW.wide;
  let row = [], sum = 0, top = 0;
  for (const item of items) {
    row.push(item);
    sum += item.ratio;
    if (sum * high + GAP * (row.length - 1) >= width) {
      const height = (width - GAP * (row.length - 1)) / sum;
      place(row, top, height);
      top += height + GAP;
      row = [];
      sum = 0;
    }
  }
  place(row, top, high);
}

function place(row, top, height) {
  for (const item of row) {
    const { element, ratio } = item;
    item.top = top;
    element.style.height = `${height}px`;
    element.style.width = `${Math.floor(height * ratio * 100) / 100}px`;
  }
}

function enter(target) {
  for (const item of items) button(item).tabIndex = button(item) === target ? 0 : -1;
}

// Arrow keys go from picture to picture, and from row to row.
function step(event) {
  const all = items.map(button);
  const here = all.indexOf(document.activeElement);
  const next = all[target(event.key, all, here)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function target(key, all, here) {
  const turn = document.documentElement.dir === "rtl" ? -1 : 1;
  if (key === "ArrowRight") return here + turn;
  if (key === "ArrowLeft") return here - turn;
  if (key === "Home") return 0;
  if (key === "End") return all.length - 1;
  if (key === "ArrowDown" || key === "ArrowUp") return beyond(all, here, key === "ArrowDown" ? 1 : -1);
  return -1;
}

// The picture of the next row whose middle is closest.
function beyond(all, here, way) {
  const boxes = all.map((one) => one.getBoundingClientRect());
  const middle = (box) => box.left + box.width / 2;
  const rows = boxes.filter((box) => way * (box.top - boxes[here].top) > 1).map((box) => way * box.top);
  const top = way * Math.min(...rows);
  let best = -1;
  boxes.forEach((box, place) => {
    if (Math.abs(box.top - top) > 1) return;
    const off = Math.abs(middle(box) - middle(boxes[here]));
    if (best < 0 || off < Math.abs(middle(boxes[best]) - middle(boxes[here]))) best = place;
  });
  return best;
}
