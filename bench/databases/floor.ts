/** Question: what limits catching up? The shipper alone, and a bare loop of mysql2 with the same rows in the same statements, in turns. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { BroughtRows } from "../../src/databases/brought-rows.ts";
import type { JobDatabase } from "../../src/databases/contract/database.ts";
import { jobRow, type ReturnRow, returnRow } from "../../src/databases/contract/rows.ts";
import { connectMysql, type MysqlClient, type MysqlValue } from "../../src/databases/mysql/client.ts";
import { openDatabase } from "../../src/databases/registry.ts";
import { Shipper } from "../../src/databases/shipper.ts";
import { SaltworksError } from "../../src/errors.ts";
import { lmdbDriver } from "../../src/store/drivers/lmdb/driver.ts";
import type { JobFeed } from "../../src/store/jobs/job-feed.ts";
import { takeTurns } from "../peers/abba.ts";
import { countOf, runProgram, say, signalOfInterrupts } from "../peers/program.ts";
import { openResult } from "./result.ts";
import { DatabaseSite } from "./site.ts";
import { minionsOfJob, storeWaiting, type WaitingJob, waitingJob } from "./waiting.ts";

const usage = `usage: node dist/bench/databases/floor.js [options]
  --jobs COUNT         jobs of one turn, each with 1,000 returns, default 50
  --rounds COUNT       turns of each kind, in alternating order, default 4
  --return-bytes SIZE  of the value in each return, default 1024
`;

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "50" },
    rounds: { type: "string", default: "4" },
    "return-bytes": { type: "string", default: "1024" },
    help: { type: "boolean", default: false },
  },
});

const databases = { shipper: "ours", bare: "bare" } as const;
const result = openResult("databases/floor");
const rowsPerTransaction = 512;
const rowsPerStatement = 256;
const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });

type Turn = {
  readonly operations: number;
  readonly ms: number;
  readonly cpuMs: number;
  readonly serverMs: number;
  readonly diskBytes: number;
};

/** Bytes that the kernel wrote to the disk for a process. */
function diskBytesOf(processId: number | undefined): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${processId}/io`, "utf8"))?.[1]);
}

/** Runs `write`, which alone is measured. */
async function measured(site: DatabaseSite, rows: number, write: () => Promise<void>): Promise<Turn> {
  const [serverMs, diskBytes, own, startMs] = [
    site.cpuMs(),
    diskBytesOf(site.server.processId),
    process.cpuUsage(),
    performance.now(),
  ];
  await write();
  const ms = performance.now() - startMs;
  const { user, system } = process.cpuUsage(own);
  return {
    ...{ operations: rows, ms, cpuMs: (user + system) / 1_000, serverMs: site.cpuMs() - serverMs },
    diskBytes: diskBytesOf(site.server.processId) - diskBytes,
  };
}

class Contest {
  readonly #site: DatabaseSite;
  readonly #cachedir = mkdtempSync(join(tmpdir(), "sw-floor-"));
  readonly #text = "x".repeat(countOf("--return-bytes", values["return-bytes"]));
  readonly jobs = countOf("--jobs", values.jobs);
  #opened: { readonly feed: JobFeed; readonly database: JobDatabase; readonly shipper: Shipper } | undefined;
  #nextMs = Date.now() - 86_400_000;

  constructor(site: DatabaseSite) {
    this.#site = site;
  }

  async close(): Promise<void> {
    await this.#opened?.database.close();
    await this.#opened?.feed.close();
    rmSync(this.#cachedir, { recursive: true, force: true });
  }

  #newJobs(): WaitingJob[] {
    const firstMs = this.#nextMs;
    this.#nextMs += this.jobs;
    return Array.from({ length: this.jobs }, (_, index) => waitingJob(firstMs + index, this.#text));
  }

  /** Stores what the shipper copies in all turns. It is stored before, because one process cannot write a store that it has open otherwise. */
  async store(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) await storeWaiting(this.#cachedir, this.#newJobs());
    // One shipper for all turns, because after each start the first rows are looked for in the database.
    this.#opened = this.#openShipper();
  }

  async shipper(): Promise<Turn> {
    const { shipper } = this.#opened ?? this.#openShipper();
    const rows = this.jobs * minionsOfJob;
    let copied = 0;
    const turn = await measured(this.#site, rows, async () => {
      for (let waiting = 1; copied < rows && waiting > 0; ) {
        const { fault, feed, returns } = await shipper.step();
        if (fault !== undefined) throw new SaltworksError("FUNCTION_FAILED", fault);
        copied += returns;
        waiting = feed.waiting;
      }
    });
    return { ...turn, operations: copied };
  }

  /** What the turns left, because a step copies more than a turn asks for. */
  async shipAll(): Promise<void> {
    while ((await this.shipper()).operations > 0);
  }

  #openShipper() {
    const own = { "mysql.db": databases.shipper, master_job_cache: "mysql", root_dir: "/", cachedir: this.#cachedir };
    const config = this.#site.server.config(own);
    const [feed, database] = [lmdbDriver.openFeed(config), openDatabase(config, "mysql")];
    return { feed, database, shipper: new Shipper(feed, database, new BroughtRows(config.cachedir, "mysql")) };
  }

  async bare(): Promise<Turn> {
    const made = this.#newJobs().map(({ jid, load, returns }) => ({
      job: jobRow(jid, load),
      returns: returns.map(({ minionId, body }) => returnRow(jid, minionId, body)),
    }));
    const client = await connectMysql({ ...this.#site.server.clientOptions(), database: databases.bare });
    const rows = made.flatMap(({ returns }) => returns);
    try {
      return await measured(this.#site, rows.length, async () => {
        for (const { job } of made)
          await client.execute("INSERT INTO `jids` (`jid`, `load`) VALUES (?, ?)", [job.jid, job.load]);
        for (let at = 0; at < rows.length; at += rowsPerTransaction)
          await writeBare(client, rows.slice(at, at + rowsPerTransaction));
      });
    } finally {
      client.destroy();
    }
  }
}

const columns = "INSERT INTO `salt_returns` (`fun`, `jid`, `return`, `id`, `success`, `full_ret`) VALUES ";

async function writeBare(client: MysqlClient, rows: readonly ReturnRow[]): Promise<void> {
  await client.query("START TRANSACTION");
  for (let at = 0; at < rows.length; at += rowsPerStatement) {
    const some = rows.slice(at, at + rowsPerStatement);
    const values = some.flatMap((row): MysqlValue[] => [
      row.fun,
      row.jid,
      row.value,
      row.minionId,
      row.success,
      row.whole,
    ]);
    await client.execute(columns + Array(some.length).fill("(?, ?, ?, ?, ?, ?)").join(", "), values);
  }
  await client.query("COMMIT");
}

function summary(name: string, turns: readonly Turn[]) {
  const sum = (field: keyof Turn) => turns.reduce((total, turn) => total + turn[field], 0);
  const rows = sum("operations");
  return {
    ...{ name, rows, rowsPerSecond: Math.round((rows * 1_000) / sum("ms")) },
    rowsPerSecondByTurn: turns.map((turn) => Math.round((turn.operations * 1_000) / turn.ms)),
    ...{ ownCpuUsPerRow: (sum("cpuMs") * 1_000) / rows, serverCpuUsPerRow: (sum("serverMs") * 1_000) / rows },
    serverDiskBytesPerRow: Math.round(sum("diskBytes") / rows),
  };
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const site = await DatabaseSite.open(Object.values(databases));
  const contest = new Contest(site);
  try {
    const sides = [
      { name: "shipper", turn: () => contest.shipper() },
      { name: "bare", turn: () => contest.bare() },
    ] as const;
    const rounds = countOf("--rounds", values.rounds);
    await contest.store(rounds + 1);
    for (const side of sides) await side.turn();
    const turns = await takeTurns(sides, rounds, { progress, signal: signalOfInterrupts() });
    const results = sides.map(({ name }) => summary(name, turns.get(name) ?? []));
    await contest.shipAll();
    for (const name of Object.values(databases)) site.demandOnce(name, (rounds + 1) * contest.jobs * minionsOfJob);
    for (const one of results)
      say(
        `${one.name}: ${one.rowsPerSecond} rows/s (${one.rowsPerSecondByTurn.join(", ")}); CPU of its own ${one.ownCpuUsPerRow.toFixed(1)} µs a row, of the server ${one.serverCpuUsPerRow.toFixed(1)} µs; the server writes ${one.serverDiskBytesPerRow} bytes a row`,
      );
    const { jobs, "return-bytes": returnBytes } = values;
    result.print({ parameters: { jobs, rounds, returnBytes }, results });
  } finally {
    await contest.close();
    await site.close();
  }
}

await runProgram(main);
