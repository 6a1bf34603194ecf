/** A returner in the site's own Python as a database of jobs: it gets a copy of the job cache, and answers what the local store has no longer. */
import type { MasterConfig } from "../config/load.ts";
import type { Expired, JobDatabase, WriteOptions, Written } from "../databases/contract/database.ts";
import type { Row } from "../databases/contract/rows.ts";
import { pythonPlace } from "../databases/registry.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { databaseCopyRowsMax, databaseStatementMs, pythonJobsCleanMs, pythonJobsWriteMs } from "../limits.ts";
import type { SidecarSettings } from "../sidecar/contract.ts";
import { Sidecar } from "../sidecar/sidecar.ts";
import type { Value } from "../wire/values.ts";
import { type AskReturner, PythonJobReader } from "./python-job-reader.ts";

/** One attempt to write a row. `place`: in the question. `failure`: why the returner did not take it. */
type Attempt = { readonly place: number; readonly failure: string | undefined; readonly wasPresent: boolean };

/** A row is refused once others were taken so often after it had failed again: its server is there, and does not like it. */
const strikesMax = 2;
/** The fewest rows of a write after one that failed as a whole: another row shows whether the returner takes any. Each such failure doubles them. */
const rowsAfterFailure = 4;
/** A write that takes longer is tried again, milliseconds, so that its thread is not given up. What is written by then is known. */
const writeMsMax = 30_000;
/** A write takes about so long, milliseconds, because what is done counts only with the whole of it. */
const writeMs = 2_000;

export class PythonJobs implements JobDatabase {
  readonly name: string;
  readonly place: string;
  readonly reader: PythonJobReader;
  readonly #sidecar: Sidecar;
  readonly #ask: AskReturner;
  /** Rows of writes that failed as a whole. They are not written again when the write is repeated. At most those of one write for each part of the feed. */
  readonly #done = new Map<string, { readonly wasPresent: boolean }>();
  /** Rows that the returner does not take, and why, until the caller has been told of each alone. */
  readonly #refused = new Map<string, string>();
  /** Rows that have failed, and how often others were taken afterwards. */
  readonly #strikes = new Map<string, { count: number; hasFailed: boolean }>();
  #cleaning: Promise<void> | undefined;
  #cleanFault: Error | undefined;
  /** Grows from one, so that a slow returner does not hold a write for minutes. */
  #rowsMax = 1;

  constructor(name: string, place: string, sidecar: Sidecar) {
    this.name = name;
    this.place = place;
    this.#sidecar = sidecar;
    this.#ask = (action, members) => this.#asked(action, members);
    this.reader = new PythonJobReader(this.#ask);
  }

  get rowsMax(): number {
    return this.#rowsMax;
  }

  async check(): Promise<void> {
    await this.#ask("check", {});
  }

  /** Python says of each row whether it was written, because a returner writes them one by one. */
  async write(rows: readonly Row[], { mayBePresent }: WriteOptions): Promise<Written> {
    const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
    const startMs = performance.now();
    for (let left = this.#undecided(keyed); left.length > 0; left = this.#undecided(left)) {
      const packed = left.map(({ row }) => packedRow(row));
      const asked = { rows: packed, may_be_present: mayBePresent, seconds: pythonJobsWriteMs / 1_000 };
      const attempts = attemptsIn(await this.#ask("write", asked));
      for (const attempt of attempts) this.#note(attempt, left[attempt.place]?.key ?? "");
      const isTaking = attempts.some(({ failure }) => failure === undefined);
      if (!isTaking) this.#rowsMax = Math.min(databaseCopyRowsMax, Math.max(2 * this.#rowsMax, rowsAfterFailure));
      if (!isTaking && this.#undecided(left).length === left.length)
        throw failed(`${this.place}: ${attempts[0]?.failure ?? "no row was taken"}`);
      if (performance.now() - startMs <= writeMsMax || this.#undecided(left).length === 0) continue;
      this.#rowsMax = Math.ceil(this.#rowsMax / 2);
      throw failed(`${this.place}: it is slow: ${rows.length} rows took longer than ${writeMsMax / 1_000} seconds`);
    }
    this.#fit(rows.length, performance.now() - startMs);
    const [refused] = keyed.filter(({ key }) => this.#refused.has(key));
    if (refused !== undefined) {
      const why = this.#refused.get(refused.key) ?? "";
      if (keyed.length === 1) this.#refused.delete(refused.key);
      throw new SaltworksError("DATABASE_REFUSED", `${this.place}: ${why}`);
    }
    return this.#counted(keyed);
  }

  #note({ failure, wasPresent }: Attempt, key: string): void {
    if (failure !== undefined) {
      const { count = 0 } = this.#strikes.get(key) ?? {};
      if (count >= strikesMax) this.#refused.set(key, failure);
      else this.#strikes.set(key, { count, hasFailed: true });
      return;
    }
    this.#done.set(key, { wasPresent });
    this.#strikes.delete(key);
    for (const strike of this.#strikes.values()) {
      if (strike.hasFailed) strike.count += 1;
      strike.hasFailed = false;
    }
  }

  #fit(rows: number, ms: number): void {
    const fitting = Math.floor((rows * writeMs) / Math.max(ms, 1));
    this.#rowsMax = Math.max(1, Math.min(fitting, 2 * this.#rowsMax, databaseCopyRowsMax));
  }

  #counted(rows: readonly { readonly row: Row; readonly key: string }[]): Written {
    const written = { jobs: 0, returns: 0, present: 0 };
    for (const { row, key } of rows) {
      if (this.#done.get(key)?.wasPresent === true) written.present += 1;
      else written[row.kind === "job" ? "jobs" : "returns"] += 1;
    }
    for (const { key } of rows) this.#done.delete(key);
    // What is refused has left, too.
    if (this.#done.size === 0) this.#strikes.clear();
    return written;
  }

  /**
   * Salt's own way: the returner knows what is old, and does not say how many rows left. It may take long, so that this only starts it, and tells what
   * became of the one before.
   */
  async expire(): Promise<Expired> {
    const fault = this.#cleanFault;
    this.#cleanFault = undefined;
    this.#cleaning ??= this.#asked("clean", {}, pythonJobsCleanMs)
      .then(
        () => undefined,
        (error: Error) => {
          this.#cleanFault = error;
        },
      )
      .finally(() => {
        this.#cleaning = undefined;
      });
    if (fault !== undefined) throw fault;
    return { jobs: 0, returns: 0, events: 0, next: undefined };
  }

  async createSchema(): Promise<readonly string[]> {
    throw failed(`${this.place}: a returner in Python makes its own tables`);
  }

  async close(): Promise<void> {
    this.#sidecar.close();
  }

  #undecided<Keyed extends { readonly key: string }>(rows: readonly Keyed[]): readonly Keyed[] {
    return rows.filter(({ key }) => !this.#done.has(key) && !this.#refused.has(key));
  }

  async #asked(
    action: string,
    members: Readonly<Record<string, unknown>>,
    timeoutMs = databaseStatementMs,
  ): Promise<Value> {
    try {
      const request = { kind: "job_cache", name: this.name, action, ...members };
      return (await this.#sidecar.ask(request, timeoutMs)).value;
    } catch (error) {
      const { message, detail } = error as SaltworksError;
      if (hasCode(error, "FUNCTION_FAILED"))
        throw failed(`${this.place}: ${String(detail.className)}: ${message}`, { cause: error });
      // Python ended, or was killed at its deadline: some rows may have been written.
      const isCut = hasCode(error, "SIDECAR_TIMEOUT") || hasCode(error, "SIDECAR_FAILED");
      throw failed(`${this.place}: ${message}`, { isCut, cause: error });
    }
  }
}

/** Starts nothing yet. `complain` gets what Python writes to its standard error. */
export function openPythonJobs(
  config: MasterConfig,
  environment: SidecarSettings["environment"],
  name: string,
  complain: (text: string) => void,
): PythonJobs {
  return new PythonJobs(name, pythonPlace(config, name), new Sidecar(config, environment, complain));
}

function failed(message: string, o: { readonly isCut?: boolean; readonly cause?: unknown } = {}): SaltworksError {
  return new SaltworksError("DATABASE_FAILED", message, { isCut: o.isCut ?? false }, { cause: o.cause });
}

function keyOf(row: Row): string {
  return [row.kind, row.jid, row.kind === "return" ? row.minionId : "", row.body.byteLength].join("\0");
}

function packedRow(row: Row): Readonly<Record<string, unknown>> {
  const { kind, jid, body } = row;
  return { kind, jid, body, ...(row.kind === "job" && { minions: row.expected?.() ?? [] }) };
}

/** Python's list of attempts, in their order: the place, and null or the reason of a failure, and whether the row was there. */
function attemptsIn(value: Value): readonly Attempt[] {
  return (Array.isArray(value) ? value : []).map((attempt) => {
    const [place, failure, wasPresent] = attempt as readonly Value[];
    return {
      place: Number(place),
      failure: typeof failure === "string" ? failure : undefined,
      wasPresent: wasPresent === true,
    };
  });
}
