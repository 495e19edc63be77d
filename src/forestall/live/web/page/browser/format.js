// Numbers with their units, and times in the viewer's zone, in the words of the project's reports.

const many = new Intl.NumberFormat("en-GB");
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

export const count = (value) => many.format(value);
export const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

// A probability; one below 1 is never told as 100 %.
export function percent(value) {
  if (value === null || value === undefined) return "-";
  if (value <= 0) return "0 %";
  if (value >= 1) return "100 %";
  const shown = 100 * value;
  if (shown > 99.99) return "> 99.99 %";
  const digits = shown > 99.9 ? 2 : 1;
  return `${(Math.floor(shown * 10 ** digits + 0.5) / 10 ** digits).toFixed(digits).replace(/\.0$/, "")} %`;
}

// The same with one digit after the point, for columns and cells.
export function evenPercent(value) {
  if (value === null || value === undefined) return "-";
  const shown = (100 * value).toFixed(1);
  return shown === "100.0" && value < 1 ? "> 99.9 %" : `${shown} %`;
}

// Seconds in the unit that suits them.
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "-";
  const size = Math.abs(seconds);
  for (const [unit, length, least] of [["d", 86400, 172800], ["h", 3600, 7200], ["min", 60, 120]])
    if (size >= least || (length < 86400 && size >= length && size % length === 0))
      return `${Number((seconds / length).toFixed(unit === "min" && size >= 600 ? 0 : 1)).toLocaleString("en-GB")} ${unit}`;
  return `${Math.round(seconds)} s`;
}

const date = (moment) => new Date(1000 * moment);
const midnight = (moment) => new Date(date(moment)).setHours(0, 0, 0, 0);

// A moment as people say it: "today 14:05", "tomorrow 08:00", "Wed 25 Nov 08:00".
export function time(moment, now) {
  if (moment === null || moment === undefined) return "-";
  const days = Math.round((midnight(moment) - midnight(now)) / 864e5);
  const clock = CLOCK.format(date(moment));
  const near = { "-1": "yesterday", 0: "today", 1: "tomorrow" }[days];
  if (near) return `${near} ${clock}`;
  if (Math.abs(days) > 180) return `${YEAR.format(date(moment))} ${clock}`;
  return `${DAY.format(date(moment)).replace(",", "")} ${clock}`;
}

// A reason of the controller, with its moments in the viewer's zone.
export const reason = (text, now) => text.replace(/\b(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC\b/g, (_, on, at) => time(Date.parse(`${on}T${at}Z`) / 1000, now));

export const fullTime = (moment) => (moment === null || moment === undefined ? "" : FULL.format(date(moment)));
export const clockTime = (moment) => CLOCK.format(date(moment));
export const day = (moment) => DAY.format(date(moment)).replace(",", "");

// How far away a moment is: "in 3.2 h", "5 min ago", "now".
export function away(moment, now) {
  if (moment === null || moment === undefined) return "";
  const left = moment - now;
  if (Math.abs(left) < 1) return "now";
  return left > 0 ? `in ${duration(left)}` : `${duration(-left)} ago`;
}

// Node-seconds as node-hours.
export function nodeHours(seconds) {
  const hours = seconds / 3600;
  const digits = Math.abs(hours) >= 100 ? 0 : Math.abs(hours) >= 1 ? 1 : 2;
  return `${hours.toLocaleString("en-GB", { maximumFractionDigits: digits })} node-h`;
}

// What a field of <input type="datetime-local"> holds for a moment.
export function localField(moment) {
  const at = date(moment);
  const two = (value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

export const momentOf = (field) => (field ? Math.floor(new Date(field).getTime() / 1000) : null);

// The next moment at an hour of the viewer's clock, so many days on.
export function atHour(now, hour, days) {
  const at = date(now);
  at.setDate(at.getDate() + days);
  at.setHours(hour, 0, 0, 0);
  return Math.floor(at.getTime() / 1000);
}
