// Every node as a cell: its colour tells its reliability over the next 24 h, a mark its state.

import { away, count, evenPercent, percent, time } from "forestall-page/format.js";
import { Choice, Pager, pageOf } from "forestall-page/pager.js";
import { named } from "forestall-page/table.js";

const KINDS = ["free", "busy", "out of service", "down"];
const RISKS = [
  [9900, "99 % or more"],
  [9500, "95 to 99 %"],
  [8000, "80 to 95 %"],
  [5000, "50 to 80 %"],
  [0, "below 50 %"],
];
const UNKNOWN = RISKS.length;
// By the share as it is shown, with one digit after the point.
const riskOf = (value) => (value < 0 ? UNKNOWN : RISKS.findIndex(([least]) => Math.round(value / 10) * 10 >= least));

// Ink that is read well on a colour.
function inkOn(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map((one) => (Number(one) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#15191d" : "#f2f5f7";
}

export const NodeMap = {
  components: { Pager, Choice },
  directives: { named },
  props: { nodes: Object, now: Number, tall: Number },
  data: () => ({ way: "map", text: "", kind: null, risk: null, at: -1, tip: null, frame: {}, page: 0, width: 0, sort: "name" }),
  computed: {
    total() { return this.nodes.names.length; },
    risks() { return this.nodes.reliability.map(riskOf); },
    kinds() { return Array.from(this.nodes.kinds, Number); },
    kindCounts() { return KINDS.map((_, k) => this.kinds.reduce((sum, one) => sum + (one === k), 0)); },
    riskCounts() {
      const sums = new Array(UNKNOWN + 1).fill(0);
      this.risks.forEach((one, k) => { if (this.kinds[k] !== 3) sums[one] += 1; });
      return sums;
    },
    riskNames() { return [...RISKS.map(([, words]) => words), "not predicted"]; },
    chosen() {
      const words = this.text.trim().toLowerCase();
      return this.nodes.names.map((name, k) =>
        (this.kind === null || this.kinds[k] === this.kind) &&
        (this.risk === null || (this.risks[k] === this.risk && this.kinds[k] !== 3)) &&
        (!words || name.toLowerCase().includes(words) || this.nodes.partitions[this.nodes.partition[k]].toLowerCase().includes(words) || this.nodes.states[this.nodes.state[k]].toLowerCase().includes(words)));
    },
    filtered() { return this.kind !== null || this.risk !== null || this.text.trim() !== ""; },
    rows() {
      const kept = this.nodes.names.map((_, k) => k).filter((k) => this.chosen[k]);
      const rel = this.nodes.reliability;
      if (this.sort === "risk") kept.sort((a, b) => (rel[a] < 0) - (rel[b] < 0) || rel[a] - rel[b] || a - b);
      return kept;
    },
    shown() { return pageOf(this.rows, this.page, 25); },
    layout() {
      const width = this.width || 300, n = Math.max(1, this.total);
      let cell = Math.min(this.tall > 400 ? 104 : 72, width);
      while (cell > 6 && Math.ceil(n / Math.floor(width / cell)) * cell > this.tall) cell -= 1;
      const columns = Math.max(1, Math.floor(width / cell));
      const stretched = n >= columns ? width / columns : cell;
      const across = Math.min(stretched, cell * 1.6);
      return { across, down: cell, columns, rows: Math.ceil(n / columns) };
    },
    tipWords() { return this.at < 0 ? "" : this.words(this.at); },
  },
  watch: {
    nodes() { this.draw(); },
    chosen() { this.draw(); },
    layout() { this.draw(); },
    way() { this.$nextTick(() => { this.watchWidth(); this.draw(); }); },
  },
  mounted() {
    this.observer = new ResizeObserver(() => this.watchWidth());
    this.observer.observe(this.$el);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => requestAnimationFrame(() => this.draw());
    this.scheme.addEventListener("change", this.redraw);
    addEventListener("forestall-theme", this.redraw);
    this.watchWidth();
    this.draw();
  },
  beforeUnmount() {
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
    removeEventListener("forestall-theme", this.redraw);
  },
  methods: {
    count, evenPercent, time,
    watchWidth() { const box = this.$refs.box; if (box && box.clientWidth) this.width = box.clientWidth; },
    of(k) {
      const { names, states, state, reliability, predictors, by, partitions, partition, free_at, jobs, reasons } = this.nodes;
      return {
        name: names[k], state: states[state[k]], kind: KINDS[this.kinds[k]],
        reliability: reliability[k] < 0 ? null : reliability[k] / 10000, by: predictors[by[k]],
        partitions: partitions[partition[k]], free: free_at[k], jobs: jobs[k] || [], reason: reasons[k] || "",
      };
    },
    words(k) {
      const one = this.of(k);
      const said = one.reliability === null ? "reliability not predicted" : `reliability over the next 24 h ${percent(one.reliability)}${one.by ? ` (${one.by})` : ""}`;
      return [
        `${one.name}: ${one.state}`, said,
        one.free ? `work ends by ${time(one.free, this.now)} (${away(one.free, this.now)})` : "",
        one.jobs.length ? `${one.jobs.length === 1 ? "job" : "jobs"} ${one.jobs.slice(0, 6).join(", ")}${one.jobs.length > 6 ? ` and ${one.jobs.length - 6} more` : ""}` : "",
        one.reason ? `reason: ${one.reason}` : "",
      ].filter(Boolean).join("\n");
    },
    colours() {
      const style = (name) => getComputedStyle([this.$refs[name]].flat()[0]).backgroundColor;
      const risks = [0, 1, 2, 3, 4, 5].map((k) => style(`r${k}`));
      return { risks, inks: risks.map(inkOn), down: style("down"), ink: getComputedStyle(this.$el).color, mark: getComputedStyle(this.$refs.down).color, font: getComputedStyle(this.$el).fontFamily };
    },
    draw() {
      const canvas = this.$refs.canvas;
      if (!canvas || this.way !== "map") return;
      const { across, down, columns, rows } = this.layout;
      const ratio = devicePixelRatio || 1;
      canvas.width = Math.ceil(across * columns * ratio);
      canvas.height = Math.ceil(down * rows * ratio);
      canvas.style.width = `${across * columns}px`;
      canvas.style.height = `${down * rows}px`;
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      const look = this.colours();
      for (let k = 0; k < this.total; k += 1) this.cell(pen, k, look);
    },
    cell(pen, k, look) {
      const { across, down, columns } = this.layout;
      const gap = down > 24 ? 4 : down > 12 ? 2 : 1;
      const x = (k % columns) * across, y = Math.floor(k / columns) * down, w = across - gap, h = down - gap;
      const kind = this.kinds[k];
      pen.globalAlpha = this.chosen[k] ? 1 : 0.14;
      pen.fillStyle = kind === 3 ? look.down : look.risks[this.risks[k]];
      pen.beginPath();
      pen.roundRect(x, y, w, h, down > 24 ? 6 : down > 12 ? 3 : 1);
      pen.fill();
      if (kind === 2) this.hatch(pen, x, y, w, h, look.inks[this.risks[k]]);
      if (kind === 3 && down > 8) this.cross(pen, x, y, w, h, look);
      if (kind === 1 && down > 8) {
        const thick = down > 24 ? 5 : 2;
        pen.fillStyle = look.inks[this.risks[k]];
        pen.beginPath();
        pen.roundRect(x + w * 0.08, y + h - thick - h * 0.08, w * 0.84, thick, thick / 2);
        pen.fill();
      }
      if (down >= 40) this.label(pen, k, x, y, w, h, look);
      pen.globalAlpha = 1;
    },
    hatch(pen, x, y, w, h, ink) {
      pen.save();
      pen.beginPath(); pen.rect(x, y, w, h); pen.clip();
      pen.strokeStyle = ink; pen.lineWidth = h > 24 ? 1.5 : 1; pen.globalAlpha *= h > 36 ? 0.22 : 0.55;
      for (let s = -h; s < w; s += Math.max(4, h / 5)) {
        pen.beginPath(); pen.moveTo(x + s, y + h); pen.lineTo(x + s + h, y); pen.stroke();
      }
      pen.restore();
    },
    cross(pen, x, y, w, h, look) {
      const s = Math.min(w, h) * 0.22, cx = x + w / 2, cy = y + (h > 36 ? h * 0.66 : h / 2);
      pen.strokeStyle = look.mark; pen.lineWidth = Math.max(1.2, h / 16);
      pen.beginPath();
      pen.moveTo(cx - s, cy - s); pen.lineTo(cx + s, cy + s); pen.moveTo(cx + s, cy - s); pen.lineTo(cx - s, cy + s);
      pen.stroke();
    },
    label(pen, k, x, y, w, h, look) {
      const down = this.kinds[k] === 3;
      pen.fillStyle = down ? look.mark : look.inks[this.risks[k]];
      pen.font = `600 ${Math.min(13, h / 4.2)}px ${look.font}`;
      pen.textAlign = "center"; pen.textBaseline = "middle";
      pen.fillText(this.nodes.names[k], x + w / 2, y + h * 0.3, w - 4);
      if (down) return;
      pen.font = `${Math.min(12, h / 4.6)}px ${look.font}`;
      const value = this.nodes.reliability[k];
      pen.fillText(value < 0 ? "-" : evenPercent(value / 10000), x + w / 2, y + h * 0.58, w - 4);
    },
    point(k) {
      if (k < 0 || k >= this.total) { this.at = -1; this.tip = null; return; }
      const { across, down, columns } = this.layout;
      this.at = k;
      const x = (k % columns) * across, y = Math.floor(k / columns) * down;
      const flip = x + 260 > this.width, gap = down > 24 ? 4 : down > 12 ? 2 : 1;
      this.frame = { left: `${x}px`, top: `${y}px`, width: `${across - gap}px`, height: `${down - gap}px` };
      this.tip = { left: `${flip ? Math.max(0, x - 250) : x + across + 4}px`, top: `${y + down + 2}px` };
    },
    hover(event) {
      const { across, down, columns } = this.layout;
      const x = Math.floor(event.offsetX / across), y = Math.floor(event.offsetY / down);
      const k = x < columns ? y * columns + x : -1;
      if (k !== this.at) this.point(k);
    },
    key(event) {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.layout.columns, ArrowDown: this.layout.columns }[event.key];
      if (event.key === "Escape") return this.point(-1);
      if (event.key === "Home") { event.preventDefault(); return this.point(0); }
      if (event.key === "End") { event.preventDefault(); return this.point(this.total - 1); }
      if (step === undefined) return undefined;
      event.preventDefault();
      const next = this.at < 0 ? 0 : this.at + step;
      if (next >= 0 && next < this.total) this.point(next);
      return undefined;
    },
    toggle(name, value) { this[name] = this[name] === value ? null : value; this.page = 0; },
    clear() { this.text = ""; this.kind = this.risk = null; },
  },
  template: `
<section class="fs-panel" aria-labelledby="fs-nodes-title">
  <div class="fs-head">
    <h2 id="fs-nodes-title">Nodes <small>reliability over the next 24 h</small></h2>
    <input class="fs-field fs-search" type="search" v-model="text" placeholder="name, partition, state" aria-label="Filter nodes by name, partition or state" @input="page = 0">
    <choice :options="[['map', 'Map'], ['table', 'Table']]" v-model="way" label="How nodes are shown"></choice>
  </div>
  <div class="fs-legend">
    <div role="group" aria-label="Filter by reliability">
      <button v-for="(words, k) in riskNames" :key="words" type="button" :aria-pressed="risk === k" v-show="riskCounts[k] || k < 5" @click="toggle('risk', k)">
        <i class="fs-swatch" :class="'fs-r' + k" :ref="'r' + k"></i>{{ words }} <b>{{ count(riskCounts[k]) }}</b></button>
    </div>
    <div role="group" aria-label="Filter by state">
      <button type="button" :aria-pressed="kind === 0" @click="toggle('kind', 0)"><i class="fs-swatch fs-free"></i>free <b>{{ count(kindCounts[0]) }}</b></button>
      <button type="button" :aria-pressed="kind === 1" @click="toggle('kind', 1)"><i class="fs-swatch fs-busy"></i>busy <b>{{ count(kindCounts[1]) }}</b></button>
      <button type="button" :aria-pressed="kind === 2" @click="toggle('kind', 2)"><i class="fs-swatch fs-out"></i>out of service <b>{{ count(kindCounts[2]) }}</b></button>
      <button type="button" :aria-pressed="kind === 3" @click="toggle('kind', 3)"><i class="fs-swatch fs-down" ref="down">×</i>down <b>{{ count(kindCounts[3]) }}</b></button>
      <button v-if="filtered" type="button" class="fs-clear" @click="clear">show all</button>
    </div>
  </div>
  <div v-if="way === 'map'" class="fs-map" ref="box" @mouseleave="point(-1)">
    <canvas ref="canvas" tabindex="0" role="application" aria-roledescription="map of nodes" :aria-label="total + ' nodes; move with the arrow keys, or choose Table'" aria-describedby="fs-node-words" @mousemove="hover" @click="hover" @keydown="key" @blur="point(-1)"></canvas>
    <i v-if="tip" class="fs-frame" :style="frame"></i>
    <div v-if="tip" class="fs-tip" :style="tip" aria-hidden="true">{{ tipWords }}</div>
    <span id="fs-node-words" class="fs-unseen" role="status">{{ tipWords }}</span>
  </div>
  <template v-else>
    <div class="fs-scroll"><table v-named class="fs-table" aria-label="Nodes">
      <thead><tr><th scope="col" :aria-sort="sort === 'name' ? 'ascending' : 'none'"><button type="button" @click="sort = 'name'">Node</button></th><th scope="col">State</th>
        <th scope="col" class="fs-n" :aria-sort="sort === 'risk' ? 'ascending' : 'none'"><button type="button" @click="sort = 'risk'">Reliability, 24 h</button></th><th scope="col">Predictor</th><th scope="col">Partitions</th><th scope="col">Work ends by</th><th scope="col">Jobs</th><th scope="col">Reason</th></tr></thead>
      <tbody><tr v-for="k in shown" :key="k"><th scope="row">{{ of(k).name }}</th><td>{{ of(k).state }}</td><td class="fs-n">{{ evenPercent(of(k).reliability) }}</td><td>{{ of(k).by || "-" }}</td><td>{{ of(k).partitions }}</td><td>{{ of(k).free ? time(of(k).free, now) : "-" }}</td><td class="fs-long">{{ of(k).jobs.slice(0, 6).join(", ") || "-" }}</td><td class="fs-long">{{ of(k).reason || "-" }}</td></tr></tbody>
    </table></div>
    <p v-if="!rows.length" class="fs-empty">No node matches the filter.</p>
    <pager :total="rows.length" :size="25" v-model="page" what="nodes"></pager>
  </template>
</section>`,
};
