// The live page: what the controller tells, drawn in the browser; asks for no other host.

import { away, count, duration, plural, time, ZONE } from "forestall-page/format.js";
import { NodeMap } from "forestall-page/nodes.js";
import { Promises } from "forestall-page/promises.js";
import { Proposals } from "forestall-page/proposals.js";
import { Quote } from "forestall-page/quote.js";
import { Record } from "forestall-page/record.js";
import { Timeline } from "forestall-page/timeline.js";

const NEEDS = { cluster: ["nodes", "jobs", "deadlines"], quote: [], promises: ["promises"], record: ["record"], proposals: ["proposals"] };
const TITLES = { cluster: "Cluster", quote: "Quote", promises: "Promises", record: "Record", proposals: "Proposals" };
const THEMES = [["light dark", "System"], ["light", "Light"], ["dark", "Dark"]];
const LOST = 30; // s without news after which the page says so

export default {
  components: { NodeMap, Timeline, Quote, Promises, Record, Proposals },
  props: { view: String, name: String, operates: Boolean },
  emits: ["ask", "take", "decide"],
  data() {
    return {
      at: this.view, cluster: null, versions: {}, docs: {}, said: "", now: 0, heard: 0, looked: null, passed: 0, silent: false,
      theme: "light dark", tall: 300, size: 12, wide: false, narrow: false, failed: "",
    };
  },
  computed: {
    views() { return Object.entries(TITLES).filter(([key]) => key !== "proposals" || this.operates); },
    viewer() { return { name: this.name, operates: this.operates }; },
    zone: () => ZONE,
    themeName() { return THEMES.find(([key]) => key === this.theme)[1]; },
    seen() { return this.cluster !== null && this.cluster.looked !== null; },
    // Of the last look, in seconds of the viewer's own clock.
    age() { return this.seen ? Math.max(0, Math.round(this.heard + this.passed - this.looked)) : null; },
    old() { return this.seen && (this.age > this.cluster.fresh || this.cluster.said !== ""); },
    look() { return this.age === null ? "not seen yet" : `${this.narrow ? "" : "seen "}${this.age < 2 ? "just now" : `${duration(this.age)} ago`}`; },
    lead() {
      const one = this.cluster, off = one.nodes - one.up;
      return `${off ? `${count(one.up)} of ${plural(one.nodes, "node")}` : `All ${plural(one.nodes, "node")}`} in service, ${count(one.busy)} busy; ${plural(one.running, "job")} ${one.running === 1 ? "runs" : "run"}, ${one.waiting_at_least ? "at least " : ""}${count(one.waiting)} ${one.waiting === 1 ? "waits" : "wait"}.`;
    },
    cards() {
      const one = this.cluster;
      const cards = [
        ["Nodes in service", count(one.up), `of ${count(one.nodes)}`, ""],
        ["Nodes busy", count(one.busy), one.up ? `${Math.round((100 * one.busy) / one.up)} % of ${count(one.up)}` : "", ""],
        ["Jobs running", count(one.running), `${one.waiting_at_least ? "at least " : ""}${count(one.waiting)} waiting`, ""],
        [this.operates ? "Promises open" : "My promises open", count(one.promises_open), "", "promises"],
      ];
      if (this.operates) cards.push(["Proposals", count(one.proposals_open), ["none waits", "waits for a decision"][one.proposals_open] ?? "wait for a decision", "proposals"]);
      return cards;
    },
    roles() { return Object.entries(this.cluster.roles); },
  },
  watch: {
    at() { this.fetchAll(); document.title = `${TITLES[this.at]}: forestall`; },
  },
  mounted() {
    this.theme = THEMES.some(([key]) => key === localStorage.getItem("forestall-theme")) ? localStorage.getItem("forestall-theme") : "light dark";
    this.paint();
    document.title = `${TITLES[this.at]}: forestall`;
    this.tick = setInterval(() => this.step(), 1000);
    addEventListener("popstate", this.fromAddress = () => { this.at = this.viewOf(location.pathname); });
    addEventListener("resize", this.fit = () => { this.wide = innerWidth >= 1500; this.narrow = innerWidth < 750; this.tall = this.wide ? Math.max(300, innerHeight - 500) : this.narrow ? 260 : 320; this.size = this.wide ? Math.min(40, Math.max(8, Math.floor((innerHeight - 585) / 45))) : 12; });
    this.fit();
  },
  beforeUnmount() { clearInterval(this.tick); removeEventListener("popstate", this.fromAddress); removeEventListener("resize", this.fit); },
  methods: {
    away, count, duration, time,
    viewOf(path) { const last = path.split("/").pop(); return last in TITLES ? last : "cluster"; },
    go(view) {
      if (view !== this.at) history.pushState(null, "", view === "cluster" ? "./" : view);
      this.at = view;
      this.$nextTick(() => { scrollTo(0, 0); this.$refs.main.focus({ preventScroll: true }); });
    },
    switchTheme() {
      const k = THEMES.findIndex(([key]) => key === this.theme);
      this.theme = THEMES[(k + 1) % THEMES.length][0];
      localStorage.setItem("forestall-theme", this.theme);
      this.paint();
    },
    paint() { document.documentElement.style.setProperty("--scheme", this.theme); this.$nextTick(() => dispatchEvent(new Event("forestall-theme"))); },
    // Python tells: the cluster in numbers, the documents' versions, what could not be done.
    told(cluster, versions, said) {
      const at = performance.now() / 1000;
      if (cluster) {
        if (cluster.looked !== null && cluster.looked !== this.cluster?.looked) this.looked = at - (cluster.now - cluster.looked) / Math.max(1, cluster.speed);
        this.cluster = Object.freeze(cluster);
        this.now = cluster.now;
      }
      this.heard = at; this.passed = 0; this.silent = false; this.said = said; this.versions = versions;
      this.fetchAll();
    },
    step() {
      if (!this.cluster) return;
      this.passed = performance.now() / 1000 - this.heard;
      this.silent = this.passed > LOST;
      this.now = Math.round(this.cluster.now + this.passed * this.cluster.speed);
    },
    fetchAll() { for (const name of NEEDS[this.at]) this.fetchOne(name); },
    async fetchOne(name) {
      const version = this.versions[name];
      this.loading ??= {};
      if (!version || this.docs[name]?.version === version || this.loading[name] === version) return;
      this.loading[name] = version;
      try {
        const answer = await fetch(`page/data/${name}`);
        if (answer.status === 401) { location.assign("login"); return; }
        if (!answer.ok) throw new Error(`${answer.status}`);
        const told = Object.freeze(await answer.json());
        this.docs = { ...this.docs, [name]: { version, told } };
        this.failed = "";
      } catch (error) {
        this.failed = "The server could not be reached; what is shown may be old.";
      } finally {
        this.loading[name] = "";
      }
    },
    answered(what, mark, answer) { this.$refs[what === "decide" ? "proposals" : "quote"]?.answered(what, mark, answer); },
    doc(name) { return this.docs[name]?.told; },
  },
  template: `
<div class="fs" :class="{ 'fs-old': old || silent }">
<a class="fs-skip" href="#fs-main" @click.prevent="$refs.main.focus()">Skip to the content</a>
<header class="fs-top">
  <span class="fs-brand">forestall<em v-if="cluster?.simulated">simulated</em></span>
  <nav class="fs-nav" aria-label="Views"><a v-for="[key, words] in views" :key="key" :href="key === 'cluster' ? './' : key" :aria-current="at === key ? 'page' : null" @click.exact.prevent="go(key)">{{ words }}<b v-if="key === 'proposals' && cluster?.proposals_open" class="fs-badge">{{ count(cluster.proposals_open) }}</b></a></nav>
  <div class="fs-state">
    <span v-if="cluster" class="fs-age" :class="{ 'fs-warn': old || silent || !seen }"><i aria-hidden="true"></i>{{ look }}</span>
    <button type="button" class="fs-quiet" @click="switchTheme" :aria-label="'Colors: ' + themeName + '. Change'" :title="'Colors: ' + themeName"><svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M8 1.8a6.2 6.2 0 0 1 0 12.4z" fill="currentColor"/></svg><span>{{ themeName }}</span></button>
    <form method="post" action="logout"><button type="submit" class="fs-quiet" :title="'Signed in as ' + name + (operates ? ', operator' : '')"><span class="fs-cut">{{ name }}</span> <u>sign out</u></button></form>
  </div>
</header>
<div id="fs-main" class="fs-main" ref="main" tabindex="-1">
  <div v-if="silent" class="fs-banner" role="alert">The connection to the server is lost. What you see is {{ duration(Math.round(passed)) }} old or older.</div>
  <div v-else-if="said" class="fs-banner" role="alert">The controller cannot answer: {{ said }}.<span v-if="cluster"> What you see is {{ duration(age) }} old.</span></div>
  <div v-else-if="seen && cluster.said" class="fs-banner" role="alert">The last read of the cluster failed: {{ cluster.said }}. What you see is {{ duration(age) }} old.</div>
  <div v-else-if="old" class="fs-banner" role="alert">The cluster was last read {{ duration(age) }} ago. No promises are made on data this old.</div>
  <p v-if="failed" class="fs-banner" role="alert">{{ failed }}</p>
  <p v-if="!cluster" class="fs-wait" role="status">{{ said ? '' : 'Waiting for the controller…' }}</p>
  <p v-else-if="!seen" class="fs-wait" role="status">The controller has not read the cluster yet: its first read is under way.<template v-if="cluster.said && !cluster.said.includes('not seen yet')"><br>{{ cluster.said }}</template></p>
  <template v-else>
    <div v-show="at === 'cluster'">
      <h1>Cluster now</h1>
      <p class="fs-lead">{{ lead }}</p>
      <dl class="fs-cards">
        <div v-for="[words, figure, more, link] in cards" :key="words"><dt>{{ words }}</dt><dd class="fs-big"><a v-if="link" :href="link" @click.exact.prevent="go(link)">{{ figure }}</a><template v-else>{{ figure }}</template></dd><dd class="fs-soft">{{ more }}</dd></div>
        <div class="fs-roles"><dt>Roles</dt><dd v-for="[role, how] in roles" :key="role"><span class="fs-role" :class="'fs-switch-' + how">{{ role }} <b>{{ how }}</b></span></dd></div>
      </dl>
      <div class="fs-overview" v-if="at === 'cluster'">
        <node-map v-if="doc('nodes')" :nodes="doc('nodes')" :now="now" :tall="tall"></node-map>
        <section v-else class="fs-panel fs-loading" aria-hidden="true"></section>
        <timeline v-if="doc('jobs')" :jobs="doc('jobs')" :deadlines="doc('deadlines')" :now="now" :cluster="cluster" :viewer="viewer" :size="size" :narrow="narrow"></timeline>
        <section v-else class="fs-panel fs-loading" aria-hidden="true"></section>
      </div>
    </div>
    <div v-show="at === 'quote'"><h1>Quote</h1><quote ref="quote" :now="now" :cluster="cluster" :viewer="viewer" @ask="$emit('ask', $event)" @take="$emit('take', $event)" @go="go"></quote></div>
    <div v-if="at === 'promises'"><promises v-if="doc('promises')" :promises="doc('promises')" :now="now" :viewer="viewer" @go="go"></promises></div>
    <div v-if="at === 'record'"><h1>Record</h1><record v-if="doc('record')" :record="doc('record')" :viewer="viewer"></record></div>
    <div v-if="at === 'proposals' && operates"><proposals ref="proposals" v-if="doc('proposals')" :proposals="doc('proposals')" :now="now" :speed="cluster?.speed ?? 1" @decide="$emit('decide', $event)"></proposals></div>
  </template>
</div>
<footer class="fs-soft">Times in {{ zone }}.<template v-if="cluster"> Cycle {{ count(cluster.cycle) }} took {{ duration(cluster.cycle_s) === '0 s' ? '< 1 s' : duration(cluster.cycle_s) }}.</template></footer>
</div>`,
};
