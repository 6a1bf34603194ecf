/**
 * A minion with a list of masters: subscribed at one of them, from which it moves on when that one is silent. It runs each job that it is sent, looks at
 * the order in which publishes come, and can be away for some time.
 */
import { setTimeout as pause } from "node:timers/promises";
import { finishAuth, type Keys, type Master, requestToken, startAuth } from "../../../../bench/fleet/handshake.ts";
import type { MinionKey } from "../../../../bench/fleet/keys.ts";
import { type Publish, PublishReader } from "../../../../bench/fleet/publish-reader.ts";
import { openReply, type Sender, sealRequest } from "../../../../bench/fleet/sealed-request.ts";
import { Connection } from "../../../../bench/fleet/storm/connection.ts";
import type { Random } from "../../../../bench/load/random.ts";
import { SaltworksError } from "../../../../src/errors.ts";
import { matches } from "../../../../src/target/match.ts";
import type { ValueMap } from "../../../../src/wire/values.ts";
import { GivenJobs } from "./given-jobs.ts";
import type { Serials } from "./serials.ts";

export type MasterAddress = { readonly host: string; readonly requestPort: number };

const replyTimeoutMs = 4_000;
const retryWaitMs = 300;
/** How long a subscription without a sign of life lasts: as `master_alive_interval` would find out. */
const aliveEveryMs = 3_000;
const awayLookMs = 50;
const reader = new PublishReader(() => undefined);

export class MovingMinion {
  readonly id: string;
  readonly jobs: GivenJobs;
  readonly faults: string[] = [];
  readonly counters = { moves: 0, auths: 0, sent: 0, refused: 0, unreadable: 0, away: 0 };
  readonly #sender: Sender;
  readonly #masters: readonly MasterAddress[];
  readonly #random: Random;
  readonly #serials: Serials;
  readonly #facts: { readonly id: string; readonly grains: ValueMap; readonly pillar: ValueMap };
  #at: number;
  #isStopping = false;
  #isAway = false;
  /** Whether it tells the next master that it has started. */
  #tellsStart = false;
  /** Whether the present master has a newer AES key: then the minion authenticates there again. */
  #isStale = false;
  #life: Promise<void> = Promise.resolve();
  #master: Master | undefined;
  #keys: Keys | undefined;
  #requests: Connection | undefined;
  #lastSerial = { aes: "", serial: 0 };

  constructor(
    id: string,
    key: MinionKey,
    place: { readonly masters: readonly MasterAddress[]; readonly first: number; readonly serials: Serials },
    random: Random,
  ) {
    this.id = id;
    this.#sender = { id, key, token: requestToken(key), version: 3 };
    this.#facts = { id, grains: new Map(), pillar: new Map() };
    this.#masters = place.masters;
    this.#at = place.first;
    this.#serials = place.serials;
    this.#random = random;
    this.jobs = new GivenJobs(id, random);
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  leave(): void {
    this.#isAway = true;
    this.counters.away += 1;
    this.#requests?.close();
  }

  /** Comes back at this master first. */
  comeBack(at: number): void {
    this.#at = at;
    this.#tellsStart = this.#random() < 0.5;
    this.#isAway = false;
  }

  start(): void {
    this.#life = this.#live();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#requests?.close();
    await this.#life;
  }

  async #live(): Promise<void> {
    while (!this.#isStopping) {
      try {
        await this.#stay();
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
      }
      this.#requests?.close();
      if (this.#isAway) await this.#untilBack();
      else if (!this.#isStale) {
        this.#at = (this.#at + 1) % this.#masters.length;
        this.counters.moves += 1;
      }
      await pause(retryWaitMs * (0.5 + this.#random()));
    }
  }

  async #untilBack(): Promise<void> {
    while (this.#isAway && !this.#isStopping) await pause(awayLookMs);
  }

  get #isLeaving(): boolean {
    return this.#isStopping || this.#isAway;
  }

  /** Lives with one master. @throws SaltworksError when it is silent */
  async #stay(): Promise<void> {
    const { host, requestPort } = this.#place;
    this.#isStale = false;
    const requests = await Connection.open({ host, port: requestPort, type: "REQ" });
    this.#requests = requests;
    let isOver = false;
    requests.onClose = () => {
      isOver = true;
    };
    const keys = await this.#authenticate(requests);
    const publishes = await Connection.open({ host, port: keys.publishPort, type: "SUB" });
    publishes.onClose = () => {
      isOver = true;
    };
    let subscribedSerial = 0;
    publishes.onMessage = (frame) => {
      const publish = this.#read(Buffer.from(frame));
      if (publish === "newer") {
        this.#isStale = true;
        isOver = true;
      } else if (publish !== undefined) subscribedSerial = this.#take(publish, subscribedSerial);
    };
    try {
      if (this.#tellsStart) await this.#tell(requests, `salt/minion/${this.id}/start`);
      this.#tellsStart = false;
      while (!isOver && !this.#isLeaving) {
        await this.#returnAll(requests);
        await this.#tell(requests, "alive");
        const untilMs = performance.now() + aliveEveryMs;
        while (!isOver && !this.#isLeaving && this.jobs.owed.size === 0 && performance.now() < untilMs)
          await pause(50 * (1 + this.#random()));
      }
    } finally {
      publishes.close();
    }
  }

  get #place(): MasterAddress {
    const master = this.#masters[this.#at];
    if (master === undefined) throw new RangeError("no master");
    return master;
  }

  async #authenticate(requests: Connection): Promise<Keys> {
    const { id, key } = this.#sender;
    this.counters.auths += 1;
    const attempt = startAuth(id, key, 3, this.#master);
    const outcome = finishAuth(attempt, await requests.request(attempt.request, replyTimeoutMs), key, 3, this.#master);
    if (outcome.kind !== "accepted") throw new SaltworksError("AUTH_FAILED", `${id} is ${outcome.kind}`);
    this.#master = outcome.master;
    this.#keys = outcome.keys;
    return outcome.keys;
  }

  /** @returns "newer" if the publish is sealed under another AES key, so that the minion must authenticate again */
  #read(frame: Buffer): Publish | "newer" | undefined {
    if (this.#keys === undefined || this.#master === undefined) return undefined;
    try {
      return reader.read(frame, this.#keys.aes, this.#master);
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      this.counters.unreadable += 1;
      return "newer";
    }
  }

  /** As a stock minion: it drops what is not above the last serial under the same key. @returns the serial, within this subscription */
  #take(publish: Publish, subscribedSerial: number): number {
    const aes = this.#keys?.aes.text ?? "";
    const { serial, jid } = publish;
    this.#serials.note(aes, serial, jid);
    if (serial <= subscribedSerial)
      this.faults.push(`${this.id}: serial ${serial} of job ${jid} came after ${subscribedSerial} from one master`);
    const last = this.#lastSerial.aes === aes ? this.#lastSerial.serial : 0;
    if (serial <= last) return serial;
    this.#lastSerial = { aes, serial };
    if (matches(publish.target, this.#facts)) this.jobs.take(publish, aes);
    return serial;
  }

  async #returnAll(requests: Connection): Promise<void> {
    for (const owed of this.jobs.owed.values()) {
      const { jid, fun, args, value, retcode } = owed;
      const load = { cmd: "_return", id: this.id, jid, fun, fun_args: args, return: value, retcode };
      this.counters.sent += 1;
      const answer = await this.#ask(requests, { ...load, success: retcode === 0 });
      if (answer === false) {
        this.counters.refused += 1;
        throw new SaltworksError("REQUEST_REFUSED", "the return was not taken");
      }
      this.jobs.acknowledge(owed);
    }
  }

  async #tell(requests: Connection, tag: string): Promise<void> {
    await this.#ask(requests, { cmd: "_minion_event", id: this.id, tag, data: { id: this.id }, pretag: null });
  }

  /** @throws SaltworksError for silence, a refusal and a reply that does not open */
  async #ask(requests: Connection, load: Parameters<typeof sealRequest>[0]): Promise<unknown> {
    const keys = this.#keys;
    if (keys === undefined) throw new SaltworksError("AUTH_FAILED", "no keys");
    const { frame, nonce } = sealRequest(load, this.#sender, keys);
    return openReply(await requests.request(frame, replyTimeoutMs), nonce, this.#sender, keys);
  }
}
