/** The load of one turn: jobs from each member to some minions, and keys that an operator accepts at any member. */
import { setTimeout as pause } from "node:timers/promises";
import { hasCodeIn } from "../../../src/config/files/system-errors.ts";
import { hasCode, SaltworksError } from "../../../src/errors.ts";
import { finishAuth, startAuth } from "../../fleet/handshake.ts";
import type { MinionKey } from "../../fleet/keys.ts";
import { Connection } from "../../fleet/storm/connection.ts";
import type { Random } from "../../load/random.ts";
import type { History, Published } from "./history.ts";
import { answerLimitMs, type SideMember, sparePrefix } from "./side.ts";

const keyEveryMs = 2_000;

/** `jobEveryMs`: on each member, after the answer to the job before. */
export type Rate = { readonly jobEveryMs: number; readonly targets: number };

type Options = {
  readonly rate: Rate;
  readonly members: readonly SideMember[];
  readonly history: History;
  readonly minions: readonly string[];
  readonly spareKeys: readonly MinionKey[];
  readonly random: Random;
};

export class OperatorLoad {
  readonly #options: Options;
  readonly #stopped = new AbortController();
  #jobs = 0;
  #spares = 0;
  #loops: Promise<unknown> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  start(): void {
    const { members, rate } = this.#options;
    this.#loops = Promise.all([
      ...members.map((_, at) => this.#repeat(rate.jobEveryMs, () => this.#publish(at))),
      this.#repeat(keyEveryMs, () => this.#acceptNext()),
    ]);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loops;
  }

  async #publish(at: number): Promise<void> {
    const { members, history, random, minions, rate } = this.#options;
    const targets = minions
      .map((id) => ({ id, order: random() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, rate.targets)
      .map(({ id }) => id);
    const jid = this.#nextJid();
    const sentMs = performance.now();
    const outcome = await outcomeOf(() => publish(members[at], targets, jid));
    history.published.push({ jid, member: at, targets, sentMs, endedMs: performance.now(), outcome });
  }

  /** A new minion comes to a member, and the operator accepts it there. */
  async #acceptNext(): Promise<void> {
    const { members, history, random, spareKeys } = this.#options;
    const key = spareKeys[this.#spares];
    const at = Math.floor(random() * members.length);
    const member = members[at];
    if (key === undefined || member === undefined) return;
    const id = `${sparePrefix}${this.#spares}`;
    this.#spares += 1;
    const outcome = await outcomeOf(async () => {
      await signUp(member, id, key);
      await member.acceptKey(id);
    });
    if (outcome === "taken") history.acceptedKeys.push({ id, member: at });
  }

  /** As Salt's: the time in microseconds, here with a number that makes it unique. */
  #nextJid(): string {
    this.#jobs += 1;
    const time = new Date().toISOString().replaceAll(/\D/g, "");
    return `${time}${String(this.#jobs % 1_000).padStart(3, "0")}`;
  }

  async #repeat(everyMs: number, step: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await step();
      const waitMs = everyMs * (0.5 + this.#options.random());
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** The client is closed after the limit, which ends the wait. */
async function publish(member: SideMember | undefined, targets: readonly string[], jid: string): Promise<void> {
  if (member === undefined) throw new RangeError("no member");
  const client = member.client();
  const timer = setTimeout(() => client.close(), answerLimitMs);
  try {
    await client.publish(targets, "test.ping", [], "list", jid);
  } finally {
    clearTimeout(timer);
    client.close();
  }
}

async function outcomeOf(call: () => Promise<void>): Promise<Published["outcome"]> {
  try {
    await call();
    return "taken";
  } catch (error) {
    // A member that starts writes its operator's key anew.
    if (hasCode(error, "REQUEST_REFUSED") || hasCodeIn(error, "ENOENT")) return "refused";
    if (error instanceof SaltworksError) return "unanswered";
    throw error;
  }
}

/** Leaves the key of a new minion waiting at the member. */
async function signUp({ address }: SideMember, id: string, key: MinionKey): Promise<void> {
  const connection = await Connection.open({ host: address.host, port: address.requestPort, type: "REQ" });
  try {
    const attempt = startAuth(id, key, 3, undefined);
    finishAuth(attempt, await connection.request(attempt.request, answerLimitMs), key, 3, undefined);
  } finally {
    connection.close();
  }
}
