/** `saltworks salt`: publishes a job and shows its returns as Salt does. Source: docs/compatibility.md, "saltworks salt". */
import type { Logger } from "pino";
import type { Published } from "../../../client/job-request.ts";
import type { MasterClient } from "../../../client/master-client.ts";
import type { JobEvent, RunningJob } from "../../../client/running-job.ts";
import { hasCode, type SaltworksError } from "../../../errors.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import type { Host } from "../../host/host.ts";
import type { Display } from "../../show/display.ts";
import { Followed } from "../../show/followed.ts";
import { JobBar } from "../../show/job-bar.ts";
import { noticeDelivery, noticeLookup, noticeNoMatch } from "../../show/notices.ts";
import { noMatchText, nothingText, saltExitCodes } from "../../show/salt-endings.ts";
import { lateReturnsText, namesLookup, reasonLine, silentText, unknownNameText } from "../../show/silent-texts.ts";
import { type SummaryEntry, summaryLines } from "../../show/summary.ts";
import type { SaltJob } from "./request.ts";
import { chooseSubset, modulesOf } from "./subset.ts";

const failedText = "ERROR: Minions returned with non-zero exit code\n";

/** One minion's entry in the output. */
type Shown = { readonly id: string; readonly value: Value; readonly retcode: number; readonly outputter?: string };

export class SaltCommand {
  readonly #job: SaltJob;
  readonly #client: MasterClient;
  readonly #display: Display;
  readonly #host: Host;
  readonly #log: Logger;
  readonly #followed: Followed<RunningJob>;
  #bar: JobBar | undefined;
  /** False if no minion matches the target of `--subset`. True if minions match but lack the function. */
  #isMatching = true;

  constructor(job: SaltJob, client: MasterClient, display: Display, host: Host, log: Logger) {
    this.#job = job;
    this.#client = client;
    this.#display = display;
    this.#host = host;
    this.#log = log;
    this.#followed = new Followed(client, host, (jid) => {
      host.complain(`${lateReturnsText(jid)}\n`);
      noticeLookup(jid, job.configDir, host);
    });
  }

  /** @returns the exit code */
  run(): Promise<number> {
    return this.#followed.until(async () => {
      const request = await this.narrowed();
      if (request === undefined) return await this.matchesNobody();
      if (this.#job.isStatic) return await this.#runStatic(request);
      if (this.#job.isAsync) return await this.#publishOnly(request);
      return request.fun === "sys.doc" ? await this.#showDocs(request) : await this.#follow(request);
    });
  }

  /** The job, narrowed to the minions of `--subset`; undefined if no minion has the function. */
  async narrowed(): Promise<SaltJob["request"] | undefined> {
    const { request, subset } = this.#job;
    if (subset === undefined) return request;
    const functions = typeof request.fun === "string" ? [request.fun] : [...request.fun];
    const { ret: _, ...question } = request;
    const asked = await this.#client.run({ ...question, fun: "sys.list_functions", args: modulesOf(functions) });
    this.#isMatching = asked !== undefined;
    if (asked === undefined) return undefined;
    this.#followed.running = asked;
    if (!this.#job.isStatic && !this.#job.isAsync) this.#announce(asked.jid);
    const ids = await chooseSubset(asked.minions, this.#events(asked), functions, subset);
    asked.close();
    return ids.length === 0 ? undefined : { ...request, target: ids, targetKind: "list" };
  }

  /** Reports that `narrowed` left no minion. @returns the exit code */
  async matchesNobody(): Promise<number> {
    if (this.#isMatching) this.#display.line(noMatchText);
    else await this.#tellNoMatch(this.#job.request);
    if (!this.#job.isAsync) return this.#nothing(new Map());
    this.#display.line("Executed command with job ID: 0");
    return saltExitCodes.done;
  }

  async #publishOnly({ follow: _, ...request }: SaltJob["request"]): Promise<number> {
    const published = await this.#client.publish(request);
    if (published === undefined) await this.#tellNoMatch(request);
    this.#display.line(`Executed command with job ID: ${published?.jid ?? 0}`);
    this.#noticeDelivery(published, undefined);
    return saltExitCodes.done;
  }

  async #follow(request: SaltJob["request"]): Promise<number> {
    const running = await this.#start(request);
    if (running === undefined) return this.#nothing(new Map());
    this.#announce(running.jid);
    const entries = new Map<string, SummaryEntry>();
    const away: string[] = [];
    let isFailed = false;
    let isLookupNamed = false;
    for await (const event of this.#events(running)) {
      if (event.kind === "silent") away.push(event.id);
      const shown = this.#toShown(event, running.jid);
      if (shown === undefined) continue;
      this.#showReturn(shown);
      entries.set(shown.id, shown);
      isFailed ||= shown.retcode !== 0;
      isLookupNamed ||= event.kind !== "return" && namesLookup(shown.value);
    }
    if (this.#isSummaryWanted) for (const line of summaryLines(entries, this.#job.isVerbose)) this.#display.line(line);
    if (isLookupNamed) noticeLookup(running.jid, this.#job.configDir, this.#host);
    this.#noticeDelivery(running, away);
    if (!isFailed) return saltExitCodes.done;
    this.#host.complain(failedText);
    return saltExitCodes.failed;
  }

  #noticeDelivery(published: Published | undefined, away: readonly string[] | undefined): void {
    const isAsked = this.#job.request.kwargs?.deliver_within !== undefined;
    noticeDelivery(published?.waitsUntilMs, isAsked, away, this.#host);
  }

  /** With `-p` the bar replaces the returns. If an outputter is asked for, the bar makes room for each return. */
  #showReturn({ id, value, retcode, outputter }: Shown): void {
    if (this.#job.isProgressShown && !this.#display.isOutputterChosen) return;
    const show = () => this.#display.show(new Map([[id, value]]), outputter, retcode);
    if (this.#bar === undefined) show();
    else this.#bar.around(show);
  }

  /** A bar is followed by the summary. In a pipe `-p` shows nothing, as Salt does without its progress bar library. */
  get #isSummaryWanted(): boolean {
    if (this.#display.isOutputterChosen) return false;
    const hasBar = this.#job.isProgressShown && this.#host.errorTerminal !== undefined;
    return this.#job.isSummarised || hasBar;
  }

  /** Passes on a job's events and moves the bar of `-p`. */
  async *#events(running: RunningJob): AsyncGenerator<JobEvent, void, void> {
    this.#log.debug(`jid ${running.jid} sent to ${running.minions.length} minions`);
    if (!this.#job.isProgressShown) {
      yield* this.#logged(running);
      return;
    }
    const bar = new JobBar(this.#host.errorTerminal, running.minions);
    this.#bar = bar;
    running.onState((count) => bar.noteStates(count));
    try {
      for await (const event of this.#logged(running)) {
        if (event.kind === "return") bar.noteReturn(event.id, event.retcode !== 0);
        else bar.noteSilent(event.id);
        yield event;
      }
    } finally {
      bar.close();
      this.#bar = undefined;
    }
  }

  async *#logged(running: RunningJob): AsyncGenerator<JobEvent, void, void> {
    for await (const event of running.events()) {
      if (event.kind === "return") this.#log.debug(`jid ${running.jid} return from ${event.id}`);
      else this.#log.debug(`jid ${running.jid} no return from ${event.id}`);
      yield event;
    }
    this.#log.debug(`jid ${running.jid} is over`);
  }

  /** As in Salt, `--static` is one batch of all minions: each minion that answers a ping gets the job, and one document shows all returns. */
  async #runStatic(request: SaltJob["request"]): Promise<number> {
    const alive: string[] = [];
    const ping = await this.#start({ ...request, fun: "test.ping", args: [] });
    for await (const event of ping ? this.#events(ping) : []) if (event.kind === "return") alive.push(event.id);
    ping?.close();
    const returns: ValueMap = new Map();
    if (alive.length > 0) {
      const job = await this.#start({ ...request, target: alive, targetKind: "list" });
      for await (const event of job ? this.#events(job) : [])
        if (event.kind === "return") returns.set(event.id, event.value);
      // As in Salt, a minion that answered the ping but not the job is shown with an empty value.
      for (const id of alive) if (!returns.has(id)) returns.set(id, new Map());
    }
    if (request.fun === "sys.doc") return this.#printDocs(returns);
    if (returns.size === 0) return this.#nothing(returns);
    const isState = typeof request.fun === "string" && request.fun.startsWith("state.");
    this.#display.show(returns, isState ? "highstate" : undefined);
    return saltExitCodes.done;
  }

  async #showDocs(request: SaltJob["request"]): Promise<number> {
    const running = await this.#start(request);
    const returns: ValueMap = new Map();
    if (running !== undefined) this.#announce(running.jid);
    for await (const event of running ? this.#events(running) : []) {
      const shown = this.#toShown(event, running?.jid ?? "");
      if (shown !== undefined) returns.set(shown.id, shown.value);
    }
    return this.#printDocs(returns);
  }

  /** Shows the union of all minions' documentation. */
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
    const running = await this.#client.run(request);
    this.#followed.running = running;
    if (running === undefined) await this.#tellNoMatch(request);
    return running;
  }

  async #tellNoMatch(request: Omit<SaltJob["request"], "follow">): Promise<void> {
    this.#display.line(noMatchText);
    await noticeNoMatch(request, this.#client, this.#host);
  }

  #announce(jid: string): void {
    if (this.#job.isVerbose) {
      const text = `Executing job with jid ${jid}`;
      this.#display.line(`${text}\n${"-".repeat(text.length)}\n`);
    } else if (this.#job.isJidShown) {
      this.#display.line(`jid: ${jid}`);
    }
  }

  /** Ids without a key are shown even if silent minions are hidden. */
  #toShown(event: JobEvent, jid: string): Shown | undefined {
    const { id } = event;
    if (event.kind === "return") {
      const { value, retcode, outputter } = event;
      return { id, value, retcode, ...(outputter === undefined ? {} : { outputter }) };
    }
    const isReasonWanted = this.#job.isVerbose || this.#job.isSummarised;
    if (isReasonWanted && event.detail !== undefined) this.#host.complain(reasonLine(id, event.detail));
    if (event.kind === "unknown") return { id, value: unknownNameText(jid), retcode: 1, outputter: "no_return" };
    if (!this.#job.isTimeoutShown && !this.#job.isVerbose) return undefined;
    return { id, value: silentText(event.reason, jid), retcode: 1, outputter: "no_return" };
  }

  #nothing(returns: ValueMap): number {
    this.#display.show(returns);
    this.#host.complain(nothingText);
    return saltExitCodes.nothingReturned;
  }
}

/**
 * Shows a failure on the stream where Salt shows it.
 *
 * @param isException Salt ends with an exception, as with `--static`, `-b` and `--async`
 * @returns Salt's exit code; undefined for other errors
 */
export function explainFailure(
  error: unknown,
  isException: boolean,
  display: Display,
  host: Host,
  log: Logger,
): number | undefined {
  const codes = ["REQUEST_TIMEOUT", "MASTER_UNREACHABLE", "AUTH_FAILED", "REQUEST_REFUSED", "TARGET_INVALID"] as const;
  if (!codes.some((code) => hasCode(error, code))) return undefined;
  const { message } = error as SaltworksError;
  if (hasCode(error, "REQUEST_TIMEOUT")) log.error("Message timed out");
  if (hasCode(error, "TARGET_INVALID")) {
    display.line(noMatchText);
    host.complain(`ERROR: ${message}\n`);
    return saltExitCodes.nothingReturned;
  }
  if (isException) {
    host.complain(`${message}\n`);
    return saltExitCodes.failed;
  }
  display.show(message, undefined, 1);
  return saltExitCodes.done;
}
