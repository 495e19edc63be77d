// Promises: what was said, what is likely now, what was done, what became of them.

import { away, count, duration, fullTime, percent, plural, reason, time } from "forestall-page/format.js";
import { Choice, Pager, pageOf } from "forestall-page/pager.js";

export const Promises = {
  components: { Pager, Choice },
  props: { promises: Object, now: Number, viewer: Object },
  emits: ["go"],
  data: () => ({ among: "all", text: "", page: 0, open: "" }),
  computed: {
    all() { return this.promises.promises; },
    counts() {
      const sums = { open: 0, kept: 0, missed: 0, void: 0 };
      for (const one of this.all) sums[one.outcome] += 1;
      return sums;
    },
    lead() {
      const { open, kept, missed } = this.counts;
      if (!this.all.length) return "No promises yet.";
      const risky = this.all.filter(this.risky).length;
      return `${plural(open, "promise")} open${risky ? `, ${count(risky)} less likely than stated` : ""}; ${count(kept)} kept, ${count(missed)} missed.`;
    },
    rows() {
      const words = this.text.trim().toLowerCase();
      return this.all.filter((one) => (this.among === "all" || (this.among === "risky" ? this.risky(one) : one.outcome === this.among)) && (!words || `${one.id} ${one.job ?? ""} ${one.owner}`.toLowerCase().includes(words)));
    },
    shown() { return pageOf(this.rows, this.page, 20); },
    amongs() { return [["all", "All"], ["open", "Open"], ["risky", "At risk"], ["kept", "Kept"], ["missed", "Missed"], ["void", "Void"]]; },
  },
  methods: {
    away, count, duration, fullTime, percent, reason, time,
    risky(one) { return one.outcome === "open" && one.likely !== null && one.likely < one.probability - 0.02; },
    state(one) { return this.risky(one) ? "risky" : one.outcome; },
    stateWords(one) { return { open: "open", risky: "at risk", kept: "kept", missed: "missed", void: "void" }[this.state(one)]; },
    fate(one) {
      if (one.outcome === "open") return one.likely_end === null ? "end not planned yet" : `planned to end by ${time(one.likely_end, this.now)}`;
      const when = one.ended === null ? "" : ` ${time(one.ended, this.now)}`;
      if (one.outcome === "kept") return one.ended === null ? "kept" : `ended${when}, ${duration(one.deadline - one.ended)} to spare`;
      return `${one.outcome}${one.cause ? `: ${one.cause}` : ""}${when ? `, ended${when}` : ""}`;
    },
  },
  template: `
<h1 id="fs-promises-title">{{ viewer.operates ? 'All promises' : 'My promises' }}</h1>
<p class="fs-lead">{{ lead }}</p>
<section class="fs-panel fs-after" aria-labelledby="fs-promises-title">
  <div class="fs-head fs-tools">
    <input class="fs-field fs-search" type="search" v-model="text" :placeholder="viewer.operates ? 'promise, job, owner' : 'promise, job'" aria-label="Filter promises" @input="page = 0">
    <choice :options="amongs" v-model="among" label="Which promises" @update:model-value="page = 0"></choice></div>
  <ul class="fs-promises">
    <li v-for="one in shown" :key="one.id">
      <button class="fs-promise" type="button" :aria-expanded="open === one.id" @click="open = open === one.id ? '' : one.id">
        <span class="fs-pill" :class="'fs-' + state(one)">{{ stateWords(one) }}</span>
        <span class="fs-what"><b>{{ one.job === null ? 'promise ' + one.id.slice(0, 8) : 'job ' + one.job }}</b><span class="fs-soft">{{ viewer.operates ? one.owner + ' · ' : '' }}{{ count(one.nodes) }} {{ one.nodes === 1 ? 'node' : 'nodes' }} for {{ duration(one.length) }}</span></span>
        <span class="fs-what"><b>{{ percent(one.probability) }} by {{ time(one.deadline, now) }}</b><span class="fs-soft">{{ away(one.deadline, now) }}</span></span>
        <span class="fs-what"><b>{{ one.outcome === 'open' ? (one.likely === null ? 'likelihood not known' : percent(one.likely) + ' likely now') : fate(one) }}</b><span v-if="one.outcome === 'open'" class="fs-soft">{{ fate(one) }}</span></span>
        <span class="fs-more" aria-hidden="true">{{ open === one.id ? '▴' : '▾' }}</span>
      </button>
      <div v-if="open === one.id" class="fs-story">
        <dl>
          <div><dt>Promise</dt><dd><code>{{ one.id }}</code>, {{ one.reserved ? 'its start is reserved' : one.held ? reason(one.why, now) || 'its start is not reserved' : 'recorded only' }}{{ one.why && (one.reserved || !one.held) ? '; ' + reason(one.why, now) : '' }}</dd></div>
          <div><dt>Stated {{ time(one.at, now) }}</dt><dd>{{ percent(one.probability) }} by {{ fullTime(one.deadline) }}; start {{ time(one.start, now) }}</dd></div>
          <div><dt>{{ one.outcome === 'open' ? 'Now' : 'Outcome' }}</dt><dd>{{ one.outcome === 'open' ? (one.likely === null ? 'not known' : percent(one.likely) + ' likely') + ', ' + fate(one) : fate(one) }}</dd></div>
        </dl>
        <h3>Actions</h3>
        <ol v-if="one.done.length" class="fs-acts"><li v-for="(act, k) in one.done" :key="k"><time :title="fullTime(act.at)">{{ time(act.at, now) }}</time><span><b>{{ act.action }} {{ act.target }}</b>: {{ act.state }}<small v-if="act.reason">{{ reason(act.reason, now) }}</small></span></li></ol>
        <p v-else class="fs-soft">Nothing so far.</p>
      </div>
    </li>
  </ul>
  <p v-if="!rows.length" class="fs-empty">{{ all.length ? 'No promise matches the filter.' : 'Ask for a quote and take an offer: the promise is then listed here.' }} <button v-if="!all.length" class="fs-link" type="button" @click="$emit('go', 'quote')">Ask for a quote</button></p>
  <pager :total="rows.length" :size="20" v-model="page" what="promises"></pager>
</section>`,
};
