// The dialogue: a job somebody thinks of, what would be promised for it, and an offer taken.

import { atHour, away, count, duration, fullTime, localField, momentOf, percent, plural, reason, time, ZONE } from "forestall-page/format.js";

const CONSENTS = [
  ["exclude", "keep it off risky nodes", "nodes that are predicted to fail before the deadline are left out"],
  ["signal", "ask it for a checkpoint", "with the signal that its script requests, before a predicted failure"],
  ["requeue", "requeue it", "elsewhere, from its checkpoint, where that costs less than the failure"],
  ["start", "start it sooner", "after a requeue, without the usual delay"],
];

// What became of promises like one of some probability.
export const recordWords = (one) =>
  one.words || (one.made ? `stated ${percent(one.low)} to ${percent(one.high)}: ${count(one.made)}, kept ${count(one.kept)}` : `stated ${percent(one.low)} to ${percent(one.high)}: none yet`);

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`); // for a shell

export const Quote = {
  props: { now: Number, cluster: Object, viewer: Object },
  emits: ["ask", "take", "go"],
  data: () => ({
    nodes: 1, limit: "1h", by: "", least: 90, partition: "", features: "", asking: 0, said: "", answer: null, length: 0, asked: [],
    taking: null, script: "#!/bin/sh\n#SBATCH --signal=B:USR1@120\nsrun ./program\n", name: "", words: "", output: "", consents: CONSENTS.map(([one]) => one),
    sending: false, refused: "", made: null, marks: 0, server: false, below: false,
  }),
  computed: {
    consentList: () => CONSENTS,
    zone: () => ZONE,
    held() { return this.cluster.roles?.keeper; },
    // On a real cluster jobs are submitted by their owners, unless they ask the service to.
    own() { return !this.cluster.simulated && !this.server; },
    wanted() { return this.answer && this.answer.question.by !== null ? this.answer.question.percent / 100 : 0.5; },
    low() { return this.taking !== null && this.taking.probability < this.wanted; },
    line() { return ["sbatch", ...this.made.submit, "job.sh"].map(quoted).join(" "); },
    suggestions() {
      const tonight = atHour(this.now, 18, 0);
      return [[`in 24 h`, this.now + 86400], ...(tonight > this.now + 600 ? [["today 18:00", tonight]] : []), ["tomorrow 8:00", atHour(this.now, 8, 1)], ["tomorrow 18:00", atHour(this.now, 18, 1)]];
    },
    offers() {
      if (!this.answer) return [];
      const { offers, by } = this.answer.quote;
      return by && !offers.some((one) => this.isBy(one)) ? [by, ...offers] : offers;
    },
    expired() { return this.offers.length && this.offers.every((one) => one.expires <= this.now); },
    lead() {
      if (!this.answer) return "";
      const { quote, question } = this.answer;
      const job = `${plural(question.nodes, "node")} for ${duration(this.answer.time)}`;
      if (question.by !== null)
        return quote.by ? `${job} ${question.nodes === 1 ? "is" : "are"} done by ${time(question.by, this.now)} with ${percent(quote.by.probability)}.` : `${job}: no offer ends by ${time(question.by, this.now)}.`;
      if (!quote.offers.length) return `${job}: no offer.`;
      const first = quote.offers[0], best = quote.offers.reduce((a, b) => (b.probability > a.probability ? b : a));
      return `${job}: done by ${time(first.deadline, this.now)} with ${percent(first.probability)}` + (best === first ? "." : `; waiting until ${time(best.deadline, this.now)} gives ${percent(best.probability)}.`);
    },
  },
  methods: {
    away, duration, fullTime, localField, percent, reason, recordWords, time,
    isBy(one) {
      const by = this.answer.quote.by;
      return by !== null && ["start", "deadline", "probability"].every((name) => one[name] === by[name]);
    },
    ask() {
      this.said = ""; this.marks += 1; this.asking = this.marks; this.taking = null; this.made = null;
      const question = { nodes: Number(this.nodes), by: momentOf(this.by), percent: Number(this.least) };
      this.question = { ...question, length: this.limit };
      this.$emit("ask", { ...question, time: this.limit, partition: this.partition, features: this.features, mark: this.marks });
    },
    again(one) { this.nodes = one.nodes; this.limit = one.length; this.by = one.by === null ? "" : localField(one.by); this.least = one.percent; this.ask(); },
    choose(one) {
      this.taking = one; this.refused = ""; this.below = false;
      this.$nextTick(() => { this.$refs.order.scrollIntoView({ block: "nearest", behavior: "smooth" }); (this.$refs.script ?? this.$refs.order).focus({ preventScroll: true }); });
    },
    take() {
      this.sending = true; this.refused = ""; this.marks += 1; this.taken = this.marks;
      this.$emit("take", { offer: this.taking.id, own: this.own, below: this.below, script: this.script, name: this.name, partition: this.partition, words: this.words, output: this.output, consents: [...this.consents], mark: this.marks });
    },
    async load(event) {
      const file = event.target.files[0];
      if (!file) return;
      if (file.size > 4e5) { this.refused = `the script has ${count(file.size)} bytes; at most 400,000`; return; }
      this.script = await file.text();
      this.name = this.name || file.name.replace(/\.[^.]*$/, "");
    },
    answered(what, mark, answer) {
      if (what === "ask") {
        if (mark !== this.asking) return;
        this.asking = 0;
        if (answer.error) { this.said = answer.error; return; }
        this.answer = { ...answer, question: this.question };
        const same = (one) => JSON.stringify(one) === JSON.stringify(this.question);
        this.asked = [this.question, ...this.asked.filter((one) => !same(one))].slice(0, 6);
        this.$nextTick(() => this.$refs.answer.focus({ preventScroll: true }));
      } else if (mark === this.taken) {
        this.sending = false;
        if (answer.error) { this.refused = answer.error; return; }
        this.made = answer.promise; this.taking = null; this.answer = null;
        this.$nextTick(() => this.$refs.made.focus());
      }
    },
    short(one) { return `${plural(one.nodes, "node")}, ${one.length}${one.by === null ? "" : `, by ${time(one.by, this.now)}`}`; },
  },
  template: `
<div class="fs-two">
<section class="fs-panel" aria-labelledby="fs-ask-title">
  <h2 id="fs-ask-title">Ask for a quote</h2>
  <p class="fs-soft fs-lead">Nothing is promised until you take an offer.</p>
  <form class="fs-form" @submit.prevent="ask">
    <div class="fs-pair">
      <label>Nodes<input class="fs-field" name="nodes" type="number" min="1" step="1" required v-model="nodes"></label>
      <label>Time limit<input class="fs-field" name="time" required v-model="limit" aria-describedby="fs-time-help" autocomplete="off" spellcheck="false"><small id="fs-time-help">such as 90m, 6h, 2d or 6:00:00</small></label>
    </div>
    <label>Done by <i>(optional)</i><input class="fs-field" name="by" type="datetime-local" v-model="by" aria-describedby="fs-by-help"><small id="fs-by-help">in your time, {{ zone }}</small></label>
    <div class="fs-chips" role="group" aria-label="Deadlines"><button v-for="[words, at] in suggestions" :key="words" type="button" @click="by = localField(at)">{{ words }}</button><button v-if="by" type="button" @click="by = ''">no deadline</button></div>
    <div class="fs-pair">
      <label>Minimum probability<span class="fs-unit"><input class="fs-field" name="percent" type="number" min="1" max="99.99" step="any" required v-model="least"><span aria-hidden="true">%</span></span></label>
      <label>Partition <i>(optional)</i><input class="fs-field" name="partition" v-model="partition" autocomplete="off" spellcheck="false"></label>
      <label>Features <i>(optional)</i><input class="fs-field" name="features" v-model="features" placeholder="a100|h100" autocomplete="off" spellcheck="false"></label>
    </div>
    <p v-if="said" class="fs-trouble" role="alert">{{ said }}</p>
    <button class="fs-button fs-primary" type="submit" :disabled="asking > 0">{{ asking ? 'Asking…' : answer ? 'Ask again' : 'Ask' }}</button>
  </form>
  <div v-if="asked.length > 1" class="fs-asked"><h3>Earlier questions</h3><ul><li v-for="one in asked.slice(1)" :key="JSON.stringify(one)"><button type="button" @click="again(one)">{{ short(one) }}</button></li></ul></div>
</section>
<div class="fs-stack">
  <section v-if="made" class="fs-panel fs-done" tabindex="-1" ref="made" aria-labelledby="fs-made-title">
    <h2 id="fs-made-title">Promised</h2>
    <template v-if="made.submit.length"><p class="fs-lead">Submit your job by <b :title="fullTime(made.submit_by)">{{ time(made.submit_by, now) }}</b>, with this line and your script:</p>
    <pre class="fs-code fs-paste" tabindex="0">{{ line }}</pre>
    <p class="fs-soft">The comment carries the promise: it is good for one job of yours that asks for what was quoted.</p></template>
    <p class="fs-lead">{{ made.submit.length ? 'It' : 'Job ' + (made.job ?? '(number not known yet)') }} ends by <b :title="fullTime(made.deadline)">{{ time(made.deadline, now) }}</b> with {{ percent(made.probability) }}.</p>
    <p class="fs-soft">Promise <code>{{ made.id }}</code>{{ !made.held ? ' is recorded only: the keeper is off, and nothing is done for it.' : made.reserved ? ': a reservation holds its start.' : made.why ? ': ' + reason(made.why, now) + '.' : ': nothing reserves its start.' }}</p>
    <button class="fs-button" type="button" @click="$emit('go', 'promises')">See promises</button>
  </section>
  <section v-if="answer" class="fs-panel" tabindex="-1" ref="answer" aria-labelledby="fs-offers-title" aria-live="polite">
    <h2 id="fs-offers-title">Offers</h2>
    <p class="fs-lead">{{ lead }}</p>
    <p v-if="answer.quote.said" class="fs-soft">{{ answer.quote.said }}</p>
    <p v-if="expired" class="fs-trouble" role="status">These offers have expired. <button class="fs-link" type="button" @click="ask">Ask again</button></p>
    <ol class="fs-offers">
      <li v-for="one in offers" :key="one.id" :class="{ 'fs-chosen': taking && taking.id === one.id, 'fs-by': isBy(one) }">
        <div class="fs-odds"><b>{{ percent(one.probability) }}</b><span class="fs-meter" aria-hidden="true"><i :style="{ width: 100 * one.probability + '%' }"></i></span></div>
        <div class="fs-when"><b :title="fullTime(one.deadline)">by {{ time(one.deadline, now) }}</b><span class="fs-soft">{{ away(one.deadline, now) }}; starts {{ time(one.start, now) }}</span><em v-if="isBy(one)" class="fs-tag">best offer by {{ time(answer.question.by, now) }}</em></div>
        <button class="fs-button" type="button" :disabled="one.expires <= now" @click="choose(one)" :aria-label="'Take the offer by ' + time(one.deadline, now) + ' with ' + percent(one.probability)">{{ one.expires <= now ? 'Expired' : 'Take' }}</button>
        <p class="fs-why"><span>Record: {{ recordWords(one.record) }}</span><span v-for="why in one.reasons" :key="why">{{ why }}</span></p>
      </li>
    </ol>
    <p v-if="offers.length && !expired" class="fs-soft">Offers remain valid for {{ duration(Math.max(0, offers[0].expires - now)) }}.</p>
  </section>
  <section v-if="!answer && !made" class="fs-panel fs-hint"><h2>Offers</h2><p class="fs-soft">You get a short list: when the job starts, by when it is done, how probable that is, and why. A later deadline has a higher probability. Each offer shows its record: how often promises like it were kept.</p></section>
  <section v-if="taking" class="fs-panel" ref="order" tabindex="-1" aria-labelledby="fs-order-title">
    <h2 id="fs-order-title">Take the offer</h2>
    <p class="fs-lead">{{ percent(taking.probability) }} by {{ time(taking.deadline, now) }} on {{ answer.question.nodes }} {{ answer.question.nodes === 1 ? 'node' : 'nodes' }} for {{ duration(answer.time) }}.</p>
    <form class="fs-form" @submit.prevent="take">
      <label v-if="!cluster.simulated" class="fs-check"><input type="checkbox" v-model="server"><span>Let this service submit the job<small>only where it may; else you get a line to paste into a terminal</small></span></label>
      <template v-if="!own">
      <label>Job script<textarea class="fs-field fs-code" name="script" rows="9" required v-model="script" ref="script" spellcheck="false"></textarea></label>
      <label class="fs-file fs-link">or read it from a file<input type="file" @change="load"></label>
      <div class="fs-pair">
        <label>Name <i>(optional)</i><input class="fs-field" name="name" v-model="name" placeholder="forestall" maxlength="200" autocomplete="off"></label>
        <label>Output file <i>(optional)</i><input class="fs-field" name="output" v-model="output" placeholder="slurm-%j.out" autocomplete="off" spellcheck="false"></label>
      </div>
      <label>Comment <i>(optional)</i><input class="fs-field" name="words" v-model="words" maxlength="1000" autocomplete="off"></label>
      </template>
      <label v-if="low" class="fs-check fs-note"><input type="checkbox" name="below" v-model="below" required><span>Take it at {{ percent(taking.probability) }}<small>less probable than the {{ percent(wanted) }} wanted</small></span></label>
      <fieldset><legend>To keep the promise, forestall may</legend>
        <label v-for="[one, words, why] in consentList" :key="one" class="fs-check"><input type="checkbox" :value="one" v-model="consents"><span>{{ words }}<small>{{ why }}</small></span></label>
      </fieldset>
      <p v-if="held === 'off'" class="fs-note">The keeper is off: the promise is recorded, but not enforced.</p>
      <p v-if="refused" class="fs-trouble" role="alert">{{ refused }}</p>
      <div class="fs-actions"><button class="fs-button fs-primary" type="submit" :disabled="sending">{{ sending ? 'Waiting…' : own ? 'Take the offer' : 'Submit the job' }}</button><button class="fs-button" type="button" @click="taking = null">Cancel</button></div>
    </form>
  </section>
</div>
</div>`,
};
