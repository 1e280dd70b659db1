// The search box: names.js holds [name, address, about] of every function and section. Names that begin with what was
// typed come first, then those that contain it, then those whose description does. Enter opens the chosen one, the arrows choose.
"use strict";
const box = document.getElementById("search");
const results = document.getElementById("results");
let chosen = 0;

function rank([name, , about], word) {
  const lower = name.toLowerCase();
  const last = lower.slice(lower.lastIndexOf(".") + 1);
  if (lower === word || last === word) return 0;
  if (lower.startsWith(word) || last.startsWith(word)) return 1;
  if (lower.includes(word)) return 2;
  return about.toLowerCase().includes(word) ? 3 : 4;
}

function choose(index) {
  const links = results.querySelectorAll("a");
  chosen = Math.max(0, Math.min(index, links.length - 1));
  links.forEach((a, i) => a.classList.toggle("chosen", i === chosen));
}

function search() {
  const word = box.value.trim().toLowerCase();
  results.replaceChildren();
  if (word === "") return;
  const found = names.map((entry) => [rank(entry, word), entry]).filter(([r]) => r < 4);
  found.sort((a, b) => a[0] - b[0]); // stable: else in the order of the pages
  for (const [, [name, address, about]] of found.slice(0, 12)) {
    const a = document.createElement("a");
    a.href = address;
    a.textContent = name;
    const small = document.createElement("small");
    small.textContent = about;
    a.append(small);
    results.append(a);
  }
  if (found.length === 0) results.textContent = "nothing found";
  choose(0);
}

box.addEventListener("input", search);
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") choose(chosen + 1);
  else if (event.key === "ArrowUp") choose(chosen - 1);
  else if (event.key === "Escape") { box.value = ""; search(); }
  else if (event.key === "Enter") results.querySelectorAll("a")[chosen]?.click();
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== box) { box.focus(); event.preventDefault(); }
});
