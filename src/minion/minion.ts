/**
 * The minion as a daemon: connects to a master, runs what the master publishes, keeps grains and pillar, ends cleanly.
 * Source: docs/protocol.md section 8 (order of bring-up).
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { MinionConfig } from "../config/schema.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { encode } from "../wire/msgpack.ts";
import type { ValueMap } from "../wire/values.ts";
import { MinionBus } from "./bus/minion-bus.ts";
import { handleBusEvent } from "./bus-events.ts";
import { addDefaultJobs } from "./default-jobs.ts";
import { FactsRefresh } from "./facts-refresh.ts";
import type { Host } from "./functions/host.ts";
import { JobRecords } from "./functions/job-records.ts";
import { JobPool } from "./jobs/pool.ts";
import type { Environment } from "./modules/machine/environment.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import { type Identity, openIdentity } from "./session/identity.ts";
import { type MasterAddress, masterAddresses } from "./session/master-address.ts";
import { MasterLink } from "./session/master-link.ts";
import { requestPillar } from "./session/pillar.ts";
import { PublishFilter } from "./session/publish-filter.ts";
import { ReturnSender } from "./session/return-sender.ts";

export type MinionOptions = {
  readonly config: MinionConfig;
  readonly log: Logger;
  readonly environment: Environment;
  /** URL of the module that exports `minionExtras`, which job processes import. */
  readonly extrasUrl?: string;
  readonly collectGrains: () => Promise<ValueMap>;
};

/** Exit codes. 42 and 77 are Salt's; service managers may act on them. */
export const exitCodes = { stopped: 0, gaveUp: 1, wrongMaster: 42, rejected: 77 } as const;

type Deferred<Result> = {
  readonly promise: Promise<Result>;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

function deferred<Result>(): Deferred<Result> {
  let settle: Omit<Deferred<Result>, "promise"> = { resolve: () => undefined, reject: () => undefined };
  const promise = new Promise<Result>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

const minuteMs = 60_000;

export class Minion {
  readonly #options: MinionOptions;
  readonly #closing = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #facts: FactsRefresh;
  readonly #filter: PublishFilter;
  readonly #ready = deferred<void>();
  readonly #ended = deferred<number>();
  #pool: JobPool | undefined;
  #bus: MinionBus | undefined;
  #link: MasterLink | undefined;
  #returns: ReturnSender | undefined;
  #scheduler: Scheduler | undefined;

  private constructor(options: MinionOptions) {
    this.#options = options;
    const { config, log, collectGrains } = options;
    this.#facts = new FactsRefresh({
      log,
      collectGrains,
      requestPillar: async (grains, isCacheCleaned) =>
        this.#link === undefined ? undefined : requestPillar(this.#link.session, config, grains, { isCacheCleaned }),
      onChange: (facts) => {
        this.#pool?.setFacts(facts);
        this.#scheduler?.setPillar(facts.pillar);
      },
    });
    this.#filter = new PublishFilter(config, () => this.#facts.current, log);
  }

  /** Resolves when bus and job processes are ready. Connects to a master in the background. */
  static async start(options: MinionOptions): Promise<Minion> {
    const minion = new Minion(options);
    try {
      await minion.#open();
      return minion;
    } catch (error) {
      await minion.stop(exitCodes.gaveUp);
      throw error;
    }
  }

  /** Resolves when the minion is connected and takes jobs. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves to the exit code when the minion has ended. */
  get ended(): Promise<number> {
    return this.#ended.promise;
  }

  /** One line for operators. */
  state(): string {
    const { config } = this.#options;
    const jobs = this.#pool === undefined ? "no job processes" : `${this.#pool.processCount} job processes`;
    return `minion ${config.id}: ${this.#link === undefined ? "without a master" : "has a link to its master"}, ${jobs}`;
  }

  async #open(): Promise<void> {
    const { config, environment, extrasUrl, log } = this.#options;
    const identity = await openIdentity(config);
    const records = await JobRecords.open(config.cachedir);
    // `running` also removes the records that an earlier minion left.
    await records.running();
    this.#bus = await MinionBus.open({ config, log, onEvent: (tag, data) => this.#onBusEvent(tag, data) });
    this.#pool = new JobPool({
      config,
      environment,
      extrasUrl,
      host: this.#host(),
      records,
      log,
      onReturn: (result, bytes) => this.#returns?.send(result, bytes),
    });
    await this.#facts.collect();
    this.#pool.warm();
    this.#bringUp(identity).catch((error: unknown) => this.#end(error));
  }

  /** Ends the minion and kills its jobs. Idempotent. */
  async stop(code: number = exitCodes.stopped): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    for (const timer of this.#timers) clearInterval(timer);
    this.#scheduler?.close();
    this.#link?.close();
    await this.#pool?.close();
    await this.#bus?.close();
    this.#ended.resolve(code);
  }

  #end(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const code = hasCode(error, "AUTH_REJECTED")
      ? exitCodes.rejected
      : hasCode(error, "AUTH_MASTER_MISMATCH")
        ? exitCodes.wrongMaster
        : exitCodes.gaveUp;
    this.#options.log.fatal({ err: error, code }, "the minion ends");
    this.stop(code).catch((cause: unknown) => this.#ended.reject(cause));
  }

  /** Tries one master after the other, for ever unless `master_tries` limits the rounds. */
  async #bringUp(identity: Identity): Promise<void> {
    const { config, log } = this.#options;
    const { signal } = this.#closing;
    const addresses = masterAddresses(config);
    const waitMaxMs = Math.max(config.acceptance_wait_time_max, config.acceptance_wait_time) * 1_000;
    let waitMs = config.acceptance_wait_time * 1_000;
    await sleep(Math.random() * config.random_startup_delay * 1_000, undefined, { signal });
    for (let round = 1; ; round += 1) {
      for (const address of addresses) {
        try {
          return await this.#connect(identity, address);
        } catch (error) {
          this.#link?.close();
          this.#link = undefined;
          if (signal.aborted) return;
          log.error({ err: error, ...address }, "the minion could not connect to this master");
        }
      }
      if (round === config.master_tries)
        throw new SaltworksError("MASTER_UNREACHABLE", "no master accepted this minion");
      await sleep(waitMs, undefined, { signal });
      waitMs = Math.min(waitMs * 2, waitMaxMs);
    }
  }

  async #connect(identity: Identity, address: MasterAddress): Promise<void> {
    const { config, log } = this.#options;
    const link = new MasterLink({
      config,
      identity,
      log,
      address,
      grains: () => this.#facts.current.grains,
      onEnd: (error) => this.#end(error),
    });
    this.#link = link;
    await link.connect();
    await this.#facts.fetchPillar();
    this.#returns = new ReturnSender(link.session, config, log);
    this.#scheduler ??= this.#openSchedule();
    link.listen((load) => this.#onPublish(load)).catch((error: unknown) => this.#end(error));
    log.info({ ...address }, "Minion is ready to receive requests!");
    this.#ready.resolve();
    this.#run(() => link.fireStart());
    this.#startTimers(link);
  }

  #onPublish(load: ValueMap): void {
    if (!this.#filter.isForUs(load)) return;
    const { log } = this.#options;
    log.info({ jid: load.get("jid"), fun: load.get("fun"), user: load.get("user") }, "executing a command");
    if (load.get("fun") === "sys.reload_modules") this.#pool?.renew();
    this.#pool?.submit(load);
  }

  #host(): Host {
    const linkOrThrow = () => {
      if (this.#link === undefined)
        throw new SaltworksError("MASTER_UNREACHABLE", "the minion is not connected to a master yet");
      return this.#link;
    };
    return {
      fireMaster: (tag, data) => linkOrThrow().fireEvent(tag, data),
      fireMinion: async (tag, data) => this.#bus?.fire(tag, data),
      setGrains: async (change) => this.#facts.setGrains(change),
      masterRequest: (load) => linkOrThrow().ask(load),
      compilePillar: (options) =>
        requestPillar(linkOrThrow().session, this.#options.config, this.#facts.current.grains, options),
    };
  }

  #onBusEvent(tag: string, data: ValueMap): void {
    handleBusEvent(tag, data, {
      link: this.#link,
      renewModules: () => this.#pool?.renew(),
      manageSchedule: (asked) => this.#scheduler?.manage(asked),
      sendReturn: (load) => this.#returns?.send(load, encode(load, "bin").length),
      renewFacts: async (wish) => {
        await this.#facts.renew(wish);
        this.#bus?.fire("/salt/minion/minion_pillar_refresh_complete", { complete: true });
      },
    }).catch((error: unknown) =>
      this.#options.log.warn({ err: error, tag }, "the minion failed to handle an event of its bus"),
    );
  }

  #startTimers(link: MasterLink): void {
    const { config } = this.#options;
    if (this.#closing.signal.aborted) return;
    if (config.ping_interval > 0) {
      this.#every(config.ping_interval, async () => {
        await link.fireEvent("minion_ping", "ping");
      });
    }
    this.#scheduler?.start();
  }

  /** The schedule of configuration and pillar, with the jobs that every minion of Salt has. */
  #openSchedule(): Scheduler {
    const { config, log } = this.#options;
    const scheduler = new Scheduler({
      config,
      log,
      facts: () => this.#facts.current,
      fire: (tag, data) => this.#bus?.fire(tag, data),
      run: async (call, isListed) => await this.#pool?.runScheduled(call, isListed),
    });
    addDefaultJobs(scheduler, config);
    return scheduler;
  }

  #every(minutes: number, task: () => Promise<void>): void {
    this.#timers.add(setInterval(() => this.#run(task), minutes * minuteMs));
  }

  #run(task: () => Promise<void>): void {
    task().catch((error: unknown) => this.#options.log.warn({ err: error }, "a periodic task of the minion failed"));
  }
}
