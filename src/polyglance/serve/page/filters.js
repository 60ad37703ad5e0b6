// Which pictures are searched: folder and dates.
import { $, read } from "./service.js";
import { word } from "./words.js";

let loaded = false;

export function start(changed) {
  $("filters").addEventListener("toggle", load);
  document.addEventListener("language", () => { if ($("folder").options.length) $("folder").options[0].text = word("folders"); });
  for (const name of ["folder", "from", "to"]) $(name).addEventListener("change", changed);
  $("clear").addEventListener("click", () => {
    for (const name of ["folder", "from", "to"]) $(name).value = "";
    changed();
  });
}

// As parameters of a search; what is empty is left out.
export function chosen() {
  const pairs = ["folder", "from", "to"].map((name) => [name, $(name).value]);
  return Object.fromEntries(pairs.filter(([, value]) => value));
}

export async function choose(folder, changed) {
  $("filters").open = true;
  await load();
  $("folder").value = folder;
  changed();
}

async function load() {
  if (loaded) return;
  loaded = true;
  const facets = await read("/v1/facets");
  if (!facets) { loaded = false; return; }
  $("folder").replaceChildren(new Option(word("folders"), ""));
  for (const { name, pictures } of facets.folders) $("folder").append(new Option(`${name} (${pictures})`, name));
  for (const name of ["from", "to"]) {
    $(name).parentElement.hidden = !facets.dates;
    if (facets.dates) [$(name).min, $(name).max] = [facets.dates.from, facets.dates.to];
  }
}
