/** One member for tests: key directories, a record, and a replica on a connection of its own. What it logs and applies is kept. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { KeyReplica } from "../../../src/cluster/keys/replica.ts";
import { type KeyChange, type KeyDirectories, openKeyDirectories } from "../../../src/store/keys/keys.ts";
import type { NatsClients, NatsServer } from "../nats.ts";

const deadlineMs = 30_000;
const lookMs = 2;

export type LogLine = { readonly level: string; readonly text: string; readonly fields: Record<string, unknown> };

/** A key's text that names who it is of. */
export function pem(name: string): string {
  return `-----BEGIN PUBLIC KEY-----\n${name}\n-----END PUBLIC KEY-----`;
}

export class TestMember {
  readonly pkiDir: string;
  readonly recordFile: string;
  readonly keys: KeyDirectories;
  readonly lines: LogLine[] = [];
  readonly changes: KeyChange[] = [];
  readonly #name: string;
  readonly #bucket: string;
  readonly #server: NatsServer;
  #clients: NatsClients | undefined;
  #replica: KeyReplica | undefined;

  constructor(server: NatsServer, bucket: string, name: string, directory: string) {
    this.#server = server;
    this.#bucket = bucket;
    this.#name = name;
    this.pkiDir = join(directory, "pki");
    this.recordFile = join(directory, "cache", "cluster", "keys.record");
    this.keys = openKeyDirectories(this.pkiDir);
  }

  get replica(): KeyReplica {
    assert.ok(this.#replica, "the member is not started");
    return this.#replica;
  }

  /** `through`: what stands between the member and its server. */
  async start(through: (clients: NatsClients) => NatsClients = (clients) => clients): Promise<void> {
    this.#clients ??= await this.#server.connect();
    const note = (level: string) => (fields: unknown, text?: string) => {
      if (typeof fields === "string") this.lines.push({ level, text: fields, fields: {} });
      else this.lines.push({ level, text: text ?? "", fields: fields as Record<string, unknown> });
    };
    this.#replica = await KeyReplica.open({
      clients: through(this.#clients),
      bucket: this.#bucket,
      replicas: 1,
      pkiDir: this.pkiDir,
      recordFile: this.recordFile,
      member: this.#name,
      logger: { info: note("info"), warn: note("warn"), error: note("error") },
      onApplied: (change) => this.changes.push(change),
    });
  }

  async stop(): Promise<void> {
    await this.#replica?.close();
    this.#replica = undefined;
  }

  /** States with a file, and the text of each. */
  look(id: string): Record<string, string> {
    const found: Record<string, string> = {};
    for (const state of ["accepted", "pending", "rejected", "denied"] as const) {
      const text = this.keys.read(state, id);
      if (text !== undefined) found[state] = text;
    }
    return found;
  }

  async until(what: string, isDone: () => boolean): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    while (!isDone()) {
      assert.ok(
        performance.now() < endMs,
        `${this.#name}: not in time: ${what}; ${JSON.stringify(this.lines.slice(-5))}`,
      );
      await delay(lookMs);
    }
  }

  async untilHolds(id: string, expected: Record<string, string>): Promise<void> {
    const wanted = JSON.stringify(expected);
    await this.until(`${id} is ${wanted}`, () => JSON.stringify(this.look(id)) === wanted);
  }

  async untilInStep(): Promise<void> {
    await this.until("in step", () => this.replica.waitingCount === 0);
  }

  warnings(part: string): LogLine[] {
    return this.lines.filter(({ level, text }) => level === "warn" && text.includes(part));
  }
}
