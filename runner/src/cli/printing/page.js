
"use strict";
// The page is whole without this script, which only hides and moves what is there.
const table = document.getElementById("runs");
const form = document.getElementById("filters");
const [text, status, denied, count] = ["text", "status", "denied", "count"].map((id) => document.getElementById(id));
const runs = Array.from(table.tBodies, (body) => {
  const row = body.rows[0];
  return {
    body,
    text: body.textContent.toLowerCase(),
    status: row.cells[3].textContent,
    denied: body.className === "has-denials",
    keys: Array.from(row.cells, (cell) => cell.dataset.key ?? cell.textContent),
  };
});

function filter() {
  const words = text.value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const run of runs) {
    const fits = words.every((word) => run.text.includes(word))
      && (status.value === "" || run.status === status.value) && (!denied.checked || run.denied);
    run.body.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  count.textContent = `${shown} of ${runs.length} shown`;
}

function sort(column, heading) {
  const descending = heading.getAttribute("aria-sort") === "ascending";
  const order = new Intl.Collator(undefined, { numeric: true });
  runs.sort((a, b) => order.compare(a.keys[column], b.keys[column]) * (descending ? -1 : 1));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  table.append(...runs.map((run) => run.body));
}

Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = heading.textContent;
  button.addEventListener("click", () => sort(column, heading));
  heading.replaceChildren(button);
});
for (const word of [...new Set(runs.map((run) => run.status))].sort()) {
  const option = document.createElement("option");
  option.value = option.textContent = word;
  status.append(option);
}
// A click anywhere in a row opens it, unless text is being selected.
table.addEventListener("click", (event) => {
  const row = event.target.closest(".run");
  if (!row || event.target.closest("summary") || String(getSelection())) return;
  const details = row.querySelector("details");
  details.open = !details.open;
});
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
filter();
