// The interface in the user's language.
import { $ } from "./service.js";

const KEPT = "polyglance.language";
const FROM_THE_RIGHT = ["ar"];
let all = {};
let words = {};
let loaded;

// A message that comes before the words do waits for them.
export const spoken = new Promise((resolve) => { loaded = resolve; });

export const word = (name) => words[name] || name;
export const language = () => document.documentElement.lang;
// With the country, which decides how dates are written.
export const locale = () => navigator.languages.find((one) => one.split("-")[0] === language()) || language();

export async function speak() {
  try {
    all = await (await fetch("/page/words.json")).json();
  } finally {
    loaded();
  }
  for (const code of Object.keys(all)) {
    const name = new Intl.DisplayNames([code], { type: "language" }).of(code);
    const option = new Option(name, code);
    option.lang = code;
    $("language").append(option);
  }
  const wanted = [localStorage.getItem(KEPT), ...navigator.languages];
  use(wanted.map((one) => (one || "").split("-")[0]).find((one) => one in all) || "en");
  $("language").addEventListener("change", () => {
    localStorage.setItem(KEPT, $("language").value);
    use($("language").value);
  });
}

function use(code) {
  words = { ...all.en, ...all[code] };
  document.documentElement.lang = code;
  document.documentElement.dir = FROM_THE_RIGHT.includes(code) ? "rtl" : "ltr";
  $("language").value = code;
  for (const part of document.querySelectorAll("[data-word]")) part.textContent = word(part.dataset.word);
  $("q").placeholder = word("hint");
  $("pick").title = word("pick");
  document.dispatchEvent(new Event("language"));
}
