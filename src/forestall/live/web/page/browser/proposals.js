// What the controller would do, for operators to approve or reject, and what was done lately.

import { away, count, duration, fullTime, nodeHours, plural, reason, time } from "forestall-page/format.js";
import { Pager, pageOf } from "forestall-page/pager.js";
import { named } from "forestall-page/table.js";

const WORDS = { busy: "nodes in use", loss: "expected loss in a failure", jobs: "expected jobs saved", saved: "expected saving", spent: "expected cost", until: "back by", "fails at": "may fail at", free: "idle by", said: "stated probability", start: "reserved from", time: "reserved for", restarts: "restarts so far" };
const AVOID = "avoid ";

export const Proposals = {
  components: { Pager },
  directives: { named },
  props: { proposals: Object, now: Number, speed: Number },
  emits: ["decide"],
  data: () => ({ page: 0, waits: 0, rejecting: "", why: "", busy: "", said: {}, mark: 0, marks: {} }),
  computed: {
    waiting() { return this.proposals.proposals.filter((one) => one.state === "proposed"); },
    others() { return this.proposals.proposals.filter((one) => one.state !== "proposed"); },
    shownWaiting() { return pageOf(this.waiting, this.waits, 12); },
    shown() { return pageOf(this.others, this.page, 20); },
    lead() { return this.waiting.length ? `${plural(this.waiting.length, "proposal")} ${this.waiting.length === 1 ? "awaits" : "await"} a decision.` : "No proposal awaits a decision."; },
  },
  methods: {
    away, count, duration, fullTime, reason, time,
    capital: (word) => word.charAt(0).toUpperCase() + word.slice(1),
    figures(one) {
      const entries = Object.entries(one.figures), avoided = entries.map(([name]) => name).filter((name) => name.startsWith(AVOID));
      const told = entries.filter(([name]) => !name.startsWith(AVOID)).map(([name, value]) => [WORDS[name] || name, this.value(name, value)]);
      return avoided.length ? [...told, ["avoids", avoided.map((name) => name.slice(AVOID.length)).join(" ")]] : told;
    },
    value(name, value) {
      if (["probability", "busy", "said"].includes(name)) return `${(100 * value).toFixed(1)} %`;
      if (["fails at", "until", "free", "start"].includes(name)) return time(value, this.now);
      if (/cost|spent|saved|loss/.test(name)) return nodeHours(value);
      if (name === "time") return duration(value);
      return value.toLocaleString("en-GB", { maximumFractionDigits: 2 });
    },
    decide(one, approved) {
      if (!approved && this.rejecting !== one.id) {
        this.rejecting = one.id; this.why = "";
        this.$nextTick(() => document.getElementById(`fs-why-${one.id}`)?.focus());
        return;
      }
      this.mark += 1; this.marks[this.mark] = one.id; this.busy = one.id; delete this.said[one.id];
      this.$emit("decide", { proposal: one.id, approved, why: approved ? "" : this.why, mark: this.mark });
    },
    answered(what, mark, answer) {
      const id = this.marks[mark];
      delete this.marks[mark];
      if (this.busy === id) this.busy = "";
      if (answer.error) this.said[id] = answer.error; else this.rejecting = "";
    },
  },
  template: `
<h1 id="fs-proposals-title">Proposals</h1>
<p class="fs-lead" role="status">{{ lead }}</p>
<div class="fs-stack">
<section v-if="waiting.length" aria-labelledby="fs-proposals-title">
  <ul class="fs-proposals">
    <li v-for="one in shownWaiting" :key="one.id">
      <div class="fs-what"><b>{{ capital(one.action) }} {{ one.target }}</b><span class="fs-soft">{{ one.role }}, proposed {{ time(one.decided, now) }}, expires <span :title="fullTime(one.expires)">{{ away(one.expires, now) }}<template v-if="speed > 1"> of the cluster's clock ({{ duration((one.expires - now) / speed) }} of yours)</template></span></span></div>
      <p class="fs-because">{{ reason(one.reason, now) }}</p>
      <dl v-if="figures(one).length" class="fs-figures"><div v-for="[name, value] in figures(one)" :key="name"><dt>{{ name }}</dt><dd>{{ value }}</dd></div></dl>
      <div class="fs-actions">
        <button class="fs-button fs-primary" type="button" :disabled="busy === one.id" @click="decide(one, true)" :aria-label="'Approve: ' + one.action + ' ' + one.target">Approve</button>
        <button v-if="rejecting !== one.id" class="fs-button" type="button" :disabled="busy === one.id" @click="decide(one, false)" :aria-label="'Reject: ' + one.action + ' ' + one.target">Reject…</button>
        <form v-else class="fs-reject" @submit.prevent="decide(one, false)"><label :for="'fs-why-' + one.id">Reason</label><input class="fs-field" :id="'fs-why-' + one.id" v-model="why" required maxlength="500"><button class="fs-button" type="submit" :disabled="busy === one.id || !why.trim()">Reject</button><button class="fs-button" type="button" @click="rejecting = ''">Cancel</button></form>
      </div>
      <p v-if="said[one.id]" class="fs-trouble" role="alert">{{ said[one.id] }}</p>
    </li>
  </ul>
  <pager :total="waiting.length" :size="12" v-model="waits" what="proposals"></pager>
</section>
<section class="fs-panel" aria-labelledby="fs-lately-title">
  <h2 id="fs-lately-title">Recent decisions and actions</h2>
  <p v-if="!others.length" class="fs-empty">No decisions or actions yet.</p>
  <div v-else class="fs-scroll"><table v-named class="fs-table" aria-label="Recent decisions and actions">
    <thead><tr><th scope="col">Decided</th><th scope="col">Action</th><th scope="col">Target</th><th scope="col">State</th><th scope="col">Reason</th><th scope="col">Details</th></tr></thead>
    <tbody><tr v-for="one in shown" :key="one.id"><th scope="row" :title="fullTime(one.decided)">{{ time(one.decided, now) }}</th><td>{{ one.action }}</td><td class="fs-target">{{ one.target }}</td><td>{{ one.state }}</td><td class="fs-long">{{ reason(one.reason, now) }}</td><td class="fs-long">{{ one.why ? reason(one.why, now) : '-' }}</td></tr></tbody>
  </table></div>
  <pager :total="others.length" :size="20" v-model="page" what="decisions"></pager>
</section>
</div>`,
};
