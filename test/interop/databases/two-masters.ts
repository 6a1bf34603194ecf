/** A master of Salt's and one of ours with the same database of jobs, each with a minion of Salt's. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Operator } from "../operator.ts";
import type { SaltsReturners } from "../returners/salts-returner.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";

const startTimeoutMs = 120_000;
const copiedTimeoutMs = 60_000;
const pollMs = 50;
export const minionId = "web1";
export type Side = "theirs" | "ours";
type Options = Readonly<Record<string, unknown>>;

/** Words after `salt MINION`. */
export const sampleJobs: readonly (readonly string[])[] = [
  ["test.ping"],
  ["cmd.run", "echo bad; exit 3", "--metadata={ticket: OPS-3}"],
  ["test.arg", "1", "a'b\"c\\d", "k={x: [1.5, null, grüße]}"],
  ["test.echo", "grüße \u{1f9c2}"],
  ["test.exception", "on purpose"],
  ["state.single", "test.fail_without_changes", "name=x"],
];

export class TwoMasters {
  readonly bed = new TestBed();
  readonly #salts: SaltsReturners;
  readonly #masters = new Map<Side, MasterUnderTest>();

  constructor(salts: SaltsReturners) {
    this.#salts = salts;
  }

  /** @param client the Python client of the database. Only this one: the folder has newer versions of packages that Salt brings itself */
  async open(options: Readonly<Record<Side, Options>>, ...client: readonly string[]): Promise<void> {
    // The process that runs Salt's commands keeps its path, so that the folder outlasts the masters.
    if (client.length > 0 && process.env.PYTHONPATH === undefined) {
      const clients = mkdtempSync(join(tmpdir(), "sw-clients-"));
      process.once("exit", () => rmSync(clients, { recursive: true, force: true }));
      for (const name of client) symlinkSync(join(this.#salts.folder, name), join(clients, name));
      process.env.PYTHONPATH = clients;
    }
    await Promise.all([this.#openSite("theirs", options.theirs), this.#openSite("ours", options.ours)]);
  }

  /** One more minion, of ours. */
  async addOurs(side: Side, id: string, options: Options): Promise<void> {
    const watch = await this.bed.watchEvents(this.#masterOf(side).sockDir);
    new MinionUnderTest(this.#masterOf(side), "ours", id, options);
    await watch.until(`start of ${id}`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
  }

  /** Salt's commands, or ours, at a master. */
  operator(maker: Side, at: Side): Operator {
    return new Operator(maker === "ours" ? "ours" : this.#release, this.#masterOf(at));
  }

  /**
   * Runs a job at a master, and waits until the database has its load and its return.
   *
   * @param rowsOf what the database has of a job
   * @returns that, without what differs from one run to the next
   */
  async rowsOf(side: Side, words: readonly string[], rowsOf: (jid: string) => readonly string[]): Promise<string[]> {
    return await this.rowsOfStarted(await this.start(side, words), rowsOf);
  }

  /** As `rowsOf`, of a job that was started. */
  async rowsOfStarted(jid: string, rowsOf: (jid: string) => readonly string[]): Promise<string[]> {
    const rows = await this.until(() => {
      const found = rowsOf(jid);
      return found.length > 0 ? found : undefined;
    });
    return rows.map((row) => withoutTimes(row.replaceAll(jid, "JID")));
  }

  /** Starts a job without waiting for its return, which takes a third of the time. @returns its id */
  async start(side: Side, words: readonly string[], target: string = minionId): Promise<string> {
    const { stdout, stderr } = await this.operator(side, side).run("salt", ["--async", target, ...words]);
    const jid = /\d{20}/.exec(stdout.toString())?.[0];
    assert.ok(jid !== undefined, `${stdout}${stderr}`);
    return jid;
  }

  /**
   * Compares the rows of the sample jobs, one after the other.
   *
   * @param isAtOnce at both masters at once. A row that jobs of both masters share must not be compared so: the other master may just have written it
   * @returns the rows of Salt's master
   */
  async compare(rowsOf: (jid: string) => readonly string[], isAtOnce = true): Promise<string[][]> {
    const all = async (side: Side) => {
      const found: string[][] = [];
      for (const words of sampleJobs) found.push(await this.rowsOf(side, words, rowsOf));
      return found;
    };
    const [theirs, ours] = isAtOnce
      ? await Promise.all([all("theirs"), all("ours")])
      : [await all("theirs"), await all("ours")];
    for (const [index, words] of sampleJobs.entries()) assert.deepEqual(ours[index], theirs[index], words.join(" "));
    return theirs;
  }

  /** Looks into the database until it has something. */
  async until<Found>(look: () => Found | undefined): Promise<Found> {
    const endMs = performance.now() + copiedTimeoutMs;
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      assert.ok(performance.now() < endMs, "the database does not get it");
      await delay(pollMs);
    }
  }

  get #release() {
    const { release } = this.#salts;
    assert.ok(release !== undefined);
    return release;
  }

  async #openSite(side: Side, options: Options): Promise<void> {
    const maker = side === "theirs" ? this.#release : "ours";
    const master = await MasterUnderTest.create(this.bed, maker, { auto_accept: true, ...options }, side);
    await master.start();
    this.#masters.set(side, master);
    const watch = await this.bed.watchEvents(master.sockDir);
    new MinionUnderTest(master, this.#release, minionId, options, `${side}-minions`);
    await watch.until("minion start", ({ tag }) => tag === `salt/minion/${minionId}/start`, startTimeoutMs);
  }

  #masterOf(side: Side): MasterUnderTest {
    const master = this.#masters.get(side);
    assert.ok(master !== undefined);
    return master;
  }
}

export function withoutTimes(row: string): string {
  return row
    .replace(/"_stamp": "[^"]+"/, '"_stamp": "TIME"')
    .replace(/"ts": \d+/, '"ts": 0')
    .replaceAll(/"start_time": "[^"]+"/g, '"start_time": "TIME"')
    .replaceAll(/"duration": [\d.]+/g, '"duration": 0');
}
