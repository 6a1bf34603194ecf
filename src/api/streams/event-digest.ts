/**
 * Summaries of the event bus for readers of `/ws?format_events`: the latest jobs with what minions returned, and the minions with the grains that
 * they returned. All readers share one, which is bounded in bytes.
 */
import { apiDigestBytesMax } from "../../limits.ts";
import { textField } from "../../wire/fields.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { jsonText } from "../http/json-text.ts";

type Job = { readonly head: string; readonly minions: Map<string, string>; readonly waits: Set<string>; bytes: number };

const silentText = '{"success": false}';
/** Members of the job's `new` event, by their names in the summary. */
const headNames = [
  ["jid", "jid"],
  ["start_time", "_stamp"],
  ["fun", "fun"],
  ["tgt", "tgt"],
  ["tgt_type", "tgt_type"],
] as const;

const member = (name: string, text: string): string => `${JSON.stringify(name)}: ${text}`;

export class EventDigest {
  readonly #jobs = new Map<string, Job>();
  #jobBytes = 0;
  /** Each minion's grains as JSON, empty if none are known. */
  readonly #minions = new Map<string, string>();
  #minionBytes = 0;
  readonly #changed = new Set<"jobs" | "minions">();

  /** @returns whether a summary has changed */
  take(tag: string, data: Value): boolean {
    if (!(data instanceof Map)) return false;
    const [root, kind, jid = "", step, id = ""] = tag.split("/");
    if (root !== "salt") return false;
    if (kind === "job" && step === "new") this.#addJob(jid, data);
    else if (kind === "job" && step === "ret") this.#addReturn(jid, id, data);
    else if (kind === "key") this.#noteKey(data);
    else if (kind === "presence" && jid === "present") this.#notePresent(data);
    return this.#changed.size > 0;
  }

  /** The summaries that have changed since the last call. */
  texts(): string[] {
    const texts: string[] = [];
    if (this.#changed.has("jobs"))
      texts.push(`{"jobs": {${[...this.#jobs].map(([jid, job]) => member(jid, textOf(job))).join(", ")}}}`);
    if (this.#changed.has("minions")) {
      const shown = [...this.#minions].map(([id, grains]) => {
        const known = grains === "" ? "" : `"grains": ${grains}, `;
        return `{${known}"id": ${JSON.stringify(id)}}`;
      });
      texts.push(`{"minions": [${shown.join(", ")}]}`);
    }
    this.#changed.clear();
    return texts;
  }

  #addJob(jid: string, data: ValueMap): void {
    const listed = data.get("minions");
    const ids = Array.isArray(listed) ? listed.map(String) : [];
    const head = headNames.map(([name, from]) => member(name, jsonText(data.get(from) ?? null))).join(", ");
    this.#removeJob(jid);
    const job = { head, minions: new Map<string, string>(), waits: new Set(ids), bytes: head.length };
    this.#jobs.set(jid, job);
    this.#jobBytes += job.bytes;
    for (const id of ids) this.#setReturn(job, id, silentText);
    this.#boundJobs();
    this.#changed.add("jobs");
  }

  #addReturn(jid: string, id: string, data: ValueMap): void {
    if (textField(data, "fun") === "grains.items") this.#setGrains(id, jsonText(data.get("return") ?? null));
    const job = this.#jobs.get(jid);
    if (job === undefined) return;
    const [value, retcode, success] = ["return", "retcode", "success"].map((name) => jsonText(data.get(name) ?? null));
    // A job whose returns do not fit keeps the news of them, without values.
    const kept = job.bytes < apiDigestBytesMax ? `"return": ${value}, ` : "";
    this.#setReturn(job, id, `{${kept}"retcode": ${retcode}, "success": ${success}}`);
    job.waits.delete(id);
    this.#boundJobs();
    this.#changed.add("jobs");
  }

  #setReturn(job: Job, id: string, text: string): void {
    const former = job.minions.get(id);
    const added = text.length - (former === undefined ? -id.length : former.length);
    job.minions.set(id, text);
    job.bytes += added;
    this.#jobBytes += added;
  }

  /** Drops the oldest jobs, and keeps the newest. */
  #boundJobs(): void {
    for (const jid of this.#jobs.keys()) {
      if (this.#jobBytes <= apiDigestBytesMax || this.#jobs.size === 1) return;
      this.#removeJob(jid);
    }
  }

  #removeJob(jid: string): void {
    this.#jobBytes -= this.#jobs.get(jid)?.bytes ?? 0;
    this.#jobs.delete(jid);
  }

  #noteKey(data: ValueMap): void {
    const [act, id] = [textField(data, "act"), textField(data, "id")];
    if (id === undefined) return;
    if (act === "delete") this.#removeMinion(id);
    else if (act === "accept" && !this.#minions.has(id)) this.#minions.set(id, "");
    else return;
    this.#changed.add("minions");
  }

  #notePresent(data: ValueMap): void {
    const listed = data.get("present");
    if (!Array.isArray(listed)) return;
    const present = new Set(listed.map(String));
    for (const id of this.#minions.keys())
      if (!present.has(id)) {
        this.#removeMinion(id);
        this.#changed.add("minions");
      }
    for (const id of present)
      if (!this.#minions.has(id)) {
        this.#minions.set(id, "");
        this.#changed.add("minions");
      }
  }

  #setGrains(id: string, grains: string): void {
    this.#removeMinion(id);
    this.#minions.set(id, grains);
    this.#minionBytes += grains.length;
    // The grains that were learnt first are forgotten first.
    for (const [other, text] of this.#minions) {
      if (this.#minionBytes <= apiDigestBytesMax) break;
      this.#minions.set(other, "");
      this.#minionBytes -= text.length;
    }
    this.#changed.add("minions");
  }

  #removeMinion(id: string): void {
    this.#minionBytes -= this.#minions.get(id)?.length ?? 0;
    this.#minions.delete(id);
  }
}

function textOf({ head, minions, waits }: Job): string {
  const shown = [...minions].map(([id, text]) => member(id, text)).join(", ");
  return `{${head}, "minions": {${shown}}, "state": "${waits.size === 0 ? "complete" : "running"}"}`;
}
