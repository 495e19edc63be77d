// Jobs that run and wait, and the deadlines of promises, on an axis of time that moves.

import { away, clockTime, count, day, duration, fullTime, percent, plural, time } from "forestall-page/format.js";
import { Choice, Pager, pageOf } from "forestall-page/pager.js";
import { named } from "forestall-page/table.js";

const SPANS = [["6", "6 h"], ["24", "24 h"], ["72", "3 d"], ["168", "7 d"]];
const STEPS = [900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800];
const BEFORE = 0.2; // of the axis lies in the past
const BINS = 160;

// What stands in one row of the document "jobs".
const jobOf = ([id, user, name, partition, state, why, nodes, start, end, promise, submit, on]) =>
  ({ id, user, name, partition, state, why, nodes, start, end, promise, submit, on, runs: /RUN|COMPLETING|SUSPEND/.test(state) });

export const Timeline = {
  components: { Pager, Choice },
  directives: { named },
  props: { jobs: Object, deadlines: Object, now: Number, cluster: Object, viewer: Object, size: Number, narrow: Boolean },
  data: () => ({ way: "line", span: "", among: "all", text: "", page: 0 }),
  computed: {
    all() { return this.jobs.jobs.map(jobOf); },
        amongs() {
      const some = [["all", "All"], ["running", "Running"], ["waiting", "Waiting"], ["promised", "Promised"]];
      return this.viewer.operates ? some : [...some, ["mine", "Mine"]];
    },
    rows() {
      const words = this.text.trim().toLowerCase();
      const kept = this.all.filter((one) =>
        (this.among === "all" || (this.among === "running" && one.runs) || (this.among === "waiting" && !one.runs) || (this.among === "promised" && one.promise) || (this.among === "mine" && one.user)) &&
        (!words || `${one.id} ${one.name} ${one.user} ${one.partition} ${one.state}`.toLowerCase().includes(words)));
      const order = (one) => one.start ?? Infinity;
      return kept.sort((a, b) => (b.promise !== "") - (a.promise !== "") || order(a) - order(b) || a.id - b.id);
    },
    shown() { return pageOf(this.rows, this.page, this.size); },
    hours() {
      if (this.span) return Number(this.span);
      const ends = this.all.map((one) => one.end).filter(Boolean).sort((a, b) => a - b);
      const far = ends.length ? (ends[Math.floor(0.9 * (ends.length - 1))] - this.now) / 3600 : 0;
      return Number((SPANS.find(([hours]) => far <= hours * (1 - BEFORE)) || SPANS[3])[0]);
    },
    from() { return this.now - BEFORE * 3600 * this.hours; },
    to() { return this.from + 3600 * this.hours; },
    ticks() {
      const step = STEPS.find((one) => (this.to - this.from) / one <= (this.narrow ? 3 : 8)) || 172800;
      const zero = new Date(1000 * this.from).setHours(0, 0, 0, 0) / 1000;
      const found = [];
      for (let at = zero; at < this.to; at += step)
        if (at >= this.from) found.push({ at, x: this.x(at), words: new Date(1000 * at).getHours() === 0 && step >= 3600 ? day(at) : clockTime(at) });
      return found.filter(({ x }) => x > (this.narrow ? 6 : 1) && x < (this.narrow ? 92 : 97));
    },
    load() {
      const change = new Float64Array(BINS + 2);
      const bin = (at) => Math.max(0, Math.min(BINS, Math.round(((at - this.from) / (this.to - this.from)) * BINS)));
      for (const one of this.all) {
        if (one.start === null || one.end === null || one.end <= this.from || one.start >= this.to) continue;
        change[bin(one.start)] += one.nodes;
        change[bin(one.end)] -= one.nodes;
      }
      const most = Math.max(1, this.cluster.nodes);
      let used = 0, path = "M0 40";
      for (let k = 0; k <= BINS; k += 1) {
        const before = used;
        used += change[k];
        const x = (100 * k) / BINS, y = (value) => 40 - 38 * Math.min(1, value / most);
        path += ` L${x} ${y(before).toFixed(2)} L${x} ${y(used).toFixed(2)}`;
      }
      return `${path} L100 40 Z`;
    },
    runs() { return this.all.filter((one) => one.runs).length; },
    lead() {
      const { all, runs } = this;
      const waits = all.length - runs, sure = all.filter((one) => one.promise).length;
      return `${plural(runs, "job")} ${runs === 1 ? "runs" : "run"}, ${count(waits)} ${waits === 1 ? "waits" : "wait"}; ${count(sure)} ${sure === 1 ? "carries" : "carry"} a promise.`;
    },
  },
  methods: {
    away, time, duration, percent, fullTime, count,
    x(at) { return (100 * (at - this.from)) / (this.to - this.from); },
    bar(one) {
      const start = Math.max(this.x(one.start ?? this.now), 0);
      const end = Math.min(this.x(one.end ?? this.to), 100);
      return { left: `${start}%`, width: `${Math.max(0.4, end - start)}%` };
    },
    drawn(one) { return one.start !== null && this.x(one.start) < 100 && this.x(one.end ?? this.to) > 0; },
    aside(one) {
      if (one.start === null) return "start not known";
      return this.x(one.start) >= 100 ? `starts ${this.time(one.start, this.now)} →` : "";
    },
    promise(one) {
      const told = one.promise ? this.deadlines?.deadlines[one.promise] : undefined;
      return told && { deadline: told[0], probability: told[1], likely: told[2] };
    },
    risk(one) {
      const promise = this.promise(one);
      return promise && promise.likely !== null && promise.likely < promise.probability - 0.02;
    },
    title(one) { return one.user || one.name ? one.name || `job ${one.id}` : "another user's job"; },
    words(one) {
      const promise = this.promise(one);
      return [
        `job ${one.id}: ${one.state}${one.why && one.why !== "None" ? ` (${one.why})` : ""}`,
        `${one.runs ? "started" : "planned to start"} ${this.time(one.start, this.now)}`, `ends by ${this.time(one.end, this.now)}`,
        promise ? `promised by ${this.time(promise.deadline, this.now)} with ${percent(promise.probability)}, now ${percent(promise.likely)}` : "",
      ].filter(Boolean).join("\n");
    },
  },
  template: `
<section class="fs-panel" aria-labelledby="fs-queue-title">
  <div class="fs-head">
    <h2 id="fs-queue-title">Queue and promises</h2>
    <input class="fs-field fs-search" type="search" v-model="text" placeholder="job, name, user" aria-label="Filter jobs by number, name, user or partition" @input="page = 0">
    <choice :options="amongs" v-model="among" label="Which jobs" @update:model-value="page = 0"></choice>
    <choice :options="[['line', 'Time line'], ['table', 'Table']]" v-model="way" label="How jobs are shown"></choice>
  </div>
  <p class="fs-soft fs-lead">{{ lead }}</p>
  <template v-if="way === 'line'">
    <div class="fs-line">
      <div class="fs-line-key"><choice :options="[['6', '6 h'], ['24', '24 h'], ['72', '3 d'], ['168', '7 d']]" :model-value="String(hours)" @update:model-value="span = $event" label="Length of the time line"></choice></div>
      <div class="fs-axis" aria-hidden="true"><span v-for="one in ticks" :key="one.at" :style="{ left: one.x + '%' }">{{ one.words }}</span></div>
      <div class="fs-line-key fs-soft">nodes in use <b>{{ count(cluster.busy) }} of {{ count(cluster.nodes) }}</b></div>
      <div class="fs-load"><svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label="Nodes in use, now and planned, along the time line"><path :d="load"></path></svg></div>
      <div class="fs-grid" aria-hidden="true"><i v-for="one in ticks" :key="one.at" :style="{ left: one.x + '%' }"></i><i class="fs-now" :style="{ left: x(now) + '%' }"><b>now {{ time(now, now).replace('today ', '') }}</b></i></div>
      <template v-for="one in shown" :key="one.id">
        <div class="fs-line-key" :title="words(one)"><span class="fs-cut"><b>{{ title(one) }}</b></span><span class="fs-soft fs-cut">{{ one.id }}{{ one.user ? ' · ' + one.user : '' }} · {{ count(one.nodes) }} {{ one.nodes === 1 ? 'node' : 'nodes' }}</span></div>
        <div class="fs-row" :title="words(one)">
          <span v-if="drawn(one)" class="fs-bar" :class="{ 'fs-runs': one.runs, 'fs-sure': one.promise, 'fs-theirs': !one.user && !viewer.operates }" :style="bar(one)"></span>
          <span v-if="aside(one)" class="fs-aside fs-soft" :class="{ 'fs-right': one.start !== null }">{{ aside(one) }}</span>
          <span v-if="promise(one) && x(promise(one).deadline) > 0 && x(promise(one).deadline) < 100" class="fs-mark" :class="{ 'fs-risky': risk(one) }" :style="{ left: x(promise(one).deadline) + '%' }"><i></i><em>{{ percent(promise(one).likely ?? promise(one).probability) }}</em></span>
          <span v-if="promise(one) && x(promise(one).deadline) >= 100" class="fs-mark fs-beyond" :class="{ 'fs-risky': risk(one) }"><em>deadline {{ time(promise(one).deadline, now) }} →</em></span>
        </div>
      </template>
    </div>
    <p class="fs-soft fs-keys"><span><i class="fs-bar fs-runs"></i>runs</span><span><i class="fs-bar"></i>planned</span><span><i class="fs-bar fs-runs fs-sure"></i><i class="fs-bar fs-sure"></i>the same, with a promise</span><span><i class="fs-mark"><i></i></i>its deadline, and how likely it is kept</span><span><i class="fs-mark fs-risky"><i></i></i>less likely than stated</span></p>
  </template>
  <div v-else class="fs-scroll"><table v-named class="fs-table" aria-label="Jobs">
    <thead><tr><th scope="col" class="fs-n">Job</th><th scope="col">Name</th><th scope="col">User</th><th scope="col">State</th><th scope="col" class="fs-n">Nodes</th><th scope="col">Start</th><th scope="col">Ends by</th><th scope="col">Promised by</th><th scope="col" class="fs-n">Stated</th><th scope="col" class="fs-n">Likely now</th></tr></thead>
    <tbody><tr v-for="one in shown" :key="one.id"><th scope="row" class="fs-n">{{ one.id }}</th><td class="fs-long">{{ one.name || '-' }}</td><td>{{ one.user || '-' }}</td><td>{{ one.state.toLowerCase() }}</td><td class="fs-n">{{ count(one.nodes) }}</td><td :title="fullTime(one.start)">{{ time(one.start, now) }}</td><td :title="fullTime(one.end)">{{ time(one.end, now) }}</td><td>{{ time(promise(one)?.deadline, now) }}</td><td class="fs-n">{{ percent(promise(one)?.probability) }}</td><td class="fs-n">{{ percent(promise(one)?.likely) }}</td></tr></tbody>
  </table></div>
  <p v-if="!rows.length" class="fs-empty">{{ all.length ? 'No job matches the filter.' : 'No job waits or runs.' }}</p>
  <pager :total="rows.length" :size="size" v-model="page" what="jobs"></pager>
</section>`,
};
