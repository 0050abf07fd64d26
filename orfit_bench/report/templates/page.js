"use strict";
const FEW = 6; // tables with at most this many rows need no filter
// Tables of class "sortable": a click on a heading sorts, a second click reverses the order, and a text box filters rows.
// The controls are created here, so that the page shows none if scripts are disabled.

function compared(a, b) {
  const [x, y] = [a.dataset.value, b.dataset.value];
  if (x === y && x !== undefined) return 0; // Infinity - Infinity is NaN
  if (x !== undefined && y !== undefined) return Number(x) - Number(y);
  return a.textContent.localeCompare(b.textContent, "en", { numeric: true });
}

function sort(table, column, direction) {
  const body = table.tBodies[0];
  const cell = (row) => row.cells[column];
  const missing = (row) => cell(row).classList.contains("missing");
  const rows = Array.from(body.rows);
  rows.sort((a, b) => missing(a) - missing(b) || direction * compared(cell(a), cell(b)));
  body.append(...rows);
}

function addSorting(table) {
  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(table, column, up ? 1 : -1);
    });
  });
}

function addFilter(table) {
  const rows = Array.from(table.tBodies[0].rows);
  const bar = document.createElement("div");
  const input = document.createElement("input");
  const count = document.createElement("output");
  bar.className = "filter";
  input.type = "search";
  input.placeholder = "Filter rows by words";
  input.setAttribute("aria-label", "Filter the rows of: " + table.caption.textContent);
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = Array.from(row.cells, (cell) => cell.textContent.toLowerCase()).join(" ");
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = shown + " of " + rows.length + " rows";
  };
  input.addEventListener("input", filter);
  bar.append(input, count);
  table.closest(".listing").prepend(bar);
  filter();
}

for (const table of document.querySelectorAll("table.sortable")) {
  addSorting(table);
  if (table.tBodies[0].rows.length > FEW) addFilter(table);
}
