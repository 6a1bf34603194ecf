/** A master with `master_job_cache: mysql`, its MariaDB behind a proxy, and a fleet that returns to jobs in storms. */
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { connectionsOf } from "../../../bench/fleet/kernel-connections.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { BlackHole } from "../../databases/black-hole.ts";
import { MariadbServer } from "../../databases/mariadb.ts";
import { mountSmallDisk, type SmallDisk } from "../../fault/small-disk.ts";
import { readCounters, startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const upTimeoutMs = 120_000;
const stormTimeoutMs = 120_000;
const copyTimeoutMs = 120_000;
const pollMs = 50;
/** A log of 8 MB instead of 96, so that the server fits on a small disk. */
const smallServer = ["--innodb-log-file-size=8M"];

type Status = { readonly State: string; readonly Waiting: number; readonly Reason?: string };

export type DatabaseStormOptions = {
  readonly minionCount: number;
  /** Size of the disk in memory that the server has for itself; without it, and where none can be mounted, it uses the system's. */
  readonly diskMegabytes?: number;
};

export class DatabaseStorm {
  /** Of the jobs whose rows are in the database, or on their way. */
  readonly jids: string[] = [];
  readonly #forgotten: string[] = [];
  readonly minionCount: number;
  readonly disk: SmallDisk | undefined;
  readonly server: MariadbServer;
  readonly hole: BlackHole;
  #master: MasterProcess | undefined;
  #fleet: Fleet | undefined;

  private constructor(minionCount: number, disk: SmallDisk | undefined, server: MariadbServer, hole: BlackHole) {
    this.minionCount = minionCount;
    this.disk = disk;
    this.server = server;
    this.hole = hole;
  }

  /** The database is empty: it has no tables. */
  static async open({ minionCount, diskMegabytes }: DatabaseStormOptions): Promise<DatabaseStorm> {
    const disk = diskMegabytes === undefined ? undefined : mountSmallDisk(diskMegabytes);
    let site: DatabaseStorm | undefined;
    try {
      const server = await MariadbServer.start(smallServer, disk?.path);
      site = new DatabaseStorm(minionCount, disk, server, await BlackHole.open(server.port));
      await site.#open();
      return site;
    } catch (error) {
      if (site === undefined) disk?.remove();
      else await site.close();
      throw error;
    }
  }

  async #open(): Promise<void> {
    const { minionCount, server, hole } = this;
    this.#master = await startOurMaster(minionCount, {
      auto_accept: true,
      master_job_cache: "mysql",
      ...server.options(hole.port),
    });
    this.#fleet = await openFleet({
      masterHost: "127.0.0.1",
      requestPort: this.#master.requestPort,
      minionCount,
      returnBytes: [100, 4_000],
      returnDelayMs: [0, 600],
      returnTimeoutMs: [2_000, 3_000],
      returnTries: 30,
      reconnectMs: [100, 500],
      isRecordingAcks: true,
    });
    await this.#fleet.untilUp(upTimeoutMs);
  }

  get jobCount(): number {
    return this.#forgotten.length + this.jids.length;
  }

  get master(): MasterProcess {
    assert.ok(this.#master !== undefined);
    return this.#master;
  }

  get fleet(): Fleet {
    assert.ok(this.#fleet !== undefined);
    return this.#fleet;
  }

  async close(): Promise<void> {
    await this.#fleet?.close();
    await this.#master?.remove();
    this.hole.close();
    await this.server.remove();
    this.disk?.remove();
  }

  /** Runs a function of `saltworks run`. The password must not be in its answer. */
  async run<Answer>(...args: readonly string[]): Promise<Answer> {
    const { exitCode, stdout, stderr } = await runCli(
      ["run", "-c", this.master.configDirectory, ...args, "--out", "json"],
      stormTimeoutMs,
    );
    assert.equal(exitCode, 0, stderr);
    assert.ok(!`${stdout}${stderr}`.includes(this.server.password));
    return JSON.parse(stdout) as Answer;
  }

  status(): Promise<Status> {
    return this.run<Status>("jobs.cache_status");
  }

  /** A counter of the database. Read by a client in this process, because a program takes its time to start. */
  async count(name: string): Promise<number> {
    const client = this.master.client();
    try {
      return (await readCounters(client)).main.get(`database.${name}`) ?? 0;
    } finally {
      client.close();
    }
  }

  /** A subscription that is connected again is reported by neither side, but by the kernel. */
  async publish(): Promise<string> {
    const { processIds } = this.fleet;
    const isConnected = () => connectionsOf(processIds, this.master.publishPort) >= this.minionCount;
    await this.until("the fleet is connected", isConnected);
    const client = this.master.client();
    const { jid } = await client.publish("*", "cmd.run", ["df -h"]);
    client.close();
    this.jids.push(jid);
    return jid;
  }

  /** A fleet that no job has reached yet is settled too, so this counts the returns of all jobs. Each of them must be acknowledged. */
  async untilReturned(): Promise<void> {
    const all = ({ returnsAcknowledged, returnsLost }: Fleet["counters"]) =>
      returnsAcknowledged + returnsLost >= this.jobCount * this.minionCount;
    await this.fleet.until("every return of every job is acknowledged or given up", all, stormTimeoutMs);
    assert.equal(this.fleet.counters.returnsLost, 0);
  }

  /** Publishes a job and acts when a part of its returns has been acknowledged. */
  async duringStorm(act: () => Promise<void> | void): Promise<string> {
    const before = this.fleet.counters.returnsAcknowledged;
    const jid = await this.publish();
    const some = ({ returnsAcknowledged }: Fleet["counters"]) => returnsAcknowledged >= before + this.minionCount / 6;
    await this.fleet.until("some returns", some, stormTimeoutMs);
    await act();
    return jid;
  }

  async until(what: string, isDone: () => Promise<boolean> | boolean): Promise<void> {
    const endMs = performance.now() + copyTimeoutMs;
    while (!(await isDone())) {
      assert.ok(performance.now() < endMs, `${what}\n${this.master.logTail()}`);
      await wait(pollMs);
    }
  }

  /** Empties the tables of whole jobs, because the disk is small. None of their rows may come again. */
  forgetJobs(): void {
    for (const table of ["salt_returns", "jids"]) this.server.sql(`TRUNCATE TABLE salt.${table}`);
    this.#forgotten.push(...this.jids.splice(0));
  }

  /** Each acknowledged return of all jobs is there once, and nothing else. */
  async assertWhole(): Promise<void> {
    const isOurs = `jid IN (${[...this.#forgotten, ...this.jids].map((jid) => `'${jid}'`).join(", ")})`;
    // Not all jobs are the test's: the master asks minions that take long what they run.
    const counts = (column: string, table: string) =>
      new Map(
        this.server
          .sql(`SELECT jid, COUNT(${column}) FROM salt.${table} WHERE ${isOurs} GROUP BY jid`)
          .map((line) => line.split("\t"))
          .map(([jid = "", count]) => [jid, Number(count)]),
      );
    const isCopied = () => {
      const rows = counts("*", "salt_returns");
      return this.jids.every((jid) => (rows.get(jid) ?? 0) >= this.minionCount);
    };
    await this.until("the returns of all jobs are copied", isCopied);
    const each = new Map(this.jids.map((jid) => [jid, this.minionCount]));
    assert.deepEqual(counts("*", "salt_returns"), each);
    assert.deepEqual(counts("DISTINCT id", "salt_returns"), each);
    assert.deepEqual(counts("*", "jids"), new Map(this.jids.map((jid) => [jid, 1])));
  }
}
