// Tables on narrow screens: each row becomes a list, whose lines are named by the column's head.

function name(table) {
  const heads = [...table.tHead.rows[0].cells].map((one) => one.textContent.trim());
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, k) => { cell.dataset.of = heads[k] ?? ""; });
}

// Vue's directive `v-named`: cells know their column's head.
export const named = { mounted: name, updated: name };
