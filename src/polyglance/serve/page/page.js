// One search box; what is asked goes to the service of this page, and nothing goes elsewhere.
import { $ } from "./service.js";
import * as filters from "./filters.js";
import * as grid from "./grid.js";
import * as large from "./large.js";
import { askLike, more, search, takeSuggestion } from "./search.js";
import { speak } from "./words.js";

function take(files) {
  const picture = [...files].find((file) => file.type.startsWith("image/"));
  if (picture) askLike({ picture, name: picture.name });
}

function keys(event) {
  if (event.target === $("q") && event.key === "ArrowDown") {
    $("grid").querySelector("button")?.focus();
    event.preventDefault();
  } else if (event.key === "/" && !event.target.closest("input, select, dialog")) {
    $("q").focus();
    event.preventDefault();
  }
}

grid.start(large.enlarge);
filters.start(search);
large.start((folder) => filters.choose(folder, search));
$("q").addEventListener("input", () => search());
$("form").addEventListener("submit", (event) => { event.preventDefault(); search(); });
$("more").addEventListener("click", more);
$("closest").addEventListener("click", () => search(true));
$("meant").querySelector("button").addEventListener("click", takeSuggestion);
$("unlike").addEventListener("click", () => { askLike({}); $("q").focus(); });
$("file").addEventListener("change", (event) => { take(event.target.files); event.target.value = ""; });
document.addEventListener("keydown", keys);
document.addEventListener("paste", (event) => take(event.clipboardData.files));
document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  take(event.dataTransfer.files);
});
await speak();
const kept = new URLSearchParams(location.hash.slice(1)).get("q");
if (kept && !$("q").value) { // one may have begun to type meanwhile
  $("q").value = kept;
  search();
}
