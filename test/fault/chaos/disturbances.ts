/** Disturbances of a site under chaos: floods of strangers, ends of the master, full disks and changes of keys, each drawn at random. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../../bench/load/random.ts";
import type { LocalClient } from "../../../bench/local-client.ts";
import { hasCode, SaltworksError } from "../../../src/errors.ts";
import { type FloodKind, underFlood } from "../../security/flood-run.ts";
import { floods } from "../../security/floods.ts";
import { publishFloods } from "../../security/publish-floods.ts";
import type { ChaosSite } from "./site.ts";

const allFloods = [
  ...Object.keys(floods).map((name) => ({ kind: "requests" as FloodKind, name })),
  ...Object.keys(publishFloods).map((name) => ({ kind: "publish" as FloodKind, name })),
];
const wheelTriesMs = 60_000;
const retryWaitMs = 250;

/** A time in which honest minions may get no answer: the master is down, or its disk is full. */
export type Outage = { readonly fromMs: number; toMs: number };

export class Disturbances {
  readonly outages: Outage[] = [];
  readonly counts = new Map<string, number>();
  readonly faults: string[] = [];
  /** Totals of what strangers sent. */
  floodBytes = 0;
  readonly #site: ChaosSite;
  readonly #random: Random;
  readonly #tell: (line: string) => void;

  constructor(site: ChaosSite, random: Random, tell: (line: string) => void) {
    this.#site = site;
    this.#random = random;
    this.#tell = tell;
  }

  /** Runs one disturbance to its end. */
  async next(): Promise<void> {
    const drawn = this.#random();
    if (drawn < 0.4) await this.#flood();
    else if (drawn < 0.55) await this.#restart("KILL");
    else if (drawn < 0.6) await this.#restart("TERM");
    else if (drawn < 0.72) await this.#fullDisk();
    else if (drawn < 0.77) await this.#killOnFullDisk();
    else if (drawn < 0.89) await this.#removeKeys();
    else await this.#rejectKeys();
  }

  #begin(what: string): void {
    const kind = what.replace(/:.*/, "");
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.#tell(what);
  }

  #between(fromMs: number, toMs: number): number {
    return fromMs + this.#random() * (toMs - fromMs);
  }

  async #outage(body: () => Promise<void>): Promise<void> {
    const outage = { fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
    this.outages.push(outage);
    await body();
    outage.toMs = performance.now();
  }

  /** One or two floods, on either port; sometimes the master is killed meanwhile. */
  async #flood(): Promise<void> {
    const chosen = Array.from({ length: this.#random() < 0.7 ? 1 : 2 }).flatMap(
      () => allFloods[Math.floor(this.#random() * allFloods.length)] ?? [],
    );
    this.#begin(`flood: ${chosen.map(({ kind, name }) => `${name} (${kind})`).join(" and ")}`);
    const { requestPort, publishPort } = this.#site.master;
    let underAll = async () => {
      await delay(this.#between(3_000, 12_000));
      if (this.#random() < 0.15) await this.#restart("KILL");
    };
    for (const { kind, name } of chosen) {
      const inner = underAll;
      underAll = async () => {
        const { bytes } = await underFlood(kind, name, kind === "requests" ? requestPort : publishPort, inner);
        this.floodBytes += bytes;
      };
    }
    await underAll();
  }

  async #restart(how: "KILL" | "TERM"): Promise<void> {
    this.#begin(`${how}: the master ends and starts again`);
    await this.#outage(async () => {
      await this.#site.endMaster(how);
      await delay(this.#between(0, 1_000));
      await this.#start();
    });
  }

  async #start(): Promise<void> {
    const refusal = await this.#site.startMaster();
    if (refusal !== undefined) this.faults.push(`the master does not start: ${refusal}`);
  }

  async #fullDisk(): Promise<void> {
    this.#begin("full disk");
    await this.#outage(async () => {
      await this.#site.fillDisk();
      await delay(this.#between(2_000, 6_000));
      this.#site.freeDisk();
    });
  }

  /** A master that starts on a full disk runs or refuses with a message. When the disk has room again, it starts. */
  async #killOnFullDisk(): Promise<void> {
    this.#begin("full disk and KILL");
    await this.#outage(async () => {
      await this.#site.fillDisk();
      await delay(this.#between(500, 2_000));
      await this.#site.endMaster("KILL");
      const refusal = await this.#site.startMaster();
      if (refusal !== undefined && !/ENOSPC|no space|No space|full/.test(refusal)) {
        this.faults.push(`on a full disk the master does not say why it does not start: ${refusal}`);
      }
      this.#site.freeDisk();
      if (refusal !== undefined) await this.#start();
    });
  }

  #someIds(): string[] {
    const ids = this.#site.fleet.ids();
    return Array.from(
      { length: 1 + Math.floor(this.#random() * 4) },
      () => ids[Math.floor(this.#random() * ids.length)] ?? "",
    );
  }

  async #removeKeys(): Promise<void> {
    const ids = this.#someIds();
    this.#begin(`keys removed: ${ids.join(" ")}`);
    await this.#wheel((client) => client.wheel("key.delete", { match: ids }));
  }

  async #rejectKeys(): Promise<void> {
    const ids = this.#someIds();
    this.#begin(`keys rejected and accepted: ${ids.join(" ")}`);
    await this.#wheel((client) => client.wheel("key.reject", { match: ids, include_accepted: true }));
    await delay(this.#between(500, 4_000));
    await this.#wheel((client) => client.wheel("key.accept", { match: ids, include_rejected: true }));
  }

  /** Repeats a change of keys that the master did not make because it was busy. */
  async #wheel(step: (client: LocalClient) => Promise<unknown>): Promise<void> {
    const deadline = performance.now() + wheelTriesMs;
    for (;;) {
      const client = this.#site.client();
      try {
        await step(client);
        return;
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
        if (performance.now() > deadline) {
          this.faults.push(`a change of keys failed for ${wheelTriesMs / 1_000} s: ${error.message}`);
          return;
        }
        if (!hasCode(error, "REQUEST_TIMEOUT")) await delay(retryWaitMs);
      } finally {
        client.close();
      }
    }
  }
}
