// Pages of a list: only one of them is drawn.

export const Pager = {
  props: { total: Number, size: Number, modelValue: Number, what: String },
  emits: ["update:modelValue"],
  computed: {
    last() { return Math.max(0, Math.ceil(this.total / this.size) - 1); },
    page() { return Math.min(this.modelValue, this.last); },
    words() {
      const from = this.page * this.size;
      return `${(from + 1).toLocaleString("en-GB")} to ${Math.min(from + this.size, this.total).toLocaleString("en-GB")} of ${this.total.toLocaleString("en-GB")} ${this.what}`;
    },
  },
  template: `
<nav v-if="total > size" class="fs-pager" :aria-label="'Pages of ' + what">
  <button class="fs-button" type="button" :disabled="page === 0" @click="$emit('update:modelValue', page - 1)" aria-label="Previous page">←</button>
  <span role="status">{{ words }}</span>
  <button class="fs-button" type="button" :disabled="page === last" @click="$emit('update:modelValue', page + 1)" aria-label="Next page">→</button>
</nav>`,
};

// A choice of a few, as buttons beside each other.
export const Choice = {
  props: { options: Array, modelValue: String, label: String },
  emits: ["update:modelValue"],
  template: `
<div class="fs-choice" role="group" :aria-label="label">
  <button v-for="[value, words] in options" :key="value" type="button" :aria-pressed="value === modelValue" @click="$emit('update:modelValue', value)">{{ words }}</button>
</div>`,
};

// The rows of one page of a list.
export const pageOf = (rows, page, size) => {
  const last = Math.max(0, Math.ceil(rows.length / size) - 1);
  const from = Math.min(page, last) * size;
  return rows.slice(from, from + size);
};
