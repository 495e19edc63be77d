// How well promises were kept, who predicted how well, and what actions cost and saved.

import { count, evenPercent, nodeHours, percent, plural } from "forestall-page/format.js";
import { named } from "forestall-page/table.js";

export const Calibration = {
  directives: { named },
  props: { deciles: Array },
  computed: {
    points() { return this.deciles.filter((one) => one.kept + this.missed(one) > 0); },
    most() { return Math.max(1, ...this.points.map((one) => this.settled(one))); },
    label() { return "Share of promises that were kept over the stated probability: " + this.points.map((one) => `stated ${percent(one.said)}, kept ${percent(one.kept / this.settled(one))}`).join("; "); },
  },
  methods: {
    settled: (one) => one.made - one.void,
    missed: (one) => one.made - one.void - one.kept,
    x: (value) => 44 + 340 * value,
    y: (value) => 352 - 340 * value,
    size(one) { return 4 + 7 * Math.sqrt(this.settled(one) / this.most); },
    words(one) { return `stated ${percent(one.said)}: ${count(this.settled(one))} settled, kept ${count(one.kept)} (${percent(one.kept / this.settled(one))}; 95 % interval ${percent(one.least)} to ${percent(one.most)})`; },
  },
  template: `
<svg class="fs-chart" viewBox="0 0 400 400" role="img" :aria-label="label">
  <g class="fs-chart-grid"><template v-for="k in [0, 0.25, 0.5, 0.75, 1]" :key="k"><line :x1="x(k)" :x2="x(k)" :y1="y(0)" :y2="y(1)"/><line :x1="x(0)" :x2="x(1)" :y1="y(k)" :y2="y(k)"/><text :x="x(k)" y="370" text-anchor="middle">{{ 100 * k }}</text><text x="38" :y="y(k) + 4" text-anchor="end">{{ 100 * k }}</text></template></g>
  <line class="fs-chart-even" :x1="x(0)" :y1="y(0)" :x2="x(1)" :y2="y(1)"/>
  <text class="fs-chart-name" :x="x(0.5)" y="393" text-anchor="middle">stated, %</text>
  <text class="fs-chart-name" transform="translate(11 182) rotate(-90)" text-anchor="middle">kept, %</text>
  <g v-for="one in points" :key="one.low" class="fs-chart-point"><title>{{ words(one) }}</title>
    <line :x1="x(one.said)" :x2="x(one.said)" :y1="y(one.least)" :y2="y(one.most)"/>
    <circle :cx="x(one.said)" :cy="y(one.kept / settled(one))" :r="size(one)"/></g>
</svg>`,
};

export const Record = {
  components: { Calibration },
  directives: { named },
  props: { record: Object, viewer: Object },
  computed: {
    deciles() { return this.record.deciles.filter((one) => one.made > 0); },
    settled() { return this.deciles.reduce((sum, one) => sum + one.made - one.void, 0); },
    kept() { return this.deciles.reduce((sum, one) => sum + one.kept, 0); },
    said() { return this.deciles.reduce((sum, one) => sum + one.said * (one.made - one.void), 0) / Math.max(1, this.settled); },
    off() { return this.deciles.filter((one) => one.made > one.void && (one.said < one.least || one.said > one.most)).length; },
    lead() {
      if (this.settled === 1) return `One promise is settled: it was ${this.kept ? "kept" : "missed"}; ${percent(this.said)} was stated.`;
      if (!this.settled) return "No promise is settled yet: there is no record.";
      const words = `Of ${plural(this.settled, "settled promise")}, ${percent(this.kept / this.settled)} were kept; ${percent(this.said)} was stated on average.`;
      return words + (this.off ? ` In ${plural(this.off, "decile")}, the stated probability lies outside the 95 % interval of the share kept.` : " In every decile the stated probability lies within the 95 % interval of the share kept.");
    },
    predictors() { return [...this.record.predictors].sort((a, b) => a.brier - b.brier); },
    best() {
      const [one] = this.predictors.filter((two) => two.told > 0);
      return one ? `Best so far: ${one.name}, with a Brier score of ${one.brier.toFixed(4)} over ${plural(one.told, "prediction")}.` : "No prediction's window is over yet.";
    },
    costs() { return this.record.costs || []; },
    gain() {
      const sum = (name) => this.costs.reduce((all, one) => all + one[name], 0);
      if (!this.costs.length) return "No actions yet.";
      const cost = `All actions cost ${nodeHours(sum("spent"))}, compared with doing nothing.`;
      const judged = sum("judged"), came = sum("came");
      if (!judged) return `${cost} It is not yet known for any of them whether the failure came.`;
      return `${cost} The outcome of ${plural(judged, "action")} is known: the failure came in ${count(came)}; ${nodeHours(sum("realised"))} saved, ${nodeHours(sum("expected"))} expected.`;
    },
    judgedAny() { return this.costs.some((one) => one.judged > 0); },
  },
  methods: { count, evenPercent, nodeHours, percent, share: (one) => (one.made > one.void ? evenPercent(one.kept / (one.made - one.void)) : "-"), range: (one) => (one.made > one.void ? `${evenPercent(one.least)} to ${evenPercent(one.most)}` : "-") },
  template: `
<div class="fs-columns">
<section class="fs-panel fs-wide" aria-labelledby="fs-kept-title">
  <h2 id="fs-kept-title">How well promises were kept</h2>
  <p class="fs-lead">{{ lead }}</p>
  <div v-if="settled" class="fs-beside">
    <figure><calibration :deciles="deciles"></calibration><figcaption class="fs-soft">On the diagonal the share kept equals the stated probability. Bars are 95 % intervals (Wilson); larger points stand for more promises.</figcaption></figure>
    <div class="fs-scroll"><table v-named class="fs-table" aria-label="Stated and observed, by deciles">
      <thead><tr><th scope="col">Stated probability</th><th scope="col" class="fs-n">Promises</th><th scope="col" class="fs-n">Kept</th><th scope="col" class="fs-n">Void</th><th scope="col" class="fs-n">Mean stated</th><th scope="col" class="fs-n">Share kept</th><th scope="col" class="fs-n">95 % interval</th></tr></thead>
      <tbody><tr v-for="one in deciles" :key="one.low"><th scope="row">{{ percent(one.low) }} to {{ percent(one.high) }}</th><td class="fs-n">{{ count(one.made) }}</td><td class="fs-n">{{ count(one.kept) }}</td><td class="fs-n">{{ count(one.void) }}</td><td class="fs-n">{{ evenPercent(one.said) }}</td><td class="fs-n">{{ share(one) }}</td><td class="fs-n">{{ range(one) }}</td></tr></tbody>
    </table></div>
  </div>
</section>
<section class="fs-panel fs-wide" aria-labelledby="fs-predictors-title">
  <h2 id="fs-predictors-title">Predictors</h2>
  <p class="fs-lead">{{ best }}</p>
  <div v-if="predictors.length" class="fs-scroll"><table v-named class="fs-table" aria-label="Predictors">
    <thead><tr><th scope="col">Predictor</th><th scope="col" class="fs-n">Predictions</th><th scope="col" class="fs-n">Failures</th><th scope="col" class="fs-n">Mean stated</th><th scope="col" class="fs-n">Share failed</th><th scope="col" class="fs-n">Brier score</th></tr></thead>
    <tbody><tr v-for="one in predictors" :key="one.name"><th scope="row">{{ one.name }}</th><td class="fs-n">{{ count(one.told) }}</td><td class="fs-n">{{ count(one.came) }}</td><td class="fs-n">{{ evenPercent(one.said) }}</td><td class="fs-n">{{ one.told ? evenPercent(one.came / one.told) : '-' }}</td><td class="fs-n">{{ one.told ? one.brier.toFixed(4) : '-' }}</td></tr></tbody>
  </table></div>
  <p class="fs-soft fs-note">Only predictions that affected a decision and whose window is over are counted. A lower Brier score is better.</p>
</section>
<section v-if="viewer.operates" class="fs-panel fs-wide" aria-labelledby="fs-costs-title">
  <h2 id="fs-costs-title">What actions cost and saved</h2>
  <p class="fs-lead">{{ gain }}</p>
  <div v-if="costs.length" class="fs-scroll"><table v-named class="fs-table" aria-label="Costs of actions">
    <thead><tr><th scope="col">Action</th><th scope="col">Role</th><th scope="col" class="fs-n">Proposed</th><th scope="col" class="fs-n">Done</th><th scope="col" class="fs-n">Cost</th><th scope="col" class="fs-n">Expected to save</th><th scope="col" class="fs-n">Known</th><th scope="col" class="fs-n">Failures</th><th scope="col" class="fs-n">Expected of these</th><th scope="col" class="fs-n">Saved</th><th scope="col" class="fs-n">95 % interval</th></tr></thead>
    <tbody><tr v-for="one in costs" :key="one.role + one.action"><th scope="row">{{ one.action }}</th><td>{{ one.role }}</td><td class="fs-n">{{ count(one.proposed) }}</td><td class="fs-n">{{ count(one.done) }}</td><td class="fs-n">{{ nodeHours(one.spent) }}</td><td class="fs-n">{{ nodeHours(one.saved) }}</td><td class="fs-n">{{ count(one.judged) }}</td><td class="fs-n">{{ one.judged ? count(one.came) : '-' }}</td><td class="fs-n">{{ one.judged ? nodeHours(one.expected) : '-' }}</td><td class="fs-n">{{ one.judged ? nodeHours(one.realised) : '-' }}</td><td class="fs-n">{{ one.judged ? nodeHours(one.least) + ' to ' + nodeHours(one.most) : '-' }}</td></tr></tbody>
  </table></div>
  <p v-if="judgedAny" class="fs-soft fs-note">Known: actions for which it is known whether the expected failure came. Only observed failures count as savings. The interval is that of the number of failures.</p>
</section>
</div>`,
};
