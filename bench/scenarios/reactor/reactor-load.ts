/** Fires events at a rate, to each of which the master's reactor reacts with one call. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fireEvents } from "../../../src/transport/event-stream-client.ts";
import { encodeEvent } from "../../../src/wire/event.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";

const folder = join(tmpdir(), `saltworks-bench-reactor-${process.pid}`);
const stepMs = 20;
/** How long the last reactions may take. */
const endMs = 10_000;

export type ReactionKind = "runner" | "wheel";
const bodies: Readonly<Record<ReactionKind, string>> = {
  runner: "runner.test.arg: [{args: {number: {{ data.number }}}}]",
  wheel: "wheel.key.name_match: [{args: {match: none}}]",
};

export function reactorConfig(kind: ReactionKind): Readonly<Record<string, unknown>> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "react.sls"), `{% if data.number >= 0 %}\nreact:\n  ${bodies[kind]}\n{% endif %}\n`);
  return { reactor: [{ "bench/*": [join(folder, "react.sls")] }] };
}

/** Reactions that ended, and what was dropped. */
type Counts = { readonly done: number; readonly lost: number };

export class ReactorLoad {
  readonly #master: MasterUnderTest;
  readonly #kind: ReactionKind;
  #sent = 0;

  constructor(master: MasterUnderTest, kind: ReactionKind) {
    this.#master = master;
    this.#kind = kind;
  }

  /** Fires at least once. @returns the events fired, and the reactions that followed a second */
  async fireUntil(
    isOver: () => boolean,
    rate: number,
  ): Promise<{ readonly sent: number; readonly perSecond: number; readonly lost: number }> {
    const before = await this.#counts();
    const startedMs = performance.now();
    const pull = join(this.#master.socketDirectory, "master_event_pull.ipc");
    let sent = 0;
    do {
      await pause(stepMs);
      const due = Math.floor(((performance.now() - startedMs) * rate) / 1_000) - sent;
      const events = Array.from({ length: due }, () => this.#event());
      if (due > 0) await fireEvents(pull, events);
      sent += due;
    } while (!isOver());
    const seconds = (performance.now() - startedMs) / 1_000;
    const firedMs = performance.now();
    let now = await this.#counts();
    while (now.done + now.lost < before.done + before.lost + sent && performance.now() - firedMs < endMs) {
      await pause(stepMs);
      now = await this.#counts();
    }
    return { sent, perSecond: (now.done - before.done) / seconds, lost: sent - (now.done - before.done) };
  }

  close(): void {
    rmSync(folder, { recursive: true, force: true });
  }

  #event(): Uint8Array {
    this.#sent += 1;
    return encodeEvent(`bench/${this.#sent % 10}`, { number: this.#sent });
  }

  async #counts(): Promise<Counts> {
    const main = (await this.#master.counters?.())?.main ?? new Map<string, number>();
    const of = (name: string) => main.get(`reactions.${name}`) ?? 0;
    const lost = of("dropped") + of(`${this.#kind}.dropped`) + of(`${this.#kind}.failed`);
    return { done: of(`${this.#kind}.done`), lost };
  }
}
