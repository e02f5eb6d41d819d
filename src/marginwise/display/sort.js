"use strict";
// A click on a column's name sorts its table; a second click turns the order round. Empty cells stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        return cell.dataset.value === undefined ? cell.textContent : cell.dataset.value;
      };
      const compare = (a, b) => {
        const x = key(a), y = key(b);
        if (x === "" || y === "") return (x === "") - (y === "");
        const difference = Number(x) - Number(y);
        const order = Number.isNaN(difference) ? x.localeCompare(y, "en", { numeric: true }) : difference;
        return descending ? -order : order;
      };
      body.append(...Array.from(body.rows).sort(compare));
    });
  });
}
