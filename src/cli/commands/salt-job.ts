/** `saltworks salt`: publishes a job and shows its returns as Salt does. Source: docs/compatibility.md, the command line. */
import type { JobRequest, MasterClient } from "../../client/master-client.ts";
import type { JobEvent, RunningJob } from "../../client/running-job.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { Display } from "../display.ts";
import type { Host } from "../host.ts";
import { lateReturnsText, silentText, unknownNameText } from "../silent-texts.ts";
import { type SummaryEntry, summaryLines } from "../summary.ts";

/** What the words and options of one command line ask for. */
export type SaltJob = {
  readonly request: JobRequest & { readonly follow: NonNullable<JobRequest["follow"]> };
  readonly isAsync: boolean;
  readonly isStatic: boolean;
  readonly isVerbose: boolean;
  readonly isJidShown: boolean;
  /** Whether silent minions are named. */
  readonly isTimeoutShown: boolean;
  readonly isSummarised: boolean;
};

/** Salt's exit codes. */
export const saltExitCodes = { done: 0, failed: 1, nothingReturned: 2 } as const;

export const noMatchText = "No minions matched the target. No command was sent, no jid was assigned.";
const failedText = "ERROR: Minions returned with non-zero exit code\n";
const nothingText = "ERROR: No return received\n";

/** One minion's entry as it is shown. */
type Shown = { readonly id: string; readonly value: Value; readonly retcode: number; readonly outputter?: string };

export class SaltCommand {
  readonly #job: SaltJob;
  readonly #client: MasterClient;
  readonly #display: Display;
  readonly #host: Host;
  #running: RunningJob | undefined;
  #isInterrupted = false;

  constructor(job: SaltJob, client: MasterClient, display: Display, host: Host) {
    this.#job = job;
    this.#client = client;
    this.#display = display;
    this.#host = host;
  }

  /** @returns the exit code */
  async run(): Promise<number> {
    const ignore = this.#host.onInterrupt(() => this.#interrupt());
    try {
      if (this.#job.isStatic) return await this.#runStatic();
      if (this.#job.isAsync) return await this.#publishOnly();
      return this.#job.request.fun === "sys.doc" ? await this.#showDocs() : await this.#follow();
    } catch (error) {
      if (this.#isInterrupted) return this.#sayGoodbye();
      // Before a job runs this is a failure to publish, which the caller explains.
      if (this.#running === undefined || !hasCode(error, "MASTER_UNREACHABLE")) throw error;
      this.#host.complain(`ERROR: ${(error as SaltworksError).message}\n${lateReturnsText(this.#running.jid)}\n`);
      return saltExitCodes.failed;
    } finally {
      ignore();
      this.#running?.close();
    }
  }

  async #publishOnly(): Promise<number> {
    const { follow: _, ...request } = this.#job.request;
    const published = await this.#client.publish(request);
    if (published === undefined) this.#display.line(noMatchText);
    this.#display.line(`Executed command with job ID: ${published?.jid ?? 0}`);
    return saltExitCodes.done;
  }

  async #follow(): Promise<number> {
    const running = await this.#start(this.#job.request);
    if (running === undefined) return this.#nothing(new Map());
    this.#announce(running.jid);
    const entries = new Map<string, SummaryEntry>();
    let isFailed = false;
    for await (const event of running.events()) {
      const shown = this.#toShown(event, running.jid);
      if (shown === undefined) continue;
      this.#display.show(new Map([[shown.id, shown.value]]), shown.outputter, shown.retcode);
      entries.set(shown.id, shown);
      isFailed ||= shown.retcode !== 0;
    }
    if (this.#job.isSummarised && !this.#display.isOutputterChosen)
      for (const line of summaryLines(entries, this.#job.isVerbose)) this.#display.line(line);
    if (!isFailed) return saltExitCodes.done;
    this.#host.complain(failedText);
    return saltExitCodes.failed;
  }

  /** Salt makes of `--static` one batch of all: those that answer a ping get the job, and one document shows it. */
  async #runStatic(): Promise<number> {
    const { request } = this.#job;
    const alive: string[] = [];
    const ping = await this.#start({ ...request, fun: "test.ping", args: [] });
    for await (const event of ping?.events() ?? []) if (event.kind === "return") alive.push(event.id);
    ping?.close();
    const returns: ValueMap = new Map();
    if (alive.length > 0) {
      const job = await this.#start({ ...request, target: alive, targetKind: "list" });
      for await (const event of job?.events() ?? []) if (event.kind === "return") returns.set(event.id, event.value);
      // Who answered the ping but not the job is shown with nothing, as Salt does.
      for (const id of alive) if (!returns.has(id)) returns.set(id, new Map());
    }
    if (request.fun === "sys.doc") return this.#printDocs(returns);
    if (returns.size === 0) return this.#nothing(returns);
    const isState = typeof request.fun === "string" && request.fun.startsWith("state.");
    this.#display.show(returns, isState ? "highstate" : undefined);
    return saltExitCodes.done;
  }

  async #showDocs(): Promise<number> {
    const running = await this.#start(this.#job.request);
    const returns: ValueMap = new Map();
    if (running !== undefined) this.#announce(running.jid);
    for await (const event of running?.events() ?? []) {
      const shown = this.#toShown(event, running?.jid ?? "");
      if (shown !== undefined) returns.set(shown.id, shown.value);
    }
    return this.#printDocs(returns);
  }

  /** The union over all minions: which of them documents a function does not matter. */
  #printDocs(returns: ValueMap): number {
    if (returns.size === 0) {
      this.#host.complain("No minions found to gather docs from\n");
      return saltExitCodes.nothingReturned;
    }
    const docs = new Map<string, Value>();
    for (const functions of returns.values()) {
      if (!(functions instanceof Map)) continue;
      for (const [name, text] of functions) if (text !== null && text !== "") docs.set(String(name), text);
    }
    for (const name of [...docs.keys()].sort()) {
      const text = docs.get(name) ?? "";
      if (this.#display.isOutputterChosen) this.#display.show(new Map([[name, text]]));
      else this.#display.line(`${name}:\n${String(text)}\n`);
    }
    return saltExitCodes.done;
  }

  async #start(request: SaltJob["request"]): Promise<RunningJob | undefined> {
    this.#running = await this.#client.run(request);
    if (this.#running === undefined) this.#display.line(noMatchText);
    return this.#running;
  }

  #announce(jid: string): void {
    if (this.#job.isVerbose) {
      const text = `Executing job with jid ${jid}`;
      this.#display.line(`${text}\n${"-".repeat(text.length)}\n`);
    } else if (this.#job.isJidShown) {
      this.#display.line(`jid: ${jid}`);
    }
  }

  /** Names without a key are shown even where silent minions are not. */
  #toShown(event: JobEvent, jid: string): Shown | undefined {
    const { id } = event;
    if (event.kind === "return") {
      const { value, retcode, outputter } = event;
      return { id, value, retcode, ...(outputter === undefined ? {} : { outputter }) };
    }
    if (event.kind === "unknown") return { id, value: unknownNameText(jid), retcode: 1, outputter: "no_return" };
    if (!this.#job.isTimeoutShown && !this.#job.isVerbose) return undefined;
    return { id, value: silentText(event.reason, jid), retcode: 1, outputter: "no_return" };
  }

  #nothing(returns: ValueMap): number {
    this.#display.show(returns);
    this.#host.complain(nothingText);
    return saltExitCodes.nothingReturned;
  }

  #interrupt(): void {
    this.#isInterrupted = true;
    this.#running?.close();
    this.#client.close();
  }

  #sayGoodbye(): number {
    const jid = this.#running?.jid;
    this.#host.complain("\nExiting gracefully on Ctrl-c\n");
    if (jid !== undefined) this.#host.complain(`This job's jid is: ${jid}\n${lateReturnsText(jid)}\n`);
    return saltExitCodes.done;
  }
}

/**
 * Shows why a job could not be done, where and with the exit code that Salt has for it.
 *
 * @returns undefined if it is no failure of this kind
 */
export function explainFailure(error: unknown, isStatic: boolean, display: Display, host: Host): number | undefined {
  const codes = ["REQUEST_TIMEOUT", "MASTER_UNREACHABLE", "AUTH_FAILED", "REQUEST_REFUSED"] as const;
  if (!codes.some((code) => hasCode(error, code))) return undefined;
  const { message } = error as SaltworksError;
  if (hasCode(error, "REQUEST_TIMEOUT")) host.complain("[ERROR   ] Message timed out\n");
  if (isStatic) {
    host.complain(`${message}\n`);
    return saltExitCodes.failed;
  }
  display.show(message, undefined, 1);
  return saltExitCodes.done;
}
