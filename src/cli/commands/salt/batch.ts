/** `saltworks salt -b` and `saltworks run jobs.follow`: shows a batch job while it runs. Source: docs/compatibility.md, "Batches". */

import type { Logger } from "pino";
import type { JobRequest } from "../../../client/job-request.ts";
import { MasterClient } from "../../../client/master-client.ts";
import { type BatchEvent, exitCodeOf, type RunningBatch } from "../../../client/running-batch.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { hasCode } from "../../../errors.ts";
import { reprText } from "../../../python/repr.ts";
import { type BatchEntry, type BatchOptions, parseShare } from "../../../wire/batch-options.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { Exit } from "../../host/exit.ts";
import type { Host } from "../../host/host.ts";
import { usageExitCode } from "../../options/line-reader.ts";
import type { OptionsOf } from "../../options/parse.ts";
import type { Display } from "../../show/display.ts";
import { Followed } from "../../show/followed.ts";
import { commandLine, noticeNoMatch } from "../../show/notices.ts";
import { noMatchText, nothingText, saltExitCodes } from "../../show/salt-endings.ts";

type SaltOptions = OptionsOf<"salt">;
type Done = Extract<BatchEntry, { kind: "done" }>;

/**
 * Reads the options of a batch. Returns undefined if the job is not a batch.
 *
 * @throws Exit if they are invalid
 */
export function batchOptionsOf(options: SaltOptions, host: Pick<Host, "write" | "complain">): BatchOptions | undefined {
  if (options.batch === undefined || options.batch === "") {
    const needing = [
      ["--canary", options.canary],
      ["--batch-max-failures", options.batchMaxFailures],
    ] as const;
    for (const [name, value] of needing) if (value !== undefined) refuse(host, `option ${name} needs -b`);
    return undefined;
  }
  if (options.deliverWithin)
    refuse(host, "--deliver-within cannot be combined with -b, which takes the minions that answer now");
  return sizedBatch(options, options.batch, host);
}

/**
 * The batch that replaces a job to at least `limit` minions. Undefined if `limit` is off.
 *
 * @throws Exit if the options are invalid
 */
export function safeBatchOf(
  options: SaltOptions,
  config: MasterConfig,
  host: Pick<Host, "write" | "complain">,
): { readonly limit: number; readonly batch: BatchOptions } | undefined {
  const limit = options.batchSafeLimit ?? config.batch_safe_limit;
  // As in Salt, a limit of 1 turns this off.
  if (limit <= 1) return undefined;
  return { limit, batch: sizedBatch(options, options.batchSafeSize ?? String(config.batch_safe_size), host) };
}

function sizedBatch(options: SaltOptions, size: string, host: Pick<Host, "write" | "complain">): BatchOptions {
  if (parseShare(size) === undefined) {
    host.write(`Invalid batch data sent: ${size}\nData must be in the form of %10, 10% or 3\n`);
    if (/^[-+]?\s*0*\d+%?$|^%/.test(size.trim())) host.complain("A batch needs at least one minion at a time.\n");
    throw new Exit(usageExitCode);
  }
  const { batchMaxFailures: failuresMax, canary = 0 } = options;
  if (failuresMax !== undefined && parseShare(failuresMax) === undefined)
    refuse(host, `option --batch-max-failures: invalid value: '${failuresMax}' (a number from 1 on, or a percentage)`);
  if (canary < 0) refuse(host, `option --canary: invalid value: '${canary}' (a number from 0 on)`);
  const waitSeconds = Number(options.batchWait ?? 0);
  if (options.batchWait?.trim() === "" || !Number.isFinite(waitSeconds) || waitSeconds < 0)
    refuse(host, `option --batch-wait: invalid floating-point value: '${options.batchWait}'`);
  return {
    size,
    waitSeconds,
    isFailHard: options.isFailHard,
    canary,
    failuresMax,
    isStatic: options.isStatic,
  };
}

function refuse(host: Pick<Host, "complain">, message: string): never {
  host.complain(`salt: error: ${message}\n`);
  throw new Exit(usageExitCode);
}

export class BatchCommand {
  readonly #client: MasterClient;
  readonly #display: Display;
  readonly #host: Host;
  readonly #log: Logger;
  readonly #followed: Followed<RunningBatch>;
  #isStatic = false;
  readonly #returns: ValueMap = new Map();
  #isAnyDocumentState = false;

  readonly #configDir: string | undefined;

  /** `configDir`: as on the command line, for suggested commands. */
  constructor(client: MasterClient, display: Display, host: Host, log: Logger, configDir?: string) {
    this.#client = client;
    this.#display = display;
    this.#host = host;
    this.#log = log;
    this.#configDir = configDir;
    this.#followed = new Followed(client, host, (jid) => host.complain(`${followText(jid, configDir)}\n`));
  }

  /** Begins the batch and leaves it to the master. @returns the exit code */
  async begin({ follow: _, ...request }: JobRequest & { readonly batch: BatchOptions }): Promise<number> {
    const published = await this.#client.publish(request);
    if (published === undefined) await this.#tellNoMatch(request);
    this.#display.line(`Executed command with job ID: ${published?.jid ?? 0}`);
    if (published !== undefined) this.#host.complain(`${followText(published.jid, this.#configDir)}\n`);
    return saltExitCodes.done;
  }

  /** @returns the exit code */
  run(request: JobRequest & { readonly batch: BatchOptions }): Promise<number> {
    return this.#show(async () => {
      const running = await this.#client.batch(request);
      if (running !== undefined) return running;
      await this.#tellNoMatch(request);
      if (!request.batch.isStatic) this.#display.line("No minions matched the target.");
      return request.batch.isStatic ? this.#nothing() : 0;
    });
  }

  /** @returns the same exit code as the command that began the batch */
  follow(jid: string): Promise<number> {
    return this.#show(() => this.#client.followBatch(jid));
  }

  async #tellNoMatch(request: JobRequest): Promise<void> {
    this.#display.line(noMatchText);
    await noticeNoMatch(request, this.#client, this.#host);
  }

  #show(begin: () => Promise<RunningBatch | number>): Promise<number> {
    return this.#followed.until(async () => {
      const begun = await begin();
      if (typeof begun === "number") return begun;
      this.#followed.running = begun;
      for await (const event of begun.events()) {
        this.#tell(event);
        if (event.entry.kind === "done") return this.#end(event.entry);
      }
      return saltExitCodes.failed;
    });
  }

  #tell({ entry, returned }: BatchEvent): void {
    switch (entry.kind) {
      case "new":
        this.#isStatic = entry.isStatic;
        break;
      case "queue":
        for (const id of entry.absent) this.#line(`Minion ${id} did not respond. No job will be sent.`);
        break;
      case "start":
        this.#line(`\nExecuting run on [${[...entry.ids].sort().map(reprText).join(", ")}]\n`);
        break;
      case "return":
        this.#showReturn(entry, returned?.value ?? null, returned?.outputter);
        break;
      case "silent":
        for (const id of entry.ids) {
          // As for any static job, a minion that answered the ping but not the job is shown with an empty value.
          if (this.#isStatic) this.#returns.set(id, new Map());
          this.#line(`Minion '${id}' failed to respond to job sent`);
        }
        break;
      case "pause":
        // Shown at every log level, because no return comes until the batch is resumed.
        this.#host.complain(
          `[WARNING ] The batch was paused by ${entry.user}; ${commandLine(`saltworks run jobs.resume ${this.#followed.running?.jid}`, this.#configDir)} goes on\n`,
        );
        break;
      case "resume":
        this.#host.complain(`[WARNING ] The batch was resumed by ${entry.user}\n`);
        break;
    }
  }

  #showReturn({ jid, id, retcode }: Extract<BatchEntry, { kind: "return" }>, value: Value, outputter?: string): void {
    if (this.#isStatic) {
      this.#returns.set(id, value);
      this.#isAnyDocumentState ||= outputter === "highstate";
      return;
    }
    const shown: ValueMap = new Map<Value, Value>([
      ["retcode", retcode],
      ["jid", jid],
      [id, value],
    ]);
    this.#display.show(shown, outputter);
  }

  #line(text: string): void {
    if (!this.#isStatic) this.#display.line(text);
  }

  #end(done: Done): number {
    const reason = reasonOf(done);
    // Salt logs a failhard. Other reasons are shown at every log level.
    if (done.outcome === "failhard") this.#log.error(reason);
    else if (reason !== undefined) this.#host.complain(`ERROR: ${reason}\n`);
    if (done.minions === 0) return this.#nothing();
    if (!this.#isStatic) return exitCodeOf(done);
    if (this.#returns.size === 0) return this.#nothing();
    this.#display.show(this.#returns, this.#isAnyDocumentState ? "highstate" : undefined);
    return done.outcome === "finished" || done.outcome === "failhard" ? 0 : exitCodeOf(done);
  }

  #nothing(): number {
    if (this.#isStatic) this.#display.show(new Map());
    this.#host.complain(nothingText);
    return saltExitCodes.nothingReturned;
  }
}

type FollowParts = {
  readonly config: MasterConfig;
  readonly display: Display;
  readonly host: Host;
  readonly log: Logger;
  readonly configDir: string | undefined;
};

/**
 * Shows a batch as the command that began it does.
 *
 * @returns undefined if the words name no batch or the master does not run. The runner `jobs.follow` answers then.
 */
export async function followBatch(
  words: readonly string[],
  { config, display, host, log, configDir }: FollowParts,
): Promise<number | undefined> {
  const jid = words.length === 1 ? words[0]?.replace(/^jid=/, "") : undefined;
  if (jid === undefined || !/^\d{20}(?:_\d+)?$/.test(jid)) return undefined;
  let client: MasterClient | undefined;
  try {
    client = await MasterClient.open(config, host.user);
    return await new BatchCommand(client, display, host, log, configDir).follow(jid);
  } catch (error) {
    // The runner explains a wrong job id, or reads the stored batch.
    if (hasCode(error, "MASTER_UNREACHABLE") || hasCode(error, "REQUEST_REFUSED")) return undefined;
    throw error;
  } finally {
    client?.close();
  }
}

/** Why a batch stopped, for failhard in Salt's words. Undefined if every minion was started. */
function reasonOf({ outcome, culprit, failed: failures, queued }: Done): string | undefined {
  const left = `${queued} minion${queued === 1 ? " was" : "s were"} not started`;
  switch (outcome) {
    case "finished":
      return undefined;
    case "failhard":
      return `Minion ${culprit} returned with non-zero exit code. Batch run stopped due to failhard`;
    case "canary":
      return `Canary ${culprit} failed. Batch run stopped, ${left}`;
    case "failures":
      return `${failures} minion${failures === 1 ? "" : "s"} failed. Batch run stopped due to the failure limit, ${left}`;
    case "aborted":
      return `Batch run aborted by ${culprit}, ${left}`;
  }
}

function followText(jid: string, configDir: string | undefined): string {
  const follow = commandLine(`saltworks run jobs.follow ${jid}`, configDir);
  const abort = commandLine(`saltworks run jobs.abort ${jid}`, configDir);
  return `The batch goes on in the master. To follow it again, from its beginning, run the following command:\n\n${follow}\n\nTo stop it: ${abort}`;
}
