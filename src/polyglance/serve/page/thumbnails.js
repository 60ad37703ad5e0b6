// Thumbnails come a few at a time, those in sight first. Browsers hold six connections to a service,
// and a search that is typed meanwhile must not queue behind forty thumbnails of the letter before.
import { show } from "./service.js";

const AT_ONCE = 4; // leaves two connections to searches
const BESIDE = 1; // while a search is under way, after which those that wait may not be needed
const NEAR = "200px"; // of the window: closer ones are fetched before they are scrolled into sight
const addresses = new WeakMap();
const waiting = new Set();
const loading = new Set();
let held = false;

const near = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) if (isIntersecting) want(target);
  next();
}, { rootMargin: NEAR });

// Of an image that is new: fetched at once where it is in sight, else when it is about to be.
export function load(image, address, inSight) {
  addresses.set(image, address);
  if (inSight) want(image);
  else near.observe(image);
  next();
}

// An image that was taken away needs none any more.
export function drop(image) {
  near.unobserve(image);
  waiting.delete(image);
  if (loading.delete(image)) image.removeAttribute("src");
}

// A search is under way, or is not any more.
export function hold(whether) {
  held = whether;
  next();
}

function want(image) {
  near.unobserve(image);
  waiting.add(image);
}

function next() {
  while (loading.size < (held ? BESIDE : AT_ONCE) && waiting.size) {
    const [image] = waiting;
    waiting.delete(image);
    loading.add(image);
    fetchOne(image);
  }
}

async function fetchOne(image) {
  const done = () => { if (loading.delete(image)) next(); };
  image.addEventListener("load", done, { once: true });
  image.addEventListener("error", done, { once: true });
  try {
    await show(image, addresses.get(image));
  } finally {
    if (!image.hasAttribute("src")) done(); // there is none
  }
}
