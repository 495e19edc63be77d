// Sorts a table by a column that is clicked, finds rows by a word, and fades the edges of what
// scrolls. A page reads the same without.
(() => {
  "use strict";
  const LENGTHS = { s: 1, min: 60, h: 3600, d: 86400 };
  const NUMBER = /^[(<>]?\s*([-\u2212]?[\d,]*\.?\d+(?:e[-+]?\d+)?)(?:\s*(?:%|\u00b1|\(|to\b|of\b|[a-zA-Z-]+|$))/;
  const number = (text) => {
    const found = NUMBER.exec(text);
    if (!found || /^\d{4}-\d\d/.test(text)) return NaN;
    const unit = /[\d.]\s+(s|min|h|d)\b/.exec(text);
    return Number(found[1].replaceAll(",", "").replace("\u2212", "-")) * (unit ? LENGTHS[unit[1]] : 1);
  };
  const text = (row, column) => row.cells[column].textContent.trim();

  const sort = (table, column, down) => {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row, place) =>
      ({ row, place, word: text(row, column), value: number(text(row, column)) }));
    const sign = down ? -1 : 1;
    keyed.sort((a, b) => {
      const sums = b.row.classList.contains("sum") - a.row.classList.contains("sum");
      if (sums) return sums;
      const lacks = isNaN(a.value) - isNaN(b.value);  // what is no number comes last, either way
      if (lacks) return lacks;
      const order = isNaN(a.value) ? a.word.localeCompare(b.word, "en", { numeric: true })
        : a.value - b.value;
      return sign * order || a.place - b.place;
    });
    body.append(...keyed.map((one) => one.row));
    for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
    table.tHead.rows[0].cells[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  };

  const sortable = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      // Of figures the largest comes first.
      const largest = !isNaN(number(text(table.tBodies[0].rows[table.tBodies[0].rows.length - 1], column)));
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        sort(table, column, now ? now === "ascending" : largest);
      });
    });
  };

  const searchable = (table) => {
    const box = document.createElement("p");
    const field = document.createElement("input");
    const count = document.createElement("span");
    const rows = [...table.tBodies[0].rows];
    box.className = "search";
    field.type = "search";
    field.placeholder = "Search " + rows.length + " rows";
    field.setAttribute("aria-label", "Search: " + table.getAttribute("aria-label"));
    count.setAttribute("role", "status");
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      const kept = rows.filter((row) => {
        const all = row.textContent.toLowerCase();
        return !(row.hidden = !words.every((word) => all.includes(word)));
      });
      count.textContent = field.value.trim() ? kept.length + " of " + rows.length + " rows" : "";
    });
    box.append(field, " ", count);
    table.parentElement.before(box);
  };

  // Where more is to be seen an edge fades.
  const fading = new Map();
  const fade = (box) => {
    box.classList.toggle("right", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
    box.classList.toggle("below", box.scrollTop + box.clientHeight < box.scrollHeight - 2);
  };
  const watch = new ResizeObserver((seen) => seen.forEach((one) => fade(fading.get(one.target))));
  for (const box of document.querySelectorAll(".forestall .scroll")) {
    for (const one of [box, box.firstElementChild]) {
      fading.set(one, box);
      watch.observe(one);
    }
    box.addEventListener("scroll", () => fade(box), { passive: true });
  }

  for (const table of document.querySelectorAll(".forestall table")) {
    const rows = table.tBodies[0].rows.length;
    if (rows > 2) sortable(table);
    if (rows > 9) searchable(table);
  }
})();
